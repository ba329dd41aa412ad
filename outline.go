package sakur4

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/symbolic"
	"sakur4/toolparse"
)

// files returns the file system that [Engine.Index] was given, nil for none.
func (e *Engine) files() fs.FS {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tree
}

// outline returns what the index holds of a file that was read. indexed is a time before it was looked at.
func outline(project string, ent cortex.Entry, c cortex.Content, version int, indexed time.Time) (out store.FileIndex, partial bool, leftOut int) {
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
	facts, code, err := symbolic.Outline(string(c.Lang), ev)
	if err != nil {
		out.File.Problem = string(cortex.Unparsable)
		var syntax *toolparse.SyntaxError
		if errors.As(err, &syntax) {
			out.File.Problem += ": " + oneLine(strings.ToValidUTF8(syntax.Error(), "\ufffd"))
		}
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

// source returns the whole index of the project, with the files that were found to have changed as they are now. It is made anew for each call.
func (e *Engine) source(ctx context.Context, changed map[string]*currentFile) (cortex.Source, error) {
	var src cortex.Source
	var files []store.FileIndex
	err := e.st.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Index(e.project) {
			if err != nil {
				return err
			}
			if now := changed[f.File.Path]; now != nil && now.changed && now.err == nil {
				f = now.index
			}
			switch {
			case f.File.Problem != "" || f.File.Path == "":
			case f.File.Language == string(cortex.GoMod):
				src.Modules = append(src.Modules, cortex.Module{Dir: path.Dir(f.File.Path), Path: f.File.Package})
			default:
				files = append(files, f)
			}
		}
		return nil
	})
	if err != nil {
		return cortex.Source{}, wrap(err)
	}
	slices.SortFunc(src.Modules, func(a, b cortex.Module) int { return strings.Compare(a.Dir, b.Dir) })
	for i := range files {
		addFile(&src, &files[i])
	}
	return src, nil
}

// addFile adds what the index holds of one file to a source.
func addFile(src *cortex.Source, f *store.FileIndex) {
	file, first := len(src.Files), len(src.Symbols)
	lang := codesym.Lang(f.File.Language)
	index := func(ord int) int {
		if ord < 0 {
			return -1
		}
		return first + ord
	}
	out := cortex.File{Path: f.File.Path, Lang: lang, Package: cortex.PackageOf(lang, f.File.Path, f.File.Package, src.Modules),
		Symbols: [2]int{first, first + len(f.Symbols)}, Refs: [2]int{len(src.Refs), len(src.Refs) + len(f.Calls)}, Imports: [2]int{len(src.Imports), len(src.Imports) + len(f.Imports)}}
	for i := range f.Symbols {
		s := &f.Symbols[i]
		src.Symbols = append(src.Symbols, cortex.Symbol{ID: s.Fact.FactID, Name: s.Fact.QualifiedName, Short: s.Short, Kind: codesym.Kind(s.Fact.Kind), File: file,
			Signature: s.Fact.Value, Doc: s.Doc, Hash: s.Fact.ASTHash, SigHash: s.SigHash.String(), Start: s.Fact.Offset, End: s.End, Line: s.Fact.Line, EndLine: s.EndLine,
			Parent: index(s.Parent), Bases: s.Bases, Test: s.Test, Exported: s.Exported, Partial: s.Partial,
			Version: s.Fact.Version})
	}
	for _, c := range f.Calls {
		src.Refs = append(src.Refs, cortex.Ref{From: index(c.Caller), File: file, Callee: c.Callee, Receiver: c.Receiver, Offset: c.Offset, Line: c.Line, SeenHash: c.Seen})
	}
	for _, im := range f.Imports {
		src.Imports = append(src.Imports, cortex.Import{File: file, Symbol: index(im.Symbol), Path: im.Path, Name: im.Name, Alias: im.Alias, Line: im.Line})
	}
	src.Files = append(src.Files, out)
}
