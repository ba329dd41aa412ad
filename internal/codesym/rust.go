package codesym

import (
	"slices"
	"strings"
)

// parseRust reads Rust source.
func parseRust(b *builder) {
	b.lexRust()
	r := &rustFile{builder: b}
	b.matchBrackets(func(i int) bool {
		switch b.text(i) {
		case "fn", "pub", "impl", "struct", "enum", "trait", "mod", "use", "const", "static", "type", "unsafe", "extern", "macro_rules", "let", "return":
			return true
		}
		return b.is(i, '#')
	})
	r.scopes = append(r.scopes, rustScope{end: len(b.toks)})
	for i := 0; i < len(b.toks); {
		if t := &b.toks[i]; t.c != '#' && (t.kind != tokenIdent || !rustItem.has(b.text(i)) && !b.is(i+1, '!')) {
			i++ // nothing begins so
			continue
		}
		for len(r.scopes) > 1 && r.scopes[len(r.scopes)-1].end <= i {
			r.scopes = r.scopes[:len(r.scopes)-1]
		}
		i = max(r.item(i), i+1)
	}
	r.callSites()
	r.implement()
}

// rustFile walks the tokens of a file once.
type rustFile struct {
	*builder
	scopes []rustScope
	// impls are the implementations of traits, in source order.
	impls []rustImpl
}

// rustImpl is a trait and the name of the type that the file implements it for.
type rustImpl struct{ typ, trait string }

type rustScope struct {
	end int
	// methods says that functions here are methods; owner is what qualifies their names, "" for the enclosing symbol.
	methods bool
	owner   string
	// body says that the scope is a function's.
	body bool
}

func (r *rustFile) top() *rustScope { return &r.scopes[len(r.scopes)-1] }

func (r *rustFile) name(i int) bool {
	return i < len(r.toks) && r.toks[i].kind == tokenIdent && !rustReserved.has(r.text(i))
}

func (r *rustFile) word(i int, w string) bool {
	return i >= 0 && i < len(r.toks) && r.toks[i].kind == tokenIdent && r.text(i) == w
}

// item reads what begins at i.
func (r *rustFile) item(i int) int {
	if r.toks[i].kind == tokenIdent && !rustItem.has(r.text(i)) {
		return r.macro(i)
	}
	first, test := i, false
	for r.is(i, '#') && r.is(i+1, '[') {
		test = test || r.word(i+2, "test") && r.is(i+3, ']')
		for k := i + 2; k < i+8 && !test && k < r.endOf(i+1); k++ {
			test = r.word(k, "test") && r.is(k+1, ']') // #[tokio::test]
		}
		i = r.after(i + 1)
	}
	if r.is(i, '#') && r.is(i+1, '!') && r.is(i+2, '[') {
		return r.after(i + 2)
	}
	head := i
	if r.word(i, "pub") {
		if i++; r.is(i, '(') {
			i = r.after(i)
		}
	}
	for r.word(i, "unsafe") || r.word(i, "async") || r.word(i, "default") || r.word(i, "extern") || r.word(i, "const") && !r.isConst(i) || r.word(i, "safe") || r.word(i, "auto") {
		i++
		if i < len(r.toks) && r.toks[i].kind == tokenString {
			i++ // the ABI
		}
	}
	if i >= len(r.toks) {
		return i
	}
	d := decl{sigStart: 0, test: test}
	d.docAt = int(r.toks[first].start)
	switch r.text(i) {
	case "fn":
		if r.name(i + 1) {
			return r.function(d, first, head, i)
		}
	case "struct", "union", "enum", "trait":
		if r.name(i+1) && r.bodied(i+2) {
			return r.typ(d, first, head, i)
		}
	case "type":
		if r.name(i + 1) {
			d.kind, d.name = Type, r.text(i+1)
			d.scope = r.top().owner
			return r.simple(d, first, head, i+1)
		}
	case "const", "static":
		n := i + 1
		if r.word(n, "mut") || r.word(n, "ref") {
			n++
		}
		if r.name(n) && r.is(n+1, ':') && r.text(n) != "_" {
			d.kind, d.name = Constant, r.text(n)
			d.scope = r.top().owner
			if r.top().body {
				return n // a local one is no symbol of the file
			}
			return r.simple(d, first, head, n)
		}
	case "mod":
		if r.name(i + 1) {
			d.kind, d.name = Module, r.text(i+1)
			if r.is(i+2, '{') {
				r.declare(d, first, head, i+1, r.after(i+2)-1, i+1)
				r.scopes = append(r.scopes, rustScope{end: r.endOf(i + 2)})
				return i + 3
			}
			return r.simple(d, first, head, i+1)
		}
	case "use":
		return r.use(first, head, i)
	case "crate":
	case "macro_rules":
		if n := i + 2; r.is(i+1, '!') && n+1 < len(r.toks) && r.toks[n].kind == tokenIdent && closerOf(r.toks[n+1].c) != 0 {
			d.kind, d.name = Function, r.text(n)
			r.declare(d, first, head, n, r.after(n+1)-1, n)
			return r.after(n + 1)
		}
	case "impl":
		return r.impl(i)
	}
	if i > head || head > first {
		return max(head, first+1) // words before something else
	}
	return r.macro(i)
}

