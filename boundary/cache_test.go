package boundary_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/boundary"
)

// run returns n tokens from first on.
func run(first, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(first + i)
	}
	return out
}

func join(parts ...[]int32) []int32 {
	var out []int32
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func fullAttention() boundary.Profile {
	return boundary.Profile{Geometry: boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1}}
}

func sliding(rule boundary.CheckpointRule) boundary.Profile {
	return boundary.Profile{Geometry: boundary.Geometry{Kind: boundary.Points}, Rule: &rule}
}

func TestCacheFullAttention(t *testing.T) {
	t.Parallel()
	old := run(0, 1000)
	tests := map[string]struct {
		prompt []int32
		reuse  int
		want   boundary.Reuse
	}{
		"append":     {join(old, run(5000, 100)), 0, boundary.Reuse{Common: 1000, Reused: 1000, Held: true}},
		"same again": {old, 0, boundary.Reuse{Common: 1000, Reused: 999, Held: true}},
		"shorter":    {old[:400], 0, boundary.Reuse{Common: 400, Reused: 399, Held: true}},
		"changed":    {join(old[:300], run(5000, 50), old[350:]), 0, boundary.Reuse{Common: 300, Reused: 300, Held: true}},
		"other":      {run(7000, 50), 0, boundary.Reuse{Held: true}},
		"empty":      {nil, 0, boundary.Reuse{Held: true}},
		"deleted":    {join(old[:300], old[500:]), 0, boundary.Reuse{Common: 300, Reused: 300, Held: true}},
		"deleted, moved": {join(old[:300], old[500:], run(5000, 10)), 64,
			boundary.Reuse{Common: 300, Reused: 800, Shifted: 500, Held: true}},
		"two gaps, moved": {join(old[:300], old[400:600], old[700:], run(5000, 10)), 64,
			boundary.Reuse{Common: 300, Reused: 800, Shifted: 500, Held: true}},
		"run shorter than asked ends it": {join(old[:300], old[400:450], old[700:], run(5000, 10)), 64,
			boundary.Reuse{Common: 300, Reused: 300, Held: true}},
		"a changed token ends it": {join(old[:300], old[500:700], run(9000, 1), old[701:]), 64,
			boundary.Reuse{Common: 300, Reused: 500, Shifted: 200, Held: true}},
		"all moved but the last token": {join(old[:300], old[500:]), 64,
			boundary.Reuse{Common: 300, Reused: 799, Shifted: 500, Held: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := boundary.NewCache(fullAttention())
			c.Accept(old, nil, 0)
			if d := cmp.Diff(tt.want, c.Predict(tt.prompt, tt.reuse)); d != "" {
				t.Errorf("Predict(%d tokens, %d) (-want +got):\n%s", len(tt.prompt), tt.reuse, d)
			}
		})
	}
}

func TestCacheColdAndReset(t *testing.T) {
	t.Parallel()
	c := boundary.NewCache(fullAttention())
	if got := c.Predict(run(0, 10), 0); got != (boundary.Reuse{}) {
		t.Errorf("Predict() on an empty slot = %+v, want zero", got)
	}
	c.Accept(run(0, 10), nil, 0)
	c.Generated(run(10, 5))
	if got, want := c.Predict(run(0, 30), 0).Reused, 15; got != want {
		t.Errorf("Predict() after a reply = %d reused, want %d", got, want)
	}
	c.Reset()
	if got := c.Predict(run(0, 30), 0); got != (boundary.Reuse{}) {
		t.Errorf("Predict() after Reset = %+v, want zero", got)
	}
}

// TestCacheSlidingTrace replays what a real server did (gemma3, window 512, -ub 512, -cms 1024), with its own numbers.
func TestCacheSlidingTrace(t *testing.T) {
	t.Parallel()
	first := run(0, 192)
	second := join(first[:192], run(1000, 82))
	third := join(second[:274], run(3000, 1642))
	fifth := join(third, run(9000, 2463))
	steps := []struct {
		prompt []int32
		users  []int
		reused int
		made   []int
	}{
		{first, []int{64}, 0, []int{64, 188}},
		{second, []int{64, 225}, 187, []int{187, 225, 270}},
		{third, []int{64, 225, 307}, 269, []int{307, 1400, 1912}},
		{third, []int{64, 225, 307}, 1915, []int{1915}},
		{fifth, []int{64, 225, 307, 1968}, 1916, []int{1968, 3863, 4375}},
	}
	c := boundary.NewCache(sliding(boundary.CheckpointRule{Window: 512, Spacing: 1024}))
	for i, s := range steps {
		if got := c.Predict(s.prompt, 0).Reused; got != s.reused {
			t.Errorf("step %d: Predict(%d tokens) = %d reused, want %d", i, len(s.prompt), got, s.reused)
		}
		c.Accept(s.prompt, s.users, 0)
		if m := c.Observe(s.reused, s.reused); m != (boundary.Mismatch{}) {
			t.Errorf("step %d: Observe() = %+v, want as predicted", i, m)
		}
		var made []int
		for _, p := range c.State().Checkpoints {
			if p.Task == i+1 {
				made = append(made, p.Tokens)
			}
		}
		if d := cmp.Diff(s.made, made); d != "" {
			t.Errorf("step %d: checkpoints made (-want +got):\n%s", i, d)
		}
	}
}

