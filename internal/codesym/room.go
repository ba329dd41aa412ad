package codesym

import "strings"

// room is what a builder writes in on its way. Nothing that it hands out stands there.
type room struct {
	written []byte // text
	stack   []int
	opened  []int32
	names   uniquer
	frames  []hashFrame
	hashed  []byte
	near    int             // the token that was looked for last
	texts   strings.Builder // the last of the strings that were handed out
}

// maxRoom is the length of the longest text, and manyNames the number of names, after which a builder gives its room back.
const (
	maxRoom   = 1 << 20
	manyNames = 1000
)

// begin makes the builder ready for a text.
func (b *builder) begin(lang Lang, src string) {
	b.lang, b.src, b.near = lang, src, 0
	if b.lines == nil {
		b.lines = make([]int32, 0, 2+strings.Count(src, "\n"))
	}
	b.lines = append(b.lines[:0], 0)
	for i := 0; ; {
		n := strings.IndexByte(src[i:], '\n')
		if n < 0 {
			return
		}
		i += n + 1
		b.lines = append(b.lines, int32(i))
	}
}

// end lets go of the text and of what was handed out.
func (b *builder) end() {
	if len(b.src) > maxRoom {
		*b = builder{}
		return
	}
	b.lang, b.src, b.errors = "", "", nil
	b.toks, b.comments, b.angles = b.toks[:0], b.comments[:0], b.angles[:0]
	if len(b.decls) > manyNames {
		b.names = nil // to empty it would take longer than to read a short text
	}
	clear(b.names)
	clear(b.decls)
	clear(b.calls)
	clear(b.imports)
	b.decls, b.calls, b.imports = b.decls[:0], b.calls[:0], b.imports[:0]
}

// lex empties the tokens and comments. Where there is too little room it makes some at once, for a token in so many bytes.
func (b *builder) lex(bytes int) {
	if cap(b.toks) < len(b.src)/bytes {
		if n := 16 + b.codeBytes()/bytes; cap(b.toks) < n {
			b.toks = make([]tok, 0, n)
		}
	}
	b.toks, b.comments = b.toks[:0], b.comments[:0]
}

// chunk is how many bytes of strings are made at once: who keeps one of them keeps them all.
const chunk = 2048

// keep returns a string of its own.
func (b *builder) keep(s []byte) string {
	if len(s) == 0 {
		return ""
	}
	if b.texts.Cap()-b.texts.Len() < len(s) {
		b.texts.Reset()
		b.texts.Grow(max(len(s), min(chunk, 64+len(b.src)/8)))
	}
	at := b.texts.Len()
	b.texts.Write(s)
	return b.texts.String()[at:]
}

// codeBytes returns how long the lines are that are no comments, without the space in front: how many tokens a text has follows from it better than from its length.
func (b *builder) codeBytes() int {
	n := 0
	for i, at := range b.lines {
		end := len(b.src)
		if i+1 < len(b.lines) {
			end = int(b.lines[i+1])
		}
		from := int(at)
		for from < end && (b.src[from] == ' ' || b.src[from] == '\t') {
			from++
		}
		if from < end && b.src[from] != '*' && (b.src[from] != '/' || from+1 >= end || b.src[from+1] != '/') {
			n += end - from
		}
	}
	return n
}
