package symbolic_test

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sakur4/semantic"
	"sakur4/symbolic"
)

// exports returns an importer that reads the compiled packages of this module and of what they need. Packages that do not compile are missing from it.
func exports(t *testing.T, fset *token.FileSet, patterns ...string) types.Importer {
	t.Helper()
	args := append([]string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}, patterns...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("go %v: %v", args, err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "="); ok && file != "" {
			files[path] = file
		}
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("package %s does not compile", path)
		}
		return os.Open(files[path])
	})
}

// An expectation stands at the end of the line that must not compile.
var expectation = regexp.MustCompile(`// ERROR "(.*)"$`)

// expectations returns the pattern of each line that carries one.
func expectations(t *testing.T, fset *token.FileSet, f *ast.File) map[int]*regexp.Regexp {
	t.Helper()
	want := map[int]*regexp.Regexp{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if m := expectation.FindStringSubmatch(c.Text); m != nil {
				want[fset.Position(c.Pos()).Line] = regexp.MustCompile(m[1])
			}
		}
	}
	return want
}

// TestForge type-checks files that try to make a fact, a source, evidence or an anchor out of nothing. Every line marked with an error must have it, and no other line any.
func TestForge(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "forge", "*.go"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files to check, %v", len(files), err)
	}
	fset := token.NewFileSet()
	imp := exports(t, fset, "./symbolic", "./semantic", "./internal/episode", "encoding/json", "regexp")
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			want := expectations(t, fset, f)
			if (len(want) == 0) != (filepath.Base(path) == "good.go") {
				t.Fatalf("%d lines expect an error", len(want))
			}
			for _, spec := range f.Imports {
				if strings.Contains(spec.Path.Value, "/internal/") {
					return // The type checker knows no walls between modules: TestForgeFromOutside builds this one.
				}
			}
			got := map[int][]string{}
			conf := types.Config{Importer: imp, Error: func(err error) {
				var e types.Error
				if errors.As(err, &e) {
					line := fset.Position(e.Pos).Line
					got[line] = append(got[line], e.Msg)
				}
			}}
			conf.Check("outside/forge", fset, []*ast.File{f}, nil)
			for line, pattern := range want {
				if !pattern.MatchString(strings.Join(got[line], "\n")) {
					t.Errorf("%s:%d: errors %q, want one that matches %q: this forgery compiles", path, line, got[line], pattern)
				}
			}
			for line, msgs := range got {
				if want[line] == nil {
					t.Errorf("%s:%d: unexpected errors %q", path, line, msgs)
				}
			}
		})
	}
}

// TestForgeFromOutside builds the file that reaches for the module's internal packages, in a module of its own as an agent would be.
func TestForgeFromOutside(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	build := func(file string) string {
		dir := t.TempDir()
		src, err := os.ReadFile(filepath.Join("testdata", "forge", file))
		if err != nil {
			t.Fatal(err)
		}
		mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
		if err != nil {
			t.Fatal(err)
		}
		outside := strings.Replace(string(mod), "module sakur4", "module outside", 1) + "\nrequire sakur4 v0.0.0\n\nreplace sakur4 => " + root + "\n"
		for name, content := range map[string][]byte{"go.mod": []byte(outside), "go.sum": sum, "forge.go": src} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err == nil {
			return ""
		}
		return string(out) + err.Error()
	}
	if got := build("good.go"); got != "" {
		t.Errorf("go build of good.go: %s", got)
	}
	if got := build("internal_import.go"); !strings.Contains(got, "use of internal package") {
		t.Errorf("go build of internal_import.go = %q, want the import refused", got)
	}
}

// TestNoDecoder checks that nothing decodes into a sealed value, neither by an interface nor by reflection.
func TestNoDecoder(t *testing.T) {
	t.Parallel()
	for _, sealed := range []any{&symbolic.Fact{}, &symbolic.FactSource{}, &symbolic.Evidence{}, &semantic.Anchor{}} {
		name := reflect.TypeOf(sealed).Elem().String()
		for _, iface := range []reflect.Type{
			reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[encoding.BinaryUnmarshaler](),
			reflect.TypeFor[gob.GobDecoder](), reflect.TypeFor[xml.Unmarshaler](), reflect.TypeFor[interface{ Scan(any) error }](),
			reflect.TypeFor[fmt.Scanner](), reflect.TypeFor[interface{ Set(string) error }](),
		} {
			if reflect.TypeOf(sealed).Implements(iface) {
				t.Errorf("*%s implements %v: a decoder is a constructor", name, iface)
			}
		}
		typ := reflect.TypeOf(sealed).Elem()
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				t.Errorf("%s has the exported field %s", name, f.Name)
			}
		}
		for i := range reflect.TypeOf(sealed).NumMethod() {
			if m := reflect.TypeOf(sealed).Method(i); !hasMethod(typ, m.Name) {
				t.Errorf("%s has the method %s on its pointer: it could change the value", name, m.Name)
			}
		}
		for _, doc := range []string{`{"row":{"FactID":"sym_0","Value":"x"},"kind":1,"arg":"x","content":"x","valid":true,"id":"x","hash":"x"}`, `"x"`, `[1]`} {
			_ = json.Unmarshal([]byte(doc), sealed)
		}
		_ = gob.NewDecoder(bytes.NewReader([]byte("x"))).Decode(sealed)
		if !reflect.ValueOf(sealed).Elem().IsZero() {
			t.Errorf("decoding filled %s", name)
		}
	}
}

func hasMethod(t reflect.Type, name string) bool {
	_, ok := t.MethodByName(name)
	return ok
}
