package symbolic_test

import (
	"fmt"
	"strings"
	"testing"

	"sakur4/internal/episode"
	"sakur4/symbolic"
)

// BenchmarkRead reads results of one mebibyte of each structure, and prose that none of the parsers reads.
func BenchmarkRead(b *testing.B) {
	const size = 1 << 20
	fill := func(head, unit, tail string) string { return head + strings.Repeat(unit, size/len(unit)) + tail }
	for _, c := range []struct{ name, content string }{
		{"json", fill("[", `{"name":"pool","size":4},`, "null]")},
		{"csv", fill("a,b,c\n", "1,\"two\",3\n", "")},
		{"diff", fill("--- a/x\n+++ b/x\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "")},
		{"http", fill("HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "body of some length\n", "")},
		{"prose", fill("", "It is what it is, and a line of a log says so: 12.\n", "")},
	} {
		b.Run(fmt.Sprintf("%s/%dKiB", c.name, len(c.content)>>10), func(b *testing.B) {
			ev := evidence(b, "tool", "{}", c.content)
			b.SetBytes(int64(len(c.content)))
			b.ReportAllocs()
			for b.Loop() {
				symbolic.Read(ev, 0)
			}
		})
	}
}

// small is a result of about 2 KB with that many values, as an agent's tools give most of theirs: lines of a log, or the answer of a service.
func small(facts int) string {
	words := func(bytes int) string {
		var b strings.Builder
		for b.Len() < bytes {
			fmt.Fprintf(&b, "%5d  the worker of shard %d waits for its channel; ", b.Len(), 17)
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

// BenchmarkReadSmall reads what an agent's tools give most often, from the recorded turn on.
func BenchmarkReadSmall(b *testing.B) {
	table := symbolic.DefaultTable()
	for _, facts := range []int{0, 1, 20} {
		b.Run(fmt.Sprintf("facts=%d", facts), func(b *testing.B) {
			rec, call := record("fetch", small(facts)), episode.Call{ID: "c1", Name: "fetch", Arguments: `{"n": 17}`}
			b.ReportAllocs()
			for b.Loop() {
				ev, err := episode.FromResult(rec, call)
				if err != nil {
					b.Fatal(err)
				}
				if got := len(table.Read(ev, 0).Facts); got != facts {
					b.Fatalf("%d facts, want %d", got, facts)
				}
			}
		})
	}
}
