package toolparse

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sakur4/internal/eight"
)

// str reads a string from its opening to its closing quote.
func (p *jsonParser) str() error {
	s, start, at := p.src, p.at, p.at+1
	for {
		at = plainEnd(s, at)
		p.at = at
		if at == len(s) {
			return p.fail(start, "a string has no end")
		}
		switch c := s[at]; {
		case c == '"':
			p.at++
			p.looked += p.at - start
			return nil
		case c == '\\':
			n := p.escape()
			if n == 0 {
				return p.fail(at, "a bad escape in a string")
			}
			at += n
		case c < 0x20:
			return p.fail(at, "a control character in a string")
		default:
			r, n := utf8.DecodeRuneInString(s[at:])
			if r == utf8.RuneError && n <= 1 {
				return p.fail(at, "invalid UTF-8 in a string")
			}
			at += n
		}
	}
}

// plainEnd returns where the next character at or behind at is that means more than itself in a string, or is no ASCII.
func plainEnd(s string, at int) int {
	for ; at+8 <= len(s); at += 8 {
		x := eight.Of(s[at:])
		if special := eight.Less(x, 0x20) | x | ^(eight.Not(x, '"') & eight.Not(x, '\\')); special&eight.Highs != 0 {
			return at + eight.First(special&eight.Highs)
		}
	}
	for at < len(s) && s[at] >= 0x20 && s[at] < utf8.RuneSelf && s[at] != '"' && s[at] != '\\' {
		at++
	}
	return at
}

// escape returns the length of the escape sequence at the current place, or 0.
func (p *jsonParser) escape() int {
	rest := p.src[p.at:]
	if len(rest) < 2 {
		return 0
	}
	switch rest[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(rest[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for i := range 4 {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unquoteJSON decodes a string that str accepted.
func unquoteJSON(raw string) string {
	s := raw[1 : len(raw)-1]
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 {
		b.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, _ := hex4(s)
			s = s[4:]
			if utf16.IsSurrogate(r) {
				r2, ok := rune(0), false
				if strings.HasPrefix(s, `\u`) {
					r2, ok = hex4(s[2:])
				}
				if pair := utf16.DecodeRune(r, r2); ok && pair != utf8.RuneError {
					r = pair
					s = s[6:]
				} else {
					r = utf8.RuneError
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
		i = strings.IndexByte(s, '\\')
	}
	b.WriteString(s)
	return b.String()
}
