package store

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
)

// StepRow is one rung that an episode takes, or its way back to live. Seq is its position in the record, Tokens is what the step reclaims.
type StepRow struct {
	Episode  string
	Seq      int64
	From, To evict.Tier
	Tokens   int
	Reason   string
}

// TakeSteps takes episodes of a session down the ladder, each step one rung, or from any rung back to live, and writes every step down. It refuses a
// skipped rung with [ErrRefused], and an episode that is not at From, or not of that session, with [ErrNotFound].
//
// A plan has several steps for each of hundreds of episodes. So an episode goes to where its steps lead at once, and steps of one episode that follow each
// other are written down as one where they have the same reason.
func (tx *Tx) TakeSteps(project, session, windowID string, steps []StepRow) error {
	if len(steps) == 0 {
		return nil
	}
	what := "steps of window " + windowID
	num, err := tx.sessionNum(what, project, session)
	if err != nil {
		return err
	}
	moved, err := tx.findMoved(what, num, steps)
	if err != nil {
		return err
	}
	for i := range steps {
		st := &steps[i]
		if st.From < evict.Live || st.From > evict.Dropped || st.To < evict.Live || st.To > evict.Dropped || st.From == st.To || st.To != evict.Live && st.To != st.From+1 {
			return fail(tx.ctx, fmt.Errorf("one rung down or back to live: %w", ErrRefused), "take episode %s from %v to %v", st.Episode, st.From, st.To)
		}
		m := moved[st.Seq]
		if m == nil || m.id != st.Episode || m.to != st.From {
			return fail(tx.ctx, fmt.Errorf("no such episode at %v: %w", st.From, ErrNotFound), "take episode %s from %v to %v", st.Episode, st.From, st.To)
		}
		m.to = st.To
	}
	if err := tx.move(what, steps, moved); err != nil {
		return err
	}
	if err := tx.useWindow(what, num, windowID); err != nil {
		return err
	}
	tx.logSteps(steps)
	return nil
}

// moved is an episode that steps lead from one rung to another.
type moved struct {
	id       string
	from, to evict.Tier
}

// findMoved looks the episodes of the steps up by their positions. It leaves out those that the session does not have.
func (tx *Tx) findMoved(what string, session int64, steps []StepRow) (map[int64]*moved, error) {
	seqs := make([]int64, 0, len(steps))
	for i := range steps {
		if i == 0 || steps[i].Seq != steps[i-1].Seq {
			seqs = append(seqs, steps[i].Seq)
		}
	}
	found := make(map[int64]*moved, len(seqs))
	list := make([]moved, 0, len(seqs))
	err := tx.each(what, `
SELECT e.seq, e.episode_id, `+tierOf+`
FROM json_each(?) j
CROSS JOIN episodic_stream e ON e.seq = j.value
WHERE e.session_id = ?`, []any{numberList(seqs), session}, func(s *sqlite3.Stmt) error {
		m := moved{id: s.ColumnText(1)}
		var err error
		if m.from, err = evict.ParseTier(s.ColumnText(2)); err != nil {
			return &failure{"episode " + m.id, fmt.Errorf("%w: %w", ErrCorrupt, err)}
		}
		m.to = m.from
		list = append(list, m)
		found[s.ColumnInt64(0)] = &list[len(list)-1]
		return nil
	})
	return found, err
}

// move writes the tiers, those that change alike with one statement. An episode that is live has no row.
func (tx *Tx) move(what string, steps []StepRow, found map[int64]*moved) error {
	type way struct{ from, to evict.Tier }
	var ways [evict.Dropped + 1][evict.Dropped + 1][]int64
	var order []way
	several := false
	for i := range steps {
		seq := steps[i].Seq
		m := found[seq]
		if m.from == m.to {
			continue
		}
		seqs := &ways[m.from][m.to]
		if len(*seqs) == 0 {
			order = append(order, way{m.from, m.to})
			several = several || m.to != evict.Live && m.to != m.from+1
		}
		*seqs = append(*seqs, seq)
		m.from = m.to // a later step of it adds nothing
	}
	if several {
		// The triggers that keep rungs from being skipped know by this that all of them are written down.
		if _, err := tx.exec(what, `INSERT INTO meta (name, value) VALUES ('rungs are listed', 1)`); err != nil {
			return err
		}
	}
	for _, w := range order {
		seqs := ways[w.from][w.to]
		slices.Sort(seqs)
		var n int64
		var err error
		switch list := numberList(seqs); {
		case w.from == evict.Live:
			n, err = tx.exec(what, `
INSERT INTO episode_tier (seq, eviction_tier)
SELECT value, ?
FROM json_each(?)`, w.to, list)
		case w.to == evict.Live:
			n, err = tx.exec(what, `
DELETE FROM episode_tier
WHERE seq IN (SELECT value FROM json_each(?)) AND eviction_tier = ?`, list, w.from)
		default:
			n, err = tx.exec(what, `
UPDATE episode_tier
SET eviction_tier = ?
WHERE seq IN (SELECT value FROM json_each(?)) AND eviction_tier = ?`, w.to, list, w.from)
		}
		if err != nil {
			return err
		}
		if n != int64(len(seqs)) {
			return fail(tx.ctx, fmt.Errorf("%d of %d episodes went from %v to %v: %w", n, len(seqs), w.from, w.to, ErrCorrupt), "%s", what)
		}
	}
	if !several {
		return nil
	}
	_, err := tx.exec(what, `DELETE FROM meta WHERE name = 'rungs are listed'`)
	return err
}

// logSteps writes the steps down. Those of one episode that follow each other and have the same reason become one, with what each rung reclaims in front of the reason.
func (tx *Tx) logSteps(steps []StepRow) {
	var last step
	each := "" // what the rungs of the last step reclaim, where it has several
	flush := func() {
		if last.seq > 0 {
			last.stored = each + last.stored
			tx.evictions.add(&last)
		}
	}
	for i := range steps {
		st := &steps[i]
		reason := encodeReason(st.Reason, st.From, st.To, st.Tokens)
		if last.seq == st.Seq && last.to == st.From && last.from < last.to && st.To > st.From && last.stored == reason {
			if each == "" {
				each = strconv.Itoa(last.tokens) + " "
			}
			each += strconv.Itoa(st.Tokens) + " "
			last.to, last.tokens = st.To, last.tokens+st.Tokens
			continue
		}
		flush()
		last, each = step{seq: st.Seq, episode: st.Episode, from: st.From, to: st.To, tokens: st.Tokens, stored: reason}, ""
	}
	flush()
}
