package sakur4

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/prompt"
	"sakur4/internal/store"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// Plan says what a compaction would do to the session's prompt now, and changes nothing. It does so at any time, also between turns.
func (s *Session) Plan(ctx context.Context, head Head) (*Plan, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	if err := head.validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A rendering of its own: what is tried out on it never reaches the session's.
	plan, _, err := s.tryForced(ctx, head, 0)
	return plan, err
}

// Compact carries a compaction out now, down to target tokens; 0 is the policy's target. The next [Session.Window] shows the shorter prompt.
// A plan that reclaims nothing is returned and not applied.
//
// The errors are those of [Session.Window]; after an assistant turn it works all the same.
func (s *Session) Compact(ctx context.Context, head Head, target int) (*Plan, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	if err := head.validate(); err != nil {
		return nil, err
	}
	if target < 0 {
		return nil, fmt.Errorf("%w: target of %d tokens", ErrInvalidHead, target)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	plan, apply, err := s.tryForced(ctx, head, target)
	if err != nil || apply == nil {
		return plan, err
	}
	s.live = nil
	l, err := apply()
	if err != nil {
		return nil, err
	}
	s.live = l // it knows what the server holds, which the store cannot tell of a prompt that was cut since
	plan.Applied = true
	return plan, nil
}

// tryForced is forced, with the local counter where the backend fails to count.
func (s *Session) tryForced(ctx context.Context, head Head, target int) (plan *Plan, apply func() (*live, error), err error) {
	plan, apply, err = s.forced(ctx, head, target, nil)
	if down := failedCount(ctx, err); down != nil {
		return s.forced(ctx, head, target, down)
	}
	return plan, apply, err
}

// forced plans on a rendering of its own, read anew: one that prompts were made of remembers how they were counted, and would plan otherwise now and then. apply stores
// the outcome; it is nil where there is nothing to apply.
func (s *Session) forced(ctx context.Context, head Head, target int, down error) (plan *Plan, apply func() (*live, error), err error) {
	backend, profile, fallback := s.server(ctx, down)
	l, pins, _, err := s.load(ctx, nil, profile)
	if err != nil {
		return nil, nil, err
	}
	l.trial, l.settled = true, false
	open := l.chat.OpenCalls()
	l.chat.CloseOpen()
	if len(l.chat.Entries) == 0 {
		return nil, nil, ErrNoTurn
	}
	l.notes = slices.Clone(l.Named)
	if err := s.resume(ctx, l, backend, profile, fallback); err != nil {
		return nil, nil, err
	}
	if err := s.fold(ctx, l); err != nil {
		return nil, nil, err
	}
	l.learn(profile, fallback, s.e.opts.KeepReasoning)
	l.setHead(head, pins)
	if err := s.measure(ctx, l, backend, profile, fallback); err != nil {
		return nil, nil, err
	}
	window, limit := s.e.window(profile)
	policy := s.e.policy(l.cache.Geometry())
	c := &compaction{policy: policy, window: window, limit: limit, target: target, force: true, pins: pins, pressure: evict.Compacting}
	if target == 0 {
		_, c.target, _ = evict.Threshold(policy, window, window-limit, l.counted.Total(), l.counted.Total())
	}
	if err := s.compact(ctx, l, c); err != nil {
		return nil, nil, err
	}
	n, _ := l.chunk(l.Run)
	plan = c.plan(l, prediction{Reuse: l.cache.Predict(l.counted.Prompt(), n)})
	plan.Applied = false
	if !c.applied() {
		return plan, nil, nil
	}
	if plan.After >= plan.Before {
		plan.Reason += "; not carried out: what waits to be said takes more than what would go"
		return plan, nil, nil
	}
	if len(open) > 0 {
		// The plan stands; carrying it out would close calls that are still being worked on.
		return plan, func() (*live, error) { return nil, &PendingError{Calls: open} }, nil
	}
	return plan, func() (*live, error) {
		l.Generation++
		l.Base = l.counted.Total()
		if err := s.persistCompaction(ctx, l, c); err != nil {
			return l, err
		}
		s.e.settle(l.settled, l.cache)
		l.trial = false
		return l, nil
	}, nil
}

// persistCompaction stores a compaction that no prompt has shown yet.
func (s *Session) persistCompaction(ctx context.Context, l *live, c *compaction) error {
	l.Sent = min(l.Sent, c.cut)
	l.Covered, l.Spoken, l.Pending = l.chat.Covered, l.chat.Spoken, l.chat.Pending
	l.Named = l.notes
	l.keepHeld()
	w := &Window{ID: l.Window}
	return s.store(ctx, l, w, c, nil, nil)
}

// compaction is one compaction on its way: what it was given, and what it did.
type compaction struct {
	policy                evict.Policy
	window, limit, target int
	force                 bool
	pressure              evict.Pressure
	pins                  []pin.Pin

	marks   map[string]store.Mark // of the episodes in the prompt
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
func (l *live) unsent(e *turn.Entry) bool {
	return e.Seq > l.SentSeq || e.Filler()
}

func (c *compaction) applied() bool { return len(c.steps) > 0 || c.trims > 0 || c.shrunk > 0 }

// rounds bounds the passes of one compaction. The planner works with estimated sizes of stubs; what is left above the target after a pass
// is planned again with exact ones. The prompt is sent once, after the last pass.
const rounds = 5

// compact changes the rendering until it fits. Where nothing else helps, the head is written anew, with the pins that are in force.
func (s *Session) compact(ctx context.Context, l *live, c *compaction) error {
	c.before, c.entries, c.head, c.sent = l.counted, l.chat.Entries, l.headItems(), len(l.chat.Entries)
	for c.sent > 0 && l.unsent(c.entries[c.sent-1]) {
		c.sent--
	}
	c.cut = len(l.chat.Entries)
	c.target = min(c.target, c.limit)
	why := ""
	if s.e.opts.KVShift {
		why = l.still(s.e)
		c.shift = why == ""
	}
	asked := c.shift
	err := s.squeeze(ctx, l, c)
	l.words.forget(l.chat.Entries)
	if err == nil && asked && !c.shift {
		why = "deletions alone do not make the prompt fit"
	}
	if err == nil && why != "" && c.applied() {
		l.notes = append(l.notes, "KV shift not used: "+why)
	}
	if errors.Is(err, ErrBudgetOverflow) && l.renewHead(c) {
		if err := l.count(ctx); err != nil {
			return err
		}
		var over *BudgetError
		if total := l.counted.Total(); total <= c.limit {
			if errors.As(err, &over) && total > c.target {
				c.floor = nonEmpty(c.floor, over.Floor) // what had no room before stands in the way of the target still
			}
			c.reason = nonEmpty(c.reason, "the head was written anew")
			return nil
		}
		err = s.squeeze(ctx, l, c)
	}
	var over *BudgetError
	if errors.As(err, &over) {
		over.nameHead(l, c.limit)
	}
	return err
}

// renewHead writes the head with the pins that are in force, and takes what was said of pins since out of the messages: there each costs more than
// in the head. It reports whether there was anything to gain.
func (l *live) renewHead(c *compaction) bool {
	said := false
	for _, e := range l.chat.Entries {
		notes := slices.DeleteFunc(slices.Clone(e.Notes), func(n turn.Note) bool { return n.Kind == turn.NotePin || n.Kind == turn.NoteUnpin })
		if len(notes) < len(e.Notes) {
			e.SetNotes(notes)
			said = true
		}
	}
	if !said && slices.Equal(l.Pins, c.pins) {
		return false
	}
	l.Pins = slices.Clone(c.pins)
	l.touch(0)
	l.keep, l.Sent = 0, 0
	c.cut = 0
	c.shrunk++
	l.notes = append(l.notes, "the head was written anew: what was said of pins since had no room")
	return true
}

// nameHead names the part of the head that leaves no room, where the head is what takes it.
func (e *BudgetError) nameHead(l *live, limit int) {
	head, largest, floor := 0, 0, ""
	for _, p := range l.counted.Parts() {
		switch p.Category {
		case receipt.System, receipt.Tools, receipt.Pins:
			head += p.Tokens
			if p.Tokens > largest {
				largest, floor = p.Tokens, p.Category.String()
			}
		}
	}
	if head > limit*3/4 {
		e.Floor, e.ID = floor, ""
	}
}

// squeeze plans and applies until the prompt fits, in several passes.
func (s *Session) squeeze(ctx context.Context, l *live, c *compaction) error {
	target := c.target
	shrunk := 0
	for round := 0; round < rounds+shrunk; round++ {
		l.scattered, l.room = c.shift, c.window
		in, spans, err := s.candidates(ctx, l, c)
		if err != nil {
			return err
		}
		in.Target, in.Shift = target, c.shift
		in.Force = c.force || round > 0
		p, err := evict.Pick(in)
		var over *evict.OverflowError
		if (err == nil || errors.As(err, &over)) && shrunk < maxShrinks && l.shrinkNotes(c, in, spans, p, err) {
			shrunk++
			if err := l.count(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			if over != nil {
				return &BudgetError{Floor: over.Floor, ID: over.ID, Need: over.Need, Have: over.Have}
			}
			return fmt.Errorf("sakur4: plan: %w", err)
		}
		if c.shift && !p.Shift && (len(p.Steps) > 0 || len(p.Trims) > 0) {
			if len(c.steps) > 0 && l.counted.Total() <= c.limit {
				// The rest is not worth what a change of kept messages costs.
				if l.counted.Total() > c.target {
					c.floor = nonEmpty(c.floor, "KV shift")
				}
				break
			}
			c.shift = false
		}
		switch {
		case c.reason == "":
			c.reason = p.Reason
		case len(p.Steps) > 0:
			c.reason += "; then " + p.Reason
		}
		if p.Floor != "" && (len(p.Trims) > 0 || c.trims == 0) {
			c.floor = p.Floor // a floor that was cut is named in any case, also where a later pass was stopped by another one
		}
		if len(p.Steps) == 0 && len(p.Trims) == 0 {
			break
		}
		if err := s.apply(ctx, l, c, in, spans, p); err != nil {
			return err
		}
		total := l.counted.Total()
		if total <= c.target || (total <= c.limit && c.floor != "") {
			break
		}
		target = max(target-(total-c.target), 1)
	}
	if total := l.counted.Total(); total > c.limit {
		return &BudgetError{Floor: nonEmpty(c.floor, "history"), Need: total, Have: c.limit}
	}
	return nil
}

func nonEmpty(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// apply rewrites the chat as the plan says and counts it again.
func (s *Session) apply(ctx context.Context, l *live, c *compaction, in evict.Input, spans []span, p evict.Plan) error {
	changes := map[string]turn.Change{}
	first := len(l.chat.Entries)
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
	last := map[string]evict.Tier{}
	for _, st := range p.Steps {
		last[st.Episode] = st.To
	}
	for _, e := range l.chat.Entries {
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
	perToken := l.bytesPerToken()
	for _, t := range p.Trims {
		at(t.Episode)
		for i, e := range l.chat.Entries {
			if e.Kind != turn.KindEpisode || e.Episode != t.Episode {
				continue
			}
			fixed, raw := l.leastTokens(i, perToken)
			for k, s := range spans {
				if s.from == i {
					fixed += in.Items[k].Tokens - l.counted.Counts[i+l.headItems()].Tokens
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
	var leaving []*turn.Entry
	for _, e := range l.chat.Entries {
		if _, ok := changes[e.Episode]; ok && e.Kind == turn.KindEpisode {
			leaving = append(leaving, e)
		}
	}
	l.leave(leaving)
	err := s.e.st.Read(ctx, func(r *store.Reader) error {
		chat, err := l.chat.Rewrite(first, changes, p.Shift, func(id string) (*episode.Record, error) {
			rec, err := r.Episode(s.e.project, id)
			return &rec, err
		})
		if err != nil {
			return err
		}
		l.chat = chat
		return nil
	})
	if err != nil {
		return wrap(err)
	}
	c.steps = append(c.steps, p.Steps...)
	if n := len(l.chat.Entries) - 1; n >= 0 {
		// Where only the end of the chat went, the message that is now the newest lies before the first change, and changes all the same.
		content := l.chat.Entries[n].Message.Content
		if e := l.chat.Entries[n]; c.shift && (e.Seq <= l.SentSeq || e.Role == episode.Assistant) {
			l.archiveLater(gone) // the next message says it: this one stays as it is
			if !c.force {
				l.placePins(c.pins) // but the prompt that is being made has every pin, also one whose message has just gone
			}
		} else {
			l.archive(gone)
			l.placePins(c.pins)
		}
		if l.chat.Entries[n].Message.Content != content {
			first = min(first, n)
		}
	}
	c.cut = min(c.cut, first)
	l.touch(first)
	l.Sent = min(l.Sent, first)
	run := l.Run
	l.Run = 0
	if c.shift {
		if l.Run = c.runs(l); run > 0 {
			l.Run = min(l.Run, run)
		}
	}
	return l.count(ctx)
}

// plan describes what was done.
func (c *compaction) plan(l *live, p prediction) *Plan {
	cut := boundary.Resolve(l.cache.Geometry(), common(c.before.IDs, l.counted.IDs), l.counted.Total(), c.policy.SnapTolerance)
	switch {
	case p.plan.Total > 0:
		cut = p.plan
	case p.Shifted > 0:
		cut = cut.Moved(p.Shifted)
	}
	return &Plan{Cut: cut, Steps: c.steps, Before: c.before.Total(), After: l.counted.Total(), Target: c.target, Floor: c.floor, Reason: c.reason,
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
