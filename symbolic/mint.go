package symbolic

import (
	"fmt"
	"strings"
)

// Extract parses the evidence and returns what the parser read as facts, in source order. It is the only maker of facts:
// [Read] and [Rederive] go through the same mint in this file. The error is a [*toolparse.SyntaxError] where the bytes are not what the source reads.
func Extract(src FactSource, ev Evidence) ([]Fact, error) {
	facts, _, err := mint(src, ev, 0, nil)
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
	facts, _, err := mint(src, ev, 0, func(f Fact) bool { return f.row.FactID == row.FactID })
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

// mint runs the parser and makes a fact of each value that keep accepts (nil: of each), at most max of them (0: no bound). It returns how many were left out.
// A parser may refuse at its last byte, so nothing is returned before it has accepted the whole.
func mint(src FactSource, ev Evidence, max int, keep func(Fact) bool) (facts []Fact, leftOut int, err error) {
	if src.kind == 0 {
		return nil, 0, ErrNoSource
	}
	if !ev.Valid() {
		return nil, 0, ErrNoEvidence
	}
	prefix := namePrefix(ev)
	plain := src.kind == sourceCode && ev.IsFile() // a file's symbols have the names that its language gives them
	names := uniquer{}
	full := func() bool { return max > 0 && len(facts) == max }
	err = scan(src, ev.Content(), full, func(it item) {
		if it.tooLong || len(it.place) > maxPlaceBytes || full() {
			leftOut++
			return
		}
		if plain {
			it.place = strings.TrimPrefix(it.place, ":")
		}
		name := names.unique(it.kind, strings.ToValidUTF8(prefix+it.place, "\ufffd"))
		f := Fact{row: Row{
			FactID:        FactID(ev.Project(), name, it.kind, ev.FilePath()),
			Project:       ev.Project(),
			QualifiedName: name,
			Kind:          it.kind,
			FilePath:      ev.FilePath(),
			Source:        src.String(),
			Value:         clip(it.value),
			ASTHash:       it.hash.String(),
			Episode:       ev.EpisodeID(),
			Offset:        it.offset,
			Line:          it.line,
		}}
		if keep == nil || keep(f) {
			facts = append(facts, f)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return facts, leftOut, nil
}
