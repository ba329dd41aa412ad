package store_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestTheLogIsBounded writes without a pause, from several goroutines, three times what the log may hold: it is copied into the file and begun anew all the same.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/log.db"
	s := storetest.Open(t, store.WithoutIndexing(store.Config{Path: path}))
	ensure(t, s, "p", "s")
	const writers, each, size = 8, 48, 256 << 10
	var longest int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				e := episode.Record{ID: fmt.Sprintf("ep_%d_%d", w, i), Project: "p", Session: "s", Role: episode.User, Content: strings.Repeat("x", size)}
				if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.AppendEpisode(&e) }); err != nil {
					t.Error(err)
					return
				}
				if info, err := os.Stat(path + "-wal"); err == nil {
					mu.Lock()
					longest = max(longest, info.Size())
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	t.Logf("the log grew to %d MB of %d that were written", longest>>20, writers*each*size>>20)
	if most := int64(48 << 20); longest > most {
		t.Errorf("the log grew to %d bytes, want at most %d", longest, most)
	}
}
