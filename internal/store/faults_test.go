package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestAFailedQueryIsAnErrorNeverZero takes the tables away under a store and asks everything.
func TestAFailedQueryIsAnErrorNeverZero(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	occupy(t, s, "p", 3)
	raw := storetest.Raw(t, path)
	for _, table := range []string{"episodic_stream", "session", "anchor_set", "note", "render_state", "render_decision", "receipt", "eviction", "checkpoint",
		"symbolic_fact", "symbolic_fact_version", "dependency_graph_edge", "folds", "semantic_atlas", "project", "fts_watermark", "meta"} {
		if err := raw.Exec(`PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; ALTER TABLE ` + table + ` RENAME TO gone_` + table); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Read(t.Context(), func(r *store.Reader) error {
		answers, _ := everything(r, "p", "p")
		calls := 0
		for name, call := range map[string]func() error{
			"Counts":       func() error { _, err := r.Counts("p"); return err },
			"Sessions":     func() error { _, err := r.Sessions("p"); return err },
			"LastSeq":      func() error { _, err := r.LastSeq("p", "s"); return err },
			"Pins":         func() error { _, err := r.Pins("p", true); return err },
			"Notes":        func() error { _, err := r.Notes("p", "s", false); return err },
			"Episode":      func() error { _, err := r.Episode("p", "p_ep_1"); return err },
			"Episodes":     func() error { _, err := drain(r.Episodes(store.EpisodeFilter{Project: "p"})); return err },
			"RenderState":  func() error { _, err := r.RenderState("p", "s"); return err },
			"Decisions":    func() error { _, err := r.Decisions("p", "s"); return err },
			"Outlook":      func() error { _, err := r.Outlook("p", "s", "x"); return err },
			"LastReceipt":  func() error { _, err := r.LastReceipt("p", "s"); return err },
			"Receipts":     func() error { _, err := drain(r.Receipts("p", "s")); return err },
			"Evictions":    func() error { _, err := drain(r.Evictions("p", "s")); return err },
			"Checkpoints":  func() error { _, err := r.Checkpoints("p", "s"); return err },
			"Fact":         func() error { _, err := r.Fact("p", "x"); return err },
			"Facts":        func() error { _, err := drain(r.Facts(store.FactFilter{Project: "p"})); return err },
			"FactVersions": func() error { _, err := r.FactVersions("p", "x"); return err },
			"Edges":        func() error { _, err := r.Edges("p", "", "", ""); return err },
			"InDegree":     func() error { _, err := r.InDegree("p", []string{"x"}); return err },
			"Marks":        func() error { _, err := r.Marks("p", "s", []string{"x"}, []int64{1}); return err },
			"Fold":         func() error { _, err := r.Fold("p", "x"); return err },
			"Folds":        func() error { _, err := r.Folds("p", "s"); return err },
			"Entry":        func() error { _, err := r.Entry("p", "x"); return err },
			"Entries":      func() error { _, err := drain(r.Entries(store.EntryFilter{Project: "p"})); return err },
			"Freshness":    func() error { _, err := drain(r.Freshness("p", 0)); return err },
			"Projects":     func() error { _, err := r.Projects(); return err },
			"SearchEpisodes": func() error {
				_, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"a"}, K: 1})
				return err
			},
			"SearchFacts": func() error {
				_, err := r.SearchFacts(store.SearchQuery{Project: "p", Terms: []string{"a"}, K: 1})
				return err
			},
		} {
			calls++
			if err := call(); err == nil || errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s without its table = %v, want an error that is not %q", name, err, store.ErrNotFound)
			}
		}
		if calls < 20 || len(answers) < calls {
			t.Errorf("only %d methods were asked", calls)
		}
		return nil
	})
	if _, err := s.Verify(t.Context()); err == nil {
		t.Error("Verify() without tables succeeded")
	}
}

func TestALockedStoreSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path, LockWait: time.Millisecond})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "word")
	raw := storetest.Raw(t, path)
	if err := raw.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.EnsureProject("q", "") })
	if !errors.Is(err, store.ErrLocked) {
		t.Errorf("Write() while another holds the file = %v, want %v", err, store.ErrLocked)
	}
	read(t, s, func(r *store.Reader) error { // the index cannot be completed either
		found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"word"}, K: 1})
		if len(found) != 1 {
			t.Errorf("SearchEpisodes(word) while another holds the file = %v, want ep_1", found)
		}
		return err
	})
	if err := raw.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	write(t, s, func(tx *store.Tx) error { return tx.EnsureProject("q", "") })
}

// TestOutOfMemoryIsAnErrorAndTheStoreGoesOn records what one connection's 256 MB cannot hold.
func TestOutOfMemoryIsAnErrorAndTheStoreGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 600 MB")
	}
	paths(t, func(t *testing.T, path string) {
		s := storetest.Open(t, store.Config{Path: path})
		ensure(t, s, "p", "s")
		add(t, s, "p", "s", "ep_1", "before")
		large := episode.Record{ID: "ep_large", Project: "p", Session: "s", Role: episode.User, Content: strings.Repeat("x", 300<<20)}
		for range 2 {
			err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.AppendEpisode(&large) })
			if !errors.Is(err, store.ErrMemory) {
				t.Errorf("Write() of 300 MB = %v, want %v", err, store.ErrMemory)
			}
		}
		add(t, s, "p", "s", "ep_2", "after")
		read(t, s, func(r *store.Reader) error {
			var ids []string
			for e, err := range r.Episodes(store.EpisodeFilter{Project: "p"}) {
				if err != nil {
					return err
				}
				ids = append(ids, e.ID)
			}
			if !slices.Equal(ids, []string{"ep_1", "ep_2"}) {
				t.Errorf("Episodes() = %q, want the two small ones", ids)
			}
			return nil
		})
	})
}

func TestALongQueryStopsWithItsContext(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	occupy(t, s, "p", 50)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Read(ctx, func(r *store.Reader) error {
		for _, err := range r.Episodes(store.EpisodeFilter{Project: "p"}) {
			if err != nil {
				return err
			}
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Read() whose context ends in the middle = %v, want %v", err, context.Canceled)
	}
	read(t, s, func(r *store.Reader) error { // the connection is used again
		_, err := r.Counts("p")
		return err
	})
}
