package symbolic

import (
	"fmt"
	"strconv"
	"strings"

	"sakur4/internal/digest"
	"sakur4/toolparse"
)

// maxPlaceBytes bounds the place in a fact's name. A value whose place is longer is counted and makes no fact: deep nesting would otherwise
// write names whose total length grows with the square of the input.
const maxPlaceBytes = 1024

// item is what a parser read, before it is a fact.
type item struct {
	kind string
	// place follows the call's part of the qualified name, and pointer follows place. Its bytes are valid until the next item.
	place   string
	pointer []byte
	value   string
	// hash covers the value's bytes in the source.
	hash         digest.Digest
	offset, line int
	// tooLong says that the place has no name within the bound.
	tooLong bool
}

// text is the content of an evidence, with what was found out about it: one parser after the other may be tried.
type text struct {
	content string
	whole   *toolparse.Text
	names   string // the prefix of the names
	named   bool
}

func textOf(ev Evidence) *text {
	return &text{content: ev.Content(), whole: toolparse.NewText(ev.Content())}
}

// prefix returns what [namePrefix] does; ev is the evidence that the text is of.
func (t *text) prefix(ev Evidence) string {
	if !t.named {
		t.names, t.named = namePrefix(ev), true
	}
	return t.names
}

// scan runs the parser of src and passes what it reads to emit in source order. While full reports true, items may be passed without place, value
// and hash, to be counted only.
func scan(src FactSource, t *text, full func() bool, emit func(item)) error {
	content := t.content
	switch src.kind {
	case sourceJSON, sourceCSV:
		return scanWhole(src, t, full, emit)
	case sourceHTTP:
		return scanHTTP(content, emit)
	case sourceDiff:
		return scanDiff(content, full, emit)
	case sourceExit:
		st, err := t.whole.ExitCode()
		if err == nil {
			emit(item{kind: kindExitCode, place: ":exit_code", value: strconv.Itoa(st.Code), hash: digest.Of(st.Raw), offset: st.Offset, line: st.Line})
		}
		return err
	case sourceFields:
		return toolparse.Fields(content, func(f toolparse.Field) bool {
			emit(item{kind: kindField, place: ":" + f.Key, value: f.Value, hash: digest.Of(f.Value), offset: f.Offset, line: f.Line})
			return true
		})
	case sourceRegexp:
		// The pattern is part of the place: two expressions over one result are two facts.
		prefix := ":" + digest.Of(src.arg).Short() + "/"
		return toolparse.Matches(src.re, content, func(m toolparse.Match) bool {
			emit(item{kind: kindMatch, place: prefix + m.Group, value: m.Text, hash: digest.Of(m.Text), offset: m.Offset, line: m.Line})
			return true
		})
	case sourceCode:
		return scanCode(src.arg, content, emit)
	}
	return ErrNoSource
}

// scanWhole runs a parser that reads its input to the last byte. The bytes are all of the content, or what is left of it between the lines that a tool
// put around a command's output; the other parsers skip such lines by themselves.
func scanWhole(src FactSource, t *text, full func() bool, emit func(item)) error {
	output, moved := wholeOrOutput(src, t)
	if moved > 0 {
		line := strings.Count(t.content[:moved], "\n")
		whole := emit
		emit = func(it item) {
			it.offset += moved
			it.line += line
			whole(it)
		}
	}
	if src.kind == sourceJSON {
		return scanJSON(output, full, emit)
	}
	return scanCSV(output.String(), emit)
}

// wholeOrOutput returns what the parser reads, and where it begins. It decides without making anything: a parser passes values on before it can refuse.
func wholeOrOutput(src FactSource, t *text) (*toolparse.Text, int) {
	reads := func(t *toolparse.Text) bool {
		if src.kind == sourceJSON {
			return t.IsJSON()
		}
		_, err := toolparse.CSV(t.String(), nil)
		return err == nil
	}
	if src.kind == sourceJSON && t.whole.IsJSON() {
		return t.whole, 0
	}
	start, end := t.whole.Output()
	if end-start == len(t.content) || reads(t.whole) {
		return t.whole, 0
	}
	if output := toolparse.NewText(t.content[start:end]); reads(output) {
		return output, start
	}
	return t.whole, 0
}

