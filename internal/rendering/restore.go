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
	p, err := begin(opt, profile, in.Body)
	if err != nil {
		return nil, err
	}
	if p.inSnapshot() {
		if p.saved, err = in.Slot(p.state.InSlot); err != nil {
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
	if err := p.hold(entries); err != nil {
		return nil, err
	}
	return p, nil
}

// Anew returns the prompt that [Restore] would make of what is stored, for a server of that profile, without reading it again. It is nil where that cannot be had.
func (p *Prompt) Anew(profile boundary.Profile) *Prompt {
	if p.body == "" || p.dirty < p.stored || len(p.chat.Entries) < p.stored {
		return nil
	}
	out, err := begin(p.opt, profile, p.body)
	if err != nil || out.inSnapshot() {
		return nil
	}
	entries := make([]*turn.Entry, p.stored)
	for i, e := range p.chat.Entries[:p.stored] {
		same := *e // what a decision renders to is the same each time
		entries[i] = &same
	}
	if out.hold(entries) != nil {
		return nil
	}
	return out
}

// begin returns a prompt of which the state is stored, without its messages.
func begin(opt Options, profile boundary.Profile, body string) (*Prompt, error) {
	st, err := readState(body)
	if err != nil {
		return nil, err
	}
	p := &Prompt{opt: opt, state: st, body: body, known: true, profile: profile, words: &vocabulary{}, esc: turn.NewEscaper(turn.Controls(st.Controls))}
	for _, later := range st.Later {
		p.esc = p.esc.Then(turn.Controls(later.Controls), later.From)
	}
	return p, nil
}

// inSnapshot reports whether the slot was restored from a snapshot, and nothing sent since.
func (p *Prompt) inSnapshot() bool { return p.state.InSlot != "" && p.state.InSlot != SlotEmpty }

// hold gives the prompt the messages that are stored.
func (p *Prompt) hold(entries []*turn.Entry) error {
	if len(entries) < p.state.Sent {
		return &DamageError{fmt.Errorf("%d messages were sent, of which %d decisions are left", p.state.Sent, len(entries))}
	}
	p.chat = turn.Restore(p.esc, entries, p.state.Covered, p.state.Spoken)
	p.chat.Pending = p.state.Pending
	p.dirty, p.stored = len(entries), len(entries)
	return nil
}
