package rendering

import (
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

// Request is what a prompt is to be made for.
type Request struct {
	Server Server
	Head   Head
	// Pins are those in force. Notes are texts that wait for a message, as they were given; Folds those folds that were closed and are not [Prompt.Folded].
	Pins  []pin.Pin
	Notes []turn.Note
	Folds []Fold
	// Unmeasured says that there is no measurement of the last prompt to look for in its receipt.
	Unmeasured bool
	// ID gives the id of the prompt. Swapped asks the server whether it has become another one; nil where there is no use in asking. Only for [Prompt.Next].
	ID      func() string
	Swapped func(context.Context) bool
	// Target is what a forced compaction aims at, in tokens; 0 is the policy's. Only for [Prompt.Compact].
	Target int
}

// Made is a prompt that was made and is not stored yet: see [Prompt.Changes], [Prompt.Messages] and [Prompt.Hints].
type Made struct {
	// Receipt is the prompt's, without the names of session and backend.
	Receipt receipt.Receipt
	// Plan is what was compacted; nil if nothing was.
	Plan *Plan
}

// ErrSwapped is returned by [Prompt.Next] where the server counts what was sent as no other prompt's beginning, and Request.Swapped says that it is another one now.
var ErrSwapped = errors.New("rendering: the server has become another one")

// Next makes the next prompt, within the limit, and compacts where it must. It is nil where the last prompt is the next one too: nothing has changed then. It must be the
// model's turn, without open calls.
//
// The errors are [*CountError], [ErrSwapped], and [*evict.OverflowError] where not even the shortest prompt fits; and those of [Record].
func (p *Prompt) Next(ctx context.Context, in Request) (*Made, error) {
	p.notes = slices.Clone(p.state.Named)
	if err := p.resume(ctx, in); err != nil {
		return nil, err
	}
	if err := p.fold(in.Folds); err != nil {
		return nil, err
	}
	learned := p.learn(in.Server)
	changed := p.setHead(in.Head, in.Pins) || learned
	p.placed = p.place(in.Pins, in.Notes)
	before := counting{p.counted, p.keep, p.tokenizer, p.profile.Template.Digest}
	if err := p.measure(ctx, in.Server); err != nil {
		return nil, err
	}
	if p.state.Turn > 0 && !changed && p.state.Sent == len(p.chat.Entries) && p.dirty == p.state.Sent && len(p.placed) == 0 && p.state.InSlot == "" {
		if fits, err := p.stillFits(ctx, in.Server); fits || err != nil {
			return nil, err
		}
	}
	if !changed {
		if err := p.compare(ctx, before, in.Swapped); err != nil {
			return nil, err
		}
	}
	c, err := p.fit(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("rendering: %w", err)
	}
	if err := p.warm(ctx); err != nil {
		return nil, err
	}
	out := &Made{}
	predicted := p.predict(c != nil)
	if c != nil {
		out.Plan = c.plan(p, predicted)
	}
	p.done = c
	p.follows = p.state.Turn > 0 && !changed && c == nil && len(p.placed) == 0 && p.dirty == p.state.Sent && p.state.InSlot == "" && plain(p.chat.Entries[p.dirty:])
	p.state.Window = in.ID()
	out.Receipt = p.finish(out.Plan, in.Server.Window, predicted)
	p.words.read(p.chat.Entries)
	return out, nil
}

// stillFits reports whether the prompt that was sent last can be sent once more. A local count says nothing against one that the server has counted, unless the window
// has shrunk since.
func (p *Prompt) stillFits(ctx context.Context, srv Server) (bool, error) {
	if p.counted.Total() <= srv.Limit || srv.Fallback == "" {
		return p.counted.Total() <= srv.Limit, nil
	}
	r, _, err := p.opt.Record.Receipt(ctx, p.state.Window)
	return r.Window <= srv.Window, err
}

// counting is how a prompt was counted, of which the first keep messages are as they were, by a tokenizer and with a template.
type counting struct {
	state               *prompt.State
	keep                int
	tokenizer, template string
}

// compare says in the receipt what is counted otherwise than in the prompt before, of which the server may hold less then. Where it may be another server, swapped is
// asked.
func (p *Prompt) compare(ctx context.Context, before counting, swapped func(context.Context) bool) error {
	switch {
	case before.state == nil:
	case before.tokenizer != p.tokenizer:
		p.notes = append(p.notes, fmt.Sprintf("counted by %s, the prompt before by %s", p.tokenizer, before.tokenizer))
	case p.counted.Full && before.template == p.profile.Template.Digest:
		size := 0 // of the messages that we left as they were
		for _, c := range before.state.Counts[:min(before.keep, len(before.state.Counts))] {
			size += c.Tokens
		}
		n := common(before.state.IDs, p.counted.IDs)
		if n >= size {
			break
		}
		if swapped != nil && swapped(ctx) {
			return ErrSwapped
		}
		p.notes = append(p.notes, fmt.Sprintf("template rewrote history: %d of %d tokens sent before are as they were", n, size))
	}
	return nil
}

// fit shortens the new results that are too large, and compacts the prompt where it must. The compaction is nil where nothing was compacted.
func (p *Prompt) fit(ctx context.Context, in Request) (*compaction, error) {
	window, limit := in.Server.Window, in.Server.Limit
	policy := p.opt.Policy(p.cache.Geometry())
	if err := p.trimResults(ctx, policy, window); err != nil {
		return nil, err
	}
	used := p.counted.Total()
	pressure, target, _ := evict.Threshold(policy, window, window-limit, used, used-p.state.Base)
	if pressure == evict.Relaxed {
		return nil, nil
	}
	c := &compaction{policy: policy, window: window, limit: limit, target: target, pressure: pressure, pins: in.Pins}
	if err := p.compact(ctx, c); err != nil {
		return nil, err
	}
	if !c.applied() {
		p.notes = append(p.notes, "nothing compacted: "+c.reason)
		return nil, nil
	}
	return c, nil
}

// plain reports whether entries are turns as they were recorded, with the fixed messages between them.
func plain(entries []*turn.Entry) bool {
	for _, e := range entries {
		if e.Kind == turn.KindSynthetic || len(e.Notes) > 0 {
			return false
		}
	}
	return true
}

// finish writes the receipt and moves the state behind the new prompt.
func (p *Prompt) finish(plan *Plan, window int, predicted prediction) receipt.Receipt {
	p.state.Turn++
	newTokens := p.newTokens()
	p.state.Sent = len(p.chat.Entries)
	p.state.Covered, p.state.SentSeq, p.state.Spoken = p.chat.Covered, p.chat.Covered, p.chat.Spoken
	p.state.Pending, p.state.Named, p.state.Held = p.chat.Pending, nil, nil
	p.state.InSlot, p.saved = "", nil
	p.state.Fresh += newTokens
	if plan != nil {
		p.state.Generation++
		p.state.Base = p.counted.Total()
		if predicted.Held {
			p.state.Again += max(p.counted.Total()-predicted.Reused-newTokens, 0)
		}
	}
	if p.fallback == "" {
		p.state.Context, p.state.Template = p.profile.Window, p.profile.Template.Digest
	}
	p.keepModel()
	escaped := 0
	for _, e := range p.chat.Entries {
		escaped += e.Escaped
	}
	r := receipt.Receipt{ID: p.state.Window, Turn: p.state.Turn, Generation: p.state.Generation, Window: window, Used: p.counted.Total(),
		Messages: len(p.items), EscapedMarks: escaped, Compacted: plan != nil, Parts: p.counted.Parts(), New: newTokens, Tokenizer: p.tokenizer,
		Notes: p.notes}
	r.Cache = receipt.Cache{Status: boundary.StatusUnknown, Boundary: predicted.Common, Checkpoint: predicted.Checkpoint, Snap: predicted.plan.Snap, Predicted: predicted.Reused,
		Reason: predicted.plan.Reason, Shifted: predicted.Shifted > 0}
	if plan != nil {
		r.Floor = plan.Floor
		r.Cache.Verdict = plan.Cut.Verdict
		r.Cache.Reason = plan.Cut.Reason
	}
	if p.fallback != "" {
		r.Notes = append(r.Notes, "counted locally: "+p.fallback)
	}
	if p.counted.Estimated {
		r.Notes = append(r.Notes, "shares are estimated: the template changes what messages say")
	}
	if predicted.unsure != "" {
		r.Notes = append(r.Notes, predicted.unsure)
	}
	r.Cache.Estimated = p.profile.Estimated && p.fallback == ""
	p.state.Marks = predicted.marks
	return r
}

// newTokens counts what has never stood in a prompt of the session: episodes with their template overhead, and the head once. Notes and stubs
// are not new, nor are the fixed messages between turns.
func (p *Prompt) newTokens() int {
	n := 0
	count := func(c prompt.Count) int {
		ours := c.Parts[receipt.Stubs] + c.Parts[receipt.RecalledNotes] + c.Parts[receipt.RepoMap] + c.Parts[receipt.FoldSummaries]
		return c.Tokens - ours
	}
	h := p.headItems()
	if p.state.Turn == 1 && h == 1 {
		n += count(p.counted.Counts[0])
	}
	for i, e := range slices.Backward(p.chat.Entries) {
		if e.Kind == turn.KindEpisode && e.Seq <= p.state.SentSeq {
			break // the record's order is the prompt's
		}
		if e.Kind == turn.KindSynthetic && e.Seq > p.state.SentSeq {
			n += p.counted.Counts[i+h].Parts[receipt.RawHistory] // late results and system turns that stand behind it
		}
		if e.Kind == turn.KindEpisode && e.Seq > p.state.SentSeq {
			c := p.counted.Counts[i+h]
			n += count(c)
			if i+h > 0 || p.state.Turn > 1 {
				n -= c.Parts[receipt.Pins]
			}
		}
	}
	return n
}
