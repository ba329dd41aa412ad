package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestVeryCommonTermsFindTheNewest asks for what is in more episodes than a search reads: the newest are found, in a project whose episodes
// are all older than another's too.
func TestVeryCommonTermsFindTheNewest(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	const episodes = 20_000
	for _, project := range []string{"old", "new"} {
		ensure(t, s, project, "s")
		write(t, s, func(tx *store.Tx) error {
			for i := range episodes {
				text := "common shared"
				if i%100 == 7 {
					text += " seldom"
				}
				if i == 3 || i == episodes-3 {
					text = "common common common common"
				}
				e := episode.Record{ID: fmt.Sprint(project, i), Project: project, Session: "s", Role: episode.User, Content: text}
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, project := range []string{"old", "new"} {
		find := func(terms ...string) (ids []string) {
			t.Helper()
			read(t, s, func(r *store.Reader) error {
				found, err := r.SearchEpisodes(store.SearchQuery{Project: project, Terms: terms, K: 5})
				for _, f := range found {
					ids = append(ids, f.ID)
				}
				return err
			})
			return ids
		}
		if got := find("common"); len(got) != 5 || got[0] != fmt.Sprint(project, episodes-3) {
			t.Errorf("SearchEpisodes(common) in %s = %v, want 5, the newest that says it often first", project, got)
		}
		if got := find("common", "shared"); len(got) != 5 || slices.Contains(got, fmt.Sprint(project, 3)) {
			t.Errorf("SearchEpisodes(common, shared) in %s = %v, want 5 of the newest", project, got)
		}
		var want []string
		for i := range 5 {
			want = append(want, fmt.Sprint(project, 7+100*i))
		}
		if diff := cmp.Diff(want, find("common", "seldom", "shared")); diff != "" {
			t.Errorf("SearchEpisodes() with a rare term in %s (-want +got):\n%s", project, diff)
		}
	}
}

// TestMergingChangesNoAnswer fills the index in many batches and merges it.
func TestMergingChangesNoAnswer(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	ensure(t, s, "p", "s")
	search := func(term string) (found []store.Scored) {
		t.Helper()
		read(t, s, func(r *store.Reader) (err error) {
			found, err = r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{term, "every"}, K: 30})
			return err
		})
		return found
	}
	for i := range 60 {
		write(t, s, func(tx *store.Tx) error {
			for j := range 6 {
				e := episode.Record{ID: fmt.Sprintf("ep_%d_%d", i, j), Project: "p", Session: "s", Role: episode.User, Content: fmt.Sprintf("every word%d word%d", i%7, j)}
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
			}
			return nil
		})
		search("nothing") // completes the index, one segment at a time
	}
	before := search("word3")
	segments := store.Segments(s)
	if err := store.Merge(s); err != nil {
		t.Fatalf("merge = %v", err)
	}
	if diff := cmp.Diff(before, search("word3")); diff != "" {
		t.Errorf("merging changes an answer (-before +after):\n%s", diff)
	}
	if after := store.Segments(s); after >= segments || after > 6 {
		t.Errorf("merging leaves %d segments of %d", after, segments)
	}
}
