package codesym

import "strings"

// pyReserved are the words that are never names.
var pyReserved = set("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield")

// pyStatement are reserved words that stand in no expression. One of them at the start of a line says that no bracket is open there.
var pyStatement = set("def class return import raise try while del pass break continue global nonlocal assert except finally elif with")

// lexPython fills the tokens and comments of Python source. It returns false when a string over several lines is not closed: the quotes of the file are then odd, and a
// second run with odd set takes such strings for what stands between two others where they hold declarations.
func (b *builder) lexPython(odd bool) bool {
	src := b.src
	b.lex(4)
	indents := []int{0}
	var open []byte // brackets
	var opened []int
	good := true
	fresh := true // at the start of a line
	end := 0      // of the last token
	newline := func() {
		if n := len(b.toks); n > 0 && b.toks[n-1].start < b.toks[n-1].end {
			b.toks = append(b.toks, tok{start: int32(end), end: int32(end), kind: tokenNewline, match: -1})
		}
	}
	first := func(i int) {
		width := b.indentOf(i)
		if len(open) > 0 {
			word := src[i:identEnd(src, i)]
			if !pyStatement.has(word) && (word != "async" || !strings.HasPrefix(src[i:], "async def ")) {
				return
			}
			b.errorAt(opened[0], "bracket "+string(rune(open[0]))+" is not closed")
			open, opened = open[:0], opened[:0]
			newline()
		}
		if width > indents[len(indents)-1] {
			indents = append(indents, width)
			b.toks = append(b.toks, tok{start: int32(end), end: int32(end), kind: tokenIndent, match: -1})
		}
		for width < indents[len(indents)-1] {
			indents = indents[:len(indents)-1]
			b.toks = append(b.toks, tok{start: int32(end), end: int32(end), kind: tokenDedent, match: -1})
			if width > indents[len(indents)-1] {
				indents = append(indents, width) // badly indented: a level of its own
				break
			}
		}
	}
	for i := 0; i < len(src); {
		c := src[i]
		if c == '\n' {
			if len(open) == 0 {
				newline()
			}
			fresh = true
			i++
			continue
		}
		if classes[c]&classSpace != 0 {
			i = spaceEnd(src, i+1)
			continue
		}
		if c == '\\' && i+1 < len(src) && (src[i+1] == '\n' || src[i+1] == '\r') {
			if i = lineEnd(src, i); i < len(src) {
				i++
			}
			continue
		}
		if c == '#' {
			n := lineEnd(src, i)
			b.comments = append(b.comments, span{int32(i), int32(n)})
			i = n
			continue
		}
		begins := fresh
		if fresh {
			first(i)
			fresh = false
		}
		n, kind, mark := i, tokenPunct, byte(0)
		switch {
		case classes[c]&classDigit != 0 || c == '.' && i+1 < len(src) && classes[src[i+1]]&classDigit != 0:
			kind, n = tokenNumber, numberEnd(src, i)
		case classes[c]&classIdent != 0:
			kind, n = tokenIdent, identEnd(src, i)
			if n < len(src) && (src[n] == '"' || src[n] == '\'') && pyPrefix(src[i:n]) {
				kind = tokenString
			}
		case c == '"' || c == '\'':
			kind = tokenString
		default:
			mark, n = c, operatorEnd(src, i, true)
		}
		if kind == tokenString {
			var closed bool
			long := tripleAt(src, n)
			if n, closed = b.pyString(i, n, odd); !closed {
				b.errorAt(i, "string is not closed")
				good = good && !long
			}
		}
		end = n
		b.token(i, n, kind, mark, begins)
		switch {
		case kind != tokenPunct:
		case closerOf(c) != 0:
			open, opened = append(open, c), append(opened, i)
		case c == ')' || c == ']' || c == '}':
			k := len(open) - 1
			for k >= 0 && k >= len(open)-maxLookDown && closerOf(open[k]) != c {
				k--
			}
			if k < 0 || closerOf(open[k]) != c {
				b.errorAt(i, "bracket "+string(rune(c))+" closes nothing")
			} else {
				if k < len(open)-1 {
					b.errorAt(opened[len(open)-1], "bracket "+string(rune(open[len(open)-1]))+" is not closed")
				}
				open, opened = open[:k], opened[:k]
			}
		}
		i = n
	}
	if len(open) > 0 {
		b.errorAt(opened[0], "bracket "+string(rune(open[0]))+" is not closed")
	}
	newline()
	return good
}

