package codesym

import "strings"

// maxDeclaration bounds how many tokens a declaration may have up to its body.
const maxDeclaration = 3000

// maxMacros bounds how many tokens are macros in front of a declaration.
const maxMacros = 64

// cHead is what is known of a declaration while its tokens are read.
type cHead struct {
	typedef, constant, pointer, friend bool
	// name is the last name outside of brackets, function the name in front of the parameters at params; -1 for none.
	name, function, params int
	// words counts the tokens before the name that are part of a type.
	words int
}

// declarators reads a declaration that begins at i: types with a body, functions, names of types.
func (f *cFile) declarators(first, i int) int {
	h := cHead{name: -1, function: -1, params: -1}
	start := i
	for i < len(f.toks) && i < start+maxDeclaration {
		t := &f.toks[i]
		if k := f.attribute(i); k > i {
			if f.word(i, "decltype") || f.word(i, "typeof") || f.word(i, "__typeof__") {
				h.words++
			}
			i = k
			continue
		}
		if t.kind == tokenIdent {
			if f.cpp && t.first && i > start && (f.accessAt(i) || i < start+maxMacros && f.begins(i) && f.macros(start, i)) {
				return i // macros in lines of their own, such as those that open a namespace
			}
			if f.cpp && t.first && h.function >= 0 && h.params < i && f.is(i-1, ')') && f.opens(i) {
				return f.prototype(&h, first, i-1) // the macro at its end brings the body along
			}
			if next, done := f.specifier(&h, first, i); done {
				return next
			} else if next > i {
				i = next
				continue
			}
			i++
			continue
		}
		if t.kind != tokenPunct {
			i++
			continue
		}
		switch t.c {
		case ';':
			return f.ended(&h, first, i)
		case '}', ')', ']':
			return i
		case '{':
			if h.function >= 0 {
				return f.defined(&h, first, i, i-1)
			}
			if h.name >= 0 && h.words > 1 && f.cpp { // a variable with a value in braces
				return f.ended(&h, first, f.after(i))
			}
			return f.enter(cBody, i, "")
		case '(':
			next, stop := f.parenthesis(&h, start, i)
			if stop {
				return next
			}
			i = next
		case '[':
			i = f.after(i)
		case '<':
			if h.name >= 0 {
				n := f.skipAngles(i)
				if f.cpp && h.function < 0 && h.words > 0 && h.name == i-1 && f.is(n, '(') { // a function for some types
					h.function, h.params = h.name, n
					n = f.past(n)
				}
				i = n
			} else {
				i++
			}
		case '=':
			if h.function >= 0 && h.params >= 0 {
				return f.prototype(&h, first, f.semicolon(i)-1)
			}
			if h.typedef {
				return f.semicolon(i)
			}
			return f.variable(&h, first, i)
		case ',':
			if h.function >= 0 {
				return f.prototype(&h, first, f.semicolon(i)-1)
			}
			if h.typedef {
				f.alias(&h, first, i)
			}
			h.name = -1
			i++
		case ':':
			if f.text(i) == ":" && h.function >= 0 {
				if body := f.initializers(i + 1); body >= 0 {
					return f.defined(&h, first, body, i-1)
				}
				return f.semicolon(i)
			}
			i++
		case '*', '&':
			h.pointer = true
			i++
		case '~':
			i++
		default:
			i++
		}
	}
	return i
}

// begins reports whether the word at i begins a declaration and stands within none.
func (f *cFile) begins(i int) bool {
	switch f.text(i) {
	case "class", "struct", "enum", "union", "static_assert":
		return true
	case "extern":
		return i+1 < len(f.toks) && f.toks[i+1].kind == tokenString
	case "inline":
		return f.word(i+1, "namespace")
	}
	return f.opens(i)
}

// opens reports whether the word at i can stand at the beginning of a declaration only.
func (f *cFile) opens(i int) bool {
	switch f.text(i) {
	case "namespace", "template", "using", "typedef":
		return true
	}
	return false
}

// macros reports whether the tokens between two are names of capitals alone, with arguments or without.
func (f *cFile) macros(from, to int) bool {
	for k := from; k < to; k++ {
		if !f.name(k) || !capitals(f.text(k)) {
			return false
		}
		if f.is(k+1, '(') && f.after(k+1) <= to {
			k = f.after(k+1) - 1
		}
	}
	return true
}

