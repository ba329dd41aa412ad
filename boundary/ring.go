package boundary

// ring models where the windowed part of a llama.cpp cache keeps its tokens. Which old positions are overwritten first decides how far the
// server can rewind without a checkpoint, and after rewinds that is not simply the oldest ones: the place for the next token moves through the cells
// and takes every cell on its way that is empty or out of the attention window.
//
// The zero value has no cells; [newRing] makes one.
type ring struct {
	window int
	cells  []int32 // position of the token in each cell, −1 for none
	head   int
	used   int
}

// CellRun is a run of cells that hold ascending positions.
type CellRun struct {
	// Cell is the first cell, Pos the position in it, N the number of cells.
	Cell int `json:"cell"`
	Pos  int `json:"pos"`
	N    int `json:"n"`
}

func newRing(window, cells int) *ring {
	r := &ring{window: window, cells: make([]int32, cells)}
	for i := range r.cells {
		r.cells[i] = -1
	}
	return r
}

// clone returns an independent copy.
func (r *ring) clone() *ring {
	if r == nil {
		return nil
	}
	c := *r
	c.cells = append([]int32(nil), r.cells...)
	return &c
}

// span returns the oldest and newest position held; −1 if there are none.
func (r *ring) span() (oldest, newest int) {
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
func (r *ring) remove(lo, hi int) {
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
func (r *ring) put(pos, n, ubatch int) {
	for n > 0 {
		k := min(n, max(ubatch, 1))
		r.putBatch([]CellRun{{Pos: pos, N: k}}, k)
		pos += k
		n -= k
	}
}

// putBatch stores the n positions of the runs, in their order, as one batch of the server. A server has cells for every batch; what has no cell here
// is left out.
func (r *ring) putBatch(runs []CellRun, n int) {
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
func (r *ring) restore(runs []CellRun) {
	r.remove(0, 1<<31-1)
	n := 0
	for _, run := range runs {
		n += run.N
	}
	r.putBatch(runs, n)
}

// runs returns the cells with positions from lo on in short.
func (r *ring) runs(lo int) []CellRun {
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

// fill puts the runs back. What does not fit is left out.
func (r *ring) fill(runs []CellRun, head int) {
	for _, run := range runs {
		for k := range min(run.N, len(r.cells)) {
			if i := run.Cell + k; i >= 0 && i < len(r.cells) && run.Pos+k >= 0 && r.cells[i] < 0 {
				r.cells[i] = int32(run.Pos + k)
				r.used++
			}
		}
	}
	r.head = min(max(head, 0), len(r.cells))
}
