package store

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
)

// EvictionRow is one step of an episode on the ladder. Seq counts the session's steps from 1. Tokens is what the step reclaimed; a step back to
// live reclaims less than nothing. At is the time of the first of the steps that one transaction writes for a window.
type EvictionRow struct {
	Seq              int64
	Episode          string
	From, To         evict.Tier
	WindowID, Reason string
	Tokens           int
	At               time.Time
}

// Evictions streams the session's steps in the order in which they were written, each rung by itself.
func (r *Reader) Evictions(project, session string) iter.Seq2[EvictionRow, error] {
	return func(yield func(EvictionRow, error) bool) {
		seq := int64(0)
		windows := sealedWindows(rows(r, "evictions of session "+session, stepsOf+`
WHERE w.session_id = (SELECT num FROM session WHERE project_id = ? AND session_id = ?)
ORDER BY w.num, x.ord`, []any{project, session}, scanStep))
		for steps, err := range windows {
			if err != nil {
				yield(EvictionRow{}, err)
				return
			}
			for _, step := range steps {
				rungs, err := step.rungs()
				if err != nil {
					yield(EvictionRow{}, fail(r.ctx, err, "evictions of session %s", session))
					return
				}
				for _, rung := range rungs {
					seq++
					rung.Seq = seq
					if !yield(rung, nil) {
						return
					}
				}
			}
		}
	}
}

// stepsOf reads the steps, with what the seals of their windows cover.
const stepsOf = `
SELECT e.episode_id, x.from_tier, x.to_tier, w.window_id, x.reason, x.tokens, w.at, w.num, w.session_id, x.ord, coalesce(s.steps, 0), coalesce(s.seal, 0)
FROM eviction_window w
CROSS JOIN eviction x ON x.window_num = w.num
JOIN episodic_stream e ON e.seq = x.episode_id
LEFT JOIN eviction_seal s ON s.window_num = w.num`

// step is a row of stepsOf: one rung, or several that one plan takes an episode down. Its reason is decoded by rungs.
type step struct {
	EvictionRow
	window, session, at, ord int64
	stored                   string // the reason
	steps, seal              int64  // of the window's seal; 0 where it has none
}

func scanStep(s *sqlite3.Stmt) (step, error) {
	row := step{
		EvictionRow: EvictionRow{
			Episode:  s.ColumnText(0),
			From:     evict.Tier(s.ColumnInt(1)),
			To:       evict.Tier(s.ColumnInt(2)),
			WindowID: s.ColumnText(3),
			Tokens:   s.ColumnInt(5),
			At:       decodeTime(s.ColumnInt64(6)),
		},
		stored:  s.ColumnText(4),
		at:      s.ColumnInt64(6),
		window:  s.ColumnInt64(7),
		session: s.ColumnInt64(8),
		ord:     s.ColumnInt64(9),
		steps:   s.ColumnInt64(10),
		seal:    s.ColumnInt64(11),
	}
	return row, nil
}

// sealedWindows gives the steps of one window after the other, compared with the seal where there is one. It goes on behind a window whose seal does not fit.
func sealedWindows(all iter.Seq2[step, error]) iter.Seq2[[]step, error] {
	return func(yield func([]step, error) bool) {
		var steps []step
		flush := func() bool {
			if len(steps) == 0 {
				return true
			}
			list := steps
			steps = nil
			if first := list[0]; first.steps > 0 {
				w := evictionWindow{num: first.window, session: first.session, windowID: first.WindowID, at: first.at}
				for _, s := range list {
					w.add(s.ord, s.Episode, s.From, s.To, s.Tokens, s.stored)
				}
				if err := sealed("the steps of window "+first.WindowID, first.seal, w.sealed()); err != nil {
					return yield(nil, err)
				}
			}
			return yield(list, nil)
		}
		for s, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(steps) > 0 && steps[0].window != s.window && !flush() {
				return
			}
			steps = append(steps, s)
		}
		flush()
	}
}

// evictionWindow is where the steps of a transaction go.
type evictionWindow struct {
	num, session int64
	windowID     string
	at           int64 // as it is stored
	steps        int
	fields       []any // what the steps add to the seal
}

// add takes a step into the seal, its reason as it is stored.
func (w *evictionWindow) add(ord int64, episode string, from, to evict.Tier, tokens int, reason string) {
	w.steps++
	w.fields = append(w.fields, ord, episode, int64(from), int64(to), int64(tokens), reason)
}

