package boundary

import (
	"fmt"
	"slices"
)

// distrustAfter is how many mismatches in a row end the trust in the rule.
const distrustAfter = 3

// confirmedFor is for how many prompts a confirmed rewind point counts at first: a server that keeps 32 checkpoints and makes up to four a prompt
// hardly thins out a younger one. Where one was gone all the same, the time becomes shorter.
const confirmedFor = 6

// Mismatch is the difference between a prediction and a measurement. The zero value says that the server did as predicted.
type Mismatch struct {
	// Predicted and Measured are the reused tokens; both 0 in the zero value.
	Predicted, Measured int
	// InARow counts the mismatches in which the server reused less than predicted, this one included, less one for each break since that went as
	// predicted; 0 where it reused more.
	InARow int
	// Distrust says that the cache now uses only points that a measurement has confirmed.
	Distrust bool
	// Learned says that the server's settings were learned from this measurement, see [Cache.Learned]; InARow counts anew.
	Learned bool
	// NoShift says that this measurement showed that the server does not move kept tokens: from now on no KV shift is predicted.
	NoShift bool
	// Reason says it in words.
	Reason string
}

// Observe compares the prediction for the last accepted prompt with the measured count of reused tokens, and corrects the cache: the prompt is
// processed again from where the server really started.
//
// Where a prompt goes on from the last one, up to the last reply's tokens and one more are as predicted: the reply may come back as it was
// generated. An append that goes as predicted says nothing about checkpoints, so it does not end a row of mismatches at breaks.
func (c *Cache) Observe(predicted, measured int) Mismatch {
	last := c.last
	if !last.valid {
		if predicted == measured {
			return Mismatch{}
		}
		return Mismatch{Predicted: predicted, Measured: measured, Distrust: c.distrust, Reason: "no prompt was accepted"}
	}
	c.last.observed = true
	measured = max(min(measured, c.prompted-1), 0)
	if c.distrust && !last.append && measured < last.reuse.Checkpoint {
		c.outdated(last.reuse.Checkpoint)
	}
	if !last.append {
		c.confirm(measured, measured < last.reuse.Common)
	}
	if missing := last.reuse.Common - measured; last.append && !last.reloaded && measured < predicted && missing > 0 && missing <= tailOffset+1 {
		// Under a window as long as the prompt the server goes back to its last checkpoint even to append.
		c.short = true
	}
	first := !last.observed
	if first {
		c.note(measured)
	}
	c.correct(measured)
	slack := 0
	if last.append || last.reuse.Shifted > 0 {
		if slack = last.reply + 1; last.reply == 0 {
			// Nobody said how long the reply was.
			slack = c.prompted
		}
		if last.reloaded {
			slack += max(last.reuse.Common-predicted, 0)
		}
	}
	switch {
	case measured >= predicted && measured <= predicted+slack:
		if last.reuse.Shifted > 0 {
			c.unmoved = 0
		}
		switch {
		case c.lessAtAppend:
			c.lessRow = 0
		case !last.append:
			c.lessRow = max(c.lessRow-1, 0) // a rule that is wrong is right at times
		}
		return Mismatch{}
	case first && !(c.distrust && last.append) && last.reuse.Shifted == 0 && c.relearn():
		return Mismatch{Predicted: predicted, Measured: measured, Learned: true, Reason: fmt.Sprintf(
			"%d instead of %d predicted tokens reused, as a server does where %v", measured, predicted, c.learned)}
	case measured > predicted:
		return Mismatch{
			Predicted: predicted, Measured: measured, Distrust: c.distrust,
			Reason: fmt.Sprintf("the server reused %d tokens more than predicted", measured-predicted),
		}
	}
	if c.unshifted(measured) {
		return Mismatch{Predicted: predicted, Measured: measured, Distrust: c.distrust, NoShift: c.still, Reason: fmt.Sprintf(
			"%d of %d predicted tokens reused: the server did not move the %d kept behind the cut", measured, predicted, last.reuse.Shifted)}
	}
	c.lessRow++
	c.lessAtAppend = last.append
	m := Mismatch{Predicted: predicted, Measured: measured, InARow: c.lessRow, Reason: c.why(predicted, measured)}
	if c.lessRow >= distrustAfter && !c.distrust {
		// A server with checkpoints may take a few tokens even of an append; the rule no longer says when.
		c.distrust, c.short = true, true
		m.Reason += fmt.Sprintf("; %d times: from now on only confirmed rewind points are used", c.lessRow)
	}
	m.Distrust = c.distrust
	return m
}

// RefuseShift records that the server refused the last request for its n_cache_reuse and took it without: none is asked for any more. Call it before
// [Cache.Observe]. It returns what is now predicted for the prompt, in tokens reused.
func (c *Cache) RefuseShift() int {
	c.still = true
	r := &c.last.reuse
	r.Reused -= r.Shifted
	r.Shifted = 0
	c.last.rule.past = min(c.last.rule.past, max(r.Reused, 0))
	if n := len(c.log); n > 0 {
		c.log[n-1].moved = false
	}
	return max(r.Reused, 0)
}

