package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3/vfs"
)

// idleReaders is how many unused read connections are kept. More are opened when more reads run at once.
const idleReaders = 4

// Store is an open store. It is safe for concurrent use. The zero value is not usable.
type Store struct {
	cfg    Config
	path   string // absolute, or Memory
	uri    string
	memory *memoryVFS // nil for a file
	log    *logVFS    // of the writer; nil where the log is written as it is
	still  bool       // the file is read as one that does not change; see [state]

	// writer is held by whoever uses wconn; indexer is guarded by it as well, so that the two never wait for each other inside SQLite.
	writer  chan struct{}
	queue   jobs // writes that wait for it
	wconn   *conn
	indexer *conn
	// deflater and known are guarded by writer too.
	deflater deflater
	known    known
	writing  atomic.Bool // a Write holds writer, not a batch of the index
	// draining is held by whoever fills the index, and taken before writer.
	draining chan struct{}

	mu      sync.Mutex // guards the fields below
	idle    sync.Cond  // signalled when active falls to 0
	readers []*conn
	active  int
	closed  bool

	sessionDocs sessionDocs
	knownTerms  knownTerms
	knownDocs   knownDocuments
	vectorMu    sync.Mutex // guards vectorCache
	vectorCache *vectorCache

	stop          func() // ends the maintenance goroutine
	wake, stopped chan struct{}
	logPages      atomic.Int64 // pages in the log after the last commit; 0 after a checkpoint
	checkpointAt  atomic.Int64 // pages at which the next checkpoint is due
	unindexed     atomic.Int64 // bytes committed since the last batch of the index
	waiting       atomic.Bool  // facts wait for the ledger, as far as this process knows
	opened        time.Time
	wrote         atomic.Int64 // when the last write ended, in nanoseconds after opened
	maintenance   error        // what the goroutine met; read after stopped is closed
}

// Path returns the absolute path of the file, or [Memory].
func (s *Store) Path() string { return s.path }

// Waits returns how often the writer has waited for the disk, where it writes a plain file.
func (s *Store) Waits() int64 {
	if s.log == nil {
		return 0
	}
	return s.log.waits.Load()
}

// enter counts a call in; leave counts it out. Close waits for all.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.active++
	return nil
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 {
		s.idle.Broadcast()
	}
}

// Close waits for the calls that are running, stops the maintenance goroutine and closes the connections.
// Calling it again does nothing. It must not be called from inside a [Store.Write] or [Store.Read].
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for s.active > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	s.stop()
	<-s.stopped
	log := errors.Join(s.enterLast(), s.tidy(), s.truncateLog())
	if errors.Is(translate(context.Background(), log), ErrFull) {
		log = nil // what the log holds is safe there
	}
	err := errors.Join(s.maintenance, log, s.dismantle())
	if err != nil {
		return fmt.Errorf("store: close %s: %w", s.path, err)
	}
	return nil
}

// dismantle closes every connection.
func (s *Store) dismantle() error {
	var errs []error
	for _, c := range append(s.readers, s.indexer, s.wconn) {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	s.readers, s.indexer, s.wconn = nil, nil, nil
	if s.memory != nil {
		vfs.Unregister(s.memory.name)
	}
	if s.log != nil {
		vfs.Unregister(s.log.name)
	}
	return errors.Join(errs...)
}

func (s *Store) lockWriter(ctx context.Context) error { return s.acquire(ctx, s.writer, true) }

func (s *Store) unlockWriter() { <-s.writer }

// ofThisSchema fails where a newer version of the module has brought the store to its schema since it was opened here: what is read and written by the rules of
// this one would be wrong. It is asked in each transaction, which fixes the answer for the time that it takes.
func (s *Store) ofThisSchema(ctx context.Context, c *conn) error {
	version, _, err := c.number(`PRAGMA user_version`)
	if err == nil && version > latest() {
		err = fmt.Errorf("schema version %d since it was opened, this is %d: %w", version, latest(), ErrNewer)
	}
	return fail(ctx, err, "store")
}

// stillOfThisSchema is ofThisSchema for a transaction that writes: it has seen the newest state already, and asks only where that is another one's.
func (s *Store) stillOfThisSchema(ctx context.Context, c *conn) error {
	if v, ok := dataVersion(c); ok && c.checked && v == c.written {
		return nil
	}
	c.checked = false
	if err := s.ofThisSchema(ctx, c); err != nil {
		return err
	}
	c.written, c.checked = dataVersion(c)
	return nil
}

// transact runs f between BEGIN IMMEDIATE and COMMIT on c. When f does not return, or the transaction cannot be ended, c is closed and
// lost is called: what SQLite's memory holds then is not known.
func (s *Store) transact(ctx context.Context, c *conn, lost func(), f func(*conn) error) (err error) {
	c.SetInterrupt(ctx)
	sound := false
	defer func() {
		if sound {
			return
		}
		p := recover()
		lost()
		closing := s.giveUp(c)
		switch {
		case isMemory(p):
			err = also(fail(ctx, ErrMemory, "write"), closing)
		case p != nil:
			panic(p)
		}
	}()
	if _, err := c.exec(`BEGIN IMMEDIATE`); err != nil {
		c.SetInterrupt(context.Background())
		sound = true
		return fail(ctx, err, "write")
	}
	err = fail(ctx, s.log.settle(), "write")
	if err == nil {
		err = s.stillOfThisSchema(ctx, c)
	}
	if err == nil {
		err = f(c)
	}
	c.SetInterrupt(context.Background())
	if err == nil {
		err = fail(ctx, ctx.Err(), "write")
	}
	if err == nil {
		if _, err = c.exec(`COMMIT`); err == nil {
			sound = true
			if c.checked {
				c.written, c.checked = dataVersion(c)
			}
			return nil
		}
		err = fail(ctx, err, "write: commit")
	}
	// Some errors end the transaction by themselves.
	if !c.GetAutocommit() {
		if _, e := c.exec(`ROLLBACK`); e != nil {
			return errors.Join(err, fail(ctx, e, "write: roll back")) // unsound: the connection is closed
		}
	}
	sound = true
	return err
}

// giveUp closes a connection in whatever state it is. A transaction on it is rolled back.
func (s *Store) giveUp(c *conn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: a connection is lost: %v", p)
		}
	}()
	c.SetInterrupt(context.Background())
	if !c.GetAutocommit() {
		_ = c.Exec(`ROLLBACK`) // Closing does it otherwise.
	}
	return c.close()
}

