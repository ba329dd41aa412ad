package codesym

import "strings"

// lexGo fills the tokens and comments of Go source.
func (b *builder) lexGo() {
	src := b.src
	b.lex(4)
	first := true
	ends := false // the last token ends a statement at a line break
	push := func(start, end int, kind tokenKind) {
		c := byte(0)
		if kind == tokenPunct {
			c = src[start]
		}
		b.token(start, end, kind, c, first)
		first = false
	}
	lineBreak := func(at int) {
		if ends {
			b.toks = append(b.toks, tok{start: int32(at), end: int32(at), kind: tokenNewline, match: -1})
			ends = false
		}
		first = true
	}
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			lineBreak(i)
			i++
		case classes[c]&classSpace != 0:
			i = spaceEnd(src, i+1)
		case classes[c]&classDigit != 0 || c == '.' && i+1 < len(src) && classes[src[i+1]]&classDigit != 0:
			end := numberEnd(src, i)
			push(i, end, tokenNumber)
			i, ends = end, true
		case classes[c]&classIdent != 0:
			end := identEnd(src, i)
			push(i, end, tokenIdent)
			ends = !goOpen(src[i:end])
			i = end
		case c == '"' || c == '\'':
			end, ok := lineStringEnd(src, i)
			if !ok {
				b.errorAt(i, "string is not closed")
			}
			push(i, end, tokenString)
			i, ends = end, true
		case c == '`':
			end := strings.IndexByte(src[i+1:], '`')
			if end < 0 {
				// The rest of the file is hardly a string: the next line goes on.
				b.errorAt(i, "string is not closed")
				end = lineEnd(src, i) - i
			} else {
				end += 2
			}
			push(i, i+end, tokenString)
			i, ends = i+end, true
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			end := lineEnd(src, i)
			b.comments = append(b.comments, span{int32(i), int32(end)})
			i = end
		case c == '/' && i+1 < len(src) && src[i+1] == '*':
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				b.errorAt(i, "comment is not closed")
				end = len(src)
			} else {
				end += i + 4
			}
			b.comments = append(b.comments, span{int32(i), int32(end)})
			if strings.IndexByte(src[i:end], '\n') >= 0 {
				lineBreak(i)
			}
			i = end
		default:
			end := i + goOperator(src, i)
			push(i, end, tokenPunct)
			ends = c == ')' || c == ']' || c == '}' || end == i+2 && (src[i:end] == "++" || src[i:end] == "--")
			i = end
		}
	}
	lineBreak(len(src))
}

// goOpen reports whether the word is a keyword after which a line break ends nothing.
func goOpen(word string) bool {
	switch word {
	case "case", "chan", "const", "default", "defer", "else", "for", "func", "go", "goto", "if", "import", "interface", "map", "package", "range", "select",
		"struct", "switch", "type", "var":
		return true
	}
	return false
}

var goReserved = set("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var")

// set returns the words of s as a set.
func set(s string) *words {
	var w words
	for word := range strings.FieldsSeq(s) {
		w.all[word[0]] = append(w.all[word[0]], word)
		w.lengths[word[0]] |= 1 << len(word)
	}
	return &w
}

// words is a set of words that is asked for nearly every name of a text, most of which are not in it.
type words struct {
	// all are the words, and lengths their lengths, by the first byte.
	all     [256][]string
	lengths [256]uint32
}

func (w *words) has(s string) bool {
	return s != "" && len(s) < 32 && w.lengths[s[0]]&(1<<len(s)) != 0 && w.holds(s)
}

func (w *words) holds(s string) bool {
	for _, word := range w.all[s[0]] {
		if word == s {
			return true
		}
	}
	return false
}

// goOperator returns the length of the operator that begins at i.
func goOperator(src string, i int) int {
	switch src[i] {
	case '(', ')', '[', ']', '{', '}', ',', ';':
		return 1
	}
	if i+2 < len(src) {
		switch src[i : i+3] {
		case "<<=", ">>=", "&^=", "...":
			return 3
		}
	}
	if i+1 < len(src) {
		switch src[i : i+2] {
		case "&&", "||", "<-", "++", "--", "==", "!=", "<=", ">=", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "&^":
			return 2
		}
	}
	return 1
}

// lineStringEnd returns the end of the string that begins with a quote at i, with backslash escapes. It ends with its line, and then ok is false.
func lineStringEnd(src string, i int) (end int, ok bool) {
	quote := src[i]
	for i++; i < len(src); i++ {
		switch src[i] {
		case quote:
			return i + 1, true
		case '\\':
			if i+1 < len(src) && src[i+1] != '\n' {
				i++
			}
		case '\n':
			return i, false
		}
	}
	return len(src), false
}

// lineEnd returns the offset of the line break at or after i, or the length of src.
func lineEnd(src string, i int) int {
	if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}
