package tokens

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// replaced says where a bad byte was: its offset in the text given, and the offset of its U+FFFD in the valid text.
type replaced struct{ given, valid int }

// valid returns s with every byte that starts no valid character replaced by U+FFFD.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for _, r := range s { // the loop gives U+FFFD for a bad byte
		b.WriteRune(r)
	}
	return b.String()
}

// badBytes returns where the bytes of s are that valid replaces, in order.
func badBytes(s string) []replaced {
	if utf8.ValidString(s) {
		return nil
	}
	var bad []replaced
	for i, grown := 0, 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			bad = append(bad, replaced{i, i + grown})
			grown += len("\uFFFD") - 1
		}
		i += n
	}
	return bad
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
