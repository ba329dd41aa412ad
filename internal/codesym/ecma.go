package codesym

import "strings"

func parseJavaScript(b *builder) { (&ecmaFile{builder: b, from: -1}).parse(true) }
func parseTypeScript(b *builder) { (&ecmaFile{builder: b, typed: true, from: -1}).parse(false) }
func parseTSX(b *builder)        { (&ecmaFile{builder: b, typed: true, from: -1}).parse(true) }

// ecmaFile walks the tokens of a file once. Scopes say where declarations may stand.
type ecmaFile struct {
	*builder
	typed  bool
	scopes []ecmaScope
	// from is the first token of the decorators, "export" and other words in front of a declaration, -1 for none.
	from int
	// until is the token that they stand before.
	until int
	// objectOf is the name of the variable whose object opens at the token objectAt, where the variable is no symbol.
	objectOf string
	objectAt int
}

type ecmaScope struct {
	kind ecmaScopeKind
	end  int // the token that ends it
	// prefix stands before the names in it.
	prefix string
}

type ecmaScopeKind uint8

const (
	ecmaTop ecmaScopeKind = iota + 1 // file or namespace
	ecmaBody
	ecmaClass
	ecmaMembers // of an object
)

func (f *ecmaFile) parse(jsx bool) {
	f.lexEcma(jsx)
	f.matchBrackets(func(i int) bool {
		if f.toks[i].kind != tokenIdent {
			return false
		}
		switch f.text(i) {
		case "case", "default", "else", "catch", "finally":
			return false
		}
		return true
	})
	f.scopes = append(f.scopes, ecmaScope{kind: ecmaTop, end: len(f.toks)})
	for i := 0; i < len(f.toks); {
		top := &f.scopes[len(f.scopes)-1]
		if top.end <= i && len(f.scopes) > 1 {
			f.scopes = f.scopes[:len(f.scopes)-1]
			continue
		}
		next := 0
		switch top.kind {
		case ecmaClass:
			next = f.member(i)
		case ecmaMembers:
			next = f.property(i)
		default:
			if f.within(i) {
				i++
				continue
			}
			next = f.statement(i)
		}
		i = max(next, i+1)
	}
	f.callSites()
}

func (f *ecmaFile) top() ecmaScope { return f.scopes[len(f.scopes)-1] }

// enter opens a scope from the bracket at i and returns the token after the bracket.
func (f *ecmaFile) enter(kind ecmaScopeKind, i int) int {
	s := ecmaScope{kind: kind, end: f.endOf(i)}
	if kind == ecmaMembers && f.objectAt == i {
		s.prefix = f.objectOf + "."
	}
	f.scopes = append(f.scopes, s)
	return i + 1
}

// endOf returns the token that closes the bracket at i, or before which it ends.
func (b *builder) endOf(i int) int { return min(max(int(b.toks[i].match), i+1), len(b.toks)) }

func (f *ecmaFile) word(i int, word string) bool {
	return i < len(f.toks) && f.toks[i].kind == tokenIdent && f.text(i) == word
}

func (f *ecmaFile) op(i int, op string) bool {
	return i < len(f.toks) && f.toks[i].kind == tokenPunct && f.text(i) == op
}

func (f *ecmaFile) isEcmaName(i int) bool {
	return i < len(f.toks) && f.toks[i].kind == tokenIdent && !ecmaReserved.has(f.text(i))
}

// starts reports whether a statement begins at i.
func (f *ecmaFile) starts(i int) bool {
	if i == 0 {
		return true
	}
	p := &f.toks[i-1]
	if p.kind == tokenPunct {
		switch p.c {
		case ';', '{', '}':
			return true
		case ')', ']', '>': // '>' ends a type, or an element
			return f.toks[i].first
		}
		op := f.text(i - 1)
		return (p.c == ':' || op == "++" || op == "--" || op == "!") && f.toks[i].first // a label or a case, or an operator behind its operand
	}
	if p.kind == tokenIdent && !f.is(i-2, '.') {
		switch f.text(i - 1) {
		case "else", "do":
			return true
		case "return", "typeof", "new", "in", "of", "extends", "await", "yield", "throw", "case", "delete", "instanceof":
			return false
		case "void":
			return f.typed && f.toks[i].first // a type more often than an operator
		}
	}
	return f.toks[i].first
}

