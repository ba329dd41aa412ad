package evict_test

import (
	"fmt"
	"math/rand/v2"

	"sakur4/evict"
)

// randomInput builds the prompt of a session of random shape: loops of calls under user turns, notes, answers, stubs of earlier plans.
func randomInput(r *rand.Rand) evict.Input {
	window := []int{2048, 4096, 8192, 40960, 131072, 1 << 20}[r.IntN(6)]
	in := evict.Input{
		Window: window, Limit: window - window/8, HeadTokens: r.IntN(window / 10), NoteTokens: r.IntN(60), NoReplyTokens: r.IntN(12),
		Shift: r.IntN(4) == 0, Force: r.IntN(3) == 0,
	}
	in.Policy.Profile = []string{"", evict.CacheFirst, evict.WindowFirst, evict.Balanced}[r.IntN(4)]
	in.Policy.AllowDrop = r.IntN(2) == 0
	fill := r.IntN(3*window) + window/4
	if r.IntN(8) == 0 {
		fill *= 4
	}
	pos, atom, group, newestUser := in.HeadTokens, 0, -1, -1
	add := func(it evict.Item) {
		it.Episode = fmt.Sprintf("ep_%d", len(in.Items))
		it.Seq = int64(len(in.Items) + 1)
		it.Tier = max(it.Tier, evict.Live)
		it.Atom, it.Group, it.Pos = atom, group, pos
		it.Superseded, it.Droppable = r.IntN(12) == 0, r.IntN(10) == 0
		it.InDegree, it.Dependents = r.IntN(4)/2, r.IntN(3)/2
		pos += it.Tokens
		in.Items = append(in.Items, it)
	}
	size := func() int { return 5 + r.IntN(1+r.IntN(1+window/16)) }
	for pos < fill {
		group = len(in.Items)
		newestUser = group
		add(evict.Item{Role: "user", Tokens: size()})
		atom++
		for range r.IntN(8) {
			add(evict.Item{Role: "assistant", Tokens: size() / 4})
			for range 1 + r.IntN(3)/2 {
				it := evict.Item{Role: "tool", Tool: "read_file", Tokens: size()}
				if r.IntN(4) > 0 {
					it.MaskedTokens = 1 + r.IntN(120)
				}
				if r.IntN(4) > 0 {
					it.ReferencedTokens = 1 + r.IntN(40)
				}
				if it.MaskedTokens > 0 && r.IntN(4) == 0 {
					it.Tier, it.Tokens = evict.Masked, it.MaskedTokens
				}
				if r.IntN(30) == 0 {
					it.Protect = "protected tool"
				}
				add(it)
			}
			atom++
			if r.IntN(10) == 0 {
				add(evict.Item{Role: "system", Tokens: size()})
				atom++
			}
		}
		if r.IntN(3) > 0 {
			add(evict.Item{Role: "assistant", Tokens: size()})
			atom++
		}
	}
	// Now and then one of the last floors is too large: the newest turns, the task root, the head.
	if r.IntN(3) == 0 {
		for range 1 + r.IntN(2) {
			i := []int{0, max(newestUser, 0), len(in.Items) - 1}[r.IntN(3)]
			extra := r.IntN(2 * window)
			in.Items[i].Tier = evict.Live
			in.Items[i].Tokens += extra
			pos += extra
		}
	}
	if r.IntN(6) == 0 {
		extra := r.IntN(window)
		in.HeadTokens += extra
		pos += extra
	}
	shift := in.HeadTokens
	for i := range in.Items {
		in.Items[i].Pos = shift
		shift += in.Items[i].Tokens
		in.Items[i].Age = len(in.Items) - 1 - i
	}
	if newestUser >= 0 {
		in.Items[newestUser].Protect = "newest user turn"
		in.Items[0].Protect = "task root"
	}
	reuse := r.IntN(3)
	for i, it := range in.Items {
		if r.IntN(10) == 0 && i > 0 {
			continue
		}
		b := evict.Break{Item: i, Pos: it.Pos, Reuse: it.Pos}
		if reuse > 0 {
			b.Reuse = it.Pos / (reuse * 512) * (reuse * 512)
		}
		in.Breaks = append(in.Breaks, b)
	}
	in.Total, in.SinceLast = pos, pos
	return in
}
