package codesym

import "strings"

// skipType returns the token after the type that begins at i.
func (f *ecmaFile) skipType(i int) int {
	for i < len(f.toks) {
		t := &f.toks[i]
		// An operand.
		switch {
		case t.kind == tokenIdent:
			switch f.text(i) {
			case "typeof", "keyof", "readonly", "unique", "infer", "asserts", "new", "abstract":
				if i+1 < len(f.toks) && !f.ends(i+1) {
					i++
					continue
				}
			}
			i++
		case t.kind == tokenString || t.kind == tokenNumber:
			i++
		case t.c == '{' && t.end > t.start+1: // a value in a template
			i = f.after(i)
			continue
		case t.c == '(' || t.c == '[' || t.c == '{':
			i = f.after(i)
		case t.c == '<':
			i = f.skipAngles(i)
			continue
		case t.c == '|' || t.c == '&' || t.c == '-' || t.c == '+' || f.op(i, "..."):
			i++
			continue
		default:
			return i
		}
		// What may follow an operand.
		for more := true; more; {
			switch {
			case f.is(i, '<'):
				i = f.skipAngles(i)
			case f.is(i, '[') && !f.toks[i].first:
				i = f.after(i)
			case f.is(i, '{') && f.toks[i].end > f.toks[i].start+1:
				i = f.after(i)
				if i < len(f.toks) && f.toks[i].kind == tokenString {
					i++
				}
			case f.op(i, "!"):
				i++
			default:
				more = false
			}
		}
		switch {
		case f.op(i, ".") || f.op(i, "|") || f.op(i, "&") || f.op(i, "=>"):
			i++
		case (f.word(i, "is") || f.word(i, "extends")) && !f.toks[i].first:
			i++
		case f.word(i, "extends"):
			i++
		case f.op(i, "?") && i+1 < len(f.toks) && !f.ends(i+1):
			i++
		case f.is(i, ':') && f.conditional(i):
			i++
		default:
			return i
		}
	}
	return i
}

// ends reports whether the token can begin no type.
func (f *ecmaFile) ends(i int) bool {
	t := &f.toks[i]
	if t.kind != tokenPunct {
		return false
	}
	switch t.c {
	case '{', '(', '[', '<', '|', '&', '`':
		return false
	}
	return true
}

// conditional reports whether a colon at i belongs to a conditional type: a question mark precedes it in the same type.
func (f *ecmaFile) conditional(i int) bool {
	depth := 0
	for k := i - 1; k >= 0 && k > i-300; k-- {
		t := &f.toks[k]
		if t.kind != tokenPunct {
			continue
		}
		switch t.c {
		case ')', ']', '}':
			if t.match < 0 {
				return false
			}
			k = int(t.match)
		case '(', '[', '{', ';':
			return false
		case ':':
			depth++
		case '?':
			if depth == 0 {
				return t.end == t.start+1
			}
			depth--
		}
	}
	return false
}

// skipTypeAlias returns the token after a type alias that goes on at i.
func (f *ecmaFile) skipTypeAlias(i int) int {
	if f.is(i, '<') {
		i = f.skipAngles(i)
	}
	if f.op(i, "=") {
		i = f.skipType(i + 1)
	}
	return i
}

// skipValue returns the token after the expression that begins at i: a comma, a semicolon, a closing bracket or the next statement.
func (f *ecmaFile) skipValue(i int) int {
	for start := i; i < len(f.toks); i++ {
		t := &f.toks[i]
		if t.kind == tokenPunct {
			switch t.c {
			case ',', ';', ')', ']', '}':
				return i
			}
		}
		if t.first && i > start && f.lineEnds(i) && !f.is(i, '{') && !f.op(i-1, "?") {
			return i
		}
		switch {
		case t.kind != tokenPunct:
		case closerOf(t.c) != 0:
			i = f.after(i) - 1
		case t.c == '<' && f.typed:
			// Type arguments hold commas that end nothing.
			if n := f.skipAngles(i); n > i+1 && f.behindArguments(n) {
				i = n - 1
			}
		}
	}
	return i
}

// behindArguments reports whether the token at i can follow type arguments and not the right side of a comparison.
func (f *ecmaFile) behindArguments(i int) bool {
	if i >= len(f.toks) || f.toks[i].first || f.toks[i].kind == tokenString {
		return true
	}
	switch t := &f.toks[i]; t.c {
	case '(', ')', ']', '}', ';', ',', ':', '.', '|', '&', '?':
		return true
	case '=':
		return f.op(i, "=>")
	}
	return false
}

