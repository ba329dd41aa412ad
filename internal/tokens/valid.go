package tokens

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// replaced says where a bad byte was: its offset in the text given, and the offset of its U+FFFD in the valid text.
type replaced struct{ given, valid int }

// valid returns s with every byte that starts no valid character replaced by U+FFFD, and where those bytes were, in order.
func valid(s string) (string, []replaced) {
	if utf8.ValidString(s) {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	var bad []replaced
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			bad = append(bad, replaced{i, b.Len()})
		}
		b.WriteRune(r)
		i += n
	}
	return b.String(), bad
}

// restore turns rising offsets in the valid text into offsets in the text given.
func restore(ends []int, bad []replaced) {
	if len(bad) == 0 {
		return
	}
	for i, end := range ends {
		// k: how many bad bytes start before end.
		k, _ := slices.BinarySearchFunc(bad, end, func(r replaced, end int) int { return r.valid - end })
		if k == 0 {
			continue
		}
		r := bad[k-1]
		if past := end - r.valid; past < len("\uFFFD") {
			ends[i] = r.given
		} else {
			ends[i] = r.given + 1 + past - len("\uFFFD")
		}
	}
}
