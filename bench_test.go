package sakur4_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sakur4"
	"sakur4/internal/storetest"
)

// body is a tool result of about 2 KB with that many values: lines of a log, or the answer of a service.
func body(i int, facts int) string {
	words := func(bytes int) string {
		var b strings.Builder
		for b.Len() < bytes {
			fmt.Fprintf(&b, "%5d  the worker of shard %d waits for its channel; ", b.Len(), i)
		}
		return b.String()[:bytes]
	}
	if facts == 0 {
		return strings.ReplaceAll(words(2000), "; ", "\n")
	}
	var b strings.Builder
	b.WriteString("{")
	for j := range facts {
		if j > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `"key%d": %q`, j, words(1980/facts-12))
	}
	b.WriteString("}")
	return b.String()
}

// BenchmarkCommit records 2 KB tool results, and in turn with each writes the same bytes as one row of one table through the same driver, with the
// same page size and as durably: as little as such a commit can do. Both checkpoint beside the commits. The ratios are those of the medians and of the 99th percentiles.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct{ facts, history int }{{0, 0}, {1, 0}, {20, 0}, {0, 20000}} {
		b.Run(fmt.Sprintf("facts=%d/history=%d", c.facts, c.history), func(b *testing.B) {
			ctx := b.Context()
			eng, err := sakur4.Open(ctx, filepath.Join(b.TempDir(), "bench.db"), &sakur4.Options{ProjectRoot: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			s := eng.Session("bench")
			raw := storetest.Raw(b, filepath.Join(b.TempDir(), "raw.db"))
			if err := raw.Exec(`
PRAGMA page_size = 1024;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 0;
CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB)`); err != nil {
				b.Fatal(err)
			}
			n := 0
			round := func() (commit, floor time.Duration) {
				id := fmt.Sprint("c", n)
				if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "fetch", Arguments: fmt.Sprintf(`{"n": %d}`, n)}}}); err != nil {
					b.Fatal(err)
				}
				content := body(n, c.facts)
				start := time.Now()
				got, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: content})
				commit = time.Since(start)
				if err != nil || len(got.Facts) != c.facts {
					b.Fatalf("Commit: %d facts, %v", len(got.Facts), err)
				}
				start = time.Now()
				if err := raw.Exec(`INSERT INTO t (content) VALUES (?)`, []byte(content)); err != nil {
					b.Fatal(err)
				}
				floor = time.Since(start)
				if n++; n%1000 == 0 {
					if err := raw.Exec(`PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
						b.Fatal(err)
					}
				}
				return commit, floor
			}
			for range c.history / 2 {
				round()
			}
			var commits, floors []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				c, f := round()
				commits, floors = append(commits, c), append(floors, f)
			}
			slices.Sort(commits)
			slices.Sort(floors)
			at := func(d []time.Duration, percent int) float64 { return float64(d[len(d)*percent/100]) / 1e3 }
			b.ReportMetric(at(commits, 50), "p50-µs")
			b.ReportMetric(at(commits, 50)/at(floors, 50), "p50-ratio")
			b.ReportMetric(at(commits, 99)/at(floors, 99), "p99-ratio")
		})
	}
}

// BenchmarkWindow makes the next prompt of a long session with nothing to compact, after one round of call and result.
func BenchmarkWindow(b *testing.B) {
	for _, episodes := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("episodes=%d", episodes), func(b *testing.B) {
			eng, err := sakur4.Open(b.Context(), ":memory:", &sakur4.Options{ProjectRoot: b.TempDir(), Window: 262144})
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			s := eng.Session("bench")
			n := 0
			round := func() {
				id := fmt.Sprint("c", n)
				if _, err := s.Commit(b.Context(), sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "bash", Arguments: "{}"}}}); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Commit(b.Context(), sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: fmt.Sprint("ok ", n)}); err != nil {
					b.Fatal(err)
				}
				n++
			}
			if _, err := s.Commit(b.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."}); err != nil {
				b.Fatal(err)
			}
			for range episodes / 2 {
				round()
			}
			head := sakur4.Head{System: "You are a careful engineer."}
			if _, err := s.Compact(b.Context(), head, 20000); err != nil { // room for some thousand turns
				b.Fatal(err)
			}
			for range 3 {
				round()
				if _, err := s.Window(b.Context(), head); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				round()
				b.StartTimer()
				w, err := s.Window(b.Context(), head)
				if err != nil {
					b.Fatal(err)
				}
				if w.Plan != nil {
					b.Fatal("a compaction in between")
				}
			}
		})
	}
}
