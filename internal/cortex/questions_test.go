package cortex_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sakur4/internal/cortex"
	"sakur4/internal/sourcefile"
)

// question is a symbol with what depends directly on it, found by hand.
type question struct {
	tree, symbol string
	want         []string
}

func questions(t *testing.T) []question {
	t.Helper()
	b, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []question
	for line := range strings.Lines(string(b)) {
		head, answer, ok := strings.Cut(line, ": ")
		tree, symbol, named := strings.Cut(head, " ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !ok || !named {
			t.Fatalf("bad line %q", line)
		}
		out = append(out, question{tree, symbol, strings.Fields(answer)})
	}
	return out
}

// TestQuestions answers the questions about this project by tiers. What was found by hand and is still there must be found; callers that were written since are
// counted as wrong, so that the precision is a lower bound. With SAKUR4_GO_TREE the questions are those about the standard library, and go/types answers them too:
//
//	SAKUR4_GO_TREE=$(go env GOROOT)/src go test -v -timeout 30m -run TestQuestions ./internal/cortex
func TestQuestions(t *testing.T) {
	t.Parallel()
	files, src := ownSource(t)
	which := "own"
	var exact *cortex.Exact
	if dir := os.Getenv("SAKUR4_GO_TREE"); dir != "" {
		cfg := cortex.GoConfig{Root: os.DirFS(dir)}
		cfg.Std, cfg.Cache = sourcefile.GoTrees()
		if files, src = goTree(t, cfg.Root, "cmd/"); strings.HasSuffix(src.Modules[0].Path, "std") {
			which = "std"
		}
		var err error
		if exact, err = cortex.CheckGo(t.Context(), cortex.NewGraph(src), cfg); err != nil {
			t.Fatal(err)
		}
	}
	g := cortex.NewGraph(src)
	list := make([]cortex.Named, len(src.Symbols))
	known := map[string]bool{}
	for i, s := range src.Symbols {
		f := src.Files[s.File]
		list[i] = cortex.Named{Name: s.Name, Package: f.Package, Path: f.Path, Kind: s.Kind}
		known[s.Name], known[f.Path] = true, true
	}
	find := cortex.NewNames(list)
	for _, how := range []string{"tiers", "go/types"} {
		if how == "go/types" && exact == nil {
			continue
		}
		right, wrong, missing := 0, 0, 0
		for _, q := range questions(t) {
			if q.tree != which {
				continue
			}
			found := find.Find(q.symbol)
			if len(found) != 1 {
				t.Logf("%s names %d symbols now", q.symbol, len(found))
				continue
			}
			r := cortex.NewResolver(g)
			r.Text = files.text(src)
			if how == "go/types" {
				r.Exact = exact
			}
			want := slices.DeleteFunc(slices.Clone(q.want), func(n string) bool { return !known[n] })
			im := r.Impact(found[0], 1, 0)
			if len(im.Levels) == 0 {
				missing += len(want)
				t.Errorf("%s: Impact(%s) is empty, want %q", how, q.symbol, want)
				continue
			}
			for _, d := range im.Levels[0] {
				name := src.Files[d.File].Path
				if d.Symbol >= 0 {
					name = src.Symbols[d.Symbol].Name
				}
				if i := slices.Index(want, name); i >= 0 {
					right++
					want = slices.Delete(want, i, i+1)
				} else {
					wrong++
					t.Logf("%s: Impact(%s) has %s %s in %s (%s)", how, q.symbol, name, d.Relation, src.Files[d.File].Path, d.Tier)
				}
			}
			if missing += len(want); len(want) > 0 {
				t.Errorf("%s: Impact(%s) has no %q", how, q.symbol, want)
			}
		}
		t.Logf("%s of %s: %d right, %d wrong, %d missing: precision %.3f, recall %.3f", how, which, right, wrong, missing, float64(right)/float64(max(1, right+wrong)),
			float64(right)/float64(max(1, right+missing)))
	}
}
