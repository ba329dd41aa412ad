package store_test

import (
	"fmt"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestPitfall30SearchesThatGrowWithTheStore counts what a question costs in a store and in one of twice its size: as much for words that are rare, and not
// twice as much for words that half of all episodes hold. At this size the search has begun to leave out what tells nothing.
func TestPitfall30SearchesThatGrowWithTheStore(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.WithoutIndexing(store.Config{Path: store.Memory}))
	ensure(t, s, "p", "s")
	total := 0
	fill := func(count int) {
		for range count / 2000 {
			write(t, s, func(tx *store.Tx) error {
				for range 2000 {
					// Half of the episodes hold each of the common words, each in a half of its own, and a word of their own.
					text := fmt.Sprintf("n%d ", total)
					for bit := range 6 {
						if total>>bit&1 == 1 {
							text += fmt.Sprintf("common%d ", bit)
						}
					}
					total++
					if err := tx.AppendEpisode(&episode.Record{ID: fmt.Sprintf("ep_%d", total), Project: "p", Session: "s", Role: episode.User, Content: text}); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	cost := func(terms ...string) (steps int) {
		t.Helper()
		for range 2 { // the first completes the index, and reads of the session what the next one knows
			read(t, s, func(r *store.Reader) error {
				before := store.Steps(r)
				found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: terms, K: 20})
				if steps = store.Steps(r) - before; len(found) == 0 {
					t.Errorf("SearchEpisodes(%q) among %d found nothing", terms, total)
				}
				return err
			})
		}
		return steps
	}
	common := []string{"common0", "common1", "common2", "common3", "common4", "common5"}
	fill(18_000)
	if err := store.Merge(s); err != nil {
		t.Fatal(err)
	}
	one, many := cost("n5"), cost(common...)
	fill(18_000)
	if err := store.Merge(s); err != nil {
		t.Fatal(err)
	}
	one2, many2 := cost("n5"), cost(common...)
	t.Logf("SQLite's steps at %d and %d episodes: %d and %d for a rare word, %d and %d for common ones", total/2, total, one, one2, many, many2)
	if one2 > one+200 || many2 > many+many/4 {
		t.Errorf("twice the episodes: %d steps for a rare word, %d for common ones; were %d and %d", one2, many2, one, many)
	}
}
