package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

// quantiles returns the median and the 99th percentile in microseconds.
func quantiles(times []time.Duration) (p50, p99 float64) {
	slices.Sort(times)
	return float64(times[len(times)/2].Nanoseconds()) / 1e3, float64(times[len(times)*99/100].Nanoseconds()) / 1e3
}

// BenchmarkAppend records one 2 KB tool result a transaction, and in turn with it writes the same bytes as one row of one table, which is
// as little as a durable append can do.
func BenchmarkAppend(b *testing.B) {
	for _, facts := range []int{0, 1, 20} {
		b.Run(fmt.Sprintf("facts=%d", facts), func(b *testing.B) {
			b.ReportAllocs()
			s, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "store.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			ensure(b, s, "p", "s")
			raw := storetest.Raw(b, filepath.Join(b.TempDir(), "raw.db"))
			if err := raw.Exec(`
PRAGMA page_size = 1024;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 0;
CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB)`); err != nil {
				b.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			content := prose(random, 2000)
			var rawTimes, times []time.Duration
			n := 0
			for b.Loop() {
				start := time.Now()
				if err := raw.Exec(`INSERT INTO t (content) VALUES (?)`, []byte(content)); err != nil {
					b.Fatal(err)
				}
				rawTimes = append(rawTimes, time.Since(start))
				n++
				id := fmt.Sprintf("ep_%016x", random.Uint64())
				e := episode.Record{ID: id, Project: "p", Session: "s", Role: episode.Tool, Content: content}
				list := make([]symbolic.Row, facts)
				for i := range list {
					list[i] = fact("p", fmt.Sprintf("read#%08x/field%d", n, i), "value", "h", id)
					list[i].FactID = symbolic.FactID("p", list[i].QualifiedName, list[i].Kind, list[i].FilePath)
				}
				start = time.Now()
				write(b, s, func(tx *store.Tx) error {
					if err := tx.AppendEpisode(&e); err != nil {
						return err
					}
					return tx.PutFacts("p", list, time.Time{})
				})
				times = append(times, time.Since(start))
			}
			p50, p99 := quantiles(times)
			r50, r99 := quantiles(rawTimes)
			b.ReportMetric(p50, "p50-µs")
			b.ReportMetric(p50/r50, "p50-ratio")
			b.ReportMetric(p99/r99, "p99-ratio")
		})
	}
}

// BenchmarkRead reads in a store of 100,000 episodes.
func BenchmarkRead(b *testing.B) {
	const episodes = 100_000
	s, err := store.Open(b.Context(), store.WithoutIndexing(store.Config{Path: filepath.Join(b.TempDir(), "store.db")}))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ensure(b, s, "p", "s")
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 3, 50_000)
	for n := 0; n < episodes; {
		write(b, s, func(tx *store.Tx) error {
			for range 1000 {
				text := ""
				for range 40 {
					text += fmt.Sprintf("w%d ", zipf.Uint64())
				}
				n++
				e := episode.Record{ID: fmt.Sprint("ep_", n), Project: "p", Session: "s", Role: episode.User, Content: text}
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	start := time.Now()
	ask := func(terms ...string) func() {
		return func() {
			read(b, s, func(r *store.Reader) error {
				_, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: terms, K: 20})
				return err
			})
		}
	}
	ask("w1")()
	b.Logf("indexing %d episodes took %v; rows left: %v", episodes, time.Since(start), store.Unindexed(s))
	for _, bench := range []struct {
		name string
		f    func()
	}{
		{"search 8 common words", ask("w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7")},
		{"search 8 words", ask("w3", "w20", "w50", "w100", "w400", "w1000", "w5000", "w20000")},
		{"search a rare word", ask("w20000")},
		{"episode by id", func() {
			read(b, s, func(r *store.Reader) error { _, err := r.Episode("p", "ep_77777"); return err })
		}},
		{"counts", func() { read(b, s, func(r *store.Reader) error { _, err := r.Counts("p"); return err }) }},
		{"sessions", func() { read(b, s, func(r *store.Reader) error { _, err := r.Sessions("p"); return err }) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.f()
			}
		})
	}
}
