package store

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"sakur4/internal/digest"
	"sakur4/symbolic"
)

// The facts of one result as one text: they share most of what a row of the ledger says, and what they say stands in the result. All numbers are varints as
// in encoding/binary.
//
//	batch = position of the episode (8 bytes, little-endian), number of facts, facts
//	fact  = flags (1 byte), id, name, kind, path, source, value, hash, offset, line
//	id    = 16 bytes, the digits behind "sym_"
//	name  = bytes that it begins with in common with the name before, rest as a text
//	value = position in the result, length
//	hash  = 32 bytes
//	text  = length, bytes
//
// Flags say what is otherwise: an id, a value or a hash that is a text by itself, a kind, a path or a source that is that of the fact before and left out.
const (
	idAsText = 1 << iota
	hashAsText
	valueAsText
	sameKind
	samePath
	sameSource
)

// idPrefix is what every id of a fact begins with.
const idPrefix = "sym_"

// encodeFacts writes the facts of the episode at a position, whose content they were read in.
func encodeFacts(seq int64, content string, list []symbolic.Row) []byte {
	size := 16
	for i := range list {
		size += 64 + len(list[i].QualifiedName)
	}
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, size), uint64(seq))
	b = binary.AppendUvarint(b, uint64(len(list)))
	var before symbolic.Row
	for i := range list {
		r := &list[i]
		at := len(b)
		b = append(b, 0)
		flags := byte(0)
		if id, ok := appendHex(b, strings.TrimPrefix(r.FactID, idPrefix), 16); ok && strings.HasPrefix(r.FactID, idPrefix) {
			b = id
		} else {
			b, flags = appendText(b, r.FactID), flags|idAsText
		}
		common := commonPrefix(before.QualifiedName, r.QualifiedName)
		b = appendText(binary.AppendUvarint(b, uint64(common)), r.QualifiedName[common:])
		for _, f := range [...]struct {
			now, before string
			flag        byte
		}{{r.Kind, before.Kind, sameKind}, {r.FilePath, before.FilePath, samePath}, {r.Source, before.Source, sameSource}} {
			if f.now == f.before {
				flags |= f.flag
			} else {
				b = appendText(b, f.now)
			}
		}
		if in, ok := placeOf(content, r.Value, r.Offset); ok {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(in)), uint64(len(r.Value)))
		} else {
			b, flags = appendText(b, r.Value), flags|valueAsText
		}
		if hash, ok := appendHex(b, r.ASTHash, 32); ok {
			b = hash
		} else {
			b, flags = appendText(b, r.ASTHash), flags|hashAsText
		}
		b = binary.AppendVarint(binary.AppendVarint(b, int64(r.Offset)), int64(r.Line))
		b[at] = flags
		before = *r
	}
	return b
}

// placeOf looks for a value where it was read, behind a quotation mark at most.
func placeOf(content, value string, offset int) (at int, ok bool) {
	for at := offset; at >= 0 && at <= offset+1 && at <= len(content); at++ {
		if strings.HasPrefix(content[at:], value) {
			return at, true
		}
	}
	return 0, false
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendHex appends the bytes that digits stand for, where they are n in lower case.
func appendHex(b []byte, digits string, n int) ([]byte, bool) {
	if len(digits) != 2*n {
		return b, false
	}
	from := len(b)
	for i := 0; i < len(digits); i += 2 {
		high, low := nibble(digits[i]), nibble(digits[i+1])
		if high|low > 15 {
			return b[:from], false
		}
		b = append(b, high<<4|low)
	}
	return b, true
}

// nibble returns what a digit stands for, 255 for none.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// queueSeal sums up a batch.
func queueSeal(batch []byte) int64 { return int64(digest.FastBytes(batch)) }

// errBatch says that a batch is none.
var errBatch = errors.New("not a batch of facts")

// decodeFacts is the inverse of encodeFacts. It sets what is common to all, the project and the episode, as it is told.
func decodeFacts(batch []byte, seq int64, project, episode, content string) ([]symbolic.Row, error) {
	d := factDecoder{batch: batch}
	if at := d.take(8); d.err == nil && binary.LittleEndian.Uint64(at) != uint64(seq) {
		d.fail("it is of episode number %d", binary.LittleEndian.Uint64(at))
	}
	n := d.number()
	if n > uint64(len(batch)) { // a fact has more than one byte
		d.fail("it has %d facts", n)
	}
	var list []symbolic.Row
	before := symbolic.Row{Project: project, Episode: episode}
	for i := uint64(0); i < n && d.err == nil; i++ {
		r := before
		d.fact(&r, content)
		list = append(list, r)
		before = r
	}
	if d.err == nil && d.at != len(batch) {
		d.fail("%d bytes follow", len(batch)-d.at)
	}
	if d.err != nil {
		return nil, d.err
	}
	return list, nil
}

// factDecoder reads a batch. After an error it reads nothing.
type factDecoder struct {
	batch []byte
	at    int
	err   error
}

func (d *factDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: at byte %d: %s", errBatch, d.at, fmt.Sprintf(format, args...))
	}
}

// fact reads one over the fact before it.
func (d *factDecoder) fact(r *symbolic.Row, content string) {
	flags := byte(0)
	if b := d.take(1); d.err == nil {
		flags = b[0]
	}
	if flags&idAsText != 0 {
		r.FactID = d.text()
	} else {
		r.FactID = idPrefix + hex.EncodeToString(d.take(16))
	}
	if common := d.number(); common > uint64(len(r.QualifiedName)) {
		d.fail("it has %d bytes in common with a name of %d", common, len(r.QualifiedName))
	} else {
		r.QualifiedName = r.QualifiedName[:common] + d.text()
	}
	if flags&sameKind == 0 {
		r.Kind = d.text()
	}
	if flags&samePath == 0 {
		r.FilePath = d.text()
	}
	if flags&sameSource == 0 {
		r.Source = d.text()
	}
	if flags&valueAsText != 0 {
		r.Value = d.text()
	} else if at, n := d.number(), d.number(); at > uint64(len(content)) || n > uint64(len(content))-at {
		d.fail("the value is %d bytes at %d of a result of %d", n, at, len(content))
	} else {
		r.Value = content[at : at+n]
	}
	if flags&hashAsText != 0 {
		r.ASTHash = d.text()
	} else {
		r.ASTHash = hex.EncodeToString(d.take(32))
	}
	r.Offset, r.Line = d.signed(), d.signed()
}

// take returns the next n bytes.
func (d *factDecoder) take(n uint64) []byte {
	if d.err == nil && n > uint64(len(d.batch)-d.at) {
		d.fail("%d bytes are missing", n-uint64(len(d.batch)-d.at))
	}
	if d.err != nil {
		return nil
	}
	b := d.batch[d.at:][:n]
	d.at += int(n)
	return b
}

func (d *factDecoder) text() string { return string(d.take(d.number())) }

func (d *factDecoder) number() uint64 {
	if d.err != nil {
		return 0
	}
	n, size := binary.Uvarint(d.batch[d.at:])
	if size <= 0 {
		d.fail("a number is missing or too large")
		return 0
	}
	d.at += size
	return n
}

func (d *factDecoder) signed() int {
	if d.err != nil {
		return 0
	}
	n, size := binary.Varint(d.batch[d.at:])
	if size <= 0 || int64(int(n)) != n {
		d.fail("a number is missing or too large")
		return 0
	}
	d.at += size
	return int(n)
}
