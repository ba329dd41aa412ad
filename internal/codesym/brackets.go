package codesym

import "strings"

// matchBrackets links each bracket with its partner. Where all brackets of a file agree, nesting alone decides. Where they do not, one is missing or too many, and
// the indentation of lines tells which: starts reports whether the token begins a declaration, which ends blocks that are indented as deeply.
func (b *builder) matchBrackets(starts func(i int) bool) {
	if !b.matchStrictly() {
		b.matchByIndent(starts)
	}
}

func closerOf(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	}
	return 0
}

func (b *builder) matchStrictly() bool {
	stack := b.opened[:0]
	defer func() { b.opened = stack }()
	toks := b.toks
	for i := range toks {
		t := &toks[i]
		switch classes[t.c] & (classOpens | classCloses) { // t.c is 0 for what is no punctuation
		case classOpens:
			stack = append(stack, int32(i))
		case classCloses:
			n := len(stack) - 1
			if n < 0 {
				return false
			}
			o := &toks[stack[n]]
			if closerOf(o.c) != t.c {
				return false
			}
			t.match, o.match = stack[n], int32(i)
			stack = stack[:n]
		}
	}
	return len(stack) == 0
}

// unmatched returns how many brackets have no partner, where one that closes something else is taken for one too many, or for the sign that another is missing.
func (b *builder) unmatched() int {
	var stack []byte
	alone := 0
	for i := range b.toks {
		t := &b.toks[i]
		if t.kind != tokenPunct {
			continue
		}
		switch t.c {
		case '(', '[', '{':
			stack = append(stack, closerOf(t.c))
		case ')', ']', '}':
			n := len(stack)
			switch {
			case n > 0 && stack[n-1] == t.c:
				stack = stack[:n-1]
			case n > 1 && stack[n-2] == t.c:
				stack = stack[:n-2]
				alone++
			default:
				alone++
			}
		}
	}
	return alone + len(stack)
}

// opener is a bracket that waits for its partner.
type opener struct {
	tok int32
	// line and stmt are the indentations of the line that it stands on and of the line that its statement began on.
	line, stmt int
	c          byte
}

// maxLookDown bounds how many unclosed brackets a closing one within a line looks past.
const maxLookDown = 4

func (b *builder) matchByIndent(starts func(i int) bool) {
	var stack []opener
	line, stmt := 0, 0
	fresh := true
	// drop ends the brackets above n before the token i.
	drop := func(n, i int) {
		for _, o := range stack[n:] {
			b.toks[o.tok].match = int32(i)
			b.errorAt(int(b.toks[o.tok].start), "bracket "+string(rune(o.c))+" is not closed")
		}
		stack = stack[:n]
	}
	for i := range b.toks {
		t := &b.toks[i]
		if t.first {
			line = b.indentOf(int(t.start))
		}
		if fresh {
			stmt, fresh = line, false
		}
		closes := t.kind == tokenPunct && (t.c == ')' || t.c == ']' || t.c == '}')
		if t.first && !closes && len(stack) > 0 && starts(i) {
			n := len(stack)
			for n > 0 && min(stack[n-1].line, stack[n-1].stmt) >= line {
				n--
			}
			drop(n, i)
		}
		if t.kind != tokenPunct {
			continue
		}
		switch t.c {
		case '(', '[', '{':
			stack = append(stack, opener{int32(i), line, stmt, t.c})
			fresh = fresh || t.c == '{'
		case ')', ']', '}':
			t.match = -1
			n := len(stack)
			if t.first {
				for n > 0 && min(stack[n-1].line, stack[n-1].stmt) > line {
					n--
				}
				fits := n > 0 && closerOf(stack[n-1].c) == t.c && max(stack[n-1].line, stack[n-1].stmt) >= line
				switch {
				case fits:
				case n < len(stack) && closerOf(stack[n].c) == t.c:
					n++ // badly indented
				default:
					drop(n, i)
					n = 0
				}
			} else {
				for k := 0; n > 0 && closerOf(stack[n-1].c) != t.c; k++ {
					if n--; k == maxLookDown || stack[n].c == '{' && stack[n].line != line {
						n = 0
					}
				}
			}
			if n == 0 {
				b.errorAt(int(t.start), "bracket "+string(rune(t.c))+" closes nothing")
				continue
			}
			drop(n, i)
			t.match = stack[n-1].tok
			b.toks[t.match].match = int32(i)
			stack = stack[:n-1]
			fresh = fresh || t.c == '}'
		case ';':
			fresh = true
		case ':':
			fresh = fresh || b.labelEnds(i)
		}
	}
	drop(0, len(b.toks))
}

// labelEnds reports whether the colon at i ends a label of one or two words that has its line for itself: what follows it is a statement of its own.
func (b *builder) labelEnds(i int) bool {
	return i > 0 && i+1 < len(b.toks) && b.toks[i].end == b.toks[i].start+1 && b.toks[i+1].first && b.toks[i-1].kind == tokenIdent &&
		(b.toks[i-1].first || i > 1 && b.toks[i-2].first && b.toks[i-2].kind == tokenIdent)
}

// indentOf returns the width of the space before offset i in its line, with tabs to the next multiple of 8.
func (b *builder) indentOf(i int) int {
	start := strings.LastIndexByte(b.src[:i], '\n') + 1
	return textWidth(b.src[start:i])
}

func textWidth(s string) int {
	width := 0
	for _, c := range []byte(s) {
		if c == '\t' {
			width += 8 - width%8
		} else {
			width++
		}
	}
	return width
}

// closed reports whether the bracket that opens at i has a partner.
func (b *builder) closed(i int) bool {
	m := int(b.toks[i].match)
	return m > i && m < len(b.toks) && int(b.toks[m].match) == i
}

// after returns the index of the token after the bracket pair that opens at i.
func (b *builder) after(i int) int {
	if b.closed(i) {
		return int(b.toks[i].match) + 1
	}
	return max(int(b.toks[i].match), i+1)
}
