package codeindex

import (
	"errors"
	"strings"
	"time"

	"sakur4/internal/cortex"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/symbolic"
	"sakur4/toolparse"
)

// outline returns what the index holds of a file that was read. indexed is a time before it was looked at.
func outline(o *symbolic.Outliner, project string, ent cortex.Entry, c cortex.Content, version int, indexed time.Time) (out store.FileIndex, partial bool, leftOut int) {
	out.File = store.FileRow{Path: ent.Path, Language: string(c.Lang), Hash: c.Hash, Bytes: ent.Size, Modified: ent.Modified, Indexed: indexed, Parser: version,
		Problem: string(c.Skip)}
	if c.Skip != "" {
		return out, false, 0
	}
	if c.Lang == cortex.GoMod {
		out.File.Package = cortex.ModulePath(c.Text)
		return out, false, 0
	}
	ev, err := episode.FromFile(project, ent.Path, []byte(c.Text))
	if err != nil {
		out.File.Problem = string(cortex.OwnWords)
		return out, false, 0
	}
	facts, code, err := o.Outline(string(c.Lang), ev)
	if err != nil {
		problem := cortex.Unparsable
		var syntax *toolparse.SyntaxError
		if errors.As(err, &syntax) {
			problem = problem.Because(syntax.Error())
		}
		out.File.Problem = string(problem)
		return out, false, 0
	}
	out.File.Package = cortex.Declared(code)
	at, leftOut := putSymbols(&out, facts, code)
	putSites(&out, code, at)
	return out, code.Partial, leftOut
}

// putSymbols adds the symbols that have a fact. It returns where each of them stands, that of its nearest scope for one without a fact, and how many those are.
func putSymbols(out *store.FileIndex, facts []symbolic.Fact, code symbolic.Code) (at []int, leftOut int) {
	at = make([]int, len(code.Symbols))
	place := func(i int) int {
		if i < 0 {
			return -1
		}
		return at[i]
	}
	for i := range code.Symbols {
		s := &code.Symbols[i]
		parent := place(s.Parent)
		if !facts[i].Valid() {
			at[i] = parent
			leftOut++
			continue
		}
		at[i] = len(out.Symbols)
		row := facts[i].Row()
		out.Symbols = append(out.Symbols, store.SymbolRow{Fact: row, Key: cortex.Key(row.QualifiedName), Short: valid(s.Name), Doc: valid(s.Doc),
			SigHash: s.SignatureHash, End: s.End, EndLine: s.EndLine, Parent: parent, Bases: bases(s.Bases), Test: s.Test, Exported: cortex.Exported(code, i), Partial: s.Partial})
	}
	return at, leftOut
}

// putSites adds the calls and the imports.
func putSites(out *store.FileIndex, code symbolic.Code, at []int) {
	for _, c := range code.Calls {
		caller := -1
		if c.Symbol >= 0 {
			caller = at[c.Symbol]
		}
		out.Calls = append(out.Calls, store.CallRow{Caller: caller, Callee: valid(c.Callee), Receiver: valid(c.Receiver), Offset: c.Offset, Line: c.Line})
	}
	for _, im := range code.Imports {
		symbol := -1
		if im.Symbol >= 0 {
			symbol = at[im.Symbol]
		}
		out.Imports = append(out.Imports, store.ImportRow{Symbol: symbol, Path: valid(im.Path), Name: valid(im.Name), Alias: valid(im.Alias), Line: im.Line})
	}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// bases returns the bases on one line each, as the store keeps them.
func bases(list []string) []string {
	var out []string
	for _, b := range list {
		if b = strings.Join(strings.Fields(valid(b)), " "); b != "" {
			out = append(out, b)
		}
	}
	return out
}
