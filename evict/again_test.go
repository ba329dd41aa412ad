package evict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"sakur4/evict"
)

// againInput is a prompt whose old end is worth little and whose new end much: without a bound the best break is far in front.
func againInput() evict.Input {
	in := evict.Input{Window: 10000, Limit: 9000, HeadTokens: 100, NoteTokens: 20, Force: true, Policy: evict.Policy{KeepRecent: 0.01}}
	pos := in.HeadTokens
	add := func(it evict.Item) {
		it.Episode, it.Tier, it.Pos = fmt.Sprintf("ep_%d", len(in.Items)), evict.Live, pos
		in.Items = append(in.Items, it)
		in.Breaks = append(in.Breaks, evict.Break{Item: len(in.Items) - 1, Pos: pos, Reuse: pos})
		pos += it.Tokens
	}
	add(evict.Item{Role: "user", Tokens: 50, Protect: "task root"})
	for i := range 8 {
		var names []int32
		if i >= 4 {
			for k := range 40 {
				in.Names = append(in.Names, evict.Name{Uses: 8})
				names = append(names, int32((i-4)*40+k))
			}
		}
		add(evict.Item{Role: "assistant", Tokens: 50, Atom: i + 1, Age: 20 - 2*i})
		add(evict.Item{Role: "tool", Tokens: 950, Atom: i + 1, Age: 19 - 2*i, Names: names})
	}
	add(evict.Item{Role: "user", Tokens: 200, Atom: 9, Group: 1, Protect: "newest user turn"})
	in.Total, in.SinceLast, in.Unsent = pos, pos, 200
	in.Target = pos - 2000
	return in
}

// TestPickMaxAgain: what compactions have processed again bounds what the next one may; where no break is within it, the cheapest is taken.
func TestPickMaxAgain(t *testing.T) {
	t.Parallel()
	free, err := evict.Pick(againInput())
	if err != nil {
		t.Fatal(err)
	}
	dear := free.Prefilled - 200
	if dear < 2000 || free.Allowance != 0 || strings.Contains(free.Reason, "allowed") {
		t.Fatalf("Pick without a bound = %q, allowance %d: the case wants a break far in front", free.Reason, free.Allowance)
	}
	for _, tt := range []struct {
		name         string
		fresh, again int
		share        float64
		most         int // processed again
		allowance    int
	}{
		{"room enough", 100000, 0, 0, dear, 15000},
		{"exactly", 100000, 15000 - dear, 0, dear, dear},
		{"one short", 100000, 15000 - dear + 1, 0, dear - 1, dear - 1},
		{"its own share", 100000, 0, 0.01, 1000, 1000},
		{"used up", 100000, 15000, 0, 25, 0},
		{"overdrawn", 100000, 16000, 0, 25, -1000},
	} {
		in := againInput()
		in.Fresh, in.Again, in.Policy.MaxAgain = tt.fresh, tt.again, tt.share
		plan, err := evict.Pick(in)
		if err != nil {
			t.Fatal(err)
		}
		if again := plan.Prefilled - in.Unsent; again > tt.most || plan.Allowance != tt.allowance || len(plan.Steps) == 0 {
			t.Errorf("%s: Pick processes %d tokens again, allowance %d, want at most %d, %d (%s)", tt.name, again, plan.Allowance, tt.most, tt.allowance, plan.Reason)
		}
		if want := fmt.Sprintf("allowed to process %d tokens again", max(tt.allowance, 0)); !strings.Contains(plan.Reason, want) {
			t.Errorf("%s: Reason = %q, want %q in it", tt.name, plan.Reason, want)
		}
	}
}

// TestPickPricesAgain: the more is left of the allowance, the less a token counts that is processed again, and the more value is kept for it.
func TestPickPricesAgain(t *testing.T) {
	t.Parallel()
	in := againInput()
	for i := range in.Names {
		in.Names[i] = evict.Name{Uses: 1, Age: 20} // not worth the way to the front where that counts in full
	}
	again, lost := 0, math.Inf(1)
	for _, fresh := range []int{20000, 40000, 80000, 200000, 2000000} {
		in.Fresh = fresh
		plan, err := evict.Pick(in)
		if err != nil {
			t.Fatal(err)
		}
		chosen := plan.Considered[0]
		got := plan.Prefilled - in.Unsent
		if got < again || chosen.Lost > lost {
			t.Errorf("Pick with an allowance of %d processes %d tokens again and gives up %.0f, want no less than %d and no more than %.0f (%s)",
				plan.Allowance, got, chosen.Lost, again, lost, plan.Reason)
		}
		again, lost = got, chosen.Lost
		for _, a := range plan.Considered {
			over := max(a.Prefilled-in.Unsent, 0)
			if want := float64(over)*min(float64(over)/float64(plan.Allowance), 1) + a.Lost; math.Abs(a.Cost-want) > 1e-6 {
				t.Errorf("Pick with an allowance of %d: cost %v of %d tokens again, want %v", plan.Allowance, a.Cost, over, want)
			}
		}
	}
	in.Fresh = 0
	full, err := evict.Pick(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := full.Prefilled - in.Unsent; again <= got {
		t.Errorf("Pick with much allowed processes %d tokens again, want more than the %d of one that counts them in full", again, got)
	}
}

// TestPickMaxAgainProperty: the bound never keeps a prompt from fitting, nor does a plan go over it while a considered break that reaches as far is within it.
func TestPickMaxAgainProperty(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 29))
	for n := range 300 {
		in := loopInput(20 + r.IntN(200))
		if r.IntN(2) == 0 {
			nameItems(&in)
		}
		in.Force = r.IntN(2) == 0
		if r.IntN(3) == 0 {
			in.Limit = in.Total - 1 - r.IntN(in.Total/4) // above the hard limit
		}
		free, errFree := evict.Pick(in)
		in.Fresh, in.Again = 1+r.IntN(4*in.Total), r.IntN(in.Total/2)
		plan, err := evict.Pick(in)
		if (err == nil) != (errFree == nil) || (plan.Steps == nil) != (free.Steps == nil) || plan.Pressure == evict.Compacting && in.Total > in.Limit && plan.After > in.Limit {
			t.Fatalf("case %d: %q, %v bounded, %q, %v not", n, plan.Reason, err, free.Reason, errFree)
		}
		if len(plan.Considered) == 0 {
			continue
		}
		within := func(a evict.Alternative) bool { return a.Prefilled-in.Unsent <= plan.Allowance }
		for _, a := range plan.Considered[1:] {
			if within(a) && !within(plan.Considered[0]) {
				t.Errorf("case %d: %+v was taken, %+v is within the allowance of %d", n, plan.Considered[0], a, plan.Allowance)
			}
		}
	}
}
