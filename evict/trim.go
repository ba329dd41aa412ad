package evict

import "slices"

// MinTrim is the least size in tokens to which an episode is trimmed: a few words of head and tail, and the pointer to the whole.
const MinTrim = 96

// trim plans for a prompt that does not fit although everything outside the last floors has gone: the newest atom, the newest user turn and the task root
// are shortened in this order, each only if the one before was not enough.
func (p *prompt) trim(target int) (Plan, error) {
	moves := p.moves(FloorKeepRecent, false)
	taken := make([]bool, len(moves))
	for i := range taken {
		taken[i] = true
	}
	o := p.outcome(moves, taken)
	a := attempt{first: true, allowed: FloorTaskRoot, goal: p.in.Limit, limit: p.in.Limit, target: target}
	// A quarter of the room stays free for the turns that follow; of what the user said, an eighth.
	for _, f := range []struct{ class, keep, of int }{{FloorNewestAtom, 3, 4}, {FloorNewestUser, 7, 8}, {FloorTaskRoot, 7, 8}} {
		p.shorten(o, f.class, f.keep, f.of)
		if p.after(o) <= p.in.Limit {
			return p.plan(o, a), nil
		}
		if f.class == FloorNewestAtom && p.archiveNewest(o) && p.after(o) <= p.in.Limit {
			return p.plan(o, a), nil
		}
	}
	return p.overflow(o, target)
}

// shorten trims the results and user turns of a floor class, the longest first, so that they take keep/of of the room that the rest leaves.
func (p *prompt) shorten(o *outcome, class, keep, of int) {
	var at []int
	room := p.in.Limit - p.after(o)
	for i, it := range p.in.Items {
		if p.class[i] == class && it.Tier == Live && o.tiers[i] == Live && (it.Role == roleTool || it.Role == roleUser) {
			at = append(at, i)
			room += o.sizes[i]
		}
	}
	most := level(at, o.sizes, room*keep/of)
	for _, i := range at {
		if o.sizes[i] > most {
			o.sizes[i], o.trims[i] = most, class
		}
	}
}

// level returns the size to which the longest of the items are cut so that all together take at most room, at least [MinTrim].
func level(at []int, sizes []int, room int) int {
	sorted := make([]int, 0, len(at))
	for _, i := range at {
		sorted = append(sorted, sizes[i])
	}
	slices.Sort(sorted)
	for k, size := range sorted {
		// All that are left get the same share; those below it keep their size.
		if each := room / (len(sorted) - k); size > each {
			return max(each, MinTrim)
		}
		room -= size
	}
	if len(sorted) == 0 {
		return MinTrim
	}
	return max(sorted[len(sorted)-1], MinTrim)
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
