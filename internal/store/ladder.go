package store

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
)

// StepRow is one rung that an episode takes, or its way back to live. Tokens is what it reclaims.
type StepRow struct {
	Episode  string
	From, To evict.Tier
	Tokens   int
	Reason   string
}

// TakeSteps takes episodes of a session down the ladder, each step one rung, or from any rung back to live, and writes every step down. It refuses a
// skipped rung with [ErrRefused], and an episode that is not at From, or not of that session, with [ErrNotFound].
//
// A plan has several steps for each of hundreds of episodes. So an episode goes to where its steps lead at once, and steps of one episode that follow each
// other share a row of the log where they have the same reason.
func (tx *Tx) TakeSteps(project, session, windowID string, steps []StepRow) error {
	if len(steps) == 0 {
		return nil
	}
	what := "steps of window " + windowID
	num, err := tx.sessionNum(what, project, session)
	if err != nil {
		return err
	}
	moved, at, err := tx.findMoved(what, num, steps)
	if err != nil {
		return err
	}
	for i := range steps {
		st := &steps[i]
		if st.From < evict.Live || st.From > evict.Dropped || st.To < evict.Live || st.To > evict.Dropped || st.From == st.To || st.To != evict.Live && st.To != st.From+1 {
			return fail(tx.ctx, fmt.Errorf("one rung down or back to live: %w", ErrRefused), "take episode %s from %v to %v", st.Episode, st.From, st.To)
		}
		m, ok := at[st.Episode]
		if !ok || moved[m].to != st.From {
			return fail(tx.ctx, fmt.Errorf("no such episode at %v: %w", st.From, ErrNotFound), "take episode %s from %v to %v", st.Episode, st.From, st.To)
		}
		moved[m].to = st.To
	}
	if err := tx.move(what, moved); err != nil {
		return err
	}
	if err := tx.useWindow(what, num, windowID); err != nil {
		return err
	}
	return tx.logSteps(what, steps, func(id string) int64 { return moved[at[id]].seq })
}

// moved is an episode that steps lead from one rung to another.
type moved struct {
	seq      int64
	from, to evict.Tier
}

// findMoved looks the episodes of the steps up, in the order of their first steps. It leaves out those that the session does not have.
func (tx *Tx) findMoved(what string, session int64, steps []StepRow) (list []moved, at map[string]int, err error) {
	ids := make([]string, 0, len(steps))
	for i := range steps {
		if i == 0 || steps[i].Episode != steps[i-1].Episode {
			ids = append(ids, steps[i].Episode)
		}
	}
	at = make(map[string]int, len(ids))
	err = tx.eachOf(what, `
SELECT episode_id, seq, eviction_tier
FROM episodic_stream
WHERE +session_id = ? AND episode_id IN `+idPlaces, []any{session}, ids, func(s *sqlite3.Stmt) error {
		id := s.ColumnText(0)
		if _, ok := at[id]; ok {
			return nil // it is asked for twice
		}
		tier, err := evict.ParseTier(s.ColumnText(2))
		if err != nil {
			return &failure{"episode " + id, fmt.Errorf("%w: %w", ErrCorrupt, err)}
		}
		at[id] = len(list)
		list = append(list, moved{seq: s.ColumnInt64(1), from: tier, to: tier})
		return nil
	})
	return list, at, err
}

// move writes the tiers, those that change alike with one statement.
func (tx *Tx) move(what string, list []moved) error {
	type way struct{ from, to evict.Tier }
	var ways [evict.Dropped + 1][evict.Dropped + 1][]int64
	var order []way
	several := false
	for _, m := range list {
		if m.from == m.to {
			continue
		}
		seqs := &ways[m.from][m.to]
		if len(*seqs) == 0 {
			order = append(order, way{m.from, m.to})
			several = several || m.to != evict.Live && m.to != m.from+1
		}
		*seqs = append(*seqs, m.seq)
	}
	if several {
		// The trigger that keeps rungs from being skipped knows by this that all of them are written down.
		if _, err := tx.exec(what, `INSERT INTO meta (name, value) VALUES ('rungs are listed', 1)`); err != nil {
			return err
		}
	}
	for _, w := range order {
		seqs := ways[w.from][w.to]
		list, err := json.Marshal(seqs)
		if err != nil {
			return fail(tx.ctx, err, "%s", what)
		}
		n, err := tx.exec(what, `
UPDATE episodic_stream
SET eviction_tier = ?
WHERE seq IN (SELECT value FROM json_each(?)) AND eviction_tier = ?`, w.to, string(list), w.from)
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

// logRow is a row of the log on its way.
type logRow struct {
	episode      string
	seq          int64
	from, to     evict.Tier
	tokens       int
	reason, each string // as it is stored, and what each of several rungs reclaims
}

// logSteps writes the steps down. seq gives the position of an episode.
func (tx *Tx) logSteps(what string, steps []StepRow, seq func(id string) int64) error {
	var list []logRow
	for i := range steps {
		st := &steps[i]
		reason := encodeReason(st.Reason, st.From, st.To, st.Tokens)
		if n := len(list) - 1; n >= 0 && list[n].episode == st.Episode && list[n].to == st.From && list[n].from < list[n].to && st.To > st.From && list[n].reason == reason {
			l := &list[n]
			if l.each == "" {
				l.each = strconv.Itoa(l.tokens) + " "
			}
			l.each += strconv.Itoa(st.Tokens) + " "
			l.to, l.tokens = st.To, l.tokens+st.Tokens
			continue
		}
		list = append(list, logRow{episode: st.Episode, seq: seq(st.Episode), from: st.From, to: st.To, tokens: st.Tokens, reason: reason})
	}
	w := &tx.evictions
	for n := 0; len(list) > 0; list = list[n:] {
		var sql string
		n, sql = logSQL.of(len(list))
		args := make([]any, 1, 1+6*n)
		args[0] = w.num
		for _, l := range list[:n] {
			stored := l.each + l.reason
			args = append(args, w.steps+1, l.seq, int(l.from), int(l.to), l.tokens, stored)
			w.add(int64(w.steps+1), l.episode, l.from, l.to, l.tokens, stored)
		}
		if _, err := tx.exec(what, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// logSQL writes rows of the log. ?1 is the window.
var logSQL = newChunks(`
INSERT INTO eviction (window_num, ord, episode_id, from_tier, to_tier, tokens, reason)
VALUES `, "?1", 1, 6, "")
