package tokens

import "math"

// part is one token of a piece: its id and the offset in the piece at which it ends.
type part struct{ id, end int32 }

const (
	// scanLimit is the length in bytes up to which a piece is merged by looking at every pair for each merge; beyond it a heap finds the next pair.
	scanLimit = 64
	// pieceLimit is the length in bytes at which a longer piece is cut, so that offsets fit 32 bits. No text that fits a request comes near it.
	pieceLimit = 1 << 30
	// noRank is higher than every rank: the pair is no token.
	noRank int32 = math.MaxInt32
)

// merger holds the working space of merges, for one goroutine. The zero value is ready.
type merger struct {
	below int32 // if over 0, only ranks below it merge
	parts []part
	small [scanLimit]part
	pairs [scanLimit]uint32
	ids   [scanLimit]int32
	next  [scanLimit]uint8
	prev  [scanLimit + 1]uint8
	nodes []node
	queue []uint64
}

// rank returns the rank at which the bytes of piece merge into one token, or noRank.
func (m *merger) rank(v *vocabulary, piece string) int32 {
	id := v.id(piece)
	if id == noToken || m.below > 0 && id >= m.below {
		return noRank
	}
	return id
}

// pairRank is rank for two bytes.
func (m *merger) pairRank(v *vocabulary, a, b byte) int32 {
	id := v.pair[int(a)<<8|int(b)]
	if id == noToken || m.below > 0 && id >= m.below {
		return noRank
	}
	return id
}

// merge splits piece into tokens: starting with single bytes, the leftmost pair of the lowest rank becomes one token until no pair is one.
// The result is valid until the next call.
func (v *vocabulary) merge(m *merger, piece string) []part {
	switch {
	case piece == "":
		return nil
	case len(piece) <= scanLimit:
		return v.mergeScan(m, piece)
	}
	m.parts = m.parts[:0]
	for from := 0; from < len(piece); from += pieceLimit {
		v.mergeHeap(m, piece[from:min(len(piece), from+pieceLimit)], int32(from))
	}
	return m.parts
}

// mergeScan merges a piece of scanLimit bytes at most.
func (v *vocabulary) mergeScan(m *merger, piece string) []part {
	n := len(piece)
	// A part lives at the offset at which it starts. Its pair with the next one is a rank and that offset in one number, so that the least number is the next merge;
	// lows holds the least of each eight of them.
	pairs, ids, next, prev := &m.pairs, &m.ids, &m.next, &m.prev
	var lows [scanLimit / 8]uint32
	for i := range n - 1 {
		ids[i], next[i], prev[i+1] = v.single[piece[i]], uint8(i+1), uint8(i)
		pairs[i] = pairOf(m.pairRank(v, piece[i], piece[i+1]), i)
	}
	ids[n-1], next[n-1] = v.single[piece[n-1]], uint8(n)
	for i := n - 1; i == n-1 || i%8 != 0; i++ {
		pairs[i] = noPair
	}
	for k := range lows {
		lows[k] = noPair
		if 8*k < n {
			lows[k] = least(pairs, k)
		}
	}
	left := n
	for {
		best := min(min(lows[0], lows[1]), min(lows[2], lows[3]), min(lows[4], lows[5]), min(lows[6], lows[7]))
		if best == noPair {
			break
		}
		i := int(best % scanLimit)
		gone := int(next[i])
		end := int(next[gone])
		ids[i], next[i], prev[end] = int32(best/scanLimit), uint8(end), uint8(i)
		pairs[gone], pairs[i] = noPair, noPair
		left--
		if end < n {
			pairs[i] = pairOf(m.rank(v, piece[i:next[end]]), i)
		}
		lows[i/8] = least(pairs, i/8)
		if gone/8 != i/8 {
			lows[gone/8] = least(pairs, gone/8)
		}
		if i > 0 {
			before := int(prev[i])
			pairs[before] = pairOf(m.rank(v, piece[before:end]), before)
			lows[before/8] = least(pairs, before/8)
		}
	}
	parts := m.small[:left]
	for i, k := 0, 0; i < n; i, k = int(next[i]), k+1 {
		parts[k] = part{ids[i], int32(next[i])}
	}
	return parts
}

// least returns the least of the eight pairs of block k.
func least(pairs *[scanLimit]uint32, k int) uint32 {
	p := (*[8]uint32)(pairs[8*k:])
	return min(min(min(p[0], p[1]), min(p[2], p[3])), min(min(p[4], p[5]), min(p[6], p[7])))
}

// noPair is higher than every pair.
const noPair = math.MaxUint32

// pairOf packs a rank, which has fewer than 26 bits or is noRank, and the offset of a part.
func pairOf(rank int32, at int) uint32 {
	if rank == noRank {
		return noPair
	}
	return uint32(rank)*scanLimit | uint32(at)
}

// node is a part in a doubly linked list; it lives at the offset at which the part starts.
type node struct {
	id         int32
	prev, next int32 // offsets; the first has prev -1, the last has next len(piece)
	rank       int32 // of this part with the next one
}

// mergeHeap appends the parts of piece, whose first byte is at offset from, to m.parts. It takes time proportional to n log n.
func (v *vocabulary) mergeHeap(m *merger, piece string, from int32) {
	n := int32(len(piece))
	if cap(m.nodes) < len(piece) {
		m.nodes = make([]node, n)
		m.queue = make([]uint64, 0, n)
	}
	nodes := m.nodes[:n]
	h := heap(m.queue[:0])
	for i := range n {
		nodes[i] = node{id: v.single[piece[i]], prev: i - 1, next: i + 1, rank: noRank}
		if i+1 < n {
			if r := m.pairRank(v, piece[i], piece[i+1]); r != noRank {
				nodes[i].rank = r
				h = append(h, entry(r, i))
			}
		}
	}
	h.init()
	for len(h) > 0 {
		top := h.pop()
		r, i := int32(top>>32), int32(top&math.MaxUint32)
		a := &nodes[i]
		if a.rank != r {
			continue // the part has merged since
		}
		// a takes in its neighbour, whose rank no entry of the queue may match any more.
		nodes[a.next].rank = noRank
		a.id, a.next = r, nodes[a.next].next
		a.rank = noRank
		if a.next < n {
			b := &nodes[a.next]
			b.prev = i
			if a.rank = m.rank(v, piece[i:b.next]); a.rank != noRank {
				h.push(entry(a.rank, i))
			}
		}
		if a.prev >= 0 {
			p := &nodes[a.prev]
			if p.rank = m.rank(v, piece[a.prev:a.next]); p.rank != noRank {
				h.push(entry(p.rank, a.prev))
			}
		}
	}
	m.queue = h
	for i := int32(0); i < n; i = nodes[i].next {
		m.parts = append(m.parts, part{nodes[i].id, from + nodes[i].next})
	}
}

// entry orders merges by rank, then by offset from the left.
func entry(rank, offset int32) uint64 { return uint64(rank)<<32 | uint64(uint32(offset)) }

// heap is a binary heap with the lowest entry first. Unlike container/heap it needs no allocation for an entry.
type heap []uint64

func (h heap) init() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *heap) push(x uint64) {
	s := append(*h, x)
	*h = s
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if s[up] <= x {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = x
}

func (h *heap) pop() uint64 {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	*h = s[:last]
	h.down(0)
	return top
}

func (h heap) down(i int) {
	if i >= len(h) {
		return
	}
	x := h[i]
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if x <= h[c] {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = x
}
