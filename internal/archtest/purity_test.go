package archtest_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// pureRooms decide on plain values: no clock, no chance, no I/O, no state of the package, no goroutine. Time, ids and counts come in as values. Two of them ask a
// backend through its interface, which is all that they know of the world.
// A room that is not there yet is no complaint.
var pureRooms = []string{
	"boundary", "evict", "receipt", "semantic", "symbolic", "toolparse",
	"internal/codesym", "internal/consolidate", "internal/digest", "internal/eight", "internal/episode", "internal/fold", "internal/frame", "internal/names", "internal/pin", "internal/prompt", "internal/recall", "internal/rendering", "internal/turn",
	"internal/vector",
}

// impureImports are packages through which a room would reach the world, with everything below them.
var impureImports = []string{
	"context/exec", "crypto/rand", "database/sql", "embed", "expvar", "io/fs", "io/ioutil", "log", "math/rand", "net", "os", "path/filepath",
	"plugin", "runtime", "syscall", "testing", "time/tzdata", "unsafe",
}

// impureCalls are functions of packages that are otherwise allowed.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// TestPurity reads the source of the pure rooms.
func TestPurity(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, room := range pureRooms {
			for _, f := range t.source(room) {
				list = append(list, impurities(t, f)...)
			}
		}
		return list
	}, `
-- evict/a.go --
package evict
import (
	"fmt"
	"math/rand/v2"
	"os"
	clock "time"
)
func a(wait clock.Duration) {
	go a(wait)
	_ = clock.Now()
	now := clock.Now
	fmt.Println(rand.Int(), os.Args, now)
	println()
	_ = fmt.Sprint(clock.Second)
}
-- boundary/llamacpp/a.go --
package llamacpp
import "net/http"
`,
		`evict/a.go:4: imports "math/rand/v2"`, `evict/a.go:5: imports "os"`,
		"evict/a.go:9: starts a goroutine", "evict/a.go:10: uses time.Now", "evict/a.go:11: uses time.Now", "evict/a.go:12: uses fmt.Println", "evict/a.go:13: uses println",
	)
}

func impurities(t tree, f file) []string {
	var list []string
	say := func(pos token.Pos, format string, args ...any) {
		list = append(list, t.at(pos)+": "+fmt.Sprintf(format, args...)+": this room is pure, what it needs comes in as a value")
	}
	names := map[string]string{} // local name of an import → its path, where calls matter
	for i, spec := range f.ast.Imports {
		name := f.imports()[i]
		for _, bad := range impureImports {
			if name == bad || strings.HasPrefix(name, bad+"/") {
				say(spec.Pos(), "imports %q", name)
			}
		}
		if impureCalls[name] != nil {
			names[name] = name
			if spec.Name != nil {
				delete(names, name)
				names[spec.Name.Name] = name
			}
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n.Pos(), "starts a goroutine")
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && slices.Contains(impureCalls[names[id.Name]], n.Sel.Name) {
				say(n.Pos(), "uses %s.%s", names[id.Name], n.Sel.Name)
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
				say(n.Pos(), "uses %s", id.Name)
			}
		}
		return true
	})
	return list
}

// TestNothingPrinted holds the library silent: what it has to say goes to a given logger, a writer or a result. Examples and commands print.
func TestNothingPrinted(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, f := range t.own() {
			if f.test || f.ast.Name.Name == "main" {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := types.ExprString(call.Fun)
				if slices.Contains([]string{"fmt.Print", "fmt.Printf", "fmt.Println", "print", "println", "log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf", "os.Exit"}, name) {
					list = append(list, fmt.Sprintf("%s: calls %s: the library prints nothing and ends no process", t.at(call.Pos()), name))
				}
				return true
			})
		}
		return list
	}, `
-- internal/store/a.go --
package store
func a() {
	log.Printf("x")
	fmt.Fprintln(w)
	os.Exit(1)
}
-- internal/x/cmd/main.go --
package main
func main() { fmt.Println() }
`, "internal/store/a.go:3: calls log.Printf", "internal/store/a.go:5: calls os.Exit")
}

