package sakur4

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/rendering"
	"sakur4/internal/store"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// Session is one conversation of a project. It is safe for concurrent use; calls that make prompts take their turn.
type Session struct {
	e  *Engine
	id string

	bookMu sync.Mutex // guards book; taken before the store's writer
	book   *book

	mu   sync.Mutex // guards live
	live *live
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// live is a session's prompt in memory. It is thrown away after any error that leaves it behind the store, and read anew.
type live struct {
	prompt   *rendering.Prompt
	revision int              // of what is stored
	profile  boundary.Profile // of the server that was asked last
	messages []Message        // of the prompt, as the caller sees them
	window   *Window          // the last one, for a call without a new turn
}

// anew returns what reading the session anew would give as of the revision of l, nil where that is to be read.
func (l *live) anew(profile boundary.Profile) *live {
	if l == nil {
		return nil
	}
	p := l.prompt.Anew(profile)
	if p == nil {
		return nil
	}
	return &live{prompt: p, revision: l.revision}
}

// waiting is what waits to be said in a session's prompt.
type waiting struct {
	pins  []pin.Pin
	notes []turn.Note
	folds []rendering.Fold // that were closed since
	// unmeasured says that nobody has entered yet what the server measured of the last prompt.
	unmeasured bool
}

// load returns a prompt with everything that the record holds now. It goes on from l, and reads the session's anew where that is nil or behind the store.
func (s *Session) load(ctx context.Context, l *live, srv rendering.Server) (*live, waiting, error) {
	var w waiting
	err := s.e.st.ReadRecord(ctx, func(r *store.Reader) error {
		window := ""
		if l != nil {
			window, _ = l.prompt.Last()
		}
		look, err := r.Outlook(s.e.project, s.id, window)
		if err != nil {
			return err
		}
		switch {
		case l != nil && look.Generation == l.revision:
			w.unmeasured = !look.Observed
		case look.Generation == 0:
			l = &live{prompt: rendering.New(s.rendering(), srv.Profile)}
		default: // nothing is in memory, or another process has sent a prompt of this session
			if l, err = s.restore(r, srv.Profile); err != nil {
				return err
			}
		}
		l.profile = srv.Profile
		if err := l.prompt.Extend(srv, s.since(r, l.prompt.Covered())); err != nil {
			return err
		}
		if look.Pins {
			rows, err := r.Pins(s.e.project, false)
			if err != nil {
				return err
			}
			w.pins = rendered(rows)
		}
		if look.Notes {
			notes, err := r.Notes(s.e.project, s.id, true)
			if err != nil {
				return err
			}
			for _, n := range notes {
				w.notes = append(w.notes, turn.Note{ID: n.ID, Kind: turn.NoteKind(n.Kind), Text: n.Text})
			}
		}
		if look.Folds {
			w.folds, err = s.closedFolds(r, l.prompt)
		}
		return err
	})
	if err != nil {
		return nil, waiting{}, wrap(err)
	}
	return l, w, nil
}

// restore reads a prompt from the store.
func (s *Session) restore(r *store.Reader, profile boundary.Profile) (*live, error) {
	row, err := r.RenderState(s.e.project, s.id)
	if err != nil {
		return nil, err
	}
	if row.Version != turn.Version {
		return nil, fmt.Errorf("%w: session %q was rendered by version %d of the rules, this is version %d", ErrUnsupported, s.id, row.Version, turn.Version)
	}
	decisions, err := r.Decisions(s.e.project, s.id)
	if err != nil {
		return nil, err
	}
	in := rendering.Stored{
		Body:      row.Body,
		Decisions: make([]rendering.Decision, len(decisions)),
		Slot:      func(id string) (*rendering.Slot, error) { return s.savedSlot(r, id) },
		Episode: func(id string) (*episode.Record, error) {
			rec, err := r.Episode(s.e.project, id)
			return &rec, err
		},
	}
	for i, d := range decisions {
		in.Decisions[i] = rendering.Decision(d)
	}
	p, err := rendering.Restore(s.rendering(), profile, in)
	if err != nil {
		return nil, s.damaged(err)
	}
	return &live{prompt: p, revision: row.Generation}, nil
}

// damaged says whose rendering cannot be read.
func (s *Session) damaged(err error) error {
	var d *rendering.DamageError
	if errors.As(err, &d) {
		return fmt.Errorf("%w: session %q: %w", ErrCorrupt, s.id, err)
	}
	return err
}

// since yields what was recorded behind a place of the record.
func (s *Session) since(r *store.Reader, seq int64) iter.Seq2[rendering.Recorded, error] {
	return func(yield func(rendering.Recorded, error) bool) {
		var codes map[string]string
		asked := false
		for rec, err := range r.SessionEpisodes(s.e.project, s.id, seq) {
			out := rendering.Recorded{Episode: rec}
			if err == nil && rec.Role == episode.Tool {
				if !asked {
					codes, err = r.ExitCodes(s.e.project, s.id, seq)
					err, asked = s.e.spare(err), true
				}
				out.Exit = codes[rec.ID]
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// spare is an error of a look at the facts that a prompt can do without: where they are damaged, it says less of a result and weighs it lower, and is made.
func (e *Engine) spare(err error) error {
	if errors.Is(err, store.ErrCorrupt) {
		e.log.Warn("a prompt is made without facts that cannot be read", "error", err)
		return nil
	}
	return err
}

// rendering returns what holds for all prompts of the session.
func (s *Session) rendering() rendering.Options {
	o := s.e.opts
	return rendering.Options{Shift: o.KVShift, Reasoning: o.KeepReasoning, Policy: s.e.policy, Count: s.e.counter.Count, Record: recorded{s}}
}

// recorded is a session's record as its prompt reads it.
type recorded struct{ s *Session }

var _ rendering.Record = recorded{}

// Episode reads one episode.
func (r recorded) Episode(ctx context.Context, id string) (*episode.Record, error) {
	var rec episode.Record
	err := r.s.e.st.ReadRecord(ctx, func(tx *store.Reader) (err error) {
		rec, err = tx.Episode(r.s.e.project, id)
		return err
	})
	return &rec, wrap(err)
}

// Marks reads the marks of episodes.
func (r recorded) Marks(ctx context.Context, ids []string, seqs []int64) (map[int64]rendering.Mark, error) {
	var rows map[int64]store.Mark
	err := r.s.e.st.Read(ctx, func(tx *store.Reader) (err error) {
		rows, err = tx.Marks(r.s.e.project, r.s.id, ids, seqs)
		if rows != nil { // but for the facts
			err = r.s.e.spare(err)
		}
		return err
	})
	marks := make(map[int64]rendering.Mark, len(rows))
	for seq, m := range rows {
		marks[seq] = rendering.Mark(m)
	}
	return marks, wrap(err)
}

// Receipt reads the receipt of a prompt.
func (r recorded) Receipt(ctx context.Context, window string) (receipt.Receipt, int, error) {
	st, err := r.s.receipt(ctx, WindowID(window))
	if err != nil || st.Usage == nil {
		return st.Receipt, 0, err
	}
	return st.Receipt, st.Usage.CompletionTokens, nil
}
