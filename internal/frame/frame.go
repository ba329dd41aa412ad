// Package frame holds the marks around whatever the module itself writes into a prompt.
//
// The marks tell a model that the text between them is a record and no instruction, and they tell the module that a tool result which carries them
// repeats its own words: such a result is no evidence of anything.
package frame

import "strings"

// Open begins a frame; the kind follows as an attribute. Close ends it.
const (
	Open  = "<sakur4:note"
	Close = "</sakur4:note>"
)

// CloseStem begins a close mark in any spelling of what follows the name. [Escape] looks for it.
const CloseStem = "</sakur4:note"

// zeroWidth goes after the first character of a mark inside recorded content: readable, and a mark no longer.
const zeroWidth = "\u200b"

// Contains reports whether s holds a mark at the start of a line, which is how everything rendered by this module begins.
func Contains(s string) bool {
	for _, mark := range []string{Open, CloseStem} {
		for at := 0; ; {
			i := strings.Index(s[at:], mark)
			if i < 0 {
				break
			}
			at += i
			if at == 0 || s[at-1] == '\n' {
				return true
			}
			at += len(mark)
		}
	}
	return false
}

// stem is what every mark ends its beginning with. It is looked for by what follows stemHead: its third letter is rare in any text, its first is not, and
// a search stops at each.
const (
	stem     = "sakur4:note"
	stemHead = 2
)

// indexStem returns where the first stem in s begins, or -1.
func indexStem(s string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], stem[stemHead:])
		if i < 0 {
			return -1
		}
		i += from
		if strings.HasSuffix(s[:i], stem[:stemHead]) {
			return i - stemHead
		}
		from = i + 1
	}
}

// Quoted reports whether s holds a mark anywhere, also inside a JSON string and also one that [Escape] has parted: a program that passes our words on
// may indent or encode them.
func Quoted(s string) bool {
	for at := 0; ; {
		i := indexStem(s[at:])
		if i < 0 {
			return false
		}
		at += i
		before := strings.TrimSuffix(strings.TrimSuffix(s[:at], "/"), `\`) // some encoders escape the slash
		if cut, ok := strings.CutSuffix(before, zeroWidth); ok {
			before = cut
		} else if cut, ok := cutEscape(before, `\u200b`); ok {
			before = cut
		}
		if strings.HasSuffix(before, "<") {
			return true
		}
		if _, ok := cutEscape(before, `\u003c`); ok {
			return true
		}
		at += len(stem)
	}
}

// cutEscape cuts a JSON escape off the end of s. Its digits may be in either case.
func cutEscape(s, escape string) (string, bool) {
	n := len(s) - len(escape)
	if n < 0 || s[n:n+2] != escape[:2] || !strings.EqualFold(s[n:], escape) {
		return s, false
	}
	return s[:n], true
}

// Escape returns s with U+200B after the first character of every mark. A string without marks is returned as it is.
func Escape(s string) string {
	if indexStem(s) < 0 {
		return s
	}
	return strings.NewReplacer(Open, "<"+zeroWidth+Open[1:], CloseStem, "<"+zeroWidth+CloseStem[1:]).Replace(s)
}

// Note returns body in a frame of the kind, with the blank line that parts it from what stands before. Marks inside body are escaped,
// so a body cannot end its own frame. A kind is a word of letters, digits, hyphens and underscores; other characters become hyphens.
func Note(kind, body string) string {
	return "\n\n" + Open + ` kind="` + strings.Map(kindRune, kind) + "\">\n" + Escape(body) + "\n" + Close
}

func kindRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		return r
	}
	return '-'
}
