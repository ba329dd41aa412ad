package rendering

import (
	"fmt"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/turn"
)

// Stored is what is stored of a session's prompt: the newest body and all decisions that [Prompt.Changes] gave.
type Stored struct {
	Body      string
	Decisions []Decision
	// Slot returns a snapshot of the server's slot by its id, nil where there is none any more; Episode returns a recorded episode.
	Slot    func(id string) (*Slot, error)
	Episode func(id string) (*episode.Record, error)
}

// Decision is how one message of a prompt was rendered. Ord is its place, counted from 0 without a gap.
type Decision struct {
	Ord                       int
	Kind, Episode, Form, Body string
}

// Restore returns the prompt that was stored, for a server of that profile. The error is a [*DamageError] where no prompt can be made of what is stored, else one of the
// functions'.
func Restore(opt Options, profile boundary.Profile, in Stored) (*Prompt, error) {
	st, err := readState(in.Body)
	if err != nil {
		return nil, err
	}
	p := &Prompt{opt: opt, state: st, known: true, profile: profile, words: &vocabulary{}, esc: turn.NewEscaper(turn.Controls(st.Controls))}
	for _, later := range st.Later {
		p.esc = p.esc.Then(turn.Controls(later.Controls), later.From)
	}
	if st.InSlot != "" && st.InSlot != SlotEmpty {
		if p.saved, err = in.Slot(st.InSlot); err != nil {
			return nil, err
		}
	}
	entries := make([]*turn.Entry, 0, len(in.Decisions))
	for i, d := range in.Decisions {
		if d.Ord != i {
			return nil, &DamageError{fmt.Errorf("decision %d is missing", i)}
		}
		e, err := turn.Load(d.Kind, d.Episode, d.Form, d.Body)
		if err != nil {
			return nil, &DamageError{err}
		}
		var rec *episode.Record
		if e.Kind == turn.KindEpisode {
			if rec, err = in.Episode(e.Episode); err != nil {
				return nil, err
			}
		}
		e.Render(rec, p.esc)
		entries = append(entries, e)
	}
	if len(entries) < st.Sent {
		return nil, &DamageError{fmt.Errorf("%d messages were sent, of which %d decisions are left", st.Sent, len(entries))}
	}
	p.chat = turn.Restore(p.esc, entries, st.Covered, st.Spoken)
	p.chat.Pending = st.Pending
	p.dirty, p.stored = len(entries), len(entries)
	return p, nil
}
