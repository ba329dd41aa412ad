package rendering

import (
	"fmt"

	"sakur4/boundary"
	"sakur4/internal/turn"
)

// A server that moves kept tokens does so where nothing but whole messages went: a stub or a changed byte ends it. So a compaction for such a server
// takes whole atoms out and says what went at the tail; its request carries the shortest run that is to be moved.

// longestChunk is the longest run in tokens that a request asks to be moved at least. A shorter one would let the server take the first tokens of
// a deleted message, which many messages share, for those of a kept one.
const longestChunk = 64

// still says why a compaction cannot rely on the server's KV shift; "" if it can.
func (p *Prompt) still() string {
	g := p.cache.Geometry()
	switch {
	case p.fallback != "":
		return "the server does not answer"
	case !g.Shift && p.profile.Geometry.Shift:
		return "the server did not do as it was predicted to"
	case g.Kind == boundary.Points:
		return "the server's cache can only go back to checkpoints"
	case !g.Shift:
		return "the server is not known to move tokens"
	case !p.cache.Predict(nil, 0).Held:
		return "the server is not known to hold anything of the session"
	}
	return ""
}

// runs returns the length in tokens of the shortest run of messages that the server holds and that stay behind the first one that goes; 0 if there is none.
func (c *compaction) runs(p *Prompt) int {
	kept := make(map[*turn.Entry]bool, len(p.chat.Entries))
	for _, e := range p.chat.Entries {
		kept[e] = true
	}
	least, run, gap := 0, 0, false
	end := func() {
		if run > 0 && (least == 0 || run < least) {
			least = run
		}
		run = 0
	}
	for i, e := range c.entries[:c.sent] {
		switch {
		case !kept[e]:
			end()
			gap = true
		case gap:
			run += c.before.Counts[i+c.head].Tokens
		}
	}
	end()
	return least
}

// chunk chooses the n_cache_reuse of a request whose prompt was cut by deletions that leave runs of at least run tokens, and returns it with what is moved then.
// The server looks for the kept runs in order and never goes back: what it takes for the beginning of one may hide the rest. So where the shortest run
// does not serve, others are tried.
func (p *Prompt) chunk(run int) (n, moved int) {
	if run == 0 {
		return 0, 0
	}
	ids := p.counted.Prompt()
	n = min(run, longestChunk)
	moved = p.cache.Predict(ids, n).Shifted
	for _, other := range [...]int{longestChunk, 48, 32, 24, 16, 12, 8, 4} {
		if got := p.cache.Predict(ids, other).Shifted; got > moved+longestChunk {
			n, moved = other, got
		}
	}
	return n, moved
}

// askShift decides on the hint of the next request.
func (p *Prompt) askShift() {
	run := p.state.Run
	p.state.Hint, p.state.Run = 0, 0
	n, moved := p.chunk(run)
	if moved == 0 {
		return
	}
	p.state.Hint = n
	p.notes = append(p.notes, fmt.Sprintf("KV shift: %d kept tokens are moved, not computed again; they were computed with the deleted text in view", moved))
}
