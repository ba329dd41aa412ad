package evict

import (
	"cmp"
	"slices"
)

// tally holds sums over the moves that are possible at a break, in a binary indexed tree over their order: the shortest prefix that fills a need
// is found in a logarithm of their number, whatever the break.
type tally struct {
	nodes []sums
}

// sums are the totals of a set of moves.
type sums struct {
	tokens   int
	lost     int64
	archives int
}

func (s *sums) add(o sums) {
	s.tokens += o.tokens
	s.lost += o.lost
	s.archives += o.archives
}

func newTally(n int) *tally { return &tally{nodes: make([]sums, n+1)} }

// enter makes the move at a place of the order possible.
func (t *tally) enter(place int, m *move) {
	s := sums{tokens: m.tokens, lost: m.lost}
	if m.level != levelRung {
		s.archives = 1
	}
	for i := place + 1; i < len(t.nodes); i += i & -i {
		t.nodes[i].add(s)
	}
}

// prefix returns the length of the shortest prefix of the order whose possible moves reclaim at least need tokens, and its sums.
// If there is none it returns the whole.
func (t *tally) prefix(need int) (n int, s sums, ok bool) {
	if need <= 0 {
		return 0, sums{}, true
	}
	step := 1
	for step*2 < len(t.nodes) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if n+step < len(t.nodes) && s.tokens+t.nodes[n+step].tokens < need {
			n += step
			s.add(t.nodes[n])
		}
	}
	// n is the longest prefix that stays below the need.
	if n+1 >= len(t.nodes) {
		return n, s, false
	}
	s = sums{}
	for i := n + 1; i > 0; i -= i & -i {
		s.add(t.nodes[i])
	}
	return n + 1, s, true
}

// weighed is what the best plan at one break comes to.
type weighed struct {
	Break
	index int
	// prefix is how much of the order of moves is taken.
	prefix                   int
	after, reused, prefilled int
	reclaimed                int
	lost                     int64
	reached                  bool
	// unsent is the size of what every plan prefills, and so no part of its cost.
	unsent int
	// dear says that it processes more again than it is allowed to.
	dear bool
	// price is what a token that it processes again counts, in tokens.
	price float64
}

// again is what a plan has processed beyond what every plan does, in tokens.
func (w *weighed) again() int { return w.prefilled - w.unsent }

// cost adds the value that is given up, in tokens.
func (w *weighed) cost() float64 { return float64(w.again())*w.price + lossTokens(w.lost) }

// priceOf returns what each token that a plan processes again counts, from 0 to 1: the share that the plan takes of what is allowed. The allowance is there to be
// spent, since what it buys stays in sight, and it has to last: a plan is cheap while it takes little of much, and the one that takes all of it pays in full.
func (a *wanted) priceOf(again int) float64 {
	if !a.bounded || again >= a.allowance {
		return 1
	}
	return float64(max(again, 0)) / float64(a.allowance)
}

// weigh returns what the best plan comes to at every break, aiming at goal tokens.
func (p *prompt) weigh(moves []move, breaks []indexed, goal int, shift bool) []weighed {
	// Possible from the end of the prompt on: breaks and moves are taken in step, the latest first. The moves of each item form a list.
	head := make([]int, len(p.in.Items))
	after := make([]int, len(moves))
	for i := range head {
		head[i] = -1
	}
	for i, m := range moves {
		after[i], head[m.first] = head[m.first], i
	}
	t := newTally(len(moves))
	out := make([]weighed, 0, len(breaks))
	item := len(head)
	for _, b := range breaks {
		for item > b.Item {
			item--
			for m := head[item]; m >= 0; m = after[m] {
				t.enter(m, &moves[m])
			}
		}
		need := p.in.Total - goal
		n, s, ok := t.prefix(need)
		note := 0
		if s.archives > 0 {
			note = p.in.NoteTokens
			if ok {
				n, s, ok = t.prefix(need + note)
			}
		}
		w := weighed{Break: b.Break, unsent: p.in.Unsent, index: b.index, prefix: n, lost: s.lost, reached: ok, after: p.in.Total - s.tokens + note, reclaimed: s.tokens - note}
		w.reused, w.prefilled = p.reuse(b.Break, w.after, note+p.in.Unsent, shift)
		out = append(out, w)
	}
	return out
}

