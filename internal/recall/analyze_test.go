package recall_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/internal/recall"
)

var texts = []struct {
	name, text string
	want       []string
}{
	{"empty", "", nil},
	{"prose", "The pilots were filing two files.", []string{"the", "pilot", "were", "file", "two", "file"}},
	{"camel case", "parseHTTPHeader", []string{"pars", "http", "header", "parsehttphead"}},
	{"snake case", "parse_http_header", []string{"pars", "http", "header", "parse_http_header"}},
	{"constant", "MAX_RETRY_COUNT", []string{"max", "retri", "count", "max_retry_count"}},
	{"dunder", "__init__", []string{"init", "__init__"}},
	{"digits", "utf8 sha256Sum 5K A1B2C3", []string{"utf8", "sha256", "sum", "sha256sum", "5k", "a1b2c3"}},
	{"path", "see /cmd/agent/main_test.go:17", []string{"see", "cmd", "agent", "main", "test", "main_test", "go", "main_test.go", "cmd/agent/main_test.go", "17"}},
	{"windows path", `C:\Users\me\a.txt`, []string{"c", "user", "me", "a", "txt", "a.txt", "users/me/a.txt"}},
	{"package path", "http.StatusOK std::io::Error", []string{"http", "statu", "ok", "statusok", "http.statusok", "std", "io", "error", "std::io::error"}},
	{"hyphen, number, mail", "self-care 3.14 10.0.0.7 me@example.com", []string{"self", "care", "self-care", "3", "14", "3.14", "10", "0", "0", "7", "10.0.0.7", "me", "exampl", "com", "me@example.com"}},
	{"sentence ends", "end. Next... a/ b -c", []string{"end", "next", "a", "b", "c"}},
	{"clitics", "it's Caroline’s; don't, they'll, O'Neil 'quoted'", []string{"it", "carolin", "dont", "they", "o", "neil", "quot"}},
	{"languages", "C++ c# F# x++ y #tag", []string{"c++", "c#", "f#", "x++", "y", "tag"}},
	{"accents", "Café CAFE\u0301 Łódź Straße ΣΟΦΟΣ σοφός Ёлка", []string{"cafe", "cafe", "lodz", "strass", "σοφοσ", "σοφόσ", "ёлка"}},
	{"letters that grow when folded", strings.Repeat("Ⱥ", 32), []string{strings.Repeat("ⱥ", 21)}},
	{"full width", "ＡＢＣ１２", []string{"abc12"}},
	{"han", "図書館で read本", []string{"図書", "書館", "館で", "read", "本"}},
	{"kana", "サーバー", []string{"サー", "ーバ", "バー"}},
	{"hangul", "한국어 책", []string{"한국", "국어", "책"}},
	{"thai", "ภาษา", []string{"ภา", "าษ", "ษา"}},
	{"bad bytes", "ab\xffcd \x00ef", []string{"ab", "cd", "ef"}},
	{"long word", strings.Repeat("a1", 50), []string{strings.Repeat("a1", 32)}},
	{"stars and quotes", `"AND" OR* (NOT) NEAR/2`, []string{"and", "or", "not", "near", "2", "near/2"}},
}

func TestAnalyze(t *testing.T) {
	t.Parallel()
	for _, tc := range texts {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := recall.Analyze(tc.text)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Analyze(%q) (-want +got):\n%s", tc.text, diff)
			}
			if got, want := recall.IndexText(tc.text), strings.Join(tc.want, " "); got != want {
				t.Errorf("IndexText(%q) = %q, want %q", tc.text, got, want)
			}
		})
	}
}

func TestQueryTerms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"What is the port of the server in config/app.yaml?", []string{"port", "server", "config", "app", "yaml", "app.yaml", "config/app.yaml"}},
		{"files file filing", []string{"file"}},
		{"what was it?", []string{"what", "was", "it"}},
		{"isValid", []string{"valid", "isvalid"}},
		{"on May 7", []string{"mai", "7"}},
		{"How many kinds of birds did she see?", []string{"bird", "see"}},
		{"What type of error, and how much of which type?", []string{"error", "type"}},
		{"sort by kind", []string{"sort", "kind"}},
		{"how many?", []string{"how", "mani"}},
	} {
		if diff := cmp.Diff(tc.want, recall.QueryTerms(tc.text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("QueryTerms(%q) (-want +got):\n%s", tc.text, diff)
		}
	}
}

