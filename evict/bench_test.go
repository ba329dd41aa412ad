package evict_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sakur4/evict"
)

// loopInput is a session of n items under few user turns that is about to exceed its trigger, with a break at every item.
func loopInput(n int) evict.Input {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	in := evict.Input{HeadTokens: 6000, NoteTokens: 40, NoReplyTokens: 8}
	pos, atom, group := in.HeadTokens, 0, 0
	for i := range n {
		it := evict.Item{Episode: fmt.Sprintf("ep_%06d", i), Tier: evict.Live, Seq: int64(i), Age: n - 1 - i, InDegree: r.IntN(3) / 2}
		switch {
		case i%60 == 0:
			group = i
			it.Role, it.Tokens = "user", 40+r.IntN(400)
			atom++
		case i%2 == 1:
			it.Role, it.Tokens = "assistant", 60+r.IntN(200)
			atom++
		default:
			it.Role, it.Tool, it.Tokens = "tool", "read_file", 50+r.IntN(2500)
			it.MaskedTokens, it.ReferencedTokens = 110, 35
		}
		it.Atom, it.Group, it.Pos = atom, group, pos
		in.Items = append(in.Items, it)
		in.Breaks = append(in.Breaks, evict.Break{Item: i, Pos: pos, Reuse: pos})
		pos += it.Tokens
	}
	in.Items[0].Protect, in.Items[group].Protect = "task root", "newest user turn"
	in.Total, in.SinceLast = pos, pos
	in.Window = pos * 5 / 4
	in.Limit = in.Window - in.Window/8
	return in
}

// nameItems gives every item some of as many names as there are items.
func nameItems(in *evict.Input) {
	r := rand.New(rand.NewPCG(1, 7))
	in.Names = make([]evict.Name, len(in.Items))
	for i := range in.Items {
		in.Names[i] = evict.Name{Uses: 1 + r.IntN(9), Age: r.IntN(len(in.Items))}
		from := r.IntN(max(len(in.Items)-40, 1))
		for k := range 2 + r.IntN(30) {
			in.Items[i].Names = append(in.Items[i].Names, int32(min(from+k, len(in.Items)-1)))
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		in := loopInput(n)
		for _, profile := range []string{evict.CacheFirst, evict.WindowFirst} {
			in.Policy.Profile = profile
			if in.Names == nil {
				nameItems(&in)
			}
			b.Run(fmt.Sprintf("%s/items=%d", profile, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := evict.Pick(in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
