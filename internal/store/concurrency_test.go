package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestPitfall28KilledProcesses lets 8 processes append 200 episodes each to one file. Each is killed after a
// random number of acknowledgements and goes on in a new process, until all are there.
func TestPitfall28KilledProcesses(t *testing.T) {
	t.Parallel()
	const processes, appends = 8, 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	path := filepath.Join(t.TempDir(), "store.db")
	acknowledged := make([][]string, processes)
	kills := make([]int, processes)
	var wg sync.WaitGroup
	for p := range processes {
		random := rand.New(rand.NewPCG(seed, uint64(p)))
		wg.Go(func() {
			for first := 0; first < appends; {
				patience := 1 + random.IntN(2*appends) // more than are left: not killed
				if kills[p] >= 3 {
					patience = appends + 1
				}
				ids, killed := runWriter(t, path, fmt.Sprint("w", p), first, appends, patience)
				acknowledged[p] = append(acknowledged[p], ids...)
				if !killed && len(ids) == 0 {
					return // runWriter has said why
				}
				if killed {
					kills[p]++
				}
				// The last id that was said may not be the last that was recorded.
				if len(ids) > 0 {
					_, n, _ := strings.Cut(strings.TrimPrefix(ids[len(ids)-1], "ep_"), "_")
					first, _ = strconv.Atoi(n)
					first += 1
				}
				if killed {
					first += 1 // possibly recorded and not said: its id must not be used again
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range kills {
		total += n
	}
	t.Logf("%d processes were killed", total)
	s := storetest.Open(t, store.Config{Path: path})
	read(t, s, func(r *store.Reader) error {
		for p, ids := range acknowledged {
			if len(ids) < appends-kills[p]*2 {
				t.Errorf("writer %d said %d episodes after %d kills, want about %d", p, len(ids), kills[p], appends)
			}
			for _, id := range ids {
				e, err := r.Episode("p", id)
				if err != nil {
					return err
				}
				if e.Content != "content of "+id {
					t.Errorf("Episode(%s).Content = %q", id, e.Content)
				}
			}
		}
		return nil
	})
}

// runWriter runs a writing process and kills it after so many acknowledgements. It returns all that it said.
func runWriter(t *testing.T, path, name string, first, last, patience int) (ids []string, killed bool) {
	cmd := exec.Command(os.Args[0], name, strconv.Itoa(first), strconv.Itoa(last))
	cmd.Env = append(os.Environ(), writerVariable+"="+path)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil, false
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil, false
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // What a killed process said half is not acknowledged.
		}
		ids = append(ids, strings.TrimSuffix(line, "\n"))
		if len(ids) == patience {
			killed = cmd.Process.Kill() == nil
		}
	}
	if err := cmd.Wait(); err != nil && !killed {
		t.Errorf("writer %s: %v: %s", name, err, stderr.String())
	}
	return ids, killed
}

func TestReadsSeeTheWritesOfAnotherStoreOnTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	a, b := storetest.Open(t, store.Config{Path: path}), storetest.Open(t, store.Config{Path: path})
	ensure(t, a, "p", "s")
	stores := []*store.Store{a, b}
	for i := range 20 {
		writer, reader := stores[i%2], stores[1-i%2]
		id := fmt.Sprint("ep_", i)
		add(t, writer, "p", "s", id, fmt.Sprint("word", i))
		read(t, reader, func(r *store.Reader) error {
			if _, err := r.Episode("p", id); err != nil {
				t.Errorf("Episode(%s) = %v after another store's write", id, err)
			}
			found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{fmt.Sprint("word", i)}, K: 1})
			if len(found) != 1 || found[0].ID != id {
				t.Errorf("SearchEpisodes(word%d) = %v, want %s", i, found, id)
			}
			return err
		})
	}
}

