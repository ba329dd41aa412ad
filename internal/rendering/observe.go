package rendering

import (
	"fmt"

	"sakur4/boundary"
	"sakur4/receipt"
)

// templateStart is how many tokens of a prompt any two prompts of one template share: their reuse says nothing of a session.
const templateStart = 4

// Measurement is what a server said of one prompt.
type Measurement struct {
	// Prompt is its count of the prompt, 0 where that was not told; Reply the size of the reply. Cached is how much of the prompt was reused, nil where that was not
	// told. All in tokens.
	Prompt, Reply int
	Cached        *int
	// ShiftRefused says that the server refused to move tokens.
	ShiftRefused bool
	// Restored is what [Prompt.Restored] was when the prompt was made.
	Restored string
}

// Measured fills in the server's side of a prompt's receipt, and has the prompt learn from it. p is the prompt while it is the one of the receipt, nil where the
// session has gone on since, or is not in memory.
func Measured(p *Prompt, r *receipt.Receipt, m Measurement) {
	measured(p, r, m)
	if c := &r.Cache; m.Restored != "" && c.Measured {
		warm := m.Restored != SlotEmpty
		c.Status = boundary.StatusOf(&c.Reused, warm, warm, templateStart)
	}
}

func measured(p *Prompt, r *receipt.Receipt, u Measurement) {
	c := &r.Cache
	c.Prompt = u.Prompt
	if u.Prompt > 0 {
		c.Drift = u.Prompt - r.Used
		if c.Drift != 0 && p != nil && p.counter != nil && !c.Estimated {
			p.counter.Distrust()
		}
	}
	if u.Cached == nil {
		c.Status, c.Measured = boundary.StatusUnknown, false
		if c.Cause == "" {
			c.Cause = "cached tokens: not reported"
		}
		return
	}
	prompt := u.Prompt
	if prompt == 0 {
		prompt = r.Used
	}
	c.Measured = true
	c.Reused = min(*u.Cached, prompt)
	c.Prefilled = prompt - c.Reused
	// A slot that gives nothing of what was expected of it does not hold this session any more.
	held := r.Turn > 1 && (c.Reused > templateStart || c.Predicted <= templateStart)
	if c.Estimated && c.Predicted <= templateStart {
		held = false // too little for a provider to keep
	}
	c.Status = boundary.StatusOf(&c.Reused, held, false, templateStart)
	modelled := p != nil && p.cache != nil
	if u.ShiftRefused {
		c.Shifted = false
		if modelled {
			c.Predicted = p.cache.RefuseShift()
		}
		r.Notes = append(r.Notes, "the server refused to move kept tokens: KV shift is not asked for any more")
	}
	var m boundary.Mismatch
	switch {
	case c.Estimated:
		// What left a provider's cache says nothing of the cache's shape, so that nothing is learned from it.
		var g boundary.Geometry
		if p != nil {
			g = p.profile.Geometry
		}
		m = boundary.Estimated(g, c.Predicted, r.Used, boundary.Reported{Prompt: u.Prompt, Cached: u.Cached})
	case modelled:
		m = p.observe(c.Predicted, c.Reused, u.Reply)
	case c.Reused < c.Predicted: // where it is more, only the reply's size could tell
		m = boundary.Mismatch{Predicted: c.Predicted, Measured: c.Reused, Reason: fmt.Sprintf("%d of %d predicted tokens reused", c.Reused, c.Predicted)}
	}
	if m != (boundary.Mismatch{}) {
		c.Cause = cause(c, m)
		if modelled {
			r.Notes = append(r.Notes, learned(m, p.cache)...)
		}
	}
	if *u.Cached > prompt && u.Prompt > 0 {
		c.Cause = fmt.Sprintf("%d cached tokens were reported of a prompt of %d: the size of the prompt is to include them", *u.Cached, prompt)
	}
}

// cause names why the server reused other than predicted.
func cause(c *receipt.Cache, m boundary.Mismatch) string {
	switch {
	case c.Estimated:
		return m.Reason
	case m.Measured < m.Predicted && m.Measured <= templateStart:
		return "nothing of this session was held: the server restarted or the slot was taken; " + m.Reason
	case c.Drift != 0:
		return fmt.Sprintf("the server counts %d tokens, we %d: the text was rendered or tokenized otherwise; %s", c.Prompt, c.Prompt-c.Drift, m.Reason)
	}
	return m.Reason
}

// Doubtful reports whether the server may have become another one since a prompt with that receipt was made: nothing was measured for it, as when the request for it
// failed, it was counted otherwise, or nothing of the session was held.
func Doubtful(r receipt.Receipt) bool {
	c := r.Cache
	return c.Prompt == 0 || c.Drift != 0 || (c.Measured && r.Turn > 1 && c.Reused <= templateStart)
}
