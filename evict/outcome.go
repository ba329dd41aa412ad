package evict

import (
	"fmt"
	"strconv"
)

// outcome is what becomes of every item.
type outcome struct {
	tiers []Tier
	// sizes are the tokens of each item's rendering afterwards.
	sizes []int
	// trims holds the floor class that gave way for an item that is rendered shorter; 0 for the others.
	trims []int
	// archived says that an item left the prompt, so that the note is due.
	archived bool
}

// outcome applies the taken moves, which are in order.
func (p *prompt) outcome(moves []move, taken []bool) *outcome {
	o := &outcome{tiers: make([]Tier, len(p.in.Items)), sizes: make([]int, len(p.in.Items)), trims: make([]int, len(p.in.Items))}
	for i, it := range p.in.Items {
		o.tiers[i], o.sizes[i] = it.Tier, it.Tokens
	}
	for i, m := range moves {
		if !taken[i] {
			continue
		}
		if m.level == levelRung {
			o.tiers[m.first] = m.to
			o.sizes[m.first] = p.size(m.first, m.to)
			continue
		}
		o.archive(span{m.first, m.end})
		if m.level == levelAtom && p.finalAnswer(span{m.first, m.end}) {
			o.sizes[m.first] = p.in.NoReplyTokens
		}
	}
	return o
}

// archive takes a run of items out of the prompt.
func (o *outcome) archive(s span) {
	for i := s.first; i < s.end; i++ {
		o.tiers[i], o.sizes[i], o.trims[i] = Archived, 0, 0
	}
	o.archived = true
}

// size returns what an item takes on a rung. A form that does not exist takes what the rung above does.
func (p *prompt) size(i int, t Tier) int {
	it := p.in.Items[i]
	switch {
	case t == Masked && it.MaskedTokens > 0:
		return it.MaskedTokens
	case t == Referenced && it.ReferencedTokens > 0:
		return it.ReferencedTokens
	case t >= Archived:
		return 0
	}
	return it.Tokens
}

// after returns the size of the prompt.
func (p *prompt) after(o *outcome) int {
	n := p.in.Total
	for i, it := range p.in.Items {
		n -= it.Tokens - o.sizes[i]
	}
	if o.archived {
		n += p.in.NoteTokens
	}
	return n
}

// plan puts an outcome into words and numbers.
func (p *prompt) plan(o *outcome, a attempt) Plan {
	pl := Plan{Break: -1, Before: p.in.Total, After: p.after(o), Target: a.target, Pressure: Compacting, Shift: a.shift}
	pl.Reached = pl.After <= a.target
	first, gave := len(p.in.Items), 0
	var lost int64
	rungs := 0
	for i, it := range p.in.Items {
		if o.tiers[i] != it.Tier {
			rungs += int(o.tiers[i]-it.Tier) + 1
		}
	}
	pl.Steps = make([]Step, 0, rungs)
	for i, it := range p.in.Items {
		if o.tiers[i] == it.Tier && o.trims[i] == 0 {
			continue
		}
		first = min(first, i)
		gave = max(gave, p.class[i])
		lost += p.loss(i, it.Tier, o.tiers[i])
		if o.trims[i] != 0 {
			pl.Trims = append(pl.Trims, Trim{Episode: it.Episode, Tokens: o.sizes[i], Reclaimed: it.Tokens - o.sizes[i], Floor: FloorName(o.trims[i])})
			continue
		}
		pl.Steps = p.steps(pl.Steps, i, o)
	}
	if len(pl.Steps) == 0 {
		pl.Steps = nil
	}
	b := p.breakFor(first)
	pl.Break = b.index
	note := 0
	if o.archived {
		note = p.in.NoteTokens
	}
	pl.Reused, pl.Prefilled = p.reuse(b.Break, pl.After, note+p.unsent(o), a.shift)
	pl.Cost = float64(pl.Prefilled) + lossTokens(lost)
	if a.shift {
		pl.MinRun = p.minRun(o)
	}
	switch {
	case gave > 0:
		pl.Floor = FloorName(gave)
	case !pl.Reached:
		pl.Floor = p.stoppedBy(pl.After - a.target)
	}
	pl.Reason = p.reason(pl, b, lost, gave > 0)
	return pl
}

