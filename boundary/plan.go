package boundary

import (
	"fmt"
	"slices"
)

// DefaultSnapTolerance is how many tokens a rewind point may lie before a cut and still count as [Snapped]: one physical batch of a llama.cpp
// server, the most that it prefills in one step.
const DefaultSnapTolerance = 512

// Plan is the arithmetic of one cut. All counts are in tokens. The zero value is no plan.
type Plan struct {
	// Verdict is how well the cut fits.
	Verdict Verdict `json:"verdict"`
	// Status is what the server is expected to make of it.
	Status CacheStatus `json:"status"`
	// Cut is the position of the first changed token.
	Cut int `json:"cut"`
	// Checkpoint is the rewind point that is used, 0 for none; Snap is how far before the cut it lies.
	Checkpoint int `json:"checkpoint"`
	Snap       int `json:"snap"`
	// Reused and Prefilled make up Total, the size of the new prompt.
	Reused    int `json:"reused"`
	Prefilled int `json:"prefilled"`
	Total     int `json:"total"`
	// Reason is the arithmetic in words.
	Reason string `json:"reason"`
}

// Resolve says what a server of geometry g reuses of a prompt of total tokens whose first changed token is at cut.
// A tolerance of 0 or less means [DefaultSnapTolerance]. A cut outside the prompt is moved to its nearer end.
//
// At least one token is always evaluated: Reused is at most total−1. An unknown geometry counts as one that can rewind to any token,
// until measurements say otherwise.
func Resolve(g Geometry, cut, total, tolerance int) Plan {
	if tolerance <= 0 {
		tolerance = DefaultSnapTolerance
	}
	total = max(total, 0)
	cut = min(max(cut, 0), total)
	point := g.Rewind(cut)
	p := Plan{Cut: cut, Checkpoint: point, Total: total, Status: StatusPartialReuse}
	p.Reused = max(min(point, total-1), 0)
	p.Prefilled = total - p.Reused
	if p.Reused == 0 {
		p.Verdict, p.Status, p.Checkpoint = FullRePrefill, StatusFullRePrefill, 0
	} else {
		p.Snap = cut - point
		switch {
		case p.Snap == 0:
			p.Verdict = Aligned
		case p.Snap <= tolerance:
			p.Verdict = Snapped
		default:
			p.Verdict = PartialReuse
		}
	}
	p.Reason = p.words(g.Kind)
	return p
}

// Moved returns the plan for a request on which the server moves moved tokens behind the cut instead of computing them again.
func (p Plan) Moved(moved int) Plan {
	p.Reused = max(min(p.Cut+moved, p.Total-1), 0)
	p.Prefilled = p.Total - p.Reused
	p.Checkpoint, p.Snap = p.Cut, 0
	p.Verdict, p.Status = Aligned, StatusPartialReuse
	p.Reason = fmt.Sprintf("cut at %d, %d kept tokens behind it moved; %d of %d tokens prefilled", p.Cut, moved, p.Prefilled, p.Total)
	return p
}

// words writes the arithmetic out.
func (p Plan) words(k Kind) string {
	point := "rewind point"
	switch k {
	case Points:
		point = "checkpoint"
	case Blocks:
		point = "block border"
	case Marked:
		point = "marked position"
	}
	paid := fmt.Sprintf("%d of %d tokens prefilled", p.Prefilled, p.Total)
	switch {
	case p.Verdict == Aligned:
		return fmt.Sprintf("cut at %d is a %s; %s", p.Cut, point, paid)
	case p.Verdict == Snapped:
		return fmt.Sprintf("snapped %d tokens back onto a %s at %d; %s", p.Snap, point, p.Checkpoint, paid)
	case p.Verdict == PartialReuse:
		return fmt.Sprintf("newest %s before the cut at %d is %d, %d tokens back; %s", point, p.Cut, p.Checkpoint, p.Snap, paid)
	case p.Cut == 0:
		return "the first token changed; " + paid
	}
	return fmt.Sprintf("no %s at or before the cut at %d; %s", point, p.Cut, paid)
}

// Rewind returns the newest position at or before pos, in tokens, to which the geometry can rewind; 0 if there is none.
func (g Geometry) Rewind(pos int) int {
	if pos <= 0 {
		return 0
	}
	switch g.Kind {
	case Unknown, AnyToken:
		return pos
	case Points, Marked:
		if g.Tail > 0 && pos >= g.Tail {
			return pos
		}
		i, found := slices.BinarySearch(g.Points, pos)
		switch {
		case found:
			return pos
		case i > 0:
			return max(g.Points[i-1], 0)
		}
	case Blocks:
		if n := pos - pos%max(g.Block, 1); n >= g.Min {
			return n
		}
	}
	return 0
}
