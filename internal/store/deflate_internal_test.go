package store

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDeflate has bodies of all kinds read by compress/flate again, and compares their sizes with what that makes of a receipt.
func TestDeflate(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	receipt := `{"receipt":{"session":"main","id":"` + windowMark + `","turn":417,"generation":3,"compacted":false,"window":131072,"used":71293,"new":205,"messages":1238,"escaped_marks":0,` +
		`"parts":[{"category":"system","tokens":19},{"category":"tools","tokens":1804},{"category":"pins","tokens":0},{"category":"repo map","tokens":0},` +
		`{"category":"recalled notes","tokens":0},{"category":"fold summaries","tokens":0},{"category":"stubs","tokens":187},{"category":"raw history","tokens":25342},` +
		`{"category":"template overhead","tokens":45745}],"cache":{"status":"partial-reuse","verdict":null,"boundary":71088,"checkpoint":0,"snap":0,"predicted":71088,"reused":71088,` +
		`"prefilled":205,"prompt":71293,"drift":0,"millis":18.25,"reason":"cut at 71088 is a rewind point; 205 of 71293 tokens prefilled","shifted":false},` +
		`"tokenizer":"llama.cpp:021be9c2","backend":"llama.cpp b11669"},"usage":{"Window":"","PromptTokens":71293,"CachedTokens":71088}}`
	bodies := []string{"", "a", "ab", strings.Repeat("a", 3), strings.Repeat("a", 1000), receiptWords, receiptWords[1:], receipt, strings.Repeat(receipt, 50), "naïve \x00\xff\x90" + receipt}
	for range 300 {
		b := []byte(receipt[:random.IntN(len(receipt))])
		for range random.IntN(40) {
			at := random.IntN(len(b) + 1)
			switch random.IntN(3) {
			case 0:
				b = append(b[:at:at], append([]byte{byte(random.IntN(256))}, b[at:]...)...)
			case 1:
				b = b[:at]
			default:
				b = append(b, receiptWords[min(at, len(receiptWords)):]...)
			}
		}
		bodies = append(bodies, string(b))
	}
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte('a' + random.IntN(3))
	}
	for _, body := range append(bodies, string(noise)) {
		b := deflate(body)
		if b == nil {
			if len(body) > 200 {
				t.Errorf("deflate(%.60q…), %d bytes, is not shorter", body, len(body))
			}
			continue
		}
		if got, err := inflate(b); err != nil || got != body || len(b) >= len(body) {
			t.Fatalf("inflate(deflate(%.60q…)) = %.60q…, %v, of %d bytes for %d", body, got, err, len(b), len(body))
		}
	}
	var usual bytes.Buffer
	w, err := flate.NewWriterDict(&usual, flate.DefaultCompression, []byte(receiptWords))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, receipt); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := len(deflate(receipt))
	t.Logf("a receipt of %d bytes takes %d, by compress/flate %d", len(receipt), got, usual.Len())
	if got > usual.Len()*11/10 {
		t.Errorf("a receipt of %d bytes takes %d, by compress/flate %d", len(receipt), got, usual.Len())
	}
}

func BenchmarkDeflate(b *testing.B) {
	body := strings.Replace(receiptWords[strings.Index(receiptWords, `{"receipt"`):], "1021", fmt.Sprint(2048), 3)
	b.ReportAllocs()
	for b.Loop() {
		if deflate(body) == nil {
			b.Fatal("not shorter")
		}
	}
}
