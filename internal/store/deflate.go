package store

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// The body of a receipt is deflated with words that all of them have in common. compress/flate begins each time with tables of half a megabyte, which takes several times as
// long as a body of a kilobyte does: this compressor knows where the words are once and for all, and writes one block with the fixed codes, which compress/flate reads.
// RFC 1951 has the numbers.

const (
	minMatch, maxMatch = 4, 258
	maxDistance        = 1 << 15
	matchTries         = 24 // of places that begin alike
	hashBits           = 11
)

// places says where texts begin alike: heads has the last place of each hash, plus 1, and before that of the one before.
type places struct {
	heads  [1 << hashBits]int32
	before []int32
}

func (p *places) hash(text []byte, at int) uint32 {
	return binary.LittleEndian.Uint32(text[at:]) * 2654435761 >> (32 - hashBits)
}

// add enters the next place, which is at.
func (p *places) add(text []byte, at int) {
	last := int32(0)
	if at+minMatch <= len(text) {
		h := p.hash(text, at)
		last, p.heads[h] = p.heads[h], int32(at)+1
	}
	p.before = append(p.before, last)
}

// find returns the longest text before at that goes on as the one at at does.
func (p *places) find(text []byte, at int) (length, distance int) {
	if at+minMatch > len(text) {
		return 0, 0
	}
	most := min(maxMatch, len(text)-at)
	next := p.heads[p.hash(text, at)]
	for tries := matchTries; next > 0 && tries > 0; tries-- {
		i := int(next) - 1
		if at-i > maxDistance {
			break
		}
		if length < most && text[i+length] == text[at+length] {
			n := 0
			for n < most && text[i+n] == text[at+n] {
				n++
			}
			if n > length {
				length, distance = n, at-i
			}
		}
		next = p.before[i]
	}
	if length < minMatch {
		return 0, 0
	}
	return length, distance
}

// wordPlaces are those of receiptWords.
var wordPlaces = sync.OnceValue(func() *places {
	p := &places{}
	words := []byte(receiptWords)
	for at := range words {
		p.add(words, at)
	}
	return p
})

// deflate returns a body as it is stored where that is shorter, else nil.
func deflate(body string) []byte {
	words := wordPlaces()
	first := len(receiptWords)
	text := append(append(make([]byte, 0, first+len(body)), receiptWords...), body...)
	p := places{heads: words.heads, before: append(make([]int32, 0, len(text)), words.before...)}
	out := bitWriter{b: make([]byte, 0, len(body)/2)}
	out.write(0b011, 3) // the last block, with the fixed codes
	length, distance := p.find(text, first)
	for at := first; at < len(text); {
		p.add(text, at)
		nextLength, nextDistance := p.find(text, at+1)
		if length == 0 || nextLength > length {
			out.symbol(uint32(text[at]))
			at, length, distance = at+1, nextLength, nextDistance
			continue
		}
		out.match(length, distance)
		for end := at + length; at+1 < end; {
			at++
			p.add(text, at)
		}
		at++
		length, distance = p.find(text, at)
	}
	out.symbol(256)
	if b := out.end(); len(b) < len(body) {
		return slices.Clip(b)
	}
	return nil
}

// bitWriter writes numbers of some bits, the lowest first.
type bitWriter struct {
	b    []byte
	held uint64
	n    uint
}

func (w *bitWriter) write(v uint32, n uint) {
	w.held |= uint64(v) << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.b = append(w.b, byte(w.held))
		w.held >>= 8
	}
}

func (w *bitWriter) end() []byte {
	if w.n > 0 {
		w.b = append(w.b, byte(w.held))
	}
	return w.b
}

// code writes a code of n bits, the highest first.
func (w *bitWriter) code(v uint32, n uint) { w.write(bits.Reverse32(v)>>(32-n), n) }

// symbol writes a byte, the end of the block (256) or the class of a length.
func (w *bitWriter) symbol(s uint32) {
	switch {
	case s < 144:
		w.code(0x30+s, 8)
	case s < 256:
		w.code(0x190+s-144, 9)
	case s < 280:
		w.code(s-256, 7)
	default:
		w.code(0xc0+s-280, 8)
	}
}

// match writes that so many bytes are as those at a distance.
func (w *bitWriter) match(length, distance int) {
	switch n := uint32(length - 3); {
	case length == maxMatch:
		w.symbol(285)
	case n < 8:
		w.symbol(257 + n)
	default:
		// Four classes share a number of further bits.
		more := uint(bits.Len32(n)) - 3
		w.symbol(257 + 4*uint32(more) + n>>more)
		w.write(n&(1<<more-1), more)
	}
	n := uint32(distance - 1)
	if n < 4 {
		w.code(n, 5)
		return
	}
	more := uint(bits.Len32(n)) - 2 // two classes do
	w.code(2*uint32(more)+n>>more, 5)
	w.write(n&(1<<more-1), more)
}
