package codesym

import "strings"

// parseSQL reads the objects that SQL statements create, in the dialects that are common: quoted names, dollar quotes, bodies of routines, DELIMITER and GO lines, and the
// data of COPY are understood. Tables, views and types are types, routines and triggers functions, schemas modules, and what else has a name constants.
func parseSQL(b *builder) {
	l := &sqlLexer{builder: b}
	l.run()
	s := &sqlFile{builder: b}
	for i := 0; i < len(b.toks); {
		i = max(s.statement(i), i+1)
	}
}

// sqlLexer fills the tokens and comments.
type sqlLexer struct {
	*builder
	first bool
	// delimiter ends statements, "" for the semicolon.
	delimiter string
	// wasted counts the bytes that were looked at for a closing mark in vain.
	wasted int
}

func (l *sqlLexer) push(start, end int, kind tokenKind, c byte) int {
	l.token(start, end, kind, c, l.first)
	l.first = false
	return end
}

func (l *sqlLexer) run() {
	src := l.src
	l.lex(6)
	l.first = true
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			l.first = true
			i++
		case classes[c]&classSpace != 0:
			i++
		case l.delimiter != "" && strings.HasPrefix(src[i:], l.delimiter):
			i = l.push(i, i+len(l.delimiter), tokenPunct, ';')
		case c == '-' && strings.HasPrefix(src[i:], "--"):
			i = l.comment(i, lineEnd(src, i))
		case c == '#' && l.first:
			i = l.comment(i, lineEnd(src, i))
		case c == '/' && strings.HasPrefix(src[i:], "/*"):
			i = l.comment(i, l.blockEnd(i))
		case c == '\'':
			i = l.push(i, l.stringEnd(i), tokenString, 0)
		case c == '"' || c == '`':
			end, ok := l.nameEnd(i, c)
			if !ok {
				l.errorAt(i, "name is not closed")
			}
			i = l.push(i, end, tokenIdent, 0)
		case c == '[' && i+1 < len(src) && classes[src[i+1]]&classIdent != 0 && classes[src[i+1]]&classDigit == 0 && l.bracketed(i) > 0:
			i = l.push(i, l.bracketed(i), tokenIdent, 0)
		case c == '$':
			if end := l.dollarEnd(i); end > 0 {
				i = l.push(i, end, tokenString, 0)
			} else {
				i = l.push(i, i+1, tokenPunct, c)
			}
		case classes[c]&classDigit != 0:
			i = l.push(i, numberEnd(src, i), tokenNumber, 0)
		case classes[c]&classIdent != 0 || c == '@':
			end := i + 1
			for end < len(src) && (classes[src[end]]&classIdent != 0 || src[end] == '$' || src[end] == '#') {
				end++
			}
			if l.first && strings.EqualFold(src[i:end], "delimiter") {
				stop := lineEnd(src, i)
				l.delimiter = strings.TrimSpace(src[end:stop])
				if l.delimiter == ";" || len(l.delimiter) > 10 {
					l.delimiter = ""
				}
				i = l.push(i, stop, tokenDirective, 0)
				continue
			}
			i = l.push(i, end, tokenIdent, 0)
		case c == ';' && l.delimiter != "":
			i = l.push(i, i+1, tokenPunct, ',') // within a statement
		case c == ';':
			i = l.push(i, i+1, tokenPunct, c)
			i = l.data(i)
		default:
			i = l.push(i, i+1, tokenPunct, c)
		}
	}
}

func (l *sqlLexer) comment(i, end int) int {
	l.comments = append(l.comments, span{int32(i), int32(end)})
	return end
}

// blockEnd returns the end of the comment that begins at i; comments nest.
func (l *sqlLexer) blockEnd(i int) int {
	depth := 0
	for k := i; k+1 < len(l.src); k++ {
		switch l.src[k : k+2] {
		case "/*":
			depth++
			k++
		case "*/":
			k++
			if depth--; depth == 0 {
				return k + 1
			}
		}
	}
	l.errorAt(i, "comment is not closed")
	// Not all dialects nest them.
	if n := strings.Index(l.src[i+2:], "*/"); n >= 0 && l.wasted <= len(l.src) {
		l.wasted += len(l.src) - i
		return i + n + 4
	}
	return len(l.src)
}

// stringEnd returns the end of the string that begins at i. Where a line in it begins as a statement does, the string ended with its first line.
func (l *sqlLexer) stringEnd(i int) int {
	for k := i + 1; k < len(l.src) && l.wasted <= len(l.src); k++ {
		switch l.src[k] {
		case '\'':
			if k+1 < len(l.src) && l.src[k+1] == '\'' {
				k++
				continue
			}
			return k + 1
		case '\\':
			// A backslash escapes in some dialects. In the others a string may end behind it.
			if k+1 < len(l.src) && l.src[k+1] == '\'' && k+2 < len(l.src) && strings.IndexByte(",;) \n\r", l.src[k+2]) < 0 {
				k++
			}
		case '\n':
			if sqlBegins(l.src[k+1:]) {
				l.wasted += k - i
				l.errorAt(i, "string is not closed")
				return lineEnd(l.src, i)
			}
		}
	}
	l.wasted += len(l.src) - i
	l.errorAt(i, "string is not closed")
	return lineEnd(l.src, i)
}

