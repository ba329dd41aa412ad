package tokens

import (
	"fmt"
	"math/bits"

	"sakur4/internal/eight"
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
		h := hash(t)
		i := h & uint64(len(v.slots)-1)
		for v.slots[i] != 0 {
			i = (i + 1) & uint64(len(v.slots)-1)
		}
		v.slots[i] = h&^0xffffffff | uint64(id+1)
	}
	v.numbers = true
	for digits, n := 1, 10; digits <= 3; digits, n = digits+1, 10*n {
		for i := range n {
			v.numbers = v.numbers && v.id(fmt.Sprintf("%0*d", digits, i)) != noToken
		}
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
	switch n := len(s); n {
	case 1:
		return uint64(s[0]) | 1<<56
	case 2, 3:
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[n-1])<<(8*(n-1)) | uint64(n)<<56
	default:
		first, last := uint64(four(s)), four(s[n-4:])
		return first | uint64(last>>(8*(8-n)))<<32 | uint64(n)<<56
	}
}

// packedEight is packed for the first n bytes of the eight that x holds.
func packedEight(x uint64, n int) uint64 { return x<<(64-8*n)>>(64-8*n) | uint64(n)<<56 }

// four returns the first four bytes of s as a number.
func four(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// has reports whether the piece of s from i to end is a token. It is id for most of what a text consists of, without a look at the ids.
func (v *vocabulary) has(s string, i, end int) bool {
	n := end - i
	switch {
	case n == 1:
		return true // every byte is one
	case n <= 3 && v.numbers && isDigit(s[i]) && isDigit(s[end-1]):
		return true // splitting leaves nothing between two digits but a third
	case n > shortLen || i+8 > len(s):
		return v.id(s[i:end]) != noToken
	}
	return v.hasKey(packedEight(eight.Of(s[i:]), n))
}

// hasKey is has for what is packed.
func (v *vocabulary) hasKey(key uint64) bool {
	for i := int(key * spread >> v.shift); ; i = (i + 1) & (len(v.short) - 1) {
		switch v.short[i] {
		case key:
			return true
		case 0:
			return false
		}
	}
}

// hash returns a hash of a token or piece of more than shortLen bytes. All its bits depend on all bytes.
func hash(s string) uint64 {
	n := len(s)
	h := uint64(n)
	for i := 0; i+16 < n; i += 16 {
		h = fold(h^eight.Of(s[i:]), spread^eight.Of(s[i+8:]))
	}
	return fold(h^eight.Of(s[max(0, n-16):]), spread^eight.Of(s[n-8:])) // these may have bytes in common
}

// fold returns the halves of a product as one.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
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
	h := hash(piece)
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

func isDigit(b byte) bool { return b-'0' < 10 }
