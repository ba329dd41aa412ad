package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestWhatIsRememberedChangesNoAnswer asks a store that has been open all the time, one that was just opened, and a snapshot of before, while another handle adds
// episodes. Some words are rarer than what is read of every word, some are too common to be read, some are always said more than once.
func TestWhatIsRememberedChangesNoAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	writer := storetest.Open(t, store.WithoutIndexing(store.Config{Path: path}))
	old := storetest.Open(t, store.WithoutIndexing(store.Config{Path: path}))
	const seed = 5
	random := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(random, 1.1, 1, 400)
	written := 0
	grow := func(n int) {
		t.Helper()
		write(t, writer, func(tx *store.Tx) error {
			for range n {
				project, session := fmt.Sprint("p", random.IntN(2)), fmt.Sprint("s", random.IntN(3))
				if err := tx.EnsureProject(project, "/"+project); err != nil {
					return err
				}
				if err := tx.EnsureSession(project, session); err != nil {
					return err
				}
				words := []string{"common"}
				for range 2 + random.IntN(4) {
					word := fmt.Sprint("w", zipf.Uint64())
					words = append(words, slices.Repeat([]string{word}, 1+random.IntN(8)/6)...)
				}
				if random.IntN(4) == 0 {
					words = append(words, "twice", "twice")
				}
				written++
				e := episode.Record{ID: fmt.Sprint("ep_", written), Project: project, Session: session, Role: episode.User, Content: strings.Join(words, " ")}
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	queries := func() (list []store.SearchQuery) {
		for range 12 {
			q := store.SearchQuery{Project: fmt.Sprint("p", random.IntN(2)), Terms: []string{"common", "twice", "none"}, K: 1 + random.IntN(40)}
			for range 1 + random.IntN(5) {
				q.Terms = append(q.Terms, fmt.Sprint("w", random.IntN(400)/(1+random.IntN(40))))
			}
			q.Terms = q.Terms[random.IntN(4):]
			if random.IntN(4) == 0 {
				q.Session = fmt.Sprint("s", random.IntN(3))
			}
			list = append(list, q)
		}
		return list
	}
	ask := func(r *store.Reader, list []store.SearchQuery) (answers [][]store.Scored) {
		t.Helper()
		for _, q := range list {
			found, err := r.SearchEpisodes(q)
			if err != nil {
				t.Fatalf("SearchEpisodes(%+v) = %v", q, err)
			}
			answers = append(answers, found)
		}
		return answers
	}
	compare := func(what string, want, got [][]store.Scored) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, %d episodes, %s (-want +got):\n%s", seed, written, what, diff)
		}
	}
	grow(4000)
	for range 6 {
		list := queries()
		read(t, old, func(r *store.Reader) error {
			before := ask(r, list)
			grow(1 + random.IntN(300)*random.IntN(8))
			var after [][]store.Scored
			read(t, old, func(r *store.Reader) error {
				after = ask(r, list)
				return nil
			})
			compare("the snapshot of before says something else now", before, ask(r, list))
			fresh, err := store.Open(t.Context(), store.Config{Path: path, ReadOnly: true})
			if err != nil {
				return err
			}
			read(t, fresh, func(r *store.Reader) error {
				compare("a store that was just opened says something else", ask(r, list), after)
				return nil
			})
			return fresh.Close()
		})
	}
}
