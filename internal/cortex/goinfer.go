package cortex

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"sakur4/internal/codesym"
)

// goInfer finds out which type a receiver in Go has, from declarations alone: parameters, assignments, fields and results are followed through the files of the
// project. It knows nothing of overloading by generics and gives up where the type is not written down, so it needs no type-checked module and no dependencies.
type goInfer struct {
	r     *Resolver
	files map[int]*goFile // nil where a file is not Go source any more
	vars  map[string]map[string]goValue
	// params are what signatures say, by symbol.
	params map[int]map[string]parameter
	// undeclared are the names that files were seen to declare or not to.
	undeclared map[nameIn]bool
	busy       int // steps of the question at hand
}

// goFile is a parsed file.
type goFile struct {
	file  int
	ast   *ast.File
	base  int // position of offset 0
	calls map[int]*ast.CallExpr
	// specs are the declarations of types by name, funcs the types of functions and of methods of interfaces by the offset of their declaration.
	specs map[string][]*ast.TypeSpec
	funcs map[int]*ast.FuncType
	binds map[ast.Decl]map[string][]goBinding
	uses  map[string][]goUse // by name; nil before they are asked for
}

// goValue is an expression that has the type of a name: the type itself, or a value with the index of the one that is meant of several.
type goValue struct {
	typ   ast.Expr
	value ast.Expr
	index int // of the results of value; -1: value is ranged over and the key is meant, -2: the value
	file  *goFile
}

// goType is what an expression is known to be. With neither a symbol nor an expression it is something outside of the project, which has no methods here.
type goType struct {
	symbol int      // index of the named type in the source, -1 for none
	expr   ast.Expr // the type as written, where it has no name
	file   *goFile
	bare   bool // no receiver at all
}

// maxInfer bounds how far a type is followed.
const maxInfer = 40

func newGoInfer(r *Resolver) *goInfer {
	return &goInfer{r: r, files: map[int]*goFile{}, vars: map[string]map[string]goValue{}, params: map[int]map[string]parameter{}, undeclared: map[nameIn]bool{}}
}

// outside is the type of what has no methods in the project.
var outside = goType{symbol: -1}

// load parses a file, once. It returns nil where there is no text.
func (n *goInfer) load(file int) *goFile {
	if f, ok := n.files[file]; ok {
		return f
	}
	n.files[file] = nil
	if n.r.Text == nil {
		return nil
	}
	src, ok := n.r.Text(file)
	if !ok {
		return nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	f := &goFile{file: file, ast: tree, base: fset.File(tree.FileStart).Base(), calls: map[int]*ast.CallExpr{},
		specs: map[string][]*ast.TypeSpec{}, funcs: map[int]*ast.FuncType{}, binds: map[ast.Decl]map[string][]goBinding{}}
	ast.Inspect(tree, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.CallExpr:
			if id := calleeOf(x); id != nil {
				f.calls[int(id.Pos())-f.base] = x
			}
		case *ast.TypeSpec:
			f.specs[x.Name.Name] = append(f.specs[x.Name.Name], x)
		case *ast.FuncDecl:
			f.funcs[int(x.Pos())-f.base] = x.Type
		case *ast.Field:
			if fn, ok := x.Type.(*ast.FuncType); ok && len(x.Names) > 0 {
				f.funcs[int(x.Pos())-f.base] = fn
			}
		}
		return true
	})
	n.files[file] = f
	return f
}

// calleeOf returns the name that a call calls, nil where it calls something unnamed.
func calleeOf(c *ast.CallExpr) *ast.Ident {
	switch f := plainFun(c.Fun).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// plainFun takes parentheses and type arguments off what is called.
func plainFun(x ast.Expr) ast.Expr {
	for {
		switch f := x.(type) {
		case *ast.ParenExpr:
			x = f.X
		case *ast.IndexExpr:
			x = f.X
		case *ast.IndexListExpr:
			x = f.X
		default:
			return x
		}
	}
}

// call returns the call of a ref in the text of its file, nil where that is not known.
func (n *goInfer) call(ref *Ref) (*goFile, *ast.CallExpr) {
	f := n.load(ref.File)
	if f == nil {
		return nil, nil
	}
	c := f.calls[ref.Offset]
	if c == nil || calleeOf(c).Name != ref.Callee {
		return f, nil
	}
	return f, c
}

// receiver returns the type of a call's receiver. known is false where it cannot be told, and the type nil where it is outside of the project.
func (n *goInfer) receiver(ref *Ref) (typ *goType, known bool) {
	f, c := n.call(ref)
	if c == nil {
		return n.fromSignature(ref)
	}
	sel, ok := plainFun(c.Fun).(*ast.SelectorExpr)
	if !ok {
		return &goType{symbol: -1, bare: true}, true
	}
	n.busy = 0
	t, ok := n.typeOf(f, sel.X)
	if !ok {
		n.busy = 0
		t, ok = n.resolveType(f, sel.X) // a method expression
	}
	switch {
	case !ok:
		return nil, false
	case t.symbol < 0 && t.expr == nil:
		return nil, true
	}
	return &t, true
}

// member reports whether a call is known to have a receiver, of which the ref says nothing.
func (n *goInfer) member(ref *Ref) bool {
	if ref.Receiver != "" {
		return true
	}
	_, c := n.call(ref)
	if c == nil {
		return false
	}
	_, ok := plainFun(c.Fun).(*ast.SelectorExpr)
	return ok
}

// shadowed reports whether a name is declared in the function around a ref, so that it is neither a package nor a function of one.
func (n *goInfer) shadowed(ref *Ref, name string) bool {
	if n.files[ref.File] == nil && n.neverDeclared(ref.File, name) {
		return false
	}
	f := n.load(ref.File)
	if f == nil {
		return false
	}
	_, ok := n.binding(f, name, token.Pos(ref.Offset+f.base))
	return ok
}

// fromSignature tells the type of a receiver or parameter that stands in the signature of the function around the call.
func (n *goInfer) fromSignature(ref *Ref) (*goType, bool) {
	if ref.Receiver == "" {
		return nil, false
	}
	g := n.r.g
	for i := ref.From; i >= 0; i = g.src.Symbols[i].Parent {
		params, ok := n.params[i]
		if !ok {
			params = n.parameters(i)
			n.params[i] = params
		}
		if t, ok := params[ref.Receiver]; ok {
			switch {
			case !t.known:
				return nil, false
			case t.typ.symbol < 0:
				return nil, true
			}
			return &t.typ, true
		}
	}
	return nil, false
}

// parameter is what the signature of a function says of a name.
type parameter struct {
	typ   goType
	known bool
}

// parameters reads the signature of a function.
func (n *goInfer) parameters(symbol int) map[string]parameter {
	s := &n.r.g.src.Symbols[symbol]
	if s.Kind != codesym.Function && s.Kind != codesym.Method || !strings.HasPrefix(s.Signature, "func") {
		return nil
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+s.Signature, parser.SkipObjectResolution)
	if err != nil || len(tree.Decls) != 1 {
		return nil
	}
	fn, ok := tree.Decls[0].(*ast.FuncDecl)
	if !ok {
		return nil
	}
	out := map[string]parameter{}
	f := &goFile{file: s.File, ast: tree, binds: map[ast.Decl]map[string][]goBinding{}}
	for _, list := range []*ast.FieldList{fn.Recv, fn.Type.Params, fn.Type.Results} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, id := range field.Names {
				n.busy = 0
				t, ok := n.resolveType(f, field.Type)
				out[id.Name] = parameter{t, ok}
			}
		}
	}
	return out
}
