package sakur4

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// forced plans on a rendering of its own. apply stores the outcome; it is nil where there is nothing to apply.
func (s *Session) forced(ctx context.Context, head Head, target int, down error) (plan *Plan, apply func() (*live, error), err error) {
	backend, profile, fallback := s.server(ctx, down)
	l, pins, _, err := s.load(ctx, true, profile)
	if err != nil {
		return nil, nil, err
	}
	open := l.chat.OpenCalls()
	l.chat.CloseOpen()
	if len(l.chat.Entries) == 0 {
		return nil, nil, ErrNoTurn
	}
	if err := s.fold(ctx, l); err != nil {
		return nil, nil, err
	}
	l.notes = slices.Clone(l.Named)
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
	p := prediction{Reuse: l.cache.Predict(l.counted.Prompt(), 0)}
	plan = c.plan(l, p)
	plan.Applied = false
	if !c.applied() {
		return plan, nil, nil
	}
	if len(open) > 0 {
		// The plan stands; carrying it out would close calls that are still being worked on.
		return plan, func() (*live, error) { return nil, &PendingError{Calls: open} }, nil
	}
	return plan, func() (*live, error) {
		l.Generation++
		l.Base = l.counted.Total()
		return l, s.persistCompaction(ctx, l, c)
	}, nil
}

// persistCompaction stores a compaction that no prompt has shown yet.
func (s *Session) persistCompaction(ctx context.Context, l *live, c *compaction) error {
	l.Sent = min(l.Sent, c.cut)
	l.Covered, l.Spoken, l.Pending = l.chat.Covered, l.chat.Spoken, l.chat.Pending
	l.Named = l.notes
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

	before *prompt.State
	cut    int // first entry that changed
	steps  []evict.Step
	trims  int
	shrunk int // messages that had been sent and lost notes
	floor  string
	reason string
}

func (c *compaction) applied() bool { return len(c.steps) > 0 || c.trims > 0 || c.shrunk > 0 }

// rounds bounds the passes of one compaction. The planner works with estimated sizes of stubs; what is left above the target after a pass
// is planned again with exact ones. The prompt is sent once, after the last pass.
const rounds = 5

