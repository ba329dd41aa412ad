package codesym

import "strings"

// shReserved are the words of the shell's grammar.
var shReserved = set("if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc")

// parseShell reads the functions of shell scripts, the constants that stand outside of them, the files that they read and the commands that they call.
func parseShell(b *builder) {
	(&shLexer{builder: b}).run()
	s := &shFile{builder: b}
	b.matchBrackets(func(i int) bool { return s.functionAt(i) > 0 })
	for i := 0; i < len(b.toks); {
		for n := len(s.ends) - 1; n >= 0 && s.ends[n] <= i; n-- {
			s.ends = s.ends[:n]
		}
		i = max(s.command(i), i+1)
	}
}

// shFile walks the tokens of a script once.
type shFile struct {
	*builder
	// ends are the ends of the functions around the walk.
	ends []int
}

// starts reports whether a command may begin at the token i.
func (s *shFile) starts(i int) bool {
	if i == 0 {
		return true
	}
	t := &s.toks[i-1]
	return t.kind == tokenNewline || t.c == '{' || t.c == '(' || t.c == '}' || t.kind == tokenNumber || t.kind == tokenIdent && shReserved.has(s.text(i-1))
}

// functionAt returns the token of the body of the function that is declared at i, 0 where none is.
func (s *shFile) functionAt(i int) int {
	t := &s.toks[i]
	if t.kind != tokenIdent && t.kind != tokenString {
		return 0
	}
	n := i + 1
	switch {
	case t.kind == tokenIdent && s.text(i) == "function" && n < len(s.toks) && s.toks[n].start < s.toks[n].end && !s.toks[n].first:
		n++
		if s.is(n, '(') && s.is(n+1, ')') {
			n += 2
		}
	case t.mark&markCommand != 0 && s.is(n, '(') && s.is(n+1, ')') && s.starts(i):
		n += 2
	default:
		return 0
	}
	if n < len(s.toks) && s.toks[n].kind == tokenNewline {
		n++
	}
	if s.is(n, '{') || s.is(n, '(') {
		return n
	}
	return 0
}

// command reads what begins at i.
func (s *shFile) command(i int) int {
	t := &s.toks[i]
	if body := s.functionAt(i); body > 0 {
		name := i
		if s.text(i) == "function" {
			name++
		}
		if word := s.text(name); !shReserved.has(word) && !strings.ContainsAny(word, "$\"'`=/\\") {
			d := decl{kind: Function, name: word, nameAt: int(s.toks[name].start), test: strings.HasPrefix(word, "test_")}
			s.outline(d, i, min(s.after(body), len(s.toks))-1, body-1)
			s.ends = append(s.ends, s.endOf(body))
			return body + 1
		}
	}
	s.substitutions(i)
	switch {
	case t.mark&markAssign != 0:
		s.constant(i, i, "", false)
	case t.mark&markCommand != 0:
		word := s.text(i)
		switch word {
		case "source", ".":
			s.imported(i)
		case "readonly":
			for k := i + 1; k < s.lineEnd(i); k++ {
				s.constant(i, k, "readonly ", true)
			}
		case "declare", "typeset":
			for k, fixed := i+1, false; k < s.lineEnd(i); k++ {
				if option := s.text(k); strings.HasPrefix(option, "-") {
					fixed = fixed || strings.Contains(option, "r")
				} else if fixed {
					s.constant(i, k, word+" -r ", true)
				}
			}
		case "export":
			for k := i + 1; k < s.lineEnd(i); k++ {
				s.constant(i, k, "export ", false)
			}
		}
		if t.kind == tokenIdent && !shReserved.has(word) {
			s.call("", word, int(t.start))
		}
	}
	return i + 1
}

// lineEnd returns the token after the words of the command at i.
func (s *shFile) lineEnd(i int) int {
	for i < len(s.toks) && (s.toks[i].kind == tokenIdent || s.toks[i].kind == tokenString) {
		i++
	}
	return i
}

// constant adds the variable that the word at k assigns to, outside of functions: one that is read-only, or one with a name of capitals, as people give to constants.
func (s *shFile) constant(i, k int, prefix string, fixed bool) {
	if len(s.ends) > 0 || k >= len(s.toks) {
		return
	}
	text := s.text(k)
	n := shAssigns(text)
	if n == 0 || !fixed && !capitals(text[:n]) || strings.HasPrefix(text[n:], "+") {
		return
	}
	last := k
	if end := n + 1; end == len(text) && s.is(k+1, '(') && s.toks[k+1].start == s.toks[k].end {
		last = min(s.after(k+1), len(s.toks)) - 1 // a list
	}
	s.outline(decl{kind: Constant, name: text[:n], prefix: prefix, nameAt: int(s.toks[k].start), docAt: int(s.toks[i].start)}, k, last, last)
}

// substitutions records the first command of each substitution in the word at i.
func (s *shFile) substitutions(i int) {
	text := s.text(i)
	if s.toks[i].kind != tokenString || text[0] == '\'' {
		return
	}
	for at := 0; ; {
		n := strings.Index(text[at:], "$(")
		if n < 0 {
			return
		}
		at += n + 2
		for at < len(text) && classes[text[at]]&classSpace != 0 {
			at++
		}
		end := at
		for end < len(text) && (classes[text[end]]&classIdent != 0 || text[end] == '-' || text[end] == ':' || text[end] == '.') {
			end++
		}
		if word := text[at:end]; end > at && end < len(text) && (text[end] == ')' || text[end] == ' ' || text[end] == '\n') && classes[word[0]]&classDigit == 0 && !shReserved.has(word) {
			s.call("", word, int(s.toks[i].start)+at)
		}
		at = end
	}
}

func (s *shFile) imported(i int) {
	if i+1 >= len(s.toks) || s.toks[i+1].kind != tokenIdent && s.toks[i+1].kind != tokenString {
		return
	}
	path := keyName(s.text(i + 1))
	if path == "" {
		return
	}
	s.imports = append(s.imports, Import{Path: path, Symbol: len(s.decls), Offset: int(s.toks[i].start)})
	s.outline(decl{kind: ImportOf, name: path}, i, i+1, i+1)
}
