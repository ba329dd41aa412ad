package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/symbolic"
)

// The facts of a result are recorded as one row of a queue, in the result's own transaction, and entered in the ledger later: a fact of the ledger touches four
// trees of it, and a result has dozens. Nobody sees the difference, since no statement that names the ledger is run on one in which something is missing: a [Tx] enters
// what waits before its first such statement, and a [Store.Read] before its snapshot, or it lays what is missing over the ledger, see [Reader.overlay].

// entryWait is how long a read waits for others that write to enter the facts that it lacks. Then it overlays them.
const entryWait = 100 * time.Millisecond

// What is read of the queue at once, and entered in a transaction where that is of no other use: it ends with the row that reaches one of these bounds. Others that write
// wait for a few tens of milliseconds at most, and of results of megabytes one or two are in memory.
const (
	entryRows  = 256
	entryFacts = 4096
	entryBytes = 4 << 20 // of the results
)

// namesLedger reports whether a statement reads or writes the ledger of facts. What interprets is anchored to facts: a trigger of what is inserted and a view look
// for them.
func namesLedger(sql string) bool {
	return strings.Contains(sql, "symbolic_fact") || strings.Contains(sql, "semantic_atlas_staleness") || strings.Contains(sql, "INTO semantic_atlas")
}

// kinds are those that the ledger takes.
var kinds = sync.OnceValue(func() map[string]bool {
	kinds := map[string]bool{}
	for _, k := range symbolic.Kinds() {
		kinds[k] = true
	}
	return kinds
})

// RecordFacts writes what a parser read in a result that this transaction has appended. It does what [Tx.PutFacts] does, as far as anybody who reads can tell, and once
// for an episode. It fails with [ErrRefused] for a fact that the ledger would not take, and then nothing is written.
func (tx *Tx) RecordFacts(e *episode.Record, list []symbolic.Row) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		if err := acceptable(e, &list[i]); err != nil {
			return fail(tx.ctx, err, "record fact %s", list[i].FactID)
		}
	}
	what := "record facts of " + e.ID
	if n := len(tx.appended); n == 0 || tx.appended[n-1].id != e.ID {
		return fail(tx.ctx, fmt.Errorf("the episode was not appended last: %w", ErrRefused), "%s", what)
	}
	batch := encodeFacts(e.Seq, e.Content, list)
	if _, err := tx.exec(what, `INSERT INTO fact_queue (seq, facts, seal) VALUES (?, ?, ?)`, e.Seq, batch, queueSeal(batch)); err != nil {
		return err
	}
	for i := range list {
		tx.added += indexedBytes(&list[i])
	}
	tx.queued, tx.entered = true, false
	return nil
}

// acceptable says why the ledger would refuse a fact of an episode.
func acceptable(e *episode.Record, r *symbolic.Row) error {
	switch {
	case r.Project != e.Project:
		return fmt.Errorf("it is of project %q, not %q: %w", r.Project, e.Project, ErrRefused)
	case r.Episode != e.ID:
		return fmt.Errorf("it is of episode %q, not %q: %w", r.Episode, e.ID, ErrRefused)
	case !kinds()[r.Kind]:
		return fmt.Errorf("unknown kind %q: %w", r.Kind, ErrRefused)
	case r.FactID == "" || r.Source == "" || r.ASTHash == "":
		return fmt.Errorf("it has no id, source or hash: %w", ErrRefused)
	}
	return nil
}

// enterFirst is what a write's connection asks before a statement that names the ledger.
func (tx *Tx) enterFirst(sql string) (string, error) { return sql, tx.enterQueue() }

// enterQueue enters what waits for the ledger, all of it or nothing.
func (tx *Tx) enterQueue() error {
	if tx.entered || tx.entering {
		return nil
	}
	tx.entering = true
	defer func() { tx.entering = false }()
	next, err := tx.waiting(0)
	if err == nil && len(next.list) > 0 {
		err = tx.enterAll(next)
	}
	if err != nil {
		return fail(tx.ctx, err, "enter facts")
	}
	tx.entered, tx.queued = true, false
	return nil
}

// enterSome enters the first rows of the queue, and reports the last of them, 0 where there was none.
func (tx *Tx) enterSome() (last int64, err error) {
	tx.entering = true
	defer func() { tx.entering = false }()
	next, err := tx.waiting(0)
	if err == nil && len(next.list) > 0 {
		last, err = tx.enterList(next.list)
	}
	tx.entered = err == nil && !next.more
	return last, fail(tx.ctx, err, "enter facts")
}

