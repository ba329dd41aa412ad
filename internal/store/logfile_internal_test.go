package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/symbolic"
)

// countedFile counts the writes to a file.
type countedFile struct {
	vfs.File
	writes, bytes int
}

func (f *countedFile) WriteAt(p []byte, off int64) (int, error) {
	f.writes++
	f.bytes += len(p)
	return f.File.WriteAt(p, off)
}

// commitOne writes what a tool result with that many facts is made of.
func commitOne(t *testing.T, s *Store, id string, facts int) {
	t.Helper()
	commitBytes(t, s, id, facts, 2040)
}

func commitBytes(t *testing.T, s *Store, id string, facts, bytes int) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *Tx) error {
		if _, err := tx.LastSeq("p", "s"); err != nil {
			return err
		}
		e := &episode.Record{ID: id, Project: "p", Session: "s", Role: episode.Tool, Content: strings.Repeat("a line of output\n", bytes/17+1)[:bytes]}
		if err := tx.AppendEpisode(e); err != nil {
			return err
		}
		list := make([]symbolic.Row, facts)
		for i := range list {
			name := fmt.Sprintf("tool#%s/%d", id, i)
			list[i] = symbolic.Row{FactID: symbolic.FactID("p", name, "json_field", ""), Project: "p", QualifiedName: name, Kind: "json_field", Source: "json",
				Value: "value", ASTHash: digest.Of("value").String(), Episode: id}
		}
		return tx.RecordFacts(e, list)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func openPlain(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: path, lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	err = s.Write(t.Context(), func(tx *Tx) error { return errors.Join(tx.EnsureProject("p", ""), tx.EnsureSession("p", "s")) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestACommitCostsFewCalls counts what the hot path is made of: the statements of a commit, its calls to write the log, and their bytes.
func TestACommitCostsFewCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ facts, statements, bytes int }{{0, 3, 9 << 10}, {1, 4, 10 << 10}, {20, 4, 12 << 10}} {
		s := openPlain(t, filepath.Join(t.TempDir(), "store.db"))
		commitOne(t, s, "first", test.facts)
		file := &countedFile{File: s.log.log.File}
		s.log.log.File = file
		before := s.wconn.runs
		const commits = 20
		for i := range commits {
			commitOne(t, s, fmt.Sprint("ep_", i), test.facts)
		}
		statements := (s.wconn.runs - before) / commits
		t.Logf("%d facts: %d statements, %d bytes a commit", test.facts, statements, file.bytes/commits)
		if file.writes != commits || file.bytes/commits > test.bytes || statements > test.statements {
			t.Errorf("%d commits with %d facts: %d writes to the log, %d bytes and %d statements each; want one, at most %d and %d",
				commits, test.facts, file.writes, file.bytes/commits, statements, test.bytes, test.statements)
		}
	}
}

// TestRolledBackPagesAreNotWritten fills the writer's cache, so that pages go to the log before the commit, and rolls back; what another connection writes then takes
// their place in the log and must stay.
func TestRolledBackPagesAreNotWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	a, b := openPlain(t, path), openPlain(t, path)
	if err := a.wconn.Exec(`PRAGMA cache_size = 10`); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		refused := errors.New("no")
		file := &countedFile{File: a.log.log.File}
		a.log.log.File = file
		err := a.Write(t.Context(), func(tx *Tx) error {
			for i := range 50 {
				e := &episode.Record{ID: fmt.Sprint("lost_", i), Project: "p", Session: "s", Role: episode.User, Content: strings.Repeat("lost ", 1000)}
				if err := tx.AppendEpisode(e); err != nil {
					return err
				}
			}
			// Pages that SQLite does not look at again before it rolls back.
			if _, err := a.log.log.WriteAt([]byte("left"), 1<<30); err != nil {
				return err
			}
			return refused
		})
		if n := len(a.log.log.held); !errors.Is(err, refused) || file.writes == 0 || n > 0 {
			t.Fatalf("Write() = %v with %d writes to the log, and %d bytes held behind it; want %v, some and none", err, file.writes, n, refused)
		}
		if n, err := file.Size(); err != nil || n >= 1<<30 {
			t.Fatalf("the log has %d bytes, %v: what is rolled back was written", n, err)
		}
		for i := range 10 {
			commitOne(t, b, fmt.Sprintf("b_%d_%d", round, i), 1)
		}
		commitOne(t, a, fmt.Sprint("a_", round), 1)
		for name, s := range map[string]*Store{"a": a, "b": b} {
			report, err := s.Verify(t.Context())
			if err != nil || len(report.Problems) > 0 || report.Count.Episodes != 11*(round+1) {
				t.Fatalf("round %d, %s: Verify() = %d episodes, %v, %v; want %d", round, name, report.Count.Episodes, report.Problems, err, 11*(round+1))
			}
		}
	}
}

