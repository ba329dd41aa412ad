package boundary

import "fmt"

// Reload does to the model what restoring a saved slot does to a llama.cpp server: the slot holds what it held when the state was taken. prompt are the
// tokens of the last prompt then, reply those of the reply where they are known. What was learned about the server since stays learned. It is an error if
// the prompt is not that which the state was taken with; the cache is then unchanged.
//
// A slot file holds the tokens and all checkpoints, but of the attention window of a sliding-window model only what the next token can see: a rewind
// that needed no checkpoint before needs one after.
func (c *Cache) Reload(s CacheState, prompt, reply []int32) error {
	p := c.p
	p.Geometry.Kind, p.Learned = c.givenKind, c.learned
	s.Learned, s.Log, s.Blind = c.Learned(), nil, true
	r := RestoreCache(p, s)
	if s.Digest == "" {
		if len(prompt) > 0 {
			return fmt.Errorf("boundary: %d tokens for a slot that was empty", len(prompt))
		}
	} else if err := r.Hold(prompt); err != nil {
		return err
	}
	if len(reply) == r.reply {
		r.held, r.reply = append(r.held, reply...), 0
	}
	if r.cells != nil {
		n := len(r.held) + r.reply
		visible := r.cells.runs(n - r.rule.Window)
		r.cells = newRing(r.rule.Window, max(r.rule.Cells, 1))
		r.cells.restore(visible)
	}
	r.lessRow, r.lessAtAppend, r.distrust, r.short, r.fresh = c.lessRow, c.lessAtAppend, c.distrust, c.short, c.fresh
	r.unmoved, r.still = c.unmoved, c.still
	r.last, r.reloaded = accepted{}, true
	*c = *r
	return nil
}

// replyMatters reports whether the server needs a checkpoint to append to the slot unless the last reply comes back in the very tokens that it holds. A
// restored window ends with the reply, so that one who goes on before it misses the window's oldest tokens.
func (c *Cache) replyMatters() bool { return c.reloaded && c.reply > 0 && c.cells != nil }

// Emptied returns the state of the slot once it was emptied: what was learned about the server stays.
func (s CacheState) Emptied() CacheState {
	return CacheState{Task: s.Task, Less: s.Less, Distrust: s.Distrust, Short: s.Short, Stale: s.Stale, Unmoved: s.Unmoved, Still: s.Still, AtAppend: s.AtAppend, Learned: s.Learned}
}

// Held returns how many tokens the slot holds as far as it is known: those of the last prompt, and those of the reply behind them. Both are 0 for a slot
// that holds nothing, and for a restored cache that misses its tokens.
func (c *Cache) Held() (prompt, reply int) {
	if c.sealed.Digest != "" {
		return 0, 0
	}
	return c.prompted, len(c.held) - c.prompted + c.reply
}

// SetReply replaces what is known of the reply behind the last prompt by the server's own count of its tokens.
func (c *Cache) SetReply(n int) {
	_, known := c.Held()
	switch {
	case n > known:
		c.GeneratedCount(n - known)
	case n < known:
		c.held, c.reply = c.held[:c.prompted], 0
		if c.cells != nil {
			c.cells.remove(c.prompted, 1<<31-1)
		}
		c.GeneratedCount(n)
	}
}