// pyPrefix reports whether a name in front of a quote belongs to the string.
func pyPrefix(s string) bool {
	return len(s) <= 2 && strings.Trim(s, "rRbBuUfFtT") == ""
}

func tripleAt(src string, i int) bool {
	return i+2 < len(src) && src[i+1] == src[i] && src[i+2] == src[i]
}

// pyString returns the end of the string whose prefix begins at start and whose quote stands at i.
func (b *builder) pyString(start, i int, odd bool) (end int, ok bool) {
	src := b.src
	if !tripleAt(src, i) {
		if strings.ContainsAny(src[start:i], "fFtT") {
			if end := pyFormatEnd(src, i); end > 0 {
				return end, true
			}
		}
		return pyLineString(src, i)
	}
	end = len(src)
	for k := i + 3; k < len(src); k++ {
		n := strings.IndexAny(src[k:], "\\"+src[i:i+1])
		if n < 0 {
			break
		}
		k += n
		if src[k] == '\\' {
			k++
		} else if tripleAt(src, k) {
			end, ok = k+3, true
			break
		}
	}
	if odd && (!ok || b.pyStray(start, src[i+3:end-3])) {
		return i + 3, false
	}
	return end, ok
}

// pyLineString returns the end of a string of one line. A backslash at the end of the line continues it.
func pyLineString(src string, i int) (end int, ok bool) {
	quote := src[i]
	for i++; i < len(src); i++ {
		switch src[i] {
		case quote:
			return i + 1, true
		case '\\':
			if i+2 < len(src) && src[i+1] == '\r' && src[i+2] == '\n' {
				i++
			}
			i++
		case '\n':
			return i, false
		}
	}
	return len(src), false
}

// pyFormatEnd returns the end of a formatted string of one line, whose fields may hold the same quote, or 0 where it is no such string.
func pyFormatEnd(src string, i int) int {
	quote := src[i]
	depth := 0
	for i++; i < len(src) && src[i] != '\n'; i++ {
		switch c := src[i]; {
		case c == '\\':
			i++
		case c == '{' && depth == 0 && i+1 < len(src) && src[i+1] == '{':
			i++
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == quote && depth == 0:
			return i + 1
		case (c == '"' || c == '\'') && depth > 0:
			end, ok := pyLineString(src, i)
			if !ok {
				return 0
			}
			i = end - 1
		}
	}
	return 0
}

// pyStray reports whether three quotes at start close another string rather than open one: no operator or bracket asks for a string there, and what follows holds
// a declaration that is indented no deeper.
func (b *builder) pyStray(start int, content string) bool {
	begin := strings.LastIndexByte(b.src[max(0, start-500):start], '\n') + 1 + max(0, start-500)
	line := strings.TrimRight(b.src[begin:start], " \t")
	if line != "" && strings.IndexByte("=([{,%+:", line[len(line)-1]) >= 0 || strings.HasSuffix(line, "return") {
		return false
	}
	width := b.lineWidth(start)
	for l := range strings.Lines(content) {
		text := strings.TrimLeft(l, " \t")
		for _, word := range [...]string{"def ", "class ", "async def ", "@"} {
			if strings.HasPrefix(text, word) && textWidth(l[:len(l)-len(text)]) <= width {
				return true
			}
		}
	}
	return false
}
