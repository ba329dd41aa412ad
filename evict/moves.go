package evict

import (
	"cmp"
	"math"
	"slices"
)

// The roles of [Item.Role].
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
	roleSystem    = "system"
)

// The levels of a move: a result's rung, an atom's archiving, a group's archiving. Of equally dear moves the lower level comes first.
const (
	levelRung = iota
	levelAtom
	levelGroup
)

// move is one thing that a plan can do. Moves depend on others (an atom is archived after its results were masked, a user turn after all that
// follows it); they are built so that in order of density nothing comes before what it depends on. So every prefix of that order is a
// legal plan, and the best plan for a given need is the shortest prefix that fills it.
type move struct {
	level int
	// first and end are the items that it concerns: items[first:end]. It is possible at every break at or before first.
	first, end int
	// to is the rung that a result takes.
	to Tier
	// tokens is what it reclaims, above 0; lost the value that it gives up.
	tokens int
	lost   int64
	// density is lost per token, raised to that of what it depends on.
	density float64
	// parent is the move that depends on this one, -1 if there is none.
	parent int
	// serial numbers the moves as they were built: the last tie-break, and what parent refers to.
	serial int
}

// span is a run of items that belong together.
type span struct{ first, end int }

// spans splits items wherever key changes.
func spans(items []Item, key func(Item) int) []span {
	var out []span
	for i := range items {
		if i == 0 || key(items[i]) != key(items[i-1]) {
			out = append(out, span{i, i})
		}
		out[len(out)-1].end = i + 1
	}
	return out
}

// prompt is an input prepared for planning.
type prompt struct {
	in     Input
	policy Policy
	// class is the floor class of each item, scores its value in hundredths.
	class, scores []int
	// worth is the weight of the names that only this item keeps in the prompt, in hundredths.
	worth         []int
	atoms, groups []span
	// tight lets trims go below MinTrim, down to the pointer alone.
	tight bool
}

// prepare sorts out what belongs together and what is protected.
func prepare(in Input, policy Policy) *prompt {
	p := &prompt{in: in, policy: policy}
	p.atoms = spans(in.Items, func(it Item) int { return it.Atom })
	p.groups = spans(in.Items, func(it Item) int { return it.Group })
	p.class = make([]int, len(in.Items))
	p.scores = make([]int, len(in.Items))
	for i, it := range in.Items {
		p.class[i] = floorClass(it)
		p.scores[i] = score(it)
	}
	keep, kept := share(policy.KeepRecent, in.Window), 0
	for a := len(p.atoms) - 1; a >= 0; a-- {
		atom := p.atoms[a]
		for i := atom.first; i < atom.end; i++ {
			kept += max(in.Items[i].Tokens-in.Items[i].NoteTokens, 0)
		}
		newest := a == len(p.atoms)-1
		if kept > keep && !newest {
			break
		}
		class := FloorKeepRecent
		if newest {
			class = FloorNewestAtom
		}
		for i := atom.first; i < atom.end; i++ {
			p.class[i] = max(p.class[i], class)
		}
	}
	p.worth = p.workingSet()
	return p
}

// floorClass returns the class of an item's own protection.
func floorClass(it Item) int {
	if it.Protect == "" {
		return 0
	}
	if it.Floor > 0 {
		return it.Floor
	}
	switch it.Protect {
	case FloorName(FloorNewestUser):
		return FloorNewestUser
	case FloorName(FloorTaskRoot):
		return FloorTaskRoot
	case "open call", FloorName(FloorNewestAtom):
		return FloorNewestAtom
	case FloorName(FloorPins):
		return FloorPins
	}
	return FloorTool
}

// free reports whether all items of s may be touched when the floors up to and with allowed give way.
func (p *prompt) free(s span, allowed int) bool {
	for _, c := range p.class[s.first:s.end] {
		if c > allowed {
			return false
		}
	}
	return true
}

// finalAnswer reports whether an atom is an assistant turn by itself. Without it a fixed reply has to stand in.
func (p *prompt) finalAnswer(atom span) bool {
	return atom.end == atom.first+1 && p.in.Items[atom.first].Role == roleAssistant
}

