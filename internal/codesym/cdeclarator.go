package codesym

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
