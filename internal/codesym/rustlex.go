package codesym

import "strings"

var rustReserved = set("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while abstract become box do final macro override priv typeof unsized virtual yield try gen")

// lexRust fills the tokens and comments of Rust source. Strings may span lines there, so one missing quote turns the rest inside out: where the last string is not
// closed, or one holds a declaration and brackets have no partner, a second run ends strings that do not close in their line, and those that hold a declaration at the left
// of a line. The one that leaves fewer brackets alone counts.
func (b *builder) lexRust() {
	good, stray := b.lexRustAs(false)
	alone := 0
	if good && stray {
		alone = b.unmatched()
	}
	if good && alone == 0 {
		return
	}
	toks, comments, errors := b.toks, b.comments, b.errors
	b.toks, b.comments, b.errors = nil, nil, nil
	if b.lexRustAs(true); good && b.unmatched() > alone {
		b.toks, b.comments, b.errors = toks, comments, errors
	}
}

// lexRustAs reports whether all strings are closed, and whether one holds a declaration.
func (b *builder) lexRustAs(odd bool) (good, stray bool) {
	src := b.src
	b.lex(3)
	first := true
	good = true
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
		case classes[c]&classDigit != 0:
			end := rustNumberEnd(src, i)
			push(i, end, tokenNumber, 0)
			i = end
		case classes[c]&classIdent != 0:
			end := identEnd(src, i)
			if end < len(src) && end-i <= 2 {
				switch prefix := src[i:end]; {
				case (src[end] == '"' || src[end] == '#') && (prefix == "r" || prefix == "br" || prefix == "cr"):
					if stop, ok := rustRawEnd(src, end); ok {
						push(i, stop, tokenString, 0)
						i = stop
						continue
					} else if src[end] == '#' && prefix == "r" && end+1 < len(src) && classes[src[end+1]]&classIdent != 0 {
						end = identEnd(src, end+1) // a raw identifier
					}
				case src[end] == '"' && (prefix == "b" || prefix == "c"):
					stop, ok := b.rustString(end, odd)
					good, stray = good && ok, stray || rustStray(src[end+1:stop])
					push(i, stop, tokenString, 0)
					i = stop
					continue
				case src[end] == '\'' && prefix == "b":
					if stop, ok := lineStringEnd(src, end); ok {
						push(i, stop, tokenString, 0)
						i = stop
						continue
					}
				}
			}
			push(i, end, tokenIdent, 0)
			i = end
		case c == '"':
			end, ok := b.rustString(i, odd)
			good, stray = good && ok, stray || rustStray(src[i+1:end])
			push(i, end, tokenString, 0)
			i = end
		case c == '\'':
			end := rustCharEnd(src, i)
			push(i, end, tokenString, 0)
			i = end
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			end := lineEnd(src, i)
			b.comments = append(b.comments, span{int32(i), int32(end)})
			i = end
		case c == '/' && i+1 < len(src) && src[i+1] == '*':
			i = b.nestedComment(i)
		default:
			end := i + 1
			switch c {
			case '(', ')', '[', ']', '{', '}', ',', ';':
			default:
				if end = operatorEnd(src, i, false); end == i+2 && (c == '|' || c == '&') && src[i+1] == c {
					end = i + 1 // two of them stand beside each other in patterns too
				}
			}
			push(i, end, tokenPunct, c)
			i = end
		}
	}
	return good, stray
}

// rustNumberEnd is numberEnd where two dots are a range and a dot may begin a method.
func rustNumberEnd(src string, i int) int {
	end := numberEnd(src, i)
	if dot := strings.IndexByte(src[i:end], '.'); dot >= 0 && i+dot+1 < len(src) && classes[src[i+dot+1]]&classDigit == 0 && classes[src[i+dot+1]]&classIdent != 0 {
		return i + dot
	}
	return end
}

// rustRawEnd returns the end of a raw string whose hashes or quote begin at i.
func rustRawEnd(src string, i int) (int, bool) {
	n := i
	for n < len(src) && src[n] == '#' {
		n++
	}
	if n >= len(src) || src[n] != '"' {
		return 0, false
	}
	end := strings.Index(src[n+1:], "\""+src[i:n])
	if end < 0 {
		return 0, false
	}
	return n + 1 + end + 1 + (n - i), true
}

// rustString returns the end of the string whose quote stands at i.
func (b *builder) rustString(i int, odd bool) (end int, ok bool) {
	src := b.src
	for k := i + 1; k < len(src); k++ {
		switch src[k] {
		case '\\':
			k++
		case '"':
			if odd && rustStray(src[i+1:k]) {
				b.errorAt(i, "string is not closed")
				return lineEnd(src, i), true
			}
			return k + 1, true
		}
	}
	b.errorAt(i, "string is not closed")
	if odd {
		return lineEnd(src, i), true
	}
	return len(src), false
}

// rustStray reports whether what would be a string holds a declaration at the start of a line.
func rustStray(content string) bool {
	if strings.IndexByte(content, '\n') < 0 {
		return false
	}
	n := 0
	for line := range strings.Lines(content) {
		if n++; n == 1 {
			continue
		}
		text := strings.TrimLeft(line, " \t")
		for _, word := range [...]string{"fn ", "pub ", "impl ", "struct ", "enum ", "mod ", "let ", "#[", "use ", "}\n", "} ", "if ", "return "} {
			if strings.HasPrefix(text, word) {
				return true
			}
		}
	}
	return false
}

// rustCharEnd returns the end of a character, or of a lifetime or label.
func rustCharEnd(src string, i int) int {
	if i+1 >= len(src) {
		return i + 1
	}
	if src[i+1] == '\\' {
		if end, ok := lineStringEnd(src, i); ok {
			return end
		}
		return i + 2
	}
	// One character and a quote, else a lifetime.
	n := i + 2
	for n < len(src) && src[n]&0xc0 == 0x80 {
		n++
	}
	if n < len(src) && src[n] == '\'' {
		return n + 1
	}
	if classes[src[i+1]]&classIdent != 0 {
		return identEnd(src, i+1)
	}
	return i + 1
}

// nestedComment records the comment that begins at i, in which others may stand, and returns its end.
func (b *builder) nestedComment(i int) int {
	src, depth := b.src, 0
	for k := i; k+1 < len(src); k++ {
		switch src[k : k+2] {
		case "/*":
			depth++
			k++
		case "*/":
			k++
			if depth--; depth == 0 {
				b.comments = append(b.comments, span{int32(i), int32(k + 1)})
				return k + 1
			}
		}
	}
	b.errorAt(i, "comment is not closed")
	b.comments = append(b.comments, span{int32(i), int32(len(src))})
	return len(src)
}
