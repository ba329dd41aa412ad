package codesym

import "strings"

// parseJSON reads the keys of JSON, with the comments and the trailing commas that configuration files have. The elements of arrays have no names, and what lies in
// them is no symbol.
func parseJSON(b *builder) {
	b.lexJSON()
	b.matchBrackets(func(i int) bool { return b.isKey(i) })
	l := &keyList{builder: b}
	// levels are the objects and arrays around the walk. An array and what lies in it lists nothing.
	type level struct {
		end, depth int
		object     bool
	}
	levels := []level{{end: len(b.toks)}}
	for i := 0; i < len(b.toks); i++ {
		for len(levels) > 1 && levels[len(levels)-1].end <= i {
			levels = levels[:len(levels)-1]
		}
		top := levels[len(levels)-1]
		switch {
		case b.is(i, '{') && i == 0:
			levels = append(levels, level{b.endOf(i), 1, true})
		case b.is(i, '{'), b.is(i, '['):
			levels = append(levels, level{end: b.endOf(i)})
		case top.object && b.isKey(i):
			last, value := i+1, i+2
			d := decl{kind: Constant, name: keyName(b.text(i)), nameAt: b.insideQuotes(i), start: int(b.toks[i].start)}
			d.sigStart = d.start
			if value < len(b.toks) && (b.toks[value].kind != tokenPunct || b.is(value, '{') || b.is(value, '[')) && !b.isKey(value) {
				last = value
			}
			if last == value && b.toks[last].kind == tokenPunct {
				last = min(b.after(value), len(b.toks)) - 1
			}
			d.end = int(b.toks[last].end)
			d.sigEnd = d.end
			if b.is(value, '{') && last > value {
				if b.isKey(value+1) && value+1 < last {
					d.kind, d.sigEnd = Module, int(b.toks[i+1].end)
				}
				levels = append(levels, level{b.endOf(value), top.depth + 1, true})
				i = value
			} else {
				i++
			}
			l.put(d, top.depth)
		}
	}
	l.prune()
}

// isKey reports whether the token is a name in front of a colon.
func (b *builder) isKey(i int) bool {
	return i < len(b.toks) && (b.toks[i].kind == tokenString || b.toks[i].kind == tokenIdent) && b.is(i+1, ':')
}

// insideQuotes returns the offset of a token's text, its quote aside.
func (b *builder) insideQuotes(i int) int {
	at := int(b.toks[i].start)
	if c := b.src[at]; c == '"' || c == '\'' || c == '`' {
		at++
	}
	return at
}

// lexJSON fills the tokens and comments of JSON. A string ends with its line.
func (b *builder) lexJSON() {
	src := b.src
	b.lex(8)
	first := true
	push := func(start, end int, kind tokenKind, c byte) int {
		b.token(start, end, kind, c, first)
		first = false
		return end
	}
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			first = true
			i++
		case classes[c]&classSpace != 0:
			i++
		case c == '"' || c == '\'':
			end, ok := lineStringEnd(src, i)
			if !ok {
				b.errorAt(i, "string is not closed")
			}
			i = push(i, end, tokenString, 0)
		case c == '/' && strings.HasPrefix(src[i:], "//"):
			end := lineEnd(src, i)
			b.comments = append(b.comments, span{int32(i), int32(end)})
			i = end
		case c == '/' && strings.HasPrefix(src[i:], "/*"):
			end := len(src)
			if n := strings.Index(src[i+2:], "*/"); n >= 0 {
				end = i + n + 4
			} else {
				b.errorAt(i, "comment is not closed")
			}
			b.comments = append(b.comments, span{int32(i), int32(end)})
			i = end
		case classes[c]&classIdent != 0 || c == '-' || c == '+' || c == '.' || c == '$':
			end := i + 1
			for end < len(src) && (classes[src[end]]&classIdent != 0 || src[end] == '.' || src[end] == '-' || src[end] == '+' || src[end] == '$') {
				end++
			}
			kind := tokenIdent
			if classes[c]&classDigit != 0 || c == '-' || c == '+' || c == '.' {
				kind = tokenNumber
			}
			i = push(i, end, kind, 0)
		default:
			i = push(i, i+1, tokenPunct, c)
		}
	}
}
