package boundary_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	points := boundary.Geometry{Kind: boundary.Points, Points: []int{1000, 4096, 9000}}
	blocks := boundary.Geometry{Kind: boundary.Blocks, Block: 128, Min: 1024}
	tail := boundary.Geometry{Kind: boundary.Points, Points: []int{1000}, Tail: 5000}
	tests := map[string]struct {
		g                     boundary.Geometry
		cut, total, tolerance int
		want                  boundary.Plan
	}{
		"any token is aligned": {boundary.Geometry{Kind: boundary.AnyToken}, 700, 1000, 0, boundary.Plan{
			Verdict: boundary.Aligned, Status: boundary.StatusPartialReuse, Cut: 700, Checkpoint: 700, Reused: 700, Prefilled: 300, Total: 1000,
			Reason: "cut at 700 is a rewind point; 300 of 1000 tokens prefilled"}},
		"unknown counts as any token": {boundary.Geometry{}, 700, 1000, 0, boundary.Plan{
			Verdict: boundary.Aligned, Status: boundary.StatusPartialReuse, Cut: 700, Checkpoint: 700, Reused: 700, Prefilled: 300, Total: 1000,
			Reason: "cut at 700 is a rewind point; 300 of 1000 tokens prefilled"}},
		"first token changed": {boundary.Geometry{Kind: boundary.AnyToken}, 0, 1000, 0, boundary.Plan{
			Verdict: boundary.FullRePrefill, Status: boundary.StatusFullRePrefill, Prefilled: 1000, Total: 1000,
			Reason: "the first token changed; 1000 of 1000 tokens prefilled"}},
		"one token is always evaluated": {boundary.Geometry{Kind: boundary.AnyToken}, 1000, 1000, 0, boundary.Plan{
			Verdict: boundary.Aligned, Status: boundary.StatusPartialReuse, Cut: 1000, Checkpoint: 1000, Reused: 999, Prefilled: 1, Total: 1000,
			Reason: "cut at 1000 is a rewind point; 1 of 1000 tokens prefilled"}},
		"on a checkpoint": {points, 4096, 6000, 0, boundary.Plan{
			Verdict: boundary.Aligned, Status: boundary.StatusPartialReuse, Cut: 4096, Checkpoint: 4096, Reused: 4096, Prefilled: 1904, Total: 6000,
			Reason: "cut at 4096 is a checkpoint; 1904 of 6000 tokens prefilled"}},
		"snapped by 511": {points, 4096 + 511, 6000, 512, boundary.Plan{
			Verdict: boundary.Snapped, Status: boundary.StatusPartialReuse, Cut: 4607, Checkpoint: 4096, Snap: 511, Reused: 4096, Prefilled: 1904, Total: 6000,
			Reason: "snapped 511 tokens back onto a checkpoint at 4096; 1904 of 6000 tokens prefilled"}},
		"snapped by 512": {points, 4096 + 512, 6000, 512, boundary.Plan{
			Verdict: boundary.Snapped, Status: boundary.StatusPartialReuse, Cut: 4608, Checkpoint: 4096, Snap: 512, Reused: 4096, Prefilled: 1904, Total: 6000,
			Reason: "snapped 512 tokens back onto a checkpoint at 4096; 1904 of 6000 tokens prefilled"}},
		"513 is too far": {points, 4096 + 513, 6000, 512, boundary.Plan{
			Verdict: boundary.PartialReuse, Status: boundary.StatusPartialReuse, Cut: 4609, Checkpoint: 4096, Snap: 513, Reused: 4096, Prefilled: 1904, Total: 6000,
			Reason: "newest checkpoint before the cut at 4609 is 4096, 513 tokens back; 1904 of 6000 tokens prefilled"}},
		"before every checkpoint": {points, 999, 6000, 0, boundary.Plan{
			Verdict: boundary.FullRePrefill, Status: boundary.StatusFullRePrefill, Cut: 999, Prefilled: 6000, Total: 6000,
			Reason: "no checkpoint at or before the cut at 999; 6000 of 6000 tokens prefilled"}},
		"no checkpoints": {boundary.Geometry{Kind: boundary.Points}, 999, 6000, 0, boundary.Plan{
			Verdict: boundary.FullRePrefill, Status: boundary.StatusFullRePrefill, Cut: 999, Prefilled: 6000, Total: 6000,
			Reason: "no checkpoint at or before the cut at 999; 6000 of 6000 tokens prefilled"}},
		"in the window that is still held": {tail, 5001, 6000, 0, boundary.Plan{
			Verdict: boundary.Aligned, Status: boundary.StatusPartialReuse, Cut: 5001, Checkpoint: 5001, Reused: 5001, Prefilled: 999, Total: 6000,
			Reason: "cut at 5001 is a checkpoint; 999 of 6000 tokens prefilled"}},
		"before the window that is still held": {tail, 4999, 6000, 0, boundary.Plan{
			Verdict: boundary.PartialReuse, Status: boundary.StatusPartialReuse, Cut: 4999, Checkpoint: 1000, Snap: 3999, Reused: 1000, Prefilled: 5000, Total: 6000,
			Reason: "newest checkpoint before the cut at 4999 is 1000, 3999 tokens back; 5000 of 6000 tokens prefilled"}},
		"floor to a block": {blocks, 1300, 2000, 0, boundary.Plan{
			Verdict: boundary.Snapped, Status: boundary.StatusPartialReuse, Cut: 1300, Checkpoint: 1280, Snap: 20, Reused: 1280, Prefilled: 720, Total: 2000,
			Reason: "snapped 20 tokens back onto a block border at 1280; 720 of 2000 tokens prefilled"}},
		"below the first block": {blocks, 1023, 2000, 0, boundary.Plan{
			Verdict: boundary.FullRePrefill, Status: boundary.StatusFullRePrefill, Cut: 1023, Prefilled: 2000, Total: 2000,
			Reason: "no block border at or before the cut at 1023; 2000 of 2000 tokens prefilled"}},
		"cut behind the end": {boundary.Geometry{Kind: boundary.AnyToken}, 50, 10, 0, boundary.Plan{
			Verdict: boundary.Aligned, Status: boundary.StatusPartialReuse, Cut: 10, Checkpoint: 10, Reused: 9, Prefilled: 1, Total: 10,
			Reason: "cut at 10 is a rewind point; 1 of 10 tokens prefilled"}},
		"nothing": {boundary.Geometry{Kind: boundary.AnyToken}, -1, -1, 0, boundary.Plan{
			Verdict: boundary.FullRePrefill, Status: boundary.StatusFullRePrefill,
			Reason: "the first token changed; 0 of 0 tokens prefilled"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := boundary.Resolve(tt.g, tt.cut, tt.total, tt.tolerance)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Resolve(%+v, %d, %d, %d) (-want +got):\n%s", tt.g, tt.cut, tt.total, tt.tolerance, d)
			}
		})
	}
}

