package codesym

import "slices"

// tok is a piece of source that is neither space nor comment.
type tok struct {
	start, end int32
	// match is the index of the partner of a bracket. An opening bracket without partner has the index of the token before which it was taken to end, which may
	// be the number of tokens; a closing bracket without partner has -1.
	match int32
	kind  tokenKind
	// c is the first byte of punctuation, 0 for other kinds.
	c byte
	// first says that the token is the first on its line.
	first bool
	// mark is what a parser knows of the token beside that.
	mark uint8
}

type tokenKind uint8

const (
	tokenIdent tokenKind = iota + 1
	tokenNumber
	tokenString
	tokenPunct
	// tokenNewline ends a statement without a mark of its own. It is empty.
	tokenNewline
	// tokenIndent and tokenDedent open and close a block by indentation. They are empty.
	tokenIndent
	tokenDedent
	// tokenDirective is a part of a line for a preprocessor, or of a branch that is not read: it counts for hashes only.
	tokenDirective
)

const (
	markName     = 1 << iota // the name of a declaration
	markObject               // the brace of an object
	markVariable             // the comma between two variables of a declaration
	markConstant             // that between two constants
)

// token appends a token. Its fields are set one by one where it stands: a token that is made elsewhere and copied costs several times as much.
func (b *builder) token(start, end int, kind tokenKind, c byte, first bool) {
	n := len(b.toks)
	if n == cap(b.toks) {
		b.toks = slices.Grow(b.toks, 1+n/2)
	}
	b.toks = b.toks[:n+1]
	t := &b.toks[n]
	t.start, t.end, t.match = int32(start), int32(end), -1
	t.kind, t.c, t.first, t.mark = kind, c, first, 0
}

// span is a range of bytes; the end is exclusive.
type span struct{ start, end int32 }

const (
	classIdent = 1 << iota // may stand in an identifier
	classDigit
	classSpace // space that is no line break
	classOpens // a bracket
	classCloses
	classText // stands in texts: what is printed, space, line breaks, and the escape of terminals
)

// classes says what an ASCII byte may be. Bytes of other characters count as letters: which of them are matters to no structure.
var classes = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= '0' && c <= '9':
			t[c] = classIdent | classDigit
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80:
			t[c] = classIdent
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			t[c] = classSpace
		case c == '(' || c == '[' || c == '{':
			t[c] = classOpens
		case c == ')' || c == ']' || c == '}':
			t[c] = classCloses
		}
		if c >= ' ' && c < 0x80 || c == '\n' || c == 0x1b || t[c] == classSpace {
			t[c] |= classText
		}
	}
	return t
}()

// identEnd returns the end of the identifier that begins at i.
func identEnd(src string, i int) int {
	for i < len(src) && classes[src[i]]&classIdent != 0 {
		i++
	}
	return i
}

// spaceEnd returns the end of the spaces and tabs at i.
func spaceEnd(src string, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\t') {
		i++
	}
	return i
}

// numberEnd returns the end of the number that begins at i: letters, digits, dots, and signs after an exponent. No language that is read here needs more.
func numberEnd(src string, i int) int {
	hex := i+1 < len(src) && src[i] == '0' && src[i+1]|0x20 == 'x'
	for i++; i < len(src); i++ {
		c := src[i]
		switch {
		case classes[c]&classIdent != 0:
		case c == '.' && (i+1 >= len(src) || src[i+1] != '.'):
		case (c == '+' || c == '-') && (!hex && src[i-1]|0x20 == 'e' || hex && src[i-1]|0x20 == 'p'):
		default:
			return i
		}
	}
	return i
}
