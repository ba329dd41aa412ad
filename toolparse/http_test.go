package toolparse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/toolparse"
)

func heads(src string) ([]string, error) {
	list, err := toolparse.HTTPHeaders(src)
	var out []string
	for _, h := range list {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s%s %d %s %s", h.Method, h.Target, h.Status, h.Version, h.Reason)))
		for _, f := range h.Fields {
			out = append(out, fmt.Sprintf("  %s=%s @%d:%d", f.Name, f.Value, f.Offset, f.Line))
		}
	}
	return out, err
}

func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"curl -i", "HTTP/1.1 200 OK\r\nA: 1\r\na:2\r\n\r\n{\"x\": 1}", []string{"200 1.1 OK", "  A=1 @20:2", "  a=2 @25:3"}},
		{"HTTP/2", "HTTP/2 204 \nserver: x\n\n", []string{"204 2", "  server=x @20:2"}},
		{"redirects", "HTTP/1.1 301 Moved\r\nLocation: /x\r\n\r\nHTTP/1.1 200 OK\r\nB: 1\r\n\r\nbody", []string{
			"301 1.1 Moved", "  Location=/x @30:2", "200 1.1 OK", "  B=1 @56:5",
		}},
		{"body of a stated length that holds a head", "HTTP/1.1 200 OK\nContent-Length: 21\n\nHTTP/1.1 500 No\nA: b\n", []string{"200 1.1 OK", "  Content-Length=21 @32:2"}},
		{"folded", "HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n  d\r\n\r\n", []string{"200 1.1 OK", "  A=b c d @20:2"}},
		{"curl -v", "* Connected\n> GET / HTTP/1.1\n> Host: x\n>\n{ [5 bytes data]\n< HTTP/1.1 200 OK\n< A: 1\n* note\n< B: 2\n< \nbody\n", []string{
			"GET/ 0 1.1", "  Host=x @37:3", "200 1.1 OK", "  A=1 @81:7", "  B=2 @95:9",
		}},
		{"wget -S", "--2025-- http://x/\n  HTTP/1.1 200 OK\n  A: 1\nLength: 3\n", []string{"200 1.1 OK", "  A=1 @42:3"}},
		{"no blank line before the body", "HTTP/1.1 200 OK\nA: 1\n<html>\n", []string{"200 1.1 OK", "  A=1 @19:2"}},
		{"request", "GET /x HTTP/1.1\r\nHost: y\r\n\r\n", []string{"GET/x 0 1.1", "  Host=y @23:2"}},
		{"malformed head further on is text", "HTTP/1.1 200 OK\nA: 1\n\nHTTP/9.9 200 OK\n", []string{"200 1.1 OK", "  A=1 @19:2"}},
		{"empty value", "HTTP/1.1 200 OK\nA:\nB: \n\n", []string{"200 1.1 OK", "  A= @18:2", "  B= @21:3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := heads(c.in)
			if err != nil {
				t.Fatalf("HTTPHeaders(%q) = %v", c.in, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("HTTPHeaders(%q) (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

func TestHTTPHeadersErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "hello", "A: b\r\n\r\n", "HTP/1.1 200 OK\r\n", "HTTP/1.01 200 OK\r\n", "HTTP/1.1 2 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1\t200 OK\r\n", "HTTP/1.1 099 x\n",
		"HTTP/1.1 200 OK\rA: b\r\n", "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", "HTTP/1.1 200 OK\r\n: c\r\n\r\n", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
		"GET /a b HTTP/1.1\r\n\r\n", "GET / HTTP/5.6\r\n", "FOO / HTTP/1.1\r\n", "the status is HTTP/1.1 200 OK\n",
	} {
		if got, err := toolparse.HTTPHeaders(in); err == nil {
			t.Errorf("HTTPHeaders(%q) = %+v, want a refusal", in, got)
		}
	}
}

func FuzzHTTPHeaders(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\nbody", "< HTTP/2 200\n< a: b\n<\n", "> GET / HTTP/1.1\n", "  HTTP/1.0 404 x\n  A:b\n", "GET / HTTP/1.1\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := toolparse.HTTPHeaders(s)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("HTTPHeaders(%q) = %d heads, %v", s, len(list), err)
		}
		last := -1
		for _, h := range list {
			if !strings.HasPrefix(s[h.Offset:], h.Text) || h.Offset <= last {
				t.Errorf("HTTPHeaders(%q): start line %q is not at %d", s, h.Text, h.Offset)
			}
			last = h.Offset
			for _, fd := range h.Fields {
				first, _, _ := strings.Cut(fd.Value, " ")
				if first != "" && fd.Offset <= last {
					t.Errorf("HTTPHeaders(%q): field %q at %d is out of order", s, fd.Name, fd.Offset)
				}
				last = max(last, fd.Offset-1)
			}
		}
	})
}
