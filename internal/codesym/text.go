package codesym

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxSignature = 500
	maxDoc       = 200
	maxReceiver  = 80
)

// collapse returns the tokens between two offsets as one line behind the prefix: comments out, space where the source has some, none inside of brackets.
func (b *builder) collapse(prefix string, start, end int) string {
	i := b.tokenFrom(start)
	out := append(b.written[:0], prefix...)
	prev := -1
	for ; i < len(b.toks) && int(b.toks[i].end) <= end; i++ {
		t := &b.toks[i]
		if t.start == t.end && t.kind != tokenNewline {
			continue
		}
		if t.kind == tokenNewline {
			if prev >= 0 && b.toks[prev].kind != tokenNewline && b.toks[prev].c != '{' && b.toks[prev].c != '(' {
				prev = i
			}
			continue
		}
		if prev >= 0 {
			p := &b.toks[prev]
			closes := t.c == ')' || t.c == ']'
			switch {
			case p.kind == tokenNewline:
				if !closes && t.c != '}' {
					out = append(out, "; "...)
				} else if t.c == '}' {
					out = append(out, ' ')
				}
			case p.end == t.start || p.c == '(' || p.c == '[' || closes && p.c != ',':
			case closes: // a comma before a closing bracket is there for the line break
			default:
				out = append(out, ' ')
			}
		}
		if t.c != 0 && t.c != ',' && t.end == t.start+1 && len(out)-len(prefix) < maxSignature {
			out = append(out, b.src[t.start])
			prev = i
			continue
		}
		text := b.src[t.start:t.end]
		if room := maxSignature - (len(out) - len(prefix)); len(text) > room {
			for room > 0 && !utf8.RuneStart(text[room]) {
				room--
			}
			out = append(append(out, text[:max(room, 0)]...), "…"...)
			break
		}
		if t.c == ',' && i+1 < len(b.toks) && (b.toks[i+1].c == ')' || b.toks[i+1].c == ']') && b.toks[i+1].first {
			continue
		}
		if t.kind == tokenString && strings.IndexByte(text, '\n') >= 0 {
			text = strings.Join(strings.Fields(text), " ")
		}
		out = append(out, text...)
		prev = i
	}
	b.written = out
	if utf8.Valid(out) {
		return b.keep(out)
	}
	return prefix + strings.ToValidUTF8(string(out[len(prefix):]), "\ufffd")
}

// tokenFrom returns the first token that begins at an offset or behind it. It looks from where it found the last one: mostly the next one is near.
func (b *builder) tokenFrom(offset int) int {
	i, to := b.near, len(b.toks)
	if i >= to || int(b.toks[i].start) >= offset {
		i = 0
	}
	for step := 1; i+step < to; step *= 2 {
		if int(b.toks[i+step].start) >= offset {
			to = i + step
			break
		}
		i += step
	}
	for i < to {
		if m := int(uint(i+to) >> 1); int(b.toks[m].start) >= offset {
			to = m
		} else {
			i = m + 1
		}
	}
	b.near = i
	return i
}

// docBefore returns the first sentence of the comment that ends where the declaration begins, with nothing but one line break between them.
func (b *builder) docBefore(d *decl) string {
	at := d.start
	if d.docAt > 0 {
		at = d.docAt
	}
	last := sort.Search(len(b.comments), func(i int) bool { return int(b.comments[i].end) > at }) - 1
	if last < 0 || !adjacent(b.src[b.comments[last].end:at]) || b.trails(last) || b.inner(last) {
		return ""
	}
	first := last
	// Lines of line comments belong together. More than a screen of them is nothing that a first sentence needs.
	for n := 0; n < 200 && first > 0 && isLineComment(b.src, b.comments[first]) && isLineComment(b.src, b.comments[first-1]) &&
		adjacent(b.src[b.comments[first-1].end:b.comments[first].start]) && !b.trails(first-1); n++ {
		first--
	}
	if strings.HasPrefix(b.src[b.comments[first].start:], "#!") && b.lang != Rust {
		first++ // the line that names the interpreter
	}
	return sentence(b.comments[first:last+1], b.src)
}

// inner reports whether the comment documents what it stands in, as "//!" does in Rust.
func (b *builder) inner(i int) bool {
	return b.lang == Rust && (strings.HasPrefix(b.src[b.comments[i].start:], "//!") || strings.HasPrefix(b.src[b.comments[i].start:], "/*!"))
}

// trails reports whether something other than space precedes the comment in its line.
func (b *builder) trails(i int) bool {
	at := int(b.comments[i].start) - 1
	for at >= 0 && classes[b.src[at]]&classSpace != 0 {
		at--
	}
	return at >= 0 && b.src[at] != '\n'
}

func isLineComment(src string, s span) bool {
	text := src[s.start:s.end]
	return text[0] == '#' || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "--")
}

func adjacent(gap string) bool {
	return len(gap) < 500 && strings.TrimSpace(gap) == "" && strings.Count(gap, "\n") <= 1
}

// sentence returns the first sentence of some comments without their marks.
func sentence(comments []span, src string) string {
	text := make([]byte, 0, 2*maxDoc)
	for _, c := range comments {
		s := src[c.start:c.end]
		if strings.HasPrefix(s, "/*") {
			s = strings.TrimSuffix(strings.TrimLeft(s[2:], "*!"), "*/")
		} else if strings.HasPrefix(s, "--") {
			s = strings.TrimLeft(s, "-")
		} else {
			s = strings.TrimLeft(s, "/#!")
		}
		for len(s) > 0 && len(text) <= maxDoc {
			line := s
			if n := strings.IndexByte(s[:min(len(s), 4*maxDoc)], '\n'); n >= 0 {
				line, s = s[:n], s[n+1:]
			} else {
				line, s = s[:min(len(s), 4*maxDoc)], ""
			}
			line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "*"))
			if strings.HasPrefix(line, "@") || strings.HasPrefix(line, "go:") {
				line = ""
			}
			if line == "" && len(text) > 0 {
				return firstSentence(string(text))
			}
			if len(text) > 0 {
				text = append(text, ' ')
			}
			text = append(text, line...)
		}
		if len(text) > maxDoc {
			break
		}
	}
	return firstSentence(string(text))
}

// firstSentence returns s up to the first full stop that ends a sentence, as one line of at most maxDoc bytes.
func firstSentence(s string) string {
	s = oneLine(s)
	for i := 0; i+1 < len(s); i++ {
		if (s[i] == '.' || s[i] == '!' || s[i] == '?') && s[i+1] == ' ' && !abbreviation(s[:i]) {
			s = s[:i+1]
			break
		}
	}
	return shorten(s, maxDoc)
}

// oneLine returns s as valid text with single spaces for its line breaks and runs of spaces.
func oneLine(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	if strings.ContainsAny(s, "\n\t\r") || strings.Contains(s, "  ") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return s
}

// shorten cuts s to at most n bytes and an ellipsis, between two characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// abbreviation reports whether a full stop after s is part of a word such as "e.g." or an initial.
func abbreviation(s string) bool {
	word := s[strings.LastIndexByte(s, ' ')+1:]
	if word == "etc" || word == "vs" || strings.Contains(word, ".") && len(word) <= 4 {
		return true
	}
	r, n := utf8.DecodeRuneInString(strings.TrimLeft(word, "("))
	return n > 0 && n == len(strings.TrimLeft(word, "(")) && unicode.IsUpper(r)
}
