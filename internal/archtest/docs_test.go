package archtest_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// publicRooms are the packages that agents import.
var publicRooms = []string{".", "boundary", "boundary/llamacpp", "evict", "receipt", "semantic", "symbolic", "toolparse"}

// TestPackageComments asks for a package comment: in doc.go for a public package, anywhere for the others.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		found := map[string]bool{}
		var rooms []string
		for _, f := range t.own() {
			if f.test || f.ast.Name.Name == "main" {
				continue
			}
			if !slices.Contains(rooms, f.room()) {
				rooms = append(rooms, f.room())
			}
			if strings.HasPrefix(f.ast.Doc.Text(), "Package "+f.ast.Name.Name+" ") {
				found[f.room()] = !slices.Contains(publicRooms, f.room()) || strings.HasSuffix(f.path, "doc.go") || found[f.room()]
			}
		}
		var list []string
		for _, room := range rooms {
			if !found[room] {
				list = append(list, fmt.Sprintf("%s: has no comment that begins with \"Package …\" (a public package: in doc.go)", room))
			}
		}
		return list
	}, `
-- evict/doc.go --
// Package evict is fine.
package evict
-- receipt/a.go --
// Package receipt is in the wrong file.
package receipt
-- internal/turn/a.go --
// Package turn is fine.
package turn
-- internal/fold/a.go --
package fold
`, "internal/fold: has no comment", "receipt: has no comment")
}

// TestDocComments asks for a comment on everything that a public package exports. One on a group of constants or on neighbouring fields is enough for all of
// them; a field that the comment on its type names, and the method of an interface that has only one, need none of their own. The comment on a function, method or
// type begins with its name.
func TestDocComments(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, room := range publicRooms {
			for _, f := range t.source(room) {
				list = append(list, undocumented(t, f)...)
			}
		}
		return list
	}, `
-- evict/a.go --
package evict
func A() {}
// Wrong does.
func B() {}
// C does.
func C() {}
type D struct {
	A int
	// B and C are grouped.
	B int
	C int

	E int
	f int
	G int // has one
}
func (D) M() {}
func (d) M() {}
// I is one.
type I interface {
	A()
	// B does.
	B()
}
// L is named with its field N.
type L struct {
	N int
}
// O is one.
type O interface { P() }
// Constants of a group.
const (
	X = 1
	Y = 2
)
const (
	Z = 1
	// W has one.
	W = 2
)
var V int
type (
	// J has one.
	J int
	K int
)
`,
		"A has no doc comment", `B begins with "Wrong"`, "D has no doc comment", "A has no doc comment", "E has no doc comment", "M has no doc comment", "A has no doc comment",
		"Z has no doc comment", "V has no doc comment", "K has no doc comment",
	)
}

func undocumented(t tree, f file) []string {
	var list []string
	missing := func(pos token.Pos, name string) {
		list = append(list, fmt.Sprintf("%s: %s has no doc comment: say what it means, its unit, its zero value, its errors", t.at(pos), name))
	}
	named := func(pos token.Pos, name string, comment *ast.CommentGroup) {
		text := comment.Text()
		if text == "" {
			missing(pos, name)
			return
		}
		words := strings.Fields(text)
		if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
			words = words[1:]
		}
		if first := strings.TrimRight(words[0], ",.:;"); first != name && first != "Deprecated" {
			list = append(list, fmt.Sprintf("%s: the doc comment of %s begins with %q: begin with the name", t.at(pos), name, first))
		}
	}
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
				named(d.Pos(), d.Name.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if !s.Name.IsExported() {
						continue
					}
					comment := s.Doc
					if comment == nil && !d.Lparen.IsValid() {
						comment = d.Doc
					}
					named(s.Pos(), s.Name.Name, comment)
					switch body := s.Type.(type) {
					case *ast.StructType:
						fields(t, body.Fields, comment.Text(), missing)
					case *ast.InterfaceType:
						if len(body.Methods.List) > 1 {
							fields(t, body.Methods, comment.Text(), missing)
						}
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
							missing(name.Pos(), name.Name)
						}
					}
				}
			}
		}
	}
	return list
}

// fields asks for a comment on each exported field or method that the type's own does not name, or on one that stands right above it.
func fields(t tree, group *ast.FieldList, comment string, missing func(token.Pos, string)) {
	named := strings.FieldsFunc(comment, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	covered, last := false, 0
	for _, field := range group.List {
		first := field.Pos()
		if field.Doc != nil {
			first = field.Doc.Pos()
		}
		adjacent := t.fset.Position(first).Line == last+1
		covered = field.Doc != nil || field.Comment != nil || covered && adjacent
		last = t.fset.Position(field.End()).Line
		for _, name := range field.Names { // an embedded one has none and is documented where it is declared
			if name.IsExported() && !covered && !slices.Contains(named, name.Name) {
				missing(name.Pos(), name.Name)
			}
		}
	}
}

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if generic, ok := x.(*ast.IndexExpr); ok {
		x = generic.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// TestExamples asks each public package for an example with checked output, in an external test file as a user would write it.
func TestExamples(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, room := range publicRooms {
			if len(t.source(room)) == 0 {
				continue // not written yet
			}
			found := false
			for _, f := range t.own() {
				if f.room() != room || !f.test || !strings.HasSuffix(f.ast.Name.Name, "_test") {
					continue
				}
				for _, example := range doc.Examples(f.ast) {
					found = found || example.Output != ""
				}
			}
			if !found {
				list = append(list, room+": has no Example with // Output: in an external test file")
			}
		}
		return list
	}, `
-- boundary/a.go --
package boundary
-- evict/a.go --
package evict
-- evict/example_test.go --
package evict_test
func Example() {
	// Output: x
}
-- receipt/a.go --
package receipt
-- receipt/example_test.go --
package receipt_test
func Example() {
}
`, "boundary: has no Example", "receipt: has no Example")
}

// TestPublicRoomsExist lists the public packages that are not written yet.
func TestPublicRoomsExist(t *testing.T) {
	t.Parallel()
	source, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, room := range publicRooms {
		if len(source.source(room)) == 0 {
			missing = append(missing, room)
		}
	}
	if missing != nil {
		t.Skipf("skipped: not written yet: %s", strings.Join(missing, ", "))
	}
}
