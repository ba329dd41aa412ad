package cortex_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"sakur4/internal/cortex"
	"sakur4/internal/sourcefile"
)

// TestTiersAgainstTheTypeChecker resolves every call of this project by tiers and compares with go/types: which of the edges are right, and which are missing. The
// standard library is left out, which leaves unknown what only it could tell. SAKUR4_GO_TREE names another folder with Go sources, checked with the standard library:
//
//	SAKUR4_GO_TREE=$(go env GOROOT)/src go test -v -timeout 30m -run TestTiersAgainstTheTypeChecker ./internal/cortex
func TestTiersAgainstTheTypeChecker(t *testing.T) {
	t.Parallel()
	files, src := ownSource(t)
	least := 0.99
	cfg := cortex.GoConfig{Root: files.mapFS(), Std: tinyStd.mapFS()}
	if dir := os.Getenv("SAKUR4_GO_TREE"); dir != "" {
		cfg.Root = os.DirFS(dir)
		cfg.Std, cfg.Cache = sourcefile.GoTrees()
		files, src = goTree(t, cfg.Root, "")
		least = 0.98
	}
	g := cortex.NewGraph(src)
	exact, err := cortex.CheckGo(t.Context(), g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	checked := cortex.NewResolver(g)
	checked.Text, checked.Exact = files.text(src), exact
	// Variants of a declaration under other build constraints are one.
	name := func(i int) string {
		s := &src.Symbols[i]
		bare, _, _ := strings.Cut(s.Name, "#")
		return src.Files[s.File].Package + "." + bare
	}
	t.Logf("%d files, %d symbols, %d calls; %d packages, %d with errors, the first: %s", len(src.Files), len(src.Symbols), len(src.Refs), exact.Packages, exact.Broken, exact.Problem)
	for _, mode := range []struct {
		name              string
		text              func(int) (string, bool)
		precision, recall float64
	}{{"signatures alone", nil, 0.6, 0.8}, {"with texts", files.text(src), least, least}} {
		r := cortex.NewResolver(g)
		r.Text = mode.text
		right, wrong, missing := 0, 0, 0
		odd := map[string]int{}
		for i, ref := range src.Refs {
			want := checked.Resolve(i)
			if ref.Receiver == "unsafe" {
				continue // its declarations are there for their comments alone
			}
			if len(want) > 0 && want[0].Tier != cortex.Exactly || len(want) == 0 && cfg.Cache == nil {
				continue // the checker does not know, or cannot tell what it does not know from what is not of the project
			}
			got := map[string]bool{}
			for _, e := range r.Resolve(i) {
				got[name(e.To)] = true
			}
			for _, w := range want[:min(1, len(want))] {
				if n := name(w.To); got[n] {
					right++
					delete(got, n)
				} else {
					missing++
					odd[fmt.Sprintf("missing: %s:%d calls %s", src.Files[ref.File].Path, ref.Line, n)]++
				}
			}
			wrong += len(got)
			for n := range got {
				odd["wrong: "+ref.Receiver+"."+ref.Callee+" is no "+n]++
			}
		}
		precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(right+missing)
		t.Logf("%s: %d right, %d wrong, %d missing: precision %.4f, recall %.4f", mode.name, right, wrong, missing, precision, recall)
		if precision < mode.precision || recall < mode.recall {
			t.Errorf("%s: precision %.4f, recall %.4f, want at least %.2f and %.2f", mode.name, precision, recall, mode.precision, mode.recall)
		}
		keys := slices.SortedFunc(maps.Keys(odd), func(a, b string) int { return cmp.Or(odd[b]-odd[a], strings.Compare(a, b)) })
		if mode.text != nil {
			for _, k := range keys[:min(len(keys), 40)] {
				t.Logf("%5d %s", odd[k], k)
			}
		}
	}
}

// goTree reads the Go files of a folder that is a module, or the standard library, without a folder of it.
func goTree(t *testing.T, root fs.FS, without string) (tree, *cortex.Source) {
	t.Helper()
	files := tree{}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".go" || strings.Contains(p, "testdata/") || without != "" && strings.HasPrefix(p, without) {
			return err
		}
		b, err := fs.ReadFile(root, p)
		files[p] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	return files, files.source(t, cortex.ModulePath(string(text)))
}
