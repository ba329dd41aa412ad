package codesym

import "strings"

// parsePython reads Python source.
func parsePython(b *builder) {
	if !b.lexPython(false) {
		b.errors = nil
		b.lexPython(true)
	}
	p := &pyFile{builder: b}
	p.linkBrackets()
	for i := 0; i < len(b.toks); {
		i = p.line(i)
	}
	p.leave(0, len(b.toks))
	b.callsIn(0, len(b.toks), pyReserved)
}

// pyFile reads statements, each a line or several. Scopes follow from the indentation of declarations alone.
type pyFile struct {
	*builder
	scopes []pyScope
	// decorated is the first token of the decorators before the statement, -1 for none.
	decorated    int
	inDecorators bool
}

type pyScope struct {
	decl, indent int
	class        bool
}

// linkBrackets gives brackets their partners; what has none ends where the line does.
func (p *pyFile) linkBrackets() {
	var stack []int
	for i := range p.toks {
		t := &p.toks[i]
		switch {
		case t.kind == tokenNewline:
			for _, o := range stack {
				p.toks[o].match = int32(i)
			}
			stack = stack[:0]
		case t.kind != tokenPunct:
		case closerOf(t.c) != 0:
			stack = append(stack, i)
		case t.c == ')' || t.c == ']' || t.c == '}':
			n := len(stack) - 1
			for n >= 0 && n >= len(stack)-maxLookDown && closerOf(p.toks[stack[n]].c) != t.c {
				n--
			}
			if n >= 0 && closerOf(p.toks[stack[n]].c) == t.c {
				for _, o := range stack[n+1:] {
					p.toks[o].match = int32(i)
				}
				t.match = int32(stack[n])
				p.toks[stack[n]].match = int32(i)
				stack = stack[:n]
			}
		}
	}
	for _, o := range stack {
		p.toks[o].match = int32(len(p.toks))
	}
}

// leave ends the scopes that are indented as deeply as indent or deeper, before the token i.
func (p *pyFile) leave(indent, i int) {
	end := 0
	for k := i - 1; k >= 0; k-- {
		if t := &p.toks[k]; t.start < t.end {
			end = int(t.end)
			break
		}
	}
	for n := len(p.scopes) - 1; n >= 0 && p.scopes[n].indent >= indent; n-- {
		p.decls[p.scopes[n].decl].end = end
		p.scopes = p.scopes[:n]
	}
}

// line reads the statement that begins at the token i and returns the token after its line.
func (p *pyFile) line(i int) int {
	t := &p.toks[i]
	if t.start == t.end {
		return i + 1
	}
	indent := p.indentOf(int(t.start))
	p.leave(indent, i)
	first := i
	if p.decorated >= 0 && p.inDecorators {
		first = p.decorated
	}
	p.inDecorators = false
	for {
		switch word := p.text(i); {
		case t.c == '@':
			if !p.inDecorators && first == i {
				p.decorated = i
			}
			p.inDecorators = true
		case word == "def" || word == "async" && p.text(i+1) == "def":
			p.function(first, i, indent)
			return p.body(i, indent)
		case word == "class" && p.isPyName(i+1):
			p.class(first, i, indent)
			return p.body(i, indent)
		case word == "import":
			p.imported(i)
		case word == "from":
			p.from(i)
		case word == "type" && p.isPyName(i+1) && (p.is(i+2, '=') || p.is(i+2, '[')):
			end := p.statementEnd(i)
			p.outline(decl{kind: Type, name: p.text(i + 1)}, i, end-1, end-1)
		case p.isPyName(i):
			p.constant(i)
		}
		i = p.statementEnd(i)
		if i >= len(p.toks) || p.toks[i].kind == tokenNewline {
			return i + 1
		}
		i++ // after ";" or the ":" of a compound statement
		if i >= len(p.toks) {
			return i
		}
		first, t = i, &p.toks[i]
		if t.kind == tokenNewline {
			return i + 1
		}
	}
}

func (p *pyFile) isPyName(i int) bool {
	return i < len(p.toks) && p.toks[i].kind == tokenIdent && !pyReserved.has(p.text(i))
}

// statementEnd returns the token that ends the statement at i: a line break, a semicolon, or the colon of a compound statement.
func (p *pyFile) statementEnd(i int) int {
	compound := false
	switch p.text(i) {
	case "if", "elif", "else", "try", "except", "finally", "with", "for", "while", "async":
		compound = true
	}
	for ; i < len(p.toks); i++ {
		t := &p.toks[i]
		switch {
		case t.kind == tokenNewline || t.kind == tokenIndent || t.kind == tokenDedent || t.c == ';':
			return i
		case compound && t.c == ':' && t.end == t.start+1:
			return i
		case t.kind == tokenIdent && compound && p.text(i) == "lambda":
			compound = false // its colon is not the statement's
		case t.kind == tokenPunct && closerOf(t.c) != 0:
			i = p.after(i) - 1
		}
	}
	return i
}

// header returns the colon that ends the head of a declaration, or the line break where it has none.
func (p *pyFile) header(i int) int {
	for ; i < len(p.toks); i++ {
		t := &p.toks[i]
		switch {
		case t.kind == tokenNewline || t.kind == tokenIndent || t.kind == tokenDedent || t.c == ':' && t.end == t.start+1:
			return i
		case t.kind == tokenPunct && closerOf(t.c) != 0:
			i = p.after(i) - 1
		}
	}
	return i
}

