package codesym

import "strings"

var cReserved = set("auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Alignas _Alignof _Atomic _Bool _Complex _Generic _Noreturn _Static_assert _Thread_local __attribute__ __declspec __asm__ asm typeof __typeof__ defined")

var cppReserved = set("alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class compl concept consteval constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq")

// parseC reads C source, parseCPP C++ source.
func parseC(b *builder)   { (&cFile{builder: b}).parse() }
func parseCPP(b *builder) { (&cFile{builder: b, cpp: true}).parse() }

// cFile walks the tokens of a file once, those for the preprocessor aside.
type cFile struct {
	*builder
	cpp    bool
	scopes []cScope
	// prototypes are the declarations of functions without a body, friends those in classes that are no members.
	prototypes, friends []int
	// looked counts the tokens that were looked at for what closes a class that nothing opens.
	looked int
}

type cScope struct {
	kind cKind
	end  int
	// name is the class that constructors have the name of.
	name string
}

type cKind uint8

const (
	cTop cKind = iota + 1
	cClass
	cBody
)

func (f *cFile) parse() {
	(&cLexer{builder: f.builder, cpp: f.cpp}).run()
	// The walk sees no preprocessor lines: they are taken out, and put back for the hashes.
	all := f.toks
	kept := make([]tok, 0, len(all))
	for _, t := range all {
		if t.kind != tokenDirective {
			kept = append(kept, t)
		}
	}
	f.toks = kept
	f.matchBrackets(func(i int) bool {
		if f.toks[i].kind != tokenIdent {
			return false
		}
		switch f.text(i) {
		case "case", "default", "else", "catch", "public", "private", "protected", "signals", "slots":
			return false
		}
		return f.text(i+1) != ":" && !f.is(i+1, ',') && !f.is(i+1, '}') && f.text(i+1) != "=" // a label, or one of the names of an enum
	})
	f.scopes = append(f.scopes, cScope{kind: cTop, end: len(f.toks)})
	for i := 0; i < len(f.toks); {
		for len(f.scopes) > 1 && f.top().end <= i {
			f.scopes = f.scopes[:len(f.scopes)-1]
		}
		next := 0
		if f.top().kind == cBody {
			next = f.inBody(i)
		} else {
			next = f.declaration(i)
		}
		i = max(next, i+1)
	}
	f.callSites()
	f.dropPrototypes()
	f.toks = all
}

func (f *cFile) top() *cScope { return &f.scopes[len(f.scopes)-1] }

func (f *cFile) reserved(s string) bool { return cReserved.has(s) || f.cpp && cppReserved.has(s) }

func (f *cFile) name(i int) bool {
	return i >= 0 && i < len(f.toks) && f.toks[i].kind == tokenIdent && !f.reserved(f.text(i))
}

func (f *cFile) word(i int, w string) bool {
	return i >= 0 && i < len(f.toks) && f.toks[i].kind == tokenIdent && f.text(i) == w
}

func (f *cFile) enter(kind cKind, open int, name string) int {
	f.scopes = append(f.scopes, cScope{kind, f.endOf(open), name})
	return open + 1
}

func (f *cFile) declare(d decl, first, name, last, sig int) int {
	f.toks[name].mark |= markName
	if d.name == "" {
		d.name = f.text(name)
	}
	d.nameAt = int(f.toks[name].start)
	f.outline(d, first, last, sig)
	return len(f.decls) - 1
}

// attribute returns the token after an attribute at i, or i where there is none.
func (f *cFile) attribute(i int) int {
	for i < len(f.toks) {
		switch {
		case f.is(i, '[') && f.is(i+1, '['):
			i = f.after(i)
		case f.toks[i].kind != tokenIdent:
			return i
		case f.is(i+1, '(') && cAttributes.has(f.text(i)):
			i = f.after(i + 1)
		case strings.HasPrefix(f.text(i), "__attribute_"): // a macro for one
			if i++; f.is(i, '(') {
				i = f.after(i)
			}
		default:
			return i
		}
	}
	return i
}

var cAttributes = set("__attribute__ __declspec alignas _Alignas __asm__ asm __asm decltype typeof __typeof__ noexcept throw explicit __attribute")

