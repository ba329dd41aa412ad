package toolparse

import (
	"strconv"
	"strings"
)

// MaxJSONDepth is how many containers may be open at once. Real documents stay below 100; the bound keeps a hostile one from growing the stack.
const MaxJSONDepth = 10_000

// JSONKind is the kind of a leaf of a JSON document.
type JSONKind int

// The members of [JSONKind]. The zero value is none.
const (
	JSONNull JSONKind = iota + 1
	JSONBool
	JSONNumber
	JSONString
	JSONEmptyObject
	JSONEmptyArray
)

// String returns the name of the kind.
func (k JSONKind) String() string {
	switch k {
	case JSONNull:
		return "null"
	case JSONBool:
		return "bool"
	case JSONNumber:
		return "number"
	case JSONString:
		return "string"
	case JSONEmptyObject:
		return "empty object"
	case JSONEmptyArray:
		return "empty array"
	}
	return "JSONKind(" + strconv.Itoa(int(k)) + ")"
}

// JSONValue is a leaf of a document: a scalar or an empty container. It is valid during the visit that it was passed to.
type JSONValue struct {
	// Kind says what the leaf is; a visited leaf always has one.
	Kind JSONKind
	// Raw is the leaf's text in the source, quotes included.
	Raw string
	// Offset is where Raw begins; Line its line.
	Offset, Line int
	p            *jsonParser
}

// Text returns the value: a string decoded, a number in its exact source text, "true", "false", "null", "{}" or "[]".
// An escaped surrogate without its partner decodes to U+FFFD.
func (v JSONValue) Text() string {
	switch v.Kind {
	case JSONString:
		return unquoteJSON(v.Raw)
	case JSONEmptyObject:
		return "{}"
	case JSONEmptyArray:
		return "[]"
	}
	return v.Raw
}

// PointerLen estimates the length of Pointer in bytes without building it: keys count by their source text, so the true length is at most twice as much.
func (v JSONValue) PointerLen() int {
	if n := len(v.p.stack); n > 0 {
		return v.p.stack[n-1].pathLen + v.p.stack[n-1].tokenLen()
	}
	return 0
}

// Pointer returns the place of the leaf as a JSON pointer (RFC 6901): "" is the whole document.
func (v JSONValue) Pointer() string {
	var room [64]byte
	return string(v.AppendPointer(room[:0]))
}

// AppendPointer appends what Pointer returns to b.
func (v JSONValue) AppendPointer(b []byte) []byte { return v.p.appendPath(b, false) }

// Depth returns how many containers enclose the leaf.
func (v JSONValue) Depth() int { return len(v.p.stack) }

// JSON reads src as one JSON text (RFC 8259) and passes each leaf to visit in source order. When visit returns false no further leaf is passed,
// but the rest is still checked: leaves count only when JSON returns nil. visit may be nil.
//
// A byte order mark in front is skipped. Invalid UTF-8 is refused, as are more than [MaxJSONDepth] open containers. Duplicate keys are reported as often as they occur.
func JSON(src string, visit func(JSONValue) bool) error {
	p := &jsonParser{visit: visit}
	return p.run(src)
}

type jsonFrame struct {
	object bool
	// index is the element's position in an array, key the raw text of the member's key in an object.
	index int
	key   string
	// pathLen is the length of the pointer to the container itself.
	pathLen int
}

func (f *jsonFrame) tokenLen() int {
	if f.object {
		return 1 + len(f.key) - len(`""`)
	}
	n := 2
	for i := f.index; i >= 10; i /= 10 {
		n++
	}
	return n
}

type jsonParser struct {
	src   string
	at    int
	line  int
	stack []jsonFrame
	room  [6]jsonFrame // of the stack of most documents
	visit func(JSONValue) bool
	// leaves counts what was or would have been visited; exit looks at each.
	leaves int
	exit   *jsonExit
	// looked counts the bytes that were looked at, for the tests of linear work.
	looked int
}

func (p *jsonParser) fail(at int, msg string) error {
	return &SyntaxError{Parser: "json", Offset: at, Line: p.line, Msg: msg}
}

// space skips white space and counts lines: a JSON text has line feeds nowhere else.
func (p *jsonParser) space() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case '\n':
			p.line++
		case ' ', '\t', '\r':
		default:
			return
		}
		p.at++
		p.looked++
	}
}

// run is a loop over values with the open containers on an explicit stack, so that depth costs no Go stack.
func (p *jsonParser) run(src string) error {
	if p.stack == nil {
		p.stack = p.room[:0]
	}
	p.src, p.at, p.line, p.stack, p.leaves = src, 0, 1, p.stack[:0], 0
	if strings.HasPrefix(p.src, "\ufeff") {
		p.at += len("\ufeff")
	}
	for {
		p.space()
		done, err := p.value()
		if err != nil {
			return err
		}
		if !done {
			continue
		}
		// A value is complete: go on in the innermost container, or close it.
		for {
			p.space()
			if len(p.stack) == 0 {
				if p.at < len(p.src) {
					return p.fail(p.at, "more text after the value")
				}
				return nil
			}
			more, err := p.next()
			if err != nil {
				return err
			}
			if more {
				break
			}
		}
	}
}

