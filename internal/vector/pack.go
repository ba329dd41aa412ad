package vector

import (
	"fmt"
	"math"
)

// MaxDim is the most numbers that a vector may have: the sums of a comparison hold that many.
const MaxDim = 1 << 16

// The ranges of a stored number and of a query's. A query is one vector and is kept exact to five digits; a stored one is to be small: one byte a number is a
// quarter of the model's own, and changes the order of the nearest ten of 2,000 by one in fifty at most, which the tests measure.
const (
	storedRange = math.MaxInt8
	queryRange  = math.MaxInt16
)

// Error says why a vector cannot be used.
type Error struct {
	// Index is the number at fault, -1 for the vector as a whole.
	Index int
	Msg   string
}

// Error returns the reason and the place.
func (e *Error) Error() string {
	if e.Index < 0 {
		return "vector: " + e.Msg
	}
	return fmt.Sprintf("vector: number %d: %s", e.Index, e.Msg)
}

// Check returns a [*Error] where v does not have dim numbers, all of them finite and one of them not 0: no direction can be told from it then. Any length
// is good, because directions are compared.
func Check(v []float32, dim int) error {
	if len(v) != dim {
		return &Error{Index: -1, Msg: fmt.Sprintf("%d numbers, not %d", len(v), dim)}
	}
	largest := 0.0
	for i, x := range v {
		a := math.Abs(float64(x))
		if math.IsNaN(a) || math.IsInf(a, 0) {
			return &Error{Index: i, Msg: fmt.Sprintf("%v is not finite", x)}
		}
		largest = max(largest, a)
	}
	if largest == 0 {
		return &Error{Index: -1, Msg: "all numbers are 0"}
	}
	return nil
}

// Pack returns a vector that [Check] accepts as bytes, one signed one a number: the largest becomes 127.
func Pack(v []float32) []byte {
	out := make([]byte, len(v))
	scale := storedRange / largest(v)
	for i, x := range v {
		out[i] = byte(int8(math.Round(float64(x) * scale)))
	}
	return out
}

// Query is what stored vectors are compared with. Make one with [NewQuery]; the zero value is no vector.
type Query struct {
	values []int16
	length float64
}

// NewQuery makes one of a vector that [Check] accepts.
func NewQuery(v []float32) Query {
	q := Query{values: make([]int16, len(v))}
	scale := queryRange / largest(v)
	sum := 0.0
	for i, x := range v {
		n := int16(math.Round(float64(x) * scale))
		q.values[i] = n
		sum += float64(n) * float64(n)
	}
	q.length = math.Sqrt(sum)
	return q
}

// Dim returns the number of numbers.
func (q Query) Dim() int { return len(q.values) }

func largest(v []float32) float64 {
	m := 0.0
	for _, x := range v {
		m = max(m, math.Abs(float64(x)))
	}
	return m
}