func TestAReadIsOneSnapshotAndNeverHoldsAWriterUp(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, path string) {
		s := storetest.Open(t, store.Config{Path: path})
		ensure(t, s, "p", "s")
		for i := range 10 {
			add(t, s, "p", "s", fmt.Sprint("ep_", i), "old")
		}
		read(t, s, func(r *store.Reader) error {
			n := 0
			for _, err := range r.SessionEpisodes("p", "s", 0) {
				if err != nil {
					return err
				}
				// A write, and a read of it, in the middle of a read, by the same goroutine.
				id := fmt.Sprint("ep_new_", n)
				add(t, s, "p", "s", id, "new")
				read(t, s, func(r *store.Reader) error {
					_, err := r.Episode("p", id)
					return err
				})
				if _, err := r.Episode("p", id); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("Episode(%s) in an older snapshot = %v, want %v", id, err, store.ErrNotFound)
				}
				n++
			}
			if n != 10 {
				t.Errorf("SessionEpisodes() gave %d episodes, want the snapshot's 10", n)
			}
			found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"new"}, K: 1})
			if len(found) != 0 {
				t.Errorf("SearchEpisodes(new) in an older snapshot = %v, want none", found)
			}
			return err
		})
		// A search inside a write, on another snapshot, must not wait for that write.
		write(t, s, func(tx *store.Tx) error {
			if err := tx.AppendEpisode(&episode.Record{ID: "ep_last", Project: "p", Session: "s", Role: episode.User, Content: "last"}); err != nil {
				return err
			}
			return s.Read(t.Context(), func(r *store.Reader) error {
				found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"new"}, K: 20})
				if len(found) != 10 {
					t.Errorf("SearchEpisodes(new) inside a write = %v, want 10", found)
				}
				return err
			})
		})
	})
}

func TestWritersAndReadersTogether(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, path string) {
		s := storetest.Open(t, store.Config{Path: path})
		ensure(t, s, "p", "s")
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 50 {
					id := fmt.Sprintf("ep_%d_%d", w, i)
					err := s.Write(t.Context(), func(tx *store.Tx) error {
						return tx.AppendEpisode(&episode.Record{ID: id, Project: "p", Session: "s", Role: episode.User, Content: strings.Repeat(id+" ", 200)})
					})
					if err != nil {
						t.Errorf("Write() = %v", err)
						return
					}
					err = s.Read(t.Context(), func(r *store.Reader) error {
						found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{id}, K: 2})
						if len(found) != 1 || found[0].ID != id {
							t.Errorf("SearchEpisodes(%s) right after its write = %v", id, found)
						}
						return err
					})
					if err != nil {
						t.Errorf("Read() = %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestWriteIsAllOrNothing(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, path string) {
		s := storetest.Open(t, store.Config{Path: path})
		ensure(t, s, "p", "s")
		append1 := func(tx *store.Tx) error {
			return tx.AppendEpisode(&episode.Record{ID: "ep_1", Project: "p", Session: "s", Role: episode.User})
		}
		boom := errors.New("boom")
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(append1(tx), boom) }); !errors.Is(err, boom) {
			t.Errorf("Write() of a failing function = %v, want its error", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Write(ctx, func(tx *store.Tx) error { defer cancel(); return append1(tx) })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Write() whose context ends = %v, want %v", err, context.Canceled)
		}
		if err := s.Write(ctx, append1); !errors.Is(err, context.Canceled) {
			t.Errorf("Write() with an ended context = %v, want %v", err, context.Canceled)
		}
		if err := s.Read(ctx, func(*store.Reader) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("Read() with an ended context = %v, want %v", err, context.Canceled)
		}
		func() {
			defer func() {
				if p := recover(); p != boom {
					t.Errorf("Write() of a panicking function panicked with %v, want its own", p)
				}
			}()
			_ = s.Write(t.Context(), func(tx *store.Tx) error {
				_ = append1(tx)
				panic(boom)
			})
		}()
		func() {
			defer func() { _ = recover() }()
			_ = s.Read(t.Context(), func(r *store.Reader) error {
				for range r.Episodes(store.EpisodeFilter{Project: "p"}) {
					panic(boom)
				}
				panic(boom)
			})
		}()
		var kept *store.Tx
		write(t, s, func(tx *store.Tx) error { kept = tx; return nil })
		if err := append1(kept); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a Tx after its Write = %v, want %v", err, store.ErrClosed)
		}
		read(t, s, func(r *store.Reader) error {
			if _, err := r.Episode("p", "ep_1"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Episode() after writes that failed = %v, want %v", err, store.ErrNotFound)
			}
			return nil
		})
		write(t, s, append1)
	})
}

func TestCloseWaitsForRunningCalls(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	inside, finish := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	go func() {
		result <- s.Write(t.Context(), func(tx *store.Tx) error {
			close(inside)
			<-finish
			return tx.EnsureProject("p", "")
		})
	}()
	<-inside
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	close(finish)
	if err := <-result; err != nil {
		t.Errorf("Write() during Close = %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close() = %v", err)
	}
}