// enterAll enters rows of the queue and those behind them. Whoever goes on after an error finds the ledger as it was.
func (tx *Tx) enterAll(next excerpt) (err error) {
	if _, err := tx.conn.exec(`SAVEPOINT entry`); err != nil {
		return err
	}
	defer func() {
		if err != nil && !tx.conn.GetAutocommit() {
			_, undo := tx.conn.exec(`ROLLBACK TO entry`)
			err = also(err, undo)
		}
		if !tx.conn.GetAutocommit() {
			_, release := tx.conn.exec(`RELEASE entry`)
			err = also(err, release)
		}
	}()
	for len(next.list) > 0 {
		last, err := tx.enterList(next.list)
		if err != nil || !next.more {
			return err
		}
		if next, err = tx.waiting(last); err != nil {
			return err
		}
	}
	return nil
}

// enterList enters the first rows of the queue, takes them from it, and returns the last of them.
func (tx *Tx) enterList(list []queued) (last int64, err error) {
	added := tx.added // it was counted when it was recorded
	defer func() { tx.added = added }()
	for i := range list {
		if err := tx.enter(&list[i]); err != nil {
			return 0, err
		}
	}
	last = list[len(list)-1].seq
	if _, err := tx.conn.exec(`UPDATE meta SET value = ? WHERE name = 'facts entered'`, last); err != nil {
		return 0, err
	}
	_, err = tx.conn.exec(`DELETE FROM fact_queue WHERE seq <= ?`, last)
	return last, err
}

// enter enters one row of the queue.
func (tx *Tx) enter(q *queued) error {
	l, err := tx.ledgerOf("enter facts", q.project, q.created)
	if err != nil {
		return err
	}
	l.episode, l.episodeID = q.seq, q.episode
	err = tx.putAll(&l, q.facts)
	if errors.Is(err, ErrRefused) || errors.Is(err, ErrNotFound) { // each of them was acceptable when it was recorded
		err = fmt.Errorf("episode %s: %w: %w", q.episode, ErrCorrupt, err)
	}
	return err
}

// queued is a row of the queue.
type queued struct {
	seq              int64
	episode, project string
	created          time.Time
	facts            []symbolic.Row
	bytes            int // of the result
}

// excerpt are some rows of the queue that follow each other; more says that others may follow them.
type excerpt struct {
	list []queued
	more bool
}

const queueColumns = `q.seq, q.facts, q.seal, e.episode_id, p.project_id, e.at, e.created, e.content, e.content_digest`

const queueTables = `
FROM fact_queue q
LEFT JOIN episodic_stream e ON e.seq = q.seq
LEFT JOIN project p ON p.num = e.project_id`

func scanQueued(s *sqlite3.Stmt) (queued, error) {
	q := queued{seq: s.ColumnInt64(0), episode: s.ColumnText(3), project: s.ColumnText(4), created: decodeCreated(s.ColumnInt64(5), s.ColumnInt64(6))}
	what := fmt.Sprintf("facts of episode number %d", q.seq)
	if q.episode == "" || q.project == "" {
		return queued{}, &failure{what, fmt.Errorf("the episode is not there: %w", ErrCorrupt)}
	}
	what = "facts of " + q.episode
	batch, content := s.ColumnRawBlob(1), s.ColumnText(7)
	if s.ColumnInt64(2) != queueSeal(batch) {
		return queued{}, unlike(what)
	}
	if sum := digest.Of(content); string(sum[:]) != string(s.ColumnRawBlob(8)) {
		return queued{}, &failure{what, fmt.Errorf("the content's digest is another one: %w", ErrCorrupt)}
	}
	q.bytes = len(content)
	var err error
	if q.facts, err = decodeFacts(batch, q.seq, q.project, q.episode, content); err != nil {
		return queued{}, &failure{what, fmt.Errorf("%w: %w", ErrCorrupt, err)}
	}
	return q, nil
}

// waiting returns the next rows of the queue after a position, as many as the bounds allow.
func (r *Reader) waiting(after int64) (next excerpt, err error) {
	facts, bytes := 0, 0
	err = r.each("facts that wait", `SELECT `+queueColumns+queueTables+`
WHERE q.seq > ?
ORDER BY q.seq`, []any{after}, func(s *sqlite3.Stmt) error {
		q, err := scanQueued(s)
		if err != nil {
			return err
		}
		next.list = append(next.list, q)
		facts, bytes = facts+len(q.facts), bytes+q.bytes
		if next.more = len(next.list) == entryRows || facts >= entryFacts || bytes >= entryBytes; next.more {
			return errStop
		}
		return nil
	})
	if err != nil {
		return excerpt{}, fail(r.ctx, err, "facts that wait")
	}
	return next, nil
}

