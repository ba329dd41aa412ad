package store

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
	"sakur4/internal/episode"
)

var backgroundContext = context.Background()

// WithoutFTS leaves the full-text extension out.
func WithoutFTS(cfg Config) Config {
	cfg.register = func(*sqlite3.Conn) error { return nil }
	return cfg
}

// Migrations returns the scripts.
func Migrations() ([]string, error) { return migrations() }

// ApplicationID is the mark of our files.
const ApplicationID = applicationID

// FirstVersion is the schema version of the founding tables.
const FirstVersion = firstVersion

// WatchPages calls f with the length of the log in pages after each commit of the writer.
func WatchPages(s *Store, f func(pages int)) {
	s.wconn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		f(pages)
		return nil
	})
}

// Unindexed reports whether rows wait for the index.
func Unindexed(s *Store) bool {
	c, err := s.takeReader(backgroundContext)
	if err != nil {
		panic(err)
	}
	defer s.putReader(c)
	for _, t := range tracks {
		b, err := s.collect(c, t, 0, indexBatchBytes)
		if err != nil {
			panic(err)
		}
		if len(b.rows) > 0 {
			return true
		}
	}
	return false
}

// WithoutIndexing leaves the full-text index to the searches.
func WithoutIndexing(cfg Config) Config {
	cfg.lazy = true
	return cfg
}

// FillDisk makes every connection that writes find the disk full, as far as SQLite can tell.
func FillDisk(s *Store) error {
	if s.indexer == nil {
		c, err := s.dial(backgroundContext)
		if err != nil {
			return err
		}
		s.indexer = c
	}
	for _, c := range [...]*conn{s.wconn, s.indexer} {
		if err := c.Exec(`PRAGMA max_page_count = 1`); err != nil {
			return err
		}
	}
	return nil
}

// Still makes a store that is open for reading behave as one that can take no lock.
func Still(s *Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.readers {
		_ = c.close()
	}
	s.readers, s.still, s.uri = nil, true, s.uri+"&immutable=1"
}

// EpisodeSeal returns the seal of an episode without calls whose times are 1970.
func EpisodeSeal(e episode.Record) int64 { return seal(episodeSeal(&e, 0, 0, "")...) }

// Merge makes fewer segments of the index, as the maintenance goroutine does.
func Merge(s *Store) error { return s.merge(backgroundContext, func() bool { return false }) }

// Segments returns the number of segments of the index of episodes.
func Segments(s *Store) int64 {
	c, err := s.takeReader(backgroundContext)
	if err != nil {
		panic(err)
	}
	defer s.putReader(c)
	n, _, err := c.number(`SELECT count(DISTINCT segid) FROM episode_fts_idx`)
	if err != nil {
		panic(err)
	}
	return n
}

// Steps returns how many instructions SQLite has run for the statements of a reader's connection: what a search costs, without a clock.
func Steps(r *Reader) (n int) {
	for s := range r.conn.Stmts() {
		n += s.Status(sqlite3.STMTSTATUS_VM_STEP, false)
	}
	return n
}

// SetTier takes one step.
func (tx *Tx) SetTier(project, session, id string, from, to evict.Tier, windowID, reason string, tokens int) error {
	seq, err := tx.seqOf("set tier", project, id)
	if err != nil {
		return err
	}
	return tx.TakeSteps(project, session, windowID, []StepRow{{id, seq, from, to, tokens, reason}})
}

// Statements returns how many statements the writer has begun.
func Statements(s *Store) int { return s.wconn.runs }

// LogRows returns how many steps are written down in the sealed windows.
func LogRows(r *Reader) int {
	n, _, err := r.conn.number(`SELECT coalesce(sum(steps), 0) FROM eviction_seal`)
	if err != nil {
		panic(err)
	}
	return int(n)
}

// Seqs returns the positions of the episodes with those ids, of whatever project.
func Seqs(r *Reader, ids ...string) (seqs []int64, err error) {
	for _, id := range ids {
		err = errors.Join(err, r.each("seq", `SELECT seq FROM episodic_stream WHERE episode_id = ?`, []any{id}, func(s *sqlite3.Stmt) error {
			seqs = append(seqs, s.ColumnInt64(0))
			return nil
		}))
	}
	return seqs, err
}

// InDegree returns the in-degrees of [Reader.Marks] for episodes of the session "s".
func (r *Reader) InDegree(project string, ids []string) (map[string]int, error) {
	seqs, err := Seqs(r, ids...)
	if err != nil || len(seqs) != len(ids) {
		return nil, err
	}
	marks, err := r.Marks(project, "s", ids, seqs)
	degrees := map[string]int{}
	for i, id := range ids {
		degrees[id] = marks[seqs[i]].InDegree
	}
	return degrees, err
}

// HoldWriter keeps the writer, as a write that takes long does.
func HoldWriter(s *Store) (release func()) {
	s.writer <- struct{}{}
	return func() { <-s.writer }
}

// Waiting returns how many results' facts wait for the ledger.
func Waiting(s *Store) int {
	c, err := s.takeReader(backgroundContext)
	if err != nil {
		panic(err)
	}
	defer s.putReader(c)
	n, _, err := c.number(`SELECT count(*) FROM fact_queue`)
	if err != nil {
		panic(err)
	}
	return int(n)
}

// EncodeFacts and DecodeFacts are the two ways of a batch.
var (
	EncodeFacts = encodeFacts
	DecodeFacts = decodeFacts
)

// ErrBatch says that a batch is none.
var ErrBatch = errBatch

// Overlaid rewrites a statement for a reader that has facts laid over the ledger.
func Overlaid(sql string) string {
	sql, _ = overlaid(sql)
	return sql
}

// DecisionSeal is the seal that a decision had when it was a row of its own.
func DecisionSeal(project, session string, d DecisionRow) int64 {
	return seal(project, session, int64(d.Ord), d.Kind, d.Episode, d.Form, d.Body)
}

// StateSeal is the seal of a state.
func StateSeal(project, session string, state RenderState) int64 {
	return seal(state.seal(project, session)...)
}