// value says what kind of function or class begins at i. n is where its parameters are, body its first token after the head; kind is "" for another value.
func (f *ecmaFile) value(i int) (kind Kind, n int) {
	k := i
	if f.word(k, "async") && k+1 < len(f.toks) && !f.toks[k+1].first {
		k++
	}
	switch {
	case f.word(k, "function"):
		if k++; f.is(k, '*') {
			k++
		}
		if f.isEcmaName(k) {
			f.toks[k].mark |= markName
			k++
		}
		return Function, k
	case f.word(k, "class"):
		return Class, k
	case f.isEcmaName(k) && f.op(k+1, "=>"):
		return Function, k
	case f.is(k, '<'):
		if n := f.skipAngles(k); f.is(n, '(') && f.arrow(n) >= 0 {
			return Function, k
		}
	case f.is(k, '('):
		if f.arrow(k) >= 0 {
			return Function, k
		}
	}
	return "", i
}

// arrow returns the "=>" of the arrow function whose parameters open at i, or -1.
func (f *ecmaFile) arrow(i int) int {
	n := f.after(i)
	if f.is(n, ':') && f.typed {
		// The type may end in an arrow of its own, which skipType takes along.
		n = f.skipReturn(n + 1)
	}
	if f.op(n, "=>") {
		return n
	}
	return -1
}

// skipReturn is skipType for the type in front of an arrow: the last arrow is not the type's.
func (f *ecmaFile) skipReturn(i int) int {
	end := f.skipType(i)
	for k := i; k < end; k++ {
		if f.op(k, "=>") {
			// A function type in front of an arrow stands in brackets, which are one step here.
			return k
		}
		if f.toks[k].kind == tokenPunct && closerOf(f.toks[k].c) != 0 {
			k = f.after(k) - 1
		} else if f.is(k, '<') {
			k = f.skipAngles(k) - 1
		}
	}
	return end
}

// define adds a declaration whose value is a function or class that begins at i, and enters its body. It returns false where the value is another one.
func (f *ecmaFile) define(d decl, first, name, i int, statement bool) (int, bool) {
	kind, n := f.value(i)
	switch kind {
	case Class:
		d.kind = Class
		k := n + 1
		if f.isEcmaName(k) && !f.word(k, "extends") && !f.word(k, "implements") {
			k++
		}
		open := f.heritage(&d, k)
		if !f.is(open, '{') {
			return 0, false
		}
		f.declare(d, first, name, f.stop(f.after(open), statement)-1, open-1)
		return f.enter(ecmaClass, open), true
	case Function:
		if d.kind != Method {
			d.kind = Function
		}
		if f.is(n, '<') {
			n = f.skipAngles(n)
		}
		arrow := -1
		body := n + 1
		if f.is(n, '(') {
			if arrow = f.arrow(n); arrow < 0 {
				body = f.after(n)
				if f.is(body, ':') {
					body = f.skipType(body + 1)
				}
			}
		} else if f.op(n+1, "=>") {
			arrow = n + 1
		}
		if arrow >= 0 {
			body = arrow + 1
		}
		if f.is(body, '{') {
			f.declare(d, first, name, f.stop(f.after(body), statement)-1, body-1)
			return f.enter(ecmaBody, body), true
		}
		if arrow < 0 {
			return 0, false
		}
		end := f.skipValue(body)
		f.declare(d, first, name, f.stop(end, statement)-1, arrow)
		f.scopes = append(f.scopes, ecmaScope{kind: ecmaBody, end: max(end, body)})
		return body, true
	}
	return 0, false
}

// stop takes the semicolon after a statement along.
func (f *ecmaFile) stop(i int, statement bool) int {
	if statement && f.is(i, ';') {
		return i + 1
	}
	return i
}

// variables reads const, let and var.
func (f *ecmaFile) variables(first, k int) int {
	if n := k + 1; f.is(n, '{') || f.is(n, '[') {
		end := f.after(n)
		if f.op(end, "=") && f.top().kind == ecmaTop && f.required(first, n, end+1) {
			return f.ended(f.skipValue(end + 1))
		}
		return n + 1 // names of parts are no symbols; what they hold is looked through
	}
	return f.variable(first, k+1, f.word(k, "const"), true)
}

// variable reads one of the variables of a declaration, whose name is the token name. Where another one follows, the comma between them is remembered: the walk goes
// on with it after it has looked through the value.
func (f *ecmaFile) variable(first, name int, constant, single bool) int {
	if !f.isEcmaName(name) {
		return name
	}
	top := f.top().kind == ecmaTop
	n := name + 1
	if f.op(n, "!") {
		n++
	}
	if f.is(n, ':') {
		n = f.skipType(n + 1)
	}
	if !f.op(n, "=") {
		if f.is(n, ',') {
			f.continueAt(n, constant)
			return n
		}
		if constant && top && f.typed { // declare const x: T
			end := f.stop(n, single)
			f.declare(decl{kind: Constant}, first, name, end-1, end-1)
		}
		return f.ended(n)
	}
	end := f.skipValue(n + 1)
	if f.is(end, ',') {
		f.continueAt(end, constant)
		if single { // the declaration is the statement only where it is the only one
			first, single = name, false
		}
	}
	if next, ok := f.define(decl{}, first, name, n+1, single); ok {
		return next
	}
	if top && f.required(first, name, n+1) {
		return f.ended(end)
	}
	if top && constant {
		f.declare(decl{kind: Constant}, first, name, max(f.stop(end, single)-1, name), max(end-1, name))
	} else if f.is(n+1, '{') {
		f.objectOf, f.objectAt = f.text(name), n+1
	}
	return n + 1
}

