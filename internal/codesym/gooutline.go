package codesym

import "strings"

// outlineGo reads declarations at the left margin of Go source that has syntax errors.
func (b *builder) outlineGo() {
	b.matchBrackets(func(i int) bool {
		switch b.text(i) {
		case "func", "type", "var", "const", "import", "package":
			return b.toks[i].start == b.lines[b.line(int(b.toks[i].start))-1]
		}
		return false
	})
	for i := 0; i < len(b.toks); {
		t := &b.toks[i]
		next := i + 1
		if t.kind == tokenIdent && t.first {
			switch b.text(i) {
			case "package":
				if b.isName(i + 1) {
					b.outline(decl{kind: Module, name: b.text(i + 1)}, i, i+1, i+1)
				}
			case "func":
				next = b.outlineGoFunc(i)
			case "import", "const", "type", "var":
				next = b.outlineGoGroup(i)
			}
		} else if t.kind == tokenPunct && closerOf(t.c) != 0 {
			next = b.after(i)
		}
		i = max(next, i+1)
	}
}

// isName reports whether the token is an identifier that something may be declared as.
func (b *builder) isName(i int) bool {
	return i < len(b.toks) && b.toks[i].kind == tokenIdent && !goReserved.has(b.text(i)) && b.text(i) != "_"
}

// outline adds a declaration from its tokens: first and last, and the last one of the signature.
func (b *builder) outline(d decl, first, last, sig int) {
	last, sig = max(min(last, len(b.toks)-1), first), max(min(sig, len(b.toks)-1), first)
	d.start, d.end = int(b.toks[first].start), int(b.toks[last].end)
	d.sigStart, d.sigEnd = d.start, int(b.toks[sig].end)
	b.add(d)
}

func (b *builder) is(i int, c byte) bool {
	return i >= 0 && i < len(b.toks) && b.toks[i].kind == tokenPunct && b.toks[i].c == c
}

func (b *builder) outlineGoFunc(i int) int {
	d := decl{kind: Function}
	n := i + 1
	if b.is(n, '(') {
		d.kind, d.scope = Method, "_"
		end := min(b.after(n)-1, len(b.toks))
		for k := n + 1; k < end; k++ {
			if b.is(k, '[') {
				break
			}
			if b.isName(k) {
				d.scope = b.text(k)
			}
		}
		n = b.after(n)
	}
	if !b.isName(n) {
		return i + 1
	}
	d.name = b.text(n)
	d.test = d.kind == Function && goTest(d.name)
	sig, last, next := b.goLine(n + 1)
	b.outline(d, i, last, sig)
	b.callsIn(n+1, next, goReserved)
	return next
}

// goLine walks to the end of a declaration. It returns the last token before its body, its last token, and the token after it.
func (b *builder) goLine(i int) (sig, last, next int) {
	for ; i < len(b.toks); i++ {
		t := &b.toks[i]
		if t.kind == tokenNewline || t.c == ';' {
			return i - 1, i - 1, i + 1
		}
		if t.kind != tokenPunct || closerOf(t.c) == 0 {
			continue
		}
		after := b.after(i)
		if !b.closed(i) {
			return i - 1, after - 1, after
		}
		if t.c == '{' {
			if prev := b.text(i - 1); prev != "interface" && prev != "struct" {
				return i - 1, after - 1, after
			}
		}
		i = after - 1
	}
	return len(b.toks) - 1, len(b.toks) - 1, len(b.toks)
}

func (b *builder) outlineGoGroup(i int) int {
	keyword := b.text(i)
	if !b.is(i+1, '(') {
		_, last, next := b.goSpec(keyword, i, i+1)
		b.callsIn(i+1, last+1, goReserved)
		return next
	}
	end := min(b.after(i+1), len(b.toks))
	for n := i + 2; n < end; {
		if b.toks[n].kind == tokenNewline || b.toks[n].c == ')' {
			n++
			continue
		}
		_, _, n = b.goSpec(keyword, n, n)
	}
	b.callsIn(i+1, end, goReserved)
	return end
}