// specifier reads a word of a declaration. It returns the token after it where it takes more than one, and whether the walk goes on there.
func (f *cFile) specifier(h *cHead, first, i int) (next int, done bool) {
	word := f.text(i)
	switch word {
	case "typedef":
		h.typedef = true
		return i + 1, false
	case "friend":
		h.friend = true
		return i + 1, false
	case "const", "constexpr", "constinit":
		h.constant = h.constant || h.function < 0
		return i + 1, false
	case "struct", "union", "class", "enum":
		if h.function >= 0 {
			return i + 1, false
		}
		kind, name, open, bases := f.typeAt(i)
		if open < 0 {
			if end := f.unopenedEnum(i); kind == Enum && end > 0 {
				if name = i + 1; f.word(name, "class") || f.word(name, "struct") {
					name++
				}
				f.declare(decl{kind: kind, partial: true}, f.head(first, i), name, end, name)
				f.enumerators(name, end)
				return end + 1, true
			}
			if label, end := f.unopened(i, name); label > 0 {
				f.declare(decl{kind: kind, partial: true}, first, name, end, label-1)
				f.scopes = append(f.scopes, cScope{cClass, end, f.text(name)})
				return label, true
			}
			h.words++
			// The name of a type that is only named: what follows it is the declaration's.
			if name >= 0 && f.name(i+1) {
				return i + 2, false
			}
			return i + 1, false
		}
		if f.is(f.after(open), ';') || f.is(f.after(open), '}') || !h.typedef && !f.declares(f.after(open)) {
			return f.typeBody(kind, f.head(first, i), name, open, bases), true
		}
		// Names follow the body: they are read when the body has been walked through.
		if h.typedef {
			f.aliases(first, f.after(open))
		}
		begin := first
		if h.typedef {
			begin = i
		}
		return f.typeBody(kind, begin, name, open, bases), true
	case "operator":
		if !f.cpp {
			break
		}
		end := i + 1
		if f.is(end, '(') && f.is(end+1, ')') {
			end += 2
		} else {
			for n := 0; end < len(f.toks) && !f.is(end, '(') && !f.is(end, ';') && n < 20; n++ {
				if f.is(end, '<') && end > i+1 { // of a type
					end = f.skipAngles(end)
				} else {
					end++
				}
			}
		}
		if f.is(end, '(') {
			h.function, h.name, h.params = i, i, end
			return f.after(end), false
		}
	case "requires":
		if f.cpp && h.function >= 0 {
			return max(f.constraint(i+1), i+1), false
		}
	case "try":
		return i + 1, false
	case "return", "if", "for", "while", "switch", "do", "else", "goto", "case", "break", "continue":
		return i + 1, true // a statement where declarations stand: an error, or a macro
	}
	if f.reserved(word) {
		if h.typedef && word != "const" && word != "volatile" {
			h.name = -1 // a macro may stand for the name of a type
		}
		if h.function < 0 && word != "static" && word != "extern" && word != "inline" && word != "register" && word != "virtual" && word != "typename" {
			h.words++
		}
		return i + 1, false
	}
	if h.function < 0 {
		if h.name >= 0 && f.text(i-1) != "::" && f.text(i-1) != "~" {
			h.words++
		}
		h.name = i
	}
	return i + 1, false
}

// unopenedEnum returns the brace that closes the enum at i whose opening brace is missing, 0 where none is: names follow its name on lines of their own.
func (f *cFile) unopenedEnum(i int) int {
	if f.word(i+1, "class") || f.word(i+1, "struct") {
		i++
	}
	if !f.name(i+1) || !f.name(i+2) || !f.toks[i+2].first || !f.is(i+3, ',') && !f.is(i+3, '=') && !f.is(i+3, '}') {
		return 0
	}
	for n := i + 3; n < len(f.toks) && f.looked <= 4*len(f.toks); f.looked++ {
		t := &f.toks[n]
		switch {
		case t.c == '}' && t.match < 0:
			return n
		case t.c == ';' || t.c == '{' || t.c == '}':
			return 0
		case t.kind == tokenPunct && closerOf(t.c) != 0:
			n = f.after(n)
		default:
			n++
		}
	}
	return 0
}

