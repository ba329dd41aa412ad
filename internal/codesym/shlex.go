package codesym

import "strings"

// shLexer fills the tokens and comments of shell source. Punctuation is what stands as such in the grammar: a brace that is a word where a command may begin, a bracket that
// closes no pattern of a case. Everything else is part of a word or of an operator.
type shLexer struct {
	*builder
	first bool
	// command says that a command may begin here.
	command bool
	// heredocs are the marks that end the texts which begin with the next line.
	heredocs []heredoc
	// cases are the case statements that are open: whether a pattern may begin.
	cases []bool
	// depths counts the brackets that are open within each case statement.
	depth  int
	depths []int
	// test says that the walk is between [[ and ]], where brackets and operators are those of an expression.
	test   bool
	wasted int
}

type heredoc struct {
	end  string
	tabs bool // before it do not count
}

const (
	markCommand = 1 << 4 // the word of a command
	markAssign  = 1 << 5 // an assignment
)

func (l *shLexer) push(start, end int, kind tokenKind, c byte) int {
	l.token(start, end, kind, c, l.first)
	l.first = false
	return end
}

func (l *shLexer) run() {
	src := l.src
	l.lex(6)
	l.first, l.command = true, true
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			l.newline()
			if n := len(l.toks); l.test && n > 1 && (l.toks[n-2].kind != tokenNumber || l.toks[n-2].start == l.toks[n-2].end) {
				l.test = false // nothing goes on in the next line
			}
			l.first, l.command = true, !l.test
			i = l.texts(i + 1)
		case classes[c]&classSpace != 0:
			i++
		case c == '\\' && i+1 < len(src) && (src[i+1] == '\n' || src[i+1] == '\r'):
			i = min(len(src), lineEnd(src, i)+1)
		case c == '#':
			end := lineEnd(src, i)
			l.comments = append(l.comments, span{int32(i), int32(end)})
			i = end
		case c == ';' || c == '&' || c == '|' || c == '<' || c == '>':
			i = l.operator(i)
		case c == '(' || c == ')':
			i = l.bracket(i)
		default:
			i = l.word(i)
		}
	}
}

func (l *shLexer) newline() {
	if n := len(l.toks); n > 0 && l.toks[n-1].kind != tokenNewline {
		l.toks = append(l.toks, tok{start: l.toks[n-1].end, end: l.toks[n-1].end, kind: tokenNewline, match: -1})
	}
}

func (l *shLexer) operator(i int) int {
	src, c := l.src, l.src[i]
	end := i + 1
	switch {
	case strings.HasPrefix(src[i:], "<<<"):
		end = i + 3
	case strings.HasPrefix(src[i:], "<<"):
		return l.heredoc(i)
	case (c == '<' || c == '>') && end < len(src) && src[end] == '(':
		l.push(i, end, tokenString, 0) // a process in the place of a file
		return end
	case strings.HasPrefix(src[i:], ";;&"):
		end = i + 3
	case end < len(src) && (src[end] == c || src[end] == '&' || c == '&' && src[end] == '>' || c == '>' && src[end] == '|' || c == '<' && src[end] == '>'):
		end = i + 2
	}
	text := src[i:end]
	if n := len(l.cases); n > 0 && c == ';' && len(text) > 1 && l.depth == l.depths[n-1] {
		l.cases[n-1] = true
	}
	l.push(i, end, tokenNumber, 0)
	l.command = c != '<' && c != '>' && text != "&>" && !l.test
	return end
}

// heredoc reads the mark of a text that begins with the next line.
func (l *shLexer) heredoc(i int) int {
	h := heredoc{}
	k := i + 2
	if k < len(l.src) && l.src[k] == '-' {
		h.tabs = true
		k++
	}
	for k < len(l.src) && (l.src[k] == ' ' || l.src[k] == '\t') {
		k++
	}
	from := k
	var mark strings.Builder
	for k < len(l.src) && classes[l.src[k]]&classSpace == 0 && strings.IndexByte("\n;&|<>()", l.src[k]) < 0 {
		if c := l.src[k]; c != '\'' && c != '"' && c != '\\' {
			mark.WriteByte(c)
		}
		k++
	}
	if h.end = mark.String(); k == from || h.end == "" || classes[l.src[from]]&classDigit != 0 {
		l.push(i, i+2, tokenNumber, 0) // a shift
		return i + 2
	}
	l.heredocs = append(l.heredocs, h)
	return l.push(i, k, tokenString, 0)
}

