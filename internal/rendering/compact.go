package rendering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/pin"
	"sakur4/internal/prompt"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// Plan is a compaction: where the prompt changes and what leaves it behind that place.
type Plan struct {
	// Cut is the place of the change with the cache's arithmetic, Steps the rungs that episodes take.
	Cut   boundary.Plan
	Steps []evict.Step
	// Before and After are the prompt's tokens, Target what was aimed at.
	Before, After, Target int
	// Floor names what kept the plan from its target or had to give way, "" for neither; Reason is the planner's arithmetic in words, Pressure why there is a plan.
	Floor, Reason string
	Pressure      evict.Pressure
	// Applied says that the prompt is as planned, and that this is worth it.
	Applied bool
}

// Compact compacts the prompt whatever its size. Do so on a Prompt that was just restored, or is [Prompt.Anew]: one that prompts were made of remembers how they were
// counted, and would plan otherwise now and then. No call may be open, and the prompt not be empty. Where the plan is to be carried out, [Prompt.Settle] comes next, else the Prompt is of no
// other use afterwards.
//
// The errors are those of [Prompt.Next].
func (p *Prompt) Compact(ctx context.Context, in Request) (*Plan, error) {
	p.notes = slices.Clone(p.state.Named)
	if err := p.resume(ctx, in); err != nil {
		return nil, err
	}
	if err := p.fold(in.Folds); err != nil {
		return nil, err
	}
	p.learn(in.Server)
	p.setHead(in.Head, in.Pins)
	if err := p.measure(ctx, in.Server); err != nil {
		return nil, err
	}
	policy := p.opt.Policy(p.cache.Geometry())
	window, limit := in.Server.Window, in.Server.Limit
	c := &compaction{policy: policy, window: window, limit: limit, target: in.Target, force: true, pins: in.Pins, pressure: evict.Compacting}
	if in.Target == 0 {
		_, c.target, _ = evict.Threshold(policy, window, window-limit, p.counted.Total(), p.counted.Total())
	}
	if err := p.compact(ctx, c); err != nil {
		return nil, err
	}
	n, _ := p.chunk(p.state.Run)
	plan := c.plan(p, prediction{Reuse: p.cache.Predict(p.counted.Prompt(), n)})
	p.done = nil
	if c.applied() && plan.After >= plan.Before {
		plan.Reason += "; not carried out: what waits to be said takes more than what would go"
		plan.Applied = false
	}
	if plan.Applied {
		p.done = c
	}
	return plan, nil
}

// Settle has the prompt go on from a compaction that no prompt has shown yet. [Prompt.Changes] are then to be stored.
func (p *Prompt) Settle() {
	p.state.Generation++
	p.state.Base = p.counted.Total()
	p.state.Sent = min(p.state.Sent, p.done.cut)
	p.state.Covered, p.state.Spoken, p.state.Pending = p.chat.Covered, p.chat.Spoken, p.chat.Pending
	p.state.Named = p.notes
	p.keepHeld()
}

// compaction is one compaction on its way: what it was given, and what it did.
type compaction struct {
	policy                evict.Policy
	window, limit, target int
	force                 bool
	pressure              evict.Pressure
	pins                  []pin.Pin

	marks   map[int64]Mark // of the episodes in the prompt, by their positions
	marked  bool           // they were read
	before  *prompt.State
	entries []*turn.Entry // that before counts, behind head more messages
	head    int
	sent    int  // of them, the ones that the server was sent
	shift   bool // nothing but whole messages may go
	cut     int  // first entry that changed
	steps   []evict.Step
	trims   int
	shrunk  int // messages that had been sent and lost notes
	floor   string
	reason  string
}

// unsent reports whether an entry at the end of the chat came after the last prompt. A fixed message comes with the turn that made it necessary.
func (p *Prompt) unsent(e *turn.Entry) bool {
	return e.Seq > p.state.SentSeq || e.Filler()
}

func (c *compaction) applied() bool { return len(c.steps) > 0 || c.trims > 0 || c.shrunk > 0 }

// rounds bounds the passes of one compaction. The planner works with estimated sizes of stubs; what is left above the target after a pass
// is planned again with exact ones. The prompt is sent once, after the last pass.
const rounds = 5

// compact changes the rendering until it fits. Where nothing else helps, the head is written anew, with the pins that are in force.
func (p *Prompt) compact(ctx context.Context, c *compaction) error {
	c.before, c.entries, c.head, c.sent = p.counted, p.chat.Entries, p.headItems(), len(p.chat.Entries)
	for c.sent > 0 && p.unsent(c.entries[c.sent-1]) {
		c.sent--
	}
	c.cut = len(p.chat.Entries)
	c.target = min(c.target, c.limit)
	why := ""
	if p.opt.Shift {
		why = p.still()
		c.shift = why == ""
	}
	asked := c.shift
	err := p.squeeze(ctx, c)
	p.words.forget(p.chat.Entries)
	if err == nil && asked && !c.shift {
		why = "deletions alone do not make the prompt fit"
	}
	if err == nil && why != "" && c.applied() {
		p.notes = append(p.notes, "KV shift not used: "+why)
	}
	var over *evict.OverflowError
	if errors.As(err, &over) && p.renewHead(c) {
		if err := p.count(ctx); err != nil {
			return err
		}
		if total := p.counted.Total(); total <= c.limit {
			if total > c.target {
				c.floor = cmp.Or(c.floor, over.Floor) // what had no room before stands in the way of the target still
			}
			c.reason = cmp.Or(c.reason, "the head was written anew")
			return nil
		}
		err = p.squeeze(ctx, c)
	}
	if errors.As(err, &over) {
		p.nameHead(over, c.limit)
	}
	return err
}

