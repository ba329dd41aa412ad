package sakur4

import (
	"fmt"
	"strings"

	"sakur4/internal/frame"
	"sakur4/semantic"
)

// Frame marks a text as this module's own. An agent's memory tools return what they read here in it: a result in a frame gives no facts,
// whatever the tool's name, so that what is remembered never counts as seen anew, and [Engine.Recall] does not find it again. kind is a word such as "recalled".
func Frame(kind, text string) string { return strings.TrimPrefix(frame.Note(kind, text), "\n\n") }

// String returns the hits as a text for a model, in a [Frame]: one paragraph a hit, with its id and, of something outdated, what holds now.
func (h Hits) String() string {
	var b strings.Builder
	if len(h.Items) == 0 {
		b.WriteString("Nothing was found.")
	}
	for i, it := range h.Items {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "%d. %s %s", i+1, it.Kind, it.ID)
		text := it.Text
		switch {
		case it.Kind == HitEntry:
			text = it.rendered()
		case it.Stale && it.Current != "":
			text += "\n    current value: " + it.Current
		}
		switch {
		case it.Stale:
			b.WriteString(" " + semantic.Marker)
		case it.Unverified:
			b.WriteString(" " + semantic.UnverifiedMarker)
		case it.Superseded:
			fmt.Fprintf(&b, " (superseded by %s)", it.Current)
		}
		b.WriteString("\n" + text)
	}
	if h.LeftOut > 0 {
		fmt.Fprintf(&b, "\n\n%d more hits had no room.", h.LeftOut)
	}
	for _, n := range h.Notes {
		fmt.Fprintf(&b, "\n\n(%s)", n)
	}
	return Frame("recalled", b.String())
}
