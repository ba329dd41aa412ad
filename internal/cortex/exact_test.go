package cortex_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/cortex"
)

// mapFS is a project in memory as a file system.
func (files tree) mapFS() fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// tinyStd is as much of a standard library as the projects below import.
var tinyStd = parseTree(`
-- fmt/fmt.go --
package fmt
import "golang.org/x/inner"
func Println(a ...any) { inner.Do() }
-- vendor/golang.org/x/inner/inner.go --
package inner
func Do() {}
-- testing/testing.go --
package testing
type T struct{}
`)

func TestCheckGo(t *testing.T) {
	t.Parallel()
	files := parseTree(`
-- go.mod --
module m
require (
	example.com/Dep/v2 v2.1.0 // indirect
)
require example.com/gone v1.0.0
replace example.com/moved => example.com/other v0.1.0
-- a/a.go --
package a
import (
	"fmt"
	dep "example.com/Dep/v2/sub"
	"example.com/gone"
)
type Doer interface { Do(x int) }
type T struct{ inner }
type inner struct{}
func (inner) Do(x int) { fmt.Println(x); dep.Call(x); gone.Away() }
type Wrong struct{}
func (Wrong) Do(x string) {}
func generic[X any](x X) X { return x }
func use(d Doer) { d.Do(1); generic(T{}).Do(2); f := T.Do; f(T{}, 3); gone.Make().Do() }
func Do() {}
-- a/a_windows.go --
package a
func other() { Do() }
-- a/a_test.go --
package a
var Exported = use
func testOnly() { T{}.Do(4) }
-- a/ext_test.go --
package a_test
import ("m/a"; "testing")
func TestUse(t *testing.T) { a.Exported(a.T{}); (&a.T{}).Do(5) }
`)
	cache := fstest.MapFS{"example.com/!dep/v2@v2.1.0/sub/s.go": {Data: []byte("package sub\nfunc Call(int) {}\n")}}
	src := files.source(t, "m")
	g := cortex.NewGraph(src)
	e, err := cortex.CheckGo(t.Context(), g, cortex.GoConfig{Root: files.mapFS(), Std: tinyStd.mapFS(), Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	if e.Packages != 3 || e.Broken != 2 || !strings.Contains(e.Problem, "example.com/gone") {
		t.Errorf("CheckGo = %d packages, %d broken, %q, want 3, 2 and the module that is not there", e.Packages, e.Broken, e.Problem)
	}
	for symbol, want := range map[string]string{
		"inner.Do": `
1 calls a/a.go:use [14] via inner.Do, exact 1.00
1 calls a/a_test.go:testOnly [3] via inner.Do, exact 1.00
1 calls a/ext_test.go:TestUse [3] via inner.Do, exact 1.00
`,
		"Wrong.Do": ``,
		"Doer.Do": `
1 calls a/a.go:use [14] via Doer.Do, exact 1.00
`,
		"Doer": `
1 mentions a/a.go:use [14] via Doer, exact 1.00
1 implements a/a.go:T [8] via Doer, method set 0.85
1 implements a/a.go:inner [9] via Doer, method set 0.85
`,
		"generic": `
1 calls a/a.go:use [14] via generic, exact 1.00
`,
		"Do": `
1 calls a/a_windows.go:other [2] via Do, same package 0.85
`,
	} {
		t.Run(symbol, func(t *testing.T) {
			t.Parallel()
			r := cortex.NewResolver(g)
			r.Text, r.Exact = files.text(src), e
			got := impactText(src, r.Impact(symbolNamed(t, src, symbol), 1, 0))
			if d := cmp.Diff(strings.TrimPrefix(want, "\n"), got); d != "" {
				t.Errorf("Impact(%s): (-want +got)\n%s", symbol, d)
			}
		})
	}
}

func TestCheckGoErrors(t *testing.T) {
	t.Parallel()
	files := tree{"a.go": "package a\nimport \"b\"\n", "b/b.go": "package b\nimport \"a\"\n", "x.py": "x()\n"}
	g := cortex.NewGraph(files.source(t, "std"))
	none := cortex.NewGraph(tree{"x.py": "x()\n"}.source(t, ""))
	cfg := cortex.GoConfig{Root: files.mapFS(), Std: tinyStd.mapFS()}
	if _, err := cortex.CheckGo(t.Context(), none, cfg); !errors.Is(err, cortex.ErrNoGo) {
		t.Errorf("CheckGo without Go: %v, want ErrNoGo", err)
	}
	if _, err := cortex.CheckGo(t.Context(), g, cortex.GoConfig{Root: files.mapFS()}); !errors.Is(err, cortex.ErrNoGo) {
		t.Errorf("CheckGo without a standard library: %v, want ErrNoGo", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cortex.CheckGo(ctx, g, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("CheckGo that is cancelled: %v", err)
	}
	if _, err := cortex.CheckGo(t.Context(), g, cfg); err != nil { // the cycle is a problem of the packages
		t.Errorf("CheckGo of an import cycle: %v", err)
	}
}
