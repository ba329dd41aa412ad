package sakur4

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/prompt"
	"sakur4/internal/store"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// Window returns the next prompt of the session: within the window, with every pin, a valid chat whose first messages are those of the last one.
// It compacts when it must, at most once, and then says so in [Window.Plan]. Called again without a new turn it returns the same prompt.
//
// The errors are [ErrPending] and [ErrNoTurn] where it is nobody's turn, [ErrInvalidHead], and [ErrBudgetOverflow] (a [*BudgetError]) where not
// even the shortest prompt fits; nothing has changed then. A server that does not answer is no error: the prompt is counted locally and the
// receipt says so. A server that was restarted with a smaller context or another template is noticed once a request failed or was measured otherwise
// than predicted: where the server refuses a prompt, ask for it again.
func (s *Session) Window(ctx context.Context, head Head) (*Window, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.next(ctx, head, nil)
	down := failedCount(ctx, err)
	if down != nil && !errors.Is(down, errHung) && s.live != nil && s.swapped(ctx, s.live.profile) {
		s.live = nil // the server refuses what another one in its place took
		w, err = s.next(ctx, head, nil)
		down = failedCount(ctx, err)
	}
	if down != nil {
		s.live = nil
		w, err = s.next(ctx, head, down)
	}
	if err != nil && !errors.Is(err, ErrPending) && !errors.Is(err, ErrNoTurn) {
		s.live = nil // whatever was changed in memory is not in the store
	}
	return w, err
}

// next makes the next prompt, counting locally where down says why the backend cannot.
func (s *Session) next(ctx context.Context, head Head, down error) (*Window, error) {
	if err := head.validate(); err != nil {
		return nil, err
	}
	backend, profile, fallback := s.server(ctx, down)
	l, pins, notes, err := s.load(ctx, s.live, profile)
	if err != nil {
		return nil, err
	}
	s.live = l
	if fallback != "" && l.revision == 0 {
		l.Guessed = true // also where this call makes no prompt: the next one goes on with this rendering
	}
	if head.CloseOpenCalls {
		l.chat.CloseOpen()
	}
	if open := l.chat.OpenCalls(); len(open) > 0 {
		return nil, &PendingError{Calls: open}
	}
	if last := l.chat.Spoken; last == "" || last == episode.Assistant {
		return nil, ErrNoTurn
	}
	l.notes = slices.Clone(l.Named)
	if err := s.resume(ctx, l, backend, profile, fallback); err != nil {
		return nil, err
	}
	if err := s.fold(ctx, l); err != nil {
		return nil, err
	}
	learned := l.learn(profile, fallback, s.e.opts.KeepReasoning)
	changed := l.setHead(head, pins) || learned
	placed := l.place(pins, notes)
	window, limit := s.e.window(profile)
	sent, kept, before, template := l.counted, l.keep, l.tokenizer, l.profile.Template.Digest
	if err := s.measure(ctx, l, backend, profile, fallback); err != nil {
		return nil, err
	}
	same := l.Turn > 0 && !changed && l.Sent == len(l.chat.Entries) && l.dirty == l.Sent && len(placed) == 0 && l.InSlot == ""
	if same {
		w, err := s.again(ctx, l)
		// A local count says nothing against a prompt that the server has counted, unless the window has shrunk since.
		if err != nil || l.counted.Total() <= limit || (fallback != "" && w.Receipt.Window <= window) {
			return w, err
		}
	}
	switch {
	case sent == nil || changed:
	case before != l.tokenizer:
		l.notes = append(l.notes, fmt.Sprintf("counted by %s, the prompt before by %s", l.tokenizer, before))
	case l.counted.Full && template == l.profile.Template.Digest:
		size := 0 // of the messages that we left as they were
		for _, c := range sent.Counts[:min(kept, len(sent.Counts))] {
			size += c.Tokens
		}
		if n := common(sent.IDs, l.counted.IDs); n < size {
			if down == nil && s.swapped(ctx, profile) {
				s.live = nil
				return s.next(ctx, head, nil) // with nothing sent in memory, so once
			}
			l.notes = append(l.notes, fmt.Sprintf("template rewrote history: %d of %d tokens sent before are as they were", n, size))
		}
	}
	policy := s.e.policy(l.cache.Geometry())
	if err := s.trimResults(ctx, l, policy, window); err != nil {
		return nil, err
	}
	used := l.counted.Total()
	pressure, target, _ := evict.Threshold(policy, window, window-limit, used, used-l.Base)
	var c *compaction
	if pressure != evict.Relaxed {
		c = &compaction{policy: policy, window: window, limit: limit, target: target, pressure: pressure, pins: pins}
		if err := s.compact(ctx, l, c); err != nil {
			return nil, err
		}
		if !c.applied() {
			l.notes = append(l.notes, "nothing compacted: "+c.reason)
			c = nil
		}
	}
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("sakur4: internal error: %w", err)
	}
	if err := s.warm(ctx, l); err != nil {
		return nil, err
	}
	w := &Window{ID: WindowID(s.e.id("win"))}
	predicted := l.predict(c != nil)
	if c != nil {
		w.Plan = c.plan(l, predicted)
	}
	s.finish(l, w, window, predicted)
	if err := s.persist(ctx, l, w, c, placed); err != nil {
		return nil, err
	}
	l.words.read(l.chat.Entries)
	l.window = w
	return w.copy(), nil
}

