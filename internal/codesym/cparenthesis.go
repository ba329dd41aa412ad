package codesym

import "strings"

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