// moves returns everything that may be done while the floors up to and with allowed give way, in order of density.
// parent then holds positions in that order.
func (p *prompt) moves(allowed int, shift bool) []move {
	b := builder{prompt: p, allowed: allowed, shift: shift, all: make([]move, 0, 2*len(p.in.Items))}
	a := 0
	for _, group := range p.groups {
		b.children = b.children[:0]
		b.rest, b.restLost = 0, 0
		for ; a < len(p.atoms) && p.atoms[a].first < group.end; a++ {
			b.atom(p.atoms[a], group)
		}
		b.group(group)
	}
	if p.archivable(b.all) <= p.in.NoteTokens {
		// The note that names what left would be longer than what left.
		b.all = slices.DeleteFunc(b.all, func(m move) bool { return m.level != levelRung })
	}
	return ranked(b.all, b.serial)
}

// archivable returns what all archiving moves together reclaim.
func (p *prompt) archivable(all []move) int {
	n := 0
	for _, m := range all {
		if m.level != levelRung {
			n += m.tokens
		}
	}
	return n
}

// ranked returns the moves by density, parent made a position in that order.
func ranked(all []move, serials int) []move {
	// Small keys of whole numbers are sorted, not the moves: that takes a third of the time.
	type key struct {
		density, place uint64 // place is level and first item
		serial, index  int32
	}
	keys := make([]key, len(all))
	for i := range all {
		m := &all[i]
		keys[i] = key{ascending(m.density), uint64(m.level)<<32 | uint64(m.first), int32(m.serial), int32(i)}
	}
	slices.SortFunc(keys, func(x, y key) int {
		switch {
		case x.density != y.density:
			return before(x.density < y.density)
		case x.place != y.place:
			return before(x.place < y.place)
		}
		return int(x.serial - y.serial)
	})
	place := make([]int, serials)
	for i := range place {
		place[i] = -1
	}
	out := make([]move, len(all))
	for i, k := range keys {
		out[i] = all[k.index]
		place[k.serial] = i
	}
	for i := range out {
		if out[i].parent >= 0 {
			out[i].parent = place[out[i].parent]
		}
	}
	return out
}

