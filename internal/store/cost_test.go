package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

// prose returns n bytes of words that compress like text.
func prose(r *rand.Rand, n int) string {
	zipf := rand.NewZipf(r, 1.1, 3, 20_000)
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "word%x ", zipf.Uint64()*2654435761%(1<<24))
	}
	return b.String()[:n]
}

// TestAppendCostDoesNotGrowWithHistory counts the pages that one append writes to the log, after few episodes and after many.
func TestAppendCostDoesNotGrowWithHistory(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	ensure(t, s, "p", "s")
	random := rand.New(rand.NewPCG(1, 2))
	n := 0
	fill := func(count int) {
		write(t, s, func(tx *store.Tx) error {
			for range count {
				n++
				e := episode.Record{ID: fmt.Sprintf("ep_%016x", random.Uint64()), Project: "p", Session: "s", Role: episode.User, Content: prose(random, 2000)}
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	log := 0
	store.WatchPages(s, func(pages int) { log = pages }) // nothing else checkpoints now: the log only grows
	cost := func() float64 {
		const appends = 40
		before := log
		for range appends {
			fill(1)
		}
		return float64(log-before) / appends
	}
	fill(200)
	few := cost()
	fill(2000)
	many := cost()
	t.Logf("%.1f pages an append after 200 episodes, %.1f after 2,000", few, many)
	if many > few+2 {
		t.Errorf("an append writes %.1f pages after 2,000 episodes, %.1f after 200", many, few)
	}
}

// TestFactsCostFewPages counts the pages that a result with facts writes to the log, among many facts: its facts are one row until somebody asks for them. Those that
// are entered at once lie side by side in every index; each would otherwise touch two pages of its own, which makes more than 100.
func TestFactsCostFewPages(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	ensure(t, s, "p", "s")
	random := rand.New(rand.NewPCG(1, 2))
	commit := func(facts int, recorded bool) {
		write(t, s, func(tx *store.Tx) error {
			e := episode.Record{ID: fmt.Sprintf("ep_%016x", random.Uint64()), Project: "p", Session: "s", Role: episode.Tool, Content: prose(random, 2000)}
			if err := tx.AppendEpisode(&e); err != nil {
				return err
			}
			call := random.Uint32()
			list := make([]symbolic.Row, facts)
			for i := range list {
				row := fact("p", fmt.Sprintf("read#%08x/field%d", call, i), "value", strings.Repeat("h", 64), e.ID)
				row.FactID = symbolic.FactID("p", row.QualifiedName, row.Kind, row.FilePath)
				list[i] = row
			}
			if recorded {
				return tx.RecordFacts(&e, list)
			}
			return tx.PutFacts("p", list, time.Time{})
		})
	}
	for range 300 {
		commit(20, false)
	}
	written, log := 0, 0
	store.WatchPages(s, func(pages int) {
		if pages <= log {
			log = 0 // the log was copied into the file and begins anew
		}
		written, log = written+pages-log, pages
	})
	commit(0, false)
	for _, c := range []struct {
		facts    int
		recorded bool
		pages    int
	}{{0, false, 10}, {1, false, 16}, {20, false, 36}, {1, true, 11}, {20, true, 13}} {
		const commits = 20
		before := written
		for range commits {
			commit(c.facts, c.recorded)
		}
		got := float64(written-before) / commits
		t.Logf("%.1f pages a result with %d facts, left for the ledger: %v", got, c.facts, c.recorded)
		if got > float64(c.pages) {
			t.Errorf("a result with %d facts, left for the ledger: %v, writes %.1f pages, want at most %d", c.facts, c.recorded, got, c.pages)
		}
	}
}

// TestTheFileIsNotMuchLargerThanItsContent holds the size goals: 1.3 times the content without the index, 1.6 times with it.
func TestTheFileIsNotMuchLargerThanItsContent(t *testing.T) {
	t.Parallel()
	// How many free pages the index's merges leave depends on where its batches end: without the background the test is the same each time.
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	ensure(t, s, "p", "s")
	random := rand.New(rand.NewPCG(3, 4))
	content := 0
	for range 40 {
		write(t, s, func(tx *store.Tx) error {
			for range 50 {
				e := episode.Record{ID: fmt.Sprintf("ep_%016x", random.Uint64()), Project: "p", Session: "s", Role: episode.Tool, Content: prose(random, 500+random.IntN(5000))}
				content += len(e.Content)
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	read(t, s, func(r *store.Reader) error { // completes the index
		_, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"word1"}, K: 1})
		return err
	})
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	size := func() float64 {
		t.Helper()
		fi, err := os.Stat(copied)
		if err != nil {
			t.Fatal(err)
		}
		return float64(fi.Size()) / float64(content)
	}
	with := size()
	if err := storetest.Raw(t, copied).Exec(`
DROP TABLE episode_postings;
DROP TABLE episode_fts;
DROP TABLE episode_doc;
VACUUM;
PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	without := size()
	t.Logf("%.2f times the content without the index, %.2f with it", without, with)
	if with > 1.6 || without > 1.3 {
		t.Errorf("the file is %.2f times its content, %.2f without the index; want at most 1.6 and 1.3", with, without)
	}
}
