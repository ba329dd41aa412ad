package store

import (
	"context"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"sakur4/symbolic"
)

// Reader reads one snapshot. It belongs to the function that [Store.Read] or [Store.Write] calls.
type Reader struct {
	store   *Store
	conn    *conn
	ctx     context.Context
	writing bool // inside a Write: the index can be completed in the same transaction
	pinned  bool // a query has fixed the snapshot
	done    bool
	damage  error                   // what is damaged of the facts that wait for the ledger
	record  bool                    // nothing is looked up in the ledger, see [Store.ReadRecord]
	looked  bool                    // queue was read
	queue   map[string]symbolic.Row // facts that wait for the ledger, by their ids
	lag     *lagging                // what the indexes lack in this snapshot, once it was asked for; never inside a Write
}

// settled reports whether what is read stays as it is where rows are only added: it is committed, and of one state of the file.
func (r *Reader) settled() bool { return !r.writing && !r.store.still }

// end makes later uses fail.
func (r *Reader) end() { r.done = true }

// each runs a query. what says what for, in errors.
func (r *Reader) each(what, sql string, args []any, f func(*sqlite3.Stmt) error) error {
	if r.done {
		return fail(r.ctx, ErrClosed, "%s", what)
	}
	r.pinned = true
	var inner error
	err := r.conn.each(sql, args, func(s *sqlite3.Stmt) error {
		inner = f(s)
		return inner
	})
	if err != nil && err == inner {
		return err // f's own
	}
	return fail(r.ctx, err, "%s", what)
}

// rows streams the rows of a query.
func rows[T any](r *Reader, what, sql string, args []any, scan func(*sqlite3.Stmt) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := r.each(what, sql, args, func(s *sqlite3.Stmt) error {
			v, err := scan(s)
			if err != nil {
				return fail(r.ctx, err, "%s", what)
			}
			if !yield(v, nil) {
				stopped = true
				return errStop
			}
			return nil
		})
		if err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}

// all collects a stream.
func all[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// one returns the first row, or [ErrNotFound].
func one[T any](r *Reader, what, sql string, args []any, scan func(*sqlite3.Stmt) (T, error)) (T, error) {
	for v, err := range rows(r, what, sql, args, scan) {
		return v, err
	}
	var zero T
	return zero, fail(r.ctx, ErrNotFound, "%s", what)
}

// Tx is a write in progress. Everything that a [Reader] reads is read as the transaction has left it.
type Tx struct {
	*Reader
	evictions evictionWindow // where the last step went
	place     place          // of the session that was written to last
	appended  []appended     // the episodes of this transaction
	revision  int64          // the highest of a fact that this transaction has written; 0 for none
	added     int64          // bytes of text that the full-text index has yet to take in
	queued    bool           // this transaction has left facts for the ledger
	entered   bool           // nothing waits for the ledger
	entering  bool           // it is being entered
	late      bool           // what is written lies over the ledger, see [Reader.overlay]
}

// appended is an episode that was recorded, and where.
type appended struct {
	id, tokenizer string
	place         place
}

// exec runs a statement.
func (tx *Tx) exec(what, sql string, args ...any) (changed int64, err error) {
	if tx.done {
		return 0, fail(tx.ctx, ErrClosed, "%s", what)
	}
	changed, err = tx.conn.exec(sql, args...)
	return changed, fail(tx.ctx, err, "%s", what)
}

// next returns the number after the highest one in use.
func (tx *Tx) next(what, sql string, args ...any) (n int64, err error) {
	err = tx.each(what, sql, args, func(s *sqlite3.Stmt) error {
		n = s.ColumnInt64(0) + 1
		return nil
	})
	return n, err
}
