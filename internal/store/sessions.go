package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// ProjectRow is a project of the store. Root is where it was when it was first seen; "" for one that was named.
type ProjectRow struct {
	ID, Root string
	Created  time.Time
}

// SessionRow is a session with what it holds. FirstSeq and LastSeq are 0 and Last is zero when it has no episode.
type SessionRow struct {
	Project, Session  string
	Episodes          int
	FirstSeq, LastSeq int64
	// Created is when the session was first named, Last when its newest episode was recorded.
	Created, Last time.Time
}

// EnsureProject records a project. One that is there stays as it is.
func (tx *Tx) EnsureProject(id, root string) error {
	if id == "" {
		return fail(tx.ctx, fmt.Errorf("the id is empty"), "ensure project")
	}
	_, err := tx.exec("ensure project "+id, `
INSERT INTO project (project_id, root, created)
VALUES (?, ?, ?)
ON CONFLICT (project_id) DO NOTHING`, id, root, tx.store.cfg.Now())
	return err
}

// HasProject reports whether the store has a project of that id.
func (r *Reader) HasProject(id string) (bool, error) {
	_, err := one(r, "project "+id, `SELECT num FROM project WHERE project_id = ?`, []any{id}, func(s *sqlite3.Stmt) (int64, error) { return s.ColumnInt64(0), nil })
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// EnsureSession records a session of an existing project. One that is there stays as it is.
func (tx *Tx) EnsureSession(project, session string) error {
	_, err := tx.exec("ensure session "+session, `
INSERT INTO session (project_id, session_id, created)
VALUES (?, ?, ?)
ON CONFLICT (project_id, session_id) DO NOTHING`, project, session, tx.store.cfg.Now())
	return err
}

// Projects returns the projects in the order in which they were first seen.
func (r *Reader) Projects() ([]ProjectRow, error) {
	return all(rows(r, "projects", `
SELECT project_id, root, created
FROM project
ORDER BY num`, nil, func(s *sqlite3.Stmt) (ProjectRow, error) {
		return ProjectRow{ID: s.ColumnText(0), Root: s.ColumnText(1), Created: decodeTime(s.ColumnInt64(2))}, nil
	}))
}

// Sessions returns the project's sessions, the one with the newest episode first.
func (r *Reader) Sessions(project string) ([]SessionRow, error) {
	return all(rows(r, "sessions", `
SELECT g.session_id, g.created, g.episodes, g.first, g.last, e.at, e.created
FROM (
  SELECT s.session_id, s.created, count(e.seq) AS episodes, coalesce(min(e.seq), 0) AS first, coalesce(max(e.seq), 0) AS last
  FROM session s
  LEFT JOIN episodic_stream e ON e.session_id = s.num
  WHERE s.project_id = ?
  GROUP BY s.session_id
) g
LEFT JOIN episodic_stream e ON e.seq = g.last
ORDER BY g.last DESC, g.created DESC, g.session_id`, []any{project}, func(s *sqlite3.Stmt) (SessionRow, error) {
		row := SessionRow{
			Project:  project,
			Session:  s.ColumnText(0),
			Created:  decodeTime(s.ColumnInt64(1)),
			Episodes: s.ColumnInt(2),
			FirstSeq: s.ColumnInt64(3),
			LastSeq:  s.ColumnInt64(4),
		}
		if s.ColumnType(5) != sqlite3.NULL {
			row.Last = decodeCreated(s.ColumnInt64(5), s.ColumnInt64(6))
		}
		return row, nil
	}))
}
