package store

import (
	"encoding/base64"
	"strings"
	"testing"

	"sakur4/evict"
)

func TestReasonsAreShortened(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, stored string
	}{
		{"tier live → masked (value 2.65, 7 tokens reclaimed)", "\x012.65\x02"},
		{"tier live → masked (value 2.65, superseded, 7 tokens reclaimed)", "\x012.65, superseded\x02"},
		{"tier live → masked (value 2.65, 8 tokens reclaimed)", "\x012.65, 8 tokens reclaimed)"},
		{"tier live → masked (value 2.65, 7 tokens reclaimed), after all", "\x012.65, 7 tokens reclaimed), after all"},
		{"tier masked → referenced (value 1, 7 tokens reclaimed)", "tier masked → referenced (value 1, 7 tokens reclaimed)"},
		{"tier live → masked (value 1\x02", "tier live → masked (value 1\x02"},
		{"asked for again", "asked for again"},
		{"", ""},
		{"\x01", "\x00\x01"},
		{"\x00x", "\x00\x00x"},
	} {
		got := encodeReason(test.reason, evict.Live, evict.Masked, 7)
		if got != test.stored {
			t.Errorf("encodeReason(%q) = %q, want %q", test.reason, got, test.stored)
		}
		if back := decodeReason(got, evict.Live, evict.Masked, 7); back != test.reason {
			t.Errorf("decodeReason(%q) = %q, want %q", got, back, test.reason)
		}
	}
}

func FuzzReasonRoundTrips(f *testing.F) {
	f.Add("tier live → masked (value 2.65, 0 tokens reclaimed)", 1, 0)
	f.Add("\x01\x02", 2, -5)
	f.Fuzz(func(t *testing.T, reason string, from, tokens int) {
		a, b := evict.Tier(from), evict.Tier(from+1)
		if got := decodeReason(encodeReason(reason, a, b, tokens), a, b, tokens); got != reason {
			t.Errorf("decodeReason(encodeReason(%q, %v, %d)) = %q", reason, a, tokens, got)
		}
	})
}

// TestOldReceiptsInflate reads what the first version deflated: the dictionary must go on giving its words.
func TestOldReceiptsInflate(t *testing.T) {
	t.Parallel()
	stored, err := base64.StdEncoding.DecodeString(oldReceipt)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"receipt":{"session":"s","id":"win_ff","turn":7,"window":4096,"parts":[{"category":"system","tokens":12}],"cache":{"status":"cold","reused":null}}}`
	if got, err := inflate(stored); err != nil || got != want {
		t.Errorf("inflate() = %q, %v, want %q", got, err, want)
	}
}

func FuzzReceiptRoundTrips(f *testing.F) {
	f.Add(receiptWords)
	f.Add("")
	f.Add(strings.Repeat("x", 1000))
	s := &Store{}
	f.Fuzz(func(t *testing.T, body string) {
		stored, err := s.deflate(body)
		if err != nil {
			t.Fatalf("deflate(%q) = %v", body, err)
		}
		if stored == nil {
			return // it is stored as it is
		}
		if len(stored) >= len(body) {
			t.Errorf("deflate(%q) has %d bytes of %d", body, len(stored), len(body))
		}
		if got, err := inflate(stored); err != nil || got != body {
			t.Errorf("inflate(deflate(%q)) = %q, %v", body, got, err)
		}
	})
}

func FuzzInflate(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xff, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := inflate(b); len(text) > 0 && err != nil {
			t.Errorf("inflate(%x) = %q and %v", b, text, err)
		}
	})
}

// oldReceipt is a body as version 1 of the schema has it.
const oldReceipt = "wpF9i5Hzbhoit5ojMqOJgaUZsbnK0Ah7aoGXMojwrK2tBQQAAP//"
