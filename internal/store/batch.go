package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// maxBatch bounds the writes of one transaction, so that the first of them does not wait for an endless row of others.
const maxBatch = 32

// job is one write that waits for its transaction.
type job struct {
	ctx context.Context
	f   func(*Tx) error
	lax bool // see [Store.WriteNoSync]
	// done is closed when the fields below are set: what Write returns, or what f panicked with.
	done     chan struct{}
	err      error
	panicked any
}

// jobs are the writes that no batch has taken up, in their order.
type jobs struct {
	mu   sync.Mutex // guards list
	list []*job
}

// waiting reports whether there are any.
func (q *jobs) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) > 0
}

func (q *jobs) add(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, j)
}

// remove takes a job back. It reports whether no batch had taken it up.
func (q *jobs) remove(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.list)
	q.list = slices.DeleteFunc(q.list, func(x *job) bool { return x == j })
	return len(q.list) < n
}

// take returns the next batch.
func (q *jobs) take() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.list), maxBatch)
	batch := slices.Clone(q.list[:n])
	q.list = slices.Delete(q.list, 0, n)
	return batch
}

// Write runs f in an immediate transaction on the single writer. It is durable when Write returns nil. When f fails or panics, ctx
// ends, or SQLite runs out of memory, nothing of it is kept. f must not use its Tx after it has returned.
//
// Writes that wait for the writer at the same time share a transaction, each in a savepoint of its own: they share the wait for the disk.
// f may therefore run in another goroutine than its caller's.
func (s *Store) Write(ctx context.Context, f func(*Tx) error) error { return s.write(ctx, f, false) }

// WriteNoSync is as Write, but does not wait for the disk: what it has written is read by everybody once it returns nil, and outlives the process, but a loss of
// power may take it, and whatever was written before it and not waited for either. The next Write makes it durable too, so that nothing is
// ever kept without what it was built upon. An encrypted store waits all the same.
func (s *Store) WriteNoSync(ctx context.Context, f func(*Tx) error) error {
	return s.write(ctx, f, true)
}

func (s *Store) write(ctx context.Context, f func(*Tx) error, lax bool) error {
	if err := s.enter(); err != nil {
		return fail(ctx, err, "write")
	}
	defer s.leave()
	if s.cfg.ReadOnly {
		return fail(ctx, ErrReadOnly, "write")
	}
	j := &job{ctx: ctx, f: f, lax: lax, done: make(chan struct{})}
	s.queue.add(j)
	for {
		select {
		case s.writer <- struct{}{}:
			s.lead()
			continue
		case <-j.done:
		case <-ctx.Done():
			if s.queue.remove(j) {
				return fail(ctx, ctx.Err(), "write")
			}
			<-j.done // it is being run; whoever runs it sees ctx too
		}
		break
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

// lead runs the next batch with the writer in hand, and gives the writer back.
func (s *Store) lead() {
	s.writing.Store(true)
	defer func() {
		s.writing.Store(false)
		s.unlockWriter()
	}()
	if batch := s.queue.take(); len(batch) > 0 {
		s.run(batch)
	}
}

// run runs a batch in one transaction and ends its jobs.
func (s *Store) run(batch []*job) {
	ctx := context.Background()
	alone := len(batch) == 1
	if alone {
		ctx = batch[0].ctx // an interrupt ends the whole transaction, so that only a job of its own may have one
	}
	var added int64
	waiting := false
	err := s.ready(ctx)
	if err == nil {
		err = s.transact(ctx, s.wconn, func() { s.wconn = nil }, func(c *conn) error {
			kept, lax := 0, true
			waiting = s.waiting.Load()
			s.known.check(c)
			for _, j := range batch {
				tx, err := s.one(ctx, c, j, !alone)
				switch {
				case err != nil:
					j.err = err
				case j.panicked == nil:
					kept++
					lax = lax && j.lax
					added += tx.added
					waiting = (waiting || tx.queued) && !tx.entered
					s.known.learn(tx)
				}
				if (alone && kept == 0) || c.GetAutocommit() {
					return errOver
				}
			}
			if kept == 0 {
				return errOver
			}
			if s.log != nil {
				s.log.lax = lax // until it is committed
			}
			return nil
		})
	}
	if s.log != nil {
		s.log.lax = false
	}
	if err != nil {
		s.known.forget()
	} else {
		s.known.keep(s.wconn)
	}
	for _, j := range batch {
		if err != nil && j.err == nil && j.panicked == nil {
			j.err = fail(j.ctx, err, "write")
		}
		close(j.done)
	}
	s.wrote.Store(int64(time.Since(s.opened)))
	if err != nil {
		return
	}
	before := s.waiting.Swap(waiting)
	now := s.unindexed.Add(added)
	if s.cfg.lazy {
		return
	}
	if waiting && !before {
		s.wakeUp()
	}
	s.passed(now-added, now, indexBatchBytes, backlogBytes)
}

// errOver ends a transaction of which nothing is kept. A job whose own error it would become was rolled back with another's.
var errOver = errors.New("the transaction was rolled back")

// one runs a job, in a savepoint where others share its transaction. What f panics with goes to its own caller, but for SQLite's word
// that memory is used up, which ends the connection.
func (s *Store) one(ctx context.Context, c *conn, j *job, shared bool) (tx *Tx, err error) {
	if err := j.ctx.Err(); err != nil {
		return nil, fail(j.ctx, err, "write")
	}
	if shared {
		if _, err := c.exec(`SAVEPOINT job`); err != nil {
			return nil, fail(ctx, err, "write")
		}
	}
	tx = &Tx{Reader: &Reader{store: s, conn: c, ctx: j.ctx, writing: true}}
	c.names = tx.enterFirst
	defer func() { c.names = nil }()
	err = j.run(tx)
	if err == nil {
		err = fail(j.ctx, j.ctx.Err(), "write")
	}
	if !shared || c.GetAutocommit() {
		return tx, err
	}
	if err != nil || j.panicked != nil {
		if _, e := c.exec(`ROLLBACK TO job`); e != nil {
			return tx, errors.Join(err, fail(ctx, e, "write: roll back"))
		}
	}
	if _, e := c.exec(`RELEASE job`); e != nil {
		return tx, errors.Join(err, fail(ctx, e, "write"))
	}
	return tx, err
}

func (j *job) run(tx *Tx) error {
	defer tx.end()
	defer func() {
		if p := recover(); p != nil {
			if isMemory(p) {
				panic(p)
			}
			j.panicked = p
		}
	}()
	if err := j.f(tx); err != nil {
		return err
	}
	return tx.sealEvictions()
}

// ready opens the writer again after it was lost.
func (s *Store) ready(ctx context.Context) error {
	if s.wconn != nil {
		return nil
	}
	c, err := s.dialWriter(ctx)
	if err != nil {
		return fail(ctx, err, "write: reopen the writer")
	}
	s.wconn = c
	s.known.forget()
	s.watchLog(c)
	return nil
}
