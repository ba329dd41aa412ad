package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// DecisionRow is one rendering decision, taken once and replayed. Ord is its position in the session, from 0 without a gap; Body is the engine's JSON.
type DecisionRow struct {
	Ord                       int
	Kind, Episode, Form, Body string
}

// A row of the table holds a run of decisions. It ends where it has maxRun of them or runBytes: where one of them is written over, so are those in front of it in its run.
const (
	maxRun   = 64
	runBytes = 1 << 15
)

const decisionColumns = `d.ord, d.decisions, d.body, d.seal`

// decisionsOf returns the scan of runs of a session.
func decisionsOf(project, session string) func(*sqlite3.Stmt) ([]DecisionRow, error) {
	return func(s *sqlite3.Stmt) ([]DecisionRow, error) {
		first, n := s.ColumnInt(0), s.ColumnInt(1)
		what := fmt.Sprintf("decisions %d to %d of session %s", first, first+n-1, session)
		list, err := parseDecisions(first, n, s.ColumnText(2))
		if err != nil {
			return nil, &failure{what, err}
		}
		if s.ColumnInt64(3) != sealDecisions(project, session, list) {
			return nil, unlike(what)
		}
		return list, nil
	}
}

// sealDecisions is the seal of a run.
func sealDecisions(project, session string, list []DecisionRow) int64 {
	b := make(sealing, 0, 256*(len(list)+1)).text(project).text(session)
	for i := range list {
		d := &list[i]
		b = b.number(int64(d.Ord)).text(d.Kind).text(d.Episode).text(d.Form).text(d.Body)
	}
	return b.seal()
}

// append adds the decision to the body of a run.
func (d *DecisionRow) append(b []byte) []byte {
	for _, text := range [...]string{d.Kind, d.Episode, d.Form, d.Body} {
		b = append(strconv.AppendInt(b, int64(len(text)), 10), ':')
		b = append(b, text...)
	}
	return b
}

// parseDecisions is the inverse of append, for all n decisions of a run.
func parseDecisions(first, n int, all string) ([]DecisionRow, error) {
	list := make([]DecisionRow, 0, min(max(n, 0), maxRun))
	rest := all
	for len(rest) > 0 {
		d := DecisionRow{Ord: first + len(list)}
		for _, text := range [...]*string{&d.Kind, &d.Episode, &d.Form, &d.Body} {
			number, behind, ok := strings.Cut(rest, ":")
			n, err := strconv.Atoi(number)
			if !ok || err != nil || n < 0 || n > len(behind) {
				return nil, fmt.Errorf("byte %d is not where a length stands: %w", len(all)-len(rest), ErrCorrupt)
			}
			*text, rest = behind[:n], behind[n:]
		}
		list = append(list, d)
	}
	if len(list) != n {
		return nil, fmt.Errorf("there are %d: %w", len(list), ErrCorrupt)
	}
	return list, nil
}

// Decisions returns the session's decisions in order.
func (r *Reader) Decisions(project, session string) ([]DecisionRow, error) {
	var list []DecisionRow
	for run, err := range rows(r, "decisions of session "+session, `
SELECT `+decisionColumns+`
FROM session s
JOIN render_decision d ON d.session_id = s.num
WHERE s.project_id = ? AND s.session_id = ?
ORDER BY d.ord`, []any{project, session}, decisionsOf(project, session)) {
		if err != nil {
			return nil, err
		}
		list = append(list, run...)
	}
	return list, nil
}

// AddDecisions adds decisions behind those that the session has. Their positions ascend from there.
func (tx *Tx) AddDecisions(project, session string, list []DecisionRow) error {
	what := "add decisions of session " + session
	num, err := tx.sessionNum(what, project, session)
	if err != nil {
		return err
	}
	return tx.putDecisions(what, project, session, num, 0, list)
}

// ReplaceDecisions replaces the session's decisions from fromOrd on by these, whose positions ascend from there.
func (tx *Tx) ReplaceDecisions(project, session string, fromOrd int, list []DecisionRow) error {
	what := "replace decisions of session " + session
	num, err := tx.sessionNum(what, project, session)
	if err != nil {
		return err
	}
	var kept []DecisionRow // of the run that fromOrd is in the middle of
	scan := decisionsOf(project, session)
	err = tx.each(what, `
SELECT `+decisionColumns+`
FROM render_decision d
WHERE d.session_id = ? AND d.ord < ?
ORDER BY d.ord DESC
LIMIT 1`, []any{num, fromOrd}, func(s *sqlite3.Stmt) error {
		if s.ColumnInt(0)+s.ColumnInt(1) <= fromOrd {
			return nil
		}
		run, err := scan(s)
		if err != nil {
			return fail(tx.ctx, err, "%s", what)
		}
		kept = run[:fromOrd-run[0].Ord]
		return nil
	})
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		fromOrd = kept[0].Ord
		list = append(kept, list...)
	}
	gone, err := tx.exec(what, `
DELETE FROM render_decision
WHERE session_id = ? AND ord >= ?`, num, fromOrd)
	if err != nil {
		return err
	}
	return tx.putDecisions(what, project, session, num, gone, list)
}

// putDecisions writes decisions in runs, and counts the rows where gone of them were deleted before.
func (tx *Tx) putDecisions(what, project, session string, num, gone int64, list []DecisionRow) error {
	more := -gone
	for len(list) > 0 {
		var body []byte
		n := 0
		for n < len(list) && n < maxRun && len(body) < runBytes {
			body = list[n].append(body)
			n++
		}
		_, err := tx.exec(what, `
INSERT INTO render_decision (session_id, ord, decisions, body, seal)
VALUES (?, ?, ?, ?, ?)`, num, list[0].Ord, n, body, sealDecisions(project, session, list[:n]))
		if err != nil {
			return err
		}
		list = list[n:]
		more++
	}
	if more == 0 {
		return nil
	}
	_, err := tx.exec(what, `
UPDATE meta
SET value = value + ?
WHERE name = 'rows of render_decision'`, more)
	return err
}
