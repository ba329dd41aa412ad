package sakur4

import (
	"bytes"
	"context"
	"encoding/json"
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

// Window returns the next prompt of the session: within the window, with every pin, a valid chat whose first messages are those of the last one.
// It compacts when it must, at most once, and then says so in [Window.Plan]. Called again without a new turn it returns the same prompt.
//
// The errors are [ErrPending] and [ErrNoTurn] where it is nobody's turn, [ErrInvalidHead], and [ErrBudgetOverflow] (a [*BudgetError]) where not
// even the shortest prompt fits; nothing has changed then. A server that does not answer is no error: the prompt is counted locally and the
// receipt says so.
func (s *Session) Window(ctx context.Context, head Head) (*Window, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.next(ctx, head, nil)
	if down := failedCount(ctx, err); down != nil {
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
	l, pins, notes, err := s.load(ctx, false, profile)
	if err != nil {
		return nil, err
	}
	s.live = l
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
	if err := s.fold(ctx, l); err != nil {
		return nil, err
	}
	changed := l.setHead(head, pins)
	placed := l.place(pins, notes)
	window, limit := s.e.window(profile)
	sent, kept := l.counted, l.keep
	if err := s.measure(ctx, l, backend, profile, fallback); err != nil {
		return nil, err
	}
	same := l.Turn > 0 && !changed && l.Sent == len(l.chat.Entries) && l.dirty == l.Sent && len(placed) == 0
	if same {
		w, err := s.again(ctx, l)
		// A local count says nothing against a prompt that the server has counted, unless the window has shrunk since.
		if err != nil || l.counted.Total() <= limit || (fallback != "" && w.Receipt.Window <= window) {
			return w, err
		}
	}
	if !changed && sent != nil && l.counted.Full {
		size := 0 // of the messages that we left as they were
		for _, c := range sent.Counts[:min(kept, len(sent.Counts))] {
			size += c.Tokens
		}
		if n := common(sent.IDs, l.counted.IDs); n < size {
			l.notes = append(l.notes, fmt.Sprintf("template rewrote history: %d of %d tokens sent before are as they were", n, size))
		}
	}
	policy := s.e.policy(l.cache.Geometry())
	if err := s.trimResults(ctx, l, policy, window); err != nil {
		return nil, err
	}
	before := l.counted
	used := l.counted.Total()
	pressure, target, why := evict.Threshold(policy, window, window-limit, used, used-l.Base)
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
	w := &Window{ID: WindowID(s.e.id("win"))}
	predicted := l.predict(before)
	if c != nil {
		w.Plan = c.plan(l, predicted)
	}
	s.finish(l, w, window, predicted, why)
	if err := s.persist(ctx, l, w, c, placed); err != nil {
		return nil, err
	}
	l.window = w
	return w.copy(), nil
}

// copy keeps a caller's changes away from what is returned again and sent later.
func (w *Window) copy() *Window {
	c := *w
	c.Messages = slices.Clone(w.Messages)
	c.Receipt.Parts = slices.Clone(w.Receipt.Parts)
	c.Receipt.Notes = slices.Clone(w.Receipt.Notes)
	return &c
}

func (h *Head) validate() error {
	if len(h.Tools) == 0 {
		return nil
	}
	t := bytes.TrimLeft(h.Tools, " \t\r\n")
	if len(t) == 0 || t[0] != '[' || !json.Valid(h.Tools) {
		return fmt.Errorf("%w: Tools is not a JSON array", ErrInvalidHead)
	}
	return nil
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
	l.window = &Window{ID: l.Window, Messages: l.messages(), Hints: l.hints(), Receipt: r.Receipt}
	return l.window.copy(), nil
}

// setHead takes the agent's head. The head that was sent stays as it is unless the agent's own part of it has changed, which breaks the
// prefix at its first token whatever we do.
func (l *live) setHead(h Head, pins []pin.Pin) bool {
	system := turn.Sent(h.System)
	if l.Turn > 0 && l.System == system && bytes.Equal(l.Tools, h.Tools) {
		return false
	}
	if l.Turn > 0 {
		l.notes = append(l.notes, "head changed")
	}
	l.System, l.Tools, l.Pins = system, slices.Clone(h.Tools), slices.Clone(pins)
	l.keep = 0
	return true
}

// place appends what waits to the newest message that has not been sent, and returns the ids of attached notes that found their place.
// A pin goes to the newest message whatever happens: it must be in every prompt.
func (l *live) place(pins []pin.Pin, attached []store.NoteRow) []string {
	var ids []string
	target := len(l.chat.Entries) - 1
	e := l.chat.Entries[target]
	if target >= l.Sent {
		if len(l.chat.Pending)+len(attached) > 0 {
			l.touch(target)
		}
		for _, n := range l.chat.Pending {
			e.Append(n)
		}
		l.chat.Pending = nil
		for _, n := range attached {
			text, _ := l.esc.Escape(turn.Sent(n.Text))
			e.Append(turn.Note{ID: n.ID, Kind: turn.NoteKind(n.Kind), Text: text})
			ids = append(ids, n.ID)
		}
	}
	if l.placePins(pins) {
		l.touch(target)
		if target < l.Sent {
			l.notes = append(l.notes, "a pin arrived after the newest message was sent")
		}
	}
	return ids
}

// placePins makes the prompt say which pins are in force, at its newest message where it does not yet.
func (l *live) placePins(pins []pin.Pin) bool {
	shown := map[string]pin.Pin{}
	revoked := map[string]bool{}
	for _, p := range l.Pins {
		shown[p.ID] = p
	}
	for _, e := range l.chat.Entries {
		for _, n := range e.Notes {
			switch n.Kind {
			case turn.NotePin:
				shown[n.Ref] = pin.Pin{ID: n.Ref}
				delete(revoked, n.Ref)
			case turn.NoteUnpin:
				revoked[n.Ref] = true
			}
		}
	}
	active := map[string]bool{}
	changed := false
	e := l.chat.Entries[len(l.chat.Entries)-1]
	for _, p := range pins {
		active[p.ID] = true
		if _, ok := shown[p.ID]; !ok || revoked[p.ID] {
			e.Append(turn.Note{ID: p.ID, Kind: turn.NotePin, Text: pin.Late(p), Ref: p.ID})
			changed = true
		}
	}
	gone := make([]string, 0, len(shown))
	for id := range shown {
		if !active[id] && !revoked[id] {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		e.Append(turn.Note{ID: "un" + id, Kind: turn.NoteUnpin, Text: "This pinned constraint is no longer in force.", Ref: id})
		changed = true
	}
	return changed
}

// touch says that the entries from index i on are not what was counted and stored.
func (l *live) touch(i int) {
	l.dirty = min(l.dirty, i)
	l.keep = min(l.keep, i+l.headItems())
}

// headItems is 1 where the head is a message of its own.
func (l *live) headItems() int {
	if l.NoSystemRole || (l.System == "" && len(l.Pins) == 0) {
		return 0
	}
	return 1
}

// compose brings the prompt's messages up to date from the first changed one on.
func (l *live) compose() {
	head := l.headItem()
	h := l.headItems()
	items := l.items[:min(l.keep, len(l.items), len(l.chat.Entries)+h)]
	if len(items) < len(l.items) {
		// Something that was sent has changed: callers may still hold the messages in front of it.
		items = slices.Clip(items)
		l.valid = turn.Validator{}
		l.out = slices.Clone(l.out[:min(len(items), len(l.out))])
	}
	for i := len(items); i < len(l.chat.Entries)+h; i++ {
		if i < h {
			items = append(items, head)
			continue
		}
		e := l.chat.Entries[i-h]
		it := prompt.Item{Message: e.Message, Pieces: e.Pieces}
		if i == 0 && len(head.Pieces) > 0 {
			// A template without a system role: the head stands in front of the first user turn.
			it.Message.Content = head.Message.Content + "\n\n" + it.Message.Content
			it.Pieces = append(slices.Clone(head.Pieces), it.Pieces...)
			it.Pieces[len(head.Pieces)-1].Bytes += 2
		}
		items = append(items, it)
	}
	l.items = items
}

func (l *live) headItem() prompt.Item {
	it := prompt.Item{Message: turn.Message{Role: episode.System}}
	add := func(cat receipt.Category, text string) {
		if text != "" {
			it.Message.Content += text
			it.Pieces = append(it.Pieces, turn.Piece{Category: cat, Bytes: len(text)})
		}
	}
	add(receipt.System, l.System)
	if block := pin.Block(l.Pins); block != "" {
		add(receipt.Pins, turn.PinBlock(block, l.System != ""))
	}
	return it
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

// messages returns the prompt as the caller sees it.
func (l *live) messages() []Message {
	for _, it := range l.items[len(l.out):] {
		l.out = append(l.out, outer(it.Message))
	}
	return slices.Clip(l.out) // each window that is handed out has a copy of its own, see Window.copy
}

func (l *live) hints() Hints {
	return Hints{CachePrompt: true, IDSlot: l.profile.Slot, TemplateKwargs: l.Kwargs}
}

// measure counts the prompt.
func (s *Session) measure(ctx context.Context, l *live, backend boundary.Backend, profile boundary.Profile, fallback string) error {
	if l.counter == nil || l.counterKey != counterKey(profile, fallback, l) {
		l.useCounter(backend, profile, fallback)
	}
	return l.count(ctx)
}

// countError is a failure of the backend to count. The prompt is begun again with the local counter, since two counters must not have a part in
// one plan.
type countError struct{ error }

func (e *countError) Unwrap() error { return e.error }

// failedCount returns why the backend could not count, nil where err is anything else.
func failedCount(ctx context.Context, err error) error {
	var c *countError
	if errors.As(err, &c) && ctx.Err() == nil {
		return c.error
	}
	return nil
}

// server returns what counts: the engine's server, or the local counter where down says why that one cannot.
func (s *Session) server(ctx context.Context, down error) (boundary.Backend, boundary.Profile, string) {
	if down == nil {
		return s.e.server(ctx)
	}
	s.e.log.WarnContext(ctx, "backend failed to count; counting locally", "error", down)
	s.e.forget()
	return s.e.without(ctx, boundary.Profile{}, down)
}

// forget has the backend asked for its profile again before it is used next: it may come back as another one.
func (e *Engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.profile = nil
}

func counterKey(p boundary.Profile, fallback string, l *live) string {
	return fmt.Sprintf("%t\x00%s\x00%s\x00%s\x00%s", fallback != "", p.Tokenizer, p.Template.Digest, l.Tools, l.Kwargs)
}

func (l *live) useCounter(b boundary.Backend, p boundary.Profile, fallback string) {
	l.counterKey = counterKey(p, fallback, l)
	l.counter = prompt.New(b, controls(p.Template.ControlTexts), l.Tools, l.Kwargs)
	if l.Reasoning && !p.Template.PreservesReasoning {
		l.counter.Distrust() // the template drops what was sent at the next user turn: no part of the prompt can be counted by itself
	}
	l.counted, l.keep = nil, 0
	tokenizer := p.Tokenizer
	if fallback != "" {
		tokenizer += " (local)"
	}
	if tokenizer != l.tokenizer || p.Template.Digest != l.profile.Template.Digest {
		l.cache, l.header = nil, nil // what the server holds stays comparable only in tokens of the same kind; other tools change none of that
	}
	l.tokenizer, l.fallback, l.profile = tokenizer, fallback, p
}

// count composes and counts the prompt, and has the cache model at hand.
func (l *live) count(ctx context.Context) error {
	l.compose()
	st, err := l.counter.Count(ctx, l.counted, l.keep, l.items)
	if err != nil {
		return &countError{err}
	}
	l.counted, l.keep = st, len(l.items)
	if l.cache != nil {
		return nil
	}
	if l.profile.Template.UserHeader != "" {
		if l.header, err = l.counter.Tokens(ctx, l.profile.Template.UserHeader); err != nil {
			return &countError{err}
		}
	}
	return l.restoreCache(ctx)
}

// restoreCache rebuilds the cache model from what was stored and the prompt that was sent last.
func (l *live) restoreCache(ctx context.Context) error {
	l.cache = boundary.NewCache(l.profile)
	n := min(l.Sent+l.headItems(), len(l.items))
	switch {
	case l.Cache == nil, l.Sent == 0, l.Sent > len(l.chat.Entries):
		return nil
	case l.items[n-1].Message.Role == episode.Assistant, n < len(l.items) && l.items[n].Message.Role == episode.Tool:
		return nil // what was sent has been cut since; half a call with its results is nothing that a server renders
	}
	sent, err := l.counter.Count(ctx, nil, 0, l.items[:n])
	if err != nil {
		return &countError{err}
	}
	c := boundary.RestoreCache(l.profile, *l.Cache)
	if c.Hold(sent.Prompt()) == nil {
		l.cache = c
	}
	return nil
}

// trimResults renders the new results that are larger than the policy allows as head, pointer and tail.
func (s *Session) trimResults(ctx context.Context, l *live, p evict.Policy, window int) error {
	most := int(float64(window) * p.MaxResult)
	for round := 0; round < 8; round++ {
		again := false
		for i := l.Sent; i < len(l.chat.Entries); i++ {
			e := l.chat.Entries[i]
			n := l.counted.Counts[i+l.headItems()].Tokens
			if !e.Result() || n <= most || (e.Form != turn.Full && e.Form != turn.Trimmed) {
				continue
			}
			rec, err := s.record1(ctx, e.Episode)
			if err != nil {
				return err
			}
			size := len(rec.Content)
			if e.Form == turn.Trimmed {
				size = e.Head + e.Tail
			}
			next := int(float64(size) * float64(most) / float64(n) * 0.9)
			if next >= size || next < 64 {
				next = size / 2
			}
			if next < 16 {
				continue
			}
			l.chat.Retrim(e, rec, next)
			l.touch(i)
			again = true
		}
		if !again {
			return nil
		}
		if err := l.count(ctx); err != nil {
			return err
		}
	}
	return nil
}

// record1 reads one episode.
func (s *Session) record1(ctx context.Context, id string) (*episode.Record, error) {
	var rec episode.Record
	err := s.e.st.Read(ctx, func(r *store.Reader) (err error) {
		rec, err = r.Episode(s.e.project, id)
		return err
	})
	return &rec, wrap(err)
}

// prediction is what the cache model says of the next request.
type prediction struct {
	boundary.Reuse
	plan boundary.Plan
}

// predict asks the cache model about the prompt and lets it accept it.
func (l *live) predict(before *prompt.State) prediction {
	ids := l.counted.Prompt()
	geometry := l.cache.Geometry()
	p := prediction{Reuse: l.cache.Predict(ids, 0)}
	p.plan = boundary.Resolve(geometry, p.Common, len(ids), 0)
	l.cache.Accept(ids, boundary.UserStarts(ids, l.header), 0)
	return p
}

// finish writes the receipt and moves the session's state behind the new prompt.
func (s *Session) finish(l *live, w *Window, window int, p prediction, why string) {
	l.Turn++
	newTokens := l.newTokens()
	l.Sent = len(l.chat.Entries)
	l.Covered, l.SentSeq, l.Spoken = l.chat.Covered, l.chat.Covered, l.chat.Spoken
	l.Pending, l.Named = l.chat.Pending, nil
	l.Window = w.ID
	if w.Plan != nil {
		l.Generation++
		l.Base = l.counted.Total()
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
		Reason: p.plan.Reason}
	if w.Plan != nil {
		r.Floor = w.Plan.Floor
		r.Cache.Verdict = w.Plan.Cut.Verdict
		r.Cache.Reason = w.Plan.Cut.Reason
	}
	if l.fallback != "" {
		r.Notes = append(r.Notes, "counted locally: "+l.fallback)
	}
	w.Messages, w.Hints, w.Receipt = l.messages(), l.hints(), r
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
	for i, e := range l.chat.Entries {
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
	body, err := json.Marshal(storedReceipt{Receipt: w.Receipt})
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
		if err := tx.EnsureSession(s.e.project, s.id); err != nil {
			return err
		}
		if err := tx.ReplaceDecisions(s.e.project, s.id, l.dirty, rows); err != nil {
			return err
		}
		if c != nil {
			for _, st := range c.steps {
				if err := tx.SetTier(s.e.project, s.id, st.Episode, st.From, st.To, string(w.ID), st.Reason, st.Tokens); err != nil {
					return err
				}
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
	l.dirty = len(l.chat.Entries)
	return nil
}