// TestResolveLaws: whatever the geometry, a later cut never reuses less, nothing behind the cut is reused, and the sums hold.
func TestResolveLaws(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		g := boundary.Geometry{Kind: boundary.Kind(n % 4), Block: r.IntN(50), Min: r.IntN(100)}
		for p := 0; g.Kind == boundary.Points && p < 900; p += 1 + r.IntN(200) {
			g.Points = append(g.Points, p)
		}
		if r.IntN(2) == 0 {
			g.Tail = 500 + r.IntN(500)
		}
		total, before := 1+r.IntN(1000), 0
		for cut := 0; cut <= total; cut++ {
			p := boundary.Resolve(g, cut, total, 64)
			if p.Reused < before || p.Reused > cut || p.Reused > total-1 || p.Reused+p.Prefilled != total ||
				(p.Reused == 0) != (p.Verdict == boundary.FullRePrefill) || p.Snap < 0 {
				t.Fatalf("Resolve(%+v, %d, %d, 64) = %+v after reusing %d one token earlier", g, cut, total, p, before)
			}
			before = p.Reused
		}
	}
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	tests := map[string]struct {
		cached         *int
		held, restored bool
		trivial        int
		want           boundary.CacheStatus
	}{
		"not reported":               {nil, true, false, 0, boundary.StatusUnknown},
		"first request":              {n(0), false, false, 0, boundary.StatusCold},
		"only the template's opener": {n(3), false, false, 3, boundary.StatusCold},
		"held and lost":              {n(0), true, false, 0, boundary.StatusFullRePrefill},
		"held, the opener reused":    {n(3), true, false, 3, boundary.StatusFullRePrefill},
		"restored and lost":          {n(0), false, true, 0, boundary.StatusFullRePrefill},
		"reused":                     {n(4), true, false, 3, boundary.StatusPartialReuse},
		"restored and reused":        {n(400), true, true, 3, boundary.StatusWarmRestored},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := boundary.StatusOf(tt.cached, tt.held, tt.restored, tt.trivial); got != tt.want {
				t.Errorf("StatusOf(%v, %t, %t, %d) = %v, want %v", tt.cached, tt.held, tt.restored, tt.trivial, got, tt.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	verdicts := []string{"aligned", "snapped", "partial-reuse", "full-re-prefill"}
	for i, name := range verdicts {
		v := boundary.Verdict(i + 1)
		var back boundary.Verdict
		text, err := v.MarshalText()
		if err != nil || string(text) != name || v.String() != name || back.UnmarshalText(text) != nil || back != v {
			t.Errorf("Verdict(%d): MarshalText() = %q, %v, String() = %q, back %v, want %q", i+1, text, err, v, back, name)
		}
	}
	statuses := []string{"unknown", "cold", "full-re-prefill", "partial-reuse", "warm-restored"}
	for i, name := range statuses {
		s := boundary.CacheStatus(i)
		var back boundary.CacheStatus
		text, err := s.MarshalText()
		if err != nil || string(text) != name || s.String() != name || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("CacheStatus(%d): MarshalText() = %q, %v, String() = %q, back %v, want %q", i, text, err, s, back, name)
		}
	}
	for _, v := range []boundary.Verdict{0, 5, -1} {
		if text, err := v.MarshalText(); err == nil {
			t.Errorf("Verdict(%d).MarshalText() = %q, want an error", int(v), text)
		}
	}
	for _, s := range []boundary.CacheStatus{-1, 5} {
		if text, err := s.MarshalText(); err == nil {
			t.Errorf("CacheStatus(%d).MarshalText() = %q, want an error", int(s), text)
		}
	}
	var v boundary.Verdict
	if err := v.UnmarshalText([]byte("warm-restored")); err == nil {
		t.Errorf("UnmarshalText(warm-restored) gave verdict %v, want an error", v)
	}
	var s boundary.CacheStatus
	if err := s.UnmarshalText([]byte("aligned")); err == nil {
		t.Errorf("UnmarshalText(aligned) gave status %v, want an error", s)
	}
}

func TestUserStarts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prompt, header []int32
		want           []int
	}{
		"two":         {[]int32{9, 1, 2, 5, 1, 3, 1, 2}, []int32{1, 2}, []int{1, 6}},
		"cut off":     {[]int32{9, 1}, []int32{1, 2}, nil},
		"no header":   {[]int32{9, 1}, nil, nil},
		"overlapping": {[]int32{1, 1, 1, 1}, []int32{1, 1}, []int{0, 2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, boundary.UserStarts(tt.prompt, tt.header)); d != "" {
				t.Errorf("UserStarts(%v, %v) (-want +got):\n%s", tt.prompt, tt.header, d)
			}
		})
	}
}
