package codesym

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseGo reads Go source: with the parser of the standard library where it accepts the text, else by its outline, which loses less to one error.
func parseGo(b *builder) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", b.src, parser.SkipObjectResolution)
	b.lexGo()
	if err != nil || file == nil {
		var list scanner.ErrorList
		if l, ok := err.(scanner.ErrorList); ok {
			list = l[:min(len(l), 1)] // later ones follow from the first
		}
		b.errors = b.errors[:0]
		for _, e := range list {
			b.errorAt(min(e.Pos.Offset, len(b.src)), e.Msg)
		}
		if len(b.errors) == 0 {
			b.errorAt(0, "not Go source")
		}
		b.outlineGo()
		return
	}
	g := &goFile{builder: b, base: fset.File(file.FileStart).Base()}
	g.file(file)
}

// goFile walks the syntax tree of a file.
type goFile struct {
	*builder
	base int
}

func (g *goFile) at(p token.Pos) int { return int(p) - g.base }

func (g *goFile) add(d decl, node ast.Node) {
	d.start, d.end = g.at(node.Pos()), g.at(node.End())
	if d.sigEnd == 0 {
		d.sigEnd = d.end
	}
	d.sigStart = d.start
	g.builder.add(d)
}

func (g *goFile) file(f *ast.File) {
	g.builder.add(decl{kind: Module, name: f.Name.Name, start: g.at(f.Package), end: g.at(f.Name.End()), sigStart: g.at(f.Package), sigEnd: g.at(f.Name.End())})
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			g.general(d, true)
		}
	}
}

func (g *goFile) function(d *ast.FuncDecl) {
	if d.Name.Name == "_" {
		g.body(d)
		return
	}
	out := decl{kind: Function, name: d.Name.Name}
	if d.Recv != nil && len(d.Recv.List) > 0 {
		out.kind, out.scope = Method, receiverType(d.Recv.List[0].Type)
	} else {
		out.test = goTest(d.Name.Name)
	}
	if d.Body != nil {
		out.sigEnd = g.at(d.Body.Lbrace)
	}
	g.add(out, d)
	g.body(d)
}

// receiverType returns the name of a method's type. A type has no two methods of one name, so whether the receiver is a pointer is no part of the name.
func receiverType(x ast.Expr) string {
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.ParenExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			return "_"
		}
	}
}

// goTest reports whether a function's name is one that the test runner of Go calls.
func goTest(name string) bool {
	for _, prefix := range [...]string{"Test", "Benchmark", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			r, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(r)
		}
	}
	return false
}

func (g *goFile) general(d *ast.GenDecl, top bool) {
	for _, spec := range d.Specs {
		var node ast.Node = spec
		prefix, docAt := "", g.at(d.Pos())
		if d.Lparen.IsValid() {
			prefix, docAt = d.Tok.String()+" ", 0
		} else {
			node = d
		}
		switch s := spec.(type) {
		case *ast.ImportSpec:
			path := strings.Trim(s.Path.Value, "\"`")
			if path == "" {
				continue // the grammar takes it, the compiler does not
			}
			if s.Name != nil {
				g.imports = append(g.imports, Import{Path: path, Alias: s.Name.Name, Symbol: len(g.decls), Offset: g.at(s.Pos())})
			} else {
				g.imports = append(g.imports, Import{Path: path, Symbol: len(g.decls), Offset: g.at(s.Pos())})
			}
			g.add(decl{kind: ImportOf, name: path, prefix: prefix, docAt: docAt}, node)
		case *ast.ValueSpec:
			if top && d.Tok == token.CONST {
				g.constants(s, node, prefix, docAt)
			}
			g.body(s)
		case *ast.TypeSpec:
			g.typ(s, node, prefix, docAt)
		}
	}
}

func (g *goFile) constants(s *ast.ValueSpec, node ast.Node, prefix string, docAt int) {
	for _, name := range s.Names {
		if name.Name == "_" {
			continue
		}
		g.add(decl{kind: Constant, name: name.Name, prefix: prefix, docAt: docAt}, node)
	}
}

func (g *goFile) typ(s *ast.TypeSpec, node ast.Node, prefix string, docAt int) {
	d := decl{kind: Type, name: s.Name.Name, prefix: prefix, docAt: docAt}
	if s.Name.Name == "_" {
		g.body(s)
		return
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		d.kind, d.sigEnd = Struct, g.at(t.Fields.Opening)
		for _, f := range t.Fields.List {
			if len(f.Names) == 0 {
				d.bases = append(d.bases, g.source(f.Type))
			}
		}
	case *ast.InterfaceType:
		d.kind, d.sigEnd = Interface, g.at(t.Methods.Opening)
		for _, f := range t.Methods.List {
			if len(f.Names) == 0 {
				d.bases = append(d.bases, g.source(f.Type))
			}
		}
	}
	g.add(d, node)
	if t, ok := s.Type.(*ast.InterfaceType); ok {
		for _, f := range t.Methods.List {
			for _, name := range f.Names {
				g.add(decl{kind: Method, name: name.Name}, f)
			}
		}
	}
	g.body(s)
}

// body records the calls below a node, and the types that are declared there.
func (g *goFile) body(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			g.callExpr(n)
		case *ast.DeclStmt:
			if d, ok := n.Decl.(*ast.GenDecl); ok {
				g.general(d, false)
				return false
			}
		}
		return true
	})
}

func (g *goFile) callExpr(n *ast.CallExpr) {
	fun := n.Fun
	for {
		switch f := fun.(type) {
		case *ast.ParenExpr:
			fun = f.X
			continue
		case *ast.IndexExpr:
			fun = f.X
			continue
		case *ast.IndexListExpr:
			fun = f.X
			continue
		case *ast.Ident:
			g.call("", f.Name, g.at(f.Pos()))
		case *ast.SelectorExpr:
			g.call(g.source(f.X), f.Sel.Name, g.at(f.Sel.Pos()))
		}
		return
	}
}

// source returns the text of a node, "" where it is long.
func (g *goFile) source(n ast.Node) string {
	s := g.src[g.at(n.Pos()):g.at(n.End())]
	if len(s) > maxReceiver || strings.IndexByte(s, '\n') >= 0 {
		return ""
	}
	return s
}