// allWaiting calls f for every row of the queue, in order.
func (r *Reader) allWaiting(f func(*queued) error) error {
	after := int64(0)
	for {
		next, err := r.waiting(after)
		if err != nil {
			return err
		}
		for i := range next.list {
			if err := f(&next.list[i]); err != nil {
				return err
			}
			after = next.list[i].seq
		}
		if !next.more {
			return nil
		}
	}
}

// anyWaiting reports whether there are any, without fixing the snapshot for those who may give it up.
func (r *Reader) anyWaiting() (bool, error) {
	_, found, err := r.conn.number(`SELECT 1 FROM fact_queue LIMIT 1`)
	return found, err
}

// enterQueue enters what waits for the ledger in transactions of its own, which need not be durable: a row that is lost there waits again. Others that write have their
// turn in between, and what they record meanwhile may wait on. It waits for each turn for a time at most, or until it has it where that is 0.
func (s *Store) enterQueue(ctx context.Context, wait time.Duration) error {
	for target, entered := int64(0), int64(-1); entered < target; {
		var err error
		if target, entered, err = s.enterPart(ctx, wait, target); err != nil {
			return err
		}
	}
	return nil
}

// enterPart enters the first rows of the queue, and returns the last of them and the target, which is the last one of all where none is given.
func (s *Store) enterPart(ctx context.Context, wait time.Duration, target int64) (_, entered int64, err error) {
	turn := ctx
	if wait > 0 {
		var cancel context.CancelFunc
		turn, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	if err := s.lockWriter(turn); err != nil {
		if ctx.Err() == nil {
			err = errContended
		}
		return target, 0, err
	}
	s.writing.Store(true)
	defer func() {
		s.writing.Store(false)
		s.unlockWriter()
	}()
	if err := s.ready(ctx); err != nil {
		return target, 0, err
	}
	last, _, err := s.wconn.number(`SELECT max(seq) FROM fact_queue`)
	if err != nil || last == 0 {
		s.waiting.Store(s.waiting.Load() && err != nil)
		return target, target, fail(ctx, err, "enter facts")
	}
	if target == 0 {
		target = last
	}
	if wait > 0 {
		if err := s.wconn.BusyTimeout(wait); err != nil {
			return target, 0, fail(ctx, err, "enter facts")
		}
		defer func() {
			if s.wconn != nil {
				err = also(err, fail(ctx, s.wconn.BusyTimeout(s.cfg.LockWait), "enter facts"))
			}
		}()
	}
	j := &job{ctx: ctx, lax: true, done: make(chan struct{})}
	j.f = func(tx *Tx) (err error) {
		if entered, err = tx.enterSome(); entered == 0 {
			entered = target // another process has entered them
		}
		return err
	}
	s.run([]*job{j})
	if j.panicked != nil {
		panic(j.panicked)
	}
	return target, entered, j.err
}

// prepareLedger makes sure that what the snapshot says of facts is all that is recorded in it. It is called before anything is read: the snapshot is given up for one
// in which everything is entered, where that can be had. Where what waits is damaged, every statement that names the ledger fails; the record is read all the same.
func (r *Reader) prepareLedger() error {
	err := r.completeLedger()
	if errors.Is(err, ErrCorrupt) {
		r.damage = err
		r.conn.names = func(string) (string, error) { return "", err }
		return nil
	}
	return err
}

func (r *Reader) completeLedger() error {
	for tries := 3; ; tries-- {
		if waiting, err := r.anyWaiting(); err != nil || !waiting {
			return fail(r.ctx, err, "read")
		}
		if r.store.cfg.ReadOnly || tries == 0 {
			return r.overlay()
		}
		if _, err := r.conn.exec(`ROLLBACK`); err != nil {
			return fail(r.ctx, err, "read")
		}
		entering := r.store.enterQueue(r.ctx, entryWait)
		if _, err := r.conn.exec(`BEGIN`); err != nil {
			return fail(r.ctx, err, "read")
		}
		if err := r.store.ofThisSchema(r.ctx, r.conn); err != nil {
			return err
		}
		switch {
		case entering == nil:
		case errors.Is(entering, errContended), errors.Is(entering, ErrLocked), errors.Is(entering, ErrFull):
			tries = 1 // the next time it is laid over the ledger, if it still waits
		default:
			return entering
		}
	}
}
