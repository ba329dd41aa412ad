package receipt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/receipt"
)

func TestLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		receipt receipt.Receipt
		want    string
	}{
		{"compacted", sample(), "turn 12: 13450 of 32768 tokens (41 %), compacted (snapped), cache partial-reuse: 12287 reused (91 %), 1163 prefilled in 412 ms"},
		{"not reported", receipt.Receipt{Turn: 3, Window: 1000, Used: 250, Cache: receipt.Cache{Predicted: 200}},
			"turn 3: 250 of 1000 tokens (25 %), cache unknown: reuse not reported, 200 predicted"},
		{"nothing reused", receipt.Receipt{Turn: 1, Window: 1000, Used: 250, Cache: receipt.Cache{Status: boundary.StatusCold, Measured: true, Prefilled: 250}},
			"turn 1: 250 of 1000 tokens (25 %), cache cold: 0 reused (0 %), 250 prefilled"},
		{"nearly all is not all", receipt.Receipt{Turn: 9, Window: 100000, Used: 99999, Cache: receipt.Cache{Status: boundary.StatusPartialReuse, Measured: true, Reused: 99998, Prefilled: 1, Millis: 3.25}},
			"turn 9: 99999 of 100000 tokens (99 %), cache partial-reuse: 99998 reused (99 %), 1 prefilled in 3.2 ms"},
		{"zero", receipt.Receipt{}, "turn 0: 0 of 0 tokens (-), cache unknown: reuse not reported, 0 predicted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.receipt.Line(); got != test.want {
				t.Errorf("Line() = %q, want %q", got, test.want)
			}
		})
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	want := strings.TrimPrefix(`
turn 12: 13450 of 32768 tokens (41 %), compacted (snapped), cache partial-reuse: 12287 reused (91 %), 1163 prefilled in 412 ms
  session s1, window win_7, 41 messages, 2 compactions, 1 control mark made harmless
  system                 1200    8 %  ████
  tools                  2400   17 %  ████████
  pins                     60    0 %  ▎
  repo map                  0    0 %
  recalled notes            0    0 %
  fold summaries            0    0 %
  stubs                   480    3 %  █▋
  raw history            9000   66 %  ██████████████████████████████
  template overhead       310    2 %  █
  cache             partial-reuse, cut snapped: boundary 12400, checkpoint 12288, snap 112
  predicted         12288 reused, 1162 prefilled
  measured          12287 reused, 1163 prefilled
  server counts     13450 tokens, drift +0
  prompt time       412 ms
  reason            snapped 112 tokens back onto a checkpoint at 12288
  counted by        o200k_base, backend llama.cpp
  floor             keep recent
  note              a pin arrived after everything was sent`, "\n")
	if diff := cmp.Diff(want, sample().String()); diff != "" {
		t.Errorf("String() (-want +got):\n%s", diff)
	}
}

// TestStringOfUnknown: what was not reported is said to be so, and text from outside makes no lines of its own.
func TestStringOfUnknown(t *testing.T) {
	t.Parallel()
	got := receipt.Receipt{Session: "a\nb", Cache: receipt.Cache{Cause: "x\x1b[2J\ny", Shifted: true}, Notes: []string{"first\nsecond"}}.String()
	want := strings.TrimPrefix(`
turn 0: 0 of 0 tokens (-), cache unknown: reuse not reported, 0 predicted
  session a b, window , 0 messages, 0 compactions
  cache             unknown, kept tokens moved by the server (approximate)
  predicted         0 reused, 0 prefilled
  measured          not reported
  server counts     not reported
  prompt time       not reported
  cause             x [2J y
  counted by        unknown, backend unknown
  note              first second`, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("String() (-want +got):\n%s", diff)
	}
}
