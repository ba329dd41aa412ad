package tokens

import "sakur4/internal/digest"

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
		h := digest.Fast(v.token(id))
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
