package tokens

import (
	"iter"
	"strings"
)

// Merges yields the merges in the order of their ranks, one for every token of two bytes or more: the ids of its left and its right part. They are derived, because the
// vocabulary records ranks alone: the two parts are what is left of the token when only lower ranks merge. The list encodes a piece as the ranks do.
func (e *Encoding) Merges() iter.Seq2[int32, int32] {
	return func(yield func(int32, int32) bool) {
		var m merger
		for id, t := range e.Tokens() {
			if len(t) < 2 {
				continue
			}
			m.below = id
			if p := e.vocab.merge(&m, t); len(p) == 2 && !yield(p[0].id, p[1].id) {
				return
			}
		}
	}
}

// GPT2 returns the bytes of a token in the printable form in which model files spell byte-level vocabularies: every byte is one character, the printable ones of
// Latin-1 themselves and the others, in order, the characters from U+0100 on. A space is Ġ, a newline Ċ.
func GPT2(token string) string {
	var b strings.Builder
	for i := range len(token) {
		b.WriteRune(gpt2Rune(token[i]))
	}
	return b.String()
}

func gpt2Rune(c byte) rune {
	switch {
	case c <= ' ': // 33 characters: 0x100 to 0x120
		return 0x100 + rune(c)
	case c >= 0x7f && c <= 0xa0: // 34 more: to 0x142
		return 0x121 + rune(c) - 0x7f
	case c == 0xad:
		return 0x143
	}
	return rune(c)
}
