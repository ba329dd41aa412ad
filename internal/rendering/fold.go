package rendering

import (
	"errors"
	"slices"

	"sakur4/internal/episode"
	"sakur4/internal/turn"
)

// Fold is a fold that was closed: turns of the record for which a summary stands.
type Fold struct {
	ID string
	// Summary is the episode that stands for it, Text what that says.
	Summary, Text string
	// Turns are the episodes that left with it.
	Turns map[string]bool
}

// Folded reports whether the fold of that id has been taken out.
func (p *Prompt) Folded(id string) bool { return slices.Contains(p.state.Folded, id) }

// fold takes the turns of folds that were closed since out of the prompt, and puts their summaries where they were opened. It is the one break of a prompt besides a
// compaction.
func (p *Prompt) fold(closed []Fold) error {
	for _, f := range closed {
		if err := p.takeOut(f); err != nil {
			return err
		}
		p.state.Folded = append(p.state.Folded, f.ID)
	}
	return nil
}

func (p *Prompt) takeOut(f Fold) error {
	changes := map[string]turn.Change{}
	first := len(p.chat.Entries)
	calls := map[int64]bool{} // of the turns with calls, whether they leave
	for i, e := range p.chat.Entries {
		if e.Kind != turn.KindEpisode {
			continue
		}
		leaves := f.Turns[e.Episode]
		if e.Role == episode.Assistant {
			calls[e.Atom] = leaves
		} else if with, ok := calls[e.Atom]; ok {
			leaves = with // whatever the record says, a call is never without its results, and no result without its call
		}
		if leaves {
			changes[e.Episode] = turn.Change{Gone: true}
			first = min(first, i)
		}
	}
	text, _ := p.esc.Escape(turn.Sent(f.Text))
	note := turn.Note{ID: f.Summary, Kind: turn.NoteFold, Text: text, Ref: f.ID}
	if len(changes) == 0 {
		// Nothing of it is in the prompt any more: the summary goes to the newest message, and nothing is sent anew.
		p.chat.Pending = append(p.chat.Pending, note)
		return nil
	}
	chat, err := p.chat.Rewrite(first, changes, false, func(string) (*episode.Record, error) { return nil, errRendered })
	if err != nil {
		return err
	}
	p.chat = chat
	at := first
	for at > 0 && p.chat.Entries[at-1].Role == episode.Assistant {
		at-- // only user turns and results carry notes
	}
	if at > 0 && at == first {
		at--
		p.chat.Entries[at].Append(note)
	} else {
		p.chat.Pending = append(p.chat.Pending, note)
		at = first
	}
	p.touch(at)
	p.state.Sent = min(p.state.Sent, at)
	p.notes = append(p.notes, f.ID+" closed")
	return nil
}

// errRendered cannot come up: where messages only go, none is rendered anew.
var errRendered = errors.New("rendering: a message was to be rendered that only others leave")
