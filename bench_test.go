package sakur4_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/embedded"
	"sakur4/internal/store"
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
			b.ReportMetric(percentile(commits, 50), "p50-µs")
			b.ReportMetric(percentile(commits, 50)/percentile(floors, 50), "p50-ratio")
			b.ReportMetric(percentile(commits, 99)/percentile(floors, 99), "p99-ratio")
		})
	}
}

// BenchmarkWindow makes the next prompt of a long session with nothing to compact, after one round of call and result.
func BenchmarkWindow(b *testing.B) {
	const room = 262144
	for _, episodes := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("episodes=%d", episodes), func(b *testing.B) {
			eng, err := sakur4.Open(b.Context(), ":memory:", &sakur4.Options{ProjectRoot: b.TempDir(), Window: room})
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
			window := func() *sakur4.Window {
				w, err := s.Window(b.Context(), head)
				if err != nil {
					b.Fatal(err)
				}
				return w
			}
			// compacted makes room for some thousand turns, and lets the counter see a few prompts as a whole.
			compacted := func() {
				if _, err := s.Compact(b.Context(), head, 20000); err != nil {
					b.Fatal(err)
				}
				for range 4 {
					round()
					window()
				}
			}
			compacted()
			var times []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				round()
				b.StartTimer()
				start := time.Now()
				w := window()
				times = append(times, time.Since(start))
				if w.Plan != nil {
					b.Fatal("a compaction in between")
				}
				if w.Receipt.Used > room/2 {
					b.StopTimer()
					compacted()
					b.StartTimer()
				}
			}
			b.ReportMetric(percentile(times, 50), "p50-µs")
			b.ReportMetric(percentile(times, 99), "p99-µs")
		})
	}
}

// percentile returns a percentile in microseconds. It sorts the times.
func percentile(times []time.Duration, percent int) float64 {
	slices.Sort(times)
	return float64(times[len(times)*percent/100]) / 1e3
}

// BenchmarkCompact shortens a session of 1,000 episodes, all of them live, by half: by Compact, or by the Window that finds the prompt grown beyond its trigger. All is
// processor time. What the embedded server takes for it is measured apart: own-µs is without it. In turn with each it writes, through the same driver, the rows that say
// the same one by one, without what guards and seals them: a tier for each episode that goes, a row for its steps, a decision for each message behind the cut. own-ratio is that
// of the medians.
func BenchmarkCompact(b *testing.B) {
	b.Run("forced", func(b *testing.B) { benchmarkCompact(b, true) })
	b.Run("window", func(b *testing.B) { benchmarkCompact(b, false) })
}

func benchmarkCompact(b *testing.B, forced bool) {
	const episodes = 1000
	var own, taken, floors []time.Duration
	floor := newCompactFloor(b, episodes)
	head := sakur4.Head{System: "You are a careful engineer."}
	window := 1 << 18
	// session makes one of all but late of its turns, with a prompt of them; more commits the others.
	session := func(window, late int) (server *timedServer, s *sakur4.Session, w *sakur4.Window, more, end func()) {
		server = &timedServer{Server: embedded.New(embedded.Config{Window: window, Tokenizer: sakur4.O200kBase()})}
		eng, err := sakur4.Open(b.Context(), ":memory:", &sakur4.Options{ProjectRoot: b.TempDir(), Backend: server, Policy: &evict.Policy{Target: 0.425}})
		if err != nil {
			b.Fatal(err)
		}
		s = eng.Session("bench")
		commit := func(t sakur4.Turn) {
			if _, err := s.Commit(b.Context(), t); err != nil {
				b.Fatal(err)
			}
		}
		commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out what the shards wait for."})
		n := 0
		rounds := func(to int) {
			for ; n < to; n++ {
				id := fmt.Sprint("c", n)
				commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "fetch", Arguments: fmt.Sprintf(`{"n": %d}`, n)}}})
				commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: body(n, 0)[:400]})
			}
		}
		for before := 3; before >= 0; before-- { // the counter sees a few prompts as a whole
			rounds(episodes/2 - 1 - late - before)
			if w, err = s.Window(b.Context(), head); err != nil || w.Plan != nil {
				b.Fatalf("Window: %v, %v", w, err)
			}
		}
		more = func() {
			rounds(episodes/2 - 1)
			if _, err := eng.Recall(b.Context(), sakur4.Query{Text: "shard"}); err != nil { // the index is not at work afterwards
				b.Fatal(err)
			}
			runtime.GC()
		}
		return server, s, w, more, func() {
			if err := eng.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	late := 0
	if !forced {
		late = 10
		_, _, w, _, end := session(window, late)
		end()
		window = int(float64(w.Receipt.Used)/evict.Policy{}.WithDefaults("").Trigger) * 101 / 100
	}
	for b.Loop() {
		b.StopTimer()
		server, s, w, more, end := session(window, late)
		more()
		server.taken = 0
		b.StartTimer()
		start := cpuTime()
		var plan *sakur4.Plan
		var err error
		pprof.Do(b.Context(), pprof.Labels("part", "compaction"), func(ctx context.Context) {
			if forced {
				plan, err = s.Compact(ctx, head, w.Receipt.Used/2)
			} else if w, err = s.Window(ctx, head); err == nil {
				plan = w.Plan
			}
		})
		took := cpuTime() - start
		b.StopTimer()
		if err != nil || plan == nil || !plan.Applied {
			b.Fatalf("compaction: %+v, %v", plan, err)
		}
		own = append(own, took-server.taken)
		taken = append(taken, server.taken)
		gone := map[string]bool{}
		for _, st := range plan.Steps {
			gone[st.Episode] = true
		}
		floors = append(floors, floor.write(b, len(gone), episodes-len(gone)))
		end()
		b.StartTimer()
	}
	b.ReportMetric(percentile(own, 50), "own-p50-µs")
	b.ReportMetric(percentile(own, 10), "own-p10-µs")
	b.ReportMetric(percentile(taken, 50), "server-p50-µs")
	b.ReportMetric(percentile(floors, 50), "floor-p50-µs")
	b.ReportMetric(percentile(own, 50)/percentile(floors, 50), "own-ratio")
}

