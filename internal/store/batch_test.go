package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestBatch: of writes that share a transaction each keeps or loses its own, whatever the others do.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Path: t.TempDir() + "/batch.db"})
	ctx := t.Context()
	if err := s.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.EnsureProject("proj_1", "/p"), tx.EnsureSession("proj_1", "s"))
	}); err != nil {
		t.Fatal(err)
	}
	own := errors.New("a write of its own mind")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	append1 := func(tx *store.Tx, i int) error {
		return tx.AppendEpisode(&episode.Record{ID: fmt.Sprintf("ep_%d", i), Project: "proj_1", Session: "s", Role: episode.User, Content: fmt.Sprint(i)})
	}
	const n = 400
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			defer func() {
				if p := recover(); (p != nil) != (i%10 == 2) {
					t.Errorf("write %d: recovered %v", i, p)
				}
			}()
			c := ctx
			if i%10 == 3 {
				c = ended
			}
			err := s.Write(c, func(tx *store.Tx) error {
				if err := append1(tx, i); err != nil {
					return err
				}
				switch i % 10 {
				case 1:
					return own
				case 2:
					panic("out of its own mind")
				case 4:
					return append1(tx, i) // refused by the store: the id is taken
				}
				return nil
			})
			var want error
			switch i % 10 {
			case 1:
				want = own
			case 3:
				want = context.Canceled
			case 4:
				want = store.ErrExists
			}
			if !errors.Is(err, want) {
				t.Errorf("write %d: %v, want %v", i, err, want)
			}
		})
	}
	wg.Wait()
	err := s.Read(ctx, func(r *store.Reader) error {
		for i := range n {
			_, err := r.Episode("proj_1", fmt.Sprintf("ep_%d", i))
			if kept := i%10 == 0 || i%10 > 4; kept != (err == nil) {
				t.Errorf("episode %d: %v, want kept %t", i, err, kept)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkWriters appends 2 KB episodes durably from one goroutine and from eight.
func BenchmarkWriters(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			s := storetest.Open(b, store.Config{Path: b.TempDir() + "/bench.db"})
			if err := s.Write(b.Context(), func(tx *store.Tx) error {
				return errors.Join(tx.EnsureProject("proj_1", "/p"), tx.EnsureSession("proj_1", "s"))
			}); err != nil {
				b.Fatal(err)
			}
			body := make([]byte, 2000)
			for i := range body {
				body[i] = 'a' + byte(i%26)
			}
			var wg sync.WaitGroup
			b.ResetTimer()
			for g := range n {
				wg.Go(func() {
					for i := g; i < b.N; i += n {
						if err := s.Write(b.Context(), func(tx *store.Tx) error {
							return tx.AppendEpisode(&episode.Record{ID: fmt.Sprintf("ep_%d", i), Project: "proj_1", Session: "s", Role: episode.User, Content: string(body)})
						}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