func TestCacheRecurrent(t *testing.T) {
	t.Parallel()
	c := boundary.NewCache(sliding(boundary.CheckpointRule{}))
	old := run(0, 3000)
	c.Accept(old, []int{100, 2000}, 0)
	tests := map[string]struct {
		prompt []int32
		want   boundary.Reuse
	}{
		"append is free":                 {join(old, run(9000, 10)), boundary.Reuse{Common: 3000, Reused: 3000, Held: true}},
		"one token less needs a point":   {join(old[:2999], run(9000, 10)), boundary.Reuse{Common: 2999, Reused: 2996, Checkpoint: 2996, Held: true}},
		"back to before the last ubatch": {join(old[:2990], run(9000, 10)), boundary.Reuse{Common: 2990, Reused: 2484, Checkpoint: 2484, Held: true}},
		"back to the newest user":        {join(old[:2400], run(9000, 10)), boundary.Reuse{Common: 2400, Reused: 2000, Checkpoint: 2000, Held: true}},
		"back to the first user":         {join(old[:1900], run(9000, 10)), boundary.Reuse{Common: 1900, Reused: 100, Checkpoint: 100, Held: true}},
		"nothing left":                   {join(old[:99], run(9000, 10)), boundary.Reuse{Common: 99, Held: true}},
	}
	for name, tt := range tests {
		if d := cmp.Diff(tt.want, c.Predict(tt.prompt, 0)); d != "" {
			t.Errorf("%s: Predict() (-want +got):\n%s", name, d)
		}
	}
}

// history is a random prompt that grows and is cut, with its user starts.
type history struct {
	r      *rand.Rand
	prompt []int32
	users  []int
	next   int
}

func (h *history) grow(most int) {
	h.users = append(h.users, len(h.prompt))
	n := 2 + h.r.IntN(most)
	h.prompt = append(h.prompt[:len(h.prompt):len(h.prompt)], run(h.next, n)...)
	h.next += n
}

// cut takes tokens out of the middle.
func (h *history) cut() {
	if len(h.prompt) < 50 {
		return
	}
	h.cutFrom(1 + h.r.IntN(len(h.prompt)-2))
}

// cutFrom takes tokens out from a position on.
func (h *history) cutFrom(from int) {
	to := from + 1 + h.r.IntN(len(h.prompt)-from-1)
	h.prompt = join(h.prompt[:from], h.prompt[to:])
	var users []int
	for _, u := range h.users {
		switch {
		case u < from:
			users = append(users, u)
		case u >= to:
			users = append(users, u-to+from)
		}
	}
	h.users = users
}

func rules() []boundary.CheckpointRule {
	return []boundary.CheckpointRule{
		{Window: 512, Spacing: 256}, {Window: 512, Spacing: 1024, Ubatch: 256}, {Window: 128, Spacing: 64, Max: 5, Ubatch: 64}, {}, {Spacing: 100, Max: 4}, {Window: 1024},
	}
}

