package store

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"sakur4/symbolic"
)

// errNoLedger is what a statement that names the ledger meets in a [Store.ReadRecord].
var errNoLedger = errors.New("the ledger is not complete here")

// ReadRecord is [Store.Read] for who asks for what was recorded, and for nothing that is looked up in the ledger of facts: nothing is entered in that before, and nobody
// is waited for. [Reader.ExitCodes] can be asked.
func (s *Store) ReadRecord(ctx context.Context, f func(*Reader) error) error {
	return s.read(ctx, f, func(r *Reader) error {
		r.record = true
		r.conn.names = func(string) (string, error) { return "", errNoLedger }
		return nil
	})
}

// ExitCodes returns the exit codes that results of a session stated behind a position, by the ids of their episodes. One that a later result is the newest evidence of is
// left out.
func (r *Reader) ExitCodes(project, session string, after int64) (map[string]string, error) {
	const kind = "tool_exit_code"
	if r.record && !r.looked {
		if err := r.lookAtQueue(kind); err != nil {
			return nil, err
		}
	}
	first := map[string]symbolic.Row{} // by name and path, of each episode
	take := func(row symbolic.Row) {
		old, there := first[row.Episode]
		if !there || cmp.Or(strings.Compare(row.QualifiedName, old.QualifiedName), strings.Compare(row.FilePath, old.FilePath)) < 0 {
			first[row.Episode] = row
		}
	}
	if len(r.queue) > 0 {
		ours := map[string]bool{}
		err := r.each("exit codes", `
SELECT e.episode_id
FROM fact_queue q
JOIN episodic_stream e ON e.seq = q.seq
WHERE `+ofSession+` AND q.seq > ?`, []any{project, session, after}, func(s *sqlite3.Stmt) error {
			ours[s.ColumnText(0)] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, row := range r.queue {
			if ours[row.Episode] {
				take(row)
			}
		}
	}
	if names := r.conn.names; r.record {
		r.conn.names = nil // what is in the ledger is compared with what waits for it
		defer func() { r.conn.names = names }()
	}
	// Without the plus, that the one is above 0 is concluded of the other too, and all of the session is walked through from there.
	err := r.each("exit codes", `
SELECT e.episode_id, f.fact_id, f.qualified_name, f.file_path, f.value
FROM episodic_stream e INDEXED BY episodic_stream_session
CROSS JOIN symbolic_fact f INDEXED BY symbolic_fact_episode ON f.episode_id > 0 AND f.episode_id = +e.seq
WHERE `+ofSession+` AND e.seq > ? AND f.kind = '`+kind+`' AND f.project_id = e.project_id`, []any{project, session, after}, func(s *sqlite3.Stmt) error {
		if _, waits := r.queue[s.ColumnText(1)]; !waits {
			take(symbolic.Row{Episode: s.ColumnText(0), QualifiedName: s.ColumnText(2), FilePath: s.ColumnText(3), Value: s.ColumnText(4)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	codes := make(map[string]string, len(first))
	for id, row := range first {
		codes[id] = row.Value
	}
	return codes, nil
}

// lookAtQueue reads what waits for the ledger of a kind: of each fact the last one, which takes its place.
func (r *Reader) lookAtQueue(kind string) error {
	r.queue = map[string]symbolic.Row{}
	err := r.allWaiting(func(q *queued) error {
		for _, row := range q.facts {
			if row.Kind == kind {
				r.queue[row.FactID] = row
			}
		}
		return nil
	})
	r.looked = err == nil
	return err
}
