package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
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