// declaration reads what begins at i in a file, a namespace or a class.
func (f *cFile) declaration(i int) int {
	first := i
	if f.is(i, ';') || f.is(i, '}') || f.is(i, ')') {
		return i + 1
	}
	if f.between(i) {
		return i + 1
	}
	for f.word(i, "template") {
		if i++; f.is(i, '(') { // a macro that stands for a list of parameters and what they must be
			for f.is(i, '(') && f.closed(i) {
				i = f.after(i)
			}
			continue
		}
		if !f.is(i, '<') {
			return f.semicolon(i) // what a template makes here is declared elsewhere
		}
		i = f.skipAngles(i)
		if f.word(i, "requires") {
			i = f.constraint(i + 1)
		}
	}
	if i >= len(f.toks) {
		return i
	}
	switch {
	case f.is(i, '{'):
		return f.enter(cBody, i, "")
	case f.word(i, "extern") && f.word(i+1, "template"):
		return f.semicolon(i)
	case f.word(i, "extern") && i+1 < len(f.toks) && f.toks[i+1].kind == tokenString:
		if f.is(i+2, '{') {
			return f.enter(cTop, i+2, "")
		}
		return i + 2
	case f.toks[i].kind == tokenIdent && f.is(i+1, ':') && f.text(i+1) == ":" && f.top().kind == cClass && !f.word(i, "enum") && !f.word(i, "struct") && !f.word(i, "class"):
		return i + 2 // public:
	case f.accessAt(i):
		return i + 3
	}
	if f.cpp {
		switch f.text(i) {
		case "namespace", "inline":
			if next := f.namespace(first, i); next > 0 {
				return next
			}
		case "using":
			return f.using(first, i)
		case "static_assert":
			return f.after(i+1) + 1
		case "concept":
			if f.name(i + 1) {
				end := f.semicolon(i + 2)
				f.declare(decl{kind: Type}, first, i+1, end-1, max(end-2, i+1))
				return end
			}
		}
	}
	return f.declarators(first, i)
}

// between reports whether the name at i is a macro that opens or closes something around declarations, such as __BEGIN_DECLS, and has its line for itself: it is no part of what
// follows it.
func (f *cFile) between(i int) bool {
	if !f.toks[i].first || i+1 < len(f.toks) && !f.toks[i+1].first || !f.name(i) || !capitals(f.text(i)) {
		return false
	}
	for part := range strings.SplitSeq(f.text(i), "_") {
		switch part {
		case "BEGIN", "END", "OPEN", "CLOSE", "START", "STOP", "ENTER", "LEAVE", "PUSH", "POP":
			return true
		}
	}
	return false
}

// accessAt reports whether a label for the members of a class stands at i.
func (f *cFile) accessAt(i int) bool {
	if f.top().kind != cClass || f.toks[i].kind != tokenIdent {
		return false
	}
	if f.word(i+1, "slots") || f.word(i+1, "Q_SLOTS") {
		return f.is(i+2, ':')
	}
	if !f.is(i+1, ':') || f.text(i+1) != ":" {
		return false
	}
	switch f.text(i) {
	case "public", "private", "protected", "signals", "Q_SIGNALS":
		return true
	}
	return false
}

// constraint returns the token after a requires clause in front of a declaration.
func (f *cFile) constraint(i int) int {
	for i < len(f.toks) {
		switch {
		case f.is(i, '('):
			i = f.after(i)
		case f.name(i):
			for i++; f.text(i) == "::" && f.name(i+1); {
				i += 2
			}
			if f.is(i, '<') {
				i = f.skipAngles(i)
			}
		case f.word(i, "requires"):
			i++
			if f.is(i, '(') {
				i = f.after(i)
			}
			if f.is(i, '{') {
				i = f.after(i)
			}
		default:
			return i
		}
		if s := f.text(i); s != "&&" && s != "||" {
			return i
		}
		i++
	}
	return i
}

// semicolon returns the token after the next semicolon outside of brackets.
func (f *cFile) semicolon(i int) int {
	for i < len(f.toks) && !f.is(i, ';') && !f.is(i, '}') {
		if f.toks[i].kind == tokenPunct && closerOf(f.toks[i].c) != 0 {
			closed, brace := f.closed(i), f.is(i, '{')
			if i = f.after(i); !closed || brace && i < len(f.toks) && f.toks[i].first && f.toks[i].kind == tokenIdent {
				return i // where the bracket was taken to end, or behind a body, something else begins
			}
			continue
		}
		i++
	}
	if f.is(i, ';') {
		i++
	}
	return i
}

