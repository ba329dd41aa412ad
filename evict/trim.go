package evict

import "sort"

// MinTrim is the least size in tokens to which an episode is trimmed as long as that lets the prompt fit: a few words of head and tail, and
// the pointer to the whole. Where it does not, the pointer alone is left ([Item.LeastTokens]).
const MinTrim = 96

// trim plans for a prompt that does not fit although everything outside the last floors has gone. The newest atom, the newest user turn and the task root give way
// in this order, each only if those before were not enough: results and user turns are shortened; calls, whose arguments are never cut, leave with their results.
// Once a later floor has to give way, it shares the room with those before it, so that none of them is cut to nothing for the sake of another.
func (p *prompt) trim(target int) (Plan, error) {
	moves := p.moves(FloorKeepRecent, false)
	taken := make([]bool, len(moves))
	for i := range taken {
		taken[i] = true
	}
	a := attempt{first: true, allowed: FloorTaskRoot, goal: p.in.Limit, limit: p.in.Limit, target: target}
	var o *outcome
	for _, p.tight = range []bool{false, true} {
		for floor := FloorNewestAtom; floor <= FloorTaskRoot; floor++ {
			for _, archive := range []bool{false, true} {
				next := p.outcome(moves, taken)
				if archive && !p.archiveNewest(next) {
					continue
				}
				o = next
				p.shorten(o, floor)
				if p.after(o) <= p.in.Limit {
					return p.plan(o, a), nil
				}
			}
		}
	}
	return p.overflow(o, target)
}

// shorten trims the results and user turns of the floors from the newest atom up to floor, the longest first, so that they take seven eighths of the room that the
// rest leaves: the turns that follow need the last one.
func (p *prompt) shorten(o *outcome, floor int) {
	var at []int
	room := p.in.Limit - p.after(o)
	for i, it := range p.in.Items {
		c := p.class[i]
		if c >= FloorNewestAtom && c <= floor && it.Tier == Live && o.tiers[i] == Live && (it.Role == roleTool || it.Role == roleUser) {
			at = append(at, i)
			room += o.sizes[i]
		}
	}
	most := p.level(at, o.sizes, room-room/8)
	for _, i := range at {
		if size := max(most, p.leastTrim(i)); o.sizes[i] > size {
			o.sizes[i], o.trims[i] = size, p.class[i]
		}
	}
}

// leastTrim returns the size below which an item is not trimmed.
func (p *prompt) leastTrim(i int) int {
	if least := p.in.Items[i].LeastTokens; least >= MinTrim || p.tight && least > 0 {
		return least
	}
	return MinTrim
}

// level returns the size to which the longest of the items are cut so that all together take at most room, at least [MinTrim] unless nothing else helps. Those that cannot
// be cut so far stay longer, at the expense of the others.
func (p *prompt) level(at []int, sizes []int, room int) int {
	shortest := MinTrim
	if p.tight {
		shortest = 1
	}
	longest := shortest
	for _, i := range at {
		longest = max(longest, sizes[i])
	}
	// The first size above the shortest with which they take too much, less one.
	return shortest + max(sort.Search(longest-shortest+1, func(k int) bool {
		n := 0
		for _, i := range at {
			n += min(sizes[i], max(shortest+k, p.leastTrim(i)))
		}
		return n > room
	})-1, 0)
}

// archiveNewest takes the calls of the newest atom out of the prompt, and reports whether there were any.
func (p *prompt) archiveNewest(o *outcome) bool {
	gone := false
	for _, atom := range p.atoms {
		highest := 0
		for _, c := range p.class[atom.first:atom.end] {
			highest = max(highest, c)
		}
		if highest == FloorNewestAtom && p.in.Items[atom.first].Role != roleUser {
			o.archive(atom)
			gone = true
		}
	}
	return gone
}

// overflow names what does not fit.
func (p *prompt) overflow(o *outcome, target int) (Plan, error) {
	e := &OverflowError{Floor: FloorName(FloorPins), Need: p.after(o), Have: p.in.Limit}
	rest, largest := 0, -1
	for i, size := range o.sizes {
		rest += size
		if size > 0 && p.class[i] > 0 && (largest < 0 || size > o.sizes[largest]) {
			largest = i
		}
	}
	if largest >= 0 && rest > p.in.HeadTokens {
		e.Floor, e.ID = FloorName(p.class[largest]), p.in.Items[largest].Episode
	}
	return Plan{
		Break: -1, Before: p.in.Total, After: p.in.Total, Target: target, Prefilled: p.in.Total, Pressure: AnchorOverflow, Floor: e.Floor, Reason: e.Error(),
	}, e
}
