package sakur4_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// promise is something that the module is said to do, with the tests that would fail if it did not: a folder and a function, the root's own without a folder.
type promise struct {
	idea  string
	tests []string
}

// mustHaveTests looks up every test that a table of promises names.
func mustHaveTests(t *testing.T, table []promise) {
	t.Helper()
	known := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				name := fn.Name.Name
				if dir := path.Dir(p); dir != "." {
					name = dir + "." + name
				}
				known[name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ideas := map[string]bool{}
	for _, c := range table {
		if ideas[c.idea] || len(c.tests) == 0 {
			t.Errorf("%q stands twice or has no test", c.idea)
		}
		ideas[c.idea] = true
		for _, name := range c.tests {
			if !known[name] {
				t.Errorf("%q: there is no test %s", c.idea, name)
			}
		}
	}
}