// TestFinds asks for things as people write them and checks that the text has a term of the question.
func TestFinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ question, text string }{
		{"main.go", "edited cmd/agent/main.go today"},
		{"agent/main.go", "edited cmd/agent/main.go today"},
		{"http header", "func parseHTTPHeader()"},
		{"ParseHttpHeader", "func parse_http_header()"},
		{"resume", "her Résumé"},
		{"東京", "東京都に住む"},
		{"connections", "connecting to the database"},
		{"STATUSOK", "http.StatusOK"},
	} {
		terms := recall.Analyze(tc.text)
		if q := recall.QueryTerms(tc.question); !slices.ContainsFunc(q, func(s string) bool { return slices.Contains(terms, s) }) {
			t.Errorf("QueryTerms(%q) = %q, none of which is in Analyze(%q) = %q", tc.question, q, tc.text, terms)
		}
	}
}

// check reports whatever does not hold of every text.
func check(t *testing.T, text string) {
	t.Helper()
	terms := recall.Analyze(text)
	size := 0
	for _, term := range terms {
		size += len(term)
		if term == "" || len(term) > 64 || !utf8.ValidString(term) || strings.ContainsFunc(term, unicode.IsSpace) || strings.ContainsRune(term, 0) {
			t.Errorf("Analyze(%.100q) holds %q, want 1 to 64 bytes of valid text without spaces", text, term)
		}
	}
	// A character is in its word, its part, its element and its path, and in two pairs; folding may double it.
	if most := 8*len(text) + 8; size > most {
		t.Errorf("Analyze(%.100q): terms of %d bytes, want at most %d", text, size, most)
	}
	if got, want := recall.IndexText(text), strings.Join(terms, " "); got != want {
		t.Errorf("IndexText(%.100q) = %.100q, want the terms of Analyze, %.100q", text, got, want)
	}
	query := recall.QueryTerms(text)
	seen := make(map[string]bool)
	for _, q := range query {
		if seen[q] || !slices.Contains(terms, q) {
			t.Errorf("QueryTerms(%.100q) holds %q twice or without Analyze holding it", text, q)
		}
		seen[q] = true
	}
	if len(query) == 0 && len(terms) > 0 {
		t.Errorf("QueryTerms(%.100q) is empty, want some of %q", text, terms)
	}
}

// TestLinear would not end if a step looked back over what it has read; the test's time limit is the judge.
func TestLinear(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"a", "A", "aB", "a.", "a/", "_", "a_", "'s", "a's", "n't", "中", "é", "y", "\u0301", "0", "::", "a::", "\xff", "++", "a++", "Aa", "a@"} {
		text := strings.Repeat(of, (1<<20)/len(of))
		if got, most := len(recall.IndexText(text)), 8*len(text); got > most {
			t.Errorf("IndexText(%q repeated) has %d bytes, want at most %d", of, got, most)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, tc := range texts {
		f.Add(tc.text)
	}
	f.Fuzz(check)
}

func BenchmarkIndexText(b *testing.B) {
	for _, tc := range []struct{ name, text string }{
		{"prose", "The harbour lay quiet under the early fog, and only the bell of the lightship told the pilots where the channel began. "},
		{"go", "func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {\n\tid, err := parseID(r.URL.Path)\n\treturn s.write(w, s.rows[id])\n}\n"},
		{"cjk", "港は早朝の霧に静まり返り、灯台船の鐘だけが水路の入口を告げていた。"},
	} {
		b.Run(tc.name, func(b *testing.B) {
			text := strings.Repeat(tc.text, 1+65536/len(tc.text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				recall.IndexText(text)
			}
		})
	}
}
