package codesym

import "strings"

var javaReserved = set("abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for goto if implements import instanceof int interface long native new package private protected public return short static strictfp super switch synchronized this throw throws transient try void volatile while true false null _")

var javaModifiers = set("public protected private static final abstract native synchronized transient volatile strictfp default sealed non")

// parseJava reads Java source.
func parseJava(b *builder) {
	b.lexJava()
	j := &javaFile{builder: b}
	b.matchBrackets(func(i int) bool {
		if b.is(i, '@') {
			return true
		}
		if b.toks[i].kind != tokenIdent {
			return false
		}
		switch b.text(i) {
		case "case", "default", "else", "catch", "finally":
			return false
		}
		return true
	})
	j.scopes = append(j.scopes, javaScope{kind: javaTop, end: len(b.toks)})
	for i := 0; i < len(b.toks); {
		for len(j.scopes) > 1 && j.top().end <= i {
			j.scopes = j.scopes[:len(j.scopes)-1]
		}
		next := 0
		switch j.top().kind {
		case javaBody:
			next = j.inBody(i)
		case javaConstants:
			next = j.constant(i)
		default:
			next = j.member(i)
		}
		i = max(next, i+1)
	}
	j.callSites()
}

// javaFile walks the tokens of a file once.
type javaFile struct {
	*builder
	scopes []javaScope
}

type javaScope struct {
	kind javaKind
	end  int
	// constant says that fields are constants, as in an interface.
	constant bool
}

type javaKind uint8

const (
	javaTop javaKind = iota + 1
	javaClass
	javaConstants // of an enum, up to the semicolon
	javaBody
)

func (j *javaFile) top() *javaScope { return &j.scopes[len(j.scopes)-1] }

func (j *javaFile) word(i int, w string) bool {
	return i >= 0 && i < len(j.toks) && j.toks[i].kind == tokenIdent && j.text(i) == w
}

func (j *javaFile) name(i int) bool {
	return i < len(j.toks) && j.toks[i].kind == tokenIdent && !javaReserved.has(j.text(i))
}

// annotation returns the token after the annotation at i.
func (j *javaFile) annotation(i int) int {
	i++
	for j.name(i) {
		i++
		if !j.is(i, '.') {
			break
		}
		i++
	}
	if j.is(i, '(') {
		i = j.after(i)
	}
	return i
}

func (j *javaFile) enter(kind javaKind, open int, constant bool) int {
	j.scopes = append(j.scopes, javaScope{kind, j.endOf(open), constant})
	return open + 1
}

// member reads what begins at i in a file or in the body of a class.
func (j *javaFile) member(i int) int {
	first, head := i, i
	static, final, test := false, false, false
	for i < len(j.toks) {
		switch {
		case j.is(i, '@') && !j.word(i+1, "interface"):
			test = test || strings.HasSuffix(j.text(i+1), "Test")
			leading := head == i
			i = j.annotation(i)
			if leading {
				head = i
			}
			continue
		case j.toks[i].kind == tokenIdent && javaModifiers.has(j.text(i)):
			static, final = static || j.word(i, "static"), final || j.word(i, "final")
			if i++; j.is(i, '-') { // non-sealed
				i += 2
			}
			continue
		}
		break
	}
	if i >= len(j.toks) {
		return i
	}
	t := &j.toks[i]
	if t.kind == tokenPunct {
		switch {
		case t.c == '{':
			return j.enter(javaBody, i, false)
		case t.c == '<':
			i = j.skipAngles(i)
		case !j.is(i, '@'):
			return i + 1
		}
	}
	switch j.text(i) {
	case "package":
		return j.path(Module, first, head, i)
	case "import":
		return j.path(ImportOf, first, head, i)
	case "class", "interface", "enum":
		if j.name(i + 1) {
			return j.typ(first, head, i, test)
		}
	case "record":
		if j.name(i+1) && (j.is(i+2, '(') || j.is(i+2, '<')) {
			return j.typ(first, head, i, test)
		}
	case "@":
		if j.word(i+1, "interface") && j.name(i+2) {
			return j.typ(first, head, i+1, test)
		}
	}
	return j.field(first, head, i, static && final || j.top().constant, test)
}

// declare adds a declaration whose name is the token name; the signature begins behind the annotations.
func (j *javaFile) declare(d decl, first, head, name, last, sig int) {
	j.toks[name].mark |= markName
	d.name, d.nameAt = j.text(name), int(j.toks[name].start)
	j.outline(d, first, last, sig)
	if head <= name {
		j.decls[len(j.decls)-1].sigStart = int(j.toks[head].start)
	}
}

