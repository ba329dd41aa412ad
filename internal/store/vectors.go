package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// Vectors are filled in like the full-text index: behind a watermark, from the outside, in batches. Unlike it they need somebody else to make them, so that
// the store hands out the texts and takes the vectors back.

// The kinds of rows that have vectors.
const (
	// VectorOfEpisode is an episode's, by its position; VectorOfEntry an interpretation's.
	VectorOfEpisode uint8 = 1
	VectorOfEntry   uint8 = 2
)

// VectorModel says what a project's vectors were made by.
type VectorModel struct {
	// Model is its name, Dim the length of its vectors.
	Model string
	Dim   int
	// Generation changes when the vectors are thrown away.
	Generation int64
	// Refused counts the texts that the model did not take.
	Refused int
}

// same reports whether vectors of the two can be compared and stand in the same generation.
func (m VectorModel) same(o VectorModel) bool {
	return m.Model == o.Model && m.Dim == o.Dim && m.Generation == o.Generation
}

// VectorText is a row that has no vector yet.
type VectorText struct {
	Row  int64
	Text string
}

// VectorBatch is a run of rows of one kind that were not looked at yet.
type VectorBatch struct {
	Model VectorModel
	Kind  uint8
	// Texts are the rows that say something, in their order; Through is where the run ends, whatever is in it.
	Texts   []VectorText
	Through int64

	from int64
}

// Empty reports whether there is nothing to do.
func (b VectorBatch) Empty() bool { return b.Through <= b.from }

// vectorMark is the column of a kind's watermark.
func vectorMark(kind uint8) string {
	if kind == VectorOfEntry {
		return "entry_mark"
	}
	return "episode_mark"
}

// VectorModel returns what the project's vectors were made by, [ErrNotFound] where it has none.
func (r *Reader) VectorModel(project string) (VectorModel, error) {
	return one(r, "model of the vectors", `
SELECT m.model, m.dim, m.generation, m.refused
FROM vector_model m
JOIN project p ON p.num = m.project_num
WHERE p.project_id = ?`, []any{project}, func(s *sqlite3.Stmt) (VectorModel, error) {
		return VectorModel{Model: s.ColumnText(0), Dim: s.ColumnInt(1), Generation: s.ColumnInt64(2), Refused: s.ColumnInt(3)}, nil
	})
}

// SetVectorModel makes a model the project's. The vectors of another one are thrown away: they are not part of the record, and are made of it again.
func (tx *Tx) SetVectorModel(project, model string, dim int) error {
	const what = "model of the vectors"
	if _, err := tx.exec(what, `
DELETE FROM vector_block
WHERE project_num = (SELECT num FROM project WHERE project_id = ?)`, project); err != nil {
		return err
	}
	changed, err := tx.exec(what, `
INSERT INTO vector_model (project_num, model, dim, generation)
SELECT num, ?2, ?3, 1 FROM project WHERE project_id = ?1
ON CONFLICT (project_num) DO UPDATE
SET model = excluded.model, dim = excluded.dim, generation = generation + 1, episode_mark = 0, entry_mark = 0, refused = 0`, project, model, dim)
	if err == nil && changed == 0 {
		err = fail(tx.ctx, ErrNotFound, what)
	}
	return err
}

// vectorBatchRows bounds the rows of one batch.
const vectorBatchRows = 32