// declare adds a declaration that begins at first, is named by the token name, and whose last token and last token of the signature are given.
func (f *ecmaFile) declare(d decl, first, name, last, sig int) int {
	if d.name == "" && f.toks[name].kind == tokenIdent {
		switch f.text(name) {
		case "if", "for", "while", "switch", "function":
			return -1 // names that a member may have, and hardly ever has
		}
	}
	f.toks[name].mark |= markName
	d.nameAt = int(f.toks[name].start)
	if d.name == "" {
		d.name = f.nameText(name)
	}
	if d.name == "" {
		d.name = "_"
	}
	f.outline(d, first, last, sig)
	if head := f.pastDecorators(first); head > first && head <= name {
		f.decls[len(f.decls)-1].sigStart = int(f.toks[head].start)
	}
	return len(f.decls) - 1
}

// nameText returns a name without quotes.
func (f *ecmaFile) nameText(i int) string {
	if f.toks[i].kind == tokenString {
		return strings.Trim(f.text(i), "\"'`")
	}
	return f.text(i)
}

// statement reads what begins at i where statements stand, and returns the token after what it read. It looks for declarations and steps into everything else.
func (f *ecmaFile) statement(i int) int {
	t := &f.toks[i]
	if t.c == '@' && t.kind == tokenPunct {
		return f.decorators(i)
	}
	if t.mark&markObject != 0 {
		return f.enter(ecmaMembers, i)
	}
	if t.kind != tokenIdent {
		switch t.c {
		case '{':
			return f.enter(ecmaBody, i)
		case ',':
			if t.mark&(markVariable|markConstant) != 0 {
				return f.variable(i+1, i+1, t.mark&markConstant != 0, false)
			}
		}
		return i + 1
	}
	first := i
	if f.from >= 0 && f.until == i {
		first = f.from
	}
	if first == i && !f.starts(i) {
		if f.word(i, "class") && !f.is(i-1, '.') {
			return f.classValue(i)
		}
		return i + 1
	}
	switch f.text(i) {
	case "import":
		return f.imported(i)
	case "export":
		return f.exported(first, i)
	}
	return f.declaration(first, i, "")
}

// within reports whether nothing begins at i that statement would read: most of what stands in expressions is passed over so.
func (f *ecmaFile) within(i int) bool {
	t := &f.toks[i]
	if t.kind != tokenIdent {
		return t.mark == 0 && t.c != '@' && t.c != '{'
	}
	if t.first || i == 0 || f.until == i {
		return false
	}
	p := &f.toks[i-1]
	return p.kind != tokenIdent && p.c != ';' && p.c != '{' && p.c != '}' && !f.word(i, "class")
}

// decorators steps over decorators, and remembers where they began for what they stand before.
func (f *ecmaFile) decorators(i int) int {
	f.from = i
	f.until = f.pastDecorators(i)
	return f.until
}

func (f *ecmaFile) pastDecorators(i int) int {
	for f.is(i, '@') {
		i++
		if f.is(i, '(') {
			i = f.after(i)
			continue
		}
		for i < len(f.toks) && f.toks[i].kind == tokenIdent {
			i++
			if !f.is(i, '.') {
				break
			}
			i++
		}
		if f.is(i, '(') {
			i = f.after(i)
		}
	}
	return i
}

// declaration reads a declaration at i whose span begins at first. fallback names what has no name of its own.
func (f *ecmaFile) declaration(first, i int, fallback string) int {
	k := i
	for f.word(k, "declare") || f.word(k, "abstract") || f.word(k, "async") || f.word(k, "const") && f.word(k+1, "enum") || f.word(k, "static") {
		if k+1 >= len(f.toks) || f.toks[k+1].kind != tokenIdent || f.toks[k+1].first {
			break
		}
		k++
	}
	if k >= len(f.toks) {
		return k
	}
	switch f.text(k) {
	case "function":
		return f.function(first, k, fallback)
	case "class":
		return f.class(first, k, fallback)
	case "interface":
		if f.isEcmaName(k + 1) {
			return f.iface(first, k)
		}
	case "enum":
		if f.isEcmaName(k+1) && f.is(k+2, '{') {
			return f.enum(first, k)
		}
	case "type":
		if f.isEcmaName(k+1) && !f.toks[k+1].first && (f.op(k+2, "=") || f.is(k+2, '<')) {
			end := f.skipTypeAlias(k + 2)
			f.declare(decl{kind: Type}, first, k+1, end-1, end-1)
			return f.ended(end)
		}
	case "namespace", "module", "global":
		return f.namespace(first, k)
	case "const", "let", "var":
		return f.variables(first, k)
	}
	return f.assigned(first, i)
}

// ended steps over a semicolon.
func (f *ecmaFile) ended(i int) int {
	if f.is(i, ';') {
		return i + 1
	}
	return i
}

