package codesym

import "slices"

// maxLook bounds how many tokens are looked at before the reader gives up on what they might be.
const maxLook = 1000

// skipAngles returns the token after the type arguments or parameters that open at i, or i+1 where they do not close. What a look has found out is kept, for the angles within too:
// a long chain of comparisons is looked at once and not once for each of them.
func (b *builder) skipAngles(i int) int {
	if len(b.angles) != len(b.toks) {
		b.angles = slices.Grow(b.angles[:0], len(b.toks))[:len(b.toks)]
		clear(b.angles)
	}
	if i >= len(b.toks) {
		return i + 1
	}
	if b.angles[i] == 0 {
		b.lookAngles(i)
	}
	return int(b.angles[i])
}

// lookAngles finds where the angle at i closes.
func (b *builder) lookAngles(i int) {
	b.angles[i] = int32(i + 1)
	open := b.openAngles[:0]
	defer func() { b.openAngles = open[:0] }()
	k := i
	for ; k < len(b.toks) && k < i+maxLook; k++ {
		t := &b.toks[k]
		if t.kind != tokenPunct {
			continue
		}
		switch t.c {
		case '<':
			for range t.end - t.start { // "<<" opens two
				open = append(open, int32(k))
			}
		case '>':
			if len(open) == 0 {
				b.angles[i] = int32(k + 1)
				return
			}
			n := len(open) - 1
			b.angles[open[n]] = int32(k + 1)
			if open = open[:n]; n == 0 {
				return
			}
		case ';', ')', ']', '}':
			for _, o := range open {
				b.angles[o] = o + 1
			}
			return
		case '(', '[', '{':
			k = b.after(k) - 1
		}
	}
	// Those that have been looked at nearly as far will not close either.
	for _, o := range open {
		if k-int(o) > maxLook/2 {
			b.angles[o] = o + 1
		}
	}
}
