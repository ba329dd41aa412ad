package evict_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"sakur4/evict"
)

// randomSession is a session of loops of calls under user turns; every item holds a few names, most of them new ones.
func randomSession(r *rand.Rand, window, turns int) (items []evict.Item, names int) {
	atom, group := 0, 0
	add := func(it evict.Item) {
		it.Episode, it.Seq, it.Tier, it.Atom, it.Group = fmt.Sprintf("ep_%d", len(items)), int64(len(items)), evict.Live, atom, group
		for range r.IntN(5) {
			if names == 0 || r.IntN(2) == 0 {
				names++
			}
			if n := int32(max(names-1-r.IntN(20), 0)); !slices.Contains(it.Names, n) {
				it.Names = append(it.Names, n)
			}
		}
		items = append(items, it)
	}
	for len(items) < turns {
		group = len(items)
		add(evict.Item{Role: "user", Tokens: 10 + r.IntN(window/40)})
		atom++
		for range 1 + r.IntN(25) {
			add(evict.Item{Role: "assistant", Tokens: 10 + r.IntN(window/40)})
			for range 1 + r.IntN(4)/3 {
				size := 10 + r.IntN(window/8)
				add(evict.Item{Role: "tool", Tool: "read", Tokens: size, MaskedTokens: min(size, 60), ReferencedTokens: min(size, 20)})
			}
			atom++
		}
		if r.IntN(2) == 0 {
			add(evict.Item{Role: "assistant", Tokens: 10 + r.IntN(window/60)})
			atom++
		}
	}
	return items, names
}

// TestPickSessions plays random sessions through windows of every geometry. No prompt exceeds its limit, no compaction comes before the growth that the hysteresis asks
// for unless the limit is exceeded, calls keep their results, the task root, the newest user turn and the newest atom stay, and equal inputs give equal plans.
func TestPickSessions(t *testing.T) {
	t.Parallel()
	geometries := []struct {
		name   string
		rewind func(pos int) int
		shift  bool
	}{
		{"any token", func(pos int) int { return pos }, false},
		{"points", func(pos int) int { return pos * 3 / 4 / 700 * 700 }, false},
		{"blocks", func(pos int) int { return pos / 256 * 256 }, false},
		{"unknown", func(int) int { return 0 }, false},
		{"shift", func(pos int) int { return pos }, true},
	}
	for seed := range uint64(6) {
		for _, g := range geometries {
			r := rand.New(rand.NewPCG(seed, 77))
			window := []int{2048, 8192, 32768}[r.IntN(3)]
			policy := evict.Policy{Profile: []string{evict.CacheFirst, evict.WindowFirst, evict.Balanced}[r.IntN(3)], MaxAgain: []float64{0, 0.02, 1}[r.IntN(3)]}
			session, names := randomSession(r, window, 200)
			if err := playSession(session, names, window, policy, g.rewind, g.shift); err != nil {
				t.Errorf("seed %d, %s, window %d, %+v: %v", seed, g.name, window, policy, err)
			}
		}
	}
}

func playSession(session []evict.Item, names, window int, policy evict.Policy, rewind func(int) int, shift bool) error {
	const head, note = 100, 40
	in := evict.Input{Window: window, Limit: window - window/8, HeadTokens: head, NoteTokens: note, NoReplyTokens: 8, Shift: shift, Policy: policy}
	full := policy.WithDefaults("")
	growth := int((full.Trigger - full.Target) * float64(window) / 2)
	var items []evict.Item
	total, held, since, compactions := head, 0, 0, 0
	for n, it := range session {
		items = append(items, it)
		total += it.Tokens
		since += it.Tokens
		if it.Role == "assistant" || n+1 == len(session) || session[n+1].Role != "assistant" {
			continue // nobody's turn
		}
		in.Items, in.Breaks, in.Names = slices.Clone(items), nil, make([]evict.Name, names)
		in.Total, in.Unsent, in.SinceLast = total, total-held, since
		pos, newest := head, 0
		for i := range in.Items {
			x := &in.Items[i]
			x.Pos, x.Age, x.Protect = pos, len(items)-1-i, ""
			if x.Role == "user" {
				newest = i
			}
			x.Group = newest
			for _, k := range x.Names {
				in.Names[k] = evict.Name{Uses: in.Names[k].Uses + 1, Age: x.Age}
			}
			in.Breaks = append(in.Breaks, evict.Break{Item: i, Pos: pos, Reuse: min(rewind(pos), held)})
			pos += x.Tokens
		}
		for k := range in.Names {
			in.Names[k].Uses = max(in.Names[k].Uses, 1)
		}
		in.Items[newest].Protect = "newest user turn"
		in.Items[0].Protect = "task root"
		in.Fresh += in.Unsent
		plan, err := evict.Pick(in)
		if err != nil {
			return fmt.Errorf("turn %d: %w", n, err)
		}
		if again, _ := evict.Pick(in); !reflect.DeepEqual(again, plan) {
			return fmt.Errorf("turn %d: two plans for one input: %q, %q", n, plan.Reason, again.Reason)
		}
		if plan.Steps == nil && plan.Trims == nil {
			if total > in.Limit {
				return fmt.Errorf("turn %d: %d tokens of %d, and nothing goes: %s", n, total, in.Limit, plan.Reason)
			}
			held = total
			continue
		}
		if err := checkPlan(in, plan); err != nil {
			return fmt.Errorf("turn %d: %w (%s)", n, err, plan.Reason)
		}
		if total <= in.Limit && compactions > 0 && since < growth {
			return fmt.Errorf("turn %d: compacted after a growth of %d, want %d: %s", n, since, growth, plan.Reason)
		}
		if reclaimed := plan.Before - plan.After; total <= in.Limit && reclaimed < int(full.MinReclaim*float64(window)) {
			return fmt.Errorf("turn %d: %d tokens reclaimed, fewer than the least: %s", n, reclaimed, plan.Reason)
		}
		compactions++
		in.Again += max(plan.Prefilled-in.Unsent, 0)
		items = nil
		for _, x := range apply(in.Items, plan, in) {
			if x.Role == "assistant" && x.Tier != evict.Live { // the fixed reply for an answer that went: it stays behind the turn before
				last := &items[len(items)-1]
				last.Tokens += x.Tokens
				if last.Role == "tool" {
					last.MaskedTokens, last.ReferencedTokens = last.MaskedTokens+x.Tokens, last.ReferencedTokens+x.Tokens
				}
				continue
			}
			items = append(items, x)
		}
		if plan.After > in.Limit || items[0].Episode != session[0].Episode || items[len(items)-1].Episode != it.Episode && plan.Floor == "" {
			return fmt.Errorf("turn %d: %d tokens of %d, from %s to %s: %s", n, plan.After, in.Limit, items[0].Episode, items[len(items)-1].Episode, plan.Reason)
		}
		total, held, since = plan.After, plan.After, 0
	}
	if compactions == 0 {
		return fmt.Errorf("no compaction in %d turns", len(session))
	}
	return nil
}