// TestCacheLaws runs random prompts through every kind of cache.
func TestCacheLaws(t *testing.T) {
	t.Parallel()
	profiles := []boundary.Profile{fullAttention(), {}, {Geometry: boundary.Geometry{Kind: boundary.Blocks, Block: 16, Min: 32}}}
	for _, r := range rules() {
		profiles = append(profiles, sliding(r))
	}
	for i, p := range profiles {
		t.Run(fmt.Sprintf("%v-%d", p.Geometry.Kind, i), func(t *testing.T) {
			t.Parallel()
			h := &history{r: rand.New(rand.NewPCG(uint64(i), 5))}
			c := boundary.NewCache(p)
			cuts, equal, reply := 0, 0, 0
			for n := range 150 {
				if h.r.IntN(4) == 0 {
					h.cut()
				} else {
					h.grow(600)
				}
				if len(h.prompt) == 0 {
					continue
				}
				before := c.State()
				got := c.Predict(h.prompt, 0)
				if d := cmp.Diff(before, c.State()); d != "" {
					t.Fatalf("seed %d step %d: Predict() changed the cache (-before +after):\n%s", i, n, d)
				}
				if got.Reused > got.Common || got.Reused >= len(h.prompt) || got.Reused < 0 {
					t.Fatalf("seed %d step %d: Predict(%d tokens) = %+v", i, n, len(h.prompt), got)
				}
				if p.Geometry.Kind == boundary.AnyToken {
					if moved := c.Predict(h.prompt, 16); moved.Reused < got.Reused || moved.Common != got.Common {
						t.Fatalf("seed %d step %d: Predict() with shift = %+v, without %+v", i, n, moved, got)
					}
				}
				if got.Common > 0 && got.Common+reply < len(h.prompt) {
					plan := boundary.Resolve(c.Geometry(), got.Common, len(h.prompt), 0)
					cuts++
					if plan.Reused == got.Reused {
						equal++
					}
					if plan.Reused > got.Reused {
						t.Fatalf("seed %d step %d: Resolve(%+v, %d, %d) reuses %d, Predict() = %+v", i, n, c.Geometry(), got.Common, len(h.prompt), plan.Reused, got)
					}
				}
				c.Accept(h.prompt, h.users, 0)
				if m := c.Observe(got.Reused, got.Reused); m != (boundary.Mismatch{}) {
					t.Fatalf("seed %d step %d: Observe(%d, %d) = %+v", i, n, got.Reused, got.Reused, m)
				}
				reply = 0
				if h.r.IntN(3) == 0 {
					// The reply becomes part of the history, or is not known.
					if h.r.IntN(2) == 0 {
						reply := run(h.next, 1+h.r.IntN(40))
						h.next += len(reply)
						c.Generated(reply)
						h.prompt = join(h.prompt, reply)
					} else {
						reply = h.r.IntN(40)
						c.GeneratedCount(reply)
					}
				}
			}
			if equal < cuts*95/100 {
				t.Errorf("Resolve() over Geometry() is what Predict() says at %d of %d cuts, want 95 %%", equal, cuts)
			}
		})
	}
}

// TestCacheStateRestores: a cache that went through JSON predicts what the original predicts.
func TestCacheStateRestores(t *testing.T) {
	t.Parallel()
	for i, rule := range rules() {
		p := sliding(rule)
		h := &history{r: rand.New(rand.NewPCG(uint64(i), 6))}
		c := boundary.NewCache(p)
		for range 60 {
			if h.r.IntN(4) == 0 {
				h.cut()
			} else {
				h.grow(500)
			}
			if len(h.prompt) == 0 {
				continue
			}
			predicted := c.Predict(h.prompt, 0).Reused
			c.Accept(h.prompt, h.users, 0)
			c.GeneratedCount(h.r.IntN(20))
			raw, err := json.Marshal(c.State())
			if err != nil {
				t.Fatalf("Marshal(State()) = %v", err)
			}
			var s boundary.CacheState
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatalf("Unmarshal(%s) = %v", raw, err)
			}
			restored := boundary.RestoreCache(p, s)
			if got := restored.Predict(h.prompt, 0); got != (boundary.Reuse{Held: true}) {
				t.Fatalf("Predict() before Hold = %+v, want nothing reused", got)
			}
			if err := restored.Hold(h.prompt[:len(h.prompt)-1]); err == nil {
				t.Fatalf("Hold() of other tokens = nil, want an error")
			}
			if d := cmp.Diff(s, restored.State()); d != "" {
				t.Fatalf("State() before Hold (-want +got):\n%s", d)
			}
			if err := restored.Hold(h.prompt); err != nil {
				t.Fatalf("Hold() = %v", err)
			}
			if d := cmp.Diff(s, restored.State()); d != "" {
				t.Fatalf("State() after Hold (-want +got):\n%s", d)
			}
			if err := restored.Hold(run(1<<20, 5)); err == nil {
				t.Fatalf("Hold() of other tokens again = nil, want an error")
			}
			// What is measured after the restart corrects it all the same.
			measured := predicted
			if h.r.IntN(3) == 0 {
				measured = h.r.IntN(predicted + 1)
			}
			if want, got := c.Observe(predicted, measured), restored.Observe(predicted, measured); got != want {
				t.Fatalf("Observe(%d, %d) of a restored cache = %+v, want %+v", predicted, measured, got, want)
			}
			if d := cmp.Diff(c.State(), restored.State(), cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("State() after Observe(%d, %d) (-want +got):\n%s", predicted, measured, d)
			}
			if restored.Unobserved() {
				t.Fatalf("Unobserved() = true after Observe()")
			}
			c = restored
		}
	}
}

