package rendering

import (
	"slices"

	"sakur4/evict"
	"sakur4/internal/names"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// vocabulary remembers which names the entries of a prompt hold, so that a compaction reads only those that came since the last one.
type vocabulary struct {
	ids   map[string]int32
	names []string // by id
	held  map[*turn.Entry][]int32
	// seen says in which entry, counted from 1, an id was found last.
	seen  []int32
	found int32
}

// maxVocabulary bounds the remembered names. A session that has seen more begins anew with those of its prompt.
const maxVocabulary = 1 << 17

// of returns the names in what an entry shows of its episode, each once. Notes are ours and no reason to keep a message.
func (v *vocabulary) of(e *turn.Entry) []int32 {
	if ids, ok := v.held[e]; ok {
		return ids
	}
	v.begin()
	v.found++
	var ids []int32
	add := func(name string) {
		id, ok := v.ids[name]
		if !ok {
			id = int32(len(v.seen))
			v.ids[name] = id
			v.seen = append(v.seen, 0)
			v.names = append(v.names, name)
		}
		if v.seen[id] != v.found {
			v.seen[id] = v.found
			ids = append(ids, id)
		}
	}
	at := 0
	for _, p := range e.Pieces {
		if p.Category == receipt.RawHistory {
			names.Scan(e.Message.Content[at:at+p.Bytes], false, add)
		}
		at += p.Bytes
	}
	for _, c := range e.Message.Calls {
		names.Scan(c.Arguments, true, add)
	}
	v.held[e] = ids
	return ids
}

// read looks for the names in the newest entries, back to one where that has been done: what a prompt costs so is little, a compaction that looks at all of them is
// waited for.
func (v *vocabulary) read(entries []*turn.Entry) {
	for _, e := range slices.Backward(entries) {
		if _, ok := v.held[e]; ok {
			return
		}
		v.of(e)
	}
}

// drop forgets what an entry holds, which shows something else now.
func (v *vocabulary) drop(e *turn.Entry) { delete(v.held, e) }

func (v *vocabulary) begin() {
	if v.held == nil {
		v.ids, v.held = map[string]int32{}, map[*turn.Entry][]int32{}
	}
}

// workingSet enters into the input which names its items hold; spans are the entries of the items.
func (v *vocabulary) workingSet(in *evict.Input, entries []*turn.Entry, spans []span) {
	if len(v.ids) > maxVocabulary {
		*v = vocabulary{}
	}
	all := make([][]int32, len(spans))
	for i, s := range spans {
		all[i] = v.of(entries[s.from])
	}
	dense := make([]int32, len(v.seen)) // of each id, its index in the input + 1
	for i, ids := range all {
		list := make([]int32, len(ids))
		for k, id := range ids {
			if dense[id] == 0 {
				in.Names = append(in.Names, evict.Name{})
				dense[id] = int32(len(in.Names))
			}
			list[k] = dense[id] - 1
			n := &in.Names[list[k]]
			n.Uses++
			n.Age = in.Items[i].Age
		}
		in.Items[i].Names = list
	}
}

// forget lets go of what is held of entries that are no longer in the prompt.
func (v *vocabulary) forget(entries []*turn.Entry) {
	if len(v.held) <= 2*len(entries) {
		return
	}
	kept := make(map[*turn.Entry][]int32, len(entries))
	for _, e := range entries {
		if ids, ok := v.held[e]; ok {
			kept[e] = ids
		}
	}
	v.held = kept
}