// sealed returns the fields that the window's seal covers.
func (w *evictionWindow) sealed() []any {
	return append([]any{w.num, w.session, w.windowID, w.at, int64(w.steps)}, w.fields...)
}

// sealEvictions seals the steps that went to the present window. No others can join them.
func (tx *Tx) sealEvictions() error {
	w := &tx.evictions
	if w.steps == 0 {
		return nil
	}
	_, err := tx.exec("seal the steps of window "+w.windowID, `
INSERT INTO eviction_seal (window_num, steps, seal)
VALUES (?, ?, ?)`, w.num, w.steps, seal(w.sealed()...))
	*w = evictionWindow{}
	return err
}

// useWindow makes a row for the steps of a window of the session with that number, unless the step before in this transaction was of the same one: the rows are in the order of
// the steps.
func (tx *Tx) useWindow(what string, num int64, windowID string) error {
	if tx.evictions.num > 0 && tx.evictions.session == num && tx.evictions.windowID == windowID {
		return nil
	}
	if err := tx.sealEvictions(); err != nil {
		return err
	}
	next, err := tx.next(what, `SELECT coalesce(max(num), 0) FROM eviction_window`)
	if err != nil {
		return err
	}
	at, err := encodeTime(tx.store.cfg.Now())
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	_, err = tx.exec(what, `
INSERT INTO eviction_window (num, session_id, window_id, at)
VALUES (?, ?, ?, ?)`, next, num, windowID, at)
	if err == nil {
		tx.evictions = evictionWindow{num: next, session: num, windowID: windowID, at: at}
	}
	return err
}

// What stands for the parts of a reason that the columns of its row say. A reason that begins with one of them itself has asItIs in front.
const asItIs, asUsual, andReclaimed = "\x00", "\x01", "\x02"

func usualReason(from, to evict.Tier, tokens int) (beginning, end string) {
	return "tier " + from.String() + " → " + to.String() + " (value ", ", " + strconv.Itoa(tokens) + " tokens reclaimed)"
}

// encodeReason shortens a reason. Written out, the reasons would take more room than the rest of their rows.
func encodeReason(reason string, from, to evict.Tier, tokens int) string {
	beginning, end := usualReason(from, to, tokens)
	middle, ok := strings.CutPrefix(reason, beginning)
	switch {
	case ok && strings.HasSuffix(middle, end):
		return asUsual + strings.TrimSuffix(middle, end) + andReclaimed
	case ok && !strings.HasSuffix(middle, andReclaimed):
		return asUsual + middle
	case strings.HasPrefix(reason, asItIs), strings.HasPrefix(reason, asUsual):
		return asItIs + reason
	}
	return reason
}

// decodeReason is the inverse of encodeReason.
func decodeReason(stored string, from, to evict.Tier, tokens int) string {
	if reason, ok := strings.CutPrefix(stored, asItIs); ok {
		return reason
	}
	middle, ok := strings.CutPrefix(stored, asUsual)
	if !ok {
		return stored
	}
	beginning, end := usualReason(from, to, tokens)
	if before, ok := strings.CutSuffix(middle, andReclaimed); ok {
		return beginning + before + end
	}
	return beginning + middle
}

// rungs returns the steps that a row stands for. One that leads several rungs down has in front of its reason what each of them reclaims.
func (s *step) rungs() ([]EvictionRow, error) {
	if s.To <= s.From+1 {
		row := s.EvictionRow
		row.Reason = decodeReason(s.stored, s.From, s.To, s.Tokens)
		return []EvictionRow{row}, nil
	}
	stored := s.stored
	rows := make([]EvictionRow, 0, s.To-s.From)
	for from := s.From; from < s.To; from++ {
		number, rest, ok := strings.Cut(stored, " ")
		tokens, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, fmt.Errorf("step %d of window %s: what its rungs reclaim is %q: %w", s.ord, s.WindowID, s.stored, ErrCorrupt)
		}
		row := s.EvictionRow
		row.From, row.To, row.Tokens = from, from+1, tokens
		rows, stored = append(rows, row), rest
	}
	for i := range rows {
		rows[i].Reason = decodeReason(stored, rows[i].From, rows[i].To, rows[i].Tokens)
	}
	return rows, nil
}
