package store

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"sakur4/symbolic"
)

// errNoLedger is what a statement that names the ledger meets in a [Store.ReadRecord].
var errNoLedger = errors.New("the ledger is not complete here")

// ReadRecord is [Store.Read] for who asks for what was recorded, and for nothing that is looked up in the ledger of facts: nothing is entered in that before, and nobody
// is waited for. [Reader.ExitCode] can be asked.
func (s *Store) ReadRecord(ctx context.Context, f func(*Reader) error) error {
	if err := s.enter(); err != nil {
		return fail(ctx, err, "read")
	}
	defer s.leave()
	return s.snapshot(ctx, s.takeReader, func(r *Reader) error {
		r.record = true
		r.conn.names = func(string) (string, error) { return "", errNoLedger }
		return f(r)
	})
}

// ExitCode returns the exit code that a tool's result stated, "" for none, or where a later result is the newest evidence of it.
func (r *Reader) ExitCode(project, id string) (string, error) {
	const kind = "tool_exit_code"
	if r.record && !r.looked {
		if err := r.lookAtQueue(kind); err != nil {
			return "", err
		}
	}
	limit := 1
	if len(r.queue) > 0 {
		limit = 0
	}
	best := symbolic.Row{}
	take := func(row symbolic.Row) {
		if best.FactID == "" || cmp.Or(strings.Compare(row.QualifiedName, best.QualifiedName), strings.Compare(row.FilePath, best.FilePath)) < 0 {
			best = row
		}
	}
	for _, row := range r.queue {
		if row.Project == project && row.Episode == id {
			take(row)
		}
	}
	if names := r.conn.names; r.record {
		r.conn.names = nil // what is in the ledger is compared with what waits for it
		defer func() { r.conn.names = names }()
	}
	for row, err := range r.Facts(FactFilter{Project: project, Episode: id, Kind: kind, Limit: limit}) {
		if err != nil {
			return "", err
		}
		if _, waits := r.queue[row.FactID]; !waits {
			take(row)
		}
	}
	return best.Value, nil
}

// lookAtQueue reads what waits for the ledger of a kind: of each fact the last one, which takes its place.
func (r *Reader) lookAtQueue(kind string) error {
	for next := (excerpt{more: true}); next.more; {
		after, err := int64(0), error(nil)
		if n := len(next.list); n > 0 {
			after = next.list[n-1].seq
		}
		if next, err = r.waiting(after); err != nil {
			return err
		}
		for _, q := range next.list {
			for _, row := range q.facts {
				if row.Kind != kind {
					continue
				}
				if r.queue == nil {
					r.queue = map[string]symbolic.Row{}
				}
				r.queue[row.FactID] = row
			}
		}
	}
	r.looked = true
	return nil
}