// VectorBatch returns the next rows of the project that were not looked at yet, up to a position that [Reader.VectorTop] gave. The text of an episode is what its turn says, or
// what it calls where it says nothing.
func (r *Reader) VectorBatch(project string, kind uint8, top int64) (VectorBatch, error) {
	const what = "texts without a vector"
	var b VectorBatch
	var err error
	if b.Model, err = r.VectorModel(project); err != nil {
		return b, err
	}
	b.Kind = kind
	err = r.each(what, `
SELECT `+vectorMark(kind)+`
FROM vector_model
WHERE project_num = (SELECT num FROM project WHERE project_id = ?)`, []any{project}, func(s *sqlite3.Stmt) error {
		b.from = s.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return b, err
	}
	b.Through = max(top, b.from)
	sql := `
SELECT e.seq, e.content, e.calls
FROM episodic_stream e
WHERE ` + ofProject + ` AND e.seq > ? AND e.seq <= ?
ORDER BY e.seq`
	if kind == VectorOfEntry {
		sql = `
SELECT num, text, ''
FROM semantic_atlas
WHERE project_id = ? AND num > ? AND num <= ?
ORDER BY num`
	}
	size := 0
	err = r.each(what, sql, []any{project, b.from, b.Through}, func(s *sqlite3.Stmt) error {
		t := VectorText{Row: s.ColumnInt64(0), Text: string(s.ColumnRawBlob(1))}
		if t.Text == "" {
			calls, err := decodeCalls(s.ColumnRawText(2))
			if err != nil {
				return fail(r.ctx, err, what)
			}
			for _, c := range calls {
				t.Text += c.Name + " " + c.Arguments + "\n"
			}
		}
		if t.Text != "" {
			b.Texts = append(b.Texts, t)
		}
		if size += len(t.Text); size >= indexBatchBytes || len(b.Texts) == vectorBatchRows {
			b.Through = t.Row
			return errStop
		}
		return nil
	})
	return b, err
}

// VectorTop returns the last row of a kind, of all projects.
func (r *Reader) VectorTop(kind uint8) (top int64, err error) {
	sql := `SELECT coalesce(max(seq), 0) FROM episodic_stream`
	if kind == VectorOfEntry {
		sql = `SELECT coalesce(max(num), 0) FROM semantic_atlas`
	}
	err = r.each("last row", sql, nil, func(s *sqlite3.Stmt) error {
		top = s.ColumnInt64(0)
		return nil
	})
	return top, err
}

// VectorsWaiting counts the project's episodes and entries that were not looked at yet. Without a model it is 0.
func (r *Reader) VectorsWaiting(project string) (n int, err error) {
	err = r.each("count texts without a vector", `
SELECT (SELECT count(*) FROM episodic_stream e WHERE e.project_id = m.project_num AND e.seq > m.episode_mark)
  + (SELECT count(*) FROM semantic_atlas a WHERE a.project_id = p.project_id AND a.num > m.entry_mark)
FROM vector_model m
JOIN project p ON p.num = m.project_num
WHERE p.project_id = ?`, []any{project}, func(s *sqlite3.Stmt) error {
		n = s.ColumnInt(0)
		return nil
	})
	return n, err
}

// Vectors counts the project's vectors.
func (r *Reader) Vectors(project string) (n int, err error) {
	err = r.each("count vectors", `
SELECT coalesce(sum(length(b.body)) / m.dim, 0)
FROM vector_model m
JOIN project p ON p.num = m.project_num
JOIN vector_block b ON b.project_num = m.project_num
WHERE p.project_id = ?`, []any{project}, func(s *sqlite3.Stmt) error {
		n = s.ColumnInt(0)
		return nil
	})
	return n, err
}

// PutVectors stores the vectors of a batch: for each of its texts those of its parts, none where the model did not take it. It does nothing where the
// rows have been looked at meanwhile, or the model is another one. Like the index it is no write of the record: [Store.Version] stays.
func (s *Store) PutVectors(ctx context.Context, project string, b VectorBatch, packed [][][]byte) error {
	const what = "store vectors"
	if err := s.enter(); err != nil {
		return fail(ctx, err, what)
	}
	defer s.leave()
	switch {
	case s.cfg.ReadOnly:
		return fail(ctx, ErrReadOnly, what)
	case len(packed) != len(b.Texts):
		return fail(ctx, fmt.Errorf("%d of %d texts", len(packed), len(b.Texts)), what)
	}
	var parts, body []byte
	last, refused := int64(0), 0
	for i, t := range b.Texts {
		if len(packed[i]) == 0 {
			refused++
		}
		for _, v := range packed[i] {
			if len(v) != b.Model.Dim {
				return fail(ctx, fmt.Errorf("a vector of %d numbers, not %d", len(v), b.Model.Dim), what)
			}
			parts = binary.AppendUvarint(parts, uint64(t.Row-last))
			last = t.Row
			body = append(body, v...)
		}
	}
	return fail(ctx, s.onIndexer(ctx, true, func(c *conn) error {
		num, found, err := c.number(`
SELECT m.project_num
FROM vector_model m
JOIN project p ON p.num = m.project_num
WHERE p.project_id = ? AND m.model = ? AND m.dim = ? AND m.generation = ? AND m.`+vectorMark(b.Kind)+` = ?`,
			project, b.Model.Model, b.Model.Dim, b.Model.Generation, b.from)
		if err != nil || !found {
			return err
		}
		if len(parts) > 0 {
			if _, err := c.exec(`INSERT INTO vector_block (num, project_num, kind, parts, body)
SELECT coalesce(max(num), 0) + 1, ?, ?, ?, ? FROM vector_block`, num, int(b.Kind), parts, body); err != nil {
				return err
			}
		}
		_, err = c.exec(`
UPDATE vector_model
SET `+vectorMark(b.Kind)+` = ?, refused = refused + ?
WHERE project_num = ?`, b.Through, refused, num)
		return err
	}), what)
}
