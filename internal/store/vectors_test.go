package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/internal/vector"
)

// vectorStore is a store with a project that has a model of three numbers.
func vectorStore(t testing.TB, path string) *store.Store {
	t.Helper()
	s := storetest.Open(t, store.Config{Path: path})
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.EnsureProject("p", ""), tx.EnsureProject("q", ""), tx.EnsureSession("p", "s"), tx.EnsureSession("q", "s"), tx.SetVectorModel("p", "m", 3))
	})
	return s
}

func say(t testing.TB, s *store.Store, project, id, content string) {
	t.Helper()
	write(t, s, func(tx *store.Tx) error {
		return tx.AppendEpisode(&episode.Record{ID: id, Project: project, Session: "s", Role: episode.User, Content: content, Digest: digest.Of(content), At: time.Unix(1, 0)})
	})
}

// batch returns the next episodes without a vector.
func batch(t testing.TB, s *store.Store, project string) (b store.VectorBatch) {
	t.Helper()
	read(t, s, func(r *store.Reader) error {
		top, err := r.VectorTop(store.VectorOfEpisode)
		if err != nil {
			return err
		}
		b, err = r.VectorBatch(project, store.VectorOfEpisode, top)
		return err
	})
	return b
}

// put stores the same vector for each text of a batch.
func put(t testing.TB, s *store.Store, project string, b store.VectorBatch, v ...byte) {
	t.Helper()
	packed := make([][][]byte, len(b.Texts))
	for i := range packed {
		packed[i] = [][]byte{v}
	}
	if err := s.PutVectors(t.Context(), project, b, packed); err != nil {
		t.Fatalf("PutVectors() = %v", err)
	}
}

func nearest(t testing.TB, r *store.Reader, v ...float32) []string {
	t.Helper()
	found, err := r.SearchVectors(store.SearchQuery{Project: "p", K: 100}, vector.NewQuery(v))
	if err != nil {
		t.Fatalf("SearchVectors(%v) = %v", v, err)
	}
	ids := []string{}
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	return ids
}

// TestVectorsAreFilledInOnce: a batch counts once, whoever brings it and however late; a batch of a model that has been replaced does not count at all.
func TestVectorsAreFilledInOnce(t *testing.T) {
	t.Parallel()
	s := vectorStore(t, "")
	for i := range 40 {
		say(t, s, "p", fmt.Sprint("ep_", i), fmt.Sprint("text ", i))
		say(t, s, "q", fmt.Sprint("ep_other", i), "of another project")
	}
	first := batch(t, s, "p")
	if len(first.Texts) != 32 || first.Texts[0].Text != "text 0" || first.Empty() {
		t.Fatalf("VectorBatch() has %d texts, the first %+v, want 32 of the project", len(first.Texts), first.Texts[0])
	}
	put(t, s, "p", first, 1, 0, 0)
	put(t, s, "p", first, 0, 1, 0) // somebody else was slower
	second := batch(t, s, "p")
	if len(second.Texts) != 8 {
		t.Fatalf("the second VectorBatch() has %d texts, want 8", len(second.Texts))
	}
	put(t, s, "p", second, 0, 0, 127)
	if last := batch(t, s, "p"); !last.Empty() {
		t.Errorf("VectorBatch() at the end = %+v, want it empty", last)
	}
	read(t, s, func(r *store.Reader) error {
		if got := nearest(t, r, 1, 0, 0); len(got) != 32 || got[0] != "ep_0" {
			t.Errorf("the nearest to the first batch are %v", got)
		}
		if got := nearest(t, r, 0, 1, 0); len(got) != 0 {
			t.Errorf("the slower one's vectors are there: %v", got)
		}
		n, err := r.Vectors("p")
		if n != 40 || err != nil {
			t.Errorf("Vectors() = %d, %v, want 40", n, err)
		}
		return nil
	})
	say(t, s, "p", "ep_late", "late")
	late := batch(t, s, "p")
	write(t, s, func(tx *store.Tx) error { return tx.SetVectorModel("p", "m", 3) })
	put(t, s, "p", late, 1, 0, 0)
	read(t, s, func(r *store.Reader) error {
		if got := nearest(t, r, 1, 0, 0); len(got) != 0 {
			t.Errorf("vectors of an older generation are found: %v", got)
		}
		if n, err := r.VectorsWaiting("p"); n != 41 || err != nil {
			t.Errorf("VectorsWaiting() = %d, %v, want 41", n, err)
		}
		return nil
	})
}