// unopened returns the first label in the body of the class at i whose opening brace is missing, and the brace that closes it; 0 where none is.
func (f *cFile) unopened(i, name int) (label, end int) {
	if !f.cpp || name < 0 || f.looked > 4*len(f.toks) {
		return 0, 0
	}
	for label = name + 1; ; label++ {
		if label >= len(f.toks) || label > i+60 || f.is(label, ';') || f.is(label, '{') || f.is(label, '}') {
			return 0, 0
		}
		if f.label(label) {
			break
		}
	}
	indent := f.indentOf(int(f.toks[i].start))
	for end = label; end < len(f.toks); f.looked++ {
		t := &f.toks[end]
		if t.c == '}' && t.first && f.indentOf(int(t.start)) <= indent {
			return label, end
		}
		if t.kind == tokenPunct && closerOf(t.c) != 0 {
			end = f.after(end)
			continue
		}
		end++
	}
	return 0, 0
}

// head is where a declaration begins whose first token is first, for the type at i.
func (f *cFile) head(first, i int) int {
	if first < i && (f.word(first, "template") || i-first < 8) {
		return first
	}
	return i
}

// declares reports whether names of variables or types begin at i.
func (f *cFile) declares(i int) bool {
	return f.name(i) || f.is(i, '*') || f.is(i, '(') || f.word(i, "__attribute__")
}

// aliases adds the names that a typedef gives after a body. They share its span.
func (f *cFile) aliases(first, i int) {
	var names []int
	name := -1
	n := i
	for ; n < len(f.toks) && n < i+200 && !f.is(n, ';'); n++ {
		if k := f.attribute(n); k > n {
			n = k - 1
			continue
		}
		switch {
		case f.name(n):
			name = n
		case f.is(n, '('):
			if f.is(n+1, '*') && f.name(n+2) {
				name = n + 2
			}
			n = f.after(n) - 1
		case f.is(n, '['):
			n = f.after(n) - 1
		case f.is(n, ','):
			names, name = append(names, name), -1
		case f.is(n, '{') || f.is(n, '}'):
			return
		}
	}
	if !f.is(n, ';') {
		return
	}
	for _, name := range append(names, name) {
		f.alias(&cHead{name: name}, first, n+1)
	}
}

// alias adds the type that a typedef has named before the token end.
func (f *cFile) alias(h *cHead, first, end int) {
	if h.name < 0 || !f.name(h.name) {
		return
	}
	sig := end - 1
	if f.is(sig, ';') && sig > h.name {
		sig--
	}
	f.declare(decl{kind: Type}, first, h.name, end-1, sig)
	h.name = -1
}

// past returns the token after the bracket pair that opens at i. Where the closing one is missing, a body or a semicolon near by ends it.
func (f *cFile) past(i int) int {
	if f.closed(i) {
		return f.after(i)
	}
	for n := i + 1; n < len(f.toks) && n < i+maxHead && !f.is(n, '}'); n++ {
		if f.is(n, '{') || f.is(n, ';') {
			return n
		}
	}
	return f.after(i)
}

