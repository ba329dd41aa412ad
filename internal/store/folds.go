package store

import (
	"time"

	"github.com/ncruces/go-sqlite3"
)

// FoldRow is a pocket of a session. Opened and Closed are positions: the newest episode when it was opened and when it was closed, 0
// while it is open. Summary is the episode that stands for it. CreatedAt and ClosedAt are set by the store.
type FoldRow struct {
	ID, Project, Session, Parent string
	Description, Goal            string
	Opened, Closed               int64
	Summary                      string
	CreatedAt, ClosedAt          time.Time
}

const foldColumns = `fold_id, project_id, session_id, parent_id, description, goal, opened_seq, closed_seq, summary, created, closed, seal`

func scanFold(s *sqlite3.Stmt) (FoldRow, error) {
	f := FoldRow{
		ID:          s.ColumnText(0),
		Project:     s.ColumnText(1),
		Session:     s.ColumnText(2),
		Parent:      s.ColumnText(3),
		Description: s.ColumnText(4),
		Goal:        s.ColumnText(5),
		Opened:      s.ColumnInt64(6),
		Closed:      s.ColumnInt64(7),
		Summary:     s.ColumnText(8),
		CreatedAt:   decodeTime(s.ColumnInt64(9)),
		ClosedAt:    decodeTime(s.ColumnInt64(10)),
	}
	return f, sealed("fold "+f.ID, s.ColumnInt64(11), f.seal(s.ColumnInt64(9), s.ColumnInt64(10)))
}

// seal returns the fields that the fold's seal covers. created and closed are as they are stored.
func (f *FoldRow) seal(created, closed int64) []any {
	return []any{f.ID, f.Project, f.Session, f.Parent, f.Description, f.Goal, f.Opened, f.Closed, f.Summary, created, closed}
}

// Fold returns the fold with that id. It fails with [ErrNotFound] when the project has none.
func (r *Reader) Fold(project, id string) (FoldRow, error) {
	return one(r, "fold "+id, `
SELECT `+foldColumns+`
FROM folds
WHERE fold_id = ? AND project_id = ?`, []any{id, project}, scanFold)
}

// Folds returns the session's folds in the order in which they were opened.
func (r *Reader) Folds(project, session string) ([]FoldRow, error) {
	return all(rows(r, "folds of session "+session, `
SELECT `+foldColumns+`
FROM folds
WHERE project_id = ? AND session_id = ?
ORDER BY num`, []any{project, session}, scanFold))
}

// OpenFold records a fold of an existing session.
func (tx *Tx) OpenFold(f FoldRow) error {
	what := "open fold " + f.ID
	f.Closed, f.Summary = 0, ""
	created, err := encodeTime(tx.store.cfg.Now())
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	closed, err := encodeTime(time.Time{})
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	_, err = tx.exec(what, `
INSERT INTO folds (fold_id, project_id, session_id, parent_id, description, goal, opened_seq, created, closed, seal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		f.ID, f.Project, f.Session, f.Parent, f.Description, f.Goal, f.Opened, created, closed, seal(f.seal(created, closed)...))
	return err
}

// CloseFold records where an open fold ends and the episode that stands for it. It fails with [ErrNotFound] when the project has no such
// open fold.
func (tx *Tx) CloseFold(project, id string, closed int64, summary string) error {
	what := "close fold " + id
	f, err := tx.Fold(project, id)
	if err != nil {
		return err
	}
	if f.Closed != 0 {
		return fail(tx.ctx, ErrNotFound, "%s", what)
	}
	created, err := encodeTime(f.CreatedAt)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	at, err := encodeTime(tx.store.cfg.Now())
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	f.Closed, f.Summary = closed, summary
	_, err = tx.exec(what, `
UPDATE folds
SET closed_seq = ?, summary = ?, closed = ?, seal = ?
WHERE fold_id = ? AND project_id = ? AND closed_seq = 0`, closed, summary, at, seal(f.seal(created, at)...), id, project)
	return err
}

// SetFold marks an episode as part of a fold; "" takes it out.
func (tx *Tx) SetFold(project, episode, fold string) error {
	n, err := tx.exec("set fold of "+episode, `
UPDATE episodic_stream AS e
SET fold_id = ?
WHERE e.episode_id = ? AND `+ofProject, fold, episode, project)
	if err == nil && n == 0 {
		err = fail(tx.ctx, ErrNotFound, "set fold of %s", episode)
	}
	return err
}