// compact changes the rendering until it fits.
func (s *Session) compact(ctx context.Context, l *live, c *compaction) error {
	c.before = l.counted
	c.cut = len(l.chat.Entries)
	c.target = min(c.target, c.limit)
	target := c.target
	shrunk := 0
	for round := 0; round < rounds+shrunk; round++ {
		in, spans, err := s.candidates(ctx, l, c)
		if err != nil {
			return err
		}
		in.Target = target
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
		if c.reason == "" || len(p.Steps) > 0 {
			c.reason = p.Reason
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

// span is the entries of one candidate: an episode's own, with the fixed and synthetic messages behind it.
type span struct{ from, to int }

// candidates describes the prompt to the planner.
func (s *Session) candidates(ctx context.Context, l *live, c *compaction) (evict.Input, []span, error) {
	entries := l.chat.Entries
	var ids []string
	for _, e := range entries {
		if e.Kind == turn.KindEpisode {
			ids = append(ids, e.Episode)
		}
	}
	records := make(map[string]episode.Record, len(ids))
	var degree map[string]int
	err := s.e.st.Read(ctx, func(r *store.Reader) (err error) {
		for rec, err := range r.Episodes(store.EpisodeFilter{Project: s.e.project, IDs: ids}) {
			if err != nil {
				return err
			}
			rec.Content, rec.Reasoning = "", "" // only the marks are of interest here
			records[rec.ID] = rec
		}
		degree, err = r.InDegree(s.e.project, ids)
		return err
	})
	if err != nil {
		return evict.Input{}, nil, wrap(err)
	}
	h := l.headItems()
	total := l.counted.Total()
	in := evict.Input{Total: total, Window: c.window, Limit: c.limit, Policy: c.policy, SinceLast: total - l.Base, NoteTokens: l.noteTokens(),
		NoReplyTokens: noReplyTokens}
	if h == 1 {
		in.HeadTokens = l.counted.Counts[0].Tokens
	}
	perToken := l.bytesPerToken()
	geometry := l.cache.Geometry()
	task, newest := int64(0), int64(0)
	for _, e := range entries {
		if e.Kind == turn.KindEpisode && e.Role == episode.User {
			if task == 0 {
				task = e.Seq
			}
			newest = e.Seq
		}
	}
	protected := map[string]bool{}
	for _, t := range c.policy.ProtectedTools {
		protected[t] = true
	}
	var spans []span
	pos := in.HeadTokens
	group, groupSeq := 0, int64(-1)
	atom, atomSeq := 0, int64(-1)
	for i, e := range entries {
		n := l.counted.Counts[i+h].Tokens
		if i >= l.Sent {
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
		rec := records[e.Episode]
		it := evict.Item{Episode: e.Episode, Role: string(e.Role), Tool: e.Tool, Atom: atom, Group: group, Seq: e.Seq, Pos: pos, Tokens: n,
			Tier: tierOf(e.Form), InDegree: degree[e.Episode], Dependents: degree[e.Episode], Superseded: rec.SupersededBy != "", Droppable: rec.Droppable}
		if e.Result() {
			it.MaskedTokens, it.ReferencedTokens = stubTokens(e, n, perToken)
		}
		it.LeastTokens, _ = l.leastTokens(i, perToken)
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
	// What lies behind the first change of an earlier pass is sent anew wherever this one breaks.
	same := common(c.before.IDs, l.counted.IDs)
	for i := range in.Items {
		in.Items[i].Age = len(in.Items) - 1 - i
		in.Breaks = append(in.Breaks, evict.Break{Item: i, Pos: in.Items[i].Pos, Reuse: geometry.Rewind(min(in.Items[i].Pos, same))})
	}
	return in, spans, nil
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
func (l *live) bytesPerToken() float64 {
	bytes := 0
	for _, it := range l.items {
		bytes += len(it.Message.Content) + len(it.Message.Reasoning)
		for _, c := range it.Message.Calls {
			bytes += len(c.Name) + len(c.Arguments)
		}
	}
	if n := l.counted.Total(); n > 0 && bytes > n {
		return float64(bytes) / float64(n)
	}
	return 1
}

// noReplyTokens estimates the fixed message that takes the place of a final answer, with what templates put around it.
const noReplyTokens = 10

// noteTokens estimates the archive note.
func (l *live) noteTokens() int { return int(420/l.bytesPerToken()) + 8 }

// pointerBytes is the length of a trimmed form's pointer, trimSlack what a trim goes below its budget: the cut falls on a line end, and the
// tokens of what is kept are not spread evenly.
const (
	pointerBytes = 300
	trimSlack    = 6
)

// leastTokens returns what of the entry at index i a trim does not touch, its pointer included, and what it does.
func (l *live) leastTokens(i int, perToken float64) (fixed, raw int) {
	e, count := l.chat.Entries[i], l.counted.Counts[i+l.headItems()]
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

// apply rewrites the chat as the plan says and counts it again.
func (s *Session) apply(ctx context.Context, l *live, c *compaction, in evict.Input, spans []span, p evict.Plan) error {
	changes := map[string]turn.Change{}
	first := len(l.chat.Entries)
	at := func(id string) {
		for i, it := range in.Items {
			if it.Episode == id {
				first = min(first, spans[i].from)
			}
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
	err := s.e.st.Read(ctx, func(r *store.Reader) error {
		chat, err := l.chat.Rewrite(first, changes, false, func(id string) (*episode.Record, error) {
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
		l.archive(gone)
		l.placePins(c.pins)
		if l.chat.Entries[n].Message.Content != content {
			first = min(first, n)
		}
	}
	c.cut = min(c.cut, first)
	l.touch(first)
	l.Sent = min(l.Sent, first)
	return l.count(ctx)
}

// archive enters episodes into the stretches that are out of the prompt, and renews the note that names them at the newest message.
func (l *live) archive(gone []*turn.Entry) {
	if len(gone) == 0 && (len(l.Archived) == 0 || l.archiveShown()) {
		return
	}
	for _, e := range gone {
		l.Archived = append(l.Archived, stretch{From: e.Episode, To: e.Episode, A: e.Seq, B: e.Seq, N: 1})
	}
	kept := make([]int64, 0, len(l.chat.Entries))
	for _, e := range l.chat.Entries {
		if e.Kind == turn.KindEpisode {
			kept = append(kept, e.Seq)
		}
	}
	slices.Sort(kept)
	l.Archived = join(l.Archived, kept)
	last := l.chat.Entries[len(l.chat.Entries)-1]
	notes := make([]turn.Note, 0, len(last.Notes)+1)
	for _, n := range last.Notes {
		if n.Kind != turn.NoteArchive {
			notes = append(notes, n)
		}
	}
	last.SetNotes(append(notes, turn.Note{ID: "archive", Kind: turn.NoteArchive, Text: archiveText(l.Archived)}))
}

// archiveShown reports whether some message says what is out of the prompt. A fixed message that carried the note may have gone.
func (l *live) archiveShown() bool {
	return slices.ContainsFunc(l.chat.Entries, func(e *turn.Entry) bool {
		return slices.ContainsFunc(e.Notes, func(n turn.Note) bool { return n.Kind == turn.NoteArchive })
	})
}

// maxStretches bounds the archive note: it must not grow with the session.
const maxStretches = 8

// join sorts stretches and joins neighbours that no kept episode parts; beyond maxStretches it joins the nearest ones all the same.
func join(in []stretch, kept []int64) []stretch {
	sortStretches(in)
	var out []stretch
	k := 0
	for _, st := range in {
		if len(out) > 0 {
			last := &out[len(out)-1]
			for k < len(kept) && kept[k] < last.B {
				k++
			}
			if k >= len(kept) || kept[k] > st.A || len(out) > 0 && last.B >= st.A {
				last.To, last.B, last.N = st.To, max(last.B, st.B), last.N+st.N
				continue
			}
		}
		out = append(out, st)
	}
	for len(out) > maxStretches {
		best := 1
		for i := 2; i < len(out); i++ {
			if out[i].A-out[i-1].B < out[best].A-out[best-1].B {
				best = i
			}
		}
		out[best-1].To, out[best-1].B = out[best].To, out[best].B
		out[best-1].N += out[best].N
		out = append(out[:best], out[best+1:]...)
	}
	return out
}

func sortStretches(in []stretch) {
	for i := 1; i < len(in); i++ {
		for j := i; j > 0 && in[j].A < in[j-1].A; j-- {
			in[j], in[j-1] = in[j-1], in[j]
		}
	}
}

func archiveText(in []stretch) string {
	var b strings.Builder
	n := 0
	for _, st := range in {
		n += st.N
	}
	fmt.Fprintf(&b, "%d earlier turns of this session are out of this prompt and stored whole:", n)
	for _, st := range in {
		if st.N == 1 {
			fmt.Fprintf(&b, " %s;", st.From)
		} else {
			fmt.Fprintf(&b, " %s to %s (%d);", st.From, st.To, st.N)
		}
	}
	b.WriteString(" memory_recall finds them by their words, memory_episode returns one by its id.")
	return b.String()
}

// plan describes what was done.
func (c *compaction) plan(l *live, p prediction) *Plan {
	cut := boundary.Resolve(l.cache.Geometry(), common(c.before.IDs, l.counted.IDs), l.counted.Total(), c.policy.SnapTolerance)
	if p.plan.Total > 0 {
		cut = p.plan
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