// copy keeps a caller's changes away from what is returned again and sent later.
func (w *Window) copy() *Window {
	c := *w
	c.Messages, c.Marks = slices.Clone(w.Messages), slices.Clone(w.Marks)
	c.Receipt.Parts = slices.Clone(w.Receipt.Parts)
	c.Receipt.Notes = slices.Clone(w.Receipt.Notes)
	return &c
}

// again returns the last prompt once more.
func (s *Session) again(ctx context.Context, l *live) (*Window, error) {
	if l.window != nil {
		c := l.window.copy()
		c.Plan = nil
		return c, nil
	}
	// After a restart: the decisions give the same bytes, and the store has the receipt.
	r, err := s.receipt(ctx, l.Window)
	if err != nil {
		return nil, err
	}
	l.window = &Window{ID: l.Window, Messages: l.messages(), Hints: l.hints(), Receipt: r.Receipt, Marks: l.Marks}
	return l.window.copy(), nil
}

// validate runs our own validator over what it has not seen of the prompt.
func (l *live) validate() error {
	for _, it := range l.items[l.valid.Read():] {
		if err := l.valid.Add(it.Message); err != nil {
			return err
		}
	}
	return l.valid.End()
}

func (l *live) hints() Hints {
	return Hints{CachePrompt: true, IDSlot: l.profile.Slot, NCacheReuse: l.Hint, TemplateKwargs: l.Kwargs}
}

// finish writes the receipt and moves the session's state behind the new prompt.
func (s *Session) finish(l *live, w *Window, window int, p prediction) {
	l.Turn++
	newTokens := l.newTokens()
	l.Sent = len(l.chat.Entries)
	l.Covered, l.SentSeq, l.Spoken = l.chat.Covered, l.chat.Covered, l.chat.Spoken
	l.Pending, l.Named, l.Held = l.chat.Pending, nil, nil
	l.InSlot, l.saved = "", nil
	l.Window = w.ID
	l.Fresh += newTokens
	if w.Plan != nil {
		l.Generation++
		l.Base = l.counted.Total()
		if p.Held {
			l.Again += max(l.counted.Total()-p.Reused-newTokens, 0)
		}
	}
	if l.fallback == "" {
		l.Context, l.Template = l.profile.Window, l.profile.Template.Digest
	}
	state := l.cache.State()
	l.Cache = &state
	escaped := 0
	for _, e := range l.chat.Entries {
		escaped += e.Escaped
	}
	r := receipt.Receipt{Session: s.id, ID: string(w.ID), Turn: l.Turn, Generation: l.Generation, Window: window, Used: l.counted.Total(),
		Messages: len(l.items), EscapedMarks: escaped, Compacted: w.Plan != nil, Parts: l.counted.Parts(), New: newTokens, Tokenizer: l.tokenizer,
		Backend: backendName(l.profile), Notes: l.notes}
	r.Cache = receipt.Cache{Status: boundary.StatusUnknown, Boundary: p.Common, Checkpoint: p.Checkpoint, Snap: p.plan.Snap, Predicted: p.Reused,
		Reason: p.plan.Reason, Shifted: p.Shifted > 0}
	if w.Plan != nil {
		r.Floor = w.Plan.Floor
		r.Cache.Verdict = w.Plan.Cut.Verdict
		r.Cache.Reason = w.Plan.Cut.Reason
	}
	if l.fallback != "" {
		r.Notes = append(r.Notes, "counted locally: "+l.fallback)
	}
	if p.unsure != "" {
		r.Notes = append(r.Notes, p.unsure)
	}
	r.Cache.Estimated = l.profile.Estimated && l.fallback == ""
	l.Marks = p.marks
	w.Messages, w.Hints, w.Receipt, w.Marks = l.messages(), l.hints(), r, slices.Clone(l.Marks)
}

