package cortex

import (
	"strings"

	"sakur4/internal/codesym"
)

// maxAnnotation is how much of a type that is written behind a name is looked at, in bytes.
const maxAnnotation = 120

// receiverKey is a receiver within what it is declared in.
type receiverKey struct {
	scope, file int
	name        string
}

// receiverType returns the type of the project that a receiver was declared with or made as, "" where nothing says so: a variable of the function or of the module,
// or a field of the type around the call. Only what stands beside the name is read: "x: T", "x = T(…)", "x = new T(…)", "T x".
func (r *Resolver) receiverType(p *place) string {
	if r.Text == nil || strings.ContainsAny(p.ref.Receiver, "()[]{}\"'` ") {
		return ""
	}
	text, ok := r.Text(p.ref.File)
	if !ok {
		return ""
	}
	recv := p.ref.Receiver
	for _, self := range [...]string{"self.", "this.", "this->", "cls."} {
		if field, ok := strings.CutPrefix(recv, self); ok {
			return r.declaredIn(p, r.around(p.ref.From, true), text, field)
		}
	}
	if typ := r.declaredIn(p, r.around(p.ref.From, false), text, recv); typ != "" {
		return typ
	}
	if implicitThis(p.lang) {
		if typ := r.declaredIn(p, r.around(p.ref.From, true), text, recv); typ != "" {
			return typ
		}
	}
	return r.declaredIn(p, -1, text, recv)
}

// around returns the outermost function around a symbol that is in no type further in, or the innermost type; -1 for none.
func (r *Resolver) around(from int, typ bool) int {
	g := r.g
	out := -1
	for i := from; i >= 0; i = g.src.Symbols[i].Parent {
		switch k := g.src.Symbols[i].Kind; {
		case isType(k) && typ:
			return i
		case isType(k):
			return out
		case k == codesym.Function || k == codesym.Method:
			if out = i; typ && k == codesym.Method && g.src.Symbols[i].Parent < 0 {
				return r.typeOfMethod(i)
			}
		}
	}
	if typ {
		return -1
	}
	return out
}

// declaredIn looks for what a name is declared as in a symbol, or in the lines of a file that are not indented for -1.
func (r *Resolver) declaredIn(p *place, scope int, text, name string) string {
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !identRune(c) }) {
		return ""
	}
	key := receiverKey{scope, p.ref.File, name}
	if typ, ok := r.receivers[key]; ok {
		return typ
	}
	r.receivers[key] = "" // a value that is made of itself is nothing
	from, to := 0, len(text)
	if scope >= 0 {
		s := &r.g.src.Symbols[scope]
		if s.File != p.ref.File || s.End > len(text) {
			return ""
		}
		from, to = s.Start, s.End
	}
	typ := ""
	for at := wordAt(text[:to], name, from); at >= 0 && typ == ""; at = wordAt(text[:to], name, at+len(name)) {
		line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
		if scope < 0 && strings.TrimLeft(line, " \t") != line || strings.HasSuffix(line, ".") && !strings.HasSuffix(line, "self.") && !strings.HasSuffix(line, "this.") {
			continue
		}
		typ = r.typeBeside(p, line, text[at+len(name):to])
	}
	r.receivers[key] = typ
	return typ
}

// typeBeside returns the type of the project that stands in front of a name or behind it.
func (r *Resolver) typeBeside(p *place, before, after string) string {
	switch p.lang {
	case codesym.Java, codesym.C, codesym.CPP:
		rest := strings.TrimLeft(after, " \t")
		if rest == "" || !strings.ContainsRune("=;,):", rune(rest[0])) || strings.HasPrefix(rest, "==") {
			return ""
		}
		before = strings.TrimRight(before, " \t*&")
		if strings.HasSuffix(before, ">") {
			if open := strings.IndexByte(before, '<'); open > 0 {
				before = before[:open]
			}
		}
		start := len(before)
		for start > 0 && identRune(rune(before[start-1])) {
			start--
		}
		return r.ofProject(p, before[start:])
	}
	rest := strings.TrimLeft(after, " \t?!")
	if annotation, ok := strings.CutPrefix(rest, ":"); ok && !strings.HasPrefix(annotation, ":") && !strings.HasPrefix(annotation, "=") {
		end := strings.IndexAny(annotation, "\n;={")
		if end < 0 || end > maxAnnotation {
			end = min(len(annotation), maxAnnotation)
		}
		for word := range strings.FieldsFuncSeq(annotation[:end], func(c rune) bool { return !identRune(c) }) {
			if typ := r.ofProject(p, word); typ != "" {
				return typ
			}
		}
		rest = annotation[end:]
	}
	value, ok := strings.CutPrefix(rest, "=")
	if !ok || strings.HasPrefix(value, "=") || strings.HasPrefix(value, ">") {
		return ""
	}
	value = strings.TrimLeft(value, " \t")
	for _, word := range [...]string{"await ", "new "} {
		value = strings.TrimPrefix(value, word)
	}
	end := strings.IndexFunc(value, func(c rune) bool { return !identRune(c) && c != '.' && c != ':' })
	if end <= 0 || value[end] != '(' && value[end] != '<' && value[end] != '{' {
		return ""
	}
	made := value[:end]
	if typ := r.ofProject(p, lastName(made)); typ != "" || p.lang != codesym.Rust {
		return typ
	}
	if cut := strings.LastIndex(made, "::"); cut > 0 { // T::new(…)
		return r.ofProject(p, lastName(made[:cut]))
	}
	return ""
}

// ofProject returns a name if the file may mean a type of the project by it.
func (r *Resolver) ofProject(p *place, name string) string {
	if name == "" || len(r.typesNamed(p.ref.File, name)) == 0 {
		return ""
	}
	return name
}
