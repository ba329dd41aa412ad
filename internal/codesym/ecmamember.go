package codesym

// member reads the member of a class that begins at i.
func (f *ecmaFile) member(i int) int {
	end := f.top().end
	first := i
	if f.is(i, '@') {
		i = f.decorators(i)
		f.from = -1
	}
	for i+1 < end && f.toks[i].kind == tokenIdent && f.namesMember(i+1) && !f.is(i+1, '{') {
		switch f.text(i) {
		case "static", "async", "get", "set", "public", "private", "protected", "readonly", "abstract", "override", "declare", "accessor":
			i++
			continue
		}
		break
	}
	if f.word(i, "static") && f.is(i+1, '{') {
		return f.enter(ecmaBody, i+1)
	}
	for f.is(i, '*') {
		i++
	}
	if i >= end {
		return end
	}
	name, n, text := i, i+1, ""
	switch {
	case f.is(i, '['):
		n = f.after(i)
		text = f.collapse("", int(f.toks[i].start), int(f.toks[min(n, len(f.toks))-1].end))
	case f.toks[i].kind == tokenPunct:
		return i + 1
	}
	if f.op(n, "?") || f.op(n, "!") {
		n++
	}
	if f.is(n, '(') || f.is(n, '<') {
		return min(f.callable(decl{kind: Method, name: text}, first, name, n), max(end, name+1))
	}
	if f.is(n, ':') {
		n = f.skipType(n + 1)
	}
	if f.op(n, "=") {
		if next, ok := f.define(decl{kind: Method, name: text}, first, name, n+1, true); ok {
			return next
		}
		// The value is looked through like a body: it may hold functions.
		stop := f.skipMember(n+1, end)
		f.scopes = append(f.scopes, ecmaScope{kind: ecmaBody, end: stop})
		return n + 1
	}
	return f.skipMember(n, end)
}

// property reads the property of an object that begins at i.
func (f *ecmaFile) property(i int) int {
	end := f.top().end
	if f.is(i, ',') || f.is(i, ';') {
		return i + 1
	}
	first := i
	for i+1 < end && (f.word(i, "async") || f.word(i, "get") || f.word(i, "set") || f.word(i, "static")) && f.namesMember(i+1) && !f.is(i+1, '{') {
		i++
	}
	for f.is(i, '*') {
		i++
	}
	if i >= end {
		return end
	}
	name, n, text := i, i+1, ""
	switch {
	case f.is(i, '['):
		n = f.after(i)
		text = f.collapse("", int(f.toks[i].start), int(f.toks[min(n, len(f.toks))-1].end))
	case f.toks[i].kind == tokenPunct:
		i++
		return f.through(i, end)
	}
	d := decl{kind: Method, name: text, prefixName: f.top().prefix}
	switch {
	case f.is(n, '(') || f.is(n, '<'):
		return min(f.callable(d, first, name, n), max(end, name+1))
	case f.is(n, ':'):
		if next, ok := f.define(d, first, name, n+1, false); ok {
			return next
		}
		return f.through(n+1, end)
	}
	return f.through(n, end)
}

// through looks through the value of a property like a body, up to the comma after it.
func (f *ecmaFile) through(i, end int) int {
	k := i
	for k < end && !f.is(k, ',') {
		if f.toks[k].kind == tokenPunct && closerOf(f.toks[k].c) != 0 {
			k = f.after(k)
			continue
		}
		k++
	}
	if k = min(k, end); k > i {
		f.scopes = append(f.scopes, ecmaScope{kind: ecmaBody, end: k})
	}
	return i
}