// parenthesis reads a bracket outside of brackets: parameters, the name of a function pointer, or a macro's arguments.
func (f *cFile) parenthesis(h *cHead, start, i int) (next int, stop bool) {
	after := f.past(i)
	switch {
	case h.function >= 0: // a macro or attribute behind the parameters, or the function behind a macro
		if f.name(i-1) && capitals(f.text(h.function)) && !capitals(f.text(i-1)) {
			h.function, h.params = i-1, i
		}
		return after, false
	case f.name(i-1) && f.is(i+1, '(') && f.closed(i) && f.after(i+1) == f.endOf(i) && (f.name(i-2) || f.is(i-2, ')')) && !f.valued(i+2):
		// int name MACRO((int)): the macro stands for the parameters, or for none
		h.name = i - 2
		switch {
		case f.is(i-2, ')'):
			h.pointer = true
			if h.name = int(f.toks[i-2].match) + 1; f.is(h.name, '*') {
				h.name++
			}
		case !h.typedef && h.words > 0:
			h.function, h.params = i-2, i+1
		}
		return after, false
	case h.words > 1 && !h.typedef && f.name(i-1) && f.name(i-2) && holdsName(f.text(i-1)) && f.macroNames(h, i):
		return after, false
	case h.words > 1 && f.name(i-1) && f.name(i-2) && capitals(f.text(i-1)) && !f.is(after, '{') &&
		(f.name(i-3) || typeWords.has(f.text(i-3)) || f.is(i-3, '>') || f.is(i-3, '*') || f.is(i-3, '&')):
		h.name = i - 2 // a macro behind a variable
		return after, false
	case h.words > 0 && f.name(i-1) && f.is(i-2, ']') && capitals(f.text(i-1)) && !f.is(after, '{'): // or behind a list
		for h.name = i - 2; f.is(h.name, ']') && f.toks[h.name].match > 0; {
			h.name = int(f.toks[h.name].match) - 1
		}
		return after, false
	case h.typedef:
		// int (*name)(int), or int name(int)
		n := i + 1
		for f.is(n, '*') || f.is(n, '^') || f.text(n) == "::" || f.word(n, "const") || f.name(n) && !f.is(n+1, ')') && !f.is(n+1, '[') && !f.is(n+1, '(') {
			n++
		}
		if f.name(n) && f.is(after, '(') {
			h.name = n
			return f.after(after), false
		}
		return after, false
	case h.words > 0 && f.name(i-1) && capitals(f.text(i-1)) && f.macroNames(h, i):
		return after, false
	case f.bracketed(i) && f.is(after, '(') && (h.words > 0 || h.name >= 0 && f.top().kind == cClass && f.text(h.name) != f.top().name):
		// int (name)(int), or int MACRO(name)(int)
		h.name, h.function, h.params = i+1, i+1, after
		h.words++
		if after = f.past(after); f.knr(h.params, after) {
			after = f.knrBody(after)
		}
		return after, false
	case !f.name(i-1) || h.name != i-1:
		if n := i + 2; (f.is(i+1, '*') || f.is(i+1, '&')) && f.name(n) && f.is(n+1, '(') && f.after(n+1) == f.endOf(i) && h.words > 0 {
			// int (&name(int))[2]: a function that returns what has no simple name
			h.name, h.function, h.params = n, n, n+1
			return after, false
		}
		if f.is(i+1, '*') || f.is(i+1, '&') || f.is(i+1, '^') { // a pointer to a function
			h.pointer = true
			if f.is(after, '(') {
				return f.after(after), false
			}
			return after, false
		}
		return after, false
	case f.is(i+1, '*') && f.is(after, '('): // type (*name)(…)
		h.name, h.pointer = -1, true
		return f.after(after), false
	}
	bare := h.words == 0 && f.qualifier(h.name) == h.name && !f.is(h.name-1, '~')
	constructor := f.top().kind == cClass && f.text(h.name) == f.top().name
	if bare && !constructor {
		// Nothing stands before the name: a macro, unless a body follows.
		switch {
		case f.is(after, '{'):
			if f.cpp && f.closed(i) || !f.cpp {
				h.function, h.params = h.name, i
				return after, false
			}
		case after < len(f.toks) && f.toks[after].kind == tokenIdent && f.knr(i, after):
			h.function, h.params = h.name, i
			return f.knrBody(after), false
		case f.is(after, ';'):
			return after + 1, true
		case f.is(after, ':') && f.text(after) == ":" && f.cpp:
			h.function, h.params = h.name, i
			return after, false
		}
		h.name, h.words = -1, 0
		return after, after < len(f.toks) && f.toks[after].first
	}
	h.function, h.params = h.name, i
	if f.knr(i, after) {
		return f.knrBody(after), false
	}
	return after, false
}

// bracketed reports whether the bracket at i holds the name of a function and nothing else.
func (f *cFile) bracketed(i int) bool {
	if f.cpp && f.word(i+1, "operator") {
		return f.closed(i) && f.endOf(i) < i+6
	}
	return f.name(i+1) && f.is(i+2, ')')
}

