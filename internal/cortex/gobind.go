package cortex

import (
	"go/ast"
	"go/token"
	"sort"
)

// goBinding is a name that a function declares, visible from pos to end.
type goBinding struct {
	name     string
	pos, end token.Pos
	is       goValue
}

// binding returns the innermost declaration of a name that is visible at a position within a function or an initialiser.
func (n *goInfer) binding(f *goFile, name string, at token.Pos) (goValue, bool) {
	decls := f.ast.Decls
	i := sort.Search(len(decls), func(i int) bool { return decls[i].End() > at })
	if i == len(decls) || at < decls[i].Pos() {
		return goValue{}, false
	}
	known, ok := f.binds[decls[i]]
	if !ok {
		known = map[string][]goBinding{}
		for _, b := range bindings(f, decls[i]) {
			known[b.name] = append(known[b.name], b)
		}
		f.binds[decls[i]] = known
	}
	list, best := known[name], -1
	for i, b := range list {
		if b.pos <= at && at < b.end && (best < 0 || b.pos >= list[best].pos) {
			best = i
		}
	}
	if best < 0 {
		return goValue{}, false
	}
	return list[best].is, true
}

// bindings lists the names that a declaration declares within.
func bindings(f *goFile, d ast.Decl) []goBinding {
	b := &binder{f: f}
	if fn, ok := d.(*ast.FuncDecl); ok {
		b.ends = append(b.ends, fn.End())
		b.fields(fn.Recv, fn.End())
		b.typeParams(fn.Type.TypeParams, fn.End())
		b.function(fn.Type, fn.End())
		if fn.Body != nil {
			b.walk(fn.Body)
		}
		return b.out
	}
	b.ends = append(b.ends, d.End())
	b.walk(d)
	return b.out
}

type binder struct {
	f    *goFile
	out  []goBinding
	ends []token.Pos // of the scopes around
}

func (b *binder) end() token.Pos { return b.ends[len(b.ends)-1] }

func (b *binder) add(id ast.Expr, pos, end token.Pos, is goValue) {
	if name, ok := id.(*ast.Ident); ok && name.Name != "_" {
		is.file = b.f
		b.out = append(b.out, goBinding{name: name.Name, pos: pos, end: end, is: is})
	}
}

func (b *binder) function(t *ast.FuncType, end token.Pos) {
	b.fields(t.Params, end)
	b.fields(t.Results, end)
}

func (b *binder) fields(list *ast.FieldList, end token.Pos) {
	if list == nil {
		return
	}
	for _, field := range list.List {
		for _, id := range field.Names {
			b.add(id, field.Pos(), end, goValue{typ: field.Type})
		}
	}
}

// typeParams binds type parameters to nothing: their methods are those of a constraint.
func (b *binder) typeParams(list *ast.FieldList, end token.Pos) {
	if list == nil {
		return
	}
	for _, field := range list.List {
		for _, id := range field.Names {
			b.add(id, field.Pos(), end, goValue{})
		}
	}
}

// walk visits a node and what is below it. Each node that opens a scope is closed again.
func (b *binder) walk(node ast.Node) {
	var opened []bool
	ast.Inspect(node, func(x ast.Node) bool {
		if x == nil {
			if opened[len(opened)-1] {
				b.ends = b.ends[:len(b.ends)-1]
			}
			opened = opened[:len(opened)-1]
			return true
		}
		scope := false
		switch x := x.(type) {
		case *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.SwitchStmt, *ast.CaseClause, *ast.CommClause, *ast.SelectStmt:
			scope = true
			b.ends = append(b.ends, x.End())
		case *ast.FuncLit:
			scope = true
			b.ends = append(b.ends, x.End())
			b.function(x.Type, x.End())
		case *ast.RangeStmt:
			scope = true
			b.ends = append(b.ends, x.End())
			if x.Tok == token.DEFINE {
				if x.Key != nil {
					b.add(x.Key, x.X.End(), x.End(), goValue{value: x.X, index: -1})
				}
				if x.Value != nil {
					b.add(x.Value, x.X.End(), x.End(), goValue{value: x.X, index: -2})
				}
			}
		case *ast.TypeSwitchStmt:
			scope = true
			b.ends = append(b.ends, x.End())
			b.typeSwitch(x)
		case *ast.AssignStmt:
			if x.Tok == token.DEFINE {
				b.assign(x)
			}
		case *ast.ValueSpec:
			b.spec(x)
		}
		opened = append(opened, scope)
		return true
	})
}

func (b *binder) assign(x *ast.AssignStmt) {
	for i, id := range x.Lhs {
		switch {
		case len(x.Rhs) == len(x.Lhs):
			b.add(id, x.End(), b.end(), goValue{value: x.Rhs[i]})
		case len(x.Rhs) == 1:
			b.add(id, x.End(), b.end(), goValue{value: x.Rhs[0], index: i})
		}
	}
}

func (b *binder) spec(x *ast.ValueSpec) {
	for i, id := range x.Names {
		is := goValue{typ: x.Type}
		switch {
		case x.Type != nil:
		case len(x.Values) == len(x.Names):
			is.value = x.Values[i]
		case len(x.Values) == 1:
			is.value, is.index = x.Values[0], i
		}
		b.add(id, x.End(), b.end(), is)
	}
}

func (b *binder) typeSwitch(x *ast.TypeSwitchStmt) {
	as, ok := x.Assign.(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return
	}
	for _, s := range x.Body.List {
		c, ok := s.(*ast.CaseClause)
		if !ok {
			continue
		}
		is := goValue{}
		if len(c.List) == 1 {
			is.typ = c.List[0]
		} else if ta, ok := as.Rhs[0].(*ast.TypeAssertExpr); ok {
			is.value = ta.X
		}
		b.add(as.Lhs[0], c.Colon, c.End(), is)
	}
}
