package cortex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/cortex"
)

// impactText lists what an impact says: "depth relation file:name lines tier confidence".
func impactText(src *cortex.Source, im cortex.Impact) string {
	var b strings.Builder
	for i, level := range im.Levels {
		for _, d := range level {
			name := "(file)"
			if d.Symbol >= 0 {
				name = src.Symbols[d.Symbol].Name
			}
			fmt.Fprintf(&b, "%d %s %s:%s %v via %s, %s %.2f\n", i+1, d.Relation, src.Files[d.File].Path, name, d.Lines, src.Symbols[d.Via].Name, d.Tier, d.Confidence)
		}
	}
	for _, f := range im.Importers {
		fmt.Fprintf(&b, "imported by %s\n", src.Files[f].Path)
	}
	if im.LeftOut > 0 {
		fmt.Fprintf(&b, "%d left out\n", im.LeftOut)
	}
	return b.String()
}

const shapes = `
-- shape/shape.go --
package shape
// Shape is one.
type Shape interface { Area() float64; Name() string }
const Sides = 4
type Square struct{ base }
func (s Square) Area() float64 { return Sides }
type base struct{}
func (base) Name() string { return "base" }
type Circle struct{}
func (c *Circle) Area() float64 { return pi() }
func (c *Circle) Name() string { return "" }
type NotQuite struct{}
func (NotQuite) Area() int { return 0 }
func (NotQuite) Name() string { return "" }
func pi() float64 { return loop(1) }
func loop(n int) float64 { return again(n) }
func again(n int) float64 { return loop(n - 1) }
-- draw/draw.go --
package draw
import "m/shape"
var all = []shape.Shape{shape.Square{}}
var first = all[0].Area()
func Draw(s shape.Shape) { s.Area(); each(measure) }
func Round(c *shape.Circle) float64 { return c.Area() }
func measure(shape.Square) {}
func each(f func(shape.Square)) { f(shape.Square{}) }
type Wide struct{ shape.Square }
func (w Wide) Twice() float64 { return 2 * w.Area() }
func sides() map[int]string { shape := shape.Sides; return map[int]string{shape: ""} }
-- draw/draw_test.go --
package draw
func TestDraw(t *testing.T) { Draw(nil) }
-- shape/dot_test.go --
package shape_test
import . "m/shape"
var sides = Sides
-- other/other.go --
package other
import "elsewhere/shape"
func use() { shape.Sides(); var s shape.Shape; s.Area() }
`

