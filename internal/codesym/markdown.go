package codesym

import "strings"

// parseMarkdown reads the headings of Markdown. A heading is a module that ends before the next one of its level or above. Code blocks, comments and the front matter
// hold none.
func parseMarkdown(b *builder) {
	m := &markdown{builder: b}
	for i := m.frontMatter(); i < len(b.src); {
		end := lineEnd(b.src, i)
		m.line(i, end)
		i = end + 1
	}
	m.leave(1, len(b.toks))
	if m.fence != "" {
		b.errorAt(m.fenceAt, "code block is not closed")
	}
}

// markdown reads the lines of a file.
type markdown struct {
	*builder
	// open are the sections around the line, the outermost first.
	open []section
	// fence is what closes the code block around the line, "" outside of one.
	fence   string
	fenceAt int
	// comment says that a comment goes on, uncommented that no comment after this line is closed, list that an item of a list may.
	comment, uncommented, list bool
	// docAt is where the paragraph begins that was taken for what documents its section.
	docAt int
	// paragraph is the offset of the paragraph that the line may continue, -1 for none, and paragraphTok its first token.
	paragraph    int
	paragraphTok int
}

type section struct{ level, decl int }

// frontMatter returns the offset after the block of other data with which a file may begin.
func (m *markdown) frontMatter() int {
	m.paragraph = -1
	for _, mark := range [...]string{"---", "+++"} {
		if !strings.HasPrefix(m.src, mark+"\n") && !strings.HasPrefix(m.src, mark+"\r\n") {
			continue
		}
		for i := lineEnd(m.src, 0) + 1; i < len(m.src); {
			end := lineEnd(m.src, i)
			if strings.TrimRight(m.src[i:end], " \t\r") == mark {
				m.words(0, end)
				return min(end+1, len(m.src))
			}
			i = end + 1
		}
	}
	return 0
}

// words adds the words between two offsets to the tokens.
func (m *markdown) words(start, end int) {
	first := true
	for i := start; i < end; {
		if c := m.src[i]; c == '\n' || classes[c]&classSpace != 0 {
			first = first || c == '\n'
			i++
			continue
		}
		from := i
		for i < end && m.src[i] != '\n' && classes[m.src[i]]&classSpace == 0 {
			i++
		}
		m.toks = append(m.toks, tok{start: int32(from), end: int32(i), kind: tokenIdent, first: first, match: -1})
		first = false
	}
}

// line reads the line between two offsets.
func (m *markdown) line(start, end int) {
	text := strings.TrimRight(m.src[start:end], " \t\r")
	indent := 0
	for indent < len(text) && text[indent] == ' ' {
		indent++
	}
	body := text[indent:]
	switch {
	case m.comment:
		n := strings.Index(body, "-->")
		if n >= 0 {
			m.comment = false
			m.comments[len(m.comments)-1].end = int32(start + indent + n + 3)
			m.words(start+indent+n+3, end)
		} else {
			m.comments[len(m.comments)-1].end = int32(end)
		}
		return
	case m.fence != "":
		if indent <= 3 && strings.HasPrefix(body, m.fence) && strings.Trim(body, m.fence[:1]) == "" {
			m.fence = ""
		}
		m.words(start, end)
		return
	case body == "":
		m.paragraph, m.list = -1, false
	case body[0] == '\t':
		m.paragraph = -1
	case indent > 3: // code, or the next line of a paragraph
	case strings.HasPrefix(body, "<!--"):
		m.paragraph = -1
		m.comments = append(m.comments, span{int32(start + indent), int32(end)})
		if n := strings.Index(body[4:], "-->"); n < 0 {
			m.uncommented = m.uncommented || !strings.Contains(m.src[end:], "-->")
			if m.comment = !m.uncommented; m.uncommented {
				m.errorAt(start+indent, "comment is not closed")
			}
		} else {
			m.comments[len(m.comments)-1].end = int32(start + indent + n + 7)
			m.words(start+indent+n+7, end)
		}
		return
	case fenceOf(body) != "":
		m.fence, m.fenceAt, m.paragraph = fenceOf(body), start+indent, -1
	case body[0] == '#':
		m.paragraph = -1
		level := 0
		for level < len(body) && body[level] == '#' {
			level++
		}
		if level > 6 || level < len(body) && body[level] != ' ' && body[level] != '\t' {
			break
		}
		name := strings.TrimSpace(body[level:])
		if bare := strings.TrimRight(name, "#"); bare == "" || strings.HasSuffix(bare, " ") || strings.HasSuffix(bare, "\t") {
			name = strings.TrimSpace(bare)
		}
		m.heading(level, name, start+indent, end, len(m.toks))
		return
	case m.paragraph >= 0 && (strings.Trim(body, "=") == "" || strings.Trim(body, "-") == ""):
		level := 1
		if body[0] == '-' {
			level = 2
		}
		if n := len(m.open); n > 0 && m.docAt == m.paragraph {
			m.decls[m.open[n-1].decl].doc = "" // it was a heading
		}
		m.heading(level, m.src[m.paragraph:start], m.paragraph, end, m.paragraphTok)
		m.paragraph = -1
		return
	case strings.Trim(body, "-") == "" || strings.Trim(body, "*") == "": // a line across the page, or an empty item
		m.paragraph, m.list = -1, false
	case listItem(body) || body[0] == '>':
		m.paragraph, m.list = -1, true
	case m.paragraph < 0 && !m.list && indent == 0 && !strings.ContainsAny(body[:1], "|_="):
		m.paragraph, m.paragraphTok = start, len(m.toks)
		if n := len(m.open); n > 0 && m.decls[m.open[n-1].decl].doc == "" {
			paragraph := m.src[start:min(len(m.src), start+4*maxDoc)]
			for _, mark := range [...]string{"\n\n", "\n#", "\n<!--", "\n```"} {
				paragraph, _, _ = strings.Cut(paragraph, mark)
			}
			m.decls[m.open[n-1].decl].doc, m.docAt = firstSentence(paragraph), start
		}
	}
	m.words(start, end)
}

