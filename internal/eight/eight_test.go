package eight_test

import (
	"math/rand/v2"
	"testing"

	"sakur4/internal/eight"
)

// TestEight compares each function with what a look at one byte after the other says, for bytes that are next to each other in all ways that a carry could make a difference.
func TestEight(t *testing.T) {
	t.Parallel()
	edges := []byte{0, 1, 0x1f, 0x20, 0x21, '"', '\\', 'a' - 1, 'a', 'z', 'z' + 1, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff}
	r := rand.New(rand.NewPCG(1, 2))
	var s [8]byte
	for range 20000 {
		for i := range s {
			s[i] = edges[r.IntN(len(edges))]
		}
		b := edges[r.IntN(len(edges))]
		x := eight.Of(string(s[:]))
		if y := eight.Last("longer" + string(s[:])); y != x {
			t.Fatalf("Last(%x) = %x, want %x", s, y, x)
		}
		var not, less uint64
		first, final := 8, -1
		for i, c := range s {
			if c != b {
				not |= 0x80 << (8 * i)
				final = i
				first = min(first, i)
			}
			if c < b {
				less |= 0x80 << (8 * i)
			}
		}
		if got := eight.Not(x, b); got != not {
			t.Fatalf("Not(%x, %x) = %x, want %x", s, b, got, not)
		}
		if got := eight.First(not); got != first {
			t.Fatalf("First(%x) = %d, want %d", not, got, first)
		}
		if got := eight.Final(not); got != final {
			t.Fatalf("Final(%x) = %d, want %d", not, got, final)
		}
		if b <= 0x80 {
			if got := eight.Less(x, b); got != less {
				t.Fatalf("Less(%x, %x) = %x, want %x", s, b, got, less)
			}
		}
	}
}