func TestImpact(t *testing.T) {
	t.Parallel()
	files := parseTree(shapes)
	src := files.source(t, "m")
	for _, c := range []struct {
		symbol       string
		depth, limit int
		want         string
	}{
		{"Circle.Area", 3, 0, `
1 calls draw/draw.go:Round [6] via Circle.Area, receiver type 0.90
1 calls draw/draw.go:(file) [4] via Circle.Area, through an interface 0.54
1 calls draw/draw.go:Draw [5] via Circle.Area, through an interface 0.54
2 calls draw/draw_test.go:TestDraw [2] via Draw, same package 0.46
`},
		{"NotQuite.Area", 3, 0, ``},
		{"Shape.Area", 1, 0, `
1 calls draw/draw.go:(file) [4] via Shape.Area, receiver type 0.90
1 calls draw/draw.go:Draw [5] via Shape.Area, receiver type 0.90
`},
		{"Square.Area", 2, 0, `
1 calls draw/draw.go:Wide.Twice [10] via Square.Area, receiver type 0.90
1 calls draw/draw.go:(file) [4] via Square.Area, through an interface 0.54
1 calls draw/draw.go:Draw [5] via Square.Area, through an interface 0.54
2 calls draw/draw_test.go:TestDraw [2] via Draw, same package 0.46
`},
		{"loop", 10, 0, `
1 calls shape/shape.go:pi [15] via loop, same file 0.90
1 calls shape/shape.go:again [17] via loop, same file 0.90
2 calls shape/shape.go:Circle.Area [10] via pi, same file 0.81
3 calls draw/draw.go:Round [6] via Circle.Area, receiver type 0.73
3 calls draw/draw.go:(file) [4] via Circle.Area, through an interface 0.44
3 calls draw/draw.go:Draw [5] via Circle.Area, through an interface 0.44
4 calls draw/draw_test.go:TestDraw [2] via Draw, same package 0.37
`},
		{"loop", 10, 2, `
1 calls shape/shape.go:pi [15] via loop, same file 0.90
1 calls shape/shape.go:again [17] via loop, same file 0.90
5 left out
`},
		{"measure", 1, 0, `
1 mentions draw/draw.go:Draw [5] via measure, same package 0.85
`},
		{"Sides", 1, 0, `
1 mentions draw/draw.go:sides [11] via Sides, imported name 0.90
1 mentions shape/dot_test.go:(file) [3] via Sides, same package 0.85
1 mentions shape/shape.go:Square.Area [6] via Sides, same package 0.85
imported by draw/draw.go
imported by shape/dot_test.go
`},
		{"Shape", 1, 0, `
1 mentions draw/draw.go:(file) [3] via Shape, imported name 0.90
1 mentions draw/draw.go:Draw [5] via Shape, imported name 0.90
1 implements draw/draw.go:Wide [9] via Shape, method set 0.85
1 implements shape/shape.go:Square [5] via Shape, method set 0.85
1 implements shape/shape.go:Circle [9] via Shape, method set 0.85
imported by draw/draw.go
`},
		{"Square", 1, 0, `
1 mentions draw/draw.go:(file) [3] via Square, imported name 0.90
1 mentions draw/draw.go:measure [7] via Square, imported name 0.90
1 mentions draw/draw.go:each [8] via Square, imported name 0.90
1 extends draw/draw.go:Wide [9] via Square, imported name 0.90
1 mentions shape/shape.go:Square.Area [6] via Square, same package 0.85
imported by draw/draw.go
`},
	} {
		t.Run(fmt.Sprint(c.symbol, c.depth, c.limit), func(t *testing.T) {
			t.Parallel()
			r := cortex.NewResolver(cortex.NewGraph(src))
			r.Text = files.text(src)
			got := impactText(src, r.Impact(symbolNamed(t, src, c.symbol), c.depth, c.limit))
			if d := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got); d != "" {
				t.Errorf("Impact(%s, %d, %d): (-want +got)\n%s", c.symbol, c.depth, c.limit, d)
			}
		})
	}
}

// TestImpactOfOtherLanguages follows inheritance and imports.
func TestImpactOfOtherLanguages(t *testing.T) {
	t.Parallel()
	files := parseTree(`
-- a.py --
class Base:
    def go(self): pass
LIMIT = 3
def helper(): pass
-- b.py --
from a import Base, helper as h, LIMIT
class Sub(Base):
    def go(self): return LIMIT # not LIMIT
def use(b: Base): b.go()
def run():
    h()
    run()
def pass_on(): return map(helper, [])
-- p/I.java --
package p;
public interface I { void go(); }
-- q/C.java --
package q;
import p.I;
class C implements I { public void go() {} void use(I i) { i.go(); } }
`)
	src := files.source(t, "m")
	for symbol, want := range map[string]string{
		"Base": `
1 extends b.py:Sub [2] via Base, imported name 0.90
1 mentions b.py:use [4] via Base, same word 0.60
imported by b.py
`,
		"Sub.go":  "\n1 calls b.py:use [4] via Sub.go, through an interface 0.54\n",
		"Base.go": "\n1 calls b.py:use [4] via Base.go, receiver type 0.90\n",
		"helper":  "\n1 calls b.py:run [6] via helper, imported name 0.90\n1 mentions b.py:pass_on [8] via helper, same word 0.60\n",
		"I": `
1 implements q/C.java:C [3] via I, imported name 0.90
1 mentions q/C.java:C.use(I) [3] via I, same word 0.60
imported by q/C.java
`,
		"C.go()": "\n1 calls q/C.java:C.use(I) [3] via C.go(), through an interface 0.54\n",
	} {
		t.Run(symbol, func(t *testing.T) {
			t.Parallel()
			r := cortex.NewResolver(cortex.NewGraph(src))
			r.Text = files.text(src)
			got := impactText(src, r.Impact(symbolNamed(t, src, symbol), 1, 0))
			if d := cmp.Diff(strings.TrimPrefix(want, "\n"), got); d != "" {
				t.Errorf("Impact(%s): (-want +got)\n%s", symbol, d)
			}
		})
	}
}
