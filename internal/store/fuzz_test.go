package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sakur4/internal/episode"
)

func FuzzCallsRoundTrip(f *testing.F) {
	f.Add("call_0", "read", `{"path":"<a>"}`)
	f.Add("\xff", "\x00", "\xed\xa0\x80 \u2028")
	f.Fuzz(func(t *testing.T, id, name, arguments string) {
		want := []episode.Call{{ID: id, Name: name, Arguments: arguments}, {}}
		text, err := encodeCalls(want)
		if err != nil {
			t.Fatalf("encodeCalls(%q) = %v", want, err)
		}
		got, err := decodeCalls([]byte(text))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("decodeCalls(encodeCalls(%q)) = %q, %v", want, got, err)
		}
	})
}

func FuzzDecodeCalls(f *testing.F) {
	f.Add(`[{"id":"a","name":{"base64":"/w=="},"arguments":"{}"}]`)
	f.Add(`[{"id":1}]`)
	f.Fuzz(func(t *testing.T, text string) {
		calls, err := decodeCalls([]byte(text))
		if err != nil {
			return
		}
		again, err := encodeCalls(calls)
		if err != nil {
			t.Fatalf("encodeCalls(%q) = %v", calls, err)
		}
		got, err := decodeCalls([]byte(again))
		if err != nil || !slices.Equal(got, calls) {
			t.Errorf("decodeCalls(encodeCalls(%q)) = %q, %v", calls, got, err)
		}
	})
}

func FuzzSplitAndTokenize(f *testing.F) {
	f.Add("some words\tand\nlines 日本語 \xff\xfe", 7)
	f.Add(strings.Repeat("é", 100), 9)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = 8 + (n%1000+1000)%1000
		parts := split(text, n)
		if got := strings.Join(parts, ""); got != text {
			t.Errorf("split(%q, %d) joins to %q", text, n, got)
		}
		for _, part := range parts {
			if len(part) > n {
				t.Errorf("split(%q, %d) has a part of %d bytes", text, n, len(part))
			}
		}
		for _, term := range tokenize(text) {
			if again := tokenize(term); !slices.Equal(again, []string{term}) {
				t.Errorf("tokenize(%q) = %q, want itself", term, again)
			}
		}
	})
}

// FuzzSteps reads the steps of a window as they are stored: what is read is written again as it was, but for the form of its numbers, and what is not is an error.
func FuzzSteps(f *testing.F) {
	f.Add([]byte("1 1 2 5 3:old\n"))
	f.Add([]byte("12 1 4 -60 16:0 0 60 \x012.65\x02\n\n:\n13 4 1 -7 0:\n"))
	f.Add([]byte("1 1 2 5 9:old\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		steps, err := parseSteps(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("parseSteps(%q) = %v, want %v", b, err, ErrCorrupt)
			}
			return
		}
		var again []byte
		for i := range steps {
			again = steps[i].append(again)
		}
		if got, err := parseSteps(again); err != nil || !slices.Equal(steps, got) || len(again) > len(b) {
			t.Fatalf("parseSteps(%q) = %v, written as %q and read as %v, %v", b, steps, again, got, err)
		}
	})
}
