package cortex

import (
	"strings"

	"sakur4/internal/codesym"
)

// resolveGo resolves a call in Go, whose scopes are plain: a bare name is of the package or of a dot import, a receiver is a package or a value.
func (r *Resolver) resolveGo(p *place) []Edge {
	g := r.g
	recv := p.ref.Receiver
	if r.gofer == nil {
		r.gofer = newGoInfer(r)
	}
	if recv != "" && !strings.ContainsAny(recv, ".()[]{}\"` ") {
		if m := r.module(p.ref.File, recv); m != nil && !r.gofer.shadowed(p.ref, recv) {
			return r.pick(p, ImportedName, func(c int) bool {
				return topLevel(g, c) && r.names(p.ref.File, m.Path, g.src.Symbols[c].File) && r.goSees(p.ref.File, c)
			}, hint{kind: inPackage, s: m.Path})
		}
	}
	typ, known := r.gofer.receiver(p.ref)
	switch {
	case known && typ == nil: // of another project, or of no named type
		return nil
	case known && typ.bare, !known && recv == "" && !r.gofer.member(p.ref):
		return r.resolveGoBare(p)
	case known:
		if m := r.gofer.method(typ, p.callee, 0); m >= 0 {
			return []Edge{{To: m, Tier: ReceiverType, Confidence: ReceiverType.confidence()}}
		}
		return nil
	}
	return r.leftOver(p, func(c int) bool { return g.src.Symbols[c].Kind == codesym.Method && r.goSees(p.ref.File, c) })
}

func (r *Resolver) resolveGoBare(p *place) []Edge {
	g := r.g
	for i := p.ref.From; i >= 0; i = g.src.Symbols[i].Parent {
		if out := r.pick(p, SameScope, func(c int) bool { return g.src.Symbols[c].Parent == i }, hint{kind: inParent, n: i}); out != nil {
			return out
		}
	}
	if r.gofer.shadowed(p.ref, p.callee) {
		return nil
	}
	if out := r.pick(p, SameFile, func(c int) bool { return topLevel(g, c) && g.src.Symbols[c].File == p.ref.File }, hint{kind: inFile, n: p.ref.File}); out != nil {
		return out
	}
	same := func(c int) bool { return topLevel(g, c) && r.samePackage(p.ref.File, g.src.Symbols[c].File) }
	if out := r.pick(p, SamePackage, same, hint{kind: inPackage, s: g.src.Files[p.ref.File].Package}); out != nil {
		return out
	}
	for i := range r.imports(p.ref.File) {
		if m := &r.imports(p.ref.File)[i]; m.Alias == "." {
			if out := r.pick(p, ImportedName, func(c int) bool { return topLevel(g, c) && r.names(p.ref.File, m.Path, g.src.Symbols[c].File) }, hint{kind: inPackage, s: m.Path}); out != nil {
				return out
			}
		}
	}
	return nil
}

// topLevel reports whether a Go symbol is a function or a type of a package.
func topLevel(g *Graph, c int) bool {
	s := &g.src.Symbols[c]
	return s.Kind != codesym.Method && (s.Parent < 0 || g.src.Symbols[s.Parent].Kind == codesym.Module)
}

// samePackage reports whether two Go files are of one package, which an external test is not.
func (r *Resolver) samePackage(a, b int) bool {
	x, y := &r.g.src.Files[a], &r.g.src.Files[b]
	return x.Package == y.Package && r.clause(a) == r.clause(b)
}

// clause returns the name in the package clause of a Go file.
func (r *Resolver) clause(file int) string { return r.g.clauses[file] }

func (r *Resolver) goTestFile(symbol int) bool {
	return strings.HasSuffix(r.g.src.Files[r.g.src.Symbols[symbol].File].Path, "_test.go")
}

// goSees reports whether a Go file can hold a value with that method: unexported names stay in their package, and test files are seen by tests of their package alone.
func (r *Resolver) goSees(file, c int) bool {
	s := &r.g.src.Symbols[c]
	if r.g.dirOf(file) == r.g.dirOf(s.File) { // an external test sees what tests of the package export to it
		return s.Exported || r.clause(file) == r.clause(s.File)
	}
	return s.Exported && !r.goTestFile(c)
}

// goAlias returns the name under which a Go file knows a package that it imports without an alias.
func (r *Resolver) goAlias(p string) string {
	for _, f := range r.g.byPackage[p] {
		if name := r.clause(int(f)); name != "" && !strings.HasSuffix(name, "_test") {
			return name
		}
	}
	name := p
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		name = name[at+1:]
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" { // a major version
			name = p[:at]
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
	}
	name = strings.TrimPrefix(name, "go-")
	if at := strings.Index(name, ".v"); at > 0 {
		name = name[:at]
	}
	return strings.ReplaceAll(name, "-", "_")
}
