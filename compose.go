package sakur4

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"sakur4/internal/episode"
	"sakur4/internal/pin"
	"sakur4/internal/prompt"
	"sakur4/internal/store"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

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

// messages returns the prompt as the caller sees it.
func (l *live) messages() []Message {
	for _, it := range l.items[len(l.out):] {
		l.out = append(l.out, outer(it.Message))
	}
	return slices.Clip(l.out) // each window that is handed out has a copy of its own, see Window.copy
}