// sqlBegins reports whether a statement that creates something begins at the left margin.
func sqlBegins(line string) bool {
	return len(line) > 7 && strings.EqualFold(line[:7], "create ")
}

// nameEnd returns the end of the quoted name that begins at i, which stands in one line.
func (l *sqlLexer) nameEnd(i int, quote byte) (int, bool) {
	stop := lineEnd(l.src, i)
	for k := i + 1; k < stop; k++ {
		if l.src[k] == quote {
			if k+1 < stop && l.src[k+1] == quote {
				k++
				continue
			}
			return k + 1, true
		}
	}
	return i + 1, false
}

// bracketed returns the end of a name in brackets, 0 where there is none.
func (l *sqlLexer) bracketed(i int) int {
	for k := i + 1; k < len(l.src) && k < i+130; k++ {
		switch c := l.src[k]; {
		case c == ']':
			return k + 1
		case c != ' ' && c != '.' && c != '-' && classes[c]&classIdent == 0:
			return 0
		}
	}
	return 0
}

// dollarEnd returns the end of the string between dollar quotes that begins at i, 0 where there is none.
func (l *sqlLexer) dollarEnd(i int) int {
	k := identEnd(l.src, i+1)
	if k >= len(l.src) || l.src[k] != '$' || k > i+64 || i+1 < k && classes[l.src[i+1]]&classDigit != 0 || l.wasted > len(l.src) {
		return 0
	}
	tag := l.src[i : k+1]
	n := strings.Index(l.src[k+1:], tag)
	if n < 0 {
		l.wasted += len(l.src) - i
		l.errorAt(i, "string "+tag+" is not closed")
		return k + 1
	}
	return k + 1 + n + len(tag)
}

// data returns the offset after the rows that follow a COPY statement that reads from its script, or i.
func (l *sqlLexer) data(i int) int {
	n := len(l.toks)
	word := func(k int, w string) bool { return k >= 0 && k < n && strings.EqualFold(l.text(k), w) }
	if !word(n-2, "stdin") && !word(n-3, "stdin") && !(n > 2 && l.is(n-2, ')')) {
		return i
	}
	from := -1
	for k := n - 2; k >= 0 && k > n-60 && !l.is(k, ';'); k-- {
		if word(k, "stdin") {
			from = k
		}
		if l.toks[k].first && word(k, "copy") && from > 0 {
			end := -1
			if l.wasted <= len(l.src) {
				end = strings.Index(l.src[i:], "\n\\.")
			}
			if end < 0 {
				l.wasted += len(l.src) - i
				return i
			}
			end = lineEnd(l.src, i+end+1)
			return l.push(lineEnd(l.src, i), end, tokenDirective, 0)
		}
	}
	return i
}

// sqlFile walks the statements.
type sqlFile struct {
	*builder
}

// word reports whether the token is a word without quotes, in any case.
func (s *sqlFile) word(i int, words ...string) bool {
	if i < 0 || i >= len(s.toks) || s.toks[i].kind != tokenIdent {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(s.text(i), w) {
			return true
		}
	}
	return false
}

// statement reads the statement at i and returns the token after it.
func (s *sqlFile) statement(i int) int {
	if s.toks[i].kind == tokenDirective || s.is(i, ';') || s.is(i, '/') || s.word(i, "go") {
		return i + 1
	}
	if !s.word(i, "create") {
		return s.end(i, false, 0)
	}
	n := i + 1
	for n < i+12 && n < len(s.toks) && !s.object(n) {
		switch {
		case s.word(n, "definer", "algorithm") && s.is(n+1, '='): // DEFINER = `a`@`b`
			n += 3
			for n < len(s.toks) && (s.is(n, '@') || strings.HasPrefix(s.text(n), "@") || s.toks[n].kind == tokenString) {
				n++
			}
			continue
		case s.toks[n].kind != tokenIdent:
			return s.end(i, false, 0)
		}
		n++
	}
	if !s.object(n) {
		return s.end(i, false, 0)
	}
	d, routine := s.kind(n)
	depth := 0
	if d.kind == Module && routine {
		depth = 1 // a package is a block
	}
	for n++; s.word(n, "body", "concurrently"); {
		n++
	}
	if s.word(n, "if") && s.word(n+1, "not", "exists") {
		for n < len(s.toks) && s.word(n, "if", "not", "exists") {
			n++
		}
	}
	name := s.name(n, &d)
	end := s.end(i, routine, depth)
	if name < 0 || name >= end {
		return end
	}
	last := end - 1
	if s.is(last, ';') && last > name {
		last--
	}
	sig := last
	if routine {
		sig = s.head(name, last)
	} else if d.kind == Type {
		for k := name; k <= last; k++ {
			if s.word(k, "as") && k > name {
				sig = k - 1
				break
			}
		}
	}
	s.outline(d, i, last, max(sig, name))
	if d.kind == ImportOf {
		s.imports = append(s.imports, Import{Path: d.name, Symbol: len(s.decls) - 1, Offset: int(s.toks[i].start)})
	}
	return end
}

