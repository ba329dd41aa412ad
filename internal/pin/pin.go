// Package pin holds what concerns pinned constraints and is pure: the sentences of a user turn that state a rule, and the text that pins are rendered as.
package pin

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Pin is a constraint as it is rendered.
type Pin struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Line returns the text that one pin is rendered as: its own text, verbatim, under its id and kind.
func (p Pin) Line() string { return fmt.Sprintf("[%s, %s]\n%s", p.ID, p.Kind, p.Text) }

// Block returns the text of several pins, "" for none.
func Block(pins []Pin) string {
	if len(pins) == 0 {
		return ""
	}
	lines := make([]string, 0, len(pins)+1)
	lines = append(lines, "The user's pinned constraints. They are in force for the whole session:")
	for _, p := range pins {
		lines = append(lines, p.Line())
	}
	return strings.Join(lines, "\n")
}

// Late returns the text of pins that arrive after the head was sent.
func Late(p Pin) string {
	return "The user pinned a constraint. It is in force from here on:\n" + p.Line()
}

// maxProposals bounds the proposals of one turn, maxSentence a proposal's bytes: a pin is a rule, not a document.
const (
	maxProposals = 16
	maxSentence  = 400
)

// ruleWords are the words by which a user states a rule. They are matched as whole words in lower case.
var ruleWords = []string{"never", "always", "must not", "mustn't", "must never", "must always", "do not ever", "don't ever", "under no circumstances"}

// Propose returns the sentences of a user's text that state an explicit rule, in their order, verbatim and each once.
// Fenced code is left out. It is deterministic and asks no model.
func Propose(text string) []string {
	var out []string
	seen := map[string]bool{}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || line == "" {
			continue
		}
		for _, s := range sentences(line) {
			s = strings.TrimSpace(strings.TrimLeft(s, "-*>#• \t"))
			if s == "" || len(s) > maxSentence || seen[s] || !utf8.ValidString(s) || strings.HasSuffix(s, "?") || !statesRule(s) {
				continue
			}
			seen[s] = true
			if out = append(out, s); len(out) == maxProposals {
				return out
			}
		}
	}
	return out
}

// sentences cuts a line behind each full stop, exclamation or question mark that white space follows.
func sentences(line string) []string {
	var out []string
	start := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '.', '!', '?':
			if i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t') {
				out = append(out, line[start:i+1])
				start = i + 1
			}
		}
	}
	return append(out, line[start:])
}

func statesRule(s string) bool {
	low := strings.ToLower(strings.ReplaceAll(s, "’", "'"))
	for _, w := range ruleWords {
		for at := 0; ; {
			i := strings.Index(low[at:], w)
			if i < 0 {
				break
			}
			i += at
			at = i + len(w)
			if wordEdge(low, i) && wordEdge(low, at) {
				return true
			}
		}
	}
	return false
}

// wordEdge reports whether a word may begin or end at i.
func wordEdge(s string, i int) bool {
	word := func(b byte) bool {
		return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_' || b >= utf8.RuneSelf
	}
	return i == 0 || i >= len(s) || !word(s[i-1]) || !word(s[i])
}
