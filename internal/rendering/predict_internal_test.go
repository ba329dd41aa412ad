package rendering

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/internal/prompt"
)

// TestSending makes prompts longer, shorter and other ones at random, and compares with what a look at the whole prompt says.
func TestSending(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	header := []int32{1, 2}
	var p sending
	var ids []int32
	some := func(n int) (list []int32) {
		for range n {
			list = append(list, random.Int32N(3)) // headers are often there, also across the border
		}
		return list
	}
	for step := range 2000 {
		switch random.IntN(6) {
		case 0:
			ids = some(random.IntN(40))
		case 1:
			header = some(1 + random.IntN(2))
		default:
			ids = append(ids, some(random.IntN(12))...) // in the same memory where it has room
		}
		if len(header) == 2 && header[0] == header[1] {
			header[1]++ // a header never overlaps itself: it begins with a control token
		}
		if len(ids) == 0 {
			continue
		}
		counted := &prompt.State{IDs: ids, Gen: some(random.IntN(4))}
		got, users := p.of(counted, header)
		want := counted.Prompt()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d: tokens (-want +got):\n%s", step, diff)
		}
		if diff := cmp.Diff(boundary.UserStarts(want, header), append([]int(nil), users...)); diff != "" {
			t.Fatalf("step %d: starts of %v in %v (-want +got):\n%s", step, header, want, diff)
		}
	}
}
