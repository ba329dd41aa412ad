package codesym

import "strings"

var ecmaReserved = set("break case catch class const continue debugger default delete do else enum export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with")

// ecmaOperand are the words that an operand follows, so that a slash behind them begins a regular expression.
var ecmaOperand = set("return typeof instanceof in of new delete void throw case do else yield await extends default")

// ecmaMode is what the lexer of JavaScript is in.
type ecmaMode uint8

const (
	ecmaBlock    ecmaMode = iota + 1 // braces around statements
	ecmaObject                       // braces around an expression's parts
	ecmaTemplate                     // braces in a template
	ecmaValue                        // braces in JSX
	ecmaParen                        // parentheses or square brackets
	ecmaControl                      // parentheses after if, for, while and with
	ecmaTag                          // between < and > of JSX
	ecmaChildren                     // between the tags of JSX
)

// ecmaLexer fills the tokens and comments of JavaScript and TypeScript.
type ecmaLexer struct {
	*builder
	jsx bool
	// odd says that the backticks of the file do not pair up: one over several lines is then looked at.
	odd  bool
	good bool
	// unclosed is an offset after which no template ends, -1 while none is known.
	unclosed int
	modes    []ecmaMode
	// tagged says that a tag has opened.
	tagged bool
	first  bool
	// regexp says whether a slash would begin a regular expression here.
	regexp bool
}

func (b *builder) lexEcma(jsx bool) {
	l := &ecmaLexer{builder: b, jsx: jsx, good: true, unclosed: -1}
	l.run()
	if !l.good {
		b.errors = nil
		l = &ecmaLexer{builder: b, jsx: jsx, odd: true, unclosed: -1}
		l.run()
	}
}

func (l *ecmaLexer) push(start, end int, kind tokenKind, c byte) {
	l.token(start, end, kind, c, l.first)
	l.first = false
}

func (l *ecmaLexer) top() ecmaMode {
	if n := len(l.modes); n > 0 {
		return l.modes[n-1]
	}
	return 0
}

func (l *ecmaLexer) pop() { l.modes = l.modes[:len(l.modes)-1] }

func ecmaIdentEnd(src string, i int) int {
	for i < len(src) && (classes[src[i]]&classIdent != 0 || src[i] == '$') {
		i++
	}
	return i
}

func (l *ecmaLexer) run() {
	src := l.src
	l.lex(4)
	l.first, l.regexp = true, true
	i := 0
	if strings.HasPrefix(src, "#!") {
		i = lineEnd(src, 0)
	}
	for i < len(src) {
		if l.tagged {
			switch l.top() {
			case ecmaTag:
				i = l.tag(i)
				continue
			case ecmaChildren:
				i = l.children(i)
				continue
			}
		}
		c := src[i]
		switch {
		case c == '\n':
			l.first = true
			i++
		case classes[c]&classSpace != 0:
			i = spaceEnd(src, i+1)
		case classes[c]&classDigit != 0 || c == '.' && i+1 < len(src) && classes[src[i+1]]&classDigit != 0:
			end := numberEnd(src, i)
			l.push(i, end, tokenNumber, 0)
			i, l.regexp = end, false
		case classes[c]&classIdent != 0 || c == '$' || c == '#' && i+1 < len(src) && classes[src[i+1]]&classIdent != 0:
			end := ecmaIdentEnd(src, i+1)
			l.regexp = ecmaOperand.has(src[i:end]) && (len(l.toks) == 0 || l.toks[len(l.toks)-1].c != '.')
			l.push(i, end, tokenIdent, 0)
			i = end
		case c == '"' || c == '\'':
			end, ok := ecmaStringEnd(src, i)
			if !ok {
				l.errorAt(i, "string is not closed")
			}
			l.push(i, end, tokenString, 0)
			i, l.regexp = end, false
		case c == '`':
			i = l.template(i, i+1)
		case c == '/':
			i = l.slash(i)
		case c == '<' && l.jsx && l.regexp && l.opensTag(i):
			l.push(i, i+1, tokenPunct, 0)
			l.modes = append(l.modes, ecmaTag)
			l.tagged = true
			i++
		case c == ',' || c == ';' || c == '.' && i+1 < len(src) && src[i+1] != '.':
			l.push(i, i+1, tokenPunct, c)
			l.regexp = true
			i++
		default:
			i = l.punctuation(i)
		}
	}
}