// TestCacheNoticesWrongShape: a cache with a wrong shape or wrong settings learns the right ones, or stops trusting its rules after three mismatches in a
// row; from then on the server never reuses less than predicted, and appends stay free but for the five tokens that a short prompt may cost.
func TestCacheNoticesWrongShape(t *testing.T) {
	t.Parallel()
	truth := []boundary.CheckpointRule{{Window: 512}, {Spacing: 4096}, {Window: 200, Spacing: 2048, Ubatch: 100, Max: 23}, {Window: 777, Spacing: 512}}
	believed := []boundary.Profile{sliding(boundary.CheckpointRule{Window: 512, Spacing: 64, Ubatch: 2048}), fullAttention(), {}}
	noticed, learned, free, breaks := 0, 0, 0, 0
	for i, rule := range truth {
		for j, p := range believed {
			h := &history{r: rand.New(rand.NewPCG(uint64(i), uint64(j)))}
			server, c := boundary.NewCache(sliding(rule)), boundary.NewCache(p)
			var last boundary.Mismatch
			said := false
			for n := range 80 {
				if n > 5 && h.r.IntN(3) == 0 {
					h.cut()
				} else {
					h.grow(900)
				}
				predicted, measured := c.Predict(h.prompt, 0), server.Predict(h.prompt, 0)
				server.Accept(h.prompt, h.users, 0)
				c.Accept(h.prompt, h.users, 0)
				distrust := last.Distrust
				if distrust && measured.Reused < predicted.Reused {
					t.Errorf("server %d, model %d, step %d: predicted %+v, measured %+v after distrust", i, j, n, predicted, measured)
				}
				if distrust && predicted.Reused > 0 && predicted.Reused < predicted.Common {
					breaks++
				}
				if distrust && predicted.Common > 5 && predicted.Reused == predicted.Common-5 {
					free++
				}
				if m := c.Observe(predicted.Reused, measured.Reused); m != (boundary.Mismatch{}) {
					if m.Distrust && !distrust && m.InARow < 3 {
						t.Errorf("server %d, model %d, step %d: Observe() = %+v: distrust before the third mismatch", i, j, n, m)
					}
					last = m
					said = said || m.Distrust || m.Learned
				}
			}
			if said {
				noticed++
			}
			if c.Learned() != nil {
				learned++
			}
		}
	}
	if want := len(truth) * len(believed); noticed != want {
		t.Errorf("%d of %d caches noticed that their settings are wrong", noticed, want)
	}
	if free == 0 || breaks == 0 || learned == 0 {
		t.Errorf("%d learned; after distrust %d appends were free and %d breaks reused something, want some of each", learned, free, breaks)
	}
}

// TestCacheShiftRefused: a server that moves nothing is found out at once where it reuses the common prefix to the token, at the second time where
// another client may have had the slot; from then on no shift is predicted, also by a cache restored from the state.
func TestCacheShiftRefused(t *testing.T) {
	t.Parallel()
	old := run(0, 1000)
	for _, tt := range []struct {
		name     string
		measured []int // of each request that deletes
		refused  int   // the request that shows it, -1 for none
	}{
		{"moved", []int{900, 800, 700}, -1},
		{"prefix alone", []int{500}, 0},
		{"less than the prefix, then moved", []int{3, 800, 3}, -1},
		{"less than the prefix twice", []int{3, 3}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := boundary.NewCache(fullAttention())
			prompt := old
			c.Accept(prompt, nil, 0)
			refused := -1
			for i, measured := range tt.measured {
				prompt = join(prompt[:500], prompt[600:])
				want := c.Predict(prompt, 64)
				c.Accept(prompt, nil, 64)
				if m := c.Observe(want.Reused, min(measured, len(prompt)-1)); m.NoShift && refused < 0 {
					refused = i
				}
			}
			if refused != tt.refused {
				t.Errorf("NoShift at request %d, want %d", refused, tt.refused)
			}
			again := boundary.RestoreCache(fullAttention(), c.State())
			if err := again.Hold(prompt); err != nil {
				t.Fatal(err)
			}
			next := join(prompt[:100], prompt[200:])
			for _, c := range []*boundary.Cache{c, again} {
				if got := c.Predict(next, 64).Shifted > 0; got != (tt.refused < 0) || c.Geometry().Shift != got {
					t.Errorf("a shift is predicted: %t, Geometry() = %+v", got, c.Geometry())
				}
			}
		})
	}
}

