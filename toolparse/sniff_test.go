package toolparse_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/toolparse"
)

func TestSniff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"object", ` {"a":1}`, "json"},
		{"array", "[1]\n", "json"},
		{"diff", "commit 1\n\ndiff --git a/x b/x\nold mode 1\nnew mode 2\n", "unified_diff"},
		{"curl -i", "HTTP/1.1 200 OK\r\nA: b\r\n\r\nx", "http_headers"},
		{"curl behind a prompt and a meter", "$ curl -i x\n  % Total    % Received\n  0    35    0     0 --:--:-- --:--:--     0\nHTTP/2 200\na: b\n\nx", "http_headers"},
		{"curl -v", "*   Trying 1.2.3.4\n* Connected\n> GET / HTTP/1.1\n> Host: x\n>\n< HTTP/1.1 200 OK\n< A: b\n<\n", "http_headers"},
		{"table", "name,age\nann,3\nbob,4\n", "csv"},
		{"tabs", "pid\tname\n1\tinit\n2\tsh\n", "csv"},
		// Nothing of these.
		{"empty", "", ""},
		{"number", "42", ""},
		{"string", `"x"`, ""},
		{"cut JSON", `{"a":1`, ""},
		{"list of names", "alice, bob\ncarol, dave\nerin, frank\n", ""},
		{"prose with commas", "First, read the file.\nThen, run it.\nLast, stop.\n", ""},
		{"two lines with a comma", "a,b\n1,2\n", ""},
		{"source", "func f(a, b int) {\n\treturn g(a, b)\n\tx := h(a, b)\n}\n", ""},
		{"arguments on lines", "foo(a,\n    b,\n    c)\n", ""},
		{"paths with colons", "a.go:1: x\nb.go:2: y\nc.go:3: z\n", ""},
		{"markdown table", "| a | b |\n|---|---|\n| 1 | 2 |\n", ""},
		{"page that shows a head", "The server answers\n\n    HTTP/1.1 200 OK\n    A: b\n\nand closes.\n", ""},
		{"head further down", "Some text about a server.\nHTTP/1.1 200 OK\nA: b\n\n", ""},
		{"dashes", "--- a\n+++ b\n", ""},
		{"log", "INFO a,b\nWARN c,d\nINFO e,f\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := toolparse.Sniff(c.in); got != c.want {
				t.Errorf("Sniff(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	in := "Name: pool\n  max-size = 4\nnote\nURL=http://x/?a=b\nhttp://x\n12:30 tea\nempty:\ntime: 12:30\nif x == y\nsome words here: v\n"
	var got []string
	if err := toolparse.Fields(in, func(f toolparse.Field) bool {
		if !strings.HasPrefix(in[f.Offset:], f.Value) {
			t.Errorf("value %q is not at %d", f.Value, f.Offset)
		}
		got = append(got, fmt.Sprintf("%s%c%s:%d", f.Key, f.Separator, f.Value, f.Line))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Name:pool:1", "max-size=4:2", "URL=http://x/?a=b:4", "time:12:30:8", "some words here:v:10"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Fields (-want +got):\n%s", diff)
	}
	if err := toolparse.Fields("no field\n", nil); err == nil {
		t.Error("Fields without a field is accepted")
	}
}

func TestOnlyFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want bool
	}{
		{"HOME=/root\nSHELL=/bin/sh\n", true},
		{"name: x\nsize: 3\n", true},
		{"name: x\n", false},
		{"name: x\nmore text\n", false},
		{"a: 1\na: 2\n", false},
		{"First point: do this\nSecond point: do that\n", false},
		{"", false},
	} {
		if got := toolparse.OnlyFields(c.in); got != c.want {
			t.Errorf("OnlyFields(%q) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	matches := func(pattern, src string) []string {
		var got []string
		_ = toolparse.Matches(regexp.MustCompile(pattern), src, func(m toolparse.Match) bool {
			got = append(got, fmt.Sprintf("%s=%s@%d:%d", m.Group, m.Text, m.Offset, m.Line))
			return true
		})
		return got
	}
	for _, c := range []struct {
		pattern, src string
		want         []string
	}{
		{`\d+`, "a1\nb22", []string{"0=1@1:1", "0=22@4:2"}},
		{`(?P<key>\w)(=)?(\d)`, "a=1\nb2", []string{"key=a@0:1", "2==@1:1", "3=1@2:1", "key=b@4:2", "3=2@5:2"}},
		{`x`, "a", nil},
	} {
		if diff := cmp.Diff(c.want, matches(c.pattern, c.src)); diff != "" {
			t.Errorf("Matches(%q, %q) (-want +got):\n%s", c.pattern, c.src, diff)
		}
	}
}

func FuzzSniff(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "a,b\n1,2\n3,4", "a: b\nc: d", "HTTP/1.1 200 OK\nA: b\n", "< HTTP/2 200\n< a: b\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var err error
		switch got := toolparse.Sniff(s); got {
		case "json":
			err = toolparse.JSON(s, nil)
		case "csv":
			_, err = toolparse.CSV(s, nil)
		case "http_headers":
			_, err = toolparse.HTTPHeaders(s)
		case "unified_diff":
			_, err = toolparse.UnifiedDiff(s)
		case "":
		default:
			t.Errorf("Sniff(%q) = %q", s, got)
		}
		if err != nil {
			t.Errorf("Sniff(%q) names a parser that says %v", s, err)
		}
		toolparse.OnlyFields(s)
		_ = toolparse.Fields(s, func(fd toolparse.Field) bool {
			if !strings.HasPrefix(s[fd.Offset:], fd.Value) {
				t.Errorf("Fields(%q): value %q is not at %d", s, fd.Value, fd.Offset)
			}
			return true
		})
	})
}
