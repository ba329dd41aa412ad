package store

import (
	"cmp"
	"fmt"
	"math"
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
	l, err := tx.findMoved(what, num, steps)
	if err != nil {
		return err
	}
	for i := range steps {
		st := &steps[i]
		if st.From < evict.Live || st.From > evict.Dropped || st.To < evict.Live || st.To > evict.Dropped || st.From == st.To || st.To != evict.Live && st.To != st.From+1 {
			return fail(tx.ctx, fmt.Errorf("one rung down or back to live: %w", ErrRefused), "take episode %s from %v to %v", st.Episode, st.From, st.To)
		}
		m := l.at(st.Seq)
		if m == nil || m.id != st.Episode || m.to != st.From {
			return fail(tx.ctx, fmt.Errorf("no such episode at %v: %w", st.From, ErrNotFound), "take episode %s from %v to %v", st.Episode, st.From, st.To)
		}
		m.to = st.To
	}
	if err := tx.move(what, l); err != nil {
		return err
	}
	if err := tx.useWindow(what, num, windowID); err != nil {
		return err
	}
	tx.logSteps(steps)
	return nil
}

// moved is an episode that steps lead to another rung.
type moved struct {
	seq int64
	id  string // "" where the session has no such episode
	to  evict.Tier
}

// run is a row of episode_tier: the episodes at these positions are on one rung, and of one session.
type run struct {
	first, last int64
	tier        evict.Tier
}

// ladder is the episodes that steps move, by their positions, with the runs that they were in.
type ladder struct {
	list []moved
	runs []run
	last int // that was asked for
}

// at returns the episode at a position; nil where no step is of it. Steps of one episode mostly follow each other, as do those of the next.
func (l *ladder) at(seq int64) *moved {
	for _, i := range [...]int{l.last, l.last + 1} {
		if i < len(l.list) && l.list[i].seq == seq {
			l.last = i
			return &l.list[i]
		}
	}
	i, ok := slices.BinarySearchFunc(l.list, seq, func(m moved, seq int64) int { return cmp.Compare(m.seq, seq) })
	if !ok {
		return nil
	}
	l.last = i
	return &l.list[i]
}

