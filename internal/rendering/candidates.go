package rendering

import (
	"context"
	"slices"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// span is the entries of one candidate: an episode's own, with the fixed and synthetic messages behind it.
type span struct{ from, to int }

// candidates describes the prompt to the planner.
func (p *Prompt) candidates(ctx context.Context, c *compaction) (evict.Input, []span, error) {
	entries := p.chat.Entries
	if err := p.mark(ctx, c); err != nil {
		return evict.Input{}, nil, err
	}
	h := p.headItems()
	total := p.counted.Total()
	in := evict.Input{Total: total, Window: c.window, Limit: c.limit, Policy: c.policy, SinceLast: total - p.state.Base, NoteTokens: p.noteTokens(),
		NoReplyTokens: noReplyTokens}
	if h == 1 {
		in.HeadTokens = p.counted.Counts[0].Tokens
	}
	perToken := p.bytesPerToken()
	geometry := p.cache.Geometry()
	task, newest := int64(0), int64(0)
	for _, e := range entries {
		if e.Kind == turn.KindEpisode && e.Role == episode.User {
			if task == 0 {
				task = e.Seq
			}
			newest = e.Seq
		}
	}
	sent := make(map[*turn.Entry]bool, c.sent)
	for _, e := range c.entries[:c.sent] {
		sent[e] = true
	}
	protected := map[string]bool{}
	for _, t := range c.policy.ProtectedTools {
		protected[t] = true
	}
	spans := make([]span, 0, len(entries))
	in.Items, in.Breaks = make([]evict.Item, 0, len(entries)), make([]evict.Break, 0, len(entries))
	pos := in.HeadTokens
	group, groupSeq := 0, int64(-1)
	atom, atomSeq := 0, int64(-1)
	for i, e := range entries {
		n := p.counted.Counts[i+h].Tokens
		if !sent[e] {
			in.Unsent += n
		}
		if e.Kind != turn.KindEpisode && len(spans) > 0 {
			spans[len(spans)-1].to = i + 1
			it := &in.Items[len(in.Items)-1]
			it.Tokens += n // on every rung: no form of the episode shortens what stands behind it
			for _, form := range []*int{&it.MaskedTokens, &it.ReferencedTokens, &it.LeastTokens} {
				if *form > 0 {
					*form += n
				}
			}
			pos += n
			continue
		}
		if e.Kind != turn.KindEpisode {
			// A fixed message in front of the first episode stays with the head.
			in.HeadTokens += n
			pos += n
			continue
		}
		if e.Group != groupSeq {
			groupSeq = e.Group
			group++
		}
		if e.Atom != atomSeq {
			atomSeq = e.Atom
			atom++
		}
		mark := c.marks[e.Seq]
		it := evict.Item{Episode: e.Episode, Role: string(e.Role), Tool: e.Tool, Atom: atom, Group: group, Seq: e.Seq, Pos: pos, Tokens: n,
			Tier: tierOf(e.Form), InDegree: mark.InDegree, Dependents: mark.InDegree, Superseded: mark.Superseded, Droppable: mark.Droppable}
		if e.Result() {
			it.MaskedTokens, it.ReferencedTokens = stubTokens(e, n, perToken)
		}
		if e.Form == turn.Full {
			it.NoteTokens = p.counted.Counts[i+h].Parts[receipt.Stubs]
		}
		it.LeastTokens, _ = p.leastTokens(i, perToken)
		switch {
		case e.Role == episode.User && e.Seq == newest:
			it.Protect, it.Floor = "newest user turn", evict.FloorNewestUser
		case e.Role == episode.User && e.Seq == task:
			it.Protect, it.Floor = "task root", evict.FloorTaskRoot
		case e.Role == episode.Tool && protected[e.Tool]:
			it.Protect, it.Floor = "protected tool", evict.FloorTool
		}
		in.Items = append(in.Items, it)
		spans = append(spans, span{i, i + 1})
		pos += n
	}
	in.Fresh, in.Again = p.state.Fresh+in.Unsent, p.state.Again
	// What lies behind the first change of an earlier pass is sent anew wherever this one breaks.
	same := common(c.before.IDs, p.counted.IDs)
	for i := range in.Items {
		in.Items[i].Age = len(in.Items) - 1 - i
		in.Breaks = append(in.Breaks, evict.Break{Item: i, Pos: in.Items[i].Pos, Reuse: geometry.Rewind(min(in.Items[i].Pos, same))})
	}
	p.words.workingSet(&in, entries, spans)
	return in, spans, nil
}

// mark reads the marks of the episodes in the prompt, once a compaction: its passes only take episodes away.
func (p *Prompt) mark(ctx context.Context, c *compaction) error {
	if c.marked {
		return nil
	}
	ids, seqs := make([]string, 0, len(p.chat.Entries)), make([]int64, 0, len(p.chat.Entries))
	for _, e := range p.chat.Entries {
		if e.Kind == turn.KindEpisode {
			ids, seqs = append(ids, e.Episode), append(seqs, e.Seq)
		}
	}
	marks, err := p.opt.Record.Marks(ctx, ids, seqs)
	c.marks, c.marked = marks, true
	return err
}

func tierOf(f turn.Form) evict.Tier {
	switch f {
	case turn.Masked:
		return evict.Masked
	case turn.Referenced:
		return evict.Referenced
	}
	return evict.Live
}

// maskedBytes is how much of a result its masked form shows: a few lines.
const maskedBytes = 240

// stubTokens estimates the sizes of a result's shorter forms from the prompt's own bytes per token. 0 is a form that would not be shorter.
func stubTokens(e *turn.Entry, tokens int, perToken float64) (masked, referenced int) {
	notes := 0
	for _, n := range e.Notes {
		notes += len(n.Text) + 64
	}
	const words = 260 // of a stub's wording, with ids
	const overhead = 12
	size := func(bytes int) int { return overhead + int(float64(bytes+notes)/perToken) }
	if m := size(maskedBytes + words); m < tokens && e.Form != turn.Masked && e.Form != turn.Referenced {
		masked = m
	}
	if r := size(words); r < tokens && e.Form != turn.Referenced {
		referenced = r
	}
	if e.Form == turn.Masked {
		masked = tokens
	}
	if e.Form == turn.Referenced {
		masked, referenced = tokens, tokens
	}
	return masked, referenced
}

// bytesPerToken is the average over the prompt.
func (p *Prompt) bytesPerToken() float64 {
	bytes := 0
	for _, it := range p.items {
		bytes += len(it.Message.Content) + len(it.Message.Reasoning)
		for _, c := range it.Message.Calls {
			bytes += len(c.Name) + len(c.Arguments)
		}
	}
	if n := p.counted.Total(); n > 0 && bytes > n {
		return float64(bytes) / float64(n)
	}
	return 1
}

// noReplyTokens estimates the fixed message that takes the place of a final answer, with what templates put around it.
const noReplyTokens = 10

// noteTokens estimates the archive note: its local count, scaled by how the prompt's own count of its longest message compares with the local one.
func (p *Prompt) noteTokens() int {
	id := p.chat.Entries[len(p.chat.Entries)-1].Episode
	note := turn.Note{Kind: turn.NoteArchive, Text: archiveText(append(slices.Clone(p.state.Archived), stretch{From: id, To: id, N: 100}), p.scattered)}
	longest := 0
	for i, it := range p.items {
		if len(it.Message.Content) > len(p.items[longest].Message.Content) {
			longest = i
		}
	}
	n := float64(p.opt.Count(note.String()))
	count := p.counted.Counts[longest]
	if own := p.opt.Count(p.items[longest].Message.Content); own > 0 {
		n *= float64(count.Tokens-count.Parts[receipt.TemplateOverhead]) / float64(own)
	}
	return int(n) + p.goneTokens(p.room) + noteSlack
}

// noteSlack is what merges with the neighbouring text may cost.
const noteSlack = 4

// pointerBytes is the length of a trimmed form's pointer, trimSlack what a trim goes below its budget: the cut falls on a line end, and the
// tokens of what is kept are not spread evenly.
const (
	pointerBytes = 300
	trimSlack    = 6
)

// leastTokens returns what of the entry at index i a trim does not touch, its pointer included, and what it does.
func (p *Prompt) leastTokens(i int, perToken float64) (fixed, raw int) {
	e, count := p.chat.Entries[i], p.counted.Counts[i+p.headItems()]
	if e.Form != turn.Full && e.Form != turn.Trimmed || e.Form == turn.Trimmed && e.Head+e.Tail == 0 {
		return count.Tokens, 0
	}
	raw = count.Parts[receipt.RawHistory]
	for _, n := range e.Notes {
		if n.Kind.Category() == receipt.RawHistory {
			raw -= int(float64(len(n.Text))/perToken) + 16
		}
	}
	raw = max(raw, 0)
	fixed = count.Tokens - raw
	if e.Form == turn.Full {
		fixed += int(pointerBytes/perToken) + 4
	}
	return fixed, raw
}
