package tokens

import "math/bits"

// An id is found by the bytes of its token through a table of slots, half of which are free: the upper half of the hash, and id+1 below it; 0 is free. Most of what a
// merge asks for is no token, and here such a question reads one word of memory: bytes are compared only where they are almost surely the same. A map would follow
// a pointer to a key for that.

// index fills the slots. The tokens are all different and fewer than 1<<31.
func (v *vocabulary) index() {
	size := 1
	for size < 2*v.size() {
		size *= 2
	}
	v.slots = make([]uint64, size)
	for id := range int32(v.size()) {
		h := hash(v.token(id))
		i := h & uint64(size-1)
		for v.slots[i] != 0 {
			i = (i + 1) & uint64(size-1)
		}
		v.slots[i] = h&^0xffffffff | uint64(id+1)
	}
}

// id returns the id of the token that is exactly piece, or noToken.
func (v *vocabulary) id(piece string) int32 {
	if len(piece) > v.longest {
		return noToken
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

// hash mixes the bytes of s by the upper and lower half of products, as wyhash does. What is looked up meets a fixed table, so nobody gains by finding texts that collide.
func hash(s string) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db // random odd numbers
	n := len(s)
	var a, b uint64
	h := uint64(n) * k0
	switch {
	case n >= 8:
		for ; len(s) > 16; s = s[8:] {
			h = mix(h^le64(s), k1)
		}
		a, b = le64(s), le64(s[len(s)-8:])
	case n >= 4:
		a, b = le32(s), le32(s[n-4:])
	case n > 0:
		a, b = uint64(s[0])|uint64(s[n/2])<<8, uint64(s[n-1])
	}
	return mix(a^h^k0, b^k1)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func le32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

func le64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