func (f *cFile) namespace(first, i int) int {
	if f.word(i, "inline") {
		if i++; !f.word(i, "namespace") {
			return 0
		}
	}
	n := f.attribute(i + 1)
	macro := false
	if f.name(n) && f.is(n+1, '(') && f.closed(n+1) && (f.is(f.after(n+1), '{') || f.name(f.after(n+1))) { // a macro for attributes, or one that makes the name
		n, macro = f.attribute(f.after(n+1)), true
	}
	name := n
	for f.name(n) || f.text(n) == "::" || f.word(n, "inline") {
		n++
	}
	n = f.attribute(n)
	switch {
	case f.is(n, '{') && (n == i+1 || macro && n == name): // without a name
		return f.enter(cTop, n, "")
	case f.is(n, '{') && f.name(name):
		last := n - 1
		for !f.name(last) && last > name {
			last--
		}
		d := decl{kind: Module}
		if last > name {
			d.name = strings.Join(strings.Fields(f.src[f.toks[name].start:f.toks[last].end]), "")
		}
		f.declare(d, first, name, f.after(n)-1, n-1)
		return f.enter(cTop, n, "")
	case n == i+1 && n < len(f.toks) && f.toks[n].first: // without a name and a brace
		return n
	case f.name(name) && n < len(f.toks) && !f.is(n, '=') && !f.is(n, ';'): // the brace is missing
		f.declare(decl{kind: Module, partial: true}, first, name, n-1, n-1)
		return n
	}
	return f.semicolon(i)
}

func (f *cFile) using(first, i int) int {
	end := f.semicolon(i)
	if end-2 <= i {
		return end
	}
	n := f.attribute(i + 2)
	if f.name(n) && capitals(f.text(n)) { // a macro for attributes
		if n++; f.is(n, '(') {
			n = f.after(n)
		}
	}
	if f.name(i+1) && f.is(n, '=') {
		f.declare(decl{kind: Type}, first, i+1, end-1, max(end-2, i+1))
		return end
	}
	n = i + 1
	all := f.word(n, "namespace")
	if all {
		n++
	}
	name := f.collapse("", int(f.toks[n].start), int(f.toks[end-2].end))
	if name == "" || f.word(i+1, "enum") {
		return end
	}
	imp := Import{Path: name, Name: "*", Symbol: len(f.decls), Offset: int(f.toks[i].start)}
	if !all {
		imp.Path, imp.Name, _ = cutLast(name, "::")
	}
	f.imports = append(f.imports, imp)
	f.outline(decl{kind: ImportOf, name: name}, first, end-1, max(end-2, i+1))
	return end
}

// typeAt reads a struct, class, union or enum at i. It returns the bracket of its body, or -1 where there is none, and the token after the head.
func (f *cFile) typeAt(i int) (kind Kind, name, open int, bases []string) {
	n := i + 1
	switch f.text(i) {
	case "struct", "union":
		kind = Struct
	case "class":
		kind = Class
	case "enum":
		kind = Enum
		if f.word(n, "class") || f.word(n, "struct") {
			n++
		}
	}
	name = -1
	held := -1 // the name in the brackets of a macro, which is the type's where no other follows
	for n < len(f.toks) && n < i+60 {
		if k := f.attribute(n); k > n {
			n = k
			continue
		}
		switch {
		case f.name(n):
			if name >= 0 && f.word(n, "final") {
				n++
				continue
			}
			if f.is(n+1, '(') {
				after := f.after(n + 1)
				switch {
				case name >= 0 && !capitals(f.text(n)):
					return kind, name, -1, nil // a function that returns the type
				case f.name(after) || f.is(after, '{') || f.is(after, ':') && f.bracketed(n+1): // a macro for attributes
					if name < 0 && f.bracketed(n+1) && capitals(f.text(n)) && !capitals(f.text(n+2)) {
						held = n + 2
					}
					n = after
					continue
				}
			}
			name = n
			n++
			continue
		case f.text(n) == "::" && name >= 0:
			n++
			continue
		case f.is(n, '<') && name >= 0:
			n = f.skipAngles(n)
			continue
		}
		break
	}
	if name < 0 {
		name = held
	}
	if f.is(n, ':') && f.text(n) == ":" {
		from := n + 1
		for n++; n < len(f.toks) && !f.is(n, '{') && !f.is(n, ';') && !f.is(n, '}') && !f.is(n, ')') && !f.label(n); {
			switch {
			case f.is(n, '<'):
				n = f.skipAngles(n)
			case f.is(n, '('):
				n = f.after(n)
			default:
				n++
			}
			if f.is(n, ',') || f.is(n, '{') {
				for from < n && (f.word(from, "public") || f.word(from, "private") || f.word(from, "protected") || f.word(from, "virtual")) {
					from++
				}
				if from < n && len(bases) < maxBases && kind != Enum {
					bases = append(bases, f.collapse("", int(f.toks[from].start), int(f.toks[n-1].end)))
				}
				from = n + 1
			}
		}
	}
	if !f.is(n, '{') || f.cpp && name == i+2 && n == i+3 && f.is(n+1, '}') && f.is(n+2, ';') && f.name(i+1) && !capitals(f.text(i+1)) && !exports(f.text(i+1)) {
		return kind, name, -1, nil // the last is a variable with an empty value: struct tm now{};
	}
	return kind, name, n, bases
}

