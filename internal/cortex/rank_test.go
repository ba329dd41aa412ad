package cortex_test

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/cortex"
)

func names(src *cortex.Source, ranked []cortex.Ranked) []string {
	var out []string
	for _, x := range ranked {
		out = append(out, src.Symbols[x.Symbol].Name)
	}
	return out
}

func ranked(tb testing.TB, g *cortex.Graph, focus ...string) []cortex.Ranked {
	tb.Helper()
	out, err := g.Rank(tb.Context(), focus)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestRank(t *testing.T) {
	t.Parallel()
	files := parseTree(`
-- core/core.go --
package core
type Engine struct{}
func (e *Engine) Run() { step() }
func Open() *Engine { return nil }
func step() {}
func lonely() {}
-- a/a.go --
package a
import "m/core"
func A() { core.Open() }
func Near() { helper() }
func helper() {}
-- b/b.go --
package b
import "m/core"
func B(e *core.Engine) { core.Open(); e.Run() }
-- b/b_test.go --
package b
func TestB() { B(nil); B(nil); lonely() }
func lonely() {}
`)
	src := files.source(t, "m")
	rank := func(focus ...string) []cortex.Ranked { return ranked(t, cortex.NewGraph(src), focus...) }
	sum := 0.0
	for _, x := range rank() {
		sum += x.Score
	}
	if sum <= 0 || sum > 1+1e-9 {
		t.Errorf("the scores sum to %v, want a share of 1", sum)
	}
	for _, c := range []struct {
		focus []string
		order []string // each comes before the next
	}{
		{nil, []string{"Engine", "Open", "A", "TestB"}},
		{nil, []string{"Engine.Run", "step", "lonely", "TestB"}},
		{[]string{"a/a.go"}, []string{"Engine", "Near", "B", "TestB"}},
		{[]string{"a/a.go"}, []string{"helper", "step"}},
		{[]string{"./a/"}, []string{"helper", "step"}},
		{[]string{"helper"}, []string{"helper", "Engine", "lonely", "TestB"}},
		{[]string{"b"}, []string{"Engine", "B", "A"}},
		{[]string{"nothing/of/that/name"}, []string{"Engine", "Open", "A", "TestB"}},
	} {
		got := names(src, rank(c.focus...))
		for k := range len(c.order) - 1 {
			if slices.Index(got, c.order[k]) > slices.Index(got, c.order[k+1]) {
				t.Errorf("Rank(%q) = %q, want %q before %q", c.focus, got, c.order[k], c.order[k+1])
			}
		}
	}
	if got := ranked(t, cortex.NewGraph(&cortex.Source{})); len(got) != 0 {
		t.Errorf("Rank of nothing = %v", got)
	}
}

// ownSource returns this project's own Go source, read once for all tests.
func ownSource(tb testing.TB) (tree, *cortex.Source) {
	tb.Helper()
	own := readOwn()
	if own.err != nil {
		tb.Fatal(own.err)
	}
	return own.files, own.once(tb)
}

type ownTree struct {
	files  tree
	read   sync.Once
	source *cortex.Source
	err    error
}

func (o *ownTree) once(tb testing.TB) *cortex.Source {
	tb.Helper()
	o.read.Do(func() { o.source = o.files.source(tb, "sakur4") })
	return o.source
}

var readOwn = sync.OnceValue(func() *ownTree {
	own := &ownTree{files: tree{}}
	root := os.DirFS("../..")
	own.err = fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") {
			return err
		}
		b, err := fs.ReadFile(root, p)
		own.files[p] = string(b)
		return err
	})
	return own
})

// TestRankIsTheSameToTheBit ranks this project twice.
func TestRankIsTheSameToTheBit(t *testing.T) {
	t.Parallel()
	_, src := ownSource(t)
	one := ranked(t, cortex.NewGraph(src), "internal/store")
	two := ranked(t, cortex.NewGraph(src), "internal/store")
	for i := range one {
		if one[i].Symbol != two[i].Symbol || math.Float64bits(one[i].Score) != math.Float64bits(two[i].Score) {
			t.Fatalf("rank %d: %v and %v", i, one[i], two[i])
		}
	}
}

// count counts every fourth byte, so that lines count more alone than together.
func count(s string) int { return (len(s) + 3) / 4 }

// TestFit checks on this project that a smaller budget gives a beginning of a larger one's map, and that none is exceeded.
func TestFit(t *testing.T) {
	t.Parallel()
	_, src := ownSource(t)
	g := cortex.NewGraph(src)
	list := ranked(t, g)
	for name, items := range map[string][]cortex.MapItem{
		"signatures": g.Map(list, 0, nil),
		"names":      g.Map(list, 0, func(i int) string { return src.Symbols[i].Name }),
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		n, text, tokens := cortex.Fit(items, 4096, count)
		if n == 0 || tokens > 4096 {
			t.Fatalf("%s: Fit = %d items of %d tokens in a budget of 4096", name, n, tokens)
		}
		for range 50 {
			budget := rng.IntN(4096)
			k, small, tokens := cortex.Fit(items, budget, count)
			if tokens > budget || count(small) != tokens || !strings.HasPrefix(text, small) || k > n {
				t.Errorf("%s: in %d tokens: %d items of %d tokens, %q, which is no beginning of the map in 4096", name, budget, k, tokens, small)
			}
			if k < len(items) && tokens+count(items[k].Text)+2 < budget {
				t.Errorf("%s: %d of %d tokens used, and the next item has %d", name, tokens, budget, count(items[k].Text))
			}
		}
	}
	if n, text, _ := cortex.Fit(g.Map(list, 0, nil), 3, count); n != 0 || text != "" {
		t.Errorf("Fit in 3 tokens = %d, %q", n, text)
	}
}

// TestMap shows the shape of a map.
func TestMap(t *testing.T) {
	t.Parallel()
	src := parseTree(shapes).source(t, "m")
	g := cortex.NewGraph(src)
	var b strings.Builder
	for _, it := range g.Map(ranked(t, g, "Draw")[:6], 0, nil) {
		b.WriteString(it.Text)
	}
	want := `shape/shape.go:
  type Shape interface
  Area() float64
  Name() string
  type base struct
  func (base) Name() string
draw/draw.go:
  func Draw(s shape.Shape)
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func BenchmarkRank(b *testing.B) {
	_, src := ownSource(b)
	b.Run(fmt.Sprintf("symbols=%d/refs=%d", len(src.Symbols), len(src.Refs)), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ranked(b, cortex.NewGraph(src))
		}
	})
}