// ecmaStringEnd is lineStringEnd for strings that a backslash may continue on the next line.
func ecmaStringEnd(src string, i int) (end int, ok bool) {
	quote := src[i]
	for i++; i < len(src); i++ {
		switch src[i] {
		case quote:
			return i + 1, true
		case '\\':
			if i+2 < len(src) && src[i+1] == '\r' && src[i+2] == '\n' {
				i++
			}
			i++
		case '\n':
			return i, false
		}
	}
	return len(src), false
}

// template reads the part of a template that begins at i, with its text from the offset from, up to its end or to the next value in it.
func (l *ecmaLexer) template(i, from int) int {
	src := l.src
	for k := from; k < len(src) && (l.unclosed < 0 || from < l.unclosed); k++ {
		switch src[k] {
		case '\\':
			k++
		case '`':
			if l.odd && l.stray(i, src[from:k]) {
				return l.cut(i, from)
			}
			l.push(i, k+1, tokenString, 0)
			l.regexp = false
			return k + 1
		case '$':
			if k+1 < len(src) && src[k+1] == '{' {
				if l.odd && l.stray(i, src[from:k]) {
					return l.cut(i, from)
				}
				l.push(i, k, tokenString, 0)
				l.push(k, k+2, tokenPunct, '{')
				l.modes = append(l.modes, ecmaTemplate)
				l.regexp = true
				return k + 2
			}
		}
	}
	l.errorAt(i, "template is not closed")
	l.good = false
	if l.unclosed < 0 {
		l.unclosed = from
	}
	if !l.odd {
		l.push(i, len(src), tokenString, 0)
		return len(src)
	}
	end := lineEnd(src, i)
	l.push(i, end, tokenString, 0)
	return end
}

// cut ends a template that lacks a backtick: one that begins where it should end at once, another one with its line.
func (l *ecmaLexer) cut(i, from int) int {
	l.errorAt(i, "template is not closed")
	end := from
	if from == i {
		end = lineEnd(l.src, i)
	}
	if end > i {
		l.push(i, end, tokenString, 0)
	}
	return end
}

// stray reports whether a backtick at i closes a template rather than opens one: what follows up to the next one holds a declaration at the left of its line.
func (l *ecmaLexer) stray(i int, content string) bool {
	lines := strings.Lines(content)
	n := 0
	for line := range lines {
		if n++; n == 1 {
			continue
		}
		text := strings.TrimLeft(line, " \t")
		for _, word := range [...]string{"function ", "export ", "import ", "class ", "const ", "interface ", "return ", "});", "});\n"} {
			if strings.HasPrefix(text, word) && textWidth(line[:len(line)-len(text)]) <= l.lineWidth(i) {
				return true
			}
		}
	}
	return false
}

// lineWidth returns the indentation of the line that holds offset i.
func (b *builder) lineWidth(i int) int {
	line := b.src[strings.LastIndexByte(b.src[:i], '\n')+1 : i]
	return textWidth(line[:len(line)-len(strings.TrimLeft(line, " \t"))])
}

// maxRegexp is the length of the longest regular expression that is taken for one.
const maxRegexp = 4000

// slash reads a comment, a regular expression or an operator.
func (l *ecmaLexer) slash(i int) int {
	src := l.src
	if i+1 < len(src) {
		switch src[i+1] {
		case '/':
			end := lineEnd(src, i)
			l.comments = append(l.comments, span{int32(i), int32(end)})
			return end
		case '*':
			return l.blockComment(i)
		}
	}
	if l.regexp {
		class := false
		for k := i + 1; k < min(len(src), i+maxRegexp) && src[k] != '\n'; k++ {
			switch c := src[k]; {
			case c == '\\':
				k++
			case c == '[':
				class = true
			case c == ']':
				class = false
			case c == '/' && !class:
				end := ecmaIdentEnd(src, k+1)
				l.push(i, end, tokenString, 0)
				l.regexp = false
				return end
			}
		}
	}
	end := i + 1
	if end < len(src) && src[end] == '=' {
		end++
	}
	l.push(i, end, tokenPunct, '/')
	l.regexp = true
	return end
}

