package store

import (
	"fmt"
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

// DecisionRow is one rendering decision, taken once and replayed. Ord is its position in the session; Body is the engine's JSON.
type DecisionRow struct {
	Ord                       int
	Kind, Episode, Form, Body string
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

const decisionColumns = `ord, kind, episode_id, form, body, project_id, session_id, seal`

func scanDecision(s *sqlite3.Stmt) (DecisionRow, error) {
	d := DecisionRow{Ord: s.ColumnInt(0), Kind: s.ColumnText(1), Episode: s.ColumnText(2), Form: s.ColumnText(3), Body: s.ColumnText(4)}
	session := s.ColumnText(6)
	return d, sealed(fmt.Sprintf("decision %d of session %s", d.Ord, session), s.ColumnInt64(7), d.seal(s.ColumnText(5), session))
}

// seal returns the fields that the decision's seal covers.
func (d *DecisionRow) seal(project, session string) []any {
	return []any{project, session, int64(d.Ord), d.Kind, d.Episode, d.Form, d.Body}
}

// Decisions returns the session's decisions in order.
func (r *Reader) Decisions(project, session string) ([]DecisionRow, error) {
	return all(rows(r, "decisions of session "+session, `
SELECT `+decisionColumns+`
FROM render_decision
WHERE project_id = ? AND session_id = ?
ORDER BY ord`, []any{project, session}, scanDecision))
}

// ReplaceDecisions replaces the session's decisions from fromOrd on by these, whose positions ascend from there. What stays at its position is written over: to
// delete and to insert costs twice.
func (tx *Tx) ReplaceDecisions(project, session string, fromOrd int, list []DecisionRow) error {
	what := "replace decisions of session " + session
	return tx.countDecisions(what, project, session, func() error {
		if err := tx.putDecisions(what, project, session, list); err != nil {
			return err
		}
		_, err := tx.exec(what, `
DELETE FROM render_decision
WHERE project_id = ? AND session_id = ? AND ord >= ?`, project, session, fromOrd+len(list))
		return err
	})
}

// PutDecisions adds the session's decisions at their positions, or writes them over those that are there.
func (tx *Tx) PutDecisions(project, session string, list []DecisionRow) error {
	if len(list) == 0 {
		return nil
	}
	what := "put decisions of session " + session
	return tx.countDecisions(what, project, session, func() error { return tx.putDecisions(what, project, session, list) })
}

// countDecisions counts the rows that change adds or takes away. They are numbered without gaps.
func (tx *Tx) countDecisions(what, project, session string, change func() error) error {
	const count = `
SELECT coalesce(max(ord) + 1, 0)
FROM render_decision
WHERE project_id = ? AND session_id = ?`
	before, err := tx.next(what, count, project, session)
	if err == nil {
		err = change()
	}
	if err != nil {
		return err
	}
	after, err := tx.next(what, count, project, session)
	if err != nil || after == before {
		return err
	}
	_, err = tx.exec(what, `
UPDATE meta
SET value = value + ?
WHERE name = 'rows of render_decision'`, after-before)
	return err
}

func (tx *Tx) putDecisions(what, project, session string, list []DecisionRow) error {
	for n := 0; len(list) > 0; list = list[n:] {
		var sql string
		n, sql = decisionSQL.of(len(list))
		args := make([]any, 2, 2+6*n)
		args[0], args[1] = project, session
		for _, d := range list[:n] {
			args = append(args, d.Ord, d.Kind, d.Episode, d.Form, d.Body, seal(d.seal(project, session)...))
		}
		if _, err := tx.exec(what, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// decisionSQL writes decisions over those that are there. ?1 is the project, ?2 the session.
var decisionSQL = newChunks(`
INSERT INTO render_decision (project_id, session_id, ord, kind, episode_id, form, body, seal)
VALUES `, "?1, ?2", 2, 6, `
ON CONFLICT (project_id, session_id, ord) DO UPDATE
SET kind = excluded.kind, episode_id = excluded.episode_id, form = excluded.form, body = excluded.body, seal = excluded.seal`)

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
