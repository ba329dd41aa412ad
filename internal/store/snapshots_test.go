package store_test

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

func TestSnapshots(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ensure(t, s, "p", "s")
	ensure(t, s, "q", "s")
	long := make([]int32, 100_000)
	for i := range long {
		long[i] = int32(i * 7919 % 200_000)
	}
	list := []store.SnapshotRow{
		{File: "b", Ord: 1, ID: "snap_1", Tokens: 5, Bytes: 720, Created: time.Unix(5, 0).UTC(), Body: "{}"},
		{File: "a", Ord: 2, ID: "snap_2", Tokens: 100_000, Bytes: 1 << 40, Created: time.Unix(6, 0).UTC(), Body: "{}"},
		{File: "c", Ord: 3},
	}
	prompts := map[string][]int32{"snap_1": {0, -1, math.MinInt32, math.MaxInt32, 7}, "snap_2": long}
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.PutSnapshot("p", "s", list[1], prompts["snap_2"]),
			tx.PutSnapshot("p", "s", store.SnapshotRow{File: "b", Ord: 9, ID: "snap_9"}, []int32{1}),
			tx.PutSnapshot("p", "s", list[0], prompts["snap_1"]),
			tx.PutSnapshot("p", "s", list[2], nil),
			tx.PutSnapshot("q", "s", store.SnapshotRow{File: "b", Ord: 1, ID: "snap_1"}, nil),
		)
	})
	read(t, s, func(r *store.Reader) error {
		got, err := r.Snapshots("p", "s")
		if diff := cmp.Diff(list, got); err != nil || diff != "" {
			t.Errorf("Snapshots() = %v (-want +got):\n%s", err, diff)
		}
		for id, want := range prompts {
			got, err := r.SnapshotPrompt("p", "s", id)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("SnapshotPrompt(%s) = %v, %d tokens, want %d", id, err, len(got), len(want))
			}
		}
		if _, err := r.SnapshotPrompt("p", "s", "snap_9"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("SnapshotPrompt() of one that was replaced = %v, want %v", err, store.ErrNotFound)
		}
		return nil
	})
	for _, harm := range []string{"x''", "x'ffffffff'", "substr(prompt, 1, 3)"} {
		if err := storetest.Raw(t, path).Exec(`UPDATE snapshot SET prompt = ` + harm + ` WHERE snapshot_id = 'snap_1' AND project_id = 'p'`); err != nil {
			t.Fatal(err)
		}
		read(t, s, func(r *store.Reader) error {
			if got, err := r.SnapshotPrompt("p", "s", "snap_1"); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("SnapshotPrompt() after prompt = %s: %v, %v, want %v", harm, got, err, store.ErrCorrupt)
			}
			return nil
		})
	}
}