// blockComment records the comment that begins at i and returns its end.
func (b *builder) blockComment(i int) int {
	end := strings.Index(b.src[i+2:], "*/")
	if end < 0 {
		b.errorAt(i, "comment is not closed")
		end = len(b.src)
	} else {
		end += i + 4
	}
	b.comments = append(b.comments, span{int32(i), int32(end)})
	return end
}

func (l *ecmaLexer) punctuation(i int) int {
	src, c := l.src, l.src[i]
	end := operatorEnd(src, i, true)
	if c == '?' && end == i+2 && src[i+1] == '.' && i+2 < len(src) && classes[src[i+2]]&classDigit != 0 {
		end = i + 1
	}
	switch c {
	case '{':
		mode := ecmaBlock
		if l.object() {
			mode = ecmaObject
		}
		l.push(i, end, tokenPunct, c)
		if mode == ecmaObject {
			l.toks[len(l.toks)-1].mark = markObject
		}
		l.modes = append(l.modes, mode)
		l.regexp = true
	case '(', '[':
		mode := ecmaParen
		if n := len(l.toks); c == '(' && n > 0 && l.toks[n-1].kind == tokenIdent {
			switch l.text(n - 1) {
			case "if", "for", "while", "with":
				mode = ecmaControl
			}
		}
		l.push(i, end, tokenPunct, c)
		l.modes = append(l.modes, mode)
		l.regexp = true
	case ')', ']', '}':
		l.push(i, end, tokenPunct, c)
		l.regexp = false
		if c == '}' {
			l.unbracket()
		}
		top := l.top()
		switch {
		case c == '}' && (top == ecmaBlock || top == ecmaObject || top == ecmaTemplate || top == ecmaValue):
			l.pop()
			l.regexp = top == ecmaBlock
			if top == ecmaTemplate {
				return l.template(end, end)
			}
		case c != '}' && (top == ecmaParen || top == ecmaControl):
			l.pop()
			l.regexp = top == ecmaControl
		default:
			l.resync(c)
		}
	default:
		l.push(i, end, tokenPunct, c)
		l.regexp = src[i:end] != "++" && src[i:end] != "--"
	}
	return end
}

// unbracket ends parentheses that are open in a value of JSX when its brace closes.
func (l *ecmaLexer) unbracket() {
	k := len(l.modes) - 1
	for ; k >= 0 && k >= len(l.modes)-maxLookDown && (l.modes[k] == ecmaParen || l.modes[k] == ecmaControl); k-- {
	}
	if k >= 0 && l.modes[k] == ecmaValue {
		l.modes = l.modes[:k+1]
	}
}

// resync ends the modes that a closing bracket ends although others are open.
func (l *ecmaLexer) resync(c byte) {
	for k := len(l.modes) - 1; k >= 0 && k >= len(l.modes)-maxLookDown; k-- {
		m := l.modes[k]
		if m == ecmaTemplate || m == ecmaValue {
			return
		}
		if braces := m == ecmaBlock || m == ecmaObject; braces == (c == '}') {
			l.modes = l.modes[:k]
			return
		}
	}
}

// object reports whether a brace here begins an object and no block.
func (l *ecmaLexer) object() bool {
	n := len(l.toks)
	if n == 0 {
		return false
	}
	t := &l.toks[n-1]
	switch t.kind {
	case tokenIdent:
		switch l.text(n - 1) {
		case "return", "typeof", "in", "of", "new", "yield", "await", "default", "throw", "case", "extends":
			return true
		}
		return false
	case tokenPunct:
		switch t.c {
		case '{': // the value of an attribute or in a template
			return l.top() == ecmaValue || l.top() == ecmaTemplate
		case ';', '}', ')', ']', '>', '<':
			return false
		}
		return l.text(n-1) != "=>" && !(t.c == ':' && l.label(n-1))
	}
	return false
}

// label reports whether the colon at i ends a case or a label.
func (l *ecmaLexer) label(i int) bool {
	for k := i - 1; k >= 0 && k > i-32; k-- {
		switch t := &l.toks[k]; {
		case t.kind == tokenIdent:
			if w := l.text(k); w == "case" || w == "default" && k == i-1 {
				return true
			}
		case t.kind == tokenPunct && (t.c == '?' || t.c == ',' || t.c == '{' || t.c == '}' || t.c == '(' || t.c == ';'):
			return k == i-2 && t.c != '?' && t.c != ',' && t.c != '(' && l.top() == ecmaBlock
		}
	}
	return false
}