func TestCacheObserve(t *testing.T) {
	t.Parallel()
	old := run(0, 1000)
	accept := func(p boundary.Profile, prompt []int32) *boundary.Cache {
		c := boundary.NewCache(p)
		c.Accept(old, []int{10}, 0)
		c.GeneratedCount(20)
		c.Accept(prompt, []int{10}, 0)
		return c
	}
	grown := join(old, run(5000, 100))
	tests := map[string]struct {
		profile             boundary.Profile
		prompt              []int32
		predicted, measured int
		want                boundary.Mismatch
	}{
		"as predicted":               {fullAttention(), grown, 1000, 1000, boundary.Mismatch{}},
		"reply as generated":         {fullAttention(), grown, 1000, 1020, boundary.Mismatch{}},
		"and one token more":         {fullAttention(), grown, 1000, 1021, boundary.Mismatch{}},
		"more than the reply":        {fullAttention(), grown, 1000, 1022, boundary.Mismatch{Predicted: 1000, Measured: 1022, Reason: "the server reused 22 tokens more than predicted"}},
		"one token less":             {fullAttention(), grown, 1000, 999, boundary.Mismatch{Predicted: 1000, Measured: 999, InARow: 1, Reason: "999 of 1000 predicted tokens reused: the slot was taken in between, or the template rewrote history"}},
		"slot taken":                 {fullAttention(), grown, 1000, 0, boundary.Mismatch{Predicted: 1000, InARow: 1, Reason: "0 of 1000 predicted tokens reused: the slot was empty, taken by another request, or no rewind point was left"}},
		"one more than at a break":   {fullAttention(), join(old[:500], run(6000, 9)), 500, 501, boundary.Mismatch{Predicted: 500, Measured: 501, Reason: "the server reused 1 tokens more than predicted"}},
		"reply in other tokens":      {sliding(boundary.CheckpointRule{}), grown, 1000, 996, boundary.Mismatch{Predicted: 1000, Measured: 996, InARow: 1, Reason: "996 of 1000 predicted tokens reused: the last reply reads back in other tokens, so the server went back to a checkpoint"}},
		"a checkpoint was not there": {sliding(boundary.CheckpointRule{}), join(old[:998], run(6000, 9)), 996, 484, boundary.Mismatch{Predicted: 996, Measured: 484, InARow: 1, Reason: "484 of 996 predicted tokens reused: an expected checkpoint was not there"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := accept(tt.profile, tt.prompt)
			if d := cmp.Diff(tt.want, c.Observe(tt.predicted, tt.measured)); d != "" {
				t.Errorf("Observe(%d, %d) (-want +got):\n%s", tt.predicted, tt.measured, d)
			}
		})
	}
	t.Run("nothing accepted", func(t *testing.T) {
		t.Parallel()
		c := boundary.NewCache(fullAttention())
		if got := c.Observe(0, 0); got != (boundary.Mismatch{}) {
			t.Errorf("Observe(0, 0) = %+v, want zero", got)
		}
		if got := c.Observe(5, 0); got.Reason == "" {
			t.Errorf("Observe(5, 0) = %+v, want a reason", got)
		}
	})
}

// TestCacheObserveCorrects: after a measurement the model goes on from what the server really did.
func TestCacheObserveCorrects(t *testing.T) {
	t.Parallel()
	p := sliding(boundary.CheckpointRule{Window: 512, Spacing: 256})
	h := &history{r: rand.New(rand.NewPCG(3, 4))}
	server, c := boundary.NewCache(p), boundary.NewCache(p)
	wrong := 0
	for n := range 200 {
		if h.r.IntN(3) == 0 {
			h.cut()
		} else {
			h.grow(700)
		}
		if n%40 == 39 {
			server.Reset() // restarted, and nobody told the model
		}
		predicted, measured := c.Predict(h.prompt, 0).Reused, server.Predict(h.prompt, 0).Reused
		if predicted != measured {
			wrong++
		}
		server.Accept(h.prompt, h.users, 0)
		c.Accept(h.prompt, h.users, 0)
		c.Observe(predicted, measured)
	}
	if wrong > 5 {
		t.Errorf("%d of 200 predictions differ after 5 restarts, want at most one for each", wrong)
	}
}
