package sakur4_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sakur4"
	"sakur4/internal/storetest"
)

// recallSizes names the stores of BenchmarkRecall, in episodes: SAKUR4_BENCH_EPISODES=1000000 measures another one.
func recallSizes() []int {
	if n, err := strconv.Atoi(os.Getenv("SAKUR4_BENCH_EPISODES")); err == nil {
		return []int{n}
	}
	return []int{10_000, 100_000}
}

// BenchmarkRecall asks questions of eight words, as frequent as words are in texts, of which some are in most episodes. Between the questions it asks a
// plain full-text table with the same texts for the three rarest words of each, by BM25, the best twenty: as little as a search can do.
func BenchmarkRecall(b *testing.B) {
	for _, episodes := range recallSizes() {
		b.Run(fmt.Sprintf("episodes=%d", episodes), func(b *testing.B) {
			ctx := b.Context()
			path := storePath(b)
			eng, err := sakur4.Open(ctx, path, &sakur4.Options{Project: "p"})
			if err != nil {
				b.Fatal(err)
			}
			l := newLanguage(2)
			plain := storetest.Raw(b, b.TempDir()+"/plain.db")
			exec := func(sql string, args ...any) {
				if err := plain.Exec(sql, args...); err != nil {
					b.Fatal(err)
				}
			}
			exec(`PRAGMA journal_mode = WAL`)
			exec(`CREATE VIRTUAL TABLE t USING fts5 (content, tokenize = 'porter unicode61')`)
			exec(`BEGIN`)
			holding := map[string]int{}
			fill(b, eng, episodes, func() string {
				text := l.text(100 + l.random.IntN(300))
				exec(`INSERT INTO t (content) VALUES (?)`, text)
				words := strings.Fields(text)
				slices.Sort(words)
				for _, w := range slices.Compact(words) {
					holding[w]++
				}
				return text
			})
			exec(`COMMIT`)
			// Both indexes are measured as they are after a while: the plain table was filled in one transaction, ours is put in order when it is closed.
			if _, err := eng.Recall(ctx, sakur4.Query{Text: l.word(5)}); err != nil { // completes the index
				b.Fatal(err)
			}
			if err := eng.Close(); err != nil {
				b.Fatal(err)
			}
			if eng, err = sakur4.Open(ctx, path, &sakur4.Options{Project: "p"}); err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			if _, err := eng.Recall(ctx, sakur4.Query{Text: l.word(5)}); err != nil {
				b.Fatal(err)
			}
			var ours, floor []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				words := strings.Fields(l.text(400))[:8]
				start := time.Now()
				if _, err := eng.Recall(ctx, sakur4.Query{Text: strings.Join(words, " ")}); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(start))
				slices.SortFunc(words, func(x, y string) int { return holding[x] - holding[y] })
				words = slices.Compact(words)
				query := `"` + strings.Join(words[:min(3, len(words))], `" OR "`) + `"`
				start = time.Now()
				if _, err := plain.Query(`SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 20`, query); err != nil {
					b.Fatal(err)
				}
				floor = append(floor, time.Since(start))
			}
			slices.Sort(ours)
			slices.Sort(floor)
			p50, least := ours[len(ours)/2], floor[len(floor)/2]
			b.ReportMetric(float64(p50.Microseconds())/1e3, "p50-ms")
			b.ReportMetric(float64(least.Microseconds())/1e3, "floor-p50-ms")
			b.ReportMetric(float64(p50)/float64(least), "p50-ratio")
		})
	}
}

// fill records episodes from several goroutines, whose writes share transactions.
func fill(b *testing.B, eng *sakur4.Engine, episodes int, text func() string) {
	b.Helper()
	texts := make(chan string)
	failed := make(chan error, 32)
	for i := range cap(failed) {
		go func() {
			s := eng.Session(fmt.Sprint("s", i))
			var err error
			for text := range texts {
				if err == nil {
					_, err = s.Commit(b.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: text})
				}
			}
			failed <- err
		}()
	}
	for range episodes {
		texts <- text()
	}
	close(texts)
	for range cap(failed) {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
}

// TestRecallInAProjectByItsName: another project is named as it was opened, or by its id.
func TestRecallInAProjectByItsName(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	one := openEngine(t, path, &sakur4.Options{Project: "one"})
	if _, err := one.Session("s").Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "The lighthouse."}); err != nil {
		t.Fatal(err)
	}
	two := openEngine(t, path, &sakur4.Options{Project: "two"})
	for name, want := range map[string]int{"one": 1, one.Project(): 1, "two": 0, "": 0, "three": 0} {
		hits, err := two.Recall(t.Context(), sakur4.Query{Text: "lighthouse", Project: name})
		if err != nil || len(hits.Items) != want || (len(hits.Notes) > 0) != (name == "three") {
			t.Errorf("Recall in project %q = %+v, %v, want %d hits", name, hits, err, want)
		}
	}
}
