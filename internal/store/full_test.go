package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestAFullDiskStopsWritesAndNothingElse: what is written is refused in plain words, what was written is found.
func TestAFullDiskStopsWritesAndNothingElse(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	ensure(t, s, "p", "s")
	for _, id := range []string{"ep_1", "ep_2", "ep_3"} {
		var text strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&text, "%s%d ", id, i)
		}
		add(t, s, "p", "s", id, text.String()+"lighthouse")
	}
	if err := store.FillDisk(s); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		return tx.AppendEpisode(&episode.Record{ID: "ep_4", Project: "p", Session: "s", Role: episode.User, Content: strings.Repeat("x", 9000)})
	})
	if !errors.Is(err, store.ErrFull) || strings.Count(err.Error(), "store: ") != 1 {
		t.Errorf("Write() on a full disk = %v, want %v, said once", err, store.ErrFull)
	}
	if !store.Unindexed(s) {
		t.Fatal("the test wants rows behind the watermark")
	}
	read(t, s, func(r *store.Reader) error {
		found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"lighthouse"}, K: 9})
		if len(found) != 3 {
			t.Errorf("SearchEpisodes(lighthouse) on a full disk = %v, want 3 episodes", found)
		}
		return err
	})
}

// TestAFailureNamesThePackageOnce: whatever layers an error passes, it is read as one sentence.
func TestAFailureNamesThePackageOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.EnsureSession("missing", "s") })
	if err == nil || strings.Count(err.Error(), "store: ") != 1 {
		t.Errorf("Write() = %v, want an error that names the package once", err)
	}
}

func TestAnEmptyFileBecomesPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, store.Config{Path: path})
	ensure(t, s, "p", "s")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		fi, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of the store's %q file = %v, want -rw-------", suffix, got)
		}
	}
}