// isMemory reports whether a panic is SQLite's way of saying that its memory is used up.
func isMemory(p any) bool {
	err, ok := p.(error)
	return ok && strings.HasPrefix(err.Error(), "sqlite3: out of memory")
}

// Read runs f on one snapshot, taken at f's first query. It sees every [Store.Write] that returned before, of any goroutine or process.
// f must not use its Reader, nor an iterator of it, after it has returned.
func (s *Store) Read(ctx context.Context, f func(*Reader) error) error {
	return s.read(ctx, f, (*Reader).prepareLedger)
}

// read runs f on one snapshot, once prepare has seen it.
func (s *Store) read(ctx context.Context, f, prepare func(*Reader) error) error {
	if err := s.enter(); err != nil {
		return fail(ctx, err, "read")
	}
	defer s.leave()
	return s.snapshot(ctx, s.takeReader, func(r *Reader) error {
		if err := prepare(r); err != nil {
			return err
		}
		return f(r)
	})
}

// snapshot runs f on a connection that take gives; the connection goes to the idle ones afterwards.
func (s *Store) snapshot(ctx context.Context, take func(context.Context) (*conn, error), f func(*Reader) error) (err error) {
	c, err := take(ctx)
	if err != nil {
		return fail(ctx, err, "read")
	}
	sound := false
	defer func() {
		if sound {
			s.putReader(c)
			return
		}
		p := recover()
		closing := s.giveUp(c)
		switch {
		case isMemory(p):
			err = also(fail(ctx, ErrMemory, "read"), closing)
		case p != nil:
			panic(p)
		default:
			err = errors.Join(err, closing)
		}
	}()
	c.SetInterrupt(ctx)
	if _, err := c.exec(`BEGIN`); err != nil {
		return fail(ctx, err, "read")
	}
	r := &Reader{store: s, conn: c, ctx: ctx}
	defer func() {
		r.end()
		c.names = nil
	}()
	if err = s.ofThisSchema(ctx, c); err == nil {
		err = f(r)
	}
	c.SetInterrupt(context.Background())
	if !c.GetAutocommit() {
		if _, e := c.exec(`ROLLBACK`); e != nil {
			return errors.Join(err, fail(ctx, e, "read"))
		}
	}
	sound = true
	if err == nil {
		err = fail(ctx, s.unchanged(c), "read")
	}
	return err
}

// takeReader returns an idle read connection or opens one: a read inside a read never waits for the outer one.
func (s *Store) takeReader(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if n := len(s.readers); n > 0 {
		c := s.readers[n-1]
		s.readers = s.readers[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	return s.dial(ctx)
}

func (s *Store) putReader(c *conn) {
	s.mu.Lock()
	if len(s.readers) < idleReaders && !s.still {
		s.readers = append(s.readers, c)
		c = nil
	}
	s.mu.Unlock()
	if c != nil {
		_ = c.close() // Nothing was written on it.
	}
}