// compactFloor is a database with the rows of a session.
type compactFloor struct {
	raw *store.Raw
	n   int
}

func newCompactFloor(b *testing.B, episodes int) *compactFloor {
	f := &compactFloor{raw: storetest.Raw(b, filepath.Join(b.TempDir(), "floor.db"))}
	f.exec(b, `
PRAGMA page_size = 1024;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
PRAGMA wal_autocheckpoint = 0;
CREATE TABLE episode (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tier TEXT NOT NULL, content BLOB NOT NULL) STRICT;
CREATE TABLE step (win INTEGER NOT NULL, ord INTEGER NOT NULL, seq INTEGER NOT NULL, was INTEGER NOT NULL, now INTEGER NOT NULL, tokens INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (win, ord)) STRICT, WITHOUT ROWID;
CREATE TABLE decision (session TEXT NOT NULL, ord INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session, ord)) STRICT, WITHOUT ROWID`)
	for i := range episodes {
		f.exec(b, `INSERT INTO episode (seq, id, tier, content) VALUES (?, ?, 'live', ?)`, i+1, fmt.Sprintf("ep_%032x", i), []byte(body(i, 0)[:200*(1+i%2)]))
		f.exec(b, `INSERT INTO decision (session, ord, body) VALUES ('bench', ?, ?)`, i, body(i, 0)[:160])
	}
	return f
}

func (f *compactFloor) exec(b *testing.B, sql string, args ...any) {
	b.Helper()
	if err := f.raw.Exec(sql, args...); err != nil {
		b.Fatal(err)
	}
}

// write takes that many episodes off and writes that many decisions over, and says how long it took. Then it makes all as it was.
func (f *compactFloor) write(b *testing.B, gone, kept int) time.Duration {
	seqs := make([]string, gone)
	for i := range seqs {
		seqs[i] = strconv.Itoa(i + 2)
	}
	list := func(n int, row func(i int) []any, before, places string) (sql string, args []any) {
		for i := range n {
			args = append(args, row(i)...)
		}
		return before + strings.TrimSuffix(strings.Repeat(places+", ", n), ", "), args
	}
	const rows = 100
	f.n++
	start := cpuTime()
	f.exec(b, `BEGIN IMMEDIATE`)
	f.exec(b, `UPDATE episode SET tier = 'archived' WHERE seq IN (SELECT value FROM json_each(?))`, "["+strings.Join(seqs, ",")+"]")
	for at := 0; at < gone; at += rows {
		sql, args := list(min(rows, gone-at), func(i int) []any { return []any{f.n, at + i, at + i + 2, 1, 4, 60, "0 0 60 \x012.65\x02"} },
			`INSERT INTO step (win, ord, seq, was, now, tokens, reason) VALUES `, "(?, ?, ?, ?, ?, ?, ?)")
		f.exec(b, sql, args...)
	}
	text := body(f.n, 0)[:160]
	for at := 0; at < kept; at += rows {
		sql, args := list(min(rows, kept-at), func(i int) []any { return []any{"bench", at + i, text} }, `INSERT OR REPLACE INTO decision (session, ord, body) VALUES `, "(?, ?, ?)")
		f.exec(b, sql, args...)
	}
	f.exec(b, `DELETE FROM decision WHERE session = 'bench' AND ord >= ?`, kept)
	f.exec(b, `COMMIT`)
	took := cpuTime() - start
	f.exec(b, `UPDATE episode SET tier = 'live'`)
	for i := range gone {
		f.exec(b, `INSERT INTO decision (session, ord, body) VALUES ('bench', ?, ?)`, kept+i, text)
	}
	f.exec(b, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return took
}

// timedServer measures the processor time that an embedded server takes.
type timedServer struct {
	*embedded.Server
	taken time.Duration
}

func (s *timedServer) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	defer func(start time.Duration) { s.taken += cpuTime() - start }(cpuTime())
	return s.Server.Render(ctx, req)
}

func (s *timedServer) Tokens(ctx context.Context, text string) ([]int32, error) {
	defer func(start time.Duration) { s.taken += cpuTime() - start }(cpuTime())
	return s.Server.Tokens(ctx, text)
}

func (s *timedServer) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	defer func(start time.Duration) { s.taken += cpuTime() - start }(cpuTime())
	return s.Server.TokenSpans(ctx, text)
}
