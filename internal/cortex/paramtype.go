package cortex

import (
	"strings"

	"sakur4/internal/codesym"
)

// paramType returns the type that a signature gives a parameter, "" where it says none.
func paramType(l codesym.Lang, signature, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !identRune(r) }) {
		return ""
	}
	open := strings.IndexByte(signature, '(')
	if open < 0 {
		return ""
	}
	for from := open + 1; ; {
		at := strings.Index(signature[from:], name)
		if at < 0 {
			return ""
		}
		at += from
		from = at + len(name)
		if identRune(rune(signature[at-1])) || from < len(signature) && identRune(rune(signature[from])) {
			continue
		}
		switch l {
		case codesym.Python, codesym.TypeScript, codesym.TSX, codesym.Rust:
			if typ, ok := strings.CutPrefix(strings.TrimLeft(signature[from:], "? "), ":"); ok {
				return typeHead(typ)
			}
		case codesym.Java, codesym.C, codesym.CPP:
			before := strings.TrimRight(signature[:at], " *&")
			if cut := strings.LastIndexAny(before, "(,"); cut >= 0 {
				before = before[cut+1:]
			}
			words := strings.Fields(before)
			if len(words) > 0 && identRune(rune(words[len(words)-1][0])) {
				return words[len(words)-1]
			}
		default:
			return ""
		}
	}
}

// typeHead returns the first type of a text that begins with one.
func typeHead(s string) string {
	s = strings.TrimLeft(s, " &*'\"")
	for _, word := range [...]string{"mut ", "dyn ", "impl ", "const "} {
		s = strings.TrimPrefix(s, word)
	}
	end := strings.IndexFunc(s, func(r rune) bool { return !identRune(r) && r != '.' && r != ':' })
	if end >= 0 {
		s = s[:end]
	}
	return strings.TrimRight(s, ":.")
}

// identRune reports whether a rune may stand in an identifier of any of the languages.
func identRune(r rune) bool {
	return r == '_' || r == '$' || r >= 0x80 || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
