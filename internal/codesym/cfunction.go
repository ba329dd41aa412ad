package codesym

import "strings"

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
