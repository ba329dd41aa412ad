package rendering

import (
	"context"
	"encoding/binary"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/prompt"
)

// resume gives a rendering that was read from the store the model of the server's cache again. It counts what was sent as it was sent, before the head, the
// pins, a fold or another template changes any of it: the server holds the old bytes, whatever the next prompt is made of.
func (p *Prompt) resume(ctx context.Context, in Request) error {
	srv := in.Server
	if p.cache != nil {
		if in.Unmeasured {
			return nil
		}
		return p.replay(ctx) // another engine may have measured what this one made
	}
	if p.counter != nil || p.state.Cache == nil || srv.Fallback != "" {
		return nil
	}
	p.useCounter(srv)
	p.compose()
	if err := p.restoreCache(ctx); err != nil {
		// Another template may refuse what was sent under the one before. Then nothing is known of the slot; where the backend is down, the
		// count of the new prompt says so.
		p.cache, p.counter, p.counterKey, p.header = nil, nil, "", nil
		return ctx.Err()
	}
	return p.replay(ctx)
}

// restoreCache rebuilds the cache model from what was stored and the prompt that was sent last.
func (p *Prompt) restoreCache(ctx context.Context) (err error) {
	if p.profile.Template.UserHeader != "" {
		if p.header, err = p.counter.Tokens(ctx, p.profile.Template.UserHeader); err != nil {
			return &CountError{err}
		}
	}
	if p.reload() {
		return nil
	}
	p.cache = boundary.NewCache(p.profile)
	if p.state.Cache == nil || p.state.InSlot != "" {
		return nil
	}
	ids, sent, err := p.sentTokens(ctx)
	if err != nil {
		return err
	}
	c := boundary.RestoreCache(p.profile, *p.state.Cache)
	if c.Hold(ids) != nil {
		return nil
	}
	p.cache = c
	if sent != nil && p.counted == nil {
		p.counted, p.keep = sent, len(sent.Counts)
	}
	return nil
}

// sentTokens returns the tokens of the last prompt, and its count where it is made of the messages that the rendering begins with.
func (p *Prompt) sentTokens(ctx context.Context) ([]int32, *prompt.State, error) {
	if len(p.state.Held) > 0 {
		return unpackTokens(p.state.Held), nil, nil
	}
	n := min(p.state.Sent+p.headItems(), len(p.items))
	switch {
	case p.state.Sent == 0, p.state.Sent > len(p.chat.Entries):
		return nil, nil, nil
	case p.items[n-1].Message.Role == episode.Assistant, n < len(p.items) && p.items[n].Message.Role == episode.Tool:
		return nil, nil, nil // what was sent has been cut since; half a call with its results is nothing that a server renders
	}
	sent, err := p.counter.Count(ctx, nil, 0, p.items[:n])
	if err != nil {
		return nil, nil, &CountError{err}
	}
	return sent.Prompt(), sent, nil
}

// replay enters what was measured of the last prompt where the stored model of the cache does not know it: it was stored with the prompt, and the
// measurement came after.
func (p *Prompt) replay(ctx context.Context) error {
	if p.state.Window == "" || !p.cache.Unobserved() {
		return nil
	}
	r, reply, err := p.opt.Record.Receipt(ctx, p.state.Window)
	if err != nil {
		return err
	}
	if c := r.Cache; c.Measured {
		m := p.observe(c.Predicted, c.Reused, reply)
		p.notes = append(p.notes, learned(m, p.cache)...)
	}
	return nil
}

// observe has the model of the cache learn from what was measured of the last prompt, to which the server replied with that many tokens.
func (p *Prompt) observe(predicted, reused, reply int) boundary.Mismatch {
	m := p.cache.Observe(predicted, reused)
	p.cache.GeneratedCount(max(reply-1, 0)) // the last token of a reply is sampled and never evaluated
	if m.Learned {
		p.learned = p.cache.Learned()
	}
	p.keepModel()
	return m
}

// keepModel has the model of the cache stored as it is now.
func (p *Prompt) keepModel() {
	state := p.cache.State()
	p.state.Cache = &state
}

// Learned returns what measurements have shown of the server since the last call, nil where they showed nothing new.
func (p *Prompt) Learned() *boundary.Learned {
	l := p.learned
	p.learned = nil
	return l
}

// learned says in the words of a receipt what a measurement changed for good.
func learned(m boundary.Mismatch, c *boundary.Cache) []string {
	var notes []string
	if l := c.Learned(); m.Learned && l != nil {
		notes = append(notes, "cache profile learned from what was measured: "+l.String())
	}
	if m.NoShift {
		notes = append(notes, "the server does not move kept tokens: KV shift is not asked for any more")
	}
	if m.Distrust {
		notes = append(notes, "cache profile changed: from now on only measured rewind points are used")
	}
	return notes
}

// keepHeld stores the tokens that the server holds, for the time in which they cannot be rendered again.
func (p *Prompt) keepHeld() {
	p.keepModel()
	p.state.Held = packTokens(p.cache.Prompt())
}

func packTokens(ids []int32) []byte {
	b := make([]byte, 0, 3*len(ids))
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(uint32(id)))
	}
	return b
}

// unpackTokens returns the tokens that packTokens packed. Bytes that are none end them: the digest of the model then refuses what is there.
func unpackTokens(b []byte) []int32 {
	var ids []int32
	for len(b) > 0 {
		id, n := binary.Uvarint(b)
		if n <= 0 {
			return nil
		}
		ids = append(ids, int32(uint32(id)))
		b = b[n:]
	}
	return ids
}
