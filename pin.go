package sakur4

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"sakur4/internal/pin"
	"sakur4/internal/store"
	"sakur4/internal/turn"
)

// PinKind says what a pin is. The zero value is invalid.
type PinKind string

// The members of [PinKind].
const (
	// PinConstraint is a rule that must hold: "never force-push to main".
	PinConstraint PinKind = "constraint"
	// PinInstruction is a standing order: "run the tests after each edit".
	PinInstruction PinKind = "instruction"
	// PinPreference is a wish.
	PinPreference PinKind = "preference"
)

// Pin is a text of the user's that stands verbatim in every prompt of its project.
type Pin struct {
	// ID is its name, Kind what it is, Text what stands in the prompts.
	ID   PinID
	Kind PinKind
	Text string
	// Session is where it was pinned, Created when.
	Session string
	Created time.Time
}

// Pin puts a text into every prompt of the project from the next [Session.Window] on. The same text twice, of one kind, is the same pin.
//
// The error is [ErrInvalidPin] where the text cannot be rendered verbatim, and [ErrBudgetOverflow] where the pins would not leave half of the
// window to the work; nothing is stored then.
func (s *Session) Pin(ctx context.Context, text string, kind PinKind) (PinID, error) {
	if err := s.e.check(ctx); err != nil {
		return "", err
	}
	switch kind {
	case PinConstraint, PinInstruction, PinPreference:
	default:
		return "", fmt.Errorf("%w: unknown kind %q", ErrInvalidPin, kind)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("%w: empty text", ErrInvalidPin)
	case !utf8.ValidString(text):
		return "", fmt.Errorf("%w: text is not valid UTF-8", ErrInvalidPin)
	case strings.ContainsRune(text, 0):
		return "", fmt.Errorf("%w: text holds a NUL", ErrInvalidPin)
	}
	_, profile, _ := s.e.server(ctx)
	_, limit := s.e.window(profile)
	if turn.NewEscaper(turn.Controls(profile.Template.ControlTexts)).Has(text) {
		return "", fmt.Errorf("%w: text holds control-token text of a chat template, which no prompt can carry verbatim", ErrInvalidPin)
	}
	id := s.e.id("pin")
	err := s.e.st.Write(ctx, func(tx *store.Tx) error {
		pins, err := tx.Pins(s.e.project, false)
		if err != nil {
			return err
		}
		for _, p := range pins {
			if p.Text == text && p.Kind == string(kind) {
				id = p.ID
				return nil
			}
		}
		all := append(rendered(pins), pin.Pin{ID: id, Kind: string(kind), Text: text})
		if need := s.e.counter.Count(pin.Block(all)); need > limit/2 {
			return &BudgetError{Floor: "pins", ID: id, Need: need, Have: limit / 2}
		}
		if err := tx.EnsureSession(s.e.project, s.id); err != nil {
			return err
		}
		return tx.AddPin(store.PinRow{ID: id, Project: s.e.project, Session: s.id, Kind: string(kind), Text: text, Created: s.e.now()})
	})
	if err != nil {
		return "", wrap(err)
	}
	return PinID(id), nil
}

// Unpin takes a pin out of force. Prompts that carry its text already say so from the next [Session.Window] on; the row stays in the store.
// The error is [ErrNotFound] where the project has no such pin in force.
func (s *Session) Unpin(ctx context.Context, id PinID) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("%w: empty pin id", ErrNotFound)
	}
	return wrap(s.e.st.Write(ctx, func(tx *store.Tx) error { return tx.RetirePin(s.e.project, string(id)) }))
}

// Pins returns the pins in force in the session's project, oldest first.
func (s *Session) Pins(ctx context.Context) ([]Pin, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	var out []Pin
	err := s.e.st.ReadRecord(ctx, func(r *store.Reader) error {
		rows, err := r.Pins(s.e.project, false)
		for _, p := range rows {
			out = append(out, Pin{ID: PinID(p.ID), Kind: PinKind(p.Kind), Text: p.Text, Session: p.Session, Created: p.Created})
		}
		return err
	})
	return out, wrap(err)
}

func rendered(rows []store.PinRow) []pin.Pin {
	out := make([]pin.Pin, 0, len(rows)+1)
	for _, p := range rows {
		out = append(out, pin.Pin{ID: p.ID, Kind: p.Kind, Text: p.Text})
	}
	return out
}

// NoteKind says what an attached note is. The zero value is invalid.
type NoteKind int

// The members of [NoteKind].
const (
	// NoteRecall is recalled text.
	NoteRecall NoteKind = iota + 1
	// NoteRepoMap is a map of the repository.
	NoteRepoMap
	// NoteText is any other remark.
	NoteText
)

// Note is a text that is shown to the model once, with the next prompt, marked as a note of the agent's.
type Note struct {
	// Kind is required; Text is not empty.
	Kind NoteKind
	Text string
}

// Attach has a note rendered once with the next [Session.Window]. It can be evicted like anything else, and it is never evidence.
//
// The errors are [ErrInvalidTurn] (a [*TurnError]) for an unknown kind or an empty text, [ErrTooLarge] for one larger than [MaxTurnBytes], and those of the store.
func (s *Session) Attach(ctx context.Context, n Note) (NoteID, error) {
	if err := s.e.check(ctx); err != nil {
		return "", err
	}
	var kind turn.NoteKind
	switch n.Kind {
	case NoteRecall:
		kind = turn.NoteRecall
	case NoteRepoMap:
		kind = turn.NoteRepoMap
	case NoteText:
		kind = turn.NoteText
	default:
		return "", &TurnError{Field: "Note.Kind", Msg: fmt.Sprintf("unknown kind %d", n.Kind)}
	}
	if n.Text == "" {
		return "", &TurnError{Field: "Note.Text", Msg: "a note is not empty"}
	}
	if len(n.Text) > MaxTurnBytes {
		return "", fmt.Errorf("%w: note of %d bytes", ErrTooLarge, len(n.Text))
	}
	id := s.e.id("note")
	err := s.e.st.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.EnsureSession(s.e.project, s.id),
			tx.AddNote(s.e.project, s.id, store.NoteRow{ID: id, Kind: string(kind), Text: n.Text}))
	})
	if err != nil {
		return "", wrap(err)
	}
	return NoteID(id), nil
}
