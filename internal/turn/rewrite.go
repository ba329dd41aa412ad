package turn

import (
	"fmt"

	"sakur4/internal/episode"
)

// Change is what a compaction does to one episode of the chat.
type Change struct {
	// Gone takes the episode out of the prompt.
	Gone bool
	// Form is the new form of an episode that stays.
	Form Form
	// Bytes is the size of what is kept of a trimmed or masked one.
	Bytes int
}

// Rewrite returns a chat in which the entries from index cut on are changed; those before it are the same values.
// Fixed messages after the cut are placed anew. With pure set nothing but deletion happens: fixed messages stay where they are
// unless the turn before them goes, and every kept message keeps its bytes.
// records gives the record of an episode that is rendered anew. No call of the chat may be open.
func (c *Chat) Rewrite(cut int, changes map[string]Change, pure bool, records func(id string) (*episode.Record, error)) (*Chat, error) {
	out := NewChat(c.esc)
	out.Covered = c.Covered
	out.group = c.group
	out.Pending = append([]Note(nil), c.Pending...)
	for _, e := range c.Entries[:cut] {
		out.push(e)
	}
	prevGone := false
	for i, e := range c.Entries[cut:] {
		if e.Filler() {
			next := cut + i + 1
			if pure && !prevGone && !(e.Kind == KindContinue && next < len(c.Entries) && changes[c.Entries[next].Episode].Gone) {
				out.push(e)
			}
			continue
		}
		ch, changed := changes[e.Episode]
		if changed && ch.Gone {
			prevGone = true
			continue
		}
		prevGone = false
		if e.Role != episode.Tool {
			out.separate(e.Role)
		}
		if !changed || e.Kind == KindSynthetic {
			out.push(e)
			continue
		}
		rec, err := records(e.Episode)
		if err != nil {
			return nil, err
		}
		n := *e
		n.Notes = append([]Note(nil), e.Notes...)
		n.Form = ch.Form
		switch ch.Form {
		case Masked:
			n.Head, n.Tail = ch.Bytes, 0
		case Trimmed:
			n.Head, n.Tail = ch.Bytes*2/3, ch.Bytes/3
		case Full, Same, Referenced:
		default:
			return nil, fmt.Errorf("turn: change of %s: unknown form %q", e.Episode, ch.Form)
		}
		if n.Source == (Source{}) {
			n.Source = c.source(rec, Options{})
		}
		n.Render(rec, c.esc)
		out.push(&n)
	}
	if n := len(out.Entries); n > 0 && out.Entries[n-1].Role == episode.Assistant && c.Spoken != episode.Assistant {
		// What was spoken last has gone, and an answer before it is left: somebody has to wait for a reply.
		out.separate(episode.Assistant)
	}
	out.Spoken = c.Spoken
	return out, nil
}
