package cortex

import (
	"go/ast"
	"go/token"

	"sakur4/internal/codesym"
)

// predeclared are the predeclared types. They have no methods of the project; that of error is nobody's.
var predeclared = map[string]bool{
	"any": true, "bool": true, "byte": true, "comparable": true, "complex64": true, "complex128": true, "error": true, "float32": true, "float64": true,
	"int": true, "int8": true, "int16": true, "int32": true, "int64": true, "rune": true, "string": true,
	"uint": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true, "uintptr": true,
}

// maxBases bounds how far up members are looked for through what Go types embed.
const maxBases = 8

// resolveType returns the type that a type expression in a file names. Pointers are taken off: they change no methods that a call can see.
func (n *goInfer) resolveType(f *goFile, x ast.Expr) (goType, bool) {
	if n.busy++; n.busy > maxInfer {
		return outside, false
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return n.resolveType(f, x.X)
	case *ast.StarExpr:
		return n.resolveType(f, x.X)
	case *ast.IndexExpr:
		return n.generic(f, x, x.X)
	case *ast.IndexListExpr:
		return n.generic(f, x, x.X)
	case *ast.Ident:
		if v, ok := n.binding(f, x.Name, x.Pos()); ok && v.typ == nil && v.value == nil {
			return outside, false // a type parameter
		}
		if i := n.typeNamed(n.r.g.src.Files[f.file].Package, x.Name, f.file); i >= 0 {
			return goType{symbol: i}, true
		}
		for _, pkg := range n.dotted(f.file) {
			if i := n.typeNamed(pkg, x.Name, -1); i >= 0 {
				return goType{symbol: i}, true
			}
		}
		return outside, predeclared[x.Name]
	case *ast.SelectorExpr:
		pkg, ok := n.imported(f, x.X)
		if !ok {
			return outside, false
		}
		if len(n.r.g.byPackage[pkg]) == 0 {
			return outside, true
		}
		if i := n.typeNamed(pkg, x.Sel.Name, -1); i >= 0 {
			return goType{symbol: i}, true
		}
		return outside, false
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.StructType, *ast.InterfaceType:
		return goType{symbol: -1, expr: x, file: f}, true
	}
	return outside, false
}

// dotted returns the packages of which a file knows the names without a qualifier.
func (n *goInfer) dotted(file int) []string {
	var out []string
	for _, m := range n.r.imports(file) {
		if m.Alias == "." {
			out = append(out, m.Path)
		}
	}
	return out
}

// generic resolves an instance of a generic type: to the type of the project, or to the instance as it is written.
func (n *goInfer) generic(f *goFile, x, base ast.Expr) (goType, bool) {
	t, ok := n.resolveType(f, base)
	if ok && t.symbol < 0 && t.expr == nil {
		return goType{symbol: -1, expr: x, file: f}, true
	}
	return t, ok
}

// typeNamed returns the type of that name in a package, one of the file in front; -1 for none.
func (n *goInfer) typeNamed(pkg, name string, file int) int {
	g := n.r.g
	best := -1
	for _, i := range n.r.within(n.r.sakes(typesOnly, name, codesym.Go), file, hint{kind: inPackage, s: pkg}) {
		s := &g.src.Symbols[i]
		n.r.looks++
		if g.src.Files[s.File].Package != pkg {
			continue
		}
		if s.File == file {
			return int(i)
		}
		if best < 0 && topLevel(g, int(i)) && (file < 0 || g.clauses[file] == g.clauses[s.File]) {
			best = int(i)
		}
	}
	return best
}

// spec returns the declaration of a type.
func (n *goInfer) spec(symbol int) (*goFile, *ast.TypeSpec) {
	s := &n.r.g.src.Symbols[symbol]
	f := n.load(s.File)
	if f == nil {
		return nil, nil
	}
	from, to := token.Pos(s.Start+f.base), token.Pos(s.End+f.base)
	for _, t := range f.specs[s.Short] {
		if t.Pos() >= from && t.End() <= to {
			return f, t
		}
	}
	return f, nil
}

// underlying returns what a type is made of: an expression without a name of the project.
func (n *goInfer) underlying(t goType) (goType, bool) {
	for range maxBases {
		if t.symbol < 0 {
			return t, true
		}
		f, spec := n.spec(t.symbol)
		if spec == nil {
			return outside, false
		}
		var ok bool
		if t, ok = n.resolveType(f, spec.Type); !ok {
			return outside, false
		}
	}
	return outside, false
}

