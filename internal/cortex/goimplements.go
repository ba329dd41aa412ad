package cortex

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"sakur4/internal/codesym"
)

// goImplements reports whether a Go type has every method of an interface, by name and as far as they are written alike by their types. An interface without
// methods is implemented by everything, which says nothing: it is false there.
func (r *Resolver) goImplements(typ, iface int) bool {
	g := r.g
	if typ < 0 || typ == iface || g.lang(g.src.Symbols[typ].File) != codesym.Go {
		return false
	}
	if yes, known := r.exactImplements(typ, iface); known {
		return yes && len(r.methodsOf(iface)) > 0
	}
	want := r.methodsOf(iface)
	if len(want) == 0 {
		return false
	}
	have := r.methodsOf(typ)
	for name, m := range want {
		r.looks++
		got, ok := have[name]
		if !ok || !r.sameSignature(m, got) {
			return false
		}
		if !g.src.Symbols[m].Exported && g.pkg(m) != g.pkg(got) {
			return false
		}
	}
	return true
}

// mayImplement returns the Go types that have a method of the rarest name of an interface, or embed a type that has it.
func (r *Resolver) mayImplement(iface int) []int32 {
	g := r.g
	rarest := ""
	var list []int32
	for name := range r.methodsOf(iface) {
		of := r.sakes(callables, name, codesym.Go).list
		if rarest == "" || len(of) < len(list) || len(of) == len(list) && name < rarest {
			rarest, list = name, of
		}
	}
	var out []int32
	seen := map[int32]bool{}
	add := func(t int) {
		if t >= 0 && !seen[int32(t)] {
			seen[int32(t)] = true
			out = append(out, int32(t))
		}
	}
	for _, m := range list {
		if g.src.Symbols[m].Kind == codesym.Method {
			add(r.typeOfMethod(int(m)))
		}
	}
	for k := 0; k < len(out); k++ {
		for _, t := range g.byBase[g.src.Symbols[out[k]].Short] {
			add(int(t))
		}
	}
	return out
}

// methodsOf is methodSet, found once.
func (r *Resolver) methodsOf(typ int) map[string]int {
	set, ok := r.sets[typ]
	if !ok {
		set = map[string]int{}
		r.methodSet(typ, set, map[int]bool{})
		r.sets[typ] = set
	}
	return set
}

// methodSet adds the methods of a Go type by name, then those of what it embeds, each type once.
func (r *Resolver) methodSet(typ int, out map[string]int, seen map[int]bool) {
	if seen[typ] {
		return
	}
	seen[typ] = true
	g := r.g
	s := &g.src.Symbols[typ]
	for _, i := range g.methods[g.typeKey(g.src.Files[s.File].Package, s.Short)] {
		if _, ok := out[g.src.Symbols[i].Short]; !ok {
			out[g.src.Symbols[i].Short] = int(i)
		}
	}
	for _, base := range s.Bases {
		if t := r.goBase(s.File, base); t >= 0 {
			r.methodSet(t, out, seen)
		}
	}
}

// goBase returns the type that an embedded field or interface names, -1 where it is outside of the project.
func (r *Resolver) goBase(file int, base string) int {
	if r.gofer == nil {
		r.gofer = newGoInfer(r)
	}
	base = strings.TrimLeft(base, "*")
	if at := strings.IndexByte(base, '['); at >= 0 {
		base = base[:at]
	}
	qualifier, name, dotted := strings.Cut(base, ".")
	if !dotted {
		return r.gofer.typeNamed(r.g.src.Files[file].Package, qualifier, file)
	}
	if m := r.module(file, qualifier); m != nil {
		return r.gofer.typeNamed(m.Path, name, -1)
	}
	return -1
}

// sameSignature reports whether two methods take and return types that are written alike, packages aside.
func (r *Resolver) sameSignature(a, b int) bool {
	x, y := r.signatureOf(a), r.signatureOf(b)
	return x == "" || y == "" || x == y // what cannot be read is no reason to say no
}

// signatureOf is signatureTypes, found once; "" where the signature cannot be read.
func (r *Resolver) signatureOf(method int) string {
	s, ok := r.written[method]
	if !ok {
		s, _ = signatureTypes(r.g.src.Symbols[method].Signature)
		r.written[method] = s
	}
	return s
}

func signatureTypes(s string) (string, bool) {
	if !strings.HasPrefix(s, "func") {
		s = "func " + s
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+s, parser.SkipObjectResolution)
	if err != nil || len(tree.Decls) != 1 {
		return "", false
	}
	fn, ok := tree.Decls[0].(*ast.FuncDecl)
	if !ok {
		return "", false
	}
	var b strings.Builder
	for _, list := range []*ast.FieldList{fn.Type.Params, fn.Type.Results} {
		b.WriteByte('(')
		if list != nil {
			for _, f := range list.List {
				for range max(1, len(f.Names)) {
					writeType(&b, f.Type)
					b.WriteByte(',')
				}
			}
		}
		b.WriteByte(')')
	}
	return b.String(), true
}

// writeType writes a type without the packages of its names.
func writeType(b *strings.Builder, x ast.Expr) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			b.WriteByte(';')
		case *ast.SelectorExpr:
			b.WriteString(n.Sel.Name)
			b.WriteByte(';')
			return false
		case *ast.Ident:
			if n.Name == "any" {
				b.WriteString("interface")
				break
			}
			b.WriteString(n.Name)
		case *ast.StarExpr:
			b.WriteByte('*')
		case *ast.ArrayType:
			b.WriteString("[]")
		case *ast.MapType:
			b.WriteString("map")
		case *ast.ChanType:
			b.WriteString("chan")
		case *ast.FuncType:
			b.WriteString("func")
		case *ast.InterfaceType:
			b.WriteString("interface")
			return false
		case *ast.Ellipsis:
			b.WriteString("...")
		}
		return true
	})
}
