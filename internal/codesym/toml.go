package codesym

import "strings"

// parseTOML reads the tables and keys of TOML. A table is a module that ends where the next one begins. One that only its subtables name has the place of the first of them.
func parseTOML(b *builder) {
	b.lexTOML()
	b.matchBrackets(func(i int) bool { return b.toks[i].first && b.toks[i].kind == tokenString && b.is(i+1, '=') })
	l := &keyList{builder: b}
	named := b.tomlTables()
	var tables []int // that the header names, those of no header of their own first
	last, depth := 0, 0
	leave := func(i int) {
		for _, table := range tables {
			if i > 0 {
				l.decls[table].end = int(b.toks[last].end)
			}
		}
		tables = tables[:0]
	}
	for i := 0; i < len(b.toks); {
		switch t := &b.toks[i]; {
		case t.kind == tokenNewline:
			i++
		case t.c == '[' && t.first:
			leave(i)
			from, to, end := b.tomlHeader(i)
			path, at := b.tomlPath(from, to)
			depth = len(path)
			for n := 1; n <= depth; n++ {
				scope := strings.Join(path[:n-1], ".")
				if key := scope + "." + path[n-1]; n < depth && (n > maxKeyDepth || named[key]) {
					continue
				} else if n < depth {
					named[key] = true
				}
				d := decl{kind: Module, name: path[n-1], scope: scope, nameAt: at[n-1], start: int(t.start), end: int(b.toks[end].end)}
				d.sigStart, d.sigEnd = d.start, d.end
				if table := l.put(d, n); table >= 0 {
					tables = append(tables, table)
				}
			}
			last = end
			i = end + 1
		default:
			end := b.tomlLine(i)
			if end > i {
				b.tomlKey(l, i, end, depth+1)
				last = end - 1
			}
			i = max(end, i+1)
		}
	}
	leave(len(b.toks))
	l.prune()
}

// tomlHeader returns the tokens between the brackets of the header of a table at i, one or two, and its last token.
func (b *builder) tomlHeader(i int) (from, to, end int) {
	end = min(b.after(i), len(b.toks)) - 1
	from, to = i+1, end
	if b.is(from, '[') {
		from, to = from+1, min(b.after(from), len(b.toks))-1
	}
	return from, to, end
}

// tomlTables returns the names of the tables that have a header of their own: the part before the last one, a dot, and that.
func (b *builder) tomlTables() map[string]bool {
	named := map[string]bool{}
	for i := range b.toks {
		if b.toks[i].first && b.is(i, '[') {
			from, to, _ := b.tomlHeader(i)
			if path, _ := b.tomlPath(from, to); len(path) > 0 && len(path) <= maxKeyDepth {
				n := len(path) - 1
				named[strings.Join(path[:n], ".")+"."+path[n]] = true
			}
		}
	}
	return named
}

// tomlPath returns the parts of a dotted key between two tokens, and their offsets.
func (b *builder) tomlPath(from, to int) (path []string, at []int) {
	for k := from; k < to && len(path) < 50; k++ {
		if b.toks[k].kind == tokenString {
			path, at = append(path, keyName(b.text(k))), append(at, b.insideQuotes(k))
		}
	}
	return path, at
}

// tomlLine returns the token after the line that begins at the token i, brackets over several lines included.
func (b *builder) tomlLine(i int) int {
	for ; i < len(b.toks); i++ {
		t := &b.toks[i]
		switch {
		case t.kind == tokenNewline:
			return i
		case t.kind == tokenPunct && closerOf(t.c) != 0:
			i = b.after(i) - 1
		}
	}
	return i
}

// tomlKey adds the key at the token i whose value ends before the token end, and the keys of an inline table.
func (b *builder) tomlKey(l *keyList, i, end, depth int) {
	equals := i
	for equals < end && !b.is(equals, '=') {
		equals++
	}
	if equals == end {
		b.errorAt(int(b.toks[i].start), "'=' expected")
		return
	}
	path, at := b.tomlPath(i, equals)
	n := len(path)
	if n == 0 {
		return
	}
	d := decl{kind: Constant, name: path[n-1], nameAt: at[n-1], start: int(b.toks[i].start), end: int(b.toks[end-1].end)}
	if n > 1 {
		d.prefixName = strings.Join(path[:n-1], ".") + "."
	}
	d.sigStart, d.sigEnd = d.start, d.end
	value := equals + 1
	if !b.is(value, '{') || b.endOf(value) <= value+1 {
		l.put(d, depth)
		return
	}
	d.kind, d.sigEnd = Module, int(b.toks[equals].end)
	if l.put(d, depth) < 0 {
		return
	}
	stop := min(b.endOf(value), end)
	for k := value + 1; k < stop; k++ {
		for k < stop && b.toks[k].kind == tokenNewline {
			k++
		}
		from := k
		for k < stop && !b.is(k, ',') {
			if b.toks[k].kind == tokenPunct && closerOf(b.toks[k].c) != 0 {
				k = b.after(k)
				continue
			}
			k++
		}
		if k = min(k, stop); from < k {
			b.tomlKey(l, from, k, depth+1)
		}
	}
}