// goSpec reads one declaration of a group. first is the first token of its span and n the one after the keyword.
func (b *builder) goSpec(keyword string, first, n int) (sig, last, next int) {
	sig, last, next = b.goLine(n)
	if keyword != "type" {
		// A value may hold bodies: go on to the end of the line.
		for next < len(b.toks) && last >= 0 && b.toks[next-1].kind != tokenNewline && b.toks[next-1].c != ';' {
			_, last, next = b.goLine(next)
		}
		sig = last
	}
	prefix := ""
	if first == n {
		prefix = keyword + " "
	}
	switch keyword {
	case "import":
		for k := n; k <= last && k < n+2; k++ {
			if path := strings.Trim(b.text(k), "\"`"); b.toks[k].kind == tokenString && path != "" {
				imp := Import{Path: path, Symbol: len(b.decls), Offset: int(b.toks[n].start)}
				if k > n {
					imp.Alias = b.text(n)
				}
				b.imports = append(b.imports, imp)
				b.outline(decl{kind: ImportOf, name: path, prefix: prefix}, first, last, last)
			}
		}
	case "const":
		for k := n; k <= last && b.toks[k].kind == tokenIdent; k += 2 {
			if b.isName(k) {
				b.outline(decl{kind: Constant, name: b.text(k), prefix: prefix}, first, last, last)
			}
			if !b.is(k+1, ',') {
				break
			}
		}
	case "type":
		if !b.isName(n) {
			break
		}
		d := decl{kind: Type, name: b.text(n), prefix: prefix}
		k := n + 1
		if b.goTypeParams(k) {
			k = b.after(k)
		}
		if b.is(k, '=') {
			k++
		}
		sig = last
		switch {
		case !b.is(k+1, '{'):
		case b.text(k) == "struct":
			d.kind, sig = Struct, k
		case b.text(k) == "interface":
			d.kind, sig = Interface, k
		}
		b.outline(d, first, last, sig)
		if d.kind == Interface {
			b.outlineGoMethods(k+1, last)
		}
		return sig, last, max(next, n+1)
	}
	return sig, last, max(next, n+1)
}

// goTypeParams reports whether a bracket after a type's name opens type parameters and no array's length.
func (b *builder) goTypeParams(i int) bool {
	if !b.is(i, '[') || !b.isName(i+1) || i+2 >= len(b.toks) {
		return false
	}
	t := &b.toks[i+2]
	return t.kind == tokenIdent || t.c == ',' || t.c == '~' || t.c == '[' || t.c == '*' && t.start > b.toks[i+1].end
}

// outlineGoMethods reads the methods of an interface between two brackets.
func (b *builder) outlineGoMethods(open, end int) {
	for i := open + 1; i < end; {
		if b.toks[i].kind == tokenNewline || b.toks[i].c == ';' {
			i++
			continue
		}
		_, last, next := b.goLine(i)
		if b.isName(i) && b.is(i+1, '(') {
			b.outline(decl{kind: Method, name: b.text(i)}, i, min(last, end-1), min(last, end-1))
		}
		i = max(next, i+1)
	}
}

// declares are the words in front of a name that is declared rather than called.
var declares = set("func fn function def class interface struct enum record union trait mod macro_rules")

// callsIn records what looks like a call in a range of tokens: a name that is not reserved, in front of a bracket.
func (b *builder) callsIn(from, to int, reserved *words) {
	for i := from; i+1 < min(to, len(b.toks)); i++ {
		if b.toks[i].kind == tokenIdent && b.is(i+1, '(') && !reserved.has(b.text(i)) && !declares.has(b.text(i-1)) {
			b.call(b.receiverBefore(i), b.text(i), int(b.toks[i].start))
		}
	}
}

// receiverBefore returns the chain of names and dots in front of the token i.
func (b *builder) receiverBefore(i int) string {
	k := i
	for k >= 2 && b.is(k-1, '.') && b.toks[k-1].end == b.toks[k-1].start+1 && b.toks[k-2].kind == tokenIdent && b.toks[k].start-b.toks[k-2].start < maxReceiver {
		k -= 2
	}
	if k == i {
		return ""
	}
	if s := b.src[b.toks[k].start:b.toks[i-1].start]; len(s) <= maxReceiver && !strings.Contains(s, "\n") {
		return s
	}
	return ""
}