// findMoved looks the episodes of the steps up by their positions.
func (tx *Tx) findMoved(what string, session int64, steps []StepRow) (*ladder, error) {
	seqs := make([]int64, 0, len(steps))
	for i := range steps {
		if i == 0 || steps[i].Seq != steps[i-1].Seq {
			seqs = append(seqs, steps[i].Seq)
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	l := &ladder{list: make([]moved, len(seqs))}
	for i, seq := range seqs {
		l.list[i] = moved{seq: seq, to: evict.Live}
	}
	list := numberList(spans(seqs))
	err := tx.each(what, `
SELECT e.seq, e.episode_id
FROM json_each(?1) j
CROSS JOIN episodic_stream e ON e.seq BETWEEN j.value AND ?1 ->> (j.key + 1)
WHERE j.key % 2 = 0 AND e.session_id = ?2`, []any{list, session}, func(s *sqlite3.Stmt) error {
		if m := l.at(s.ColumnInt64(0)); m != nil {
			m.id = s.ColumnText(1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = tx.each(what, `
SELECT t.first, t.last, t.eviction_tier
FROM json_each(?1) j
CROSS JOIN episode_tier t ON t.first BETWEEN coalesce((SELECT max(first) FROM episode_tier WHERE first <= j.value), j.value) AND ?1 ->> (j.key + 1)
WHERE j.key % 2 = 0 AND t.last >= j.value`, []any{list}, func(s *sqlite3.Stmt) error {
		r := run{first: s.ColumnInt64(0), last: s.ColumnInt64(1)}
		var err error
		if r.tier, err = evict.ParseTier(s.ColumnText(2)); err != nil {
			return &failure{fmt.Sprintf("the rung of episode number %d", r.first), fmt.Errorf("%w: %w", ErrCorrupt, err)}
		}
		if n := len(l.runs); n == 0 || l.runs[n-1].last < r.first { // else one that reaches over several spans
			l.runs = append(l.runs, r)
		}
		return nil
	})
	i := 0
	for _, r := range l.runs {
		for ; i < len(l.list) && l.list[i].seq <= r.last; i++ {
			if l.list[i].seq >= r.first {
				l.list[i].to = r.tier
			}
		}
	}
	return l, err
}

// after returns the runs that take the place of those that the episodes were in.
func (l *ladder) after() []run {
	var out []run
	add := func(first, last int64, tier evict.Tier) {
		if tier == evict.Live || first > last {
			return
		}
		if n := len(out); n > 0 && out[n-1].last+1 == first && out[n-1].tier == tier {
			out[n-1].last = last
			return
		}
		out = append(out, run{first, last, tier})
	}
	list := l.list
	until := func(seq int64, rest func(m moved)) {
		for ; len(list) > 0 && list[0].seq <= seq; list = list[1:] {
			rest(list[0])
			add(list[0].seq, list[0].seq, list[0].to)
		}
	}
	for _, r := range l.runs {
		until(r.first-1, func(moved) {})
		next := r.first
		until(r.last, func(m moved) {
			add(next, m.seq-1, r.tier)
			next = m.seq + 1
		})
		add(next, r.last, r.tier)
	}
	until(math.MaxInt64, func(moved) {})
	return out
}

// move writes the tiers, those that were and those that are now in a statement each.
func (tx *Tx) move(what string, l *ladder) error {
	runs := l.after()
	kept := map[run]bool{}
	for _, r := range runs {
		kept[r] = true
	}
	var gone []int64
	for _, r := range l.runs {
		if kept[r] {
			delete(kept, r)
		} else {
			gone = append(gone, r.first)
		}
	}
	if len(gone) > 0 {
		n, err := tx.exec(what, `
DELETE FROM episode_tier
WHERE first IN (SELECT value FROM json_each(?))`, numberList(gone))
		if err == nil && n != int64(len(gone)) {
			err = fail(tx.ctx, fmt.Errorf("%d of %d runs were there: %w", n, len(gone), ErrCorrupt), "%s", what)
		}
		if err != nil {
			return err
		}
	}
	several := false
	var rows []byte
	fresh := 0
	for _, r := range runs {
		if kept[r] {
			rows = fmt.Appendf(append(rows, ','), `[%d,%d,"%v"]`, r.first, r.last, r.tier)
			several = several || r.tier > evict.Masked
			fresh++
		}
	}
	if fresh == 0 {
		return nil
	}
	rows[0] = '['
	if several {
		// The triggers that keep rungs from being skipped know by this that all of them are written down.
		if _, err := tx.exec(what, `INSERT INTO meta (name, value) VALUES ('rungs are listed', 1)`); err != nil {
			return err
		}
	}
	n, err := tx.exec(what, `
INSERT INTO episode_tier (first, last, eviction_tier)
SELECT value ->> 0, value ->> 1, value ->> 2
FROM json_each(?)`, string(append(rows, ']')))
	if err == nil && n != int64(fresh) {
		err = fail(tx.ctx, fmt.Errorf("%d of %d runs were written: %w", n, fresh, ErrCorrupt), "%s", what)
	}
	if err == nil && several {
		_, err = tx.exec(what, `DELETE FROM meta WHERE name = 'rungs are listed'`)
	}
	return err
}

// logSteps writes the steps down. Those of one episode that follow each other and have the same reason become one, with what each rung reclaims in front of the reason.
func (tx *Tx) logSteps(steps []StepRow) {
	tx.evictions.body, tx.evictions.fields = slices.Grow(tx.evictions.body, 24*len(steps)), slices.Grow(tx.evictions.fields, 48*len(steps))
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
