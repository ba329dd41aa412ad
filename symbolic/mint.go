package symbolic

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"sakur4/internal/codesym"
	"sakur4/internal/digest"
)

// Extract parses the evidence and returns what the parser read as facts, in source order. It is the only maker of facts:
// [Read], [Outline] and [Rederive] go through the same mint in this file. The error is a [*toolparse.SyntaxError] where the bytes are not what the source reads.
func Extract(src FactSource, ev Evidence) ([]Fact, error) {
	facts, _, err := mint(src, ev, textOf(ev), 0, nil)
	return facts, err
}

// Rederive parses the evidence again and returns the fact that row claims. The fact carries what the parser reads now; nothing is taken from the row.
// It returns a [*StaleError] when the place has another value, [ErrGone] when there is no such place or the bytes no longer parse,
// [ErrOtherEvidence], [ErrBadRow] or [ErrNoSource] when the row does not belong to the evidence or is not one that a fact gave.
func Rederive(row Row, ev Evidence) (Fact, error) {
	src, ok := sourceNamed(row.Source)
	switch {
	case !ok:
		return Fact{}, fmt.Errorf("%w: %q", ErrNoSource, row.Source)
	case !ev.Valid():
		return Fact{}, ErrNoEvidence
	case row.Project != ev.Project() || row.Episode != ev.EpisodeID() || ev.IsFile() && row.FilePath != ev.FilePath():
		return Fact{}, ErrOtherEvidence
	case row.FactID != FactID(row.Project, row.QualifiedName, row.Kind, row.FilePath):
		return Fact{}, fmt.Errorf("%w: %q", ErrBadRow, row.FactID)
	}
	facts, _, err := mint(src, ev, textOf(ev), 0, func(f Fact) bool { return f.row.FactID == row.FactID })
	if err != nil {
		return Fact{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	if len(facts) == 0 {
		return Fact{}, fmt.Errorf("%w: %s %q", ErrGone, row.Kind, row.QualifiedName)
	}
	if f := facts[0]; f.row.Value == row.Value && f.row.ASTHash == row.ASTHash {
		return f, nil
	}
	return Fact{}, &StaleError{Row: row, Current: facts[0].row.Value}
}

// Code is what the parser of a language read in one file: symbols, call sites and imports.
type Code = codesym.File

// Outline is [Extract] with [CodeSymbols] that also returns what else the parser read, so that a file is parsed once. The facts stand beside the symbols: facts[i] is
// that of code.Symbols[i], the zero Fact where the symbol's name is too long for one. Its errors are those of Extract.
func Outline(lang string, ev Evidence) (facts []Fact, code Code, err error) {
	return new(Outliner).Outline(lang, ev)
}

// Outliner outlines one file after another and keeps the buffers of its parser from one to the next, which is faster than [Outline]: what it reads does not depend on what it has
// read before. The zero value is ready for use, by one goroutine at a time.
type Outliner struct{ parser codesym.Parser }

// Outline is [Outline] for one of several files.
func (o *Outliner) Outline(lang string, ev Evidence) (facts []Fact, code Code, err error) {
	src := CodeSymbols(lang)
	switch {
	case src.kind == 0:
		return nil, Code{}, ErrNoSource
	case !ev.Valid():
		return nil, Code{}, ErrNoEvidence
	}
	if code, err = parseCode(&o.parser, src.arg, ev.Content()); err != nil {
		return nil, Code{}, err
	}
	m := newMinter(src, ev, namePrefix(ev))
	facts = make([]Fact, 0, len(code.Symbols))
	emitCode(code, func(it item) {
		f, _ := m.fact(it)
		facts = append(facts, f)
	})
	return facts, code, nil
}

// mint runs the parser and makes a fact of each value that keep accepts (nil: of each), at most max of them (0: no bound). It returns how many were left out.
// A parser may refuse at its last byte, so nothing is returned before it has accepted the whole. t is the text of ev.
func mint(src FactSource, ev Evidence, t *text, max int, keep func(Fact) bool) (facts []Fact, leftOut int, err error) {
	if src.kind == 0 {
		return nil, 0, ErrNoSource
	}
	if !ev.Valid() {
		return nil, 0, ErrNoEvidence
	}
	m := newMinter(src, ev, t.prefix(ev))
	m.max, m.keep = max, keep
	if keep == nil && src.kind == sourceJSON {
		n := min(t.whole.Leaves(), roomFor) // a value may make no fact
		if max > 0 {
			n = min(n, max)
		}
		m.names.hint, m.facts = n, make([]Fact, 0, n)
	}
	if err := scan(src, t, m.full, m.emit); err != nil {
		return nil, 0, err
	}
	return m.facts, m.leftOut, nil
}

// roomFor is the most facts that room is made for before there is one.
const roomFor = 1024

// minter makes facts of the values of one evidence.
type minter struct {
	ev             Evidence
	source, prefix string
	plain          bool // a file's symbols have the names that its language gives them
	names          uniquer
	call           string // what the last fact's name begins with
	group          [groupDigits]byte
	grouped        bool
	texts, key     []byte // the texts of a fact, and what its id is the digest of
	textRoom       [192]byte
	keyRoom        [192]byte
	// What mint makes of them.
	max     int
	keep    func(Fact) bool
	facts   []Fact
	leftOut int
}

// newMinter returns a minter; prefix is what [namePrefix] says of the evidence.
func newMinter(src FactSource, ev Evidence, prefix string) *minter {
	m := &minter{ev: ev, source: src.String(), prefix: prefix, plain: src.kind == sourceCode && ev.IsFile()}
	m.texts, m.key = m.textRoom[:0], m.keyRoom[:0]
	return m
}

// full reports whether there are as many facts as were asked for.
func (m *minter) full() bool { return m.max > 0 && len(m.facts) == m.max }

// emit takes what a parser read.
func (m *minter) emit(it item) {
	if m.full() {
		m.leftOut++
		return
	}
	f, ok := m.fact(it)
	switch {
	case !ok:
		m.leftOut++
	case m.keep == nil || m.keep(f):
		m.facts = append(m.facts, f)
	}
}

// fact makes the fact of one value; false where its place has no name within the bound.
func (m *minter) fact(it item) (Fact, bool) {
	if it.tooLong || len(it.place)+len(it.pointer) > maxPlaceBytes {
		return Fact{}, false
	}
	if m.plain {
		it.place = strings.TrimPrefix(it.place, ":")
	}
	// Name, id and hash lie behind each other in one text.
	b := append(append(append(m.texts[:0], m.prefix...), it.place...), it.pointer...)
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	free := m.names.free(it.kind, b)
	if !free {
		b = append(b[:0], m.names.another(it.kind, string(b))...)
	}
	name := len(b)
	b = m.appendID(b, it.kind)
	id := len(b)
	b = it.hash.AppendDigits(b, 2*len(it.hash))
	m.texts = b
	all := string(b)
	if free {
		m.names.take(it.kind, all[:name])
	}
	return Fact{row: Row{
		FactID:        all[name:id],
		Project:       m.ev.Project(),
		QualifiedName: all[:name],
		Kind:          it.kind,
		FilePath:      m.ev.FilePath(),
		Source:        m.source,
		Value:         clip(it.value),
		ASTHash:       all[id:],
		Episode:       m.ev.EpisodeID(),
		Offset:        it.offset,
		Line:          it.line,
	}}, true
}

// appendID appends what [FactID] returns to the name. The facts of a result are of one group, which is looked for once.
func (m *minter) appendID(name []byte, kind string) []byte {
	project, path := m.ev.Project(), m.ev.FilePath()
	group := path
	if call := name[:callEnd(name)]; path == "" && (!m.grouped || string(call) != m.call) {
		if m.call, m.grouped = m.prefix, false; string(call) != m.prefix {
			m.call = string(call)
		}
		group = m.call
	}
	if !m.grouped {
		digest.Fields(project, group).AppendDigits(m.group[:0], groupDigits)
		m.grouped = true
	}
	key := digest.AppendField(m.key[:0], project)
	key = digest.AppendField(key, name)
	key = digest.AppendField(key, kind)
	key = digest.AppendField(key, path)
	m.key = key
	b := append(append(name, factIDPrefix...), m.group[:]...)
	return digest.OfBytes(key).AppendDigits(b, ownDigits)
}
