package rendering

import (
	"cmp"
	"math/bits"
	"slices"

	"sakur4/internal/names"
	"sakur4/internal/turn"
)

// What leaves the prompt leaves its names behind: the archive note lists those that are most likely to be needed again, so that the model knows the exact
// words by which memory_recall finds the rest.

// goneName is a name that turns used which are out of the prompt now.
type goneName struct {
	Name string `json:"n"`
	// Uses is the number of those turns, Seq the newest of them.
	Uses int   `json:"u"`
	Seq  int64 `json:"s"`
}

const (
	// maxGone bounds the remembered names: they are stored with every prompt.
	maxGone = 256
	// noteShare is the part of the window that the archive note may take with its list of names, noteRest what it takes without; maxGoneTokens is the most
	// for the list.
	noteShare     = 40
	noteRest      = 100
	maxGoneTokens = 800
	// With KV shift all compactions together are to cost at most this share of the session's new tokens: the list takes what is left of it.
	shiftAgain = .03
	// goneBytes is what a token holds of such a list, which is little: names are made of many short tokens.
	goneBytes = 3
	// goneHalf is after how many episodes a name has lost half of its weight.
	goneHalf = 8
)

// weight says how likely a name is to be needed again, as package evict weighs those in the prompt.
func (g goneName) weight(now int64) int64 {
	return int64(100+69*min(bits.Len(uint(g.Uses))-1, 6)) * goneHalf * 1000 / (goneHalf + max(now-g.Seq, 0))
}

// leave remembers the names of entries that leave the prompt or are shortened in it.
func (p *Prompt) leave(entries []*turn.Entry) {
	now := p.chat.Covered
	at := make(map[string]int, len(p.state.Gone))
	for i, g := range p.state.Gone {
		at[g.Name] = i
	}
	for _, e := range entries {
		for _, id := range p.words.of(e) {
			name := p.words.names[id]
			i, ok := at[name]
			if !ok {
				i = len(p.state.Gone)
				at[name] = i
				p.state.Gone = append(p.state.Gone, goneName{Name: name})
			}
			p.state.Gone[i].Uses++
			p.state.Gone[i].Seq = max(p.state.Gone[i].Seq, e.Seq)
		}
	}
	slices.SortFunc(p.state.Gone, func(a, b goneName) int {
		return cmp.Or(cmp.Compare(b.weight(now), a.weight(now)), cmp.Compare(a.Name, b.Name))
	})
	p.state.Gone = p.state.Gone[:min(len(p.state.Gone), maxGone)]
}

// goneTokens is the room of the list in a window of that many tokens.
func (p *Prompt) goneTokens(window int) int {
	room := window / noteShare
	if p.scattered {
		room = min(room, int(float64(p.state.Fresh)*shiftAgain)-p.state.Again)
	}
	return min(max(room-noteRest, 0), maxGoneTokens)
}

// goneNames returns the names for the note, the likeliest first: those that nothing in the prompt holds, nor an earlier
// note that still stands there, as far as there is room.
func (p *Prompt) goneNames(window int) []string {
	room := p.goneTokens(window) * goneBytes
	if room == 0 || len(p.state.Gone) == 0 {
		return nil
	}
	shown := map[string]bool{}
	for i, e := range p.chat.Entries {
		for _, id := range p.words.of(e) {
			shown[p.words.names[id]] = true
		}
		for _, n := range e.Notes {
			if n.Kind == turn.NoteArchive && i < len(p.chat.Entries)-1 { // that of the newest message is written anew
				names.Scan(n.Text, false, func(name string) { shown[name] = true })
			}
		}
	}
	var out []string
	for _, g := range p.state.Gone {
		if shown[g.Name] {
			continue
		}
		if room -= len(g.Name) + 2; room < 0 {
			break
		}
		out = append(out, g.Name)
	}
	return out
}