// rustItem are the words that an item begins with.
var rustItem = set("pub unsafe async default extern const safe auto fn struct union enum trait type static mod use crate macro_rules impl")

// macro goes into the call of a macro at i. Its arguments in braces are often items; in other brackets they are expressions.
func (r *rustFile) macro(i int) int {
	if r.is(i+1, '!') && (r.is(i+2, '(') || r.is(i+2, '[')) && r.name(i) {
		r.scopes = append(r.scopes, rustScope{end: r.endOf(i + 2), body: true})
		return i + 3
	}
	return i + 1
}

// bodied reports whether what follows the name of a type may do so: in macros the words stand in other places too.
func (r *rustFile) bodied(i int) bool {
	return r.is(i, '{') || r.is(i, '(') || r.is(i, '<') || r.is(i, ';') || r.is(i, ':') || r.is(i, '=') || r.word(i, "where")
}

// isConst reports whether "const" at i begins a constant and is no word before "fn", "unsafe" or a block.
func (r *rustFile) isConst(i int) bool {
	return !(r.word(i+1, "fn") || r.word(i+1, "unsafe") || r.word(i+1, "async") || r.word(i+1, "extern") || r.is(i+1, '{'))
}

// declare adds a declaration; head is the first token behind the attributes, name the name's.
func (r *rustFile) declare(d decl, first, head, name, last, sig int) {
	r.toks[name].mark |= markName
	d.nameAt = int(r.toks[name].start)
	r.outline(d, first, last, sig)
	r.decls[len(r.decls)-1].sigStart = int(r.toks[head].start)
}

// simple adds a declaration that a semicolon ends.
func (r *rustFile) simple(d decl, first, head, name int) int {
	end := r.until(name+1, false)
	last := end
	if !r.is(end, ';') {
		last = end - 1
	}
	r.declare(d, first, head, name, last, max(end-1, name))
	return name + 1 // a value may hold calls and closures
}

// until returns the next semicolon, or brace where brace is set, outside of brackets, or the token before which none can follow.
func (r *rustFile) until(i int, brace bool) int {
	for from := i; i < len(r.toks); i++ {
		t := &r.toks[i]
		if t.kind != tokenPunct {
			if t.first && t.kind == tokenIdent && !r.isOpen(i-1) {
				switch r.text(i) {
				case "fn", "pub", "impl", "struct", "enum", "trait", "mod", "use", "static":
					return r.beforeAttributes(from, i) // the semicolon is missing
				}
			}
			continue
		}
		switch t.c {
		case ';', '}', ')', ']':
			return i
		case '{':
			if brace {
				return i
			}
			i = r.after(i) - 1
		case '(', '[':
			i = r.after(i) - 1
		}
	}
	return i
}

// beforeAttributes returns the first token of the attributes in front of the token i, which begin at from or later: they belong to what begins at i.
func (r *rustFile) beforeAttributes(from, i int) int {
	for r.is(i-1, ']') {
		open := int(r.toks[i-1].match)
		if open <= from || !r.is(open-1, '#') {
			break
		}
		i = open - 1
	}
	return i
}

// isOpen reports whether the token i is punctuation after which something must follow.
func (r *rustFile) isOpen(i int) bool {
	if i < 0 || r.toks[i].kind != tokenPunct {
		return false
	}
	switch r.toks[i].c {
	case ')', ']', '}', '>', ';':
		return false
	}
	return true
}

func (r *rustFile) function(d decl, first, head, i int) int {
	d.kind, d.name = Function, r.text(i+1)
	if s := r.top(); s.methods {
		d.kind, d.scope = Method, s.owner
	}
	end := r.until(i+2, true)
	if !r.is(end, '{') {
		last := end
		if !r.is(end, ';') {
			last = end - 1
		}
		r.declare(d, first, head, i+1, last, max(end-1, i+1))
		return max(end, i+2)
	}
	r.declare(d, first, head, i+1, r.after(end)-1, end-1)
	r.scopes = append(r.scopes, rustScope{end: r.endOf(end), body: true})
	return end + 1
}