// macroNames reads int MACRO(name, (int)) and, in C, int MACRO(name) with a name that is no macro's: ways to write prototypes for old and new compilers. It reports
// whether the bracket at i is one of them; a pointer to a function is one without a name.
func (f *cFile) macroNames(h *cHead, i int) bool {
	switch k := i + 1; {
	case f.name(k) && f.is(k+1, ',') && f.is(k+2, '(') && f.after(k+2) == f.endOf(i):
		h.name, h.function, h.params = k, k, k+2
	case !f.cpp && f.name(k) && !capitals(f.text(k)) && f.is(k+1, ')') && (f.is(k+2, ';') || f.is(k+2, ',')):
		h.name, h.function, h.params = k, k, i
	case f.is(k, '(') && f.is(k+1, '*') && (f.is(f.after(k), ')') || f.is(f.after(k), ',') && f.is(f.after(k)+1, '(')):
		h.name, h.pointer = -1, true
	default:
		return false
	}
	return true
}

// holdsName reports whether a macro's name says that what is declared has its name in the macro's brackets: behind two words it may also be one for attributes, of a variable.
func holdsName(macro string) bool {
	return capitals(macro) && (strings.Contains(macro, "DECL") || strings.Contains(macro, "PROTO") || strings.Contains(macro, "ARGS"))
}

// knr reports whether declarations of parameters in the old style begin at i, behind the bracket at open: it holds names alone, and words up to a semicolon and at last a
// brace follow.
func (f *cFile) knr(open, i int) bool {
	if f.cpp || i >= len(f.toks) || f.toks[i].kind != tokenIdent || cAttributes.has(f.text(i)) || !f.name(open+1) {
		return false
	}
	for k := open + 1; k < f.endOf(open); k++ {
		if f.toks[k].kind != tokenIdent && f.toks[k].c != ',' {
			return false
		}
	}
	body := f.knrBody(i)
	return f.is(body, '{') && f.is(body-1, ';')
}

func (f *cFile) knrBody(i int) int {
	for n := i; n < len(f.toks) && n < i+200; n++ {
		switch t := &f.toks[n]; {
		case f.is(n, '{') && f.is(n-1, ';'):
			return n
		case t.kind == tokenIdent || t.c == '*' || t.c == ',' || t.c == ';':
		case t.c == '[' || t.c == '(':
			if k := f.after(n); t.c == '(' && f.name(n-1) && k < len(f.toks) && f.toks[k].kind == tokenIdent {
				return i // a function behind a macro
			} else {
				n = k - 1
			}
		default:
			return i
		}
	}
	return i
}

// qualifier returns the first token of the qualified name that ends in the token i.
func (f *cFile) qualifier(i int) int {
	if f.is(i-1, '~') {
		i--
	}
	for k := 0; k < 40; k++ {
		switch {
		case i >= 2 && f.text(i-1) == "::" && f.toks[i-2].kind == tokenIdent:
			i -= 2
		case f.text(i-1) == "::" && f.is(i-2, '>'):
			depth, n := 0, i-2
			for ; n > 0 && n > i-200; n-- {
				if f.is(n, '>') {
					depth++
				} else if f.is(n, '<') {
					if depth--; depth == 0 {
						break
					}
				}
			}
			if depth != 0 || n < 1 || f.toks[n-1].kind != tokenIdent {
				return i
			}
			i = n - 1
		default:
			return i
		}
	}
	return i
}

// initializers returns the brace of the body after the initializers of a constructor that begin at i, or -1.
func (f *cFile) initializers(i int) int {
	for i < len(f.toks) {
		for f.name(i) || f.text(i) == "::" || f.is(i, '<') || f.word(i, "template") || f.word(i, "typename") || f.word(i, "decltype") {
			if f.is(i, '<') {
				i = f.skipAngles(i)
				continue
			}
			i++
		}
		if !f.is(i, '(') && !f.is(i, '{') {
			return -1
		}
		i = f.after(i)
		if f.text(i) == "..." {
			i++
		}
		if f.name(i) && (f.is(i+1, '(') || f.is(i+1, '{')) && f.closed(i+1) && !f.toks[i+1].first && (f.is(f.after(i+1), ',') || f.is(f.after(i+1), '{') || f.name(f.after(i+1))) && f.toks[i].first {
			continue // behind a macro
		}
		if !f.is(i, ',') {
			break
		}
		if i++; f.is(i, ':') && f.text(i) == ":" {
			i++ // the list of another branch of an #if
		}
	}
	for f.name(i) {
		i++
	}
	if f.is(i, '{') {
		return i
	}
	return -1
}

