package rendering

import (
	"context"
	"encoding/json"
	"fmt"

	"sakur4/boundary"
)

// SlotEmpty stands for a snapshot where the server's slot was emptied.
const SlotEmpty = "empty"

// Slot is what a saved slot of the server holds: the model of the cache, and the tokens of the prompt in the vocabulary of that name.
type Slot struct {
	Vocab  string
	Cache  boundary.CacheState
	Prompt []int32
}

// ModelSlot has the model of the server's slot at hand, as the server is now. The error is a [*CountError], or one of [Record].
func (p *Prompt) ModelSlot(ctx context.Context, srv Server) error {
	if err := p.resume(ctx, Request{Server: srv}); err != nil {
		return err
	}
	p.countWith(srv)
	if p.cache == nil {
		p.compose()
		return p.restoreCache(ctx)
	}
	return nil
}

// Held returns the sizes in tokens of the prompt and the reply that the server's slot holds as far as is known; an empty prompt is nothing. Ask [Prompt.ModelSlot] first.
func (p *Prompt) Held() (prompt, reply int) { return p.cache.Held() }

// SaveSlot returns what the server's slot holds, which has that many tokens behind the prompt. Ask [Prompt.ModelSlot] first.
func (p *Prompt) SaveSlot(reply int) (*Slot, error) {
	// A copy: the session's own model is told of the reply by its measurement, before or after.
	c := boundary.RestoreCache(p.profile, p.cache.State())
	if err := c.Hold(p.cache.Prompt()); err != nil {
		return nil, fmt.Errorf("rendering: slot: %w", err)
	}
	c.SetReply(reply)
	return &Slot{Vocab: p.profile.Tokenizer, Cache: c.State(), Prompt: c.Prompt()}, nil
}

// Restored returns the snapshot that the server's slot was restored from, or [SlotEmpty], until a reuse behind that was measured; "" for none.
func (p *Prompt) Restored() string { return p.state.Restored }

// HoldSlot notes that the server's slot holds a snapshot from now on, or nothing with [SlotEmpty] and nil, and whose first measured reuse is still to come.
func (p *Prompt) HoldSlot(id, restored string, slot *Slot) {
	if p.cache != nil {
		p.keepModel() // with what was learned since the last prompt
	}
	p.state.hold(id, restored)
	p.saved, p.cache = slot, nil
}

// HoldSlot is [Prompt.HoldSlot] on what is stored of a session. The error is a [*DamageError].
func HoldSlot(body, id, restored string) (string, error) {
	st, err := readState(body)
	if err != nil {
		return "", err
	}
	st.hold(id, restored)
	out, err := json.Marshal(st)
	if err != nil {
		return "", fmt.Errorf("rendering: state: %w", err)
	}
	return string(out), nil
}

func (st *state) hold(id, restored string) {
	st.InSlot, st.Restored = id, restored
	if id == SlotEmpty && st.Cache != nil {
		empty := st.Cache.Emptied()
		st.Cache = &empty
	}
}

// reload builds the model of a slot that was restored or emptied and of which nothing was sent since. It reports whether there is one.
func (p *Prompt) reload() bool {
	if p.state.InSlot == SlotEmpty && p.state.Cache != nil {
		p.cache = boundary.RestoreCache(p.profile, *p.state.Cache)
		return true
	}
	if p.state.InSlot == "" || p.saved == nil || p.fallback != "" || p.saved.Vocab != p.profile.Tokenizer {
		return false
	}
	c := boundary.NewCache(p.profile)
	if p.state.Cache != nil {
		c = boundary.RestoreCache(p.profile, *p.state.Cache) // it has what was learned
	}
	if c.Reload(p.saved.Cache, p.saved.Prompt, nil) != nil {
		return false
	}
	p.cache = c
	return true
}

// warm notes in the next receipt that the slot was restored, until a reuse has been measured.
func (p *Prompt) warm(ctx context.Context) error {
	switch {
	case p.state.InSlot == SlotEmpty:
		p.notes = append(p.notes, "the slot was emptied: a snapshot could not be restored")
	case p.state.InSlot != "" && p.state.InSlot == p.state.Restored:
		p.notes = append(p.notes, fmt.Sprintf("the slot was restored from snapshot %s", p.state.InSlot))
	case p.state.InSlot == "" && p.state.Restored != "":
		r, _, err := p.opt.Record.Receipt(ctx, p.state.Window)
		if err != nil {
			return err
		}
		if r.Cache.Measured {
			p.state.Restored = ""
		}
	}
	return nil
}