// imported reads an import declaration.
func (f *ecmaFile) imported(i int) int {
	if f.is(i+1, '(') || f.is(i+1, '.') {
		return i + 1
	}
	k := i + 1
	var names []Import
	for k < len(f.toks) && f.toks[k].kind != tokenString && !f.is(k, ';') && (k == i+1 || !f.toks[k].first || f.is(k, '{') || f.is(k, '*') || !f.word(k, "import")) && k < i+maxLook {
		switch {
		case f.is(k, '{'):
			names = append(names, f.bindings(k)...)
			k = f.after(k)
			continue
		case f.is(k, '*') && f.word(k+1, "as"):
			names = append(names, Import{Name: "*", Alias: f.text(k + 2)})
			k += 2
		case f.op(k, "=") && f.word(k+1, "require") && f.is(k+2, '('):
			k += 2
		case f.op(k, "=") || f.is(k, ')'):
			return k
		case f.isEcmaName(k) && !f.word(k, "from") && !(f.word(k, "type") && !f.word(k+1, "from") && !f.op(k+1, "=")):
			names = append(names, Import{Name: "default", Alias: f.text(k)})
		}
		k++
	}
	if k >= len(f.toks) || f.toks[k].kind != tokenString || f.nameText(k) == "" {
		return i + 1
	}
	path := f.nameText(k)
	if names == nil {
		names = []Import{{}}
	}
	for _, n := range names {
		n.Path, n.Symbol, n.Offset = path, len(f.decls), int(f.toks[i].start)
		f.imports = append(f.imports, n)
	}
	end := k + 1
	if f.is(end, ')') {
		end++
	}
	if f.word(end, "with") || f.word(end, "assert") {
		if f.is(end+1, '{') {
			end = f.after(end + 1)
		}
	}
	end = f.stop(end, true)
	f.outline(decl{kind: ImportOf, name: path}, i, end-1, end-1)
	return end
}

// bindings reads the names in the braces of an import or export.
func (f *ecmaFile) bindings(open int) []Import {
	var names []Import
	end := f.endOf(open)
	for k := open + 1; k < end; k++ {
		if f.toks[k].kind != tokenIdent && f.toks[k].kind != tokenString {
			continue
		}
		if f.word(k, "type") && k+1 < end && f.toks[k+1].kind == tokenIdent && !f.word(k+1, "as") {
			k++
		}
		n := Import{Name: f.nameText(k)}
		if f.word(k+1, "as") && k+2 < end {
			n.Alias = f.nameText(k + 2)
			k += 2
		}
		names = append(names, n)
	}
	return names
}

// exported reads an export declaration.
func (f *ecmaFile) exported(first, i int) int {
	k := i + 1
	if f.word(k, "type") && (f.is(k+1, '{') || f.is(k+1, '*')) {
		k++
	}
	switch {
	case f.is(k, '@'):
		k = f.decorators(k)
		f.from = -1
		return f.declaration(first, k, "")
	case f.word(k, "default"):
		k++
		if f.is(k, '@') {
			k = f.decorators(k)
			f.from = -1
		}
		if f.word(k, "function") || f.word(k, "class") || f.word(k, "async") && f.word(k+1, "function") || f.word(k, "abstract") || f.word(k, "interface") && f.isEcmaName(k+1) {
			return f.declaration(first, k, "default")
		}
		if next, ok := f.define(decl{name: "default"}, first, k-1, k, true); ok {
			return next
		}
		end := f.stop(f.skipValue(k), true)
		f.outline(decl{kind: Export, name: "default"}, first, max(end-1, k-1), max(end-1, k-1))
		return k
	case f.is(k, '{') || f.is(k, '*'):
		return f.reexported(first, k)
	case f.op(k, "="):
		end := f.stop(f.skipValue(k+1), true)
		f.outline(decl{kind: Export, name: "="}, first, max(end-1, k), max(end-1, k))
		return k + 1
	case f.word(k, "as") && f.word(k+1, "namespace"):
		return f.ended(k + 3)
	case f.word(k, "import"):
		return f.imported(k)
	}
	return f.declaration(first, k, "")
}

// reexported reads the names that an export declaration lists.
func (f *ecmaFile) reexported(first, k int) int {
	var names []Import
	if f.is(k, '{') {
		names = f.bindings(k)
		k = f.after(k)
	} else {
		names = []Import{{Name: "*"}}
		if k++; f.word(k, "as") && k+1 < len(f.toks) {
			names[0].Alias = f.nameText(k + 1)
			k += 2
		}
	}
	path := ""
	if f.word(k, "from") && k+1 < len(f.toks) && f.toks[k+1].kind == tokenString {
		path = f.nameText(k + 1)
		k += 2
		if (f.word(k, "with") || f.word(k, "assert")) && f.is(k+1, '{') {
			k = f.after(k + 1)
		}
	}
	end := f.stop(k, true)
	for _, n := range names {
		name := n.Alias
		if name == "" {
			name = n.Name
		}
		if name == "" {
			continue
		}
		if path != "" {
			n.Path, n.Symbol, n.Offset = path, len(f.decls), int(f.toks[first].start)
			f.imports = append(f.imports, n)
		}
		f.outline(decl{kind: Export, name: name}, first, end-1, end-1)
	}
	return end
}
