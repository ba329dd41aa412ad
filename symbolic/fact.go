package symbolic

import (
	"errors"
	"fmt"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
)

// Evidence is proof that bytes came back from a tool or were read from a file. It is opaque and comes from a recorded tool turn or from the
// cortex only; the zero value is refused with [ErrNoEvidence].
type Evidence = episode.Evidence

// Fact is proof that a parser read a value in recorded bytes. It is opaque: [Extract], [Read] and [Rederive] alone make one, and
// nothing decodes into one. The zero value is no fact. It proves that these bytes came back from this tool or file, not that they are true.
type Fact struct {
	row Row
}

// Valid reports whether f is a fact and not the zero value.
func (f Fact) Valid() bool { return f.row.FactID != "" }

// ID returns the id that the natural key gives.
func (f Fact) ID() string { return f.row.FactID }

// Project returns the id of the project.
func (f Fact) Project() string { return f.row.Project }

// QualifiedName returns the name of the place that the value was read at.
func (f Fact) QualifiedName() string { return f.row.QualifiedName }

// Kind returns one of [Kinds].
func (f Fact) Kind() string { return f.row.Kind }

// FilePath returns the file that the bytes are the content of, "" where they are none.
func (f Fact) FilePath() string { return f.row.FilePath }

// Source returns the name of the parser.
func (f Fact) Source() string { return f.row.Source }

// Value returns the value as the parser read it. See [MaxValueBytes].
func (f Fact) Value() string { return f.row.Value }

// Hash returns the hash of the value's bytes in the source, 64 hexadecimal digits.
func (f Fact) Hash() string { return f.row.ASTHash }

// EpisodeID returns the id of the tool turn that the bytes came back in, "" for a file.
func (f Fact) EpisodeID() string { return f.row.Episode }

// Offset returns the byte offset of the value in the evidence, from 0.
func (f Fact) Offset() int { return f.row.Offset }

// Line returns the line of the value, from 1.
func (f Fact) Line() int { return f.row.Line }

// Row returns what the ledger stores of the fact, without the times and the version, which the store sets.
func (f Fact) Row() Row { return f.row }

// String returns the name and the value.
func (f Fact) String() string {
	if !f.Valid() {
		return "no fact"
	}
	return fmt.Sprintf("%s %s = %s", f.row.Kind, f.row.QualifiedName, f.row.Value)
}

// An id is a prefix, the digits that the facts of one result or file have in common, and those of its own.
const (
	factIDPrefix = "sym_"
	groupDigits  = 6
	ownDigits    = 32 - groupDigits
)

// FactID returns the id of the natural key: "sym_" and 32 hexadecimal digits. The same key has the same id in every store.
//
// The first six digits are those of the file, or where there is none of the call: the facts of one result lie side by side in whatever is sorted by
// id, so that recording them touches a few pages of the store instead of one for each.
func FactID(project, qualifiedName, kind, filePath string) string {
	group := filePath
	if group == "" {
		group = qualifiedName[:callEnd(qualifiedName)]
	}
	var room [36]byte
	b := append(room[:0], factIDPrefix...)
	b = digest.Fields(project, group).AppendDigits(b, groupDigits)
	return string(digest.Fields(project, qualifiedName, kind, filePath).AppendDigits(b, ownDigits))
}

// The errors of [Extract], [Read] and [Rederive].
var (
	// ErrNoSource is returned when the source is the zero FactSource, or when a row names a source that is none.
	ErrNoSource = errors.New("symbolic: no fact source")
	// ErrNoEvidence is returned when the evidence is the zero Evidence.
	ErrNoEvidence = errors.New("symbolic: no evidence")
	// ErrUnsupportedLanguage is returned when no parser is built for the language of [CodeSymbols].
	ErrUnsupportedLanguage = errors.New("symbolic: unsupported language")
	// ErrOtherEvidence is returned by [Rederive] when the row names another project, turn or file than the evidence.
	ErrOtherEvidence = errors.New("symbolic: the row is about other evidence")
	// ErrBadRow is returned by [Rederive] when the row's id is not the one of its natural key.
	ErrBadRow = errors.New("symbolic: the row's id does not belong to its key")
	// ErrGone is returned by [Rederive] when the evidence has no value at the row's place.
	ErrGone = errors.New("symbolic: the place of the fact is gone")
	// ErrStale is what every [StaleError] is.
	ErrStale = errors.New("symbolic: the value has changed")
)

// StaleError says that the evidence has another value at the row's place than the row claims. It matches [ErrStale].
type StaleError struct {
	// Row is the claim as it was given.
	Row Row
	// Current is the value that the parser reads there now.
	Current string
}

// Error names the fact. The values stay out of it: they may be long or private.
func (e *StaleError) Error() string {
	return fmt.Sprintf("symbolic: %s %q is stale: the value at its place has changed", e.Row.Kind, e.Row.QualifiedName)
}

// Is reports whether target is [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }
