package cortex

import (
	"go/ast"
	"go/token"
	"slices"

	"sakur4/internal/codesym"
)

// typeOf returns the type of an expression, false where it is not known.
func (n *goInfer) typeOf(f *goFile, x ast.Expr) (goType, bool) { return n.result(f, x, 0) }

// result returns the type of the result of an expression at that index.
func (n *goInfer) result(f *goFile, x ast.Expr, index int) (goType, bool) {
	if n.busy++; n.busy > maxInfer {
		return outside, false
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return n.result(f, x.X, index)
	case *ast.Ident:
		return n.ident(f, x)
	case *ast.SelectorExpr:
		return n.selector(f, x)
	case *ast.CallExpr:
		return n.called(f, x, index)
	case *ast.CompositeLit:
		if x.Type != nil {
			return n.resolveType(f, x.Type)
		}
	case *ast.FuncLit:
		return goType{symbol: -1, expr: x.Type, file: f}, true
	case *ast.UnaryExpr:
		t, ok := n.typeOf(f, x.X)
		if x.Op != token.ARROW || !ok {
			return t, ok
		}
		return n.element(t, -1)
	case *ast.StarExpr:
		return n.typeOf(f, x.X)
	case *ast.TypeAssertExpr:
		if index > 0 {
			return outside, true
		}
		if x.Type != nil {
			return n.resolveType(f, x.Type)
		}
	case *ast.IndexExpr:
		if index > 0 {
			return outside, true
		}
		if t, ok := n.typeOf(f, x.X); ok {
			return n.element(t, -2)
		}
	case *ast.SliceExpr:
		return n.typeOf(f, x.X)
	case *ast.BasicLit:
		return outside, true
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			return outside, true
		}
		t, ok := n.typeOf(f, x.X)
		if ok && t.symbol < 0 && t.expr == nil && x.Op != token.SHL && x.Op != token.SHR {
			return n.typeOf(f, x.Y) // a constant takes the type of the other side
		}
		return t, ok
	}
	return outside, false
}

func (n *goInfer) value(v goValue) (goType, bool) {
	switch {
	case v.typ != nil:
		if e, ok := v.typ.(*ast.Ellipsis); ok {
			return goType{symbol: -1, expr: &ast.ArrayType{Elt: e.Elt}, file: v.file}, true
		}
		return n.resolveType(v.file, v.typ)
	case v.value == nil:
		return outside, false
	case v.index < 0:
		t, ok := n.typeOf(v.file, v.value)
		if !ok {
			return outside, false
		}
		return n.element(t, v.index)
	}
	return n.result(v.file, v.value, v.index)
}

func (n *goInfer) ident(f *goFile, x *ast.Ident) (goType, bool) {
	if v, ok := n.binding(f, x.Name, x.Pos()); ok {
		return n.value(v)
	}
	for _, pkg := range append([]string{n.r.g.src.Files[f.file].Package}, n.dotted(f.file)...) {
		if v, ok := n.packageVar(pkg, x.Name); ok {
			return n.value(v)
		}
	}
	return outside, x.Name == "true" || x.Name == "false" || x.Name == "nil"
}

// packageVar returns a variable or a constant of a package of the project.
func (n *goInfer) packageVar(pkg, name string) (goValue, bool) {
	vars, ok := n.vars[pkg]
	if !ok {
		vars = map[string]goValue{}
		for _, file := range n.r.g.byPackage[pkg] {
			f := n.load(int(file))
			if f == nil {
				continue
			}
			for _, d := range f.ast.Decls {
				gen, ok := d.(*ast.GenDecl)
				if !ok || gen.Tok != token.VAR && gen.Tok != token.CONST {
					continue
				}
				b := &binder{f: f, ends: []token.Pos{d.End()}}
				var last ast.ValueSpec // what a constant without a value repeats
				for _, s := range gen.Specs {
					v, ok := s.(*ast.ValueSpec)
					if !ok {
						continue
					}
					if gen.Tok == token.CONST && v.Type == nil && len(v.Values) == 0 {
						repeat := *v
						repeat.Type, repeat.Values = last.Type, last.Values
						b.spec(&repeat)
						continue
					}
					last = *v
					b.spec(v)
				}
				for _, v := range b.out {
					vars[v.name] = v.is
				}
			}
		}
		n.vars[pkg] = vars
	}
	v, ok := vars[name]
	return v, ok
}

// imported returns the package that a name stands for in a file, false where it is none.
func (n *goInfer) imported(f *goFile, x ast.Expr) (pkg string, ok bool) {
	id, isName := x.(*ast.Ident)
	if !isName {
		return "", false
	}
	m := n.r.module(f.file, id.Name)
	if m == nil {
		return "", false
	}
	if _, local := n.binding(f, id.Name, id.Pos()); local {
		return "", false
	}
	return m.Path, true
}