// TestNoPackageState finds package variables of pure rooms that something changes. Sentinels, compiled patterns and tables are fine as long as nothing does.
func TestNoPackageState(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, room := range pureRooms {
			list = append(list, packageState(t, t.source(room))...)
		}
		return list
	}, `
-- evict/a.go --
package evict
var (
	count  int
	table  = map[string]int{"a": 1}
	list   []int
	lock   sync.Mutex
	buffer = &bytes.Buffer{}
	config struct{ a [3]int }
	lazy   = sync.OnceValue(func() int { return 1 })
	kept   = []int{1}
	target int
)
-- evict/b.go --
package evict
func a(count2 int) int {
	count++
	table["b"] = 2
	list = append(list, 1)
	config.a[1] = 2
	delete(table, "a")
	change(&target)
	kept := kept
	kept[0] = 2
	count := 1
	count = 2
	table := map[string]int{}
	table["x"] = 1
	return lazy() + kept[0]
}
`,
		"evict/a.go:6: lock", "evict/a.go:7: buffer",
		"evict/b.go:3: count", "evict/b.go:4: table", "evict/b.go:5: list", "evict/b.go:6: config", "evict/b.go:7: table", "evict/b.go:8: target",
	)
}

// stateTypes are types whose variables are there to be changed.
var stateTypes = []string{
	"sync.Mutex", "sync.RWMutex", "sync.Once", "sync.Map", "sync.Pool", "sync.WaitGroup", "sync.Cond", "atomic.", "bytes.Buffer", "strings.Builder", "chan ", "make(chan",
}

// lazily removes what computes a value once: from outside it is a table.
var lazily = strings.NewReplacer("sync.OnceValues", "", "sync.OnceValue", "")

func packageState(t tree, files []file) []string {
	var list []string
	for _, f := range files {
		for _, decl := range f.ast.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				values := spec.(*ast.ValueSpec)
				text := ""
				if values.Type != nil {
					text = types.ExprString(values.Type)
				}
				for _, v := range values.Values {
					if call, ok := v.(*ast.CallExpr); ok {
						text += " " + types.ExprString(call.Fun)
						continue
					}
					text += " " + types.ExprString(v)
				}
				text = lazily.Replace(text)
				for _, state := range stateTypes {
					if strings.Contains(text, state) {
						list = append(list, fmt.Sprintf("%s: %s is a package variable that is there to be changed: a pure room has no state", t.at(spec.Pos()), values.Names[0].Name))
					}
				}
			}
		}
	}

	// Imports are not resolved: names of the package itself are, and that is all that is asked for here.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: nothing{}, FakeImportC: true}
	var parsed []*ast.File
	for _, f := range files {
		parsed = append(parsed, f.ast)
	}
	if len(parsed) == 0 {
		return nil
	}
	pkg, _ := config.Check(files[0].room(), t.fset, parsed, info)
	changed := func(x ast.Expr) {
		id := base(x)
		if id == nil {
			return
		}
		if v, ok := info.Uses[id].(*types.Var); ok && v.Parent() == pkg.Scope() {
			list = append(list, fmt.Sprintf("%s: %s is a package variable and changed or addressed here: a pure room has no state", t.at(id.Pos()), id.Name))
		}
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					changed(x)
				}
			case *ast.IncDecStmt:
				changed(n.X)
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					changed(n.Key)
					changed(n.Value)
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					changed(n.X)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, id.Name) && len(n.Args) > 0 {
					changed(n.Args[0])
				}
			}
			return true
		})
	}
	return list
}

// base returns the variable that x is a part of, nil if it is none.
func base(x ast.Expr) *ast.Ident {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e
		case *ast.IndexExpr:
			x = e.X
		case *ast.SelectorExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		case *ast.SliceExpr:
			x = e.X
		default:
			return nil
		}
	}
}

// nothing is an importer that finds nothing.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not loaded", path)
}

// TestNoUnsafe holds all source, tests and nested modules included, to plain Go.
func TestNoUnsafe(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		var list []string
		for _, f := range t.files {
			for i, name := range f.imports() {
				if name == "unsafe" || name == "C" {
					list = append(list, fmt.Sprintf("%s: imports %q", t.at(f.ast.Imports[i].Pos()), name))
				}
			}
			for _, group := range f.ast.Comments {
				for _, c := range group.List {
					if strings.HasPrefix(c.Text, "//go:linkname") || strings.HasPrefix(c.Text, "//go:cgo") {
						list = append(list, t.at(c.Pos())+": "+c.Text)
					}
				}
			}
		}
		return list
	}, `
-- examples/x/go.mod --
module x
-- examples/x/a_test.go --
package x
import "C"
import "unsafe"
//go:linkname a b
`, `imports "C"`, `imports "unsafe"`, "//go:linkname")
}
