package boundary

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"sakur4/internal/digest"
)

// TestSums goes on, cuts and changes tokens at random, and compares with the digest of all of them.
func TestSums(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var tokens []int32
	var s sums
	for step := range 300 {
		if random.IntN(4) == 0 {
			tokens = tokens[:random.IntN(len(tokens)+1)]
			s.keep(len(tokens))
		}
		for range random.IntN(3 * sumTokens) {
			tokens = append(tokens, random.Int32())
		}
		var b []byte
		for _, x := range tokens {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		}
		if got, want := s.of(tokens), fmt.Sprintf("%016x", digest.FastBytes(b)); got != want {
			t.Fatalf("step %d: of(%d tokens) = %s, want %s", step, len(tokens), got, want)
		}
		if n := len(s); n != len(tokens)/sumTokens {
			t.Fatalf("step %d: %d digests are kept of %d tokens", step, n, len(tokens))
		}
	}
}

func TestCommon(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 200} {
		a := make([]int32, n)
		if got := common(a, make([]int32, n+7)); got != n {
			t.Errorf("common of %d equal tokens = %d", n, got)
		}
		for i := range n {
			b := make([]int32, n)
			b[i] = 1
			if got := common(a, b); got != i {
				t.Errorf("common of %d tokens that differ at %d = %d", n, i, got)
			}
		}
	}
}