func (f *ecmaFile) function(first, k int, fallback string) int {
	name := k + 1
	if f.is(name, '*') {
		name++
	}
	d := decl{kind: Function}
	n := name + 1
	if !f.isEcmaName(name) {
		if fallback == "" {
			return k + 1
		}
		d.name, n, name = fallback, name, k
	}
	return f.callable(d, first, name, n)
}

// callable adds a function whose parameters or type parameters begin at n, and enters its body.
func (f *ecmaFile) callable(d decl, first, name, n int) int {
	if f.is(n, '<') {
		n = f.skipAngles(n)
	}
	if !f.is(n, '(') {
		return name + 1
	}
	params := n
	n = f.after(n)
	if f.is(n, ':') {
		n = f.skipType(n + 1)
	}
	if f.is(n, '{') && f.closed(params) {
		f.declare(d, first, name, f.after(n)-1, n-1)
		// Defaults of parameters may hold functions, which are left out; their calls are found all the same.
		return f.enter(ecmaBody, n)
	}
	last := max(n-1, name)
	if f.is(n, ';') {
		last = n
	}
	f.declare(d, first, name, last, max(n-1, name))
	return max(f.ended(n), name+1)
}

func (f *ecmaFile) class(first, k int, fallback string) int {
	d := decl{kind: Class}
	name, n := k+1, k+2
	if !f.isEcmaName(name) || f.word(name, "implements") {
		if fallback == "" && !(f.is(name, '{') || f.word(name, "extends")) {
			return k + 1
		}
		if d.name = fallback; fallback == "" {
			d.name = "_"
		}
		name, n = k, k+1
	}
	open := f.heritage(&d, n)
	if !f.is(open, '{') {
		return k + 1
	}
	f.declare(d, first, name, f.after(open)-1, open-1)
	return f.enter(ecmaClass, open)
}

// classValue enters a class that is part of an expression. It is a symbol where it has a name.
func (f *ecmaFile) classValue(i int) int {
	d := decl{kind: Class}
	n, named := i+1, f.isEcmaName(i+1) && !f.word(i+1, "implements")
	if named {
		n++
	}
	open := f.heritage(&d, n)
	if !f.is(open, '{') || open > n && !f.word(n, "extends") && !f.word(n, "implements") && !f.is(n, '<') {
		return i + 1
	}
	if named {
		f.declare(d, i, i+1, f.after(open)-1, open-1)
	}
	return f.enter(ecmaClass, open)
}

// heritage reads type parameters, "extends" and "implements" from n up to the brace of the body.
func (f *ecmaFile) heritage(d *decl, n int) int {
	if f.is(n, '<') {
		n = f.skipAngles(n)
	}
	for n < len(f.toks) && (f.word(n, "extends") || f.word(n, "implements")) {
		n++
		for n < len(f.toks) {
			start := n
			for n < len(f.toks) && !f.is(n, '{') && !f.is(n, ',') && !f.is(n, ';') && !f.word(n, "implements") && !f.word(n, "extends") {
				switch {
				case f.is(n, '<'):
					n = f.skipAngles(n)
				case f.is(n, '(') || f.is(n, '['):
					n = f.after(n)
				default:
					n++
				}
			}
			if n == start && f.is(n, '{') { // an object where a class is expected
				n = f.after(n)
				break
			}
			if n > start && len(d.bases) < maxBases {
				d.bases = append(d.bases, f.collapse("", int(f.toks[start].start), int(f.toks[n-1].end)))
			}
			if !f.is(n, ',') {
				break
			}
			n++
		}
	}
	return n
}

func (f *ecmaFile) iface(first, k int) int {
	d := decl{kind: Interface}
	open := f.heritage(&d, k+2)
	if !f.is(open, '{') {
		return k + 1
	}
	f.declare(d, first, k+1, f.after(open)-1, open-1)
	f.signatures(open)
	return f.after(open)
}

// signatures reads the methods of an interface.
func (f *ecmaFile) signatures(open int) {
	end := f.endOf(open)
	for i := open + 1; i < end; {
		if f.is(i, ';') || f.is(i, ',') {
			i++
			continue
		}
		first := i
		for (f.word(i, "readonly") || f.word(i, "get") || f.word(i, "set")) && i+1 < end && f.namesMember(i+1) {
			i++
		}
		name, n := i, i+1
		text := ""
		if f.is(i, '[') {
			n = f.after(i)
			text = f.collapse("", int(f.toks[i].start), int(f.toks[n-1].end))
		}
		if f.op(n, "?") {
			n++
		}
		generic := n
		if f.is(n, '<') {
			n = f.skipAngles(n)
		}
		if f.is(n, '(') && (f.toks[name].kind != tokenPunct || text != "") && !(f.word(name, "new") && generic == name+1) {
			n = f.after(n)
			if f.is(n, ':') {
				n = f.skipType(n + 1)
			}
			n = min(max(n, name+1), end)
			last := n - 1
			if f.is(n, ';') || f.is(n, ',') {
				last = n
			}
			f.declare(decl{kind: Method, name: text}, first, name, last, n-1)
			i = n
			continue
		}
		i = f.skipMember(max(n, i+1), end)
	}
}

