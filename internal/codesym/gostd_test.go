package codesym_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/codesym"
)

// goFiles returns the Go files of the standard library that the parser of the standard library accepts, with their text.
func goFiles(t *testing.T, every int) map[string]string {
	t.Helper()
	files := map[string]string{}
	n := 0
	err := filepath.WalkDir(filepath.Join(goRoot(), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		if n++; n%every != 0 {
			return nil
		}
		src, err := os.ReadFile(path)
		if err == nil && len(src) < 1<<20 {
			files[path] = string(src)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Skipf("no source of the standard library: %v", err)
	}
	return files
}

// goRoot returns the folder of the Go installation, "" where there is none.
var goRoot = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out))
})

// goFile returns a file of the standard library.
func goFile(tb testing.TB, name string) string {
	tb.Helper()
	src, err := os.ReadFile(filepath.Join(goRoot(), "src", filepath.FromSlash(name)))
	if err != nil {
		tb.Skipf("no source of the standard library: %v", err)
	}
	return string(src)
}

// goEvery is which share of the standard library the tests read; SAKUR4_CODESYM=all reads it all.
func goEvery() int {
	switch {
	case os.Getenv("SAKUR4_CODESYM") == "all":
		return 1
	case raceEnabled:
		return 300
	}
	return 60
}

// declared lists functions, methods and types by the syntax tree alone, as "kind receiver.name start end".
func declared(src string) []string {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var list []string
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	var parents []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		parents = append(parents, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "_" {
				break
			}
			name := n.Name.Name
			if n.Recv != nil {
				recv := src[at(n.Recv.List[0].Type.Pos()):at(n.Recv.List[0].Type.End())]
				recv, _, _ = strings.Cut(strings.Trim(recv, "*()"), "[")
				name = recv + "." + name
			}
			list = append(list, fmt.Sprintf("func %s %d %d", name, at(n.Pos()), at(n.End())))
		case *ast.TypeSpec:
			if n.Name.Name == "_" {
				break
			}
			var node ast.Node = n
			if gen := parents[len(parents)-2].(*ast.GenDecl); !gen.Lparen.IsValid() {
				node = gen
			}
			kind := "type"
			switch n.Type.(type) {
			case *ast.StructType:
				kind = "struct"
			case *ast.InterfaceType:
				kind = "interface"
			}
			list = append(list, fmt.Sprintf("%s %s %d %d", kind, n.Name.Name, at(node.Pos()), at(node.End())))
			if i, ok := n.Type.(*ast.InterfaceType); ok {
				for _, f := range i.Methods.List {
					for _, name := range f.Names {
						list = append(list, fmt.Sprintf("func %s.%s %d %d", n.Name.Name, name.Name, at(f.Pos()), at(f.End())))
					}
				}
			}
		}
		return true
	})
	return list
}

// again is what follows the names of symbols that share one.
var again = regexp.MustCompile(`#[0-9]+$`)

func listed(f codesym.File) []string {
	var list []string
	for _, s := range f.Symbols {
		switch s.Kind {
		case codesym.Function:
			list = append(list, fmt.Sprintf("func %s %d %d", s.Name, s.Start, s.End))
		case codesym.Method:
			scope := strings.TrimSuffix(again.ReplaceAllString(s.Qualified, ""), "."+s.Name)
			if s.Parent >= 0 {
				scope = f.Symbols[s.Parent].Name
			}
			list = append(list, fmt.Sprintf("func %s.%s %d %d", scope, s.Name, s.Start, s.End))
		case codesym.Struct, codesym.Interface, codesym.Type:
			list = append(list, fmt.Sprintf("%s %s %d %d", s.Kind, s.Name, s.Start, s.End))
		}
	}
	return list
}

func TestGoStandardLibrary(t *testing.T) {
	t.Parallel()
	n := 0
	for path, src := range goFiles(t, goEvery()) {
		f, err := codesym.Parse(codesym.Go, src)
		if err != nil || f.Partial {
			t.Errorf("Parse(%s) = partial %v %v, %v", path, f.Partial, f.Errors, err)
			continue
		}
		want := declared(src)
		n += len(want)
		if diff := cmp.Diff(want, listed(f)); diff != "" {
			t.Errorf("Parse(%s) (-want +got):\n%s", path, diff)
		}
	}
	t.Logf("%d functions, methods and types", n)
}

// TestGoOutline holds the outline, which reads files with syntax errors, to the exact parser on files without: symbols that stand in a function aside.
func TestGoOutline(t *testing.T) {
	t.Parallel()
	for path, src := range goFiles(t, goEvery()) {
		f, err := codesym.Parse(codesym.Go, src)
		if err != nil || f.Partial {
			continue
		}
		var want []string
		for _, s := range f.Symbols {
			inBody := s.Parent >= 0 && (s.Kind != codesym.Method || f.Symbols[s.Parent].Parent >= 0)
			inValue := s.Parent < 0 && strings.TrimSpace(src[strings.LastIndexByte(src[:s.Start], '\n')+1:s.Start]) != "" && s.Kind == codesym.Struct
			if !inBody && !inValue {
				want = append(want, show(s))
			}
		}
		var got []string
		for _, s := range codesym.GoOutline(src).Symbols {
			got = append(got, show(s))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("GoOutline(%s) (-want +got):\n%s", path, diff)
		}
	}
}

func show(s codesym.Symbol) string {
	return fmt.Sprintf("%s %s %d-%d %s %s", s.Kind, s.Qualified, s.Start, s.End, s.Signature, s.Doc)
}