// renewHead writes the head with the pins that are in force, and takes what was said of pins since out of the messages: there each costs more than
// in the head. It reports whether there was anything to gain.
func (p *Prompt) renewHead(c *compaction) bool {
	said := false
	for _, e := range p.chat.Entries {
		notes := slices.DeleteFunc(slices.Clone(e.Notes), func(n turn.Note) bool { return n.Kind == turn.NotePin || n.Kind == turn.NoteUnpin })
		if len(notes) < len(e.Notes) {
			e.SetNotes(notes)
			said = true
		}
	}
	if !said && slices.Equal(p.state.Pins, c.pins) {
		return false
	}
	p.state.Pins = slices.Clone(c.pins)
	p.touch(0)
	p.keep, p.state.Sent = 0, 0
	c.cut = 0
	c.shrunk++
	p.notes = append(p.notes, "the head was written anew: what was said of pins since had no room")
	return true
}

// nameHead names the part of the head that leaves no room, where the head is what takes it.
func (p *Prompt) nameHead(over *evict.OverflowError, limit int) {
	head, largest, floor := 0, 0, ""
	for _, part := range p.counted.Parts() {
		switch part.Category {
		case receipt.System, receipt.Tools, receipt.Pins:
			head += part.Tokens
			if part.Tokens > largest {
				largest, floor = part.Tokens, part.Category.String()
			}
		}
	}
	if head > limit*3/4 {
		over.Floor, over.ID = floor, ""
	}
}

// squeeze plans and applies until the prompt fits, in several passes.
func (p *Prompt) squeeze(ctx context.Context, c *compaction) error {
	target := c.target
	shrunk := 0
	for round := 0; round < rounds+shrunk; round++ {
		p.scattered, p.room = c.shift, c.window
		in, spans, err := p.candidates(ctx, c)
		if err != nil {
			return err
		}
		in.Target, in.Shift = target, c.shift
		in.Force = c.force || round > 0
		plan, err := evict.Pick(in)
		var over *evict.OverflowError
		if (err == nil || errors.As(err, &over)) && shrunk < maxShrinks && p.shrinkNotes(c, in, spans, plan, err) {
			shrunk++
			if err := p.count(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if over != nil {
				return over
			}
			return fmt.Errorf("rendering: plan: %w", err)
		}
		if c.shift && !plan.Shift && (len(plan.Steps) > 0 || len(plan.Trims) > 0) {
			if len(c.steps) > 0 && p.counted.Total() <= c.limit {
				// The rest is not worth what a change of kept messages costs.
				if p.counted.Total() > c.target {
					c.floor = cmp.Or(c.floor, "KV shift")
				}
				break
			}
			c.shift = false
		}
		switch {
		case c.reason == "":
			c.reason = plan.Reason
		case len(plan.Steps) > 0:
			c.reason += "; then " + plan.Reason
		}
		if plan.Floor != "" && (len(plan.Trims) > 0 || c.trims == 0) {
			c.floor = plan.Floor // a floor that was cut is named in any case, also where a later pass was stopped by another one
		}
		if len(plan.Steps) == 0 && len(plan.Trims) == 0 {
			break
		}
		if err := p.apply(ctx, c, in, spans, plan); err != nil {
			return err
		}
		total := p.counted.Total()
		if total <= c.target || (total <= c.limit && c.floor != "") {
			break
		}
		target = max(target-(total-c.target), 1)
	}
	if total := p.counted.Total(); total > c.limit {
		return &evict.OverflowError{Floor: cmp.Or(c.floor, "history"), Need: total, Have: c.limit}
	}
	return nil
}

// plan describes what was done.
func (c *compaction) plan(p *Prompt, predicted prediction) *Plan {
	cut := boundary.Resolve(p.cache.Geometry(), common(c.before.IDs, p.counted.IDs), p.counted.Total(), c.policy.SnapTolerance)
	switch {
	case predicted.plan.Total > 0:
		cut = predicted.plan
	case predicted.Shifted > 0:
		cut = cut.Moved(predicted.Shifted)
	}
	return &Plan{Cut: cut, Steps: c.steps, Before: c.before.Total(), After: p.counted.Total(), Target: c.target, Floor: c.floor, Reason: c.reason,
		Pressure: c.pressure, Applied: c.applied()}
}

// common is the length of the longest common prefix.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
