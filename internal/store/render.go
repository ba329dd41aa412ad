package store

import (
	"time"

	"github.com/ncruces/go-sqlite3"
)

// RenderState is what the engine must know to render a session again byte for byte. Version is the version of the rendering rules,
// Generation counts compactions, Body is the engine's JSON. Updated is set by the store.
type RenderState struct {
	Version, Generation int
	Body                string
	Updated             time.Time
}

const stateColumns = `version, generation, body, made, project_id, session_id, seal`

func scanState(s *sqlite3.Stmt) (RenderState, error) {
	state := RenderState{Version: s.ColumnInt(0), Generation: s.ColumnInt(1), Body: s.ColumnText(2), Updated: decodeTime(s.ColumnInt64(3))}
	session := s.ColumnText(5)
	return state, sealed("render state of session "+session, s.ColumnInt64(6), state.seal(s.ColumnText(4), session))
}

// seal returns the fields that the state's seal covers.
func (state *RenderState) seal(project, session string) []any {
	return []any{project, session, int64(state.Version), int64(state.Generation), state.Body}
}

// RenderState returns the session's state. It fails with [ErrNotFound] before the first window.
func (r *Reader) RenderState(project, session string) (RenderState, error) {
	return one(r, "render state of session "+session, `
SELECT `+stateColumns+`
FROM render_state
WHERE project_id = ? AND session_id = ?`, []any{project, session}, scanState)
}

// RenderGeneration returns the generation of the session's state alone, 0 before the first window: who has the state in memory asks whether it is the newest.
func (r *Reader) RenderGeneration(project, session string) (generation int, err error) {
	err = r.each("generation of session "+session, `
SELECT generation
FROM render_state
WHERE project_id = ? AND session_id = ?`, []any{project, session}, func(s *sqlite3.Stmt) error {
		generation = s.ColumnInt(0)
		return nil
	})
	return generation, err
}

// Outlook is what a session's next prompt has to ask for: Generation is as [Reader.RenderGeneration] says; Pins are in force, Notes wait for their place, Folds were
// closed, now or earlier; Observed says that the window's receipt has the server's own numbers.
type Outlook struct {
	Generation                   int
	Pins, Notes, Folds, Observed bool
}

// Outlook looks for all of it with one statement: mostly there is nothing, and a statement costs as much as what it reads.
func (r *Reader) Outlook(project, session, windowID string) (o Outlook, err error) {
	err = r.each("outlook of session "+session, `
SELECT
  coalesce((SELECT generation FROM render_state WHERE project_id = ?1 AND session_id = ?2), 0),
  EXISTS (SELECT 1 FROM anchor_set WHERE project_id = ?1 AND retired = 0),
  EXISTS (SELECT 1 FROM note WHERE project_id = ?1 AND session_id = ?2 AND placed = 0),
  EXISTS (SELECT 1 FROM folds WHERE project_id = ?1 AND session_id = ?2 AND summary <> ''),
  EXISTS (SELECT 1 FROM receipt
    WHERE session_id = (SELECT num FROM session WHERE project_id = ?1 AND session_id = ?2) AND window_id = ?3 AND observed = 1)`, []any{project, session, windowID}, func(s *sqlite3.Stmt) error {
		o = Outlook{s.ColumnInt(0), s.ColumnBool(1), s.ColumnBool(2), s.ColumnBool(3), s.ColumnBool(4)}
		return nil
	})
	return o, err
}

// LastRenderState returns the state of the project's session that was changed last; [ErrNotFound] before the first.
func (r *Reader) LastRenderState(project string) (RenderState, error) {
	return one(r, "last render state", `
SELECT `+stateColumns+`
FROM render_state
WHERE project_id = ?
ORDER BY made DESC, session_id
LIMIT 1`, []any{project}, scanState)
}

// PutRenderState replaces the session's state.
func (tx *Tx) PutRenderState(project, session string, state RenderState) error {
	_, err := tx.exec("put render state of session "+session, `
INSERT INTO render_state (project_id, session_id, version, generation, body, made, seal)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project_id, session_id) DO UPDATE
SET version = excluded.version, generation = excluded.generation, body = excluded.body, made = excluded.made, seal = excluded.seal`,
		project, session, state.Version, state.Generation, state.Body, tx.store.cfg.Now(), seal(state.seal(project, session)...))
	return err
}

// CheckpointRow is a point that the server's cache can rewind to, Position in tokens. Body is the engine's JSON.
type CheckpointRow struct {
	Position int
	Body     string
}

// Checkpoints returns the session's list as it was put.
func (r *Reader) Checkpoints(project, session string) ([]CheckpointRow, error) {
	return all(rows(r, "checkpoints of session "+session, `
SELECT position, body
FROM checkpoint
WHERE project_id = ? AND session_id = ?
ORDER BY ord`, []any{project, session}, func(s *sqlite3.Stmt) (CheckpointRow, error) {
		return CheckpointRow{Position: s.ColumnInt(0), Body: s.ColumnText(1)}, nil
	}))
}

// PutCheckpoints replaces the session's list.
func (tx *Tx) PutCheckpoints(project, session string, list []CheckpointRow) error {
	what := "put checkpoints of session " + session
	_, err := tx.exec(what, `
DELETE FROM checkpoint
WHERE project_id = ? AND session_id = ?`, project, session)
	if err != nil {
		return err
	}
	for i, c := range list {
		_, err := tx.exec(what, `
INSERT INTO checkpoint (project_id, session_id, ord, position, body)
VALUES (?, ?, ?, ?, ?)`, project, session, i, c.Position, c.Body)
		if err != nil {
			return err
		}
	}
	return nil
}