func (r *rustFile) typ(d decl, first, head, i int) int {
	d.name = r.text(i + 1)
	switch r.text(i) {
	case "struct", "union":
		d.kind = Struct
	case "enum":
		d.kind = Enum
	default:
		d.kind = Trait
	}
	end := r.until(i+2, true)
	if !r.is(end, '{') { // a tuple, or nothing in it
		last := end
		if !r.is(end, ';') {
			last = end - 1
		}
		r.declare(d, first, head, i+1, last, max(end-1, i+1))
		return max(end, i+2)
	}
	if d.kind == Trait {
		for k := i + 2; k < end && len(d.bases) < maxBases; k++ {
			if (r.is(k-1, ':') || r.is(k-1, '+')) && r.name(k) && r.text(k-1) != "::" {
				last := k
				for r.text(last+1) == "::" && r.name(last+2) {
					last += 2
				}
				d.bases = append(d.bases, r.plainPath(k, last))
				k = last
			}
			if r.word(k, "where") {
				break
			}
			if r.is(k, '<') {
				k = r.skipAngles(k) - 1
			}
		}
	}
	r.declare(d, first, head, i+1, r.after(end)-1, end-1)
	switch d.kind {
	case Enum:
		r.variants(end)
		return r.after(end)
	case Trait:
		r.scopes = append(r.scopes, rustScope{end: r.endOf(end), methods: true})
		return end + 1
	}
	return r.after(end)
}

// variants reads the members of an enum.
func (r *rustFile) variants(open int) {
	end := r.endOf(open)
	for i := open + 1; i < end; i++ {
		first := i
		for r.is(i, '#') && r.is(i+1, '[') {
			i = r.after(i + 1)
		}
		name, last := i, i
		for i < end && !r.is(i, ',') {
			last = i
			if r.toks[i].kind == tokenPunct && closerOf(r.toks[i].c) != 0 {
				i = r.after(i)
				last = i - 1
				continue
			}
			i++
		}
		if name < end && r.name(name) {
			r.declare(decl{kind: Constant, name: r.text(name), docAt: int(r.toks[first].start)}, first, name, name, min(last, end-1), min(last, end-1))
		}
	}
}

// impl opens the scope of an implementation. Methods of a trait's implementation are qualified by both, as in "<T as Display>::fmt".
func (r *rustFile) impl(i int) int {
	open := r.until(i+1, true)
	if !r.is(open, '{') {
		return i + 1
	}
	n := i + 1
	if r.is(n, '<') {
		n = r.skipAngles(n)
	}
	split := -1
	stop := open
	for k := n; k < open; k++ {
		switch {
		case r.is(k, '<'):
			k = r.skipAngles(k) - 1
		case r.is(k, '(') || r.is(k, '['):
			k = r.after(k) - 1
		case r.word(k, "for") && !r.is(k+1, '<') && split < 0:
			split = k
		case r.word(k, "where"):
			stop, k = k, open
		}
	}
	owner := ""
	if split >= 0 {
		owner = "<" + r.path(split+1, stop) + " as " + r.path(n, split) + ">"
		if at := r.typeName(split+1, stop); at >= 0 {
			r.impls = append(r.impls, rustImpl{r.text(at), r.path(n, split)})
		}
	} else {
		// The type's arguments are left out: people write "Vec::new".
		end := n
		for end < stop && !r.is(end, '<') {
			end++
		}
		owner = r.path(n, max(end, min(n+1, stop)))
	}
	if parent := r.enclosing(); parent != "" {
		owner = parent + "::" + owner
	}
	r.scopes = append(r.scopes, rustScope{end: r.endOf(open), methods: true, owner: owner})
	return open + 1
}

// typeName returns the token that names the type between two tokens, -1 where it is none of a single name: the last part of a path, without type arguments.
func (r *rustFile) typeName(from, to int) int {
	at := -1
	for k := from; k < to; k++ {
		switch {
		case r.name(k):
			at = k
		case r.is(k, '<') && at >= 0:
			return at
		case r.text(k) == "::" || r.is(k, '&') || r.word(k, "crate") || r.word(k, "super") || r.word(k, "self") || strings.HasPrefix(r.text(k), "'"):
		default:
			return -1
		}
	}
	return at
}

// implement adds the traits of implementations to the types of the file whose name only one of them has.
func (r *rustFile) implement() {
	if len(r.impls) == 0 {
		return
	}
	types := map[string]int{}
	for i, d := range r.decls {
		if d.kind == Struct || d.kind == Enum {
			if _, again := types[d.name]; again {
				i = -1
			}
			types[d.name] = i
		}
	}
	for _, m := range r.impls {
		if i, ok := types[m.typ]; ok && i >= 0 && len(r.decls[i].bases) < maxBases && !slices.Contains(r.decls[i].bases, m.trait) {
			r.decls[i].bases = append(r.decls[i].bases, m.trait)
		}
	}
}

