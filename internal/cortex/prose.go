package cortex

import (
	"sort"
	"strings"

	"sakur4/internal/codesym"
)

// span is a part of a text.
type span struct{ from, to int }

// prose returns the comments of a text and those strings that say more than one name, in order: a name in them is no use of it. A string that is one name is, as in
// a list of what a module exports. Where a language is read wrongly, as in an expression that holds a quote, the mistake ends with the line.
func prose(lang codesym.Lang, text string) []span {
	var out []span
	line, hash, triple := "//", false, false
	switch lang {
	case codesym.Python:
		line, hash, triple = "#", true, true
	case codesym.JavaScript, codesym.TypeScript, codesym.TSX, codesym.Java, codesym.C, codesym.CPP, codesym.Rust:
	default:
		return nil
	}
	until := func(from int, mark string) int {
		if at := strings.Index(text[from:], mark); at >= 0 {
			return from + at + len(mark)
		}
		return len(text)
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], line):
			end := until(i, "\n")
			out = append(out, span{i, end})
			i = end
		case !hash && strings.HasPrefix(text[i:], "/*"):
			end := until(i+2, "*/")
			out = append(out, span{i, end})
			i = end
		case triple && (strings.HasPrefix(text[i:], `"""`) || strings.HasPrefix(text[i:], "'''")):
			end := until(i+3, text[i:i+3])
			out = append(out, span{i, end})
			i = end
		case c == '"', c == '\'' && (triple || lang == codesym.JavaScript || lang == codesym.TypeScript || lang == codesym.TSX):
			end := i + 1
			for end < len(text) && text[end] != c && text[end] != '\n' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			if strings.ContainsFunc(text[i+1:max(i+1, end-1)], func(r rune) bool { return !identRune(r) }) {
				out = append(out, span{i, end})
			}
			i = end
		case c == '\'' && lang != codesym.Rust: // a character, which may be a quote
			i = charEnd(text, i)
		default:
			i++
		}
	}
	return out
}

// charEnd returns the offset behind a character literal, or behind its quote where it is none.
func charEnd(text string, i int) int {
	switch {
	case i+3 < len(text) && text[i+1] == '\\' && text[i+3] == '\'':
		return i + 4
	case i+2 < len(text) && text[i+2] == '\'':
		return i + 3
	}
	return i + 1
}

// inProse reports whether an offset of a file lies in its prose.
func (r *Resolver) inProse(file int, text string, offset int) bool {
	list, ok := r.proses[file]
	if !ok {
		list = prose(r.g.lang(file), text)
		r.proses[file] = list
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].to > offset })
	return i < len(list) && list[i].from <= offset
}
