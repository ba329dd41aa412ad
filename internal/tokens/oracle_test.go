package tokens_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"sakur4/internal/tokens"
)

var oracle = flag.String("oracle", "", "a file of snippets whose oracle output is beside it as <file>.want; compared in full")

// line is what testdata/oracle/encode.cjs writes for a snippet.
func line(s string) string {
	var cols []string
	for _, e := range []*tokens.Encoding{tokens.O200k(), tokens.CL100k()} {
		ids := e.Encode(s)
		var b []byte
		for i, id := range ids {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(id), 10)
		}
		cols = append(cols, fmt.Sprintf("%d %x", len(ids), sha256.Sum256(b))[:len(strconv.Itoa(len(ids)))+1+32])
	}
	return strings.Join(cols, " ")
}

// compare reports the snippets of a file that the oracle encodes otherwise, and returns how many were compared.
func compare(t *testing.T, snippets, want string) int {
	t.Helper()
	open := func(name string) *bufio.Scanner {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<22)
		return s
	}
	in, out := open(snippets), open(want)
	n, wrong := 0, 0
	for in.Scan() {
		if !out.Scan() {
			t.Fatalf("%s ends after %d lines", want, n)
		}
		var s string
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			t.Fatalf("%s:%d: %v", snippets, n+1, err)
		}
		n++
		if got := line(s); got != out.Text() {
			if wrong++; wrong <= 20 {
				t.Errorf("snippet %d %.200q:\n got %s\nwant %s", n, s, got, out.Text())
			}
		}
	}
	if out.Scan() {
		t.Errorf("%s has more lines than %s", want, snippets)
	}
	if wrong > 0 {
		t.Errorf("%d of %d snippets differ", wrong, n)
	}
	return n
}

// TestOracle compares a larger set of snippets that is not part of the repository; see testdata/oracle/README.md.
func TestOracle(t *testing.T) {
	t.Parallel()
	if *oracle == "" {
		t.Skip("no -oracle file given")
	}
	t.Logf("%d snippets compared", compare(t, *oracle, *oracle+".want"))
}