func scanJSON(t *toolparse.Text, full func() bool, emit func(item)) error {
	var pointer struct {
		text []byte
		room [64]byte
	}
	pointer.text = pointer.room[:0]
	return t.JSON(func(v toolparse.JSONValue) bool {
		it := item{kind: kindJSON, offset: v.Offset, line: v.Line}
		if it.tooLong = v.PointerLen() > maxPlaceBytes; !it.tooLong && !full() {
			pointer.text = v.AppendPointer(pointer.text[:0])
			it.pointer, it.value, it.hash = pointer.text, v.Text(), digest.Of(v.Raw)
		}
		emit(it)
		return true
	})
}

// Header names compare without case and HTTP/2 has them in small letters, so places do too; the status has the name that HTTP/2 gives it.
func scanHTTP(content string, emit func(item)) error {
	heads, err := toolparse.HTTPHeaders(content)
	if err != nil {
		return err
	}
	for _, h := range heads {
		side := ":"
		if h.Request() {
			side = ":request:"
			emit(item{kind: kindHeader, place: ":request::target", value: h.Method + " " + h.Target, hash: digest.Of(h.Text), offset: h.Offset, line: h.Line})
		} else {
			emit(item{kind: kindHeader, place: "::status", value: strconv.Itoa(h.Status), hash: digest.Of(h.Text), offset: h.Offset, line: h.Line})
		}
		for _, f := range h.Fields {
			emit(item{kind: kindHeader, place: side + strings.ToLower(f.Name), value: f.Value, hash: digest.Of(f.Value), offset: f.Offset, line: f.Line})
		}
	}
	return nil
}

// A hunk's value is its "@@" line with the counts of added and deleted lines; the hash covers the hunk. A file that changes without a hunk gives one fact too.
func scanDiff(content string, full func() bool, emit func(item)) error {
	files, err := toolparse.UnifiedDiff(content)
	if err != nil {
		return err
	}
	for _, f := range files {
		place := ":" + f.Path()
		if len(f.Hunks) == 0 {
			emit(item{kind: kindHunk, place: place, value: changeOf(f), hash: digest.Of(f.Text), offset: f.Offset, line: f.Line})
		}
		for _, h := range f.Hunks {
			it := item{kind: kindHunk, place: place, offset: h.Offset, line: h.Line}
			if !full() {
				header, _, _ := strings.Cut(h.Text, "\n")
				it.value = fmt.Sprintf("%s (+%d -%d)", strings.TrimRight(header, "\r"), h.Added, h.Deleted)
				it.hash = digest.Of(h.Text)
			}
			emit(it)
		}
	}
	return nil
}

func changeOf(f toolparse.FileDiff) string {
	parts := []string{f.Change}
	switch {
	case f.Change == "rename" || f.Change == "copy":
		parts = append(parts, "from "+f.OldPath+" to "+f.NewPath)
	case f.OldMode != "" && f.NewMode != "" && f.OldMode != f.NewMode:
		parts = append(parts, "mode "+f.OldMode+" to "+f.NewMode)
	}
	if f.Binary {
		parts = append(parts, "binary")
	}
	return strings.Join(parts, ", ")
}

// shownCells is how many of a column's values its fact shows.
const shownCells = 3

// A column's value is the count of its cells and the first of them; the hash covers them all. A column is named by its header, by its number where it has none.
func scanCSV(content string, emit func(item)) error {
	var names []toolparse.CSVCell
	var cells [][]string
	d, err := toolparse.CSV(content, func(record []toolparse.CSVCell) bool {
		if cells == nil {
			names = append(names, record...)
			cells = make([][]string, len(record))
		}
		for i, c := range record {
			cells[i] = append(cells[i], c.Text)
		}
		return true
	})
	if err != nil {
		return err
	}
	for i, name := range names {
		column, place := cells[i], ":column "+strconv.Itoa(i+1)
		if d.Header {
			column = column[1:]
			if s := strings.TrimSpace(name.Text); s != "" {
				place = ":" + s
			}
		}
		emit(item{kind: kindColumn, place: place, value: columnValue(column), hash: digest.Fields(column...), offset: name.Offset, line: name.Line})
	}
	return nil
}

func columnValue(cells []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", len(cells))
	for i, c := range cells[:min(len(cells), shownCells)] {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(c[:min(len(c), 256)]))
	}
	if len(cells) > shownCells {
		b.WriteString(", …")
	}
	return b.String()
}
