package turn

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"sakur4/internal/frame"
)

// zeroWidthSpace parts a control text after its first character, so that a tokenizer reads it as ordinary text.
const zeroWidthSpace = "\u200b"

// KnownControls are control texts of well-known templates. They are escaped whatever the server says of itself,
// since a session may go on with another server.
var KnownControls = []string{
	"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>",
	"<|begin_of_text|>", "<|end_of_text|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|tool|>",
	"<|start|>", "<|channel|>", "<|message|>", "<|return|>", "<|call|>", "<|eom_id|>", "<|python_tag|>",
	"<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]",
	"[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "<<SYS>>", "<</SYS>>",
	"<bos>", "<eos>", "<s>", "</s>",
}

// Controls returns a server's own control texts with the well-known ones, longest first.
func Controls(own []string) []string {
	all := append(slices.Clone(own), KnownControls...)
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// Escaper makes recorded text harmless where it is rendered: control texts and frame marks lose their meaning, all else stays.
// The zero value escapes frame marks and nothing else.
type Escaper struct {
	first  [256]bool
	byHead map[byte][]string

	// older escapes the entries before since, nil where there is none.
	older *Escaper
	since int64
}

// Then returns an Escaper for the given control texts from the entries of position since on. What lies before stays as e escapes it: it has been sent.
func (e *Escaper) Then(controls []string, since int64) *Escaper {
	next := NewEscaper(controls)
	next.older, next.since = e, since
	return next
}

// at returns the Escaper of an entry's position.
func (e *Escaper) at(seq int64) *Escaper {
	for e != nil && e.older != nil && seq < e.since {
		e = e.older
	}
	return e
}

// NewEscaper returns an Escaper for the given control texts. Texts of fewer than two bytes are ignored.
func NewEscaper(controls []string) *Escaper {
	e := &Escaper{byHead: map[byte][]string{}}
	for _, c := range controls {
		if len(c) < 2 {
			continue
		}
		e.first[c[0]] = true
		e.byHead[c[0]] = append(e.byHead[c[0]], c)
	}
	return e
}

// Escape returns s with U+200B after the first character of every control text and frame mark, and how many there were.
func (e *Escaper) Escape(s string) (string, int) {
	n := 0
	if e != nil && len(e.byHead) > 0 {
		var b strings.Builder
		start := 0
		for i := 0; i < len(s); i++ {
			if !e.first[s[i]] {
				continue
			}
			for _, c := range e.byHead[s[i]] {
				if strings.HasPrefix(s[i:], c) {
					_, size := utf8.DecodeRuneInString(s[i:])
					b.WriteString(s[start : i+size])
					b.WriteString(zeroWidthSpace)
					start = i + size
					n++
					break
				}
			}
		}
		if n > 0 {
			b.WriteString(s[start:])
			s = b.String()
		}
	}
	if marks := strings.Count(s, frame.Open) + strings.Count(s, frame.CloseStem); marks > 0 {
		n += marks
		s = frame.Escape(s)
	}
	return s, n
}

// Has reports whether s holds a control text or a frame mark.
func (e *Escaper) Has(s string) bool {
	_, n := e.Escape(s)
	return n > 0
}
