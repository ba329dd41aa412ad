package store

import (
	"fmt"
	"iter"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
)

// EvictionRow is one step of an episode on the ladder. Tokens is what the step reclaimed; a step back to live reclaims less than nothing.
type EvictionRow struct {
	Seq              int64
	Episode          string
	From, To         evict.Tier
	WindowID, Reason string
	Tokens           int
	At               time.Time
}

// Evictions streams the session's steps in the order in which they were written.
func (r *Reader) Evictions(project, session string) iter.Seq2[EvictionRow, error] {
	return rows(r, "evictions of session "+session, `
SELECT seq, episode_id, from_tier, to_tier, window_id, reason, tokens, at
FROM eviction
WHERE project_id = ? AND session_id = ?
ORDER BY seq`, []any{project, session}, func(s *sqlite3.Stmt) (EvictionRow, error) {
		row := EvictionRow{
			Seq:      s.ColumnInt64(0),
			Episode:  s.ColumnText(1),
			WindowID: s.ColumnText(4),
			Reason:   s.ColumnText(5),
			Tokens:   s.ColumnInt(6),
			At:       decodeTime(s.ColumnInt64(7)),
		}
		var err error
		if row.From, err = evict.ParseTier(s.ColumnText(2)); err != nil {
			return EvictionRow{}, err
		}
		row.To, err = evict.ParseTier(s.ColumnText(3))
		return row, err
	})
}

// SetTier takes an episode one rung down the ladder, or from any rung back to live, and writes the step down. It refuses a skipped rung
// with [ErrRefused], and an episode that is not at from, or not of that session, with [ErrNotFound].
func (tx *Tx) SetTier(project, session, id string, from, to evict.Tier, windowID, reason string, tokens int) error {
	what := fmt.Sprintf("take episode %s from %v to %v", id, from, to)
	if from < evict.Live || from > evict.Dropped || to < evict.Live || to > evict.Dropped || from == to || to != evict.Live && to != from+1 {
		return fail(tx.ctx, fmt.Errorf("one rung down or back to live: %w", ErrRefused), "%s", what)
	}
	n, err := tx.exec(what, `
UPDATE episodic_stream
SET eviction_tier = ?
WHERE episode_id = ? AND project_id = ? AND session_id = ? AND eviction_tier = ?`, to, id, project, session, from)
	if err != nil {
		return err
	}
	if n == 0 {
		return fail(tx.ctx, fmt.Errorf("no such episode at %v: %w", from, ErrNotFound), "%s", what)
	}
	seq, err := tx.next(what, `SELECT coalesce(max(seq), 0) FROM eviction`)
	if err != nil {
		return err
	}
	_, err = tx.exec(what, `
INSERT INTO eviction (seq, project_id, session_id, episode_id, from_tier, to_tier, window_id, reason, tokens, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, seq, project, session, id, from, to, windowID, reason, tokens, tx.store.cfg.Now())
	return err
}