// lexTOML fills the tokens and comments of TOML. Bare keys are strings like the others, and so are bare values.
func (b *builder) lexTOML() {
	src := b.src
	b.lex(6)
	first, depth := true, 0
	push := func(start, end int, kind tokenKind, c byte) int {
		b.token(start, end, kind, c, first)
		first = false
		return end
	}
	newline := func(i int) {
		if n := len(b.toks); n > 0 && b.toks[n-1].kind != tokenNewline {
			b.toks = append(b.toks, tok{start: b.toks[n-1].end, end: b.toks[n-1].end, kind: tokenNewline, match: -1})
		}
	}
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			// A line that begins with a key or a table ends the arrays before it that are not closed.
			if depth > 0 && tomlBegins(src, i+1) {
				depth = 0
			}
			if depth == 0 {
				newline(i)
			}
			first = true
			i++
		case classes[c]&classSpace != 0:
			i++
		case c == '#':
			end := lineEnd(src, i)
			b.comments = append(b.comments, span{int32(i), int32(end)})
			i = end
		case c == '"' || c == '\'':
			end, ok := tomlStringEnd(src, i)
			if !ok {
				b.errorAt(i, "string is not closed")
			}
			i = push(i, end, tokenString, 0)
		case tomlBare(c):
			end := i + 1
			for end < len(src) && tomlBare(src[end]) {
				end++
			}
			i = push(i, end, tokenString, 0)
		default:
			if closerOf(c) != 0 {
				depth++
			} else if depth > 0 && (c == ']' || c == '}' || c == ')') {
				depth--
			}
			i = push(i, i+1, tokenPunct, c)
		}
	}
	newline(len(src))
}

// tomlBare reports whether a byte may stand in a key or value without quotes, the dot aside.
func tomlBare(c byte) bool { return classes[c]&classIdent != 0 || c == '-' || c == '+' || c == ':' }

// tomlBegins reports whether a table or a key with its value begins at the left margin at i.
func tomlBegins(src string, i int) bool {
	line := src[i:lineEnd(src, i)]
	if strings.HasPrefix(line, "[") {
		name := strings.Trim(strings.TrimSpace(line), "[]")
		return strings.HasSuffix(strings.TrimSpace(line), "]") && name != "" && strings.IndexFunc(name, func(r rune) bool { return r > 0x7f || !tomlBare(byte(r)) && r != '.' }) < 0 && !strings.Contains(name, ":")
	}
	key, _, ok := strings.Cut(line, "=")
	key = strings.TrimRight(key, " \t")
	return ok && key != "" && strings.IndexFunc(key, func(r rune) bool { return r > 0x7f || !tomlBare(byte(r)) && r != '.' }) < 0
}

// tomlStringEnd returns the end of the string that begins at i. One over several lines that nothing closes, and one that is not closed in its line, end with the line.
func tomlStringEnd(src string, i int) (end int, ok bool) {
	quote := src[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(src[i:], triple) {
		for k := i + 3; ; {
			n := strings.Index(src[k:], triple)
			if n < 0 {
				return lineEnd(src, i), false
			}
			k += n
			if quote == "'" || !escaped(src, k) {
				for k += 3; k < len(src) && src[k] == quote[0]; k++ { // up to two quotes may stand before the closing ones
				}
				return k, true
			}
			k++
		}
	}
	if quote == "\"" {
		return lineStringEnd(src, i)
	}
	end = lineEnd(src, i)
	if n := strings.IndexByte(src[i+1:end], '\''); n >= 0 {
		return i + n + 2, true
	}
	return end, false
}

// escaped reports whether an odd number of backslashes stands before offset i.
func escaped(src string, i int) bool {
	n := 0
	for i > n && src[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}
