package codesym

import "strings"

// lexJava fills the tokens and comments of Java: strings end with their line, text blocks with three quotes.
func (b *builder) lexJava() {
	src := b.src
	b.lex(4)
	first := true
	push := func(start, end int, kind tokenKind, c byte) {
		b.token(start, end, kind, c, first)
		first = false
	}
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			first = true
			i++
		case classes[c]&classSpace != 0:
			i = spaceEnd(src, i+1)
		case classes[c]&classDigit != 0 || c == '.' && i+1 < len(src) && classes[src[i+1]]&classDigit != 0:
			end := numberEnd(src, i)
			push(i, end, tokenNumber, 0)
			i = end
		case classes[c]&classIdent != 0 || c == '$':
			end := ecmaIdentEnd(src, i)
			push(i, end, tokenIdent, 0)
			i = end
		case c == '"' || c == '\'':
			end, ok := 0, false
			if c == '"' && tripleAt(src, i) {
				end, ok = textBlockEnd(src, i)
			}
			if !ok {
				if end, ok = lineStringEnd(src, i); !ok {
					b.errorAt(i, "string is not closed")
				}
			}
			push(i, end, tokenString, 0)
			i = end
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			end := lineEnd(src, i)
			b.comments = append(b.comments, span{int32(i), int32(end)})
			i = end
		case c == '/' && i+1 < len(src) && src[i+1] == '*':
			i = b.blockComment(i)
		default:
			end := operatorEnd(src, i, false)
			push(i, end, tokenPunct, c)
			i = end
		}
	}
}

// textBlockEnd returns the end of the text block that begins at i.
func textBlockEnd(src string, i int) (int, bool) {
	for k := i + 3; k < len(src); k++ {
		n := strings.IndexAny(src[k:], "\\\"")
		if n < 0 {
			return 0, false
		}
		if k += n; src[k] == '\\' {
			k++
		} else if tripleAt(src, k) {
			return k + 3, true
		}
	}
	return 0, false
}
