package codeindex

import (
	"context"
	"path"
	"slices"
	"strings"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
	"sakur4/internal/store"
)

// source returns the whole index of the project, with the files that were found to have changed as they are now. It is made anew for each call.
func (x *Index) source(ctx context.Context, changed map[string]*currentFile) (cortex.Source, error) {
	var src cortex.Source
	var files []store.FileIndex
	err := x.Store.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Index(x.Project) {
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
		return cortex.Source{}, err
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
