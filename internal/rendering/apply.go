package rendering

import (
	"context"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/turn"
)

// apply rewrites the chat as the plan says and counts it again.
func (p *Prompt) apply(ctx context.Context, c *compaction, in evict.Input, spans []span, plan evict.Plan) error {
	last := make(map[string]evict.Tier, len(plan.Steps))
	for _, st := range plan.Steps {
		last[st.Episode] = st.To
	}
	changes := make(map[string]turn.Change, len(last)+len(plan.Trims))
	leaving := make([]*turn.Entry, 0, len(last)+len(plan.Trims))
	first := len(p.chat.Entries)
	from := make(map[string]int, len(in.Items))
	for i, it := range in.Items {
		from[it.Episode] = spans[i].from
	}
	at := func(id string) {
		if i, ok := from[id]; ok {
			first = min(first, i)
		}
	}
	var gone []*turn.Entry
	for _, e := range p.chat.Entries {
		to, ok := last[e.Episode]
		if !ok || e.Kind != turn.KindEpisode {
			continue
		}
		at(e.Episode)
		switch to {
		case evict.Masked:
			changes[e.Episode] = turn.Change{Form: turn.Masked, Bytes: maskedBytes}
		case evict.Referenced:
			changes[e.Episode] = turn.Change{Form: turn.Referenced}
		case evict.Archived, evict.Dropped:
			changes[e.Episode] = turn.Change{Gone: true}
			if to == evict.Archived {
				gone = append(gone, e)
			}
		}
	}
	perToken := p.bytesPerToken()
	for _, t := range plan.Trims {
		at(t.Episode)
		for i, e := range p.chat.Entries {
			if e.Kind != turn.KindEpisode || e.Episode != t.Episode {
				continue
			}
			fixed, raw := p.leastTokens(i, perToken)
			for k, s := range spans {
				if s.from == i {
					fixed += in.Items[k].Tokens - p.counted.Counts[i+p.headItems()].Tokens
				}
			}
			size := e.ContentBytes()
			if e.Form == turn.Trimmed {
				size = e.Head + e.Tail
			}
			bytes := int(float64(size) * float64(max(t.Tokens-fixed-trimSlack, 0)) / float64(max(raw, 1)))
			bytes = min(bytes, max(size-1, 0))
			changes[e.Episode] = turn.Change{Form: turn.Trimmed, Bytes: bytes}
			c.trims++
		}
	}
	for _, e := range p.chat.Entries {
		if _, ok := changes[e.Episode]; ok && e.Kind == turn.KindEpisode {
			leaving = append(leaving, e)
		}
	}
	p.leave(leaving)
	chat, err := p.chat.Rewrite(first, changes, plan.Shift, func(id string) (*episode.Record, error) { return p.opt.Record.Episode(ctx, id) })
	if err != nil {
		return err
	}
	p.chat = chat
	c.steps = append(c.steps, plan.Steps...)
	if n := len(p.chat.Entries) - 1; n >= 0 {
		// Where only the end of the chat went, the message that is now the newest lies before the first change, and changes all the same.
		content := p.chat.Entries[n].Message.Content
		if e := p.chat.Entries[n]; c.shift && (e.Seq <= p.state.SentSeq || e.Role == episode.Assistant) {
			p.archiveLater(gone) // the next message says it: this one stays as it is
			if !c.force {
				p.placePins(c.pins) // but the prompt that is being made has every pin, also one whose message has just gone
			}
		} else {
			p.archive(gone)
			p.placePins(c.pins)
		}
		if p.chat.Entries[n].Message.Content != content {
			first = min(first, n)
		}
	}
	c.cut = min(c.cut, first)
	p.touch(first)
	p.state.Sent = min(p.state.Sent, first)
	run := p.state.Run
	p.state.Run = 0
	if c.shift {
		if p.state.Run = c.runs(p); run > 0 {
			p.state.Run = min(p.state.Run, run)
		}
	}
	return p.count(ctx)
}
