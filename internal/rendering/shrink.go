package rendering

import (
	"slices"

	"sakur4/evict"
	"sakur4/internal/turn"
)

// What was attached to a message gives way before the work itself does: before a floor is cut for want of room, the notes are. First they share
// the room that the rest leaves them, the longest cut first; where that is too little to be of use, one short note stands for all of them.

const (
	// maxShrinks bounds how often notes are shortened in one compaction: their sizes in tokens are estimates.
	maxShrinks = 16
	// usefulNote is the least length in bytes that a note is cut to.
	usefulNote = 96
	// leftOut is the text that stands for notes that found no room.
	leftOut = "Notes were left out of this message: there is no room for them. What was recorded of them is stored."
)

// noteRef is the place of a note: the index of its entry and that among the entry's notes.
type noteRef struct{ entry, note int }

// shrinkable returns the notes of the entries that may be shortened, in their order. Pins and what is said of them never are.
func (p *Prompt) shrinkable(entries []int) []noteRef {
	var refs []noteRef
	for _, i := range entries {
		for k, n := range p.chat.Entries[i].Notes {
			switch n.Kind {
			case turn.NoteLateResult, turn.NoteRecall, turn.NoteRepoMap, turn.NoteText, turn.NoteSystem, turn.NoteFold:
				refs = append(refs, noteRef{i, k})
			}
		}
	}
	return refs
}

// pressed reports whether a plan takes something from the last floors.
func pressed(in evict.Input, p evict.Plan, err error) bool {
	if err != nil || len(p.Trims) > 0 {
		return true
	}
	newest := map[string]bool{}
	for _, it := range in.Items {
		if it.Atom == in.Items[len(in.Items)-1].Atom {
			newest[it.Episode] = true
		}
	}
	return slices.ContainsFunc(p.Steps, func(st evict.Step) bool { return st.To >= evict.Archived && newest[st.Episode] })
}

// shrinkNotes shortens the notes of the newest message, or where it has none those of the user turns that never leave, where the plan takes from
// the last floors what the notes could give. It reports whether there were any.
func (p *Prompt) shrinkNotes(c *compaction, in evict.Input, spans []span, plan evict.Plan, err error) bool {
	if !pressed(in, plan, err) {
		return false
	}
	refs := p.shrinkable([]int{len(p.chat.Entries) - 1})
	if len(refs) == 0 {
		var users []int
		for i, it := range in.Items {
			if it.Floor == evict.FloorNewestUser || it.Floor == evict.FloorTaskRoot {
				users = append(users, spans[i].from)
			}
		}
		refs = p.shrinkable(users)
	}
	if len(refs) == 0 {
		return false
	}
	perToken := p.bytesPerToken()
	without := in
	without.Items = slices.Clone(in.Items)
	for _, r := range refs {
		n := int(float64(len(p.chat.Entries[r.entry].Notes[r.note].Text)) / perToken)
		for i, s := range spans {
			if s.from <= r.entry && r.entry < s.to {
				n = min(n, without.Items[i].Tokens)
				without.Items[i].Tokens -= n
				without.Total -= n
			}
		}
	}
	room := 0
	if rest, err := evict.Pick(without); !pressed(without, rest, err) {
		room = max(in.Limit-rest.After, 0)
	}
	p.fitNotes(c, refs, int(float64(room)*perToken*7/8))
	return true
}

// fitNotes shortens notes so that their texts have at most that many bytes together, and in any case fewer than now.
func (p *Prompt) fitNotes(c *compaction, refs []noteRef, bytes int) {
	sizes := make([]int, 0, len(refs))
	total := 0
	for _, r := range refs {
		n := len(p.chat.Entries[r.entry].Notes[r.note].Text)
		sizes = append(sizes, n)
		total += n
	}
	bytes = min(bytes, total*7/8)
	slices.Sort(sizes)
	most := 0
	for k, size := range sizes {
		if most = bytes / (len(sizes) - k); size > most {
			break
		}
		bytes -= size
	}
	cut := map[noteRef]bool{}
	for _, r := range refs {
		cut[r] = true
	}
	for i := 0; i < len(refs); {
		at := refs[i].entry
		e := p.chat.Entries[at]
		notes := make([]turn.Note, 0, len(e.Notes))
		for k, n := range e.Notes {
			switch {
			case n.Kind == turn.NoteLeftOut && most < usefulNote:
				continue
			case !cut[noteRef{at, k}]:
			case most < usefulNote:
				continue
			case len(n.Text) > most:
				n.Text = turn.CutNote(n.Text, most-len(turn.NoteCut))
			}
			notes = append(notes, n)
		}
		if most < usefulNote {
			notes = append(notes, turn.Note{ID: "left-out", Kind: turn.NoteLeftOut, Text: leftOut})
		}
		e.SetNotes(notes)
		p.touch(at)
		c.cut = min(c.cut, at)
		if at < p.state.Sent {
			p.state.Sent, c.shrunk = at, c.shrunk+1
		}
		for i < len(refs) && refs[i].entry == at {
			i++
		}
	}
}