// element returns the type of what a value holds: -1 is its key or what a channel gives, -2 its value.
func (n *goInfer) element(t goType, which int) (goType, bool) {
	t, ok := n.underlying(t)
	if !ok {
		return outside, false
	}
	switch x := t.expr.(type) {
	case nil:
		return outside, true
	case *ast.ArrayType:
		if which == -1 {
			return outside, true
		}
		return n.resolveType(t.file, x.Elt)
	case *ast.MapType:
		if which == -1 {
			return n.resolveType(t.file, x.Key)
		}
		return n.resolveType(t.file, x.Value)
	case *ast.ChanType:
		return n.resolveType(t.file, x.Value)
	case *ast.FuncType: // an iterator: what it gives are the parameters of its yield
		if x.Params == nil || len(x.Params.List) == 0 {
			return outside, false
		}
		yield, ok := x.Params.List[0].Type.(*ast.FuncType)
		if !ok || yield.Params == nil {
			return outside, false
		}
		i := 0
		for _, field := range yield.Params.List {
			if i += max(1, len(field.Names)); i >= -which {
				return n.resolveType(t.file, field.Type)
			}
		}
	case *ast.IndexExpr: // iter.Seq[V] and the like
		if isSeq(x.X) && which == -1 {
			return n.resolveType(t.file, x.Index)
		}
	case *ast.IndexListExpr:
		if i := -which - 1; isSeq(x.X) && i < len(x.Indices) {
			return n.resolveType(t.file, x.Indices[i])
		}
	}
	return outside, false
}

func isSeq(x ast.Expr) bool {
	s, ok := x.(*ast.SelectorExpr)
	return ok && (s.Sel.Name == "Seq" || s.Sel.Name == "Seq2")
}

// method returns the method that a call of that name on a type reaches, also through what it embeds; -1 for none.
func (n *goInfer) method(t *goType, name string, depth int) int {
	if depth == maxBases {
		return -1
	}
	g := n.r.g
	if t.symbol >= 0 {
		s := &g.src.Symbols[t.symbol]
		if i, ok := g.method[g.typeKey(g.src.Files[s.File].Package, s.Short)+" "+name]; ok {
			return int(i)
		}
	}
	for _, e := range n.embedded(t) {
		if m := n.method(&e, name, depth+1); m >= 0 {
			return m
		}
	}
	return -1
}

// embedded returns the types that a struct or an interface embeds, and what an alias stands for.
func (n *goInfer) embedded(t *goType) []goType {
	f, x := t.file, t.expr
	if t.symbol >= 0 {
		file, spec := n.spec(t.symbol)
		if spec == nil {
			return nil
		}
		f, x = file, spec.Type
	}
	var list *ast.FieldList
	switch x := x.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		if t.symbol >= 0 && x != nil {
			if e, ok := n.resolveType(f, x); ok && e.symbol >= 0 && e.symbol != t.symbol {
				return []goType{e}
			}
		}
		return nil
	}
	var out []goType
	for _, field := range list.List {
		if len(field.Names) == 0 {
			if e, ok := n.resolveType(f, field.Type); ok {
				out = append(out, e)
			}
		}
	}
	return out
}

// field returns the type of a field, also of what a struct embeds.
func (n *goInfer) field(t goType, name string, depth int) (goType, bool) {
	if depth == maxBases {
		return outside, false
	}
	t, ok := n.underlying(t)
	if !ok {
		return outside, false
	}
	s, ok := t.expr.(*ast.StructType)
	if !ok {
		return outside, t.expr == nil && depth == 0
	}
	for _, field := range s.Fields.List {
		for _, id := range field.Names {
			if id.Name == name {
				return n.resolveType(t.file, field.Type)
			}
		}
		if len(field.Names) == 0 && baseName(field.Type) == name {
			return n.resolveType(t.file, field.Type)
		}
	}
	for _, field := range s.Fields.List {
		if len(field.Names) > 0 {
			continue
		}
		if e, ok := n.resolveType(t.file, field.Type); ok {
			if out, ok := n.field(e, name, depth+1); ok {
				return out, true
			}
		}
	}
	return outside, false
}

// baseName returns the name of an embedded field.
func baseName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return baseName(x.X)
	case *ast.IndexExpr:
		return baseName(x.X)
	case *ast.IndexListExpr:
		return baseName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}
