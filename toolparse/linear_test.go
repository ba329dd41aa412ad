package toolparse_test

import (
	"fmt"
	"strings"
	"testing"

	"sakur4/toolparse"
)

// TestLinearWork counts the bytes that each parser looks at on its worst inputs, at n, 4n and 16n. A count that grows faster than its input
// is work that a tool's output can make arbitrarily dear.
func TestLinearWork(t *testing.T) {
	t.Parallel()
	rep := strings.Repeat
	for _, c := range []struct {
		name, parser string
		input        func(n int) string
	}{
		// What agents may really meet, of which the largest is 100,000 arrays deep, one line of 10 MB, a hunk of 120,000 lines, a million headers.
		{"100,000 deep arrays and objects", "json", func(n int) string { return rep(`[{"a":`, n*5/32) }},
		{"a string of 10 MB", "json", func(n int) string { return `["` + rep("0123456789abcde ", n*2) + `"]` }},
		{"a cell of 10 MB", "csv", func(n int) string { return "a,b\n1," + rep("0123456789abcde ", n*2) + "\n" }},
		{"a quoted cell of 10 MB", "csv", func(n int) string { return "a,b\n1,\"" + rep("0123456789abcde ", n*2) + "\"\n" }},
		{"a header of 10 MB", "http_headers", func(n int) string { return "HTTP/1.1 200 OK\nA: " + rep("0123456789abcde ", n*2) + "\n\n" }},
		{"a line of 10 MB in front of a head", "http_headers", func(n int) string { return rep("0123456789abcde ", n*2) + "\nHTTP/1.1 200 OK\nA: b\n\n" }},
		{"a changed line of 10 MB", "unified_diff", func(n int) string { return "--- a\n+++ b\n@@ -0,0 +1 @@\n+" + rep("0123456789abcde ", n*2) + "\n" }},
		{"a line of 10 MB", "exit_code", func(n int) string { return rep("0123456789abcde ", n*2) }},
		{"a hunk of 120,000 lines", "unified_diff", func(n int) string {
			return fmt.Sprintf("--- a\n+++ b\n@@ -1,%d +1,%[1]d @@\n", n*3/8) + rep(" a\n", n*3/8)
		}},
		{"a million times the same header", "http_headers", func(n int) string { return "HTTP/1.1 200 OK\n" + rep("A: b\n", n*25/8) + "\n" }},
		{"deep arrays", "json", func(n int) string { return rep("[", n) }},
		{"deep within the bound", "json, visited", func(n int) string { return rep("["+rep("[1,", 500)+"1"+rep("]", 500)+"],", n/2000) }},
		{"unclosed string", "json", func(n int) string { return `["` + rep(`a\u0041`, n/7) }},
		{"many leaves", "json, visited", func(n int) string { return "[" + rep("1,", n/2) + "1]" }},
		{"long key before many leaves", "json, visited", func(n int) string { return `{"` + rep("k", n/2) + `":[` + rep("1,", n/4) + "1]}" }},
		{"digits", "json", func(n int) string { return rep("9", n) }},
		{"spaces", "json", func(n int) string { return rep(" ", n) }},
		{"unclosed quote", "csv", func(n int) string { return "a,b\n" + rep(`"x,`, n/3) }},
		{"one quote a cell", "csv", func(n int) string { return rep("\"\"\"\",1\n", n/7) }},
		{"wide", "csv", func(n int) string { return rep("a,;|\t:", n/6) }},
		{"many start lines", "http_headers", func(n int) string { return rep("HTTP/1.1 200 OK\n", n/16) }},
		{"many heads", "http_headers", func(n int) string { return rep("HTTP/1.1 200 OK\nContent-Length: 9\n\n", n/35) }},
		{"lengths that do not fit", "http_headers", func(n int) string { return rep("HTTP/1.1 200 OK\nContent-Length: 100000\n\n", n/40) }},
		{"long fold", "http_headers", func(n int) string { return "HTTP/1.1 200 OK\nA: b\n" + rep(" c\n", n/3) }},
		{"notes between marked lines", "http_headers", func(n int) string { return rep("< HTTP/1.1 200 OK\n* note\n* note\n", n/32) }},
		{"head broken at its end", "http_headers", func(n int) string {
			return "HTTP/1.1 200 OK\r\n\r\n" + rep("HTTP/1.1 200 OK\r\n"+rep("A: b\r\n", 50)+"bad\r\n", n/320)
		}},
		{"false headers", "unified_diff", func(n int) string { return rep("--- a\n+++ b\n", n/12) }},
		{"hunks", "unified_diff", func(n int) string { return "--- a\n+++ b\n" + rep("@@ -1 +1 @@\n-a\n+b\n", n/18) }},
		{"binary parts", "unified_diff", func(n int) string { return rep("diff --git a/x b/x\nGIT binary patch\nliteral 1\n\n", n/47) }},
		{"short lines", "exit_code", func(n int) string { return rep("a: b\n", n/5) }},
		{"one long line", "exit_code", func(n int) string { return rep("exit code ", n/10) }},
		{"long key before many members", "exit_code", func(n int) string { return `{"` + rep("k", n/2) + `":{` + rep(`"a":1,`, n/12) + `"b":1}}` }},
		{"unclosed object", "exit_code", func(n int) string { return "{" + rep(`"a":1,`, n/6) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const n = 20_000
			one := c.input(n)
			per := float64(toolparse.Work(c.parser, one)+64) / float64(len(one)+1)
			for _, k := range []int{4, 16} {
				src := c.input(k * n)
				if got := float64(toolparse.Work(c.parser, src)+64) / float64(len(src)+1); got > 1.5*per+1 {
					t.Errorf("%s looks at %.1f bytes per byte at %d bytes and at %.1f at %d", c.parser, per, len(one), got, len(src))
				}
			}
			if per > 1200 {
				t.Errorf("%s looks at %.1f bytes per byte", c.parser, per)
			}
		})
	}
}
