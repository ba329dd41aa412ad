package archtest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module is the path of the module whose source is checked.
const module = "sakur4"

// file is one Go file.
type file struct {
	path string // slash-separated, from the module's root
	test bool   // its name ends in _test.go
	src  []byte
	ast  *ast.File
}

// room returns the folder of the file, "." for the root.
func (f file) room() string { return path.Dir(f.path) }

// imports returns the paths that the file imports.
func (f file) imports() []string {
	var list []string
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		list = append(list, name)
	}
	return list
}

// rooms returns the rooms of this module that the file imports.
func (f file) rooms() []string {
	var list []string
	for _, name := range f.imports() {
		if name == module {
			list = append(list, ".")
		} else if room, ok := strings.CutPrefix(name, module+"/"); ok {
			list = append(list, room)
		}
	}
	return list
}

// tree is the source of the module, and of the modules nested in it.
type tree struct {
	fset   *token.FileSet
	files  []file              // Go files, by path; testdata is left out
	texts  map[string][]byte   // every other file that people read
	nested map[string]struct{} // folders that hold a module of their own
}

// load reads the tree. Folders that begin with a dot or an underscore, and testdata, hold no source of ours.
func load(fsys fs.FS) (tree, error) {
	t := tree{fset: token.NewFileSet(), texts: map[string][]byte{}, nested: map[string]struct{}{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			skip := base != "." && base != ".ci" && (base[0] == '.' || base[0] == '_') || base == "testdata" || base == "vendor"
			if skip {
				return fs.SkipDir
			}
			return nil
		}
		if base == "go.mod" && name != base {
			t.nested[path.Dir(name)] = struct{}{}
		}
		if path.Ext(base) != ".go" {
			if slices.Contains([]string{".md", ".sh", ".mod", ".txt", ".yml", ".yaml", ".json", ".sql", ""}, path.Ext(base)) {
				src, err := fs.ReadFile(fsys, name)
				t.texts[name] = src
				return err
			}
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		t.files = append(t.files, file{path: name, test: strings.HasSuffix(name, "_test.go"), src: src, ast: parsed})
		return nil
	})
	return t, err
}

// own returns the files of the module itself, without nested modules.
func (t tree) own() []file {
	return slices.DeleteFunc(slices.Clone(t.files), func(f file) bool {
		for dir := range t.nested {
			if f.room() == dir || strings.HasPrefix(f.room(), dir+"/") {
				return true
			}
		}
		return false
	})
}

// source returns the files of a room of the module that are no tests.
func (t tree) source(room string) []file {
	return slices.DeleteFunc(t.own(), func(f file) bool { return f.test || f.room() != room })
}

// at says where a node stands.
func (t tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// rule gives complaints about a tree, each with its place; none means that the tree keeps the rule.
type rule func(t tree) []string

// check runs a rule over this module, and over broken trees that are written as a text: "-- name --" lines open files. want is what it must complain about,
// in order, each a part of one complaint.
func check(t *testing.T, r rule, broken string, want ...string) {
	t.Helper()
	t.Run("this module", func(t *testing.T) {
		t.Parallel()
		source, err := load(os.DirFS("../.."))
		if err != nil {
			t.Fatal(err)
		}
		if len(source.files) < 10 {
			t.Fatalf("load found %d files, want the module's source", len(source.files))
		}
		for _, complaint := range r(source) {
			t.Error(complaint)
		}
	})
	t.Run("broken tree", func(t *testing.T) {
		t.Parallel()
		source, err := load(archive(broken))
		if err != nil {
			t.Fatal(err)
		}
		got := r(source)
		for i := range got {
			if i < len(want) && strings.Contains(got[i], want[i]) {
				got[i] = want[i]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("complaints (-want +got):\n%s", diff)
		}
	})
}