// stillAfter is how many requests for a shift in a row must find nothing moved before none is asked for any more, where the
// measurement does not show it at once: another client may have taken the slot once.
const stillAfter = 2

// unshifted reports whether a shift was asked for and nothing was moved: the server reused no more than the common prefix. A server that cannot
// shift says nothing else; it takes the field and leaves it alone.
func (c *Cache) unshifted(measured int) bool {
	r := c.last.reuse
	if r.Shifted == 0 || measured > r.Common {
		return false
	}
	if c.unmoved++; measured == r.Common || c.unmoved >= stillAfter {
		c.still = true
	}
	return true
}

// why names what may have happened.
func (c *Cache) why(predicted, measured int) string {
	missing := fmt.Sprintf("%d of %d predicted tokens reused", measured, predicted)
	switch {
	case measured == 0:
		return missing + ": the slot was empty, taken by another request, or no rewind point was left"
	case c.last.append && c.kind() == Points:
		return missing + ": the last reply reads back in other tokens, so the server went back to a checkpoint"
	case c.last.append:
		return missing + ": the slot was taken in between, or the template rewrote history"
	case c.last.reuse.Shifted > 0:
		return missing + ": the server stopped moving kept tokens at one that it did not hold"
	case c.kind() == Points || c.distrust:
		return missing + ": an expected checkpoint was not there"
	}
	return missing + ": the slot held another text, or cannot rewind to any token"
}

// correct processes the last prompt again from the measured position.
func (c *Cache) correct(measured int) {
	last := c.last
	if c.kind() != Points {
		return
	}
	// The reply may have been recorded first; what it did to the windowed part is done again at the end.
	full, reply := c.held, c.reply
	c.held, c.reply = c.held[:c.prompted], 0
	defer func() {
		c.generate(c.prompted, len(full)-c.prompted+reply)
		c.held, c.reply = full, reply
	}()

	c.list, c.cells = slices.Clone(last.list), last.cells.clone()
	var at rewound
	switch {
	case measured == last.rule.past, measured == min(last.rule.next, c.prompted-1) && last.rule.point == 0:
		at = last.rule
	case last.append && measured >= last.reuse.Common:
		// The reply came back as generated up to some token.
		at = rewound{next: measured, past: measured}
	case measured == 0:
		c.list = nil
	default:
		at = c.rewoundTo(measured)
	}
	c.goOn(at)
}

// rewoundTo describes a rewind to n that a measurement proved. Checkpoints that would have been better did not exist; one that allows it did.
func (c *Cache) rewoundTo(n int) rewound {
	at := rewound{next: n, past: n, point: n}
	if n == 0 || c.kind() != Points {
		return rewound{next: n, past: n}
	}
	c.list = slices.DeleteFunc(slices.Clone(c.list), func(p Checkpoint) bool { return p.Tokens > n+1 })
	for _, p := range slices.Backward(c.list) {
		if p.reusable() == n {
			at.restored = p
			return at
		}
	}
	lo := max(0, n+1-c.rule.Window)
	at.restored = Checkpoint{
		Tokens: n + 1, Min: max(0, n+1-c.rule.Cells), Task: c.task - 1, Cells: []CellRun{{Pos: lo, N: n + 1 - lo}},
	}
	if c.cells == nil {
		at.restored = Checkpoint{Tokens: n, Min: n - 1, Task: c.task - 1}
	}
	c.list = append(c.list, at.restored)
	return at
}

// confirm records that the server rewound to n, so that nothing behind it is left. restored says that it needed a rewind point for it, which is then
// there the next time too; the server may by then have made another one token earlier, which it prefers.
func (c *Cache) confirm(n int, restored bool) {
	c.confirmed = slices.DeleteFunc(c.confirmed, func(p Checkpoint) bool { return p.Tokens >= n || p.Task+c.fresh < c.task })
	if restored && n > 1 {
		c.confirmed = append(c.confirmed, Checkpoint{Tokens: n - 1, Task: c.task})
	}
}

// outdated records that the confirmed point n was gone: others count for less long from now on.
func (c *Cache) outdated(n int) {
	for _, p := range c.confirmed {
		if p.Tokens == n {
			c.fresh = max(min(c.fresh, c.task-p.Task-1), 0)
		}
	}
}

// newestConfirmed returns the newest confirmed rewind point at or before pos, 0 for none.
func (c *Cache) newestConfirmed(pos int) int {
	best := 0
	for _, p := range c.confirmed {
		if p.Tokens <= pos && p.Task+c.fresh >= c.task {
			best = max(best, p.Tokens)
		}
	}
	return best
}
