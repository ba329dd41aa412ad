package codesym

import "strings"

// cLexer fills the tokens and comments of C and C++, and adds the symbols that preprocessor lines declare.
type cLexer struct {
	*builder
	cpp   bool
	first bool
	// groups are the #if groups that are open, hidden the changes of how many hidden branches a token lies in.
	groups []cGroup
	hidden map[int]int
}

// cGroup is an #if with its branches. Branches whose brackets do not pair up go together, as where two heads share a body: then one of them is
// read, and the others count for hashes only.
type cGroup struct {
	branches []cBranch
	// dead says that the first branch is #if 0.
	dead bool
}

type cBranch struct {
	start, end int // tokens
	net, min   int // brackets open at its end, and the least on the way
}

func (l *cLexer) push(start, end int, kind tokenKind, c byte) {
	l.token(start, end, kind, c, l.first)
	l.first = false
}

// deepen notes brackets in the branch that is open.
func (l *cLexer) deepen(n, low int) {
	if len(l.groups) == 0 {
		return
	}
	g := &l.groups[len(l.groups)-1]
	br := &g.branches[len(g.branches)-1]
	br.min = min(br.min, br.net+low)
	br.net += n
}

func (l *cLexer) run() {
	src := l.src
	l.lex(4)
	l.hidden = map[int]int{}
	l.first = true
	for i := 0; i < len(src); {
		if src[i] == '#' && l.first {
			i = l.directive(i)
			continue
		}
		i = l.next(i, 0)
	}
	for len(l.groups) > 0 {
		l.errorAt(len(src), "#if is not closed")
		l.endif()
	}
	if len(l.hidden) > 0 {
		depth := 0
		for i := range l.toks {
			if depth += l.hidden[i]; depth > 0 {
				l.toks[i].kind, l.toks[i].c = tokenDirective, 0
			}
		}
	}
}

// next reads one token or space at i. kind replaces the kinds of the tokens where it is not 0.
func (l *cLexer) next(i int, kind tokenKind) int {
	src, c := l.src, l.src[i]
	put := func(end int, k tokenKind, c byte) int {
		if kind != 0 {
			k, c = kind, 0
		}
		l.push(i, end, k, c)
		return end
	}
	switch {
	case c == '\n':
		l.first = true
		return i + 1
	case classes[c]&classSpace != 0:
		return spaceEnd(src, i+1)
	case c == '\\' && i+1 < len(src) && (src[i+1] == '\n' || src[i+1] == '\r'):
		return min(len(src), lineEnd(src, i)+1)
	case classes[c]&classDigit != 0 || c == '.' && i+1 < len(src) && classes[src[i+1]]&classDigit != 0:
		end := numberEnd(src, i)
		for l.cpp && end+1 < len(src) && src[end] == '\'' && classes[src[end+1]]&classIdent != 0 {
			end = numberEnd(src, end+1)
		}
		return put(end, tokenNumber, 0)
	case classes[c]&classIdent != 0 || c == '$':
		end := ecmaIdentEnd(src, i)
		if l.cpp && end < len(src) && src[end] == '"' && src[end-1] == 'R' && end-i <= 3 {
			if stop, ok := cRawEnd(src, end); ok {
				return put(stop, tokenString, 0)
			}
		}
		return put(end, tokenIdent, 0)
	case c == '"' || c == '\'':
		end, ok := ecmaStringEnd(src, i)
		if !ok && kind == 0 {
			l.errorAt(i, "string is not closed")
		}
		return put(end, tokenString, 0)
	case c == '/' && i+1 < len(src) && src[i+1] == '/':
		end := lineEnd(src, i)
		l.comments = append(l.comments, span{int32(i), int32(end)})
		return end
	case c == '/' && i+1 < len(src) && src[i+1] == '*':
		return l.blockComment(i)
	}
	end := operatorEnd(src, i, false)
	if c == '.' && end == i+2 {
		end = i + 1
	}
	if kind == 0 {
		switch c {
		case '(', '[', '{':
			l.deepen(1, 0)
		case ')', ']', '}':
			l.deepen(-1, -1)
		}
	}
	return put(end, tokenPunct, c)
}

// cRawEnd returns the end of the raw string whose quote stands at i.
func cRawEnd(src string, i int) (int, bool) {
	open := strings.IndexByte(src[i:min(len(src), i+20)], '(')
	if open < 0 {
		return 0, false
	}
	end := strings.Index(src[i+open:], ")"+src[i+1:i+open]+"\"")
	if end < 0 {
		return 0, false
	}
	return i + open + end + open + 1, true
}

// directive reads the preprocessor line that begins at i, and the lines that continue it.
func (l *cLexer) directive(i int) int {
	first := len(l.toks)
	l.push(i, i+1, tokenDirective, 0)
	start := i
	for i++; i < len(l.src) && l.src[i] != '\n'; {
		i = l.next(i, tokenDirective)
	}
	l.first = true
	last := len(l.toks) - 1
	word := ""
	if last > first {
		word = l.text(first + 1)
	}
	switch word {
	case "define":
		if first+2 <= last && classes[l.src[l.toks[first+2].start]]&classDigit == 0 && classes[l.src[l.toks[first+2].start]]&classIdent != 0 {
			d := decl{kind: Constant, name: l.text(first + 2), nameAt: int(l.toks[first+2].start)}
			sig := last
			if first+3 <= last && l.text(first+3) == "(" && l.toks[first+3].start == l.toks[first+2].end {
				d.kind = Function
				for sig = first + 3; sig < last && l.text(sig) != ")"; {
					sig++
				}
			}
			l.outline(d, first, last, sig)
		}
	case "include", "import", "include_next":
		path := strings.TrimSpace(l.src[l.toks[first+1].end:l.toks[last].end])
		if path = strings.Trim(path, "<>\""); path != "" && last > first+1 {
			l.imports = append(l.imports, Import{Path: path, Symbol: len(l.decls), Offset: start})
			l.outline(decl{kind: ImportOf, name: path}, first, last, last)
		}
	case "if", "ifdef", "ifndef":
		l.groups = append(l.groups, cGroup{dead: word == "if" && last == first+2 && l.text(last) == "0", branches: []cBranch{{start: len(l.toks)}}})
	case "else", "elif", "elifdef", "elifndef":
		if n := len(l.groups); n > 0 {
			g := &l.groups[n-1]
			g.branches[len(g.branches)-1].end = first
			g.branches = append(g.branches, cBranch{start: len(l.toks)})
		}
	case "endif":
		if n := len(l.groups); n > 0 {
			g := &l.groups[n-1]
			g.branches[len(g.branches)-1].end = first
			l.endif()
		}
	}
	return i
}

// endif closes a group: it hides the branches that are not read and counts the brackets of the others outside.
func (l *cLexer) endif() {
	n := len(l.groups) - 1
	g := l.groups[n]
	l.groups = l.groups[:n]
	if b := &g.branches[len(g.branches)-1]; b.end == 0 {
		b.end = len(l.toks)
	}
	hide := func(b cBranch) {
		l.hidden[b.start]++
		l.hidden[b.end]--
	}
	odd := 0
	for _, b := range g.branches {
		if b.net != 0 || b.min < 0 {
			odd++
		}
	}
	if g.dead {
		hide(g.branches[0])
		g.branches = g.branches[1:]
	}
	if odd > 1 && len(g.branches) > 1 { // one alone shares nothing with the others: a bracket is missing in it, or another group has its partner
		for _, b := range g.branches[1:] {
			hide(b)
		}
		g.branches = g.branches[:1]
	}
	for _, b := range g.branches {
		l.deepen(b.net, b.min)
	}
}
