package turn

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sakur4/internal/episode"
	"sakur4/internal/frame"
)

// The wording of stubs says that the bytes are stored, how many there are, how the call ended and how to read them:
// a bare placeholder is read as "the tool returned nothing".

func describe(id string, s Source) string {
	var b strings.Builder
	if s.Tool != "" {
		fmt.Fprintf(&b, " of %s", oneLine(s.Tool))
	}
	if s.Path != "" {
		fmt.Fprintf(&b, " on %s", oneLine(s.Path))
	}
	fmt.Fprintf(&b, " is stored as %s: %d bytes, %d lines", id, s.Bytes, s.Lines)
	if s.Exit != "" {
		fmt.Fprintf(&b, ", exit status %s", oneLine(s.Exit))
	}
	return b.String()
}

// oneLine keeps a name that came from a model or a tool on one line and short, and without marks that could close our frame.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == utf8.RuneError || r == '[' || r == ']' {
			return ' '
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) > 120 {
		s = clip(s, 120) + "…"
	}
	return s
}

func readWith(id string) string {
	return fmt.Sprintf(" memory_episode with id %s returns it whole.", id)
}

func interrupted(tool string) string {
	return block("interrupted", fmt.Sprintf("The call of %s was interrupted: no result was recorded for it.", oneLine(tool)))
}

func trimmed(role episode.Role, id string, s Source, left int) string {
	what := "result"
	if role != episode.Tool {
		what = "turn"
	}
	return "\n" + block("trimmed", fmt.Sprintf("%d bytes are left out here. This %s%s.%s", left, what, describe(id, s), readWith(id))) + "\n"
}

func same(id, ref string, s Source) string {
	return block("unchanged", fmt.Sprintf("This result%s. It is identical, byte for byte, to %s that was returned before.%s", describe(id, s), ref, readWith(id)))
}

func masked(id string, s Source) string {
	return "\n" + block("masked", fmt.Sprintf("Only the first lines are shown. The whole result%s.%s", describe(id, s), readWith(id)))
}

func referenced(id string, s Source) string {
	return block("stored", fmt.Sprintf("The result%s.%s", describe(id, s), readWith(id)))
}

func block(kind, body string) string { return strings.TrimPrefix(frame.Note(kind, body), "\n\n") }

// String returns the note as it is rendered, in its frame.
func (n Note) String() string { return noteText(n) }

func noteText(n Note) string {
	switch n.Kind {
	case NoteUnpin:
		return frame.Note(string(n.Kind), n.Ref+": "+n.Text)
	case NoteLateResult:
		return frame.Note(string(n.Kind), n.Ref+"\n"+n.Text)
	}
	return frame.Note(string(n.Kind), n.Text)
}

// headTail returns the first head and the last tail bytes of s, cut at line ends where one is near and never inside a character.
func headTail(s string, head, tail int) (string, string) {
	if head < 0 {
		head = 0
	}
	if tail < 0 {
		tail = 0
	}
	if head+tail >= len(s) {
		return s, ""
	}
	h := clip(s, head)
	if i := strings.LastIndexByte(h, '\n'); i >= 0 && len(h)-i-1 <= head/4 {
		h = h[:i+1]
	}
	at := len(s) - tail
	for at < len(s) && at > len(s)-tail-utf8.UTFMax && !utf8.RuneStart(s[at]) {
		at++
	}
	t := s[at:]
	if i := strings.IndexByte(t, '\n'); i >= 0 && i+1 <= tail/4 {
		t = t[i+1:]
	}
	return h, t
}

// clip returns the first n bytes of s, fewer where that would cut a character.
func clip(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for i := 0; n > 0 && i < utf8.UTFMax && !utf8.RuneStart(s[n]); i++ {
		n--
	}
	return s[:n]
}

// PinBlock returns the text of the pins in the head, parted from what stands before it.
func PinBlock(block string, behind bool) string {
	s := frame.Note("pins", block)
	if !behind {
		s = strings.TrimPrefix(s, "\n\n")
	}
	return s
}

// NoteCut stands at the end of a note that was shortened.
const NoteCut = "\n(the rest of this note was left out)"

// CutNote returns the first bytes of a note's text, with [NoteCut] behind them.
func CutNote(text string, bytes int) string {
	return clip(strings.TrimSuffix(text, NoteCut), max(bytes, 0)) + NoteCut
}
