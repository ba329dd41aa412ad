package store

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// SnapshotRow is a file of a server that holds a saved slot, or with ID "" one that holds nothing of use. Ord counts the files that a session has
// written. Body is the engine's JSON.
type SnapshotRow struct {
	File    string
	Ord     int
	ID      string
	Tokens  int
	Bytes   int64
	Created time.Time
	Body    string
}

const snapshotColumns = `file, ord, snapshot_id, tokens, bytes, created, body, project_id, session_id, seal`

func scanSnapshot(s *sqlite3.Stmt) (SnapshotRow, error) {
	row := SnapshotRow{
		File:    s.ColumnText(0),
		Ord:     s.ColumnInt(1),
		ID:      s.ColumnText(2),
		Tokens:  s.ColumnInt(3),
		Bytes:   s.ColumnInt64(4),
		Created: decodeTime(s.ColumnInt64(5)),
		Body:    s.ColumnText(6),
	}
	return row, sealed("snapshot file "+row.File, s.ColumnInt64(9), row.seal(s.ColumnText(7), s.ColumnText(8), s.ColumnInt64(5)))
}

// seal returns the fields that the row's seal covers: all but the tokens, of which the body has a digest. created is as it is stored.
func (row *SnapshotRow) seal(project, session string, created int64) []any {
	return []any{project, session, row.File, int64(row.Ord), row.ID, int64(row.Tokens), row.Bytes, created, row.Body}
}

// Snapshots returns the session's files in the order in which they were written.
func (r *Reader) Snapshots(project, session string) ([]SnapshotRow, error) {
	return all(rows(r, "snapshots of session "+session, `
SELECT `+snapshotColumns+`
FROM snapshot
WHERE project_id = ? AND session_id = ?
ORDER BY ord, file`, []any{project, session}, scanSnapshot))
}

// SnapshotPrompt returns the tokens that a snapshot's slot held. It fails with [ErrNotFound] when the session has no such snapshot.
func (r *Reader) SnapshotPrompt(project, session, id string) ([]int32, error) {
	return one(r, "tokens of snapshot "+id, `
SELECT prompt
FROM snapshot
WHERE project_id = ? AND session_id = ? AND snapshot_id = ?`, []any{project, session, id}, func(s *sqlite3.Stmt) ([]int32, error) {
		return unpackTokens(s.ColumnRawBlob(0))
	})
}

// PutSnapshot inserts the row of a file, or replaces it.
func (tx *Tx) PutSnapshot(project, session string, row SnapshotRow, prompt []int32) error {
	what := "put snapshot file " + row.File
	created, err := encodeTime(row.Created)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	packed, err := packTokens(prompt)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	_, err = tx.exec(what, `
INSERT INTO snapshot (project_id, session_id, file, ord, snapshot_id, tokens, bytes, created, body, prompt, seal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project_id, session_id, file) DO UPDATE
SET ord = excluded.ord, snapshot_id = excluded.snapshot_id, tokens = excluded.tokens, bytes = excluded.bytes, created = excluded.created,
  body = excluded.body, prompt = excluded.prompt, seal = excluded.seal`,
		project, session, row.File, row.Ord, row.ID, row.Tokens, row.Bytes, created, row.Body, packed, seal(row.seal(project, session, created)...))
	return err
}

// packTokens returns tokens as they are stored.
func packTokens(tokens []int32) ([]byte, error) {
	raw := make([]byte, 0, 3*len(tokens))
	for _, t := range tokens {
		raw = binary.AppendVarint(raw, int64(t))
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// maxTokensBytes bounds what damaged bytes may inflate to: ten million tokens.
const maxTokensBytes = 50 << 20

// unpackTokens is the inverse of packTokens.
func unpackTokens(b []byte) ([]int32, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxTokensBytes))
	if err != nil {
		return nil, fmt.Errorf("tokens: %w: %w", ErrCorrupt, err)
	}
	var tokens []int32
	for len(raw) > 0 {
		t, n := binary.Varint(raw)
		if n <= 0 || int64(int32(t)) != t {
			return nil, fmt.Errorf("token %d: %w", len(tokens), ErrCorrupt)
		}
		tokens = append(tokens, int32(t))
		raw = raw[n:]
	}
	return tokens, nil
}
