package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// checkpointPages is the length of the log, in pages, at which it is copied into the file: 4 MB, as is SQLite's own default.
const checkpointPages = 4096

// shrinkPages bounds how many pages one Close gives back.
const shrinkPages = 8192

// quiet is how long no write must have come before the maintenance goroutine does what is due: whoever writes without a pause competes with it for the disk,
// the processor and SQLite's lock. overduePages is how much further the log grows before it is copied all the same.
const (
	quiet        = 20 * time.Millisecond
	overduePages = 3 * checkpointPages
)

// watchLog reports the log's length after each commit on c, in place of SQLite's checkpoint inside the commit.
func (s *Store) watchLog(c *conn) {
	if s.memory != nil {
		return
	}
	s.checkpointAt.CompareAndSwap(0, checkpointPages)
	c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		before, due := s.logPages.Swap(int64(pages)), s.checkpointAt.Load()
		s.passed(before, int64(pages), due, due+overduePages)
		return nil
	})
}

// passed wakes the maintenance goroutine where an amount has passed one of two marks. In between it looks by itself.
func (s *Store) passed(before, now, due, overdue int64) {
	if before < due && now >= due || before < overdue && now >= overdue {
		s.wakeUp()
	}
}

func (s *Store) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// contended reports whether a write waits, or came a moment ago.
func (s *Store) contended() bool {
	return s.writing.Load() || s.queue.waiting() || time.Since(s.opened)-time.Duration(s.wrote.Load()) < quiet
}

// chore reports whether something of which an amount waits is to be done now, and whether it is due at all.
func chore(amount, due, overdue int64, contended bool) (now, later bool) {
	return amount >= due && (amount >= overdue || !contended), amount >= due
}

// maintain runs until ctx ends, which Close sees to: it copies the log into the file beside the commits, enters facts in the ledger, and fills the full-text index.
func (s *Store) maintain(ctx context.Context) {
	defer close(s.stopped)
	var checkpointer *conn
	defer func() {
		if checkpointer != nil {
			s.maintenance = errors.Join(s.maintenance, checkpointer.close())
		}
	}()
	again := time.NewTimer(quiet)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-again.C:
		}
		contended := s.contended()
		due := s.checkpointAt.Load()
		now, later := chore(s.logPages.Load(), due, due+overduePages, contended)
		if s.memory != nil || due == 0 { // nothing watches the log: there is none, or nothing is written here
			now, later = false, false
		}
		if now {
			if checkpointer == nil {
				c, err := s.dial(ctx)
				if err != nil {
					s.note(ctx, err)
					again.Reset(quiet)
					continue
				}
				checkpointer = c
			}
			s.note(ctx, s.checkpoint(ctx, checkpointer, contended))
			later = false
		}
		if s.waiting.Load() && !s.cfg.lazy {
			if contended {
				later = true
			} else {
				s.note(ctx, s.enterQueue(ctx, 0))
			}
		}
		if s.cfg.lazy {
			// Nothing to index.
		} else if now, due := chore(s.unindexed.Load(), indexBatchBytes, backlogBytes, contended); now {
			s.note(ctx, s.index(ctx, contended))
			later = later || s.unindexed.Load() >= indexBatchBytes
		} else {
			later = later || due
		}
		if later {
			again.Reset(quiet)
		}
	}
}

// index brings the full-text indexes up to date. Where there is no quiet it does not leave off: its batches are few, and bounded.
func (s *Store) index(ctx context.Context, contended bool) error {
	if contended {
		return s.drain(ctx, pace{wait: true, bytes: sliceBytes})
	}
	if err := s.drain(ctx, pace{wait: true, bytes: indexBatchBytes, yield: s.contended}); err != nil {
		return err
	}
	return s.merge(ctx, s.contended)
}

// note remembers the first error of the goroutine for Close. Being stopped, finding the file locked or the disk
// full is none: the work is done later.
func (s *Store) note(ctx context.Context, err error) {
	if err == nil || s.maintenance != nil || ctx.Err() != nil || errors.Is(err, ErrLocked) || errors.Is(err, sqlite3.BUSY) ||
		errors.Is(translate(ctx, err), ErrFull) {
		return
	}
	s.maintenance = err
}

// checkpoint copies what readers allow. The writer begins the log anew at the commit after everything was copied; while a reader is in the way, the next try
// comes when the log has grown by as much again. Where writes come without a pause the log grows while it is copied, and the writer would never find all of it
// copied: there it is held for the rest, which is short.
func (s *Store) checkpoint(ctx context.Context, c *conn, contended bool) error {
	if s.log.doubtful() {
		return nil // of what is not known to be in the log, nothing may be in the file
	}
	c.SetInterrupt(ctx)
	defer c.SetInterrupt(context.Background())
	pages, copied, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	if err == nil && contended {
		if err = s.lockWriter(ctx); err == nil {
			pages, copied, err = c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
			s.unlockWriter()
		}
	}
	if err != nil {
		return err
	}
	next := int64(checkpointPages)
	if copied < pages {
		next += int64(pages)
	}
	s.checkpointAt.Store(next)
	s.logPages.Store(0)
	return nil
}

// enterLast leaves no facts waiting in a store that is closed, if nobody is in the way: who opens it for reading may not enter them. That they are damaged is told
// once, also where the maintenance goroutine has met it before.
func (s *Store) enterLast() error {
	if s.cfg.ReadOnly || s.memory != nil || !s.waiting.Load() {
		return nil
	}
	err := s.enterQueue(context.Background(), entryWait)
	if errors.Is(err, errContended) || errors.Is(err, ErrLocked) || errors.Is(err, ErrCorrupt) && errors.Is(s.maintenance, ErrCorrupt) {
		return nil
	}
	return err
}

// tidySteps bounds the steps of merging when a store is closed, for each index: 8 MB, a fraction of a second.
const tidySteps = 128

// tidy makes one segment of each index that was written to, as far as it comes, and gives back the pages in which nothing is left. A term stands in each segment
// anew, so that an index in few segments is smaller and is read faster; a store that is closed may not grow into the free pages again. Another process that is
// writing is not waited for.
func (s *Store) tidy() error {
	if s.memory != nil || s.wconn == nil || s.indexer == nil {
		return nil
	}
	err := errors.Join(s.indexer.BusyTimeout(0), s.wconn.BusyTimeout(0))
	for _, t := range tracks {
		// Below 0 it takes segments of all ages together, which it goes on with afterwards.
		for step, pages := 0, -mergePages; err == nil && step < tidySteps; step, pages = step+1, mergePages {
			var changed int64
			if changed, err = s.mergeStep(context.Background(), t, pages); changed < 2 {
				break
			}
		}
	}
	if err == nil {
		err = s.wconn.Exec(fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, shrinkPages))
	}
	if errors.Is(err, ErrLocked) || errors.Is(err, sqlite3.BUSY) {
		return nil
	}
	return err
}

// truncateLog empties the log at the end, if no other process is in the way.
func (s *Store) truncateLog() error {
	if s.memory != nil || s.wconn == nil || s.log.doubtful() {
		return nil
	}
	if err := s.wconn.BusyTimeout(0); err != nil {
		return err
	}
	_, _, err := s.wconn.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	if errors.Is(err, sqlite3.BUSY) {
		return nil
	}
	return err
}
