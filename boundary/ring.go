package boundary

import "slices"

// ring models where the windowed part of a llama.cpp cache keeps its tokens. Which old positions are overwritten first decides how far the
// server can rewind without a checkpoint, and after rewinds that is not simply the oldest ones: the place for the next token moves through the cells
// and takes every cell on its way that is empty or out of the attention window.
//
// The zero value has no cells; [newRing] makes one.
type ring struct {
	window int
	size   int
	// held are the runs of cells in use, ascending, as long as they can be: two that touch in cells and positions are one.
	held []CellRun
	head int
	used int
}

// CellRun is a run of cells that hold ascending positions.
type CellRun struct {
	// Cell is the first cell, Pos the position in it, N the number of cells.
	Cell int `json:"cell"`
	Pos  int `json:"pos"`
	N    int `json:"n"`
}

func newRing(window, cells int) *ring { return &ring{window: window, size: cells} }

// clone returns an independent copy.
func (r *ring) clone() *ring {
	if r == nil {
		return nil
	}
	c := *r
	c.held = slices.Clone(r.held)
	return &c
}

// span returns the oldest and newest position held; −1 if there are none.
func (r *ring) span() (oldest, newest int) {
	oldest, newest = -1, -1
	for _, h := range r.held {
		if oldest < 0 || h.Pos < oldest {
			oldest = h.Pos
		}
		newest = max(newest, h.Pos+h.N-1)
	}
	return oldest, newest
}

// cut returns out with what is left of h once its k-th to before its l-th cell are empty.
func (h CellRun) cut(out []CellRun, k, l int) []CellRun {
	if k > 0 {
		out = append(out, CellRun{Cell: h.Cell, Pos: h.Pos, N: k})
	}
	if l < h.N {
		out = append(out, CellRun{Cell: h.Cell + l, Pos: h.Pos + l, N: h.N - l})
	}
	return out
}

// fewRuns is how many runs there mostly are at most: this many need no memory of their own.
const fewRuns = 16

// remove empties the cells of the positions from lo up to hi.
func (r *ring) remove(lo, hi int) {
	first := r.size
	var few [fewRuns]CellRun
	out := few[:0]
	for _, h := range r.held {
		k, l := max(lo-h.Pos, 0), min(hi-h.Pos, h.N)
		if k >= l {
			out = append(out, h)
			continue
		}
		first = min(first, h.Cell+k)
		r.used -= l - k
		out = h.cut(out, k, l)
	}
	r.held = append(r.held[:0], out...)
	if first < r.head {
		r.head = first
	}
}

// put stores n tokens from position pos on, in batches of at most ubatch.
func (r *ring) put(pos, n, ubatch int) {
	for n > 0 {
		k := min(n, max(ubatch, 1))
		if ubatch == 1 {
			k = r.putRun(pos, n)
		} else {
			r.putBatch([]CellRun{{Pos: pos, N: k}}, k)
		}
		pos += k
		n -= k
	}
}

// putRun stores up to n tokens one by one, as many as go to cells one behind the other, and returns how many.
func (r *ring) putRun(pos, n int) int {
	oldest, newest := r.span()
	k := 1
	if room := r.used + 2 - r.head; r.head < r.size && room >= 0 && newest == pos-1 {
		// While nothing is overwritten the number of cells in use grows with the place; else the place gains on it, and jumps back in the end.
		empty := r.size - r.head
		for _, h := range r.held {
			switch {
			case h.Cell+h.N <= r.head:
				continue
			case h.Cell > r.head:
				empty = h.Cell - r.head
			default:
				empty = 0
				if p := h.Pos + r.head - h.Cell; p == oldest && newest+1-p >= r.window {
					k = max(min(n, h.Cell+h.N-r.head, room+1), 1)
				}
			}
			break
		}
		if empty > 0 {
			k = min(n, empty)
		}
	}
	if k == 1 {
		r.putBatch([]CellRun{{Pos: pos, N: 1}}, 1)
		return 1
	}
	f := CellRun{Cell: r.head, Pos: pos, N: k}
	r.vacate(f)
	r.held = append(r.held, f)
	r.used += k
	r.tidy()
	r.head += k
	return k
}