// enclosing returns the names of the modules and functions around the walk.
func (r *rustFile) enclosing() string {
	var names []string
	at := 0
	for k := len(r.decls) - 1; k >= 0 && k >= len(r.decls)-500; k-- {
		d := &r.decls[k]
		if (d.kind == Module || d.kind == Function || d.kind == Method) && at == 0 {
			at = int(r.toks[min(len(r.toks)-1, r.top().end)].start)
		}
		if d.kind == Module && d.end >= at && at > 0 {
			names = append([]string{d.name}, names...)
		}
	}
	return strings.Join(names, "::")
}

// path returns the text of a type without its type arguments' bounds, lifetimes in front and spaces.
func (r *rustFile) path(from, to int) string {
	if from >= to {
		return "_"
	}
	s := r.collapse("", int(r.toks[from].start), int(r.toks[to-1].end))
	s = strings.TrimPrefix(s, "!")
	switch {
	case s == "":
		return "_"
	case len(s) > 120:
		return s[:strings.LastIndexByte(s[:120], ' ')+1] + "…"
	}
	return s
}

func (r *rustFile) use(first, head, i int) int {
	end := r.until(i+1, false)
	if end <= i+1 {
		return i + 1
	}
	last := end
	if !r.is(end, ';') {
		last = end - 1
	}
	name := r.collapse("", int(r.toks[i+1].start), int(r.toks[end-1].end))
	if name == "" {
		return end // nothing but commas
	}
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	symbol := len(r.decls)
	r.declare(decl{kind: ImportOf, name: name}, first, head, i+1, last, max(end-1, i+1))
	r.leaves(i+1, end, symbol)
	return end
}

// leaves lists the names that a use declaration binds.
func (r *rustFile) leaves(from, to, symbol int) {
	type level struct{ prefix string }
	stack := []level{{}}
	path := ""
	offset := int(r.toks[from].start)
	emit := func(alias string) {
		if path != "" {
			parent, name, _ := cutLast(path, "::")
			r.imports = append(r.imports, Import{Path: parent, Name: name, Alias: alias, Symbol: symbol, Offset: offset})
		}
		path = stack[len(stack)-1].prefix
	}
	ended := false
	for k := from; k < to && len(r.imports) < 100_000; k++ {
		switch {
		case r.is(k, '{'):
			if len(path) > 500 || len(stack) > 50 {
				return
			}
			stack = append(stack, level{path})
			ended = false
		case r.is(k, '}'):
			if !ended && path != stack[len(stack)-1].prefix {
				emit("")
			}
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			path, ended = stack[len(stack)-1].prefix, true
		case r.is(k, ','):
			if !ended {
				emit("")
			}
			path, ended = stack[len(stack)-1].prefix, false
		case r.word(k, "as"):
			emit(r.text(k + 1))
			k++
			ended = true
		default:
			if len(path) < 500 {
				path += r.text(k)
			}
		}
	}
	if !ended {
		emit("")
	}
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// callSites records the calls of functions, methods and macros.
func (r *rustFile) callSites() {
	for i := 0; i+1 < len(r.toks); i++ {
		t := &r.toks[i]
		if t.c == '#' && (r.is(i+1, '[') || r.is(i+1, '!') && r.is(i+2, '[')) {
			for !r.is(i, '[') {
				i++
			}
			i = r.after(i) - 1 // attributes call nothing
			continue
		}
		if t.kind != tokenIdent || t.mark&markName != 0 {
			continue
		}
		n := i + 1
		if c := r.toks[n].c; c != '(' && c != '!' && c != ':' || rustReserved.has(r.text(i)) {
			continue
		}
		if r.is(n, '!') && n+1 < len(r.toks) && closerOf(r.toks[n+1].c) != 0 && r.toks[n].end == r.toks[n].start+1 {
			r.call("", r.text(i), int(t.start))
			continue
		}
		if r.text(n) == "::" && r.is(n+1, '<') {
			n = r.skipAngles(n + 1)
		}
		if r.is(n, '(') {
			r.call(r.receiverPath(i), r.text(i), int(t.start))
		}
	}
}

// receiverPath returns the chain of names in front of the token i, joined by dots or double colons.
func (b *builder) receiverPath(i int) string {
	k := i
	for k >= 2 && (b.is(k-1, '.') || b.text(k-1) == "::" || b.text(k-1) == "->") && b.toks[k-2].kind == tokenIdent && b.toks[i].start-b.toks[k-2].start < maxReceiver {
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
