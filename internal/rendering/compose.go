package rendering

import (
	"bytes"
	"encoding/json"
	"slices"

	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/prompt"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// Head is what stands in front of the history in every prompt: the system text and the tools as a JSON array, both as the agent gives them; empty is none.
type Head struct {
	System string
	Tools  json.RawMessage
}

// setHead takes the agent's head. The head that was sent stays as it is unless the agent's own part of it has changed, which breaks the
// prefix at its first token whatever we do.
func (p *Prompt) setHead(h Head, pins []pin.Pin) bool {
	system := turn.Sent(h.System)
	if p.state.Turn > 0 && p.state.System == system && bytes.Equal(p.state.Tools, h.Tools) {
		return false
	}
	if p.state.Turn > 0 {
		p.notes = append(p.notes, "head changed")
	}
	p.state.System, p.state.Tools, p.state.Pins = system, slices.Clone(h.Tools), slices.Clone(pins)
	p.keep = 0
	return true
}

// place appends what waits to the newest message that has not been sent, and returns the ids of attached notes that found their place.
// A pin goes to the newest message whatever happens: it must be in every prompt.
func (p *Prompt) place(pins []pin.Pin, attached []turn.Note) []string {
	var ids []string
	target := len(p.chat.Entries) - 1
	e := p.chat.Entries[target]
	if target >= p.state.Sent {
		if len(p.chat.Pending)+len(attached) > 0 {
			p.touch(target)
		}
		for _, n := range p.chat.Pending {
			e.Append(n)
		}
		p.chat.Pending = nil
		for _, n := range attached {
			n.Text, _ = p.esc.Escape(turn.Sent(n.Text))
			e.Append(n)
			ids = append(ids, n.ID)
		}
	}
	if p.placePins(pins) {
		p.touch(target)
		if target < p.state.Sent {
			p.notes = append(p.notes, "a pin arrived after the newest message was sent")
		}
	}
	return ids
}

// placePins makes the prompt say which pins are in force, at its newest message where it does not yet.
func (p *Prompt) placePins(pins []pin.Pin) bool {
	shown := map[string]pin.Pin{}
	revoked := map[string]bool{}
	for _, one := range p.state.Pins {
		shown[one.ID] = one
	}
	for _, e := range p.chat.Entries {
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
	e := p.chat.Entries[len(p.chat.Entries)-1]
	for _, one := range pins {
		active[one.ID] = true
		if _, ok := shown[one.ID]; !ok || revoked[one.ID] {
			e.Append(turn.Note{ID: one.ID, Kind: turn.NotePin, Text: pin.Late(one), Ref: one.ID})
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
func (p *Prompt) touch(i int) {
	p.dirty = min(p.dirty, i)
	p.keep = min(p.keep, i+p.headItems())
}

// headItems is 1 where the head is a message of its own.
func (p *Prompt) headItems() int {
	if p.state.NoSystemRole || (p.state.System == "" && len(p.state.Pins) == 0) {
		return 0
	}
	return 1
}

// compose brings the prompt's messages up to date from the first changed one on.
func (p *Prompt) compose() {
	head := p.headItem()
	h := p.headItems()
	items := p.items[:min(p.keep, len(p.items), len(p.chat.Entries)+h)]
	if len(items) < len(p.items) {
		// Something that was sent has changed: callers may still hold the messages in front of it.
		items = slices.Clip(items)
		p.valid = turn.Validator{}
		p.shown = min(p.shown, len(items))
	}
	for i := len(items); i < len(p.chat.Entries)+h; i++ {
		if i < h {
			items = append(items, head)
			continue
		}
		e := p.chat.Entries[i-h]
		it := prompt.Item{Message: e.Message, Pieces: e.Pieces}
		if i == 0 && len(head.Pieces) > 0 {
			// A template without a system role: the head stands in front of the first user turn.
			it.Message.Content = head.Message.Content + "\n\n" + it.Message.Content
			it.Pieces = append(slices.Clone(head.Pieces), it.Pieces...)
			it.Pieces[len(head.Pieces)-1].Bytes += 2
		}
		items = append(items, it)
	}
	p.items = items
}

func (p *Prompt) headItem() prompt.Item {
	it := prompt.Item{Message: turn.Message{Role: episode.System}}
	add := func(cat receipt.Category, text string) {
		if text != "" {
			it.Message.Content += text
			it.Pieces = append(it.Pieces, turn.Piece{Category: cat, Bytes: len(text)})
		}
	}
	add(receipt.System, p.state.System)
	if block := pin.Block(p.state.Pins); block != "" {
		add(receipt.Pins, turn.PinBlock(block, p.state.System != ""))
	}
	return it
}

// validate runs our own validator over what it has not seen of the prompt.
func (p *Prompt) validate() error {
	for _, it := range p.items[p.valid.Read():] {
		if err := p.valid.Add(it.Message); err != nil {
			return err
		}
	}
	return p.valid.End()
}
