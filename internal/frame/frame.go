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

// What Go's JSON encoder, with HTML escaping on, makes of the first character of a mark.
const (
	jsonOpen  = `\u003csakur4:note`
	jsonClose = `\u003c/sakur4:note`
)

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

// Quoted reports whether s holds a mark anywhere, also inside a JSON string: a program that passes our words on may indent or encode them.
func Quoted(s string) bool {
	for _, mark := range []string{Open, CloseStem, jsonOpen, jsonClose} {
		if strings.Contains(s, mark) {
			return true
		}
	}
	return false
}

// Escape returns s with U+200B after the first character of every mark. A string without marks is returned as it is.
func Escape(s string) string {
	if !strings.Contains(s, "sakur4:note") {
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
