package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestCloseTidies: a store that is closed holds each index in one segment, and no page in which nothing is. While somebody else writes it is left as it is.
func TestCloseTidies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "p", "s")
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 60 {
		var b strings.Builder
		for range 800 {
			fmt.Fprintf(&b, "w%d ", r.IntN(5000))
		}
		say(t, s, "p", fmt.Sprint("ep_", i), b.String())
		read(t, s, func(r *store.Reader) error { // completes the index, each time in a segment of its own
			_, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"w1"}, K: 1})
			return err
		})
	}
	if err := store.Merge(s); err != nil {
		t.Fatal(err)
	}
	raw := storetest.Raw(t, path)
	number := func(sql string) int64 {
		t.Helper()
		rows, err := raw.Query(sql)
		if err != nil {
			t.Fatal(err)
		}
		return rows[0][0].(int64)
	}
	const segments = `SELECT count(DISTINCT segid) FROM episode_fts_idx`
	free, many := number(`PRAGMA freelist_count`), number(segments)
	if free == 0 || many < 2 {
		t.Fatalf("%d free pages and %d segments before Close: there is nothing to tidy", free, many)
	}
	other := storetest.Open(t, store.Config{Path: path})
	busy := errors.New("done")
	err = other.Write(t.Context(), func(*store.Tx) error {
		if err := s.Close(); err != nil {
			t.Errorf("Close() while another handle writes = %v", err)
		}
		return busy
	})
	if !errors.Is(err, busy) {
		t.Fatal(err)
	}
	say(t, other, "p", "ep_last", "the end")
	read(t, other, func(r *store.Reader) error {
		_, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"w1"}, K: 1})
		return err
	})
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if free, many := number(`PRAGMA freelist_count`), number(segments); free > 0 || many != 1 {
		t.Errorf("%d free pages and %d segments after Close, want none and 1", free, many)
	}
}

// TestReceiptsComeBackAsTheyWere: a receipt is stored without what is known from elsewhere, and read with it.
func TestReceiptsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	long := strings.Repeat(`{"category":"system","tokens":3},`, 9)
	bodies := []string{`{}`, ``, long, `{"id":"win_1"}`, `{"id":"win_4","also":"win_4"}` + long, "\x01" + long, "\x01 win_6" + long, `"win_` + long}
	write(t, s, func(tx *store.Tx) error {
		var errs []error
		for i, b := range bodies {
			errs = append(errs, tx.PutReceipt("p", "s", store.ReceiptRow{WindowID: fmt.Sprint("win_", i), Turn: i, Body: b}))
		}
		return errors.Join(errs...)
	})
	read(t, s, func(r *store.Reader) error {
		for i, want := range bodies {
			got, err := r.Receipt("p", "s", fmt.Sprint("win_", i))
			if err != nil || got.Body != want {
				t.Errorf("Receipt(win_%d).Body = %q, %v, want %q", i, got.Body, err, want)
			}
		}
		return nil
	})
}