func (j *javaFile) path(kind Kind, first, head, i int) int {
	end := i + 1
	static := j.word(end, "static")
	if static {
		end++
	}
	from := end
	for end < len(j.toks) && (j.toks[end].kind == tokenIdent || j.is(end, '.') || j.is(end, '*')) && (!j.toks[end].first || end == from || j.is(end-1, '.') || j.is(end, '.')) {
		end++
	}
	if end == from {
		return i + 1
	}
	name := strings.Join(strings.Fields(j.src[j.toks[from].start:j.toks[end-1].end]), "")
	last := end - 1
	if j.is(end, ';') {
		last = end
	}
	if kind == ImportOf {
		path, class, _ := cutLast(name, ".")
		if path == "" {
			path, class = class, ""
		}
		j.imports = append(j.imports, Import{Path: path, Name: class, Symbol: len(j.decls), Offset: int(j.toks[i].start)})
	}
	j.outline(decl{kind: kind, name: name}, first, last, end-1)
	if head > first && head <= i {
		j.decls[len(j.decls)-1].sigStart = int(j.toks[head].start)
	}
	return last + 1
}

func (j *javaFile) typ(first, head, i int, test bool) int {
	d := decl{kind: Class, test: test}
	keyword := j.text(i)
	switch keyword {
	case "enum":
		d.kind = Enum
	case "interface":
		d.kind = Interface
	}
	name, n := i+1, i+2
	bases := false
	for n < len(j.toks) && !j.is(n, '{') && !j.is(n, ';') && !j.is(n, '}') {
		switch {
		case j.is(n, '<'):
			n = j.skipAngles(n)
			continue
		case j.is(n, '('):
			n = j.after(n)
			continue
		case j.is(n, '@'):
			n = j.annotation(n)
			continue
		case j.word(n, "extends") || j.word(n, "implements"):
			bases = true
		case j.word(n, "permits"):
			bases = false
		case bases && j.name(n) && len(d.bases) < maxBases:
			from := n
			for j.is(n+1, '.') && j.name(n+2) {
				n += 2
			}
			if j.is(n+1, '<') {
				n = j.skipAngles(n+1) - 1
			}
			d.bases = append(d.bases, j.collapse("", int(j.toks[from].start), int(j.toks[n].end)))
		}
		n++
	}
	if !j.is(n, '{') {
		return name
	}
	j.declare(d, first, head, name, j.after(n)-1, n-1)
	if d.kind == Enum {
		return j.enter(javaConstants, n, false)
	}
	return j.enter(javaClass, n, d.kind == Interface)
}

// field reads a method, a constructor or fields whose type or name begins at i.
func (j *javaFile) field(first, head, i int, constant, test bool) int {
	n, name := i, -1
	for n < len(j.toks) {
		t := &j.toks[n]
		switch {
		case t.kind == tokenIdent:
			if javaReserved.has(j.text(n)) && !javaTypes.has(j.text(n)) {
				return max(n, i+1)
			}
			name = n
			n++
			continue
		case t.c == '.' || t.c == '?' || t.c == '&':
			n++
			continue
		case t.c == '<':
			n = j.skipAngles(n)
			continue
		case t.c == '[':
			n = j.after(n)
			continue
		case t.c == '@':
			n = j.annotation(n)
			continue
		}
		break
	}
	if name < 0 || n >= len(j.toks) || !j.name(name) {
		return max(n, i+1)
	}
	switch {
	case j.is(n, '(') && n == name+1:
		return j.method(first, head, name, test, name == i)
	case j.is(n, '{') && n == name+1 && n == i+1: // the constructor of a record
		d := decl{kind: Method}
		j.declare(d, first, head, name, j.after(n)-1, name)
		return j.enter(javaBody, n, false)
	case !j.is(n, '=') && !j.is(n, ';') && !j.is(n, ','):
		return max(n, i+1)
	}
	// Fields: the walk looks through their values.
	end := n
	var names []int
	if constant {
		names = append(names, name)
	}
values:
	for end < len(j.toks) && !j.is(end, ';') && !j.is(end, '}') {
		if j.is(end, '{') && j.toks[end-1].kind == tokenIdent {
			return end // no field after all
		}
		switch {
		case j.toks[end].kind == tokenPunct && closerOf(j.toks[end].c) != 0:
			closed := j.closed(end)
			if end = j.after(end); !closed {
				break values // what begins there is no part of the value
			}
			continue
		case j.is(end, '<'):
			if k := j.skipAngles(end); k > end+1 {
				end = k
				continue
			}
		case j.is(end, ',') && constant && j.name(end+1) && (j.is(end+2, '=') || j.is(end+2, ',') || j.is(end+2, ';')):
			names = append(names, end+1)
		}
		end++
	}
	last := end
	if !j.is(end, ';') {
		last = end - 1
	}
	for _, name := range names {
		j.declare(decl{kind: Constant}, first, head, name, last, max(end-1, name))
	}
	if j.is(n, '=') {
		j.scopes = append(j.scopes, javaScope{kind: javaBody, end: end})
		return n + 1
	}
	return max(end, i+1)
}

var javaTypes = set("boolean byte char double float int long short void")

// maxHead is how many tokens the parameters of a method have where their closing bracket is missing.
const maxHead = 60

