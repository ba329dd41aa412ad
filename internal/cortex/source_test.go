package cortex_test

import (
	"cmp"
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
)

// tree is a project in memory: the texts of its files by path.
type tree map[string]string

// parse reads a txtar-like text: "-- path --" lines and what follows them.
func parseTree(s string) tree {
	out := tree{}
	name := ""
	for line := range strings.Lines(s) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(n, " --") {
			name = strings.TrimSuffix(n, " --")
			out[name] = ""
			continue
		}
		if name != "" {
			out[name] += line
		}
	}
	return out
}

// source indexes a project: module is the path of a go.mod at its root.
func (files tree) source(tb testing.TB, module string) *cortex.Source {
	tb.Helper()
	src := &cortex.Source{Modules: []cortex.Module{{Dir: ".", Path: module}}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		lang, ok := codesym.LanguageOf(name, files[name])
		if !ok {
			continue
		}
		parsed, err := codesym.Parse(lang, files[name])
		if err != nil {
			tb.Fatalf("Parse(%q): %v", name, err)
		}
		fi, base := len(src.Files), len(src.Symbols)
		f := cortex.File{Path: name, Lang: lang, Package: cortex.PackageOf(lang, name, cortex.Declared(parsed), src.Modules)}
		f.Symbols[0], f.Refs[0], f.Imports[0] = base, len(src.Refs), len(src.Imports)
		for i, s := range parsed.Symbols {
			parent := -1
			if s.Parent >= 0 {
				parent = base + s.Parent
			}
			src.Symbols = append(src.Symbols, cortex.Symbol{ID: fmt.Sprintf("sym_%s_%d", name, i), Name: s.Qualified, Short: s.Name, Kind: s.Kind, File: fi, Signature: s.Signature,
				Doc: s.Doc, Hash: s.Hash.String(), SigHash: s.SignatureHash.String(), Start: s.Start, End: s.End, Line: s.Line, EndLine: s.EndLine, Parent: parent,
				Bases: s.Bases, Test: s.Test, Exported: token.IsExported(s.Name)})
		}
		for _, c := range parsed.Calls {
			from, hash := -1, ""
			if c.Symbol >= 0 {
				from, hash = base+c.Symbol, parsed.Symbols[c.Symbol].Hash.String()
			}
			src.Refs = append(src.Refs, cortex.Ref{From: from, File: fi, Callee: c.Callee, Receiver: c.Receiver, Offset: c.Offset, Line: c.Line, SeenHash: hash})
		}
		for _, m := range parsed.Imports {
			src.Imports = append(src.Imports, cortex.Import{File: fi, Symbol: base + m.Symbol, Path: m.Path, Name: m.Name, Alias: m.Alias, Line: m.Line})
		}
		f.Symbols[1], f.Refs[1], f.Imports[1] = len(src.Symbols), len(src.Refs), len(src.Imports)
		src.Files = append(src.Files, f)
	}
	return src
}

func (files tree) text(src *cortex.Source) func(int) (string, bool) {
	return func(file int) (string, bool) {
		s, ok := files[src.Files[file].Path]
		return s, ok
	}
}

// symbol returns the index of "name" or "path:name".
func symbolNamed(tb testing.TB, src *cortex.Source, name string) int {
	tb.Helper()
	file, rest, ok := strings.Cut(name, ":")
	if !ok || strings.HasPrefix(rest, ":") {
		file, rest = "", name
	}
	found := -1
	for i, s := range src.Symbols {
		if s.Name == rest && s.Kind != codesym.ImportOf && (file == "" || src.Files[s.File].Path == file) {
			if found >= 0 && cmp.Compare(src.Symbols[found].File, s.File) == 0 {
				continue
			}
			if found >= 0 {
				tb.Fatalf("%q names several symbols", name)
			}
			found = i
		}
	}
	if found < 0 {
		tb.Fatalf("there is no symbol %q", name)
	}
	return found
}