// next handles what stands between two elements. It returns true when another value follows, false when the container was closed.
func (p *jsonParser) next() (bool, error) {
	f := &p.stack[len(p.stack)-1]
	if p.at == len(p.src) {
		return false, p.fail(p.at, "unexpected end inside a container")
	}
	c := p.src[p.at]
	p.looked++
	switch {
	case c == ',':
		p.at++
		if !f.object {
			f.index++
			return true, nil
		}
		p.space()
		return true, p.key(f)
	case c == '}' && f.object, c == ']' && !f.object:
		p.at++
		p.stack = p.stack[:len(p.stack)-1]
		return false, nil
	}
	return false, p.fail(p.at, "expected a comma or the end of the container")
}

// key reads a member's key and the colon after it.
func (p *jsonParser) key(f *jsonFrame) error {
	if p.at == len(p.src) || p.src[p.at] != '"' {
		return p.fail(p.at, "expected a key")
	}
	start := p.at
	if err := p.str(); err != nil {
		return err
	}
	f.key = p.src[start:p.at]
	p.space()
	if p.at == len(p.src) || p.src[p.at] != ':' {
		return p.fail(p.at, "expected a colon after the key")
	}
	p.at++
	p.looked++
	return nil
}

// value reads a scalar or an empty container (done), or opens a container (not done: its first value follows).
func (p *jsonParser) value() (done bool, err error) {
	if p.at == len(p.src) {
		return false, p.fail(p.at, "expected a value")
	}
	start := p.at
	kind := JSONNumber
	switch c := p.src[p.at]; c {
	case '{', '[':
		return p.open(c == '{')
	case '"':
		kind = JSONString
		err = p.str()
	case 't':
		kind, err = JSONBool, p.word("true")
	case 'f':
		kind, err = JSONBool, p.word("false")
	case 'n':
		kind, err = JSONNull, p.word("null")
	default:
		err = p.number()
	}
	if err != nil {
		return false, err
	}
	p.leaf(kind, start)
	return true, nil
}

func (p *jsonParser) leaf(kind JSONKind, start int) { p.leafAt(kind, start, p.line) }

func (p *jsonParser) leafAt(kind JSONKind, start, line int) {
	p.leaves++
	if p.exit != nil {
		p.exit.look(p, kind, start, line)
	}
	if p.visit == nil {
		return
	}
	if !p.visit(JSONValue{Kind: kind, Raw: p.src[start:p.at], Offset: start, Line: line, p: p}) {
		p.visit = nil
	}
}

func (p *jsonParser) open(object bool) (bool, error) {
	start, line := p.at, p.line
	p.at++
	p.looked++
	p.space()
	if p.at < len(p.src) && (object && p.src[p.at] == '}' || !object && p.src[p.at] == ']') {
		p.at++
		p.looked++
		kind := JSONEmptyArray
		if object {
			kind = JSONEmptyObject
		}
		p.leafAt(kind, start, line)
		return true, nil
	}
	if len(p.stack) == MaxJSONDepth {
		return false, p.fail(start, "more than "+strconv.Itoa(MaxJSONDepth)+" open containers")
	}
	f := jsonFrame{object: object}
	if n := len(p.stack); n > 0 {
		f.pathLen = p.stack[n-1].pathLen + p.stack[n-1].tokenLen()
	}
	p.stack = append(p.stack, f)
	if object {
		return false, p.key(&p.stack[len(p.stack)-1])
	}
	return false, nil
}

func (p *jsonParser) word(w string) error {
	p.looked += len(w)
	if !strings.HasPrefix(p.src[p.at:], w) {
		return p.fail(p.at, "expected "+w)
	}
	p.at += len(w)
	return nil
}

func (p *jsonParser) digits() bool {
	start := p.at
	for p.at < len(p.src) && p.src[p.at] >= '0' && p.src[p.at] <= '9' {
		p.at++
	}
	p.looked += p.at - start + 1
	return p.at > start
}

func (p *jsonParser) number() error {
	start := p.at
	if p.src[p.at] == '-' {
		p.at++
	}
	first := p.at
	if !p.digits() {
		return p.fail(start, "expected a value")
	}
	if p.src[first] == '0' && p.at > first+1 {
		return p.fail(first, "a number has a leading zero")
	}
	if p.at < len(p.src) && p.src[p.at] == '.' {
		p.at++
		if !p.digits() {
			return p.fail(p.at, "expected a digit after the decimal point")
		}
	}
	if p.at < len(p.src) && (p.src[p.at] == 'e' || p.src[p.at] == 'E') {
		p.at++
		if p.at < len(p.src) && (p.src[p.at] == '+' || p.src[p.at] == '-') {
			p.at++
		}
		if !p.digits() {
			return p.fail(p.at, "expected a digit in the exponent")
		}
	}
	return nil
}

// appendPath appends the pointer to the current leaf to b. With mark, an array index is written so that no object key can spell it.
func (p *jsonParser) appendPath(b []byte, mark bool) []byte {
	for i := range p.stack {
		f := &p.stack[i]
		b = append(b, '/')
		if f.object {
			b = appendPointerToken(b, unquoteJSON(f.key))
			continue
		}
		if mark {
			b = append(b, "~~"...)
		}
		b = strconv.AppendInt(b, int64(f.index), 10)
	}
	return b
}

func appendPointerToken(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, c)
		}
	}
	return b
}
