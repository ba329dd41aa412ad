package codesym

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// maxErrors bounds the errors that a file lists. The first ones say where to look.
const maxErrors = 50

// maxBases bounds the bases of a type.
const maxBases = 50

// decl is a declaration as a parser found it.
type decl struct {
	kind Kind
	name string
	// scope replaces the qualified name of the parent where it is not "", suffix follows the name in the qualified name.
	scope, suffix string
	// prefixName stands before the name in the qualified name, with its separator.
	prefixName string
	// start and end are the span; sigStart and sigEnd the part of it that is the signature.
	start, end       int
	sigStart, sigEnd int
	// prefix stands before the signature's text where the span leaves a keyword out.
	prefix string
	// nameAt is the offset of the name, 0: the first place of the signature that has it as a word.
	nameAt  int
	parent  int
	doc     string
	docAt   int // where the comment that documents the declaration ends, 0: at its start
	bases   []string
	partial bool
	test    bool
}

// builder collects what a parser finds in one file.
type builder struct {
	lang Lang
	src  string
	toks []tok
	// comments are the comments in source order.
	comments []span
	decls    []decl
	calls    []Call
	imports  []Import
	errors   []Error
	lines    []int32 // offset of each line
	// angles are the tokens after the angles that were looked at, 0 for the others, and openAngles the room for the next look.
	angles, openAngles []int32

	room
}

// line returns the line of an offset, from 1.
func (b *builder) line(offset int) int {
	from, to := 0, len(b.lines) // by hand: it is asked for each symbol several times
	for from < to {
		if m := int(uint(from+to) >> 1); int(b.lines[m]) > offset {
			to = m
		} else {
			from = m + 1
		}
	}
	return from
}

func (b *builder) errorAt(offset int, message string) {
	if len(b.errors) < maxErrors {
		b.errors = append(b.errors, Error{Offset: offset, Line: b.line(offset), Message: message})
	}
}

// add appends a declaration and returns its index. Its end may be set later.
func (b *builder) add(d decl) int {
	if b.decls == nil {
		b.decls = make([]decl, 0, 8+len(b.src)/300)
	}
	b.decls = append(b.decls, d)
	return len(b.decls) - 1
}

func (b *builder) call(receiver, callee string, offset int) {
	if b.calls == nil {
		b.calls = make([]Call, 0, 8+len(b.toks)/14)
	}
	b.calls = append(b.calls, Call{Callee: callee, Receiver: receiver, Symbol: -1, Offset: offset})
}

// text returns the source of a token.
func (b *builder) text(i int) string {
	if i < 0 || i >= len(b.toks) {
		return ""
	}
	return b.src[b.toks[i].start:b.toks[i].end]
}

// finish turns the declarations into symbols.
func (b *builder) finish() File {
	b.nest()
	f := File{Lang: b.lang, Symbols: make([]Symbol, len(b.decls)), Errors: b.errors, Partial: len(b.errors) > 0}
	if len(b.calls) > 0 {
		f.Calls = append(make([]Call, 0, len(b.calls)), b.calls...)
	}
	if len(b.imports) > 0 {
		f.Imports = append(make([]Import, 0, len(b.imports)), b.imports...)
	}
	slices.SortStableFunc(f.Errors, func(x, y Error) int { return x.Offset - y.Offset })
	if b.names == nil {
		b.names = make(uniquer, len(b.decls))
	}
	for i := range b.decls {
		d := &b.decls[i]
		qualified := b.names.unique(d.kind, b.qualified(d, f.Symbols))
		name := ""
		if at := len(qualified) - len(d.name); at >= 0 && qualified[at:] == d.name {
			name = qualified[at:] // one string for both
		} else {
			name = strings.Clone(d.name)
		}
		// Many names may share a declaration, and then its text too.
		shared := i > 0 && b.decls[i-1].sameText(d)
		doc, signature := d.doc, ""
		if shared {
			doc, signature = f.Symbols[i-1].Doc, f.Symbols[i-1].Signature
		} else {
			signature = b.collapse(d.prefix, d.sigStart, d.sigEnd)
			if doc == "" {
				doc = b.docBefore(d)
			}
		}
		f.Symbols[i] = Symbol{
			Kind: d.kind, Name: name, Qualified: qualified,
			Signature: signature, Doc: doc,
			Start: d.start, End: d.end, NameAt: b.nameAt(d), Line: b.line(d.start), EndLine: b.line(max(d.start, d.end-1)),
			Partial: d.partial || b.nearError(d), Test: d.test, Parent: d.parent, Bases: d.bases,
		}
	}
	b.hash(f.Symbols)
	b.place(&f)
	return f
}

// maxScope bounds the scopes in a qualified name. Deep nesting would otherwise write names whose total length grows with the square of the text.
const maxScope = 600

// qualified returns the name with its scopes. It never holds on to the source.
func (b *builder) qualified(d *decl, symbols []Symbol) string {
	scope, parent := d.scope, d.parent
	for parent >= 0 && symbols[parent].Kind == Type {
		parent = symbols[parent].Parent // a typedef around the type that it names
	}
	switch {
	case d.kind == ImportOf:
		scope = "" // what is imported is known elsewhere by its own name
	case scope == "" && parent >= 0:
		scope = symbols[parent].Qualified
	}
	line := append(b.written[:0], shorten(scope, maxScope)...)
	if len(line) > 0 {
		line = append(line, b.lang.Separator()...)
	}
	line = append(append(append(line, d.prefixName...), d.name...), d.suffix...)
	b.written = line
	return b.keep(line)
}