// function fills the name of a function or method.
func (f *cFile) function(h *cHead) (d decl, name int) {
	name = h.function
	d = decl{kind: Function}
	if f.word(name, "operator") && f.cpp {
		end := h.params - 1
		if f.is(name-1, '(') && f.is(end, ')') && int(f.toks[end].match) == name-1 {
			end--
		}
		d.name = strings.Join(strings.Fields(f.src[f.toks[name].start:f.toks[end].end]), " ")
	} else if f.is(name-1, '~') {
		d.name = "~" + f.text(name)
	}
	begin := f.qualifier(name)
	if f.is(begin, '~') {
		begin = name
	}
	if begin < name && f.text(name-1) == "::" || begin < name-1 {
		end := name - 1
		if f.is(end, '~') {
			end--
		}
		d.prefixName = f.plainPath(begin, end)
		d.kind = Method
	}
	if f.top().kind == cClass && !h.friend {
		d.kind = Method
	}
	if f.cpp {
		end := f.past(h.params)
		if d.suffix = f.parameters(h.params, min(f.endOf(h.params), end)); f.word(end, "const") {
			d.suffix += " const" // another overload
		}
	}
	return d, name
}

// plainPath returns the text of some tokens without type arguments and spaces.
func (f *builder) plainPath(from, to int) string {
	var out strings.Builder
	for k := from; k <= to; k++ {
		if f.is(k, '<') {
			k = f.skipAngles(k) - 1
			continue
		}
		out.WriteString(f.text(k))
	}
	return out.String()
}

// defined adds a function whose body opens at open and whose signature ends at the token sig, and enters the body.
func (f *cFile) defined(h *cHead, first, open, sig int) int {
	d, name := f.function(h)
	f.declare(d, first, name, f.after(open)-1, sig)
	return f.enter(cBody, open, "")
}

// valued reports whether a value and no parameter begins at k.
func (f *cFile) valued(k int) bool {
	if k >= len(f.toks) {
		return false
	}
	switch t := &f.toks[k]; t.kind {
	case tokenNumber, tokenString:
		return true
	case tokenPunct:
		return t.c == '&' || t.c == '*' || t.c == '-' || t.c == '!' || t.c == '~' || t.c == '{' || t.c == '[' && !f.is(k+1, '[')
	}
	switch f.text(k) {
	case "this", "new", "true", "false", "nullptr", "sizeof", "static_cast":
		return f.cpp || f.text(k) == "sizeof"
	}
	return false
}

// prototype adds a function without a body whose declaration ends at the token last.
func (f *cFile) prototype(h *cHead, first, last int) int {
	if k := h.params + 1; f.valued(k) {
		return last + 1 // a variable with a value
	}
	if h.friend && (f.text(h.function-1) == "::" || f.is(h.function+1, '<') && !f.word(h.function, "operator")) {
		return last + 1 // what another class or namespace has, or a function for some types
	}
	d, name := f.function(h)
	sig := last
	if f.is(last, ';') {
		sig--
	}
	n := f.declare(d, first, name, last, max(sig, name))
	switch {
	case f.top().kind != cClass:
		f.prototypes = append(f.prototypes, n)
	case h.friend:
		f.friends = append(f.friends, n)
	}
	return last + 1
}

// ended reads the end of a declaration at the semicolon i.
func (f *cFile) ended(h *cHead, first, i int) int {
	switch {
	case h.typedef:
		f.alias(h, first, i+1)
	case h.function >= 0 && h.params >= 0:
		return f.prototype(h, first, min(i, len(f.toks)-1))
	}
	return i + 1
}

// variable reads the value of a variable, and adds it where it is a constant.
func (f *cFile) variable(h *cHead, first, i int) int {
	end := f.semicolon(i)
	if h.constant && !h.pointer && h.name >= 0 && h.words > 0 {
		f.declare(decl{kind: Constant}, first, h.name, end-1, max(end-2, h.name))
	}
	f.scopes = append(f.scopes, cScope{kind: cBody, end: end})
	return i + 1
}