// continueAt remembers a comma between two variables.
func (f *ecmaFile) continueAt(comma int, constant bool) {
	f.toks[comma].mark = markVariable
	if constant {
		f.toks[comma].mark = markConstant
	}
}

// required reads "const x = require('m')" and "const x = require('m').y" as imports. Where the value is what a call makes of the module, the module alone is imported,
// and required returns false.
func (f *ecmaFile) required(first, name, i int) bool {
	if !f.word(i, "require") || !f.is(i+1, '(') || i+3 >= len(f.toks) || f.toks[i+2].kind != tokenString || f.after(i+1) != i+4 {
		return false
	}
	path := f.nameText(i + 2)
	if path == "" {
		return false
	}
	value := f.skipValue(i)
	n, member := i+4, ""
	for ; f.is(n, '.') && n+1 < value && f.toks[n+1].kind == tokenIdent; n += 2 {
		if member == "" {
			member = f.text(n + 1)
		}
	}
	if n < value {
		f.imports = append(f.imports, Import{Path: path, Symbol: len(f.decls), Offset: int(f.toks[i].start)})
		f.outline(decl{kind: ImportOf, name: path}, i, i+3, i+3)
		return false
	}
	end := f.stop(value, true)
	imp := Import{Path: path, Symbol: len(f.decls), Offset: int(f.toks[first].start)}
	if f.is(name, '{') {
		for k := name + 1; k < f.endOf(name); k++ {
			if f.isEcmaName(k) {
				imp.Name, imp.Alias = f.text(k), ""
				if f.is(k+1, ':') && f.isEcmaName(k+2) {
					imp.Alias = f.text(k + 2)
					k += 2
				}
				f.imports = append(f.imports, imp)
			}
		}
	} else {
		imp.Name, imp.Alias = member, f.text(name)
		if imp.Alias == imp.Name {
			imp.Alias = ""
		}
		f.imports = append(f.imports, imp)
	}
	f.outline(decl{kind: ImportOf, name: path}, first, end-1, end-1)
	return true
}

// assigned reads "x.y = function …" and "x.prototype.y = …" at the start of a statement.
func (f *ecmaFile) assigned(first, i int) int {
	if f.toks[i].kind != tokenIdent {
		return i + 1
	}
	n := i
	for f.is(n+1, '.') && n+2 < len(f.toks) && f.toks[n+2].kind == tokenIdent && n < i+16 {
		n += 2
	}
	if n == i || !f.op(n+1, "=") {
		return i + 1
	}
	d := decl{kind: Function}
	parts := strings.Split(strings.Join(strings.Fields(f.src[f.toks[i].start:f.toks[n].end]), ""), ".")
	scope := parts[:len(parts)-1]
	for len(scope) > 0 && (scope[0] == "exports" || scope[0] == "module" || scope[0] == "this" || scope[0] == "window") {
		if scope[0] == "this" {
			d.kind = Method
		}
		scope = scope[1:]
	}
	if len(scope) > 1 && scope[len(scope)-1] == "prototype" {
		d.kind = Method
		scope = scope[:len(scope)-1]
	}
	if len(scope) > 0 {
		d.prefixName = strings.Join(scope, ".") + "."
	}
	if f.is(n+2, '{') && f.text(n) != "exports" {
		f.objectOf, f.objectAt = d.prefixName+f.text(n), n+2
	}
	if next, ok := f.define(d, first, n, n+2, true); ok {
		return next
	}
	return i + 1
}

// callSites records the calls of the file.
func (f *ecmaFile) callSites() {
	for i := 0; i+1 < len(f.toks); i++ {
		t := &f.toks[i]
		if t.kind != tokenIdent || t.mark&markName != 0 {
			continue
		}
		n := i + 1
		if c := f.toks[n].c; c != '(' && c != '?' && (c != '<' || !f.typed) {
			continue
		}
		if f.op(n, "?.") && f.is(n+1, '(') {
			n++
		} else if f.is(n, '<') && f.typed && f.toks[n].start == t.end {
			n = f.skipAngles(n)
		}
		if !f.is(n, '(') || f.toks[n].first || ecmaReserved.has(f.text(i)) {
			continue
		}
		after := f.after(n)
		if f.is(after, '{') && !f.toks[after].first {
			continue // a method of an object
		}
		if f.word(i, "async") && (f.op(after, "=>") || f.is(after, ':')) {
			continue // a function
		}
		f.call(f.receiverBefore(i), f.text(i), int(t.start))
	}
}