// texts reads the texts that begin at i, the start of a line, and returns the offset after them.
func (l *shLexer) texts(i int) int {
	for _, h := range l.heredocs {
		start, found := i, false
		if l.wasted > 4*len(l.src) {
			break
		}
		for i < len(l.src) && !found {
			end := lineEnd(l.src, i)
			line := strings.TrimRight(l.src[i:end], "\r")
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			found = line == h.end
			i = min(end+1, len(l.src))
		}
		if !found {
			l.errorAt(max(start-1, 0), "text up to "+shorten(h.end, 40)+" is not closed")
			l.wasted += i - start
			i = start
			continue
		}
		// The lines of the text are words of the program: they count for hashes.
		for k := start; k < i; {
			end := lineEnd(l.src, k)
			if k < end {
				l.push(k, end, tokenString, 0)
			}
			k = end + 1
		}
		l.newline()
		l.first = true
	}
	l.heredocs = l.heredocs[:0]
	return i
}

func (l *shLexer) bracket(i int) int {
	n, last := len(l.cases), len(l.toks)-1
	pattern := n > 0 && l.depth == l.depths[n-1]
	switch {
	case l.test:
		return l.push(i, i+1, tokenNumber, 0)
	case strings.HasPrefix(l.src[i:], "((") && (l.command || last >= 0 && l.text(last) == "for"):
		if end := l.arithmeticEnd(i); end > 0 {
			l.command = false
			return l.push(i, end, tokenString, 0)
		}
	case l.src[i] == ')' && pattern: // behind a pattern
		l.cases[n-1], l.command = false, true
		return l.push(i, i+1, tokenNumber, 0)
	case l.src[i] == '(' && pattern && l.cases[n-1]: // in front of one
		return l.push(i, i+1, tokenNumber, 0)
	case l.src[i] == '(':
		l.depth++
		// The elements of a list are no commands.
		l.command = last < 0 || l.toks[last].mark&markAssign == 0 || int(l.toks[last].end) != i
	default:
		l.depth = max(l.depth-1, 0)
		l.command = true
	}
	return l.push(i, i+1, tokenPunct, l.src[i])
}

// arithmeticEnd returns the end of the expression between double brackets that begins at i, 0 where it is none.
func (l *shLexer) arithmeticEnd(i int) int {
	depth, k := 0, i
	for ; k < len(l.src) && k < i+1000 && l.wasted <= 4*len(l.src); k++ {
		switch l.src[k] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 && l.src[k-1] == ')' {
				return k + 1
			} else if depth == 0 {
				l.wasted += k - i
				return 0
			}
		}
	}
	l.wasted += k - i
	return 0
}

// word reads the word that begins at i.
func (l *shLexer) word(i int) int {
	end, plain := l.wordEnd(i)
	text := l.src[i:end]
	if n := len(l.toks); !l.command && n > 0 && l.text(n-1) == "function" && l.toks[n-1].kind == tokenIdent {
		l.command = true // the body
		return l.push(i, end, tokenIdent, 0)
	}
	if !l.command {
		l.test = l.test && text != "]]"
		if n := len(l.cases); text == "in" && n > 0 && !l.cases[n-1] && l.depth == l.depths[n-1] && len(l.toks) > 1 && l.text(len(l.toks)-2) == "case" {
			l.cases[n-1], l.command = true, false
		}
		return l.push(i, end, tokenString, 0)
	}
	if text == "{" || text == "}" {
		l.command = true
		return l.push(i, end, tokenPunct, text[0])
	}
	kind := tokenString
	if plain && classes[text[0]]&classDigit == 0 {
		kind = tokenIdent
	}
	n := len(l.toks)
	l.push(i, end, kind, 0)
	if c := len(l.cases); c > 0 && l.cases[c-1] && l.depth == l.depths[c-1] {
		if text == "esac" {
			l.cases, l.depths = l.cases[:c-1], l.depths[:c-1]
		}
		l.command = text == "esac"
		return end
	}
	switch text {
	case "case":
		l.cases, l.depths, l.command = append(l.cases, false), append(l.depths, l.depth), false
	case "esac":
		if c := len(l.cases); c > 0 {
			l.cases, l.depths = l.cases[:c-1], l.depths[:c-1]
		}
	case "if", "then", "else", "elif", "while", "until", "do", "!", "time", "done", "fi", "coproc":
	case "for", "select", "function", "in":
		l.command = false
	case "[[":
		l.command, l.test = false, true
	default:
		if shAssigns(text) > 0 {
			l.toks[n].mark |= markAssign
			break
		}
		l.toks[n].mark |= markCommand
		l.command = false
	}
	return end
}

