package sakur4_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sakur4"
)

// body is a tool result of about 2 KB.
func body(i int, facts int) string {
	var b strings.Builder
	if facts == 0 {
		for b.Len() < 2000 {
			fmt.Fprintf(&b, "%5d  the worker of shard %d waits for its channel\n", b.Len(), i)
		}
		return b.String()
	}
	b.WriteString("{")
	for j := range facts {
		fmt.Fprintf(&b, "%q: %q, ", fmt.Sprintf("key%d", j), strings.Repeat("v", 1900/facts))
	}
	fmt.Fprintf(&b, `"last": %d}`, i)
	return b.String()
}

// BenchmarkCommit records 2 KB results in a file: two durable transactions an iteration, a call and its result.
func BenchmarkCommit(b *testing.B) {
	for _, facts := range []int{0, 20} {
		b.Run(fmt.Sprintf("facts=%d", facts), func(b *testing.B) {
			eng, err := sakur4.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), &sakur4.Options{ProjectRoot: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			s := eng.Session("bench")
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				id := fmt.Sprint("c", i)
				if _, err := s.Commit(b.Context(), sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "bash", Arguments: "{}"}}}); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Commit(b.Context(), sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: body(i, facts)}); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkWindow makes the next prompt of a long session with nothing to compact, after one round of call and result.
func BenchmarkWindow(b *testing.B) {
	for _, episodes := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("episodes=%d", episodes), func(b *testing.B) {
			eng, err := sakur4.Open(b.Context(), ":memory:", &sakur4.Options{ProjectRoot: b.TempDir(), Window: 131072})
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