func (b *builder) nameAt(d *decl) int {
	if d.nameAt > 0 && strings.HasPrefix(b.src[d.nameAt:], d.name) {
		return d.nameAt
	}
	// A name stands near the start of its signature: looking further would cost more than it tells.
	for at, text := d.sigStart, b.src[d.sigStart:min(d.sigEnd, d.sigStart+4*maxSignature)]; ; {
		n := strings.Index(text, d.name)
		if n < 0 {
			return d.start
		}
		at, text = at+n, text[n:]
		before := at > 0 && classes[b.src[at-1]]&classIdent != 0 && classes[d.name[0]]&classIdent != 0
		if end := len(d.name); !before && (end >= len(text) || classes[text[end]]&classIdent == 0) {
			return at
		}
		at, text = at+1, text[1:]
	}
}

// nest orders the declarations by position, outer ones first, and gives each the innermost one around it as parent. Spans that overlap without nesting are cut.
func (b *builder) nest() {
	sorted := true
	for i := 1; i < len(b.decls) && sorted; i++ {
		sorted = cmpDecl(&b.decls[i-1], &b.decls[i]) <= 0
	}
	if !sorted {
		order := make([]int, len(b.decls))
		for i := range order {
			order[i] = i
		}
		sort.SliceStable(order, func(i, j int) bool { return cmpDecl(&b.decls[order[i]], &b.decls[order[j]]) < 0 })
		decls, at := make([]decl, len(order)), make([]int, len(order))
		for i, o := range order {
			decls[i], at[o] = b.decls[o], i
		}
		b.decls = decls
		for i := range b.imports {
			b.imports[i].Symbol = at[b.imports[i].Symbol]
		}
	}
	stack := b.stack[:0]
	for i := range b.decls {
		d := &b.decls[i]
		for len(stack) > 0 && b.decls[stack[len(stack)-1]].end <= d.start {
			stack = stack[:len(stack)-1]
		}
		d.parent = -1
		if n := len(stack) - 1; n >= 0 {
			p := &b.decls[stack[n]]
			d.end = min(d.end, p.end)
			d.parent = stack[n]
			if p.start == d.start && p.end == d.end { // names of one declaration are siblings
				d.parent = p.parent
			}
		}
		d.sigStart = min(max(d.sigStart, d.start), d.end)
		d.sigEnd = max(min(d.sigEnd, d.end), d.sigStart)
		stack = append(stack, i)
	}
	b.stack = stack
}

func cmpDecl(x, y *decl) int {
	if x.start != y.start {
		return x.start - y.start
	}
	return y.end - x.end
}

func (d *decl) sameText(o *decl) bool {
	return d.start == o.start && d.end == o.end && d.sigStart == o.sigStart && d.sigEnd == o.sigEnd && d.docAt == o.docAt && d.prefix == o.prefix && d.doc == o.doc
}

func (b *builder) nearError(d *decl) bool {
	for _, e := range b.errors {
		if e.Offset >= d.start && e.Offset <= d.end {
			return true
		}
	}
	return false
}

// uniquer gives equal names of a kind the suffixes #2, #3 … in source order, and never a name that is taken.
type uniquer map[kindName]int

type kindName struct {
	kind Kind
	name string
}

func (u uniquer) unique(kind Kind, name string) string {
	key := kindName{kind, name}
	n := u[key] + 1
	u[key] = n
	for ; n > 1; n++ {
		again := kindName{kind, name + "#" + strconv.Itoa(n)}
		if u[key] = n; u[again] == 0 {
			u[again] = 1
			return again.name
		}
	}
	return name
}

// member reports whether the name at an offset follows a dot, an arrow, or a double colon behind something.
func (b *builder) member(offset int) bool {
	end := offset
	for end > 0 && end > offset-200 && (classes[b.src[end-1]]&classSpace != 0 || b.src[end-1] == '\n') {
		end--
	}
	if end == 0 || b.src[end-1] != '.' && b.src[end-1] != ':' && b.src[end-1] != '>' {
		return false
	}
	before := b.src[max(0, offset-200):end]
	switch {
	case strings.HasSuffix(before, "::"):
		before = before[:len(before)-2]
		return before != "" && (classes[before[len(before)-1]]&classIdent != 0 || before[len(before)-1] == '>')
	case strings.HasSuffix(before, "->"):
		return b.lang == C || b.lang == CPP
	}
	return strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "..")
}

// place gives calls and imports their lines and calls their symbols.
func (b *builder) place(f *File) {
	byOffset := func(x, y Call) int { return x.Offset - y.Offset }
	if !slices.IsSortedFunc(f.Calls, byOffset) {
		slices.SortStableFunc(f.Calls, byOffset)
	}
	line := 1
	stack := b.stack[:0]
	next := 0
	for i := range f.Calls {
		c := &f.Calls[i]
		for line < len(b.lines) && int(b.lines[line]) <= c.Offset {
			line++
		}
		c.Line, c.Member = line, b.member(c.Offset)
		for next < len(f.Symbols) && f.Symbols[next].Start <= c.Offset {
			for len(stack) > 0 && f.Symbols[stack[len(stack)-1]].End <= f.Symbols[next].Start {
				stack = stack[:len(stack)-1]
			}
			stack = append(stack, next)
			next++
		}
		for len(stack) > 0 && f.Symbols[stack[len(stack)-1]].End <= c.Offset {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 {
			c.Symbol = stack[len(stack)-1]
		}
	}
	b.stack = stack
	for i := range f.Imports {
		f.Imports[i].Line = b.line(f.Imports[i].Offset)
	}
}
