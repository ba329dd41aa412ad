package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word hands out the terms of one word: of its stretches in scripts without spaces the pairs, of the others the identifier and its parts.
func word(text string, w span, emit emitFunc) {
	s := text[w.from:w.to]
	for s != "" {
		r, _ := utf8.DecodeRuneInString(s)
		dense := isDense(r)
		end := strings.IndexFunc(s, func(r rune) bool { return isDense(r) != dense && !unicode.IsMark(r) })
		if end < 0 {
			end = len(s)
		}
		if dense {
			pairs(s[:end], emit)
		} else {
			identifier(s[:end], emit)
		}
		s = s[end:]
	}
}

// isDense reports whether a character is of a script that is written without spaces, or of Hangul, whose words carry endings.
func isDense(r rune) bool {
	return r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

// pairs hands out every two neighbouring characters, or the only one.
func pairs(s string, emit emitFunc) {
	_, n := utf8.DecodeRuneInString(s)
	if n == len(s) {
		emit(s, false)
		return
	}
	for from, next := 0, n; next < len(s); {
		_, n := utf8.DecodeRuneInString(s[next:])
		emit(s[from:next+n], false)
		from, next = next, next+n
	}
}

// identifier hands out a name whole and, if it has several, its parts.
func identifier(s string, emit emitFunc) {
	whole := cut(fold(cut(s))) // folding may lengthen: Ⱥ has two bytes and ⱥ three
	if whole == "" {
		return
	}
	for from := 0; from < len(s) && len(s) <= maxTerm; { // what is longer is no name: a key, encoded bytes
		end := partEnd(s, from)
		if part := strings.Trim(s[from:end], "_"); part != "" {
			if p := cut(fold(cut(part))); p != "" && p != whole {
				plain(p, emit)
			}
		}
		from = end
	}
	plain(whole, emit)
}

// plain hands out a folded word without its English ending.
func plain(w string, emit emitFunc) {
	if isStop(w) {
		emit(w, true)
		return
	}
	emit(stem(w), false)
}

// partEnd returns the end of the part of an identifier that starts at byte from: at an underscore, before a capital after a small letter, and before a capital after a
// capital or a digit when a small letter follows it. So 5K and the digits of a key are no parts.
func partEnd(s string, from int) int {
	prev, prevAt := rune(0), from
	for i, r := range s[from:] {
		at := from + i
		switch {
		case r == '_' && prev != '_' && i > 0, prev == '_' && r != '_':
			return at
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			return at
		case unicode.IsLower(r) && unicode.IsUpper(prev) && prevAt > from:
			return prevAt
		}
		prev, prevAt = r, at
	}
	return len(s)
}

// cut returns at most maxTerm bytes of s, whole characters.
func cut(s string) string {
	if len(s) <= maxTerm {
		return s
	}
	end := maxTerm
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
