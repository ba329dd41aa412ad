package vector_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"sakur4/internal/vector"
)

// TestCheck: what gives no direction is refused, with the place.
func TestCheck(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		name  string
		v     []float32
		index int // -2: it is accepted
	}{
		{"unit", []float32{0, 1, 0}, -2},
		{"long", []float32{3e30, -1e38, 0}, -2},
		{"tiny", []float32{1e-45, 0, 0}, -2},
		{"short by one", []float32{0, 1}, -1},
		{"none", nil, -1},
		{"zero", []float32{0, 0, 0}, -1},
		{"NaN", []float32{1, nan, 0}, 1},
		{"infinite", []float32{1, 0, inf}, 2},
	} {
		err := vector.Check(c.v, 3)
		var bad *vector.Error
		if (c.index == -2) != (err == nil) || err != nil && (!errors.As(err, &bad) || bad.Index != c.index) {
			t.Errorf("%s: Check(%v, 3) = %v, want index %d", c.name, c.v, err, c.index)
		}
		if err == nil {
			if packed := vector.Pack(c.v); len(packed) != 3 {
				t.Errorf("%s: Pack(%v) = %v", c.name, c.v, packed)
			}
		}
	}
}

// random returns a vector near one of the centres, as texts about one subject have them.
func random(r *rand.Rand, centre []float32, spread float64) []float32 {
	v := make([]float32, len(centre))
	for i := range v {
		v[i] = centre[i] + float32(r.NormFloat64()*spread)
	}
	return v
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}

// TestPackedVectorsFindWhatFullOnesDo measures what the small form costs: of the ten nearest by the model's own numbers at least 97 of 100 are found, for
// vectors that lie apart and for such as lie close together.
func TestPackedVectorsFindWhatFullOnesDo(t *testing.T) {
	t.Parallel()
	const dim, texts, queries, k = 384, 2000, 20, 10
	for _, centres := range []int{1, 40, 2000} {
		r := rand.New(rand.NewPCG(7, uint64(centres)))
		var middle [][]float32
		for range centres {
			middle = append(middle, random(r, make([]float32, dim), 1))
		}
		m := vector.NewMatrix(dim)
		var full [][]float32
		for i := range texts {
			v := random(r, middle[i%centres], 0.5)
			full = append(full, v)
			if err := m.Add([]vector.Row{{Kind: 1, Row: int64(i)}}, vector.Pack(v)); err != nil {
				t.Fatal(err)
			}
		}
		found := 0
		for range queries {
			q := random(r, middle[r.IntN(centres)], 0.5)
			order, exact := make([]int64, texts), make([]float64, texts)
			for i := range order {
				order[i], exact[i] = int64(i), cosine(q, full[i])
			}
			slices.SortFunc(order, func(a, b int64) int { return cmp.Compare(exact[b], exact[a]) })
			near, _ := m.View(texts).Nearest(vector.NewQuery(q), k, nil)
			for _, n := range near {
				if slices.Contains(order[:k], n.Row.Row) {
					found++
				}
				if got, want := n.Cosine, exact[n.Row.Row]; math.Abs(got-want) > 0.01 {
					t.Errorf("cosine of row %d = %v, want about %v", n.Row.Row, got, want)
				}
			}
		}
		share := float64(found) / (queries * k)
		t.Logf("%d centres: %.3f of the nearest %d are found", centres, share, k)
		if share < 0.97 {
			t.Errorf("%d centres: %.3f of the nearest %d are found, want 0.97", centres, share, k)
		}
	}
}

// TestNearest compares a search with sorting everything, for rows with several vectors, with ties, and with a filter.
func TestNearest(t *testing.T) {
	t.Parallel()
	const dim = 5
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		m := vector.NewMatrix(dim)
		want := map[vector.Row]float64{}
		q := random(r, make([]float32, dim), 1)
		query := vector.NewQuery(q)
		for i := range r.IntN(60) {
			row := vector.Row{Kind: uint8(1 + i%2), Row: int64(i / 2)}
			for range 1 + r.IntN(3) {
				v := make([]float32, dim)
				for j := range v {
					v[j] = float32(r.IntN(3) - 1) // many are equal
				}
				if vector.Check(v, dim) != nil {
					v[0] = 1
				}
				packed := vector.Pack(v)
				one := vector.NewMatrix(dim)
				for _, to := range []*vector.Matrix{one, m} {
					if err := to.Add([]vector.Row{row}, packed); err != nil {
						t.Fatal(err)
					}
				}
				if near, _ := one.View(1).Nearest(query, 1, nil); len(near) == 1 {
					want[row] = max(want[row], near[0].Cosine)
				}
			}
		}
		keep := func(row vector.Row) bool { return round%3 > 0 || row.Row%3 > 0 }
		var all []vector.Near
		for row, cosine := range want {
			if keep(row) {
				all = append(all, vector.Near{Row: row, Cosine: cosine})
			}
		}
		slices.SortFunc(all, func(a, b vector.Near) int {
			return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Row.Row, b.Row.Row))
		})
		n := 1 + r.IntN(20)
		got, complete := m.View(1000).Nearest(query, n, keep)
		if diff := gocmp.Diff(append([]vector.Near(nil), all[:min(n, len(all))]...), append([]vector.Near(nil), got...)); diff != "" {
			t.Fatalf("round %d: Nearest(%d) (-want +got):\n%s", round, n, diff)
		}
		if complete != (len(all) <= n) {
			t.Errorf("round %d: Nearest(%d) of %d says all = %t", round, n, len(all), complete)
		}
	}
}

// TestMatrixRefuses: bytes that are no vectors of the rows are an error and add nothing; a query of another length finds nothing.
func TestMatrixRefuses(t *testing.T) {
	t.Parallel()
	m := vector.NewMatrix(3)
	for _, packed := range [][]byte{{1, 2}, {1, 2, 3, 4}, {0, 0, 0}} {
		if err := m.Add([]vector.Row{{Kind: 1, Row: 1}}, packed); err == nil || m.Len() != 0 {
			t.Errorf("Add(%v as 3 numbers) = %v with %d vectors, want an error and none", packed, err, m.Len())
		}
	}
	if err := m.Add([]vector.Row{{Kind: 1, Row: 1}}, []byte{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []vector.Query{{}, vector.NewQuery([]float32{1, 1})} {
		if got, all := m.View(1).Nearest(q, 5, nil); len(got) != 0 || !all {
			t.Errorf("Nearest(query of %d numbers) = %v, %t", q.Dim(), got, all)
		}
	}
}

// BenchmarkNearest scans all vectors for the nearest 32.
func BenchmarkNearest(b *testing.B) {
	const dim = 384
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("vectors=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			m := vector.NewMatrix(dim)
			packed := make([]byte, dim)
			for i := range n {
				for j := range packed {
					packed[j] = byte(r.Uint32())
				}
				if err := m.Add([]vector.Row{{Kind: 1, Row: int64(i)}}, packed); err != nil {
					b.Fatal(err)
				}
			}
			q := vector.NewQuery(random(r, make([]float32, dim), 1))
			view := m.View(n)
			b.ReportAllocs()
			for b.Loop() {
				view.Nearest(q, 32, nil)
			}
		})
	}
}