// free appends to out the runs of cells in which a batch of n positions is stored, in their order, the newest position being held as given.
func (r *ring) free(out []CellRun, head, n, newest int) []CellRun {
	if head >= r.size {
		head = 0
	}
	// From head to the end of the cells, then from the first cell to head.
	for _, part := range [...][2]int{{head, r.size}, {0, head}} {
		at := part[0]
		for i := 0; i <= len(r.held) && n > 0; i++ {
			h := CellRun{Cell: part[1]}
			if i < len(r.held) {
				h = r.held[i]
			}
			end := h.Cell + h.N
			if end < at || end == at && h.N > 0 {
				continue
			}
			// The front of a run holds its oldest positions: those out of the window are free, as the empty cells before it are.
			gone := min(max(newest+1-r.window-h.Pos+1, 0), h.N)
			for _, to := range [...]int{h.Cell, h.Cell + gone} {
				if k := min(min(to, part[1])-at, n); k > 0 {
					out = append(out, CellRun{Cell: at, N: k})
					n -= k
				}
				at = max(at, min(to, part[1]))
			}
			if at = max(at, end); at >= part[1] {
				break
			}
		}
	}
	return out
}

// putBatch stores the n positions of the runs, in their order, as one batch of the server. A server has cells for every batch; what has no cell here
// is left out.
func (r *ring) putBatch(runs []CellRun, n int) {
	_, newest := r.span()
	head := r.head
	if head > r.used+2*n {
		head = 0
	}
	var few [fewRuns]CellRun
	free := r.free(few[:0], head, n, newest)
	if len(free) == 0 {
		return
	}
	last := free[len(free)-1]
	gone := -1
	for _, f := range free {
		gone = max(gone, r.vacate(f))
	}
	for _, run := range runs {
		for run.N > 0 && len(free) > 0 {
			k := min(run.N, free[0].N)
			r.held = append(r.held, CellRun{Cell: free[0].Cell, Pos: run.Pos, N: k})
			r.used += k
			run.Pos, run.N = run.Pos+k, run.N-k
			if free[0].Cell, free[0].N = free[0].Cell+k, free[0].N-k; free[0].N == 0 {
				free = free[1:]
			}
		}
	}
	r.tidy()
	// The server holds an unbroken run of positions: what is older than an overwritten one goes too.
	if gone >= 0 {
		r.remove(0, gone+1)
	}
	r.head = last.Cell + last.N
}

// vacate empties the cells of f and returns the newest position that was in them, −1 for none.
func (r *ring) vacate(f CellRun) int {
	gone := -1
	var few [fewRuns]CellRun
	out := few[:0]
	for _, h := range r.held {
		k, l := max(f.Cell-h.Cell, 0), min(f.Cell+f.N-h.Cell, h.N)
		if k >= l {
			out = append(out, h)
			continue
		}
		gone = max(gone, h.Pos+l-1)
		r.used -= l - k
		out = h.cut(out, k, l)
	}
	r.held = append(r.held[:0], out...)
	return gone
}

// tidy sorts the runs and joins those that touch.
func (r *ring) tidy() {
	slices.SortFunc(r.held, func(a, b CellRun) int { return a.Cell - b.Cell })
	out := r.held[:0]
	for _, h := range r.held {
		if n := len(out) - 1; n >= 0 && out[n].Cell+out[n].N == h.Cell && out[n].Pos+out[n].N == h.Pos {
			out[n].N += h.N
			continue
		}
		out = append(out, h)
	}
	r.held = out
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
	for _, h := range r.held {
		if skip := max(lo-h.Pos, 0); skip < h.N {
			runs = append(runs, CellRun{Cell: h.Cell + skip, Pos: h.Pos + skip, N: h.N - skip})
		}
	}
	return runs
}

// fill puts the runs back. What does not fit is left out.
func (r *ring) fill(runs []CellRun, head int) {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b CellRun) int { return a.Cell - b.Cell })
	end := 0
	for _, run := range runs {
		run.N = min(run.N, r.size-run.Cell)
		if run.Cell < end || run.Pos < 0 || run.N <= 0 {
			continue
		}
		r.held = append(r.held, run)
		r.used += run.N
		end = run.Cell + run.N
	}
	r.tidy()
	r.head = min(max(head, 0), r.size)
}
