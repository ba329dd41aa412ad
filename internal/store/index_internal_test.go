package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/digest"
	"sakur4/symbolic"
)

// TestFactsThatLeaveWhileTheyAreIndexed reads a batch for the index, takes its facts out of the ledger and puts others there before the batch is written.
func TestFactsThatLeaveWhileTheyAreIndexed(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "store.db"), lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file := func(path, name string) FileIndex {
		row := symbolic.Row{FactID: symbolic.FactID("p", name, "function", path), Project: "p", QualifiedName: name, Kind: "function", FilePath: path, Source: "code:go",
			Value: "func " + name, ASTHash: digest.Of(name).String(), Line: 1}
		return FileIndex{File: FileRow{Path: path, Language: "go"}, Symbols: []SymbolRow{{Fact: row, Key: name, Parent: -1}}}
	}
	write := func(f func(tx *Tx) error) {
		t.Helper()
		if err := s.Write(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *Tx) error { return tx.EnsureProject("p", "") })
	write(func(tx *Tx) error { return tx.PutFile("p", file("a.go", "leaves"), time.Time{}) })
	write(func(tx *Tx) error { return tx.PutFile("p", file("c.go", "follows"), time.Time{}) })
	var b batch
	err = s.Read(t.Context(), func(r *Reader) (err error) {
		b, err = s.collect(r.conn, factTrack, 0, indexBatchBytes)
		return err
	})
	if err != nil || len(b.rows) != 2 {
		t.Fatalf("collect() = %+v, %v, want two rows", b, err)
	}
	write(func(tx *Tx) error { return tx.RemoveFile("p", "a.go", time.Time{}) })
	write(func(tx *Tx) error { return tx.RemoveFile("p", "c.go", time.Time{}) })
	write(func(tx *Tx) error { return tx.PutFile("p", file("b.go", "comes"), time.Time{}) })
	if err := s.writeBatches(t.Context(), []batch{b}, pace{wait: true}); err != nil {
		t.Fatal(err)
	}
	err = s.Read(t.Context(), func(r *Reader) error {
		for term, want := range map[string]int{"leaves": 0, "follows": 0, "comes": 1} {
			found, err := r.SearchFacts(SearchQuery{Project: "p", Terms: []string{term}, K: 9})
			if err != nil || len(found) != want {
				t.Errorf("SearchFacts(%s) = %v, %v, want %d", term, found, err, want)
			}
		}
		if n, _, err := r.conn.number(`SELECT count(*) FROM fact_doc`); err != nil || n != 1 {
			t.Errorf("the index has %d documents, %v, want 1", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("Verify() = %v, %v", report.Problems, err)
	}
}

// TestBatchesOfTheIndexAreBounded counts how often the writer is taken to index what waits, of episodes and facts together, and how much is taken in each time.
func TestBatchesOfTheIndexAreBounded(t *testing.T) {
	t.Parallel()
	s := openPlain(t, filepath.Join(t.TempDir(), "store.db"))
	const results, facts = 20, 10
	commit := func(from int) {
		for i := range results {
			commitOne(t, s, fmt.Sprint("ep_", from+i), facts)
		}
	}
	commit(0)
	batches := 0
	drain := func(bound int) {
		t.Helper()
		if err := s.drain(t.Context(), pace{wait: true, bytes: bound}); err != nil {
			t.Fatal(err)
		}
	}
	drain(backlogBytes)
	s.indexer.WALHook(func(*sqlite3.Conn, string, int) error {
		batches++
		return nil
	})
	commit(results)
	const waiting = results * (facts*rowBytes + 2040)
	drain(backlogBytes)
	if batches != 1 {
		t.Errorf("the writer was taken %d times for %d bytes of episodes and facts, want once", batches, waiting)
	}
	commit(2 * results)
	batches = 0
	drain(waiting / 4)
	if batches < 4 || batches > 6 {
		t.Errorf("the writer was taken %d times for %d bytes in batches of a quarter, want 4 to 6 times", batches, waiting)
	}
	s.watchLog(s.indexer)
	if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("Verify() = %v, %v", report.Problems, err)
	}
}