// method reads a method or a constructor. bare says that nothing stands before its name: then it has a body, or is a call in a file with errors.
func (j *javaFile) method(first, head, name int, test, bare bool) int {
	open := name + 1
	n := j.after(open)
	if !j.closed(open) {
		for n = open + 1; n < len(j.toks) && n < open+maxHead && !j.is(n, '{') && !j.is(n, ';') && !j.is(n, '}'); {
			n++
		}
		if !j.is(n, '{') {
			return open
		}
	}
	parameters := j.parameters(open, min(n, j.endOf(open)))
	for n < len(j.toks) && !j.is(n, '{') && !j.is(n, ';') && !j.is(n, '}') {
		switch {
		case j.is(n, '['):
			n = j.after(n)
			continue
		case j.is(n, '@'):
			n = j.annotation(n)
			continue
		case j.word(n, "default"):
			for n < len(j.toks) && !j.is(n, ';') && !(j.is(n, '}')) {
				if j.toks[n].kind == tokenPunct && closerOf(j.toks[n].c) != 0 {
					n = j.after(n)
					continue
				}
				n++
			}
			continue
		case j.toks[n].kind != tokenIdent && !j.is(n, '.') && !j.is(n, ',') && !j.is(n, '<') && !j.is(n, '>'):
			return n // no method after all
		}
		n++
	}
	d := decl{kind: Method, test: test, suffix: parameters}
	if j.is(n, '{') {
		j.declare(d, first, head, name, j.after(n)-1, n-1)
		return j.enter(javaBody, n, false)
	}
	if bare {
		return n
	}
	last := n
	if !j.is(n, ';') {
		last = n - 1
	}
	j.declare(d, first, head, name, last, max(n-1, name))
	return last + 1
}

// constant reads a constant of an enum.
func (j *javaFile) constant(i int) int {
	end := j.top().end
	first := i
	for j.is(i, '@') {
		i = j.annotation(i)
	}
	switch {
	case j.is(i, '{') && j.toks[i].mark&markObject != 0:
		return j.enter(javaClass, i, false)
	case j.is(i, ';'):
		j.top().kind = javaClass
		return i + 1
	case i >= end || !j.name(i):
		return i + 1
	}
	n, last := i+1, i
	if j.is(n, '(') {
		n = j.after(n)
		last = n - 1
	}
	body := j.is(n, '{')
	if body {
		last = j.after(n) - 1
	}
	j.declare(decl{kind: Constant}, first, i, i, min(last, end-1), min(last, end-1, n-1))
	if body {
		j.toks[n].mark |= markObject
	}
	if n > i+1 { // the arguments come first
		j.scopes = append(j.scopes, javaScope{kind: javaBody, end: min(n, end)})
		return i + 1
	}
	return n
}

// inBody reads what stands at i in the body of a method: classes within it, and classes without a name.
func (j *javaFile) inBody(i int) int {
	t := &j.toks[i]
	if t.mark&markObject != 0 {
		return j.enter(javaClass, i, false)
	}
	if t.kind != tokenIdent {
		if t.c == '@' && i > 0 && (j.toks[i-1].c == ';' || j.toks[i-1].c == '{' || j.toks[i-1].c == '}') {
			return j.local(i)
		}
		return i + 1
	}
	switch j.text(i) {
	case "new":
		n := i + 1
		for n < len(j.toks) && n < i+40 && (j.name(n) || j.is(n, '.') || j.is(n, '<') || j.is(n, '@')) {
			switch {
			case j.is(n, '<'):
				n = j.skipAngles(n)
			case j.is(n, '@'):
				n = j.annotation(n)
			default:
				n++
			}
		}
		if j.is(n, '(') && j.is(j.after(n), '{') {
			j.toks[j.after(n)].mark |= markObject
		}
	case "class", "interface", "enum", "record", "abstract", "final", "static":
		if i > 0 && (j.is(i-1, '.') || j.is(i-1, ':')) {
			return i + 1
		}
		return j.local(i)
	}
	return i + 1
}

// local reads a class that is declared in a method.
func (j *javaFile) local(i int) int {
	first, head := i, i
	for i < len(j.toks) && (j.is(i, '@') || j.word(i, "abstract") || j.word(i, "final") || j.word(i, "static") || j.word(i, "strictfp")) {
		if j.is(i, '@') {
			leading := head == i
			i = j.annotation(i)
			if leading {
				head = i
			}
			continue
		}
		i++
	}
	switch j.text(i) {
	case "class", "interface", "enum":
		if j.name(i + 1) {
			return j.typ(first, head, i, false)
		}
	case "record":
		if j.name(i+1) && (j.is(i+2, '(') || j.is(i+2, '<')) && (first < i || i > 0 && (j.is(i-1, ';') || j.is(i-1, '{') || j.is(i-1, '}'))) {
			return j.typ(first, head, i, false)
		}
	}
	return max(i, first+1)
}

func (j *javaFile) callSites() {
	for i := 0; i+1 < len(j.toks); i++ {
		t := &j.toks[i]
		if t.kind != tokenIdent || t.mark&markName != 0 || javaReserved.has(j.text(i)) || j.is(i-1, '@') {
			continue
		}
		n := i + 1
		if j.is(n, '<') && i > 0 && (j.word(i-1, "new") || j.is(i-1, '.')) {
			n = j.skipAngles(n)
		}
		if j.is(n, '(') {
			j.call(j.receiverBefore(i), j.text(i), int(t.start))
		}
	}
}