// TestVectorsOfASnapshot: a reader sees the vectors that its snapshot has, whatever is filled in while it reads.
func TestVectorsOfASnapshot(t *testing.T) {
	t.Parallel()
	s := vectorStore(t, filepath.Join(t.TempDir(), "store.db"))
	say(t, s, "p", "ep_1", "one")
	put(t, s, "p", batch(t, s, "p"), 1, 0, 0)
	read(t, s, func(old *store.Reader) error {
		if got := nearest(t, old, 1, 0, 0); len(got) != 1 {
			t.Fatalf("the nearest are %v, want ep_1", got)
		}
		say(t, s, "p", "ep_2", "two")
		put(t, s, "p", batch(t, s, "p"), 1, 0, 0)
		for range 2 {
			read(t, s, func(r *store.Reader) error {
				if diff := cmp.Diff([]string{"ep_1", "ep_2"}, nearest(t, r, 1, 0, 0)); diff != "" {
					t.Errorf("a new reader (-want +got):\n%s", diff)
				}
				return nil
			})
			if diff := cmp.Diff([]string{"ep_1"}, nearest(t, old, 1, 0, 0)); diff != "" {
				t.Errorf("the older reader (-want +got):\n%s", diff)
			}
		}
		write(t, s, func(tx *store.Tx) error { return tx.SetVectorModel("p", "other", 3) })
		read(t, s, func(r *store.Reader) error {
			if got := nearest(t, r, 1, 0, 0); len(got) != 0 {
				t.Errorf("after the model changed a new reader finds %v", got)
			}
			return nil
		})
		if diff := cmp.Diff([]string{"ep_1"}, nearest(t, old, 1, 0, 0)); diff != "" {
			t.Errorf("after the model changed the older reader (-want +got):\n%s", diff)
		}
		return nil
	})
}

// TestVectorsRefuse: wrong numbers are an error and store nothing.
func TestVectorsRefuse(t *testing.T) {
	t.Parallel()
	s := vectorStore(t, "")
	say(t, s, "p", "ep_1", "one")
	b := batch(t, s, "p")
	for _, packed := range [][][][]byte{nil, {{{1, 2}}}, {{{1, 2, 3}}, {{1, 2, 3}}}} {
		if err := s.PutVectors(t.Context(), "p", b, packed); err == nil {
			t.Errorf("PutVectors(%v) = nil", packed)
		}
	}
	if again := batch(t, s, "p"); len(again.Texts) != 1 {
		t.Errorf("VectorBatch() after refused vectors = %+v", again)
	}
	read(t, s, func(r *store.Reader) error {
		if _, err := r.SearchVectors(store.SearchQuery{Project: "p", K: 1}, vector.NewQuery([]float32{1, 1})); err == nil {
			t.Error("SearchVectors(query of 2 numbers) = nil")
		}
		if _, err := r.SearchVectors(store.SearchQuery{Project: "q", K: 1}, vector.NewQuery([]float32{1, 1, 1})); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("SearchVectors() in a project without a model = %v, want %v", err, store.ErrNotFound)
		}
		return nil
	})
}

// TestVerifyFindsBrokenVectors breaks the blocks in every way, and looks that it is reported and that a search is an error, not an answer.
func TestVerifyFindsBrokenVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sql, want string }{
		{"cut", `UPDATE vector_block SET body = x'0102'`, "2 bytes for 1 vectors"},
		{"zeros", `UPDATE vector_block SET body = x'000000'`, "all numbers are 0"},
		{"rows", `UPDATE vector_block SET parts = x'80'`, "do not decode"},
		{"row that is not there", `UPDATE vector_block SET parts = x'09'`, "row 9"},
		{"another project's", `UPDATE vector_block SET parts = x'02'`, "row 2"},
		{"mark", `UPDATE vector_model SET episode_mark = 0`, "behind the mark 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			s := vectorStore(t, path)
			say(t, s, "p", "ep_1", "one")
			say(t, s, "q", "ep_2", "two")
			put(t, s, "p", batch(t, s, "p"), 1, 0, 0)
			if err := storetest.Raw(t, path).Exec(c.sql); err != nil {
				t.Fatal(err)
			}
			report, err := s.Verify(t.Context())
			if err != nil || !strings.Contains(strings.Join(report.Problems, "; "), c.want) {
				t.Errorf("Verify() = %q, %v, want %q", report.Problems, err, c.want)
			}
			if err := storetest.Raw(t, path).Exec(`UPDATE vector_block SET parts = x'01', body = x'010000'; UPDATE vector_model SET episode_mark = 2`); err != nil {
				t.Fatal(err)
			}
		})
	}
}