// breakFor returns the break with the greatest reuse at or before an item, the start of the first item if none was given.
func (p *prompt) breakFor(item int) indexed {
	out := indexed{Break{Pos: p.in.HeadTokens}, -1}
	for i, b := range p.in.Breaks {
		if b.Item > item {
			continue
		}
		if out.index < 0 || b.Reuse > out.Reuse || b.Reuse == out.Reuse && b.Item > out.Item {
			out = indexed{b, i}
		}
	}
	return out
}

// reason puts a plan's arithmetic into words.
func (p *prompt) reason(pl Plan, b indexed, lost int64, gave bool) string {
	s := fmt.Sprintf("first changed message at token %d: %d of %d tokens reclaimed, %d reused, %d prefilled, value lost %.0f", b.Pos, pl.Before-pl.After, pl.Before, pl.Reused, pl.Prefilled, lossTokens(lost))
	if b.Note != "" {
		s += " (" + b.Note + ")"
	}
	if pl.Shift {
		s += "; deletions alone, the kept tail is moved"
	}
	switch {
	case gave:
		s += "; " + pl.Floor + " gave way"
	case !pl.Reached:
		s += fmt.Sprintf("; %d tokens above the target of %d, stopped by %s", pl.After-pl.Target, pl.Target, pl.Floor)
	}
	return s
}

// steps appends one step for every rung that an item takes. Only the last is rendered: a form on the way that would be longer than the one before reclaims nothing.
func (p *prompt) steps(out []Step, i int, o *outcome) []Step {
	it := p.in.Items[i]
	last := o.tiers[i]
	if last == Archived && p.policy.AllowDrop && it.Droppable && it.Dependents == 0 {
		last = Dropped
	}
	now := it.Tokens
	for t := it.Tier + 1; t <= last; t++ {
		next := now
		switch {
		case t >= o.tiers[i]:
			next = o.sizes[i]
		case it.Role == roleTool:
			// Not below what is rendered in the end.
			next = max(min(now, p.size(i, t)), o.sizes[i])
		}
		out = append(out, Step{Episode: it.Episode, From: t - 1, To: t, Value: float64(p.scores[i]) / 100, Tokens: now - next, Reason: stepReason(it, p.scores[i], t, now-next)})
		now = next
	}
	return out
}

// stepReason puts a step into words.
func stepReason(it Item, score int, to Tier, tokens int) string {
	b := make([]byte, 0, 96)
	b = append(b, "tier "...)
	b = append(b, (to - 1).String()...)
	b = append(b, " → "...)
	b = append(b, to.String()...)
	b = append(b, " (value "...)
	b = strconv.AppendFloat(b, float64(score)/100, 'f', 2, 64)
	b = append(b, ", "...)
	b = strconv.AppendInt(b, int64(tokens), 10)
	b = append(b, " tokens reclaimed)"...)
	if it.Superseded {
		b = append(b, "; "+noteSuperseded...)
	}
	if it.Droppable {
		b = append(b, "; droppable"...)
	}
	if it.InDegree > 0 {
		b = append(b, "; "...)
		b = append(b, degreeNote(it.InDegree)...)
	}
	return string(b)
}

// unsent returns how many of the tokens at the end that the server has not seen stay in the prompt.
func (p *prompt) unsent(o *outcome) int {
	left, n := p.in.Unsent, 0
	for i := len(p.in.Items) - 1; i >= 0 && left > 0; i-- {
		took := min(p.in.Items[i].Tokens, left)
		left -= took
		n += min(took, o.sizes[i])
	}
	return n
}

// minRun returns the smallest kept run after the first gap that the server holds, in tokens; 0 if there is none.
func (p *prompt) minRun(o *outcome) int {
	least, run, gap := 0, 0, false
	end := func() {
		if run > 0 && (least == 0 || run < least) {
			least = run
		}
		run = 0
	}
	for i := range p.in.Items {
		if o.tiers[i] >= Archived {
			end()
			gap = true
		} else if gap {
			run += o.sizes[i]
		}
	}
	run -= p.unsent(o)
	end()
	return least
}

// stoppedBy names the floor that would have had to give way for missing tokens more.
func (p *prompt) stoppedBy(missing int) string {
	var held [FloorPins + 1]int
	for i, it := range p.in.Items {
		if c := p.class[i]; c > 0 {
			held[min(c, FloorPins)] += it.Tokens
		}
	}
	for c := FloorTool; c < FloorPins; c++ {
		if missing -= held[c]; missing <= 0 {
			return FloorName(c)
		}
	}
	return FloorName(FloorPins)
}