// object reports whether the word says what is created.
func (s *sqlFile) object(i int) bool {
	return s.word(i, "table", "view", "index", "trigger", "function", "procedure", "type", "domain", "schema", "database", "sequence", "extension", "package", "aggregate", "macro", "role",
		"user", "policy", "rule", "event", "synonym", "server", "publication", "subscription", "operator", "collation", "keyspace")
}

// kind returns the kind of what is created, and whether it has a body.
func (s *sqlFile) kind(i int) (d decl, routine bool) {
	switch strings.ToLower(s.text(i)) {
	case "table", "view", "type", "domain":
		d.kind = Type
	case "function", "procedure", "trigger", "event":
		return decl{kind: Function}, true
	case "aggregate", "macro", "rule":
		d.kind = Function
	case "package":
		return decl{kind: Module}, true
	case "schema", "database", "keyspace":
		d.kind = Module
	case "extension":
		d.kind = ImportOf
	default:
		d.kind = Constant
	}
	return d, false
}

// name fills in the name that begins at i, and returns its last token, -1 where there is none.
func (s *sqlFile) name(i int, d *decl) int {
	last := -1
	var parts []string
	for k := i; k < len(s.toks) && s.toks[k].kind == tokenIdent && len(parts) < 5; k += 2 {
		if len(parts) == 0 && s.word(k, "on", "as", "is", "for", "using", "returns", "begin", "authorization") {
			break
		}
		text := s.text(k)
		if text[0] == '[' {
			text = strings.TrimSuffix(text[1:], "]")
		}
		parts, last = append(parts, keyName(text)), k
		if !s.is(k+1, '.') {
			break
		}
	}
	if last < 0 || parts[len(parts)-1] == "" {
		return -1
	}
	n := len(parts) - 1
	d.name, d.scope, d.nameAt = parts[n], strings.Join(parts[:n], "."), s.insideQuotes(last)
	if s.src[s.toks[last].start] == '[' {
		d.nameAt++
	}
	return last
}

// head returns the last token of a routine's head: before its body, or the string that is its body.
func (s *sqlFile) head(name, last int) int {
	depth := 0
	for k := name + 1; k <= last; k++ {
		switch {
		case s.is(k, '('):
			depth++
		case s.is(k, ')'):
			depth--
		case depth <= 0 && s.word(k, "as", "is", "begin"):
			return k - 1
		case s.toks[k].kind == tokenString && s.src[s.toks[k].start] == '$':
			return k - 1
		}
	}
	return last
}

// end returns the token after the statement at i. The body of a routine may hold statements of its own; depth is how many blocks are open at its beginning.
func (s *sqlFile) end(i int, routine bool, depth int) int {
	declares := false
	for k := i; k < len(s.toks); k++ {
		t := &s.toks[k]
		alone := t.first && k > i && (k+1 == len(s.toks) || s.toks[k+1].first)
		switch {
		case t.kind == tokenDirective, alone && s.word(k, "go"), k > i && s.startsAnew(k, depth):
			return k
		case t.c == '/' && alone && routine, t.c == ';' && s.text(k) != ";", t.c == ';' && depth <= 0 && !declares:
			return k + 1
		case !routine:
		case s.word(k, "begin") && !s.word(k+1, "tran", "transaction", "work"):
			depth, declares = depth+1, false
		case s.word(k, "case") && !s.word(k-1, "end"):
			depth++
		case s.word(k, "end") && !s.word(k+1, "if", "loop", "while", "repeat", "for"):
			if depth--; depth <= 0 {
				declares = false
			}
		case s.word(k, "as", "is") && depth == 0 && k+1 < len(s.toks) && s.toks[k+1].kind == tokenIdent && s.declaresAt(k+1):
			declares = true
		}
	}
	return len(s.toks)
}

// startsAnew reports whether a statement at the left margin at k ends the one before it that nothing closed. Within a body only what none creates there does.
func (s *sqlFile) startsAnew(k, depth int) bool {
	at := int(s.toks[k].start)
	if !s.toks[k].first || !s.word(k, "create") || lineStart(s.src, at) != at {
		return false
	}
	return depth <= 0 || s.word(k+1, "table", "function", "procedure", "trigger", "view", "or")
}

// declaresAt reports whether declarations of variables begin at i, in front of the body of a routine.
func (s *sqlFile) declaresAt(i int) bool {
	return !s.word(i, "begin", "select", "with", "insert", "update", "delete", "return", "set", "exec", "execute", "if", "table", "values", "language", "enum", "declare", "call", "merge", "while", "print", "truncate", "range")
}
