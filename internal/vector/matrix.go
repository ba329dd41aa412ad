package vector

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Row names what a vector is of: a kind of row, and the row.
type Row struct {
	Kind uint8
	Row  int64
}

// Near is a row that was found, with the cosine of the angle between its nearest vector and the query's: 1 is the same direction.
type Near struct {
	Row
	Cosine float64
}

// Matrix holds packed vectors of one length in the order in which they were added. A row may have several, which follow each other. The zero value is not
// usable; see [NewMatrix]. It is not safe for concurrent use, but a [View] of it is, whatever is added afterwards.
type Matrix struct {
	dim     int
	rows    []Row
	values  []int8
	lengths []float32 // of the packed vectors
}

// NewMatrix returns an empty matrix of vectors of that length.
func NewMatrix(dim int) *Matrix { return &Matrix{dim: dim} }

// Len returns the number of vectors.
func (m *Matrix) Len() int { return len(m.rows) }

// Add adds packed vectors, one for each row, all in one piece. Bytes that are none are an error and add nothing.
func (m *Matrix) Add(rows []Row, packed []byte) error {
	if len(packed) != len(rows)*m.dim {
		return &Error{Index: -1, Msg: fmt.Sprintf("%d bytes for %d vectors of %d numbers", len(packed), len(rows), m.dim)}
	}
	had := len(m.rows)
	for i, row := range rows {
		sum := 0
		for _, b := range packed[i*m.dim : (i+1)*m.dim] {
			n := int8(b)
			sum += int(n) * int(n)
			m.values = append(m.values, n)
		}
		if sum == 0 {
			m.rows, m.lengths, m.values = m.rows[:had], m.lengths[:had], m.values[:had*m.dim]
			return &Error{Index: -1, Msg: "all numbers are 0"}
		}
		m.rows = append(m.rows, row)
		m.lengths = append(m.lengths, float32(math.Sqrt(float64(sum))))
	}
	return nil
}

// View returns the first n vectors, all of them if there are fewer.
func (m *Matrix) View(n int) View {
	n = min(n, len(m.rows))
	return View{dim: m.dim, rows: m.rows[:n:n], values: m.values[: n*m.dim : n*m.dim], lengths: m.lengths[:n:n]}
}

// View is what a matrix held at one time. The zero value holds nothing.
type View struct {
	dim     int
	rows    []Row
	values  []int8
	lengths []float32
}

// Len returns the number of vectors.
func (v View) Len() int { return len(v.rows) }

// Nearest returns the n rows nearest to a query among those that keep accepts, nil for all; the nearest first, ties by kind and row. A row that stands at
// a right angle or more has nothing to do with the query and is none of them. all says that there are no more than were returned.
func (v View) Nearest(q Query, n int, keep func(Row) bool) (best []Near, all bool) {
	all = true
	if q.Dim() != v.dim || n <= 0 {
		return nil, true
	}
	least := 0.0 // what a row must surpass or equal to be among the best
	cut := func() {
		slices.SortFunc(best, func(a, b Near) int {
			return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Row.Row, b.Row.Row))
		})
		if len(best) > n {
			best, all = best[:n], false
		}
		if len(best) == n {
			least = best[n-1].Cosine
		}
	}
	for i := 0; i < len(v.rows); {
		row := v.rows[i]
		skip := keep != nil && !keep(row)
		cosine := 0.0
		for ; i < len(v.rows) && v.rows[i] == row; i++ {
			if !skip {
				cosine = max(cosine, float64(dot(q.values, v.values[i*v.dim:(i+1)*v.dim]))/float64(v.lengths[i]))
			}
		}
		cosine /= q.length
		switch {
		case skip || cosine <= 0:
			continue
		case cosine < least:
			all = false
			continue
		}
		if best = append(best, Near{row, cosine}); len(best) >= 2*n {
			cut()
		}
	}
	cut()
	return best, all
}

// dot is written so that four sums run beside each other. No sum can overflow: a product is below 2^22, and there are at most 2^16 of them.
func dot(q []int16, v []int8) int64 {
	v = v[:len(q)]
	var a, b, c, d int64
	for len(q) >= 4 && len(v) >= 4 {
		a += int64(q[0]) * int64(v[0])
		b += int64(q[1]) * int64(v[1])
		c += int64(q[2]) * int64(v[2])
		d += int64(q[3]) * int64(v[3])
		q, v = q[4:], v[4:]
	}
	for i := range q {
		a += int64(q[i]) * int64(v[i])
	}
	return a + b + c + d
}