func (n *goInfer) selector(f *goFile, x *ast.SelectorExpr) (goType, bool) {
	if pkg, ok := n.imported(f, x.X); ok {
		if v, ok := n.packageVar(pkg, x.Sel.Name); ok {
			return n.value(v)
		}
		return outside, len(n.r.g.byPackage[pkg]) == 0
	}
	t, ok := n.typeOf(f, x.X)
	if !ok {
		return outside, false
	}
	if t.symbol < 0 && t.expr == nil {
		return outside, true // what belongs to something outside may be anything, but hardly ours
	}
	return n.field(t, x.Sel.Name, 0)
}

// returnsArguments are packages whose generic functions hand back what they were given.
var returnsArguments = []string{"slices", "maps", "cmp", "iter", "sync"}

// called returns the type of a call's result.
func (n *goInfer) called(f *goFile, c *ast.CallExpr, index int) (goType, bool) {
	switch fun := plainFun(c.Fun).(type) {
	case *ast.Ident:
		if v, ok := n.binding(f, fun.Name, fun.Pos()); ok {
			t, ok := n.value(v)
			if !ok {
				return outside, false
			}
			return n.resultOf(t, index)
		}
		switch fun.Name {
		case "make", "new":
			if len(c.Args) > 0 {
				return n.resolveType(f, c.Args[0])
			}
		case "append", "min", "max":
			if len(c.Args) > 0 {
				return n.typeOf(f, c.Args[0])
			}
		case "len", "cap", "copy", "recover", "real", "imag", "complex":
			return outside, true
		}
		t, ok := n.function(n.r.g.src.Files[f.file].Package, f, fun, index)
		for _, pkg := range n.dotted(f.file) {
			if !ok {
				t, ok = n.function(pkg, nil, fun, index)
			}
		}
		return t, ok
	case *ast.SelectorExpr:
		if pkg, ok := n.imported(f, fun.X); ok {
			if len(n.r.g.byPackage[pkg]) == 0 {
				return outside, !slices.Contains(returnsArguments, pkg)
			}
			return n.function(pkg, nil, fun.Sel, index)
		}
		t, ok := n.typeOf(f, fun.X)
		if !ok || t.symbol < 0 && t.expr == nil {
			return outside, ok
		}
		if m := n.method(&t, fun.Sel.Name, 0); m >= 0 {
			return n.resultOfSymbol(m, index)
		}
		if field, ok := n.field(t, fun.Sel.Name, 0); ok {
			return n.resultOf(field, index)
		}
		return outside, t.symbol >= 0 // it comes from what the type embeds of another project
	case *ast.FuncLit:
		return n.resultOf(goType{symbol: -1, expr: fun.Type, file: f}, index)
	case *ast.ArrayType, *ast.MapType, *ast.StarExpr, *ast.InterfaceType, *ast.ChanType, *ast.FuncType:
		return n.resolveType(f, fun)
	}
	return outside, false
}

// function returns the type of what a function of a package returns, or of a conversion.
func (n *goInfer) function(pkg string, f *goFile, id *ast.Ident, index int) (goType, bool) {
	g := n.r.g
	for _, i := range n.r.within(n.r.sakes(callables, id.Name, codesym.Go), -1, hint{kind: inPackage, s: pkg}) {
		s := &g.src.Symbols[i]
		n.r.looks++
		if g.src.Files[s.File].Package != pkg || !topLevel(g, int(i)) || f != nil && g.clauses[f.file] != g.clauses[s.File] {
			continue
		}
		if isType(s.Kind) {
			return goType{symbol: int(i)}, true
		}
		if s.Kind == codesym.Function {
			return n.resultOfSymbol(int(i), index)
		}
	}
	if f != nil && predeclared[id.Name] {
		return outside, true
	}
	if v, ok := n.packageVar(pkg, id.Name); ok {
		if t, ok := n.value(v); ok {
			return n.resultOf(t, index)
		}
	}
	return outside, false
}

// resultOf returns the type of a result of a value of function type.
func (n *goInfer) resultOf(t goType, index int) (goType, bool) {
	t, ok := n.underlying(t)
	if !ok {
		return outside, false
	}
	fn, ok := t.expr.(*ast.FuncType)
	if !ok {
		return outside, t.expr == nil
	}
	return n.resultType(t.file, fn, index)
}

func (n *goInfer) resultType(f *goFile, fn *ast.FuncType, index int) (goType, bool) {
	if fn.Results == nil {
		return outside, true
	}
	i := 0
	for _, field := range fn.Results.List {
		if i += max(1, len(field.Names)); index < i {
			return n.resolveType(f, field.Type)
		}
	}
	return outside, false
}

// resultOfSymbol returns the type of a result of a declared function or method.
func (n *goInfer) resultOfSymbol(symbol, index int) (goType, bool) {
	f, fn := n.funcType(symbol)
	if fn == nil {
		return outside, false
	}
	return n.resultType(f, fn, index)
}

// funcType returns the type of a declared function, or of a method of an interface.
func (n *goInfer) funcType(symbol int) (*goFile, *ast.FuncType) {
	s := &n.r.g.src.Symbols[symbol]
	f := n.load(s.File)
	if f == nil {
		return nil, nil
	}
	return f, f.funcs[s.Start]
}
