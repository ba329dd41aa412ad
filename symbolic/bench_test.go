package symbolic_test

import (
	"fmt"
	"strings"
	"testing"

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