// shAssigns returns the length of the name that a word assigns to, 0 where it assigns nothing.
func shAssigns(text string) int {
	n := identEnd(text, 0)
	if n == 0 || classes[text[0]]&classDigit != 0 {
		return 0
	}
	rest := text[n:]
	if strings.HasPrefix(rest, "[") {
		if k := strings.IndexByte(rest, ']'); k > 0 {
			rest = rest[k+1:]
		}
	}
	if strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "+=") {
		return n
	}
	return 0
}

// wordEnd returns the end of the word that begins at i, and whether nothing in it is quoted or expanded.
func (l *shLexer) wordEnd(i int) (end int, plain bool) {
	src := l.src
	plain = true
	for i < len(src) {
		switch c := src[i]; {
		case c == '\n' || classes[c]&classSpace != 0 || strings.IndexByte(";&|<>()", c) >= 0:
			return i, plain
		case c == '\\':
			plain = false
			if i += 2; i > len(src) {
				i = len(src)
			}
		case c == '\'' || c == '"' || c == '`' || c == '$':
			i, plain = l.quotedEnd(i), false
		default:
			if c == '/' || c == '=' || c == '*' || c == '?' || c == '[' {
				plain = false
			}
			i++
		}
	}
	return i, plain
}

// maxShellDepth bounds how deeply quotes, substitutions and expansions nest.
const maxShellDepth = 200

// quotedEnd returns the end of what begins with a quote or a dollar sign at i. What is not closed ends with its line.
func (l *shLexer) quotedEnd(i int) int {
	src, from := l.src, i
	var open []byte // what closes the levels: a quote, a bracket, or 0 for a level of brackets only
	limit := len(src)
	if l.wasted > 4*len(src) {
		limit = lineEnd(src, i)
	}
	fail := func() int {
		l.wasted += i - from
		l.errorAt(from, "quote is not closed")
		return max(lineEnd(src, from), from+1)
	}
	for i < limit {
		c := src[i]
		top := byte(0)
		if n := len(open); n > 0 {
			top = open[n-1]
		}
		switch {
		case top == '\'':
			if c == '\'' {
				open = open[:len(open)-1]
			}
			i++
		case c == '\n' && shFunctionAt(src, i+1):
			return fail() // the beginning of a function: what was to close before it did not
		case c == '\\' && i+1 < limit:
			i += 2
		case c == top && top != 0:
			open = open[:len(open)-1]
			i++
		case c == '"' || c == '`':
			open = append(open, c)
			i++
		case c == '\'' && top != '"' && top != '`' || c == '\'' && top == ')':
			open = append(open, '\'')
			i++
		case c == '$' && i+1 < limit && src[i+1] == '(':
			open = append(open, ')')
			i += 2
		case c == '$' && i+1 < limit && src[i+1] == '{':
			open = append(open, '}')
			i += 2
		case c == '$' && i+1 < limit && src[i+1] == '\'' && top != '"':
			end, ok := shEscaped(src, i+1)
			if !ok {
				return fail()
			}
			i = end
		case c == '(' && top == ')':
			open = append(open, ')')
			i++
		case c == '#' && top == ')' && (src[i-1] == ' ' || src[i-1] == '\n' || src[i-1] == '\t'):
			i = lineEnd(src, i)
		case c == '$' && len(open) == 0:
			i++
			for i < limit && classes[src[i]]&classIdent != 0 {
				i++
			}
			if i < limit && i == from+1 && strings.IndexByte("#?*@!-$", src[i]) >= 0 {
				i++
			}
		default:
			i++
		}
		if len(open) == 0 {
			return i
		}
		if len(open) > maxShellDepth {
			return fail()
		}
	}
	return fail()
}

// shEscaped returns the end of the string with backslash escapes whose quote stands at i.
func shEscaped(src string, i int) (end int, ok bool) {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\'':
			return i + 1, true
		case '\\':
			i++
		case '\n':
			if shFunctionAt(src, i+1) {
				return i, false
			}
		}
	}
	return len(src), false
}

// shFunctionAt reports whether a function begins at i, at the left margin.
func shFunctionAt(src string, i int) bool {
	end := i
	for end < len(src) && end < i+100 && (classes[src[end]]&classIdent != 0 || src[end] == '-' || src[end] == ':' || src[end] == '.') {
		end++
	}
	return end > i && strings.HasPrefix(src[end:], "() {") && src[min(end+4, len(src)-1)] == '\n'
}
