package store

import "github.com/ncruces/go-sqlite3"

// NoteRow is a text that waits to be rendered with a session's next window, or was. Seq orders a session's notes and is set by [Tx.AddNote].
type NoteRow struct {
	ID              string
	Seq             int64
	Kind, Text, Ref string
	Placed          bool
}

const noteColumns = `note_id, seq, kind, text, ref, placed, project_id, session_id, seal`

func scanNote(s *sqlite3.Stmt) (NoteRow, error) {
	n := NoteRow{
		ID:     s.ColumnText(0),
		Seq:    s.ColumnInt64(1),
		Kind:   s.ColumnText(2),
		Text:   s.ColumnText(3),
		Ref:    s.ColumnText(4),
		Placed: s.ColumnInt64(5) != 0,
	}
	return n, sealed("note "+n.ID, s.ColumnInt64(8), n.seal(s.ColumnText(6), s.ColumnText(7)))
}

// seal returns the fields that the note's seal covers.
func (n *NoteRow) seal(project, session string) []any {
	return []any{project, session, n.Seq, n.ID, n.Kind, n.Text, n.Ref}
}

// Notes returns the session's notes in the order in which they were added.
func (r *Reader) Notes(project, session string, pendingOnly bool) ([]NoteRow, error) {
	return all(rows(r, "notes", `
SELECT `+noteColumns+`
FROM note
WHERE project_id = ? AND session_id = ? AND placed <= ?
ORDER BY seq`, []any{project, session, !pendingOnly}, scanNote))
}

// AddNote adds a note to an existing session.
func (tx *Tx) AddNote(project, session string, n NoteRow) error {
	var err error
	n.Seq, err = tx.next("add note "+n.ID, `
SELECT coalesce(max(seq), 0)
FROM note
WHERE project_id = ? AND session_id = ?`, project, session)
	if err != nil {
		return err
	}
	_, err = tx.exec("add note "+n.ID, `
INSERT INTO note (project_id, session_id, seq, note_id, kind, text, ref, placed, seal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, project, session, n.Seq, n.ID, n.Kind, n.Text, n.Ref, n.Placed, seal(n.seal(project, session)...))
	return err
}

// PlaceNotes marks notes as rendered. Marking one again changes nothing; an unknown id is [ErrNotFound].
func (tx *Tx) PlaceNotes(project, session string, ids []string) error {
	for _, id := range ids {
		n, err := tx.exec("place note "+id, `
UPDATE note
SET placed = 1
WHERE project_id = ? AND session_id = ? AND note_id = ?`, project, session, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fail(tx.ctx, ErrNotFound, "place note %s", id)
		}
	}
	return nil
}
