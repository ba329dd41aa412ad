package tokens_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/tokens"
)

func encodings() []*tokens.Encoding {
	return []*tokens.Encoding{tokens.O200k(), tokens.CL100k()}
}

// snippets returns the texts of the golden file.
func snippets(t testing.TB) []string {
	t.Helper()
	f, err := os.Open("testdata/snippets.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for s := bufio.NewScanner(f); s.Scan(); {
		var text string
		if err := json.Unmarshal(s.Bytes(), &text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

// sent is the text that is encoded: one U+FFFD for a bad byte.
func sent(s string) string { return string([]rune(s)) }

// check reports whatever does not hold of every text.
func check(t *testing.T, e *tokens.Encoding, s string) {
	t.Helper()
	ids := e.Encode(s)
	if got := e.Count(s); got != len(ids) {
		t.Errorf("%s: Count(%.100q) = %d, want %d, the length of Encode", e.Name(), s, got, len(ids))
	}
	if got, want := e.Decode(ids), sent(s); got != want {
		t.Errorf("%s: Decode(Encode(%.100q)) = %.100q, want %.100q", e.Name(), s, got, want)
	}
	spanIDs, ends := e.Spans(s)
	if diff := cmp.Diff(ids, spanIDs); diff != "" {
		t.Errorf("%s: Spans(%.100q): ids (-Encode +Spans):\n%s", e.Name(), s, diff)
	}
	if len(ends) != len(ids) || len(ends) > 0 && ends[len(ends)-1] != len(s) {
		t.Fatalf("%s: Spans(%.100q) ends at %v, want %d ends up to %d", e.Name(), s, ends, len(ids), len(s))
	}
	start, whole := 0, utf8.ValidString(s)
	for i, end := range ends {
		if end < start {
			t.Fatalf("%s: Spans(%.100q): end %d is %d, before %d", e.Name(), s, i, end, start)
		}
		if whole {
			if got := e.Decode(ids[i : i+1]); got != s[start:end] {
				t.Fatalf("%s: Spans(%.100q): token %d is %q, its span holds %q", e.Name(), s, i, got, s[start:end])
			}
		}
		start = end
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	if n := compare(t, "testdata/snippets.jsonl", "testdata/snippets.jsonl.want"); n < 500 {
		t.Errorf("%d snippets compared, want at least 500", n)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text          string
		o200k, cl100k []int32
	}{
		{"", []int32{}, []int32{}},
		{"hello world", []int32{24912, 2375}, []int32{15339, 1917}},
		{"\xff", []int32{3251}, []int32{5809}},
	} {
		for i, want := range [][]int32{tc.o200k, tc.cl100k} {
			e := encodings()[i]
			if diff := cmp.Diff(want, e.Encode(tc.text)); diff != "" {
				t.Errorf("%s: Encode(%q) (-want +got):\n%s", e.Name(), tc.text, diff)
			}
		}
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	texts := append(snippets(t), "\xff", "a\xff\xfe b\xc3", "\xf0\x9f\x98", "ok \xed\xa0\x80 \x00\x80", "\xc3\xc3\xa9\xff\xff\xff\xff\xff", "中\xe4\xb8文")
	for _, e := range encodings() {
		for _, s := range texts {
			check(t, e, s)
		}
	}
}

// TestSpansBadBytes shows where tokens of a bad byte end: inside its U+FFFD at the byte itself, after it at the next.
func TestSpansBadBytes(t *testing.T) {
	t.Parallel()
	for _, e := range encodings() {
		s := "ab\xff\xfe cd"
		ids, ends := e.Spans(s)
		var got []string
		start := 0
		for i, end := range ends {
			got = append(got, fmt.Sprintf("%q=%q", e.Decode(ids[i:i+1]), s[start:end]))
			start = end
		}
		want := []string{`"ab"="ab"`, `"��"="\xff\xfe"`, `" cd"=" cd"`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Spans(%q) (-want +got):\n%s", e.Name(), s, diff)
		}
	}
}

// TestControlText keeps the spelling of control tokens ordinary text.
func TestControlText(t *testing.T) {
	t.Parallel()
	for _, e := range encodings() {
		for _, s := range []string{"<|endoftext|>", "<|endofprompt|>"} {
			for _, id := range e.Encode(s) {
				if int(id) >= e.Len() {
					t.Errorf("%s: Encode(%q) holds the control token %d", e.Name(), s, id)
				}
			}
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		e    *tokens.Encoding
		ids  []int32
		want string
	}{
		{tokens.O200k(), nil, ""},
		{tokens.O200k(), []int32{24912, 199999, 200018}, "hello<|endoftext|><|endofprompt|>"},
		{tokens.CL100k(), []int32{15339, 100257, 100276}, "hello<|endoftext|><|endofprompt|>"},
		{tokens.O200k(), []int32{-1, 199998, 1 << 30}, "\uFFFD\uFFFD\uFFFD"},
	} {
		if got := tc.e.Decode(tc.ids); got != tc.want {
			t.Errorf("%s: Decode(%v) = %q, want %q", tc.e.Name(), tc.ids, got, tc.want)
		}
	}
}

func TestByName(t *testing.T) {
	t.Parallel()
	for _, e := range encodings() {
		got, err := tokens.ByName(e.Name())
		if err != nil || got != e {
			t.Errorf("ByName(%q) = %p, %v, want %p", e.Name(), got, err, e)
		}
	}
	if _, err := tokens.ByName("gpt2"); err == nil || !strings.Contains(err.Error(), `"gpt2"`) {
		t.Errorf("ByName(%q): error %v, want one that names it", "gpt2", err)
	}
}

// TestLinear counts texts on which a backtracking splitter or a scanning merge would take minutes each; the test's time limit is the judge. BenchmarkRuns has the times.
func TestLinear(t *testing.T) {
	t.Parallel()
	for i, of := range []string{"a", "A", "é", "\n", " \n", "\n ", " ", "\t\r", "=", "/", "😀", "中", "\u0301", "A\u0301", "中A", "'s", "1", "\x00", "\xff", "\u00a0"} {
		s := strings.Repeat(of, (1<<18)/len(of))
		e := encodings()[i%2] // they share the merge and differ in the splitter on letters alone
		if got, most := e.Count(s), 3*len(s); got <= 0 || got > most {
			t.Errorf("%s: Count(%q repeated) = %d, want 1 to %d", e.Name(), of, got, most)
		}
	}
	for _, of := range []string{"中A", "A\u0301", "Aa", "A"} {
		if got := tokens.O200k().Count(strings.Repeat(of, (1<<18)/len(of))); got <= 0 {
			t.Errorf("o200k_base: Count(%q repeated) = %d, want more than 0", of, got)
		}
	}
}

// TestCountAllocates keeps the count of ordinary text free of allocations.
func TestCountAllocates(t *testing.T) {
	s := strings.Repeat("func main() { fmt.Println(\"héllo\", 中文) }\n\n\t", 100)
	for _, e := range encodings() {
		if got := testing.AllocsPerRun(10, func() { e.Count(s) }); got != 0 {
			t.Errorf("%s: Count allocates %v times, want 0", e.Name(), got)
		}
	}
}

func FuzzEncode(f *testing.F) {
	for i, s := range snippets(f) {
		if i%20 == 0 {
			f.Add(s)
		}
	}
	f.Add("a\xff\xfe b\xc3")
	f.Add(strings.Repeat(" \n", 100) + "\xf0\x9f")
	f.Fuzz(func(t *testing.T, s string) {
		for _, e := range encodings() {
			check(t, e, s)
		}
	})
}