// ascending returns a whole number that orders like f, which is not NaN.
func ascending(f float64) uint64 {
	b := math.Float64bits(f)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// before turns a comparison of unequal values into the result of a sort function.
func before(less bool) int {
	if less {
		return -1
	}
	return 1
}

// builder collects moves group by group.
type builder struct {
	*prompt
	allowed int
	shift   bool
	all     []move
	serial  int
	// scratch holds the rungs of the atom at hand.
	scratch []move
	// children are the positions in all of the moves that the archiving of the group at hand depends on;
	// rest and restLost are what it reclaims and gives up by itself.
	children []int
	rest     int
	restLost int64
}

// add appends a move and returns its position.
func (b *builder) add(m move) int {
	m.serial = b.serial
	m.parent = -1
	b.serial++
	b.all = append(b.all, m)
	return len(b.all) - 1
}

// density is what a move gives up per token.
func density(lost int64, tokens int) float64 {
	if tokens <= 0 {
		return math.Inf(1)
	}
	return float64(lost) / float64(tokens)
}

// form is a rung on which a result is still rendered.
type form struct {
	to   Tier
	size int
}

// rungs appends to ms the moves of one result from where it is down to referenced, cheapest first: a rung that gives up less per token
// than the one before it is taken in one with it. It returns what is left of the result, too.
func (b *builder) rungs(ms []move, i int) (all []move, tokens int, tier Tier) {
	it := &b.in.Items[i]
	tokens, tier = it.Tokens, it.Tier
	if it.Role != roleTool || b.shift || b.class[i] > b.allowed {
		return ms, tokens, tier
	}
	for _, form := range [...]form{{Masked, it.MaskedTokens}, {Referenced, it.ReferencedTokens}} {
		if form.to <= tier || form.size <= 0 || form.size >= tokens {
			continue
		}
		m := move{level: levelRung, first: i, end: i + 1, to: form.to, tokens: tokens - form.size, lost: b.loss(i, tier, form.to)}
		m.density = density(m.lost, m.tokens)
		if n := len(ms); n > 0 && ms[n-1].first == i && m.density < ms[n-1].density {
			m.tokens += ms[n-1].tokens
			m.lost += ms[n-1].lost
			m.density = density(m.lost, m.tokens)
			ms = ms[:n-1]
		}
		ms = append(ms, m)
		tokens, tier = form.size, form.to
	}
	return ms, tokens, tier
}

// alone reports whether an atom may be archived without its group.
func (b *builder) alone(atom, group span) bool {
	switch b.in.Items[atom.first].Role {
	case roleUser:
		return false
	case roleSystem:
		// A note stands inside another message: to take it out is no deletion of a message. It goes with its group, unless the group has to stay.
		return !b.shift && !b.free(group, b.allowed)
	}
	// Where a final answer was, a fixed reply has to stand: no deletion either.
	return !(b.shift && b.finalAnswer(atom))
}

// atom adds the moves of one atom: the rungs of its results and, where it may go by itself, its archiving.
func (b *builder) atom(atom, group span) {
	rungs := b.scratch[:0]
	var rest int
	var restLost int64
	for i := atom.first; i < atom.end; i++ {
		var tokens int
		var tier Tier
		rungs, tokens, tier = b.rungs(rungs, i)
		rest += tokens
		restLost += b.loss(i, tier, Archived)
	}
	b.scratch = rungs
	stand := 0
	if b.finalAnswer(atom) {
		stand = b.in.NoReplyTokens
	}
	if !b.free(atom, b.allowed) || !b.alone(atom, group) || rest <= stand {
		b.chain(rungs, -1)
		b.rest += rest
		b.restLost += restLost
		return
	}
	m := move{level: levelAtom, first: atom.first, end: atom.end, to: Archived, tokens: rest - stand, lost: restLost}
	m.density = density(m.lost, m.tokens)
	// Archiving that is cheaper per token than a rung makes the rung pointless: it is taken in one with it, the dearest first.
	slices.SortStableFunc(rungs, func(x, y move) int {
		return cmp.Or(cmp.Compare(x.density, y.density), cmp.Compare(x.first, y.first), cmp.Compare(x.to, y.to))
	})
	for n := len(rungs); n > 0 && rungs[n-1].density > m.density; n-- {
		m.tokens += rungs[n-1].tokens
		m.lost += rungs[n-1].lost
		m.density = density(m.lost, m.tokens)
		rungs = rungs[:n-1]
	}
	at := b.add(m)
	b.chain(rungs, at)
	b.children = append(b.children, at)
	b.rest += stand
}

// chain adds the rungs of an atom's results; each one's parent is the result's next rung, the last one's is parent.
func (b *builder) chain(rungs []move, parent int) {
	slices.SortFunc(rungs, func(x, y move) int { return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(y.to, x.to)) })
	next := -1
	for i, m := range rungs {
		at := b.add(m)
		switch {
		case i > 0 && rungs[i-1].first == m.first:
			b.all[at].parent = b.all[next].serial
		case parent >= 0:
			b.all[at].parent = b.all[parent].serial
		default:
			b.children = append(b.children, at)
		}
		next = at
	}
}

// group adds the archiving of a user turn with everything up to the next one.
func (b *builder) group(group span) {
	if !b.free(group, b.allowed) || b.rest <= 0 {
		return
	}
	m := move{level: levelGroup, first: group.first, end: group.end, to: Archived, tokens: b.rest, lost: b.restLost}
	m.density = density(m.lost, m.tokens)
	for _, c := range b.children {
		// Not taken in one with it, as in an atom: a break in the middle of the group still permits what lies behind it.
		m.density = max(m.density, b.all[c].density)
	}
	at := b.add(m)
	for _, c := range b.children {
		b.all[c].parent = b.all[at].serial
	}
}
