package store

import (
	"context"
	"errors"
	"time"
)

// errContended says that a write is running.
var errContended = errors.New("a write is running")

// politeness is how often one who must not wait for a running write looks whether there is one.
const politeness = 200 * time.Microsecond

// acquire takes a semaphore. Without wait it gives up with errContended when a write is running rather than stand in the queue behind it:
// a search inside that write would wait for itself. A batch of the index it waits for in any case.
func (s *Store) acquire(ctx context.Context, semaphore chan struct{}, wait bool) error {
	var look <-chan time.Time
	for {
		select {
		case semaphore <- struct{}{}:
			return nil
		default:
		}
		if !wait {
			if s.writing.Load() {
				return errContended
			}
			look = time.After(politeness)
		}
		select {
		case semaphore <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look:
		}
	}
}

// pace is how the indexes are brought up to date.
type pace struct {
	wait  bool // as for acquire
	bytes int  // of text in a batch
	// yield reports whether to leave off, since a write has come; nil is never.
	yield func() bool
}

// drain brings the indexes up to date, batch by batch. The text is analysed before the writer is taken, and the writer is taken once for all of the indexes.
func (s *Store) drain(ctx context.Context, p pace) error {
	if err := s.acquire(ctx, s.draining, p.wait); err != nil {
		return err
	}
	defer func() { <-s.draining }()
	wait := time.Duration(0)
	if !p.wait {
		wait = entryWait
	}
	if err := s.enterQueue(ctx, wait); err != nil {
		return err
	}
	pending, entered := s.unindexed.Swap(0), int64(0)
	for {
		if p.yield != nil && p.yield() {
			s.unindexed.Add(pending) // some of it may be done: it is looked at again a little early
			return nil
		}
		batches, err := s.pending(ctx, p.bytes)
		if err != nil || len(batches) == 0 {
			return err
		}
		if err := s.writeBatches(ctx, batches, p); err != nil {
			return err
		}
		// The queue would grow for as long as writes come faster than they are indexed. To enter little at a time would hold up more of them than it helps.
		if waits := s.unindexed.Load(); waits-entered >= backlogBytes {
			if err := s.enterQueue(ctx, wait); err != nil {
				return err
			}
			entered = waits
		}
	}
}

// pending reads what waits for the indexes, about that many bytes together.
func (s *Store) pending(ctx context.Context, bound int) (batches []batch, err error) {
	err = s.snapshot(ctx, s.takeReader, func(r *Reader) error {
		for _, t := range tracks {
			if bound <= 0 {
				break
			}
			b, err := s.collect(r.conn, t, 0, bound)
			if err != nil {
				return err
			}
			if len(b.rows) > 0 {
				batches = append(batches, b)
			}
			bound -= b.size
		}
		return nil
	})
	return batches, err
}

func (s *Store) writeBatches(ctx context.Context, batches []batch, p pace) error {
	for i := range batches {
		batches[i].compose()
	}
	return s.onIndexer(ctx, p.wait, func(c *conn) error {
		for i := range batches {
			if err := batches[i].apply(c, p.yield); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	// mergePages is how many pages one step of a merge writes: it holds the writer for a few milliseconds. mergeSteps bounds the steps after a
	// batch, so that a large merge is spread over several.
	mergePages, mergeSteps = 64, 16
)

// merge makes fewer segments of the indexes, which the batches leave many of: a search looks into each.
func (s *Store) merge(ctx context.Context, yield func() bool) error {
	for _, t := range tracks {
		for range mergeSteps {
			if yield() {
				return nil
			}
			changed, err := s.mergeStep(ctx, t, mergePages)
			if err != nil {
				return err
			}
			if changed < 2 {
				break
			}
		}
	}
	return nil
}

// mergeStep writes about that many pages, and returns how much has changed: less than 2 is FTS5's way to say that there was nothing to do.
func (s *Store) mergeStep(ctx context.Context, t track, pages int) (changed int64, err error) {
	err = s.onIndexer(ctx, true, func(c *conn) error {
		before := c.TotalChanges()
		_, err := c.exec(`INSERT INTO `+t.fts+` (`+t.fts+`, rank) VALUES ('merge', ?)`, pages)
		changed = c.TotalChanges() - before
		return err
	})
	return changed, err
}

// onIndexer runs f in a transaction on the index's connection.
func (s *Store) onIndexer(ctx context.Context, wait bool, f func(*conn) error) error {
	if err := s.acquire(ctx, s.writer, wait); err != nil {
		return err
	}
	defer s.unlockWriter()
	if s.indexer == nil {
		c, err := s.dial(ctx)
		if err != nil {
			return err
		}
		// A batch that a power failure takes is written again: it needs no sync of its own.
		if err := c.Exec(`PRAGMA synchronous = NORMAL`); err != nil {
			return errors.Join(err, c.close())
		}
		s.watchLog(c)
		s.indexer = c
	}
	return s.transact(ctx, s.indexer, func() { s.indexer = nil }, f)
}
