package cortex

import (
	"slices"

	"sakur4/internal/codesym"
)

// A module may hand on what it imports: "export { x } from './x'", "from .x import x" in an __init__.py, "pub use x::X". What is imported from it is declared
// further on, so the imports of such modules are followed.
const (
	// maxForwards is how many imports one import is followed to, maxForwardDepth over how many modules.
	maxForwards, maxForwardDepth = 64, 4
	// maxMeant is how many files an import may mean to be followed. Of more, none is likely.
	maxMeant = 8
)

// forwards returns the imports that give a file's import what it names, beside the file that it names.
func (r *Resolver) forwards(m *Import) []*Import {
	if out, ok := r.handedOn[m]; ok {
		return out
	}
	var out []*Import
	switch r.g.lang(m.File) {
	case codesym.Python, codesym.JavaScript, codesym.TypeScript, codesym.TSX, codesym.Rust:
		r.follow(m, m.Name, 0, &out)
	}
	r.handedOn[m] = out
	return out
}

// follow adds the imports that a module has under a name; "" and "*" are any.
func (r *Resolver) follow(m *Import, name string, depth int, out *[]*Import) {
	if depth == maxForwardDepth {
		return
	}
	for _, f := range r.filesNamed(m) {
		imports := r.imports(f)
		for i := range imports {
			next := &imports[i]
			all := next.Name == "*" && next.Alias == ""
			switch {
			case len(*out) == maxForwards:
				return
			case !all && next.Alias != "" && next.Alias != next.Name, // under another name
				!all && name != "" && name != "*" && next.Name != name,
				slices.Contains(*out, next):
				continue
			}
			*out = append(*out, next)
			if all {
				r.follow(next, name, depth+1, out)
			} else {
				r.follow(next, next.Name, depth+1, out)
			}
		}
	}
}

// filesNamed returns the files that the module of an import may be, none where there are many.
func (r *Resolver) filesNamed(m *Import) []int {
	g := r.g
	if r.modules == nil {
		r.modules = map[string][]int{}
		for f := range g.src.Files {
			for _, name := range r.modulesOf(f) {
				r.modules[name] = append(r.modules[name], f)
			}
		}
	}
	var out []int
	for _, h := range r.ownHints(m.File, m) {
		list := r.modules[h.s]
		if len(list) > maxListed {
			continue
		}
		for _, f := range list {
			if f != m.File && r.names(m.File, m.Path, f) && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	if len(out) > maxMeant {
		return nil
	}
	slices.Sort(out)
	return out
}

// provides reports whether the module that an import of a file names is the one that a symbol is declared in, or hands it on.
func (r *Resolver) provides(m *Import, symbol int) bool {
	if r.declares(m, symbol) {
		return true
	}
	short := r.g.src.Symbols[symbol].Short
	for _, next := range r.forwards(m) {
		if (next.Name == short || next.Name == "" || next.Name == "*") && r.declares(next, symbol) {
			return true
		}
	}
	return false
}

// importHints are the places that [Resolver.provides] may find what an import names in.
func (r *Resolver) importHints(m *Import) []hint {
	out := r.ownHints(m.File, m)
	for _, next := range r.forwards(m) {
		out = append(out, r.ownHints(next.File, next)...)
	}
	return out
}
