package cortex

import (
	"path"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// A project may have thousands of declarations of one name, and as many calls of it. A call is therefore never compared with all of them: each way to resolve it
// knows where its answers lie, and looks there.
const (
	// fewNamesakes is how many are gone through one by one.
	fewNamesakes = 16
	// maxListed is how many of one place a call is compared with. Where there are more, those of the call's own folder are taken.
	maxListed = 256
)

// place kinds of a hint.
const (
	inParent  byte = iota + 1 // the symbol that it stands in
	inFile                    // the file
	inPackage                 // the package
	inFolder                  // the folder
	inScope                   // the bare name of the type or module that it belongs to
	inModule                  // what an import names
	inBase                    // the file's name
)

// hint is a place where declarations are looked for: a number for parents and files, a name for others.
type hint struct {
	kind byte
	n    int
	s    string
}

// sakeSort says which declarations of a name are meant.
type sakeSort byte

const (
	callables sakeSort = iota + 1
	typesOnly
	allSymbols
)

// sakeKey names the declarations of one name in one family of languages.
type sakeKey struct {
	sort  sakeSort
	short string
	lang  codesym.Lang
}

// namesakes are the declarations of one name, in the order of the source.
type namesakes struct {
	list []int32
	at   map[hint][]int32 // nil where there are few
}

// sakes returns the declarations of a name.
func (r *Resolver) sakes(c sakeSort, short string, lang codesym.Lang) *namesakes {
	key := sakeKey{c, short, family(lang)}
	if s, ok := r.named[key]; ok {
		return s
	}
	g := r.g
	out := &namesakes{}
	for _, i := range g.byShort[short] {
		s := &g.src.Symbols[i]
		switch {
		case family(g.lang(s.File)) != key.lang,
			c == callables && !callable(s.Kind),
			c == typesOnly && !isType(s.Kind) && (s.Kind != codesym.Module || key.lang != codesym.Rust):
			continue
		}
		out.list = append(out.list, i)
	}
	if len(out.list) > fewNamesakes {
		out.at = map[hint][]int32{}
		for _, i := range out.list {
			for _, h := range r.hints(int(i)) {
				out.at[h] = append(out.at[h], i)
			}
		}
	}
	r.named[key] = out
	return out
}

// hints are the places of a declaration.
func (r *Resolver) hints(i int) []hint {
	g := r.g
	s := &g.src.Symbols[i]
	out := []hint{{kind: inParent, n: s.Parent}, {kind: inFile, n: s.File}, {kind: inPackage, s: g.pkg(i)}, {kind: inFolder, s: g.dirOf(s.File)},
		{kind: inScope, s: lastName(g.owner(i))}, {kind: inBase, s: stem(g.src.Files[s.File].Path)}}
	for _, m := range r.modulesOf(s.File) {
		out = append(out, hint{kind: inModule, s: m})
	}
	return out
}

// within returns those of the declarations that lie in one of the places, in order; it may return others too. file is where the question comes from.
func (r *Resolver) within(s *namesakes, file int, places ...hint) []int32 {
	if s.at == nil {
		return s.list
	}
	var out []int32
	for _, h := range places {
		list := s.at[h]
		if len(list) > maxListed && (h.kind == inScope || h.kind == inModule || h.kind == inBase) {
			list = s.at[hint{kind: inFolder, s: r.g.dirOf(file)}]
		}
		out = append(out, list[:min(len(list), maxListed)]...)
	}
	if len(places) > 1 {
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// modulesOf returns the names that imports may know a file by. Whether an import means it is for [Resolver.names] to say: these only bring the two together.
func (r *Resolver) modulesOf(file int) []string {
	f := &r.g.src.Files[file]
	switch f.Lang {
	case codesym.Go:
		return []string{f.Package}
	case codesym.Python:
		to := strings.TrimSuffix(strings.TrimSuffix(f.Path, path.Ext(f.Path)), "/__init__")
		return []string{"/" + to, path.Base(to), lastTwo(to)}
	case codesym.JavaScript, codesym.TypeScript, codesym.TSX:
		return []string{f.Path, ecmaBare(f.Path)}
	case codesym.Java:
		return []string{f.Package, f.Package + "." + stem(f.Path)}
	case codesym.Rust:
		to := strings.TrimSuffix(strings.TrimSuffix(f.Path, ".rs"), "/mod")
		return []string{"/" + path.Dir(to), path.Base(to), lastTwo(to)}
	case codesym.C, codesym.CPP:
		return []string{stem(f.Path)}
	}
	return nil
}

// lastTwo returns the last two names of a path.
func lastTwo(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		if k := strings.LastIndexByte(p[:i], '/'); k >= 0 {
			return p[k+1:]
		}
	}
	return p
}

// ownHints are the places that [Resolver.declares] may find an import's file in.
func (r *Resolver) ownHints(file int, m *Import) []hint {
	var out []hint
	add := func(s string) { out = append(out, hint{kind: inModule, s: s}) }
	from := r.g.src.Files[file].Path
	switch named := m.Name != "" && m.Name != "*"; r.g.lang(file) {
	case codesym.Go:
		add(m.Path)
	case codesym.Python:
		paths := []string{m.Path}
		if named {
			paths = append(paths, strings.TrimSuffix(m.Path, ".")+"."+m.Name)
			if strings.Trim(m.Path, ".") == "" {
				paths = append(paths, m.Path+m.Name)
			}
		}
		for _, p := range paths {
			dots := len(p) - len(strings.TrimLeft(p, "."))
			rest := strings.ReplaceAll(p[dots:], ".", "/")
			if dots == 0 {
				add(lastTwo(rest))
				continue
			}
			dir := path.Dir(from)
			for range dots - 1 {
				dir = path.Dir(dir)
			}
			add("/" + path.Join(dir, rest))
		}
	case codesym.JavaScript, codesym.TypeScript, codesym.TSX:
		for _, p := range r.g.ecmaTargets(from, m.Path) {
			add(p)
		}
	case codesym.Java:
		p := m.Path
		if named {
			p += "." + m.Name
		}
		for ; p != ""; p = p[:max(0, strings.LastIndexByte(p, '.'))] {
			add(p)
		}
	case codesym.Rust:
		paths := []string{m.Path}
		if named {
			paths = append(paths, m.Path+"::"+m.Name)
		}
		for _, p := range paths {
			p = rustPath(p)
			if p == "crate" || p == "super" || p == "self" {
				add("/" + path.Dir(from))
			}
			slashed := strings.ReplaceAll(p, "::", "/")
			add(lastTwo(slashed))
			add(lastTwo(path.Dir(slashed)))
		}
	case codesym.C, codesym.CPP:
		add(stem(m.Path))
	}
	return out
}

// importsOf returns the indexes of the imports that may name the file of a symbol, in order.
func (r *Resolver) importsOf(symbol int) []int32 {
	g := r.g
	if r.importing == nil {
		r.importing = map[hint][]int32{}
		for i := range g.src.Imports {
			m := &g.src.Imports[i]
			for _, h := range r.importHints(m) {
				r.importing[h] = append(r.importing[h], int32(i))
			}
		}
	}
	var out []int32
	for _, m := range r.modulesOf(g.src.Symbols[symbol].File) {
		out = append(out, r.importing[hint{kind: inModule, s: m}]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