// opensTag reports whether a "<" where an operand may stand opens a tag of JSX and no list of type parameters.
func (l *ecmaLexer) opensTag(i int) bool {
	src := l.src
	if i+1 < len(src) && src[i+1] == '>' {
		return true
	}
	end := ecmaIdentEnd(src, i+1)
	if end == i+1 || classes[src[i+1]]&classDigit != 0 {
		return false
	}
	rest := strings.TrimLeft(src[end:min(len(src), end+200)], " \t\r\n")
	return !strings.HasPrefix(rest, ",") && !strings.HasPrefix(rest, "extends ") && !strings.HasPrefix(rest, "=")
}

// tag reads what stands at i within a tag.
func (l *ecmaLexer) tag(i int) int {
	src, c := l.src, l.src[i]
	switch {
	case c == '\n':
		l.first = true
		return i + 1
	case classes[c]&classSpace != 0:
		return i + 1
	case c == '"' || c == '\'':
		return l.attribute(i)
	case c == '{':
		l.push(i, i+1, tokenPunct, c)
		l.modes = append(l.modes, ecmaValue)
		l.regexp = true
		return i + 1
	case c == '/' && i+1 < len(src) && src[i+1] == '>':
		l.push(i, i+2, tokenPunct, 0)
		l.pop()
		l.regexp = false
		return i + 2
	case c == '/' && i+1 < len(src) && src[i+1] == '*':
		return l.blockComment(i)
	case c == '/' && i+1 < len(src) && src[i+1] == '/':
		end := lineEnd(src, i)
		l.comments = append(l.comments, span{int32(i), int32(end)})
		return end
	case c == '>':
		l.push(i, i+1, tokenPunct, 0)
		l.modes[len(l.modes)-1] = ecmaChildren
		return i + 1
	case classes[c]&classIdent != 0 || c == '$':
		end := i
		for end < len(src) && (classes[src[end]]&classIdent != 0 || src[end] == '$' || src[end] == '-') {
			end++
		}
		l.push(i, end, tokenString, 0)
		return end
	case c == '}' || c == ')' || c == ';':
		l.pop() // no tag after all
		l.regexp = false
		return i
	}
	l.push(i, i+1, tokenPunct, 0)
	return i + 1
}

// attribute reads the string at i within a tag. It may run over lines. Where the quotes of the file do not pair up, one that follows no "=" is one too many, and a string ends with
// its line.
func (l *ecmaLexer) attribute(i int) int {
	src := l.src
	end := strings.IndexByte(src[i+1:], src[i]) + i + 2
	over := end < i+2 || strings.IndexByte(src[i:end], '\n') >= 0
	if n := len(l.toks) - 1; n >= 0 && src[l.toks[n].start] != '=' && (over || l.odd) {
		l.good = false
		end, over = i+1, false
		l.errorAt(i, "string is not closed")
	}
	if over && (l.odd || end < i+2) {
		l.good = false
		end = lineEnd(src, i)
		l.errorAt(i, "string is not closed")
	}
	l.push(i, end, tokenString, 0)
	return end
}

// children reads what stands at i between two tags: words, values and tags.
func (l *ecmaLexer) children(i int) int {
	src, c := l.src, l.src[i]
	switch {
	case c == '\n':
		l.first = true
		return i + 1
	case classes[c]&classSpace != 0:
		return i + 1
	case c == '{':
		l.push(i, i+1, tokenPunct, c)
		l.modes = append(l.modes, ecmaValue)
		l.regexp = true
		return i + 1
	case c == '<' && i+1 < len(src) && src[i+1] == '/':
		end := strings.IndexByte(src[i:min(len(src), i+1000)], '>')
		if end < 0 {
			end = lineEnd(src, i) - i - 1
		}
		l.push(i, i+end+1, tokenString, 0)
		l.pop()
		l.regexp = false
		return i + end + 1
	case c == '<':
		l.push(i, i+1, tokenPunct, 0)
		l.modes = append(l.modes, ecmaTag)
		return i + 1
	}
	end := i
	for end < len(src) && src[end] != '<' && src[end] != '{' && src[end] != '\n' && classes[src[end]]&classSpace == 0 {
		end++
	}
	l.push(i, end, tokenString, 0)
	return end
}
