// Package codesym reads the symbols of source code.
//
// [Parse] turns the text of one file into a [File]: its [Symbol] list with spans, signatures and hashes, its [Call] sites and its [Import] list. Go goes through
// go/parser; the other languages have outline scanners that lex exactly and then read the structure of declarations, so they accept what a compiler
// would refuse and keep the symbols of a file with a syntax error. [LanguageOf] says what a file is, [Binary] and [Generated] whether an index should read it.
//
// Everything here is a pure function of its arguments. Time and memory grow with the length of the text, whatever it holds.
package codesym

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"sakur4/internal/digest"
)

// MaxBytes is the length of the longest text that [Parse] reads. Longer files are data or generated; offsets stay small.
const MaxBytes = 8 << 20

// Version is raised when the same text gives another [File] than before: what was read with another version is read again. A test holds it together with what is read.
const Version = 12

// The errors of [Parse].
var (
	// ErrLanguage is returned when no parser is built for the language.
	ErrLanguage = errors.New("codesym: unsupported language")
	// ErrTooLong is returned when the text is longer than MaxBytes.
	ErrTooLong = errors.New("codesym: text too long")
	// ErrBinary is returned when the text is no text.
	ErrBinary = errors.New("codesym: binary data")
)

// File is what a parser read in one file.
type File struct {
	Lang Lang
	// Symbols are in source order, each after its parent.
	Symbols []Symbol
	// Calls and Imports are in source order.
	Calls   []Call
	Imports []Import
	// Partial says that the text has a syntax error: Errors says where, and symbols may be missing.
	Partial bool
	Errors  []Error
}

// Symbol is one declaration.
type Symbol struct {
	Kind Kind
	// Name is the declared name. Qualified is the name with its enclosing scopes, unique in the file for its kind: equal ones end in #2, #3 in source order.
	Name, Qualified string
	// Signature is the declaration without its body, comments and line breaks, at most about 500 bytes of it.
	Signature string
	// Doc is the first sentence of the comment that documents the symbol, "" for none.
	Doc string
	// Start and End are the byte offsets of the declaration, decorators and attributes included and comments before it not; End is exclusive.
	Start, End int
	// NameAt is the byte offset of the name as it is written, Start where the name is not written as it is.
	NameAt int
	// Line and EndLine are the first and the last line of the span, from 1.
	Line, EndLine int
	// SignatureHash covers the tokens of the signature, Hash all tokens of the declaration, without comments and spacing. Neither says where the symbol stands.
	SignatureHash, Hash digest.Digest
	// Partial says that a syntax error lies in the symbol or next to it.
	Partial bool
	// Test says that the symbol is a test by the rules of its language.
	Test bool
	// Parent is the index of the innermost symbol that the declaration stands in, -1 for none.
	Parent int
	// Bases are the types that the declaration extends, implements or embeds, as written. For Rust they hold the traits that the file implements for the type.
	Bases []string
}

// Call is one call site.
type Call struct {
	// Callee is the name that is called, Receiver the text in front of it without the dot, "" for none or where it is long or no chain of names.
	Callee, Receiver string
	// Member says that the callee follows a dot, an arrow or a double colon: with an empty Receiver the call is one of something unnamed, as in "f().g()".
	Member bool
	// Symbol is the index of the innermost symbol that the call stands in, -1 for none.
	Symbol int
	// Offset is the byte offset of the callee's name, Line its line from 1.
	Offset, Line int
}

// Import is one name that an import declaration binds, or one module that it names.
type Import struct {
	// Path is the module as written, without quotes.
	Path string
	// Name is the imported name within the module: "" for the module itself, "*" for all of its names.
	Name string
	// Alias is the name that the file uses, "" where it follows from the path or from Name.
	Alias string
	// Symbol is the index of the import's symbol.
	Symbol int
	// Offset is the byte offset of the declaration, Line its line from 1.
	Offset, Line int
}

// Error is one place where the text is not what the language allows.
type Error struct {
	// Offset is the byte offset, Line the line from 1.
	Offset, Line int
	Message      string
}

// Parser reads one text after another and keeps its buffers from one to the next, which is faster than [Parse]: what it reads does not depend on what it has read before. The
// zero value is ready for use, by one goroutine at a time.
type Parser struct{ b builder }

// Parse reads the symbols of src. It returns [ErrLanguage], [ErrTooLong] or [ErrBinary] when it reads nothing; a syntax error is no error, see [File].
func Parse(lang Lang, src string) (File, error) { return new(Parser).Parse(lang, src) }

// Parse is [Parse] for one of several texts.
func (p *Parser) Parse(lang Lang, src string) (File, error) {
	parse := parserOf(lang)
	switch {
	case parse == nil:
		return File{}, fmt.Errorf("%w: %q", ErrLanguage, string(lang))
	case len(src) > MaxBytes:
		return File{}, fmt.Errorf("%w: %d bytes", ErrTooLong, len(src))
	case Binary(src):
		return File{}, ErrBinary
	}
	p.b.begin(lang, src)
	parse(&p.b)
	f := p.b.finish()
	p.b.end()
	return f, nil
}

// Binary reports whether src is data and no text: a zero byte in its first 8,000 bytes, or a tenth of them control characters or broken UTF-8.
func Binary(src string) bool {
	head := src[:min(len(src), 8000)]
	if strings.IndexByte(head, 0) >= 0 {
		return true
	}
	odd := 0
	for i := 0; i < len(head); {
		i += printed(head[i:])
		if i == len(head) {
			break
		}
		c := head[i]
		switch {
		case classes[c]&classText != 0:
			i++
		case c < utf8.RuneSelf:
			odd++
			i++
		default:
			r, n := utf8.DecodeRuneInString(head[i:])
			if r == utf8.RuneError && n == 1 {
				odd++
			}
			i += n
		}
	}
	return odd*10 > len(head)
}

// printed returns how many bytes of s are text by their eights: printed ASCII, which is seen at once, or what classes says of each.
func printed(s string) int {
	const high, space = 0x8080808080808080, 0x2020202020202020
	i := 0
	for ; i+8 <= len(s); i += 8 {
		e := s[i : i+8]
		w := uint64(e[0]) | uint64(e[1])<<8 | uint64(e[2])<<16 | uint64(e[3])<<24 | uint64(e[4])<<32 | uint64(e[5])<<40 | uint64(e[6])<<48 | uint64(e[7])<<56
		if (w|(w-space)&^w)&high == 0 {
			continue // no byte above 0x7f, none below a space
		}
		if classes[e[0]]&classes[e[1]]&classes[e[2]]&classes[e[3]]&classes[e[4]]&classes[e[5]]&classes[e[6]]&classes[e[7]]&classText == 0 {
			break
		}
	}
	return i
}
