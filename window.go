package sakur4

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/rendering"
	"sakur4/internal/store"
)

// Window returns the next prompt of the session: within the window, with every pin, a valid chat whose first messages are those of the last one.
// It compacts when it must, at most once, and then says so in [Window.Plan]. Called again without a new turn it returns the same prompt.
//
// The errors are [ErrPending] and [ErrNoTurn] where it is nobody's turn, [ErrInvalidHead], and [ErrBudgetOverflow] (a [*BudgetError]) where not
// even the shortest prompt fits; nothing has changed then. A server that does not answer is no error: the prompt is counted locally and the
// receipt says so. A server that was restarted with a smaller context or another template is noticed once a request failed or was measured otherwise
// than predicted: where the server refuses a prompt, ask for it again.
//
// A prompt that only adds turns to the last one, as they were recorded, is stored without waiting for the disk. It outlives the process, and the next thing that
// is stored, other than one more such prompt, makes it durable too; one in which more is decided is waited for: the first, a compaction, one with a new head, with a place
// for a pin or a note, or with a call that is taken for interrupted. A loss of power before that may take the prompt with its receipt and its id, which
// [Session.Observe] then does not know. Nothing else is lost: Window makes the prompt anew of the record, and the next ones begin with its messages where window
// and server are the same. Its receipt does not know what a server that kept running holds of the lost one: there more is reused than predicted.
func (s *Session) Window(ctx context.Context, head Head) (*Window, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.next(ctx, head, nil)
	if errors.Is(err, errMoved) {
		s.live = nil
		w, err = s.next(ctx, head, nil)
	}
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

// validate refuses tools that are none.
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

// next makes the next prompt, counting locally where down says why the backend cannot.
func (s *Session) next(ctx context.Context, head Head, down error) (*Window, error) {
	if err := head.validate(); err != nil {
		return nil, err
	}
	srv := s.server(ctx, down)
	l, w, err := s.load(ctx, s.live, srv)
	if err != nil {
		return nil, err
	}
	s.live = l
	p := l.prompt
	if head.CloseOpenCalls {
		p.CloseCalls()
	}
	if open := p.OpenCalls(); len(open) > 0 {
		return nil, &PendingError{Calls: open}
	}
	if last := p.Spoken(); last == "" || last == episode.Assistant {
		return nil, ErrNoTurn
	}
	in := s.request(srv, head, w)
	if down == nil {
		in.Swapped = func(ctx context.Context) bool { return s.swapped(ctx, srv.Profile) }
	}
	made, err := p.Next(ctx, in)
	s.e.settle(p.Learned())
	switch {
	case errors.Is(err, rendering.ErrSwapped):
		s.live = nil
		return s.next(ctx, head, nil) // with nothing sent in memory, so once
	case err != nil:
		return nil, outerError(err)
	case made == nil:
		return s.again(ctx, l)
	}
	r := made.Receipt
	r.Session, r.Backend = s.id, backendName(srv.Profile)
	out := &Window{ID: WindowID(r.ID), Receipt: r, Messages: l.outer(), Hints: hints(p), Marks: p.Hints().Marks}
	if made.Plan != nil {
		plan := Plan(*made.Plan)
		out.Plan = &plan
	}
	if err := s.persist(ctx, l, out); err != nil {
		return nil, err
	}
	l.window = out
	return out.copy(), nil
}

// request gathers what a prompt is made for.
func (s *Session) request(srv rendering.Server, head Head, w waiting) rendering.Request {
	return rendering.Request{Server: srv, Head: rendering.Head{System: head.System, Tools: head.Tools}, Pins: w.pins, Notes: w.notes, Folds: w.folds, Unmeasured: w.unmeasured,
		ID: func() string { return s.e.id("win") }}
}

// outerError turns an error of a prompt into one of ours.
func outerError(err error) error {
	var over *evict.OverflowError
	if errors.As(err, &over) {
		return &BudgetError{Floor: over.Floor, ID: over.ID, Need: over.Need, Have: over.Have}
	}
	if err != nil && strings.HasPrefix(err.Error(), "rendering: ") && failedCount(context.Background(), err) == nil {
		return fmt.Errorf("sakur4: internal error: %w", err)
	}
	return err
}

// outer returns the messages of the prompt as the caller sees them.
func (l *live) outer() []Message {
	kept, rest := l.prompt.Messages()
	if kept < len(l.messages) {
		l.messages = slices.Clone(l.messages[:kept]) // callers may still hold the others
	}
	for m := range rest {
		l.messages = append(l.messages, outer(m))
	}
	return slices.Clip(l.messages) // each window that is handed out has a copy of its own, see Window.copy
}

// hints returns the request's fields for the prompt that was made last.
func hints(p *rendering.Prompt) Hints {
	h := p.Hints()
	return Hints{CachePrompt: true, IDSlot: h.Slot, NCacheReuse: h.Reuse, TemplateKwargs: h.Kwargs}
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
	id, _ := l.prompt.Last()
	r, err := s.receipt(ctx, WindowID(id))
	if err != nil {
		return nil, err
	}
	l.window = &Window{ID: WindowID(id), Messages: l.outer(), Hints: hints(l.prompt), Receipt: r.Receipt, Marks: l.prompt.Hints().Marks}
	return l.window.copy(), nil
}

func backendName(p boundary.Profile) string {
	if p.Build != "" {
		return p.Name + " " + p.Build
	}
	return p.Name
}

// persist stores a prompt. One that follows from what is durable is not waited for: a loss of power may take it, and nothing that was stored later is there without
// it.
func (s *Session) persist(ctx context.Context, l *live, w *Window) error {
	body, err := json.Marshal(storedReceipt{Receipt: w.Receipt, Restored: SnapshotID(l.prompt.Restored())})
	if err != nil {
		return fmt.Errorf("sakur4: receipt: %w", err)
	}
	write := s.e.st.Write
	if l.prompt.Follows() {
		write = s.e.st.WriteNoSync
	}
	return s.store(ctx, l, &store.ReceiptRow{WindowID: string(w.ID), Turn: w.Receipt.Turn, Body: string(body), Created: s.e.now()}, write)
}

// errMoved says that episodes have gone down the ladder while a compaction was made that takes them down too: a fold was closed. It is made anew, once.
var errMoved = fmt.Errorf("%w: turns of the session have left its prompt meanwhile", ErrConflict)

// store writes what changed of the session's prompt, and its receipt if it has one, in one transaction.
func (s *Session) store(ctx context.Context, l *live, rec *store.ReceiptRow, write func(context.Context, func(*store.Tx) error) error) error {
	ch, err := l.prompt.Changes()
	if err != nil {
		return err
	}
	rows := make([]store.DecisionRow, len(ch.Decisions))
	for i, d := range ch.Decisions {
		rows[i] = store.DecisionRow(d)
	}
	steps := make([]store.StepRow, len(ch.Steps))
	for i, st := range ch.Steps {
		steps[i] = store.StepRow{Episode: st.Episode, Seq: st.Seq, From: st.From, To: st.To, Tokens: st.Tokens, Reason: st.Reason}
	}
	now := s.e.now()
	err = write(ctx, func(tx *store.Tx) error {
		revision, err := tx.RenderGeneration(s.e.project, s.id)
		if err != nil {
			return err
		}
		if revision != l.revision {
			return fmt.Errorf("%w: another process has sent a prompt of session %q", ErrConflict, s.id)
		}
		if revision == 0 { // nothing was made of the session yet
			if err := tx.EnsureSession(s.e.project, s.id); err != nil {
				return err
			}
		}
		if ch.Anew {
			err = tx.ReplaceDecisions(s.e.project, s.id, ch.First, rows)
		} else {
			err = tx.AddDecisions(s.e.project, s.id, rows)
		}
		if err != nil {
			return err
		}
		if err := tx.TakeSteps(s.e.project, s.id, ch.Window, steps); errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %v", errMoved, err) // nothing is missing: it is not ErrNotFound
		} else if err != nil {
			return err
		}
		if err := tx.PlaceNotes(s.e.project, s.id, ch.Placed); err != nil {
			return err
		}
		if rec != nil {
			if err := tx.PutReceipt(s.e.project, s.id, *rec); err != nil {
				return err
			}
		}
		return tx.PutRenderState(s.e.project, s.id, store.RenderState{Version: ch.Version, Generation: l.revision + 1, Body: ch.Body, Updated: now})
	})
	if err != nil {
		return wrap(err)
	}
	l.revision++
	l.prompt.Stored()
	return nil
}