// newTokens counts what has never stood in a prompt of the session: episodes with their template overhead, and the head once. Notes and stubs
// are not new, nor are the fixed messages between turns.
func (l *live) newTokens() int {
	n := 0
	count := func(c prompt.Count) int {
		ours := c.Parts[receipt.Stubs] + c.Parts[receipt.RecalledNotes] + c.Parts[receipt.RepoMap] + c.Parts[receipt.FoldSummaries]
		return c.Tokens - ours
	}
	h := l.headItems()
	if l.Turn == 1 && h == 1 {
		n += count(l.counted.Counts[0])
	}
	for i, e := range slices.Backward(l.chat.Entries) {
		if e.Kind == turn.KindEpisode && e.Seq <= l.SentSeq {
			break // the record's order is the prompt's
		}
		if e.Kind == turn.KindSynthetic && e.Seq > l.SentSeq {
			n += l.counted.Counts[i+h].Parts[receipt.RawHistory] // late results and system turns that stand behind it
		}
		if e.Kind == turn.KindEpisode && e.Seq > l.SentSeq {
			c := l.counted.Counts[i+h]
			n += count(c)
			if i+h > 0 || l.Turn > 1 {
				n -= c.Parts[receipt.Pins]
			}
		}
	}
	return n
}

func backendName(p boundary.Profile) string {
	if p.Build != "" {
		return p.Name + " " + p.Build
	}
	return p.Name
}

// persist stores a prompt.
func (s *Session) persist(ctx context.Context, l *live, w *Window, c *compaction, placed []string) error {
	body, err := json.Marshal(storedReceipt{Receipt: w.Receipt, Restored: l.Restored})
	if err != nil {
		return fmt.Errorf("sakur4: receipt: %w", err)
	}
	return s.store(ctx, l, w, c, placed, &store.ReceiptRow{WindowID: string(w.ID), Turn: l.Turn, Body: string(body), Created: s.e.now()})
}

// store writes the rendering's decisions, a compaction's steps and a prompt's receipt in one transaction.
func (s *Session) store(ctx context.Context, l *live, w *Window, c *compaction, placed []string, rec *store.ReceiptRow) error {
	body, err := json.Marshal(l.renderState)
	if err != nil {
		return fmt.Errorf("sakur4: render state: %w", err)
	}
	rows := make([]store.DecisionRow, 0, len(l.chat.Entries)-l.dirty)
	for i, e := range l.chat.Entries[l.dirty:] {
		rows = append(rows, store.DecisionRow{Ord: l.dirty + i, Kind: string(e.Kind), Episode: e.Episode, Form: string(e.Form), Body: e.Body()})
	}
	now := s.e.now()
	err = s.e.st.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.RenderState(s.e.project, s.id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if row.Generation != l.revision {
			return fmt.Errorf("%w: another process has sent a prompt of session %q", ErrConflict, s.id)
		}
		if err != nil { // nothing was made of the session yet
			if err := tx.EnsureSession(s.e.project, s.id); err != nil {
				return err
			}
		}
		put := tx.PutDecisions
		if l.stored > len(l.chat.Entries) {
			put = func(project, session string, list []store.DecisionRow) error {
				return tx.ReplaceDecisions(project, session, l.dirty, list)
			}
		}
		if err := put(s.e.project, s.id, rows); err != nil {
			return err
		}
		if c != nil {
			steps := make([]store.StepRow, len(c.steps))
			seqs := make(map[string]int64, len(c.entries))
			for _, e := range c.entries {
				seqs[e.Episode] = e.Seq
			}
			for i, st := range c.steps {
				steps[i] = store.StepRow{Episode: st.Episode, Seq: seqs[st.Episode], From: st.From, To: st.To, Tokens: st.Tokens, Reason: st.Reason}
			}
			if err := tx.TakeSteps(s.e.project, s.id, string(w.ID), steps); err != nil {
				return err
			}
		}
		if err := tx.PlaceNotes(s.e.project, s.id, placed); err != nil {
			return err
		}
		if rec != nil {
			if err := tx.PutReceipt(s.e.project, s.id, *rec); err != nil {
				return err
			}
		}
		return tx.PutRenderState(s.e.project, s.id, store.RenderState{Version: turn.Version, Generation: l.revision + 1, Body: string(body), Updated: now})
	})
	if err != nil {
		return wrap(err)
	}
	l.revision++
	l.dirty, l.stored = len(l.chat.Entries), len(l.chat.Entries)
	return nil
}
