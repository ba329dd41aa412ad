package store

import (
	"encoding/binary"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
)

// seal sums up what a row records once and for all. Each field is a string or an int64, framed so that no two lists agree by accident.
// It is kept in the row and compared whenever the row is read: bytes that changed on the disk are an error, never an answer. It finds
// accidents; who can write the file can write a seal as well.
func seal(fields ...any) int64 {
	size := 0
	for _, f := range fields {
		size += 1 + 8
		if s, ok := f.(string); ok {
			size += len(s)
		}
	}
	b := make(sealing, 0, size)
	for _, f := range fields {
		switch v := f.(type) {
		case string:
			b = b.text(v)
		case int64:
			b = b.number(v)
		}
	}
	return b.seal()
}

// sealing is the fields of a seal one after the other, for rows that have many.
type sealing []byte

func (b sealing) text(s string) sealing {
	return append(binary.LittleEndian.AppendUint64(append(b, 's'), uint64(len(s))), s...)
}

func (b sealing) number(n int64) sealing {
	return binary.LittleEndian.AppendUint64(append(b, 'n'), uint64(n))
}

func (b sealing) seal() int64 { return int64(digest.FastBytes(b)) }

// sealed compares a row with its seal. what names the row.
func sealed(what string, recorded int64, fields []any) error {
	if recorded != seal(fields...) {
		return unlike(what)
	}
	return nil
}

// unlike is the error of a row that is not like its seal.
func unlike(what string) error {
	return &failure{what, fmt.Errorf("a recorded column is not what was written: %w", ErrCorrupt)}
}

// episodeSeal returns the fields that an episode's seal covers: all that is recorded but the content, which has its own digest.
// at, created and calls are as they are stored.
func episodeSeal(e *episode.Record, at, created int64, calls string) []any {
	return []any{e.Seq, e.ID, e.Project, e.Session, string(e.Role), e.CallID, e.ToolName, e.CallEpisode, int64(e.CallIndex), at, created, int64(e.Tokens),
		e.Tokenizer, string(e.Digest[:]), calls, e.Reasoning}
}

// checkEpisode compares a row of [episodeColumns] with its digest and its seal.
func checkEpisode(s *sqlite3.Stmt, e *episode.Record) error {
	if got := digest.Of(e.Content); got != e.Digest {
		return &failure{"episode " + e.ID, fmt.Errorf("the content's digest is %s, recorded was %s: %w", got.Short(), e.Digest.Short(), ErrCorrupt)}
	}
	return sealed("episode "+e.ID, s.ColumnInt64(21), episodeSeal(e, s.ColumnInt64(13), s.ColumnInt64(14), s.ColumnText(18)))
}
