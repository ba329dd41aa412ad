package boundary

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cellRing is a ring that holds its cells one by one, as the server does: slow, and plain to read.
type cellRing struct {
	window int
	cells  []int32 // position of the token in each cell, −1 for none
	head   int
	used   int
}

func newCellRing(window, cells int) *cellRing {
	r := &cellRing{window: window, cells: make([]int32, cells)}
	for i := range r.cells {
		r.cells[i] = -1
	}
	return r
}

// span returns the oldest and newest position held; −1 if there are none.
func (r *cellRing) span() (oldest, newest int) {
	oldest, newest = -1, -1
	for _, p := range r.cells {
		if p < 0 {
			continue
		}
		if oldest < 0 || int(p) < oldest {
			oldest = int(p)
		}
		newest = max(newest, int(p))
	}
	return oldest, newest
}

// remove empties the cells of the positions from lo up to hi.
func (r *cellRing) remove(lo, hi int) {
	first := len(r.cells)
	for i, p := range r.cells {
		if p >= 0 && int(p) >= lo && int(p) < hi {
			r.cells[i] = -1
			r.used--
			first = min(first, i)
		}
	}
	if first < r.head {
		r.head = first
	}
}

// put stores n tokens from position pos on, in batches of at most ubatch.
func (r *cellRing) put(pos, n, ubatch int) {
	for n > 0 {
		k := min(n, max(ubatch, 1))
		r.putBatch([]CellRun{{Pos: pos, N: k}}, k)
		pos += k
		n -= k
	}
}

// putBatch stores the n positions of the runs, in their order, as one batch of the server. A server has cells for every batch; what has no cell here
// is left out.
func (r *cellRing) putBatch(runs []CellRun, n int) {
	_, newest := r.span()
	head := r.head
	if head > r.used+2*n {
		head = 0
	}
	idx := make([]int, 0, n)
	for tested := 0; len(idx) < n && tested < 2*len(r.cells); tested++ {
		if head >= len(r.cells) {
			head = 0
		}
		if p := int(r.cells[head]); p < 0 || newest+1-p >= r.window {
			idx = append(idx, head)
		}
		head++
	}
	gone, next := -1, 0
	for _, run := range runs {
		for k := 0; k < run.N && next < len(idx); k++ {
			i := idx[next]
			next++
			if old := int(r.cells[i]); old >= 0 {
				gone = max(gone, old)
			} else {
				r.used++
			}
			r.cells[i] = int32(run.Pos + k)
		}
	}
	// The server holds an unbroken run of positions: what is older than an overwritten one goes too.
	if gone >= 0 {
		r.remove(0, gone+1)
	}
	if len(idx) > 0 {
		r.head = idx[len(idx)-1] + 1
	}
}

// restore replaces everything by the positions of the runs, which lie in the order in which they lay in the cells when they were saved.
func (r *cellRing) restore(runs []CellRun) {
	r.remove(0, 1<<31-1)
	n := 0
	for _, run := range runs {
		n += run.N
	}
	r.putBatch(runs, n)
}

// runs returns the cells with positions from lo on in short.
func (r *cellRing) runs(lo int) []CellRun {
	if r == nil {
		return nil
	}
	var runs []CellRun
	for i, p := range r.cells {
		if p < 0 || int(p) < lo {
			continue
		}
		if n := len(runs) - 1; n >= 0 && runs[n].Cell+runs[n].N == i && runs[n].Pos+runs[n].N == int(p) {
			runs[n].N++
			continue
		}
		runs = append(runs, CellRun{Cell: i, Pos: int(p), N: 1})
	}
	return runs
}

// TestRingIsThatOfCells does the same random things to both.
func TestRingIsThatOfCells(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		window, ubatch := 1+rng.IntN(40), 1+rng.IntN(30)
		cells := window + ubatch + rng.IntN(20)
		got, want := newRing(window, cells), newCellRing(window, cells)
		next := 0
		var saved []CellRun
		for step := range 300 {
			switch rng.IntN(6) {
			case 0:
				lo := rng.IntN(next + 1)
				got.remove(lo, 1<<31-1)
				want.remove(lo, 1<<31-1)
				next = lo
			case 1:
				saved = want.runs(next - window)
			case 2:
				if len(saved) > 0 {
					got.restore(saved)
					want.restore(saved)
					_, next = want.span()
					next++
				}
			case 3:
				n := rng.IntN(4 * window)
				got.put(next, n, 1)
				want.put(next, n, 1)
				next += n
			default:
				n := rng.IntN(3 * ubatch)
				got.put(next, n, ubatch)
				want.put(next, n, ubatch)
				next += n
			}
			if d := cmp.Diff(want.runs(0), got.runs(0)); d != "" || got.head != want.head || got.used != want.used {
				t.Fatalf("seed %d step %d: head %d used %d, want %d and %d, runs (-want +got):\n%s", seed, step, got.head, got.used, want.head, want.used, d)
			}
		}
	}
}