// reuse predicts how the server splits a prompt of that many tokens, fresh of which it has not seen. At least one token is always evaluated.
func (p *prompt) reuse(b Break, after, fresh int, shift bool) (reused, prefilled int) {
	reused = b.Reuse
	if shift {
		reused = after - fresh
	}
	reused = max(min(reused, after-1), 0)
	return reused, after - reused
}

// indexed is a break with its place in [Input.Breaks].
type indexed struct {
	Break
	index int
}

// breaks returns the breaks of the input, the latest first. first adds the start of the first item if it is not among them.
func (p *prompt) breaks(first bool) []indexed {
	out := make([]indexed, 0, len(p.in.Breaks)+1)
	atStart := false
	for i, b := range p.in.Breaks {
		out = append(out, indexed{b, i})
		atStart = atStart || b.Item == 0
	}
	if first && !atStart {
		out = append(out, indexed{Break{Pos: p.in.HeadTokens, Note: "no break was given there"}, -1})
	}
	slices.SortFunc(out, func(x, y indexed) int {
		return cmp.Or(cmp.Compare(y.Item, x.Item), cmp.Compare(y.Reuse, x.Reuse), cmp.Compare(x.index, y.index))
	})
	return out
}

// enough is the share of the greatest possible reclaim, in tenths, with which a plan is content that cannot reach its goal: the last few
// tokens are not worth a break far in front.
const enough = 9

// wanted is what a plan has to do.
type wanted struct {
	// limit is the most that may be left, least what has to be reclaimed at least, need what the goal asks for; allowance what may be processed again.
	limit, least, need, allowance int
	bounded                       bool
}

// best returns the few best of the breaks that will do, the best first: those that reclaim half of need or, if none reaches the goal, those that come near the
// most that can be reclaimed. What a plan falls short of the goal brings the next compaction nearer, and that is in its cost for each token. Plans above the limit
// or that reclaim less than the least will never do. Those within the allowance come before the others, of which the ones that process the least again for each token
// reclaimed are the best. Empty if none will do.
func best(all []weighed, a wanted) []weighed {
	a.least = max(a.least, 1)
	reached, most := false, 0
	for i := range all {
		if w := &all[i]; w.after <= a.limit && w.reclaimed >= a.least {
			reached = reached || w.reached
			most = max(most, w.reclaimed)
		}
	}
	out := make([]weighed, 0, maxConsidered+1)
	for i := range all {
		w := &all[i]
		if w.after > a.limit || w.reclaimed < a.least {
			continue
		}
		if !w.reached && (reached && w.reclaimed*2 < a.need || !reached && w.reclaimed*10 < most*enough) {
			continue
		}
		w.dear, w.price = a.bounded && w.again() > a.allowance, a.priceOf(w.again())
		at, _ := slices.BinarySearchFunc(out, w, func(x weighed, w *weighed) int { return x.compare(w) })
		if at < maxConsidered {
			out = slices.Insert(out, at, *w)
			out = out[:min(len(out), maxConsidered)]
		}
	}
	return out
}

// compare orders by cost for each token reclaimed; of equals the later break is better, then the one given first.
func (w *weighed) compare(o *weighed) int {
	if w.dear != o.dear {
		return before(o.dear)
	}
	x, y := w.cost(), o.cost()
	if w.dear {
		x, y = float64(w.again()), float64(o.again())
	}
	if c := cmp.Compare(x/float64(max(w.reclaimed, 1)), y/float64(max(o.reclaimed, 1))); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(o.Item, w.Item), cmp.Compare(w.index, o.index))
}
