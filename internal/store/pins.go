package store

import (
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// PinRow is a pinned text. Seq is its position in the store, set by [Tx.AddPin].
type PinRow struct {
	ID, Project, Session, Kind, Text string
	Seq                              int64
	Created                          time.Time
	Retired                          bool
}

const pinColumns = `seq, pin_id, project_id, session_id, kind, text, created, retired, seal`

func scanPin(s *sqlite3.Stmt) (PinRow, error) {
	p := PinRow{
		Seq:     s.ColumnInt64(0),
		ID:      s.ColumnText(1),
		Project: s.ColumnText(2),
		Session: s.ColumnText(3),
		Kind:    s.ColumnText(4),
		Text:    s.ColumnText(5),
		Created: decodeTime(s.ColumnInt64(6)),
		Retired: s.ColumnInt64(7) != 0,
	}
	return p, sealed("pin "+p.ID, s.ColumnInt64(8), p.seal(s.ColumnInt64(6)))
}

// seal returns the fields that the pin's seal covers.
func (p *PinRow) seal(created int64) []any {
	return []any{p.Seq, p.ID, p.Project, p.Session, p.Kind, p.Text, created}
}

// Pins returns the project's pins in the order in which they were added.
func (r *Reader) Pins(project string, withRetired bool) ([]PinRow, error) {
	return all(rows(r, "pins", `
SELECT `+pinColumns+`
FROM anchor_set
WHERE project_id = ? AND retired <= ?
ORDER BY seq`, []any{project, withRetired}, scanPin))
}

// AddPin adds a pin. Its Seq is given by the store; its Created is now when zero. It fails with [ErrExists] when the id is taken.
func (tx *Tx) AddPin(p PinRow) error {
	what := "add pin " + p.ID
	if p.Retired {
		return fail(tx.ctx, fmt.Errorf("it is retired already"), "%s", what)
	}
	taken := false
	err := tx.each(what, `SELECT 1 FROM anchor_set WHERE pin_id = ?`, []any{p.ID}, func(*sqlite3.Stmt) error {
		taken = true
		return nil
	})
	if err != nil {
		return err
	}
	if taken {
		return fail(tx.ctx, ErrExists, "%s", what)
	}
	if p.Created.IsZero() {
		p.Created = tx.store.cfg.Now()
	}
	created, err := encodeTime(p.Created)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	if p.Seq, err = tx.next(what, `SELECT coalesce(max(seq), 0) FROM anchor_set`); err != nil {
		return err
	}
	_, err = tx.exec(what, `
INSERT INTO anchor_set (seq, pin_id, project_id, session_id, kind, text, created, seal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, p.Seq, p.ID, p.Project, p.Session, p.Kind, p.Text, created, seal(p.seal(created)...))
	return err
}

// RetirePin takes a pin out of force; it stays readable. It fails with [ErrNotFound] when the project has no such pin in force.
func (tx *Tx) RetirePin(project, id string) error {
	n, err := tx.exec("retire pin "+id, `
UPDATE anchor_set
SET retired = 1
WHERE pin_id = ? AND project_id = ? AND retired = 0`, id, project)
	if err == nil && n == 0 {
		err = fail(tx.ctx, ErrNotFound, "retire pin %s", id)
	}
	return err
}
