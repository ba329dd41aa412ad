package tokens

import (
	"math/bits"

	"sakur4/internal/digest"
)

// An id is found by the bytes of its token through tables of slots, half of which are free. Most of what a merge asks for is no token, and here such a question
// reads one word of memory; a map would follow a pointer to a key for that. Seven bytes and their number are one word, which is its own key. Of what is longer a
// slot holds the upper half of the hash, and the id below it: bytes are compared only where they are almost surely the same. 0 is a free slot in both.

// shortLen is the most bytes of a token that is its own key.
const shortLen = 7

// spread is the odd number nearest to 2⁶⁴ divided by the golden ratio: the upper bits of a product with it depend on all bits of the other factor
// (multiplicative hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4).
const spread = 0x9e3779b97f4a7c15

// index fills the slots. The tokens are all different and fewer than 1<<31.
func (v *vocabulary) index() {
	short := 0
	for id := range int32(v.size()) {
		if len(v.token(id)) <= shortLen {
			short++
		}
	}
	size := tableSize(short)
	v.short, v.shortIDs, v.shift = make([]uint64, size), make([]int32, size), uint8(64-bits.TrailingZeros(uint(size)))
	v.slots = make([]uint64, tableSize(v.size()-short))
	for id := range int32(v.size()) {
		t := v.token(id)
		if len(t) <= shortLen {
			key := packed(t)
			i := int(key * spread >> v.shift)
			for v.short[i] != 0 {
				i = (i + 1) & (size - 1)
			}
			v.short[i], v.shortIDs[i] = key, id
			continue
		}
		h := digest.Fast(t)
		i := h & uint64(len(v.slots)-1)
		for v.slots[i] != 0 {
			i = (i + 1) & uint64(len(v.slots)-1)
		}
		v.slots[i] = h&^0xffffffff | uint64(id+1)
	}
}

// tableSize returns a power of two that n entries fill by half at most.
func tableSize(n int) int {
	size := 2
	for size < 2*n {
		size *= 2
	}
	return size
}

// packed returns the bytes of a text of 1 to shortLen bytes and their number as one number that is not 0.
func packed(s string) uint64 {
	n := len(s)
	if n < 4 {
		return uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16 | uint64(n)<<56
	}
	first, last := uint64(four(s)), four(s[n-4:])
	return first | uint64(last>>(8*(8-n)))<<32 | uint64(n)<<56
}

// four returns the first four bytes of s as a number.
func four(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// id returns the id of the token that is exactly piece, or noToken.
func (v *vocabulary) id(piece string) int32 {
	switch n := len(piece); {
	case n == 0 || n > v.longest:
		return noToken
	case n <= shortLen:
		key := packed(piece)
		for i := int(key * spread >> v.shift); ; i = (i + 1) & (len(v.short) - 1) {
			switch v.short[i] {
			case key:
				return v.shortIDs[i]
			case 0:
				return noToken
			}
		}
	}
	slots := v.slots
	h := digest.Fast(piece)
	for i := h; ; i++ {
		s := slots[i&uint64(len(slots)-1)]
		if s == 0 {
			return noToken
		}
		if (s^h)>>32 == 0 {
			if id := int32(s&0xffffffff) - 1; v.token(id) == piece {
				return id
			}
		}
	}
}
