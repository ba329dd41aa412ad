package turn

import "maps"

// Fork returns a copy of the chat that can be changed without the chat itself. No call of the chat may be open.
func (c *Chat) Fork() *Chat {
	f := &Chat{Entries: make([]*Entry, len(c.Entries)), Covered: c.Covered, Spoken: c.Spoken, Pending: append([]Note(nil), c.Pending...),
		esc: c.esc, ids: maps.Clone(c.ids), full: maps.Clone(c.full), group: c.group}
	all := make([]Entry, len(c.Entries))
	for i, e := range c.Entries {
		all[i] = *e
		f.Entries[i] = &all[i]
		if c.full[e.Digest] == e {
			f.full[e.Digest] = f.Entries[i]
		}
	}
	return f
}