// body returns the token after the head of the declaration at i: its body is read as lines of their own.
func (p *pyFile) body(i, indent int) int {
	return min(p.header(i)+1, len(p.toks))
}

func (p *pyFile) open(d decl, first, at, indent int) {
	colon := p.header(at)
	d.start, d.sigStart = int(p.toks[first].start), int(p.toks[at].start)
	d.sigEnd = int(p.toks[min(colon, len(p.toks))-1].end)
	d.end = d.sigEnd
	d.docAt = d.start
	if !p.is(colon, ':') {
		d.partial = true
		p.errorAt(d.sigEnd, "':' expected")
	}
	for k := colon + 1; k < len(p.toks) && k < colon+4; k++ {
		if p.toks[k].kind == tokenString {
			d.doc = pyDoc(p.text(k))
			break
		}
		if p.toks[k].start < p.toks[k].end {
			break
		}
	}
	class := d.kind == Class
	p.scopes = append(p.scopes, pyScope{p.add(d), indent, class})
}

// pyDoc returns the first sentence of a string that documents a declaration.
func pyDoc(s string) string {
	s = strings.Trim(strings.TrimLeft(s, "rRuUbB"), "\"'")
	text, _, _ := strings.Cut(strings.TrimSpace(s[:min(len(s), 4*maxDoc)]), "\n\n")
	return firstSentence(text)
}

func (p *pyFile) function(first, i, indent int) {
	name := i + 1
	if p.text(i) == "async" {
		name++
	}
	if !p.isPyName(name) {
		return
	}
	d := decl{kind: Function, name: p.text(name)}
	d.test = strings.HasPrefix(d.name, "test_")
	if n := len(p.scopes); n > 0 && p.scopes[n-1].class {
		d.kind = Method
	}
	p.open(d, first, i, indent)
}

func (p *pyFile) class(first, i, indent int) {
	d := decl{kind: Class, name: p.text(i + 1)}
	d.test = strings.HasPrefix(d.name, "Test")
	k := i + 2
	if p.is(k, '[') {
		k = p.after(k)
	}
	if p.is(k, '(') {
		end := min(p.after(k)-1, len(p.toks))
		for a := k + 1; a < end; {
			z := a
			for z < end && !p.is(z, ',') {
				if p.toks[z].kind == tokenPunct && closerOf(p.toks[z].c) != 0 {
					z = p.after(z)
					continue
				}
				z++
			}
			if z = min(z, end); z > a && !p.is(a+1, '=') && len(d.bases) < maxBases {
				d.bases = append(d.bases, p.collapse("", int(p.toks[a].start), int(p.toks[z-1].end)))
			}
			a = z + 1
		}
	}
	p.open(d, first, i, indent)
}

// constant reads an assignment to a name of capitals outside of functions.
func (p *pyFile) constant(i int) {
	name := p.text(i)
	if !capitals(name) || !(p.is(i+1, '=') && p.text(i+1) == "=" || p.is(i+1, ':') && p.text(i+1) == ":") {
		return
	}
	if n := len(p.scopes); n > 0 && !p.scopes[n-1].class {
		return
	}
	end := p.statementEnd(i)
	p.outline(decl{kind: Constant, name: name}, i, end-1, end-1)
}

// capitals reports whether a name is one that people give to constants.
func capitals(s string) bool {
	letters := 0
	for _, c := range []byte(s) {
		switch {
		case c >= 'A' && c <= 'Z':
			letters++
		case c != '_' && classes[c]&classDigit == 0:
			return false
		}
	}
	return letters > 0 && len(s) > 1
}

// dotted returns the dotted name that begins at i, and the token after it.
func (p *pyFile) dotted(i int) (string, int) {
	start := i
	for i < len(p.toks) && (p.is(i, '.') || p.isPyName(i) && (i == start || p.is(i-1, '.'))) {
		i++
	}
	if i == start {
		return "", i
	}
	return strings.Join(strings.Fields(p.src[p.toks[start].start:p.toks[i-1].end]), ""), i
}

func (p *pyFile) imported(i int) {
	end := p.statementEnd(i)
	for k := i + 1; k < end; k++ {
		path, next := p.dotted(k)
		if path == "" {
			return
		}
		imp := Import{Path: path, Symbol: len(p.decls), Offset: int(p.toks[i].start)}
		if p.text(next) == "as" {
			imp.Alias = p.text(next + 1)
			next += 2
		}
		p.imports = append(p.imports, imp)
		p.outline(decl{kind: ImportOf, name: path}, i, end-1, end-1)
		if k = next; !p.is(k, ',') {
			return
		}
	}
}

func (p *pyFile) from(i int) {
	path, k := p.dotted(i + 1)
	if path == "" || p.text(k) != "import" {
		return
	}
	end := p.statementEnd(i)
	symbol := len(p.decls)
	p.outline(decl{kind: ImportOf, name: path}, i, end-1, end-1)
	for k++; k < end; k++ {
		if !p.isPyName(k) && !p.is(k, '*') {
			continue
		}
		imp := Import{Path: path, Name: p.text(k), Symbol: symbol, Offset: int(p.toks[i].start)}
		if p.text(k+1) == "as" {
			imp.Alias = p.text(k + 2)
			k += 2
		}
		p.imports = append(p.imports, imp)
	}
}