// namesMember reports whether the token may be the name of a member, so that a word before it is a modifier.
func (f *ecmaFile) namesMember(i int) bool {
	if i >= len(f.toks) {
		return false
	}
	t := &f.toks[i]
	return t.kind == tokenIdent || t.kind == tokenString || t.kind == tokenNumber || t.c == '[' || t.c == '*' || t.c == '{'
}

// skipMember returns the token after the member of a class or an interface that goes on at i: after a semicolon or comma, or where a line begins that continues nothing.
func (f *ecmaFile) skipMember(i, end int) int {
	for ; i < end; i++ {
		t := &f.toks[i]
		if t.kind == tokenPunct && (t.c == ';' || t.c == ',') {
			return i + 1
		}
		if t.first && (f.lineEnds(i) || t.kind == tokenIdent && (f.is(i+1, '(') || f.is(i+1, ':')) && !f.word(i, "in") && !f.word(i, "instanceof")) {
			return i // of(): T is a member too
		}
		if t.kind == tokenPunct && closerOf(t.c) != 0 {
			i = f.after(i) - 1
		}
	}
	return end
}

// lineEnds reports whether the line break before i ends a statement.
func (f *ecmaFile) lineEnds(i int) bool {
	if i == 0 {
		return true
	}
	t, p := &f.toks[i], &f.toks[i-1]
	if t.kind == tokenPunct {
		switch t.c {
		case '@', '#', '}', '{', '*', '!', '~':
		case '[':
			// In a class an index follows more often than a value.
		default:
			if s := f.text(i); s != "++" && s != "--" {
				return false
			}
		}
	}
	if t.kind == tokenIdent {
		switch f.text(i) {
		case "in", "instanceof", "of", "as", "satisfies", "extends", "is":
			return false
		}
	}
	if p.kind == tokenPunct {
		switch p.c {
		case ')', ']', '}', ';', '>', 0:
			return true
		}
		s := f.text(i - 1)
		return s == "++" || s == "--" || s == "!" || s == "?"
	}
	if p.kind == tokenIdent {
		switch f.text(i - 1) {
		case "typeof", "new", "in", "of", "extends", "instanceof", "await", "as", "keyof", "delete", "case":
			return f.is(i-2, '.')
		case "void":
			return f.typed || f.is(i-2, '.')
		}
	}
	return true
}

func (f *ecmaFile) enum(first, k int) int {
	open := k + 2
	f.declare(decl{kind: Enum}, first, k+1, f.after(open)-1, open-1)
	end := f.endOf(open)
	for i := open + 1; i < end; {
		name := i
		for i < end && !f.is(i, ',') {
			if f.toks[i].kind == tokenPunct && closerOf(f.toks[i].c) != 0 {
				i = f.after(i)
				continue
			}
			i++
		}
		i = min(i, end)
		if kind := f.toks[name].kind; i > name && (kind == tokenIdent || kind == tokenString) {
			f.declare(decl{kind: Constant}, name, name, i-1, i-1)
		}
		i++
	}
	return f.after(open)
}

func (f *ecmaFile) namespace(first, k int) int {
	name := k + 1
	if f.word(k, "global") {
		name = k
	}
	if name >= len(f.toks) || f.toks[name].kind != tokenString && !f.isEcmaName(name) || f.toks[name].first && name != k {
		return f.assigned(first, k)
	}
	last := name
	for f.is(last+1, '.') && f.isEcmaName(last+2) {
		last += 2
	}
	if !f.is(last+1, '{') {
		if f.toks[name].kind == tokenString && first < k { // declare module 'x';
			f.declare(decl{kind: Module}, first, name, name, name)
			return name + 1
		}
		return f.assigned(first, k)
	}
	d := decl{kind: Module}
	if last > name {
		d.name = f.collapse("", int(f.toks[name].start), int(f.toks[last].end))
	}
	f.declare(d, first, name, f.after(last+1)-1, last)
	return f.enter(ecmaTop, last+1)
}
