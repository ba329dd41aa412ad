package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// latin spells the letters from U+00C0 to U+017F without case and accents; × and ÷ stand for themselves.
var latin = [...]string{
	"a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i", "d", "n", "o", "o", "o", "o", "o", "×", "o", "u", "u", "u", "u", "y", "th", "ss", // U+00C0
	"a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i", "d", "n", "o", "o", "o", "o", "o", "÷", "o", "u", "u", "u", "u", "y", "th", "y", // U+00E0
	"a", "a", "a", "a", "a", "a", "c", "c", "c", "c", "c", "c", "c", "c", "d", "d", "d", "d", "e", "e", "e", "e", "e", "e", "e", "e", "e", "e", "g", "g", "g", "g", // U+0100
	"g", "g", "g", "g", "h", "h", "h", "h", "i", "i", "i", "i", "i", "i", "i", "i", "i", "i", "ij", "ij", "j", "j", "k", "k", "k", "l", "l", "l", "l", "l", "l", "l", // U+0120
	"l", "l", "l", "n", "n", "n", "n", "n", "n", "n", "n", "n", "o", "o", "o", "o", "o", "o", "oe", "oe", "r", "r", "r", "r", "r", "r", "s", "s", "s", "s", "s", "s", // U+0140
	"s", "s", "t", "t", "t", "t", "t", "t", "u", "u", "u", "u", "u", "u", "u", "u", "u", "u", "u", "u", "w", "w", "y", "y", "y", "z", "z", "z", "z", "z", "z", "s", // U+0160
}

// fold returns s in lower case, Latin letters without accents, composed or not, full-width forms as ASCII, and without apostrophes.
func fold(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	afterLatin := false
	for _, r := range s {
		if 0xff01 <= r && r <= 0xff5e {
			r -= 0xff01 - '!'
		}
		switch {
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				r |= 0x20
			}
			if r != '\'' {
				b.WriteByte(byte(r))
			}
			afterLatin = 'a' <= r && r <= 'z'
			continue
		case 0xc0 <= r && r <= 0x17f:
			b.WriteString(latin[r-0xc0])
			afterLatin = true
			continue
		case afterLatin && 0x300 <= r && r <= 0x36f, r == '’':
			continue
		}
		if r = unicode.ToLower(r); r == 'ς' {
			r = 'σ'
		}
		b.WriteRune(r)
		afterLatin = false
	}
	return b.String()
}

// isPlain reports whether fold leaves s as it is because it holds nothing but ASCII without capitals and apostrophes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' || c == '\'' {
			return false
		}
	}
	return true
}
