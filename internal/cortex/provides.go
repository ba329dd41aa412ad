package cortex

import (
	"path"
	"strings"

	"sakur4/internal/codesym"
)

// declares reports whether the module that an import names is the one that a symbol is declared in.
func (r *Resolver) declares(m *Import, symbol int) bool {
	file := m.File
	to := r.g.src.Symbols[symbol].File
	if r.names(file, m.Path, to) {
		return true
	}
	if m.Name != "" && m.Name != "*" { // the name may be a module itself
		switch r.g.lang(file) {
		case codesym.Python:
			return r.names(file, strings.TrimSuffix(m.Path, ".")+"."+m.Name, to) || strings.Trim(m.Path, ".") == "" && r.names(file, m.Path+m.Name, to)
		case codesym.Rust:
			return r.names(file, m.Path+"::"+m.Name, to)
		case codesym.Java:
			return r.names(file, m.Path+"."+m.Name, to)
		}
	}
	return false
}

// names reports whether the path of an import in one file leads to another file.
func (r *Resolver) names(file int, p string, to int) bool {
	from, target := &r.g.src.Files[file], &r.g.src.Files[to]
	if family(from.Lang) != family(target.Lang) {
		return false
	}
	switch from.Lang {
	case codesym.Go:
		return p == target.Package
	case codesym.Python:
		return pythonNames(from.Path, p, target.Path)
	case codesym.JavaScript, codesym.TypeScript, codesym.TSX:
		return r.ecmaNames(from.Path, p, target.Path)
	case codesym.Java:
		return p == target.Package || javaClass(p, target)
	case codesym.Rust:
		return rustNames(from.Path, p, target.Path)
	case codesym.C, codesym.CPP:
		// A header stands for the files that define what it declares, which are called as it is.
		return stem(target.Path) == stem(p) || strings.HasSuffix("/"+target.Path, "/"+strings.TrimLeft(p, "./"))
	}
	return false
}

func stem(p string) string { return strings.TrimSuffix(path.Base(p), path.Ext(p)) }

// suffixed reports whether a slashed path is a whole ending of another: projects keep their sources in folders that imports do not name.
func suffixed(long, short string) bool {
	return short != "" && strings.HasSuffix("/"+long, "/"+short)
}

func pythonNames(from, p, to string) bool {
	to = strings.TrimSuffix(strings.TrimSuffix(to, path.Ext(to)), "/__init__")
	dots := len(p) - len(strings.TrimLeft(p, "."))
	rest := strings.ReplaceAll(p[dots:], ".", "/")
	if dots == 0 {
		return suffixed(to, rest)
	}
	dir := path.Dir(from)
	for range dots - 1 {
		dir = path.Dir(dir)
	}
	return to == path.Join(dir, rest)
}

// ecmaNames reports whether the path of an import leads to a file: one of those that it may mean.
func (r *Resolver) ecmaNames(from, p, to string) bool {
	bare := ecmaBare(to)
	for _, t := range r.g.ecmaTargets(from, p) {
		if to == t || bare == t {
			return true
		}
	}
	return false
}

func javaClass(p string, target *File) bool {
	return p == target.Package+"."+stem(target.Path) || strings.HasPrefix(p, target.Package+"."+stem(target.Path)+".")
}

func rustNames(from, p, to string) bool {
	to = strings.TrimSuffix(strings.TrimSuffix(to, ".rs"), "/mod")
	p = rustPath(p)
	if p == "crate" || p == "super" || p == "self" {
		return path.Dir(from) == path.Dir(to)
	}
	slashed := strings.ReplaceAll(p, "::", "/")
	if suffixed(to, slashed) {
		return true
	}
	// The last part may be a type of the module.
	return suffixed(to, path.Dir(slashed)) && path.Dir(slashed) != "."
}

// rustPath takes off what a path begins with to say where it starts.
func rustPath(p string) string {
	for strings.HasPrefix(p, "super::") {
		p = strings.TrimPrefix(p, "super::")
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, "crate::"), "self::")
}

// module returns the import that a receiver names, nil for none.
func (r *Resolver) module(file int, receiver string) *Import {
	known, ok := r.aliases[file]
	if !ok {
		known = map[string]*Import{}
		lang := r.g.lang(file)
		imports := r.imports(file)
		for i := range imports {
			m := &imports[i]
			name := m.Alias
			if name == "" {
				name = m.Name
			}
			if name == "" || name == "*" {
				name = m.Path
				if lang == codesym.Go {
					name = r.goAlias(m.Path)
				}
			}
			if lang == codesym.Rust {
				name = lastName(name)
			}
			if _, twice := known[name]; !twice {
				known[name] = m
			}
		}
		r.aliases[file] = known
	}
	return known[receiver]
}
