package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

// TestWhatTheWriterKnowsIsTrue lets two handles write to the same sessions in turn, some of it rolled back: what one of them remembers from its last write never
// takes the place of what the file says.
func TestWhatTheWriterKnowsIsTrue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	handles := []*store.Store{storetest.Open(t, store.Config{Path: path}), storetest.Open(t, store.Config{Path: path})}
	ensure(t, handles[0], "p", "a")
	ensure(t, handles[0], "p", "b")
	ensure(t, handles[0], "q", "a")
	refused := errors.New("refused")
	last := map[string]int64{}
	top, facts := int64(0), 0
	for i := range 120 {
		s := handles[i/3%2]
		project, session := []string{"p", "p", "q"}[i%3], []string{"a", "b", "a"}[i%3]
		name := project + session
		lost := i%7 == 3
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			seq, err := tx.LastSeq(project, session)
			if err != nil || seq != last[name] {
				t.Errorf("write %d: LastSeq(%s) = %d, %v, want %d", i, name, seq, err, last[name])
			}
			e := episode.Record{ID: fmt.Sprint("ep_", i), Project: project, Session: session, Role: episode.Tool, Tokenizer: fmt.Sprint("tokenizer ", i%5), Content: "x"}
			if i > 20 && i%7 != 4 && (i-3)%7 != 3 {
				e.CallEpisode = fmt.Sprint("ep_", i-3) // of the same session
			}
			if err := tx.AppendEpisode(&e); err != nil {
				return err
			}
			if e.Seq != top+1 {
				t.Errorf("write %d: Seq %d, want %d", i, e.Seq, top+1)
			}
			if err := tx.PutFacts(project, []symbolic.Row{fact(project, fmt.Sprint("f", i), "v", "h", e.ID)}, time.Time{}); err != nil {
				return err
			}
			if lost {
				return refused
			}
			top, last[name] = e.Seq, e.Seq
			facts++
			return nil
		})
		if lost != errors.Is(err, refused) || !lost && err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	read(t, handles[0], func(r *store.Reader) error {
		c, err := r.Counts("p")
		if c.Store.Facts != facts || c.Store.Episodes != facts {
			t.Errorf("Counts() = %+v, want %d facts and episodes", c.Store, facts)
		}
		return err
	})
}

// TestASessionThatWasRolledBackIsNotKnown: its number goes to the next one.
func TestASessionThatWasRolledBackIsNotKnown(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	refused := errors.New("refused")
	record := func(id, session string) *episode.Record {
		return &episode.Record{ID: id, Project: "p", Session: session, Role: episode.User, Content: "x"}
	}
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.EnsureSession("p", "lost"), tx.AppendEpisode(record("ep_1", "lost")), refused)
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	write(t, s, func(tx *store.Tx) error { return tx.EnsureSession("p", "next") })
	err = s.Write(t.Context(), func(tx *store.Tx) error { return tx.AppendEpisode(record("ep_1", "lost")) })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("AppendEpisode() in a session that was rolled back = %v, want ErrNotFound", err)
	}
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		return tx.PutFacts("p", []symbolic.Row{fact("p", "a", "v", "h", "ep_1")}, time.Time{})
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("PutFacts() of an episode that was rolled back = %v, want ErrNotFound", err)
	}
}
