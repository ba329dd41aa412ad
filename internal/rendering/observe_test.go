package rendering_test

import (
	"strings"
	"testing"

	"sakur4/boundary"
	"sakur4/internal/rendering"
	"sakur4/receipt"
)

// TestMeasured fills in receipts of prompts that are not in memory.
func TestMeasured(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	made := receipt.Receipt{Turn: 2, Used: 1000, Cache: receipt.Cache{Predicted: 800}}
	first := receipt.Receipt{Turn: 1, Used: 1000}
	for _, c := range []struct {
		name     string
		r        receipt.Receipt
		m        rendering.Measurement
		status   boundary.CacheStatus
		reused   int
		drift    int
		cause    string // part of it
		doubtful bool
		nothing  bool // was measured of the cache
	}{
		{name: "as predicted", r: made, m: rendering.Measurement{Prompt: 1000, Cached: n(800)}, status: boundary.StatusPartialReuse, reused: 800},
		{name: "not reported", r: made, m: rendering.Measurement{Prompt: 1000}, status: boundary.StatusUnknown, cause: "not reported", nothing: true},
		{name: "the first one", r: first, m: rendering.Measurement{Prompt: 1000, Cached: n(0)}, status: boundary.StatusCold},
		{name: "another count", r: made, m: rendering.Measurement{Prompt: 1010, Cached: n(700)}, status: boundary.StatusPartialReuse, reused: 700, drift: 10, cause: "the server counts 1010 tokens, we 1000", doubtful: true},
		{name: "less", r: made, m: rendering.Measurement{Prompt: 1000, Cached: n(700)}, status: boundary.StatusPartialReuse, reused: 700, cause: "700 of 800 predicted tokens reused"},
		{name: "taken", r: made, m: rendering.Measurement{Prompt: 1000, Cached: n(0)}, status: boundary.StatusCold, cause: "nothing of this session was held", doubtful: true},
		{name: "more than all", r: made, m: rendering.Measurement{Prompt: 1000, Cached: n(1200)}, status: boundary.StatusPartialReuse, reused: 1000, cause: "1200 cached tokens were reported of a prompt of 1000"},
		{name: "restored", r: made, m: rendering.Measurement{Prompt: 1000, Cached: n(800), Restored: "snap_1"}, status: boundary.StatusWarmRestored, reused: 800},
		{name: "emptied", r: made, m: rendering.Measurement{Prompt: 1000, Cached: n(0), Restored: rendering.SlotEmpty}, status: boundary.StatusCold, cause: "nothing of this session", doubtful: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.r
			rendering.Measured(nil, &r, c.m)
			got := r.Cache
			if got.Status != c.status || got.Reused != c.reused || got.Drift != c.drift || got.Measured == c.nothing {
				t.Errorf("Measured(%+v) = status %v, %d reused, drift %d, measured %t; want %v, %d, %d, %t", c.m, got.Status, got.Reused, got.Drift, got.Measured, c.status, c.reused, c.drift, !c.nothing)
			}
			if !strings.Contains(got.Cause, c.cause) || c.cause == "" && got.Cause != "" {
				t.Errorf("Measured(%+v): cause %q, want %q in it", c.m, got.Cause, c.cause)
			}
			if doubtful := rendering.Doubtful(r); doubtful != c.doubtful {
				t.Errorf("Doubtful after %+v = %t, want %t", c.m, doubtful, c.doubtful)
			}
		})
	}
	if !rendering.Doubtful(made) {
		t.Error("Doubtful of what nothing was measured for = false, want true")
	}
}
