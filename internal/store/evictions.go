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
		what := "evictions of session " + session
		seq := int64(0)
		windows := rows(r, what, windowColumns+`
WHERE w.session_id = (SELECT num FROM session WHERE project_id = ? AND session_id = ?)
ORDER BY w.num`, []any{project, session}, scanWindow)
		for w, err := range windows {
			if err != nil {
				yield(EvictionRow{}, err)
				return
			}
			steps, err := r.steps(w)
			if err != nil {
				yield(EvictionRow{}, fail(r.ctx, err, "%s", what))
				return
			}
			for _, step := range steps {
				rungs, err := step.rungs(w)
				if err != nil {
					yield(EvictionRow{}, fail(r.ctx, err, "%s", what))
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

// windowColumns reads the steps of windows, with what their seals say.
const windowColumns = `
SELECT w.num, w.session_id, w.window_id, w.at, coalesce(x.steps, x''), coalesce(s.steps, 0), coalesce(s.seal, 0)
FROM eviction_window w
LEFT JOIN eviction x ON x.window_num = w.num
LEFT JOIN eviction_seal s ON s.window_num = w.num`

// storedWindow is a row of windowColumns. sealed and seal are 0 where the window has no seal.
type storedWindow struct {
	evictionWindow
	sealed int
	seal   int64
}

func scanWindow(s *sqlite3.Stmt) (storedWindow, error) {
	return storedWindow{
		evictionWindow: evictionWindow{
			num:      s.ColumnInt64(0),
			session:  s.ColumnInt64(1),
			windowID: s.ColumnText(2),
			at:       s.ColumnInt64(3),
			body:     s.ColumnBlob(4, nil),
		},
		sealed: s.ColumnInt(5),
		seal:   s.ColumnInt64(6),
	}, nil
}

// step is what is written down of one episode: one rung, or several that one plan takes it down.
type step struct {
	seq      int64
	episode  string
	from, to evict.Tier
	tokens   int
	stored   string // the reason as it is stored, decoded by rungs
}

// append adds the step to those of a window: the numbers, the length of the reason in bytes, and the reason.
func (s *step) append(b []byte) []byte {
	for _, n := range [...]int64{s.seq, int64(s.from), int64(s.to), int64(s.tokens)} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	b = append(strconv.AppendInt(b, int64(len(s.stored)), 10), ':')
	return append(append(b, s.stored...), '\n')
}

// parseSteps is the inverse of append, for all steps of a window.
func parseSteps(b []byte) (steps []step, err error) {
	all := string(b)
	rest := all
	number := func(end string) (n int64) {
		text, behind, ok := strings.Cut(rest, end)
		n, e := strconv.ParseInt(text, 10, 64)
		if !ok || e != nil {
			err = fmt.Errorf("byte %d is not where a number stands: %w", len(all)-len(rest), ErrCorrupt)
			return 0
		}
		rest = behind
		return n
	}
	for len(rest) > 0 {
		s := step{seq: number(" "), from: evict.Tier(number(" ")), to: evict.Tier(number(" ")), tokens: int(number(" "))}
		n := number(":")
		if err == nil && (n < 0 || n >= int64(len(rest)) || rest[n] != '\n' || min(s.from, s.to) < evict.Live || max(s.from, s.to) > evict.Dropped) {
			err = fmt.Errorf("what stands in front of byte %d is no step: %w", len(all)-len(rest), ErrCorrupt)
		}
		if err != nil {
			return nil, err
		}
		s.stored, rest = rest[:n], rest[n+1:]
		steps = append(steps, s)
	}
	return steps, nil
}

// steps returns the steps of a window, compared with its seal where it has one.
func (r *Reader) steps(w storedWindow) ([]step, error) {
	what := "the steps of window " + w.windowID
	steps, err := parseSteps(w.body)
	if err != nil {
		return nil, &failure{what, err}
	}
	seqs := make([]int64, len(steps))
	for i, s := range steps {
		seqs[i] = s.seq
	}
	ids := make(map[int64]string, len(steps))
	err = r.each(what, `
SELECT e.seq, e.episode_id
FROM json_each(?) j
CROSS JOIN episodic_stream e ON e.seq = j.value
WHERE e.session_id = ?`, []any{numberList(seqs), w.session}, func(s *sqlite3.Stmt) error {
		ids[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.body = nil
	for i := range steps {
		id, ok := ids[steps[i].seq]
		if !ok {
			return nil, &failure{what, fmt.Errorf("step %d is of an episode that the session does not have: %w", i+1, ErrCorrupt)}
		}
		steps[i].episode = id
		w.add(&steps[i])
	}
	if w.sealed > 0 && w.seal != w.evictionWindow.seal() {
		return steps, unlike(what)
	}
	return steps, nil
}

// evictionWindow is where the steps of a transaction go.
type evictionWindow struct {
	num, session int64
	windowID     string
	at           int64 // as it is stored
	steps        int
	body         []byte  // the steps as they are stored
	fields       sealing // what they add to the seal
}

// add takes a step in.
func (w *evictionWindow) add(s *step) {
	w.steps++
	w.body = s.append(w.body)
	w.fields = w.fields.number(int64(w.steps)).text(s.episode).number(int64(s.from)).number(int64(s.to)).number(int64(s.tokens)).text(s.stored)
}

// seal is the window's seal: over what its row says, and all of its steps.
func (w *evictionWindow) seal() int64 {
	b := make(sealing, 0, 64+len(w.windowID)+len(w.fields)).number(w.num).number(w.session).text(w.windowID).number(w.at).number(int64(w.steps))
	return append(b, w.fields...).seal()
}

// sealEvictions writes and seals the steps that went to the present window. No others can join them.
func (tx *Tx) sealEvictions() error {
	w := &tx.evictions
	if w.steps == 0 {
		return nil
	}
	what := "steps of window " + w.windowID
	_, err := tx.exec(what, `
INSERT INTO eviction (window_num, steps)
VALUES (?, ?)`, w.num, w.body)
	if err == nil {
		_, err = tx.exec(what, `
INSERT INTO eviction_seal (window_num, steps, seal)
VALUES (?, ?, ?)`, w.num, w.steps, w.seal())
	}
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

// cutUsual cuts the beginning of a usual reason off.
func cutUsual(reason string, from, to evict.Tier) (rest string, ok bool) {
	for _, part := range [...]string{"tier ", from.String(), " → ", to.String(), " (value "} {
		if reason, ok = strings.CutPrefix(reason, part); !ok {
			return "", false
		}
	}
	return reason, true
}

// cutReclaimed cuts the end of a usual reason off.
func cutReclaimed(reason string, tokens int) (rest string, ok bool) {
	var number [20]byte
	if reason, ok = strings.CutSuffix(reason, " tokens reclaimed)"); !ok {
		return "", false
	}
	n := strconv.AppendInt(number[:0], int64(tokens), 10)
	at := len(reason) - len(n)
	if at < 0 || reason[at:] != string(n) {
		return "", false
	}
	return strings.CutSuffix(reason[:at], ", ")
}

// encodeReason shortens a reason. Written out, the reasons would take more room than the rest of their rows.
func encodeReason(reason string, from, to evict.Tier, tokens int) string {
	middle, usual := cutUsual(reason, from, to)
	if usual {
		if value, ok := cutReclaimed(middle, tokens); ok {
			return asUsual + value + andReclaimed
		}
		if !strings.HasSuffix(middle, andReclaimed) {
			return asUsual + middle
		}
	}
	if strings.HasPrefix(reason, asItIs) || strings.HasPrefix(reason, asUsual) {
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

// rungs returns the rungs that a step of a window stands for. One that leads several rungs down has in front of its reason what each of them reclaims.
func (s *step) rungs(w storedWindow) ([]EvictionRow, error) {
	row := EvictionRow{Episode: s.episode, From: s.from, To: s.to, WindowID: w.windowID, Tokens: s.tokens, At: decodeTime(w.at)}
	if s.to <= s.from+1 {
		row.Reason = decodeReason(s.stored, s.from, s.to, s.tokens)
		return []EvictionRow{row}, nil
	}
	stored := s.stored
	list := make([]EvictionRow, 0, s.to-s.from)
	for from := s.from; from < s.to; from++ {
		number, rest, ok := strings.Cut(stored, " ")
		tokens, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, fmt.Errorf("what the rungs of episode %s in window %s reclaim is %q: %w", s.episode, w.windowID, s.stored, ErrCorrupt)
		}
		row.From, row.To, row.Tokens = from, from+1, tokens
		list, stored = append(list, row), rest
	}
	for i := range list {
		list[i].Reason = decodeReason(stored, list[i].From, list[i].To, list[i].Tokens)
	}
	return list, nil
}