// heading ends the sections of its level and below, and opens a new one that begins at the token from.
func (m *markdown) heading(level int, name string, start, end, from int) {
	m.leave(level, from)
	m.list = false
	sig := len(m.toks)
	if sig > from {
		m.words(lineStart(m.src, end), end) // the text of the heading is there, what underlines it is not
	} else {
		m.words(start, end)
		sig = len(m.toks)
	}
	if name = shorten(oneLine(strings.TrimSpace(name)), maxDoc); name == "" {
		return
	}
	// What documents a section stands behind its heading: no comment in front of it does.
	d := decl{kind: Module, name: name, start: start, end: int(m.toks[len(m.toks)-1].end), sigStart: start, sigEnd: int(m.toks[sig-1].end), docAt: 1}
	d.nameAt = start
	for d.nameAt < end && (m.src[d.nameAt] == '#' || m.src[d.nameAt] == ' ' || m.src[d.nameAt] == '\t') {
		d.nameAt++
	}
	m.open = append(m.open, section{level, m.add(d)})
}

// leave ends the sections of a level and below before the token i.
func (m *markdown) leave(level, i int) {
	for n := len(m.open) - 1; n >= 0 && m.open[n].level >= level; n-- {
		if i > 0 {
			m.decls[m.open[n].decl].end = max(m.decls[m.open[n].decl].end, int(m.toks[i-1].end))
		}
		m.open = m.open[:n]
	}
}

// fenceOf returns the marks that open a code block, "" for none.
func fenceOf(body string) string {
	n := 0
	for n < len(body) && body[n] == body[0] {
		n++
	}
	if n < 3 || body[0] != '`' && body[0] != '~' || body[0] == '`' && strings.Contains(body[n:], "`") {
		return ""
	}
	return body[:n]
}

// numbered reports whether a line begins an item of a numbered list.
func numbered(body string) bool {
	n := 0
	for n < len(body) && n < 10 && classes[body[n]]&classDigit != 0 {
		n++
	}
	return n > 0 && n+1 < len(body) && (body[n] == '.' || body[n] == ')') && body[n+1] == ' '
}

// listItem reports whether a line begins an item of a list.
func listItem(body string) bool {
	return len(body) > 1 && (body[0] == '-' || body[0] == '*' || body[0] == '+') && body[1] == ' ' || numbered(body)
}

// lineStart returns the offset of the line that holds offset i.
func lineStart(src string, i int) int { return strings.LastIndexByte(src[:i], '\n') + 1 }