func TestChore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount     int64
		contended  bool
		now, later bool
	}{
		{9, false, false, false}, {9, true, false, false},
		{10, false, true, true}, {10, true, false, true},
		{99, true, false, true}, {100, true, true, true},
	} {
		if now, later := chore(test.amount, 10, 100, test.contended); now != test.now || later != test.later {
			t.Errorf("chore(%d, 10, 100, %t) = %t, %t, want %t, %t", test.amount, test.contended, now, later, test.now, test.later)
		}
	}
}

// TestAnIndexThatYieldsGoesOnWhereItLeftOff writes a batch row by row, with another in between each time.
func TestAnIndexThatYieldsGoesOnWhereItLeftOff(t *testing.T) {
	t.Parallel()
	s := openPlain(t, filepath.Join(t.TempDir(), "store.db"))
	const rows = 9
	for i := range rows {
		commitOne(t, s, fmt.Sprint("ep_", i), 0)
	}
	for range rows {
		left := 2 // one look before the batch is read, and one before its first row
		if err := s.drain(t.Context(), pace{wait: true, bytes: indexBatchBytes, yield: func() bool { left--; return left < 0 }}); err != nil {
			t.Fatal(err)
		}
	}
	n, _, err := s.indexer.number(`SELECT count(*) FROM episode_doc`)
	if err != nil || n != rows {
		t.Errorf("%d documents after %d batches of one row, %v", n, rows, err)
	}
	if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("Verify() = %v, %v", report.Problems, err)
	}
}

// TestTheQueueIsEnteredInParts: a transaction enters so many results and facts that others that write have their turn soon, and few large results are in memory at once.
func TestTheQueueIsEnteredInParts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ results, facts, bytes, first int }{
		{entryRows + 6, 1, 10, entryRows},
		{9, entryFacts / 4, 10, 4},
		{3, 1, entryBytes + 1, 1},
		{5, 1, 10, 5},
	} {
		s := openPlain(t, filepath.Join(t.TempDir(), "store.db"))
		for i := range test.results {
			commitBytes(t, s, fmt.Sprint("ep_", i), test.facts, test.bytes)
		}
		target, entered, err := s.enterPart(t.Context(), 0, 0)
		if err != nil || target != int64(test.results) || entered != int64(test.first) {
			t.Errorf("%+v: enterPart() = %d, %d, %v, want %d and %d", test, target, entered, err, test.results, test.first)
		}
		if waiting := s.waiting.Load(); waiting != (entered < target) {
			t.Errorf("%+v: that facts wait is %t", test, waiting)
		}
		if err := s.enterQueue(t.Context(), 0); err != nil {
			t.Error(err)
		}
		for _, sql := range []string{`SELECT count(*) FROM symbolic_fact`, `SELECT count(*) + ` + fmt.Sprint(test.results*test.facts) + ` FROM fact_queue`} {
			if n, _, err := s.wconn.number(sql); err != nil || n != int64(test.results*test.facts) {
				t.Errorf("%+v: %s = %d, %v, want %d", test, sql, n, err, test.results*test.facts)
			}
		}
	}
}

// TestTheQueueStaysShortBesideTheIndex: results come for as long as the indexes are brought up to date, and their facts do not pile up.
func TestTheQueueStaysShortBesideTheIndex(t *testing.T) {
	t.Parallel()
	s := openPlain(t, filepath.Join(t.TempDir(), "store.db"))
	for i := range 20 {
		commitOne(t, s, fmt.Sprint("ep_", i), 1)
	}
	const large = backlogBytes / 3
	most, more := int64(0), 20
	err := s.drain(t.Context(), pace{wait: true, bytes: 1, yield: func() bool {
		if len(s.writer) > 0 {
			return false // a look before a row of a batch
		}
		if more--; more >= 0 {
			commitBytes(t, s, fmt.Sprint("ep_more_", more), 1, large)
		}
		n, _, err := s.wconn.number(`SELECT count(*) FROM fact_queue`)
		if err != nil {
			t.Error(err)
		}
		most = max(most, n)
		return false
	}})
	if err != nil || more > 0 {
		t.Fatalf("drain() = %v, %d results are left to come", err, more)
	}
	if most > 5 {
		t.Errorf("the facts of %d results waited", most)
	}
}
