package receipt_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"sakur4/receipt"
)

var update = flag.Bool("update", false, "write testdata/*.svg instead of comparing them")

func TestWriteSVG(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		receipts []receipt.Receipt
		want     []string
	}{
		{"none", nil, []string{"no turns"}},
		{"one", []receipt.Receipt{sample()}, []string{"Session s1", "1 turn, 1 compaction, 91 % of the prompt tokens reused"}},
		{"session", session(60), []string{"Session refactor &lt;store&gt; &amp; friends", "reuse of 3 turns not reported", ">compaction<"}},
		{"long", session(4000), []string{"4000 turns"}},
		{"nothing known", []receipt.Receipt{{}, {}}, []string{"reuse of 2 turns not reported"}},
		{"harmful names", []receipt.Receipt{{Session: "a\x00b\xff]]>\n<script>"}}, []string{"a b\ufffd]]&gt; &lt;script&gt;"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var first, second bytes.Buffer
			if err := receipt.WriteSVG(&first, test.receipts); err != nil {
				t.Fatalf("WriteSVG = %v", err)
			}
			if err := receipt.WriteSVG(&second, test.receipts); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("WriteSVG twice: %v, want the same bytes", err)
			}
			dec := xml.NewDecoder(bytes.NewReader(first.Bytes()))
			for {
				if _, err := dec.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("WriteSVG wrote malformed XML: %v", err)
				}
			}
			for _, want := range test.want {
				if !strings.Contains(first.String(), want) {
					t.Errorf("WriteSVG wrote no %q", want)
				}
			}
			marks := 0
			for _, r := range test.receipts {
				if r.Compacted {
					marks++
				}
			}
			if got := strings.Count(first.String(), `class="compaction"`); got != marks {
				t.Errorf("WriteSVG marked %d compactions, want %d", got, marks)
			}
		})
	}
}

// TestWriteSVGGolden compares a picture with the one that was looked at.
func TestWriteSVGGolden(t *testing.T) {
	t.Parallel()
	const file = "testdata/session.svg"
	var got bytes.Buffer
	if err := receipt.WriteSVG(&got, session(60)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("WriteSVG differs from %s (%d bytes, want %d); look at the new picture, then run with -update", file, got.Len(), len(want))
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }

func TestWriteSVGReportsErrors(t *testing.T) {
	t.Parallel()
	if err := receipt.WriteSVG(fullDisk{}, session(3)); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("WriteSVG to a full disk = %v, want its error", err)
	}
}