// exports reports whether a word in front of a type's name looks like a macro for attributes and not like a type.
func exports(word string) bool {
	word = strings.ToUpper(word)
	for _, part := range [...]string{"EXPORT", "API", "DLL", "PUBLIC", "VISIB", "DEPRECAT", "ATTR"} {
		if strings.Contains(word, part) {
			return true
		}
	}
	return false
}

// label reports whether a label that changes the access to members begins a line at i.
func (f *cFile) label(i int) bool {
	return f.toks[i].first && f.is(i+1, ':') && f.text(i+1) == ":" && (f.word(i, "public") || f.word(i, "private") || f.word(i, "protected"))
}

// typeBody adds a type whose body opens at open, and returns the token at which the walk goes on: in the body, or after it.
func (f *cFile) typeBody(kind Kind, first, name, open int, bases []string) int {
	if name >= 0 {
		f.declare(decl{kind: kind, bases: bases}, first, name, f.after(open)-1, open-1)
	}
	if kind == Enum {
		f.enumerators(open, f.endOf(open))
		return f.after(open)
	}
	class := ""
	if name >= 0 {
		class = f.text(name)
	}
	return f.enter(cClass, open, class)
}

// enumerators adds the names between the tokens open and end.
func (f *cFile) enumerators(open, end int) {
	for i := open + 1; i < end; i++ {
		name := i
		for i < end && !f.is(i, ',') {
			if f.toks[i].kind == tokenPunct && closerOf(f.toks[i].c) != 0 {
				i = f.after(i)
				continue
			}
			i++
		}
		i = min(i, end)
		if name < i && f.name(name) {
			f.declare(decl{kind: Constant}, name, name, i-1, i-1)
		}
	}
}

// inBody reads what stands at i in the body of a function: the types that are declared there.
func (f *cFile) inBody(i int) int {
	if f.toks[i].kind != tokenIdent || i > 0 && !(f.is(i-1, ';') || f.is(i-1, '{') || f.is(i-1, '}') || f.word(i-1, "static") || f.word(i-1, "typedef") || f.word(i-1, "const")) {
		return i + 1
	}
	switch f.text(i) {
	case "typedef":
		return f.declarators(i, i)
	case "using":
		if f.cpp && f.name(i+1) && f.is(i+2, '=') {
			return f.using(i, i)
		}
	case "struct", "union", "enum", "class":
		if kind, name, open, bases := f.typeAt(i); open >= 0 {
			return f.typeBody(kind, i, name, open, bases)
		}
	}
	return i + 1
}

// callSites records what looks like a call.
func (f *cFile) callSites() {
	for i := 0; i+1 < len(f.toks); i++ {
		t := &f.toks[i]
		if t.kind != tokenIdent || t.mark&markName != 0 {
			continue
		}
		n := i + 1
		if f.cpp && f.is(n, '<') && f.toks[n].start == t.end {
			n = f.skipAngles(n)
		}
		if f.is(n, '(') && !f.reserved(f.text(i)) && !declares.has(f.text(i-1)) {
			f.call(f.receiverPath(i), f.text(i), int(t.start))
		}
	}
}

// dropPrototypes leaves out the declarations of functions that the file defines.
func (f *cFile) dropPrototypes() {
	if len(f.prototypes) == 0 {
		return
	}
	defined := map[string]bool{}
	prototype, friend := map[int]bool{}, map[int]bool{}
	for _, p := range f.prototypes {
		prototype[p] = true
	}
	for _, p := range f.friends {
		friend[p] = true
	}
	for i, d := range f.decls {
		if (d.kind == Function || d.kind == Method) && !prototype[i] && !friend[i] {
			defined[d.prefixName+d.name+d.suffix] = true
		}
	}
	kept := f.decls[:0]
	at := make([]int, len(f.decls))
	for i, d := range f.decls {
		at[i] = len(kept)
		if !prototype[i] || !defined[d.prefixName+d.name+d.suffix] {
			kept = append(kept, d)
		}
	}
	f.decls = kept
	for i := range f.imports {
		f.imports[i].Symbol = at[f.imports[i].Symbol]
	}
}
