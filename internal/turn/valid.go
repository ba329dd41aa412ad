package turn

import (
	"encoding/json"
	"fmt"

	"sakur4/internal/episode"
)

// InvalidError says why a list of messages is not a valid chat.
type InvalidError struct {
	// Index is the place of the offending message, from 0.
	Index int
	Msg   string
}

// Error implements error.
func (e *InvalidError) Error() string { return fmt.Sprintf("turn: message %d: %s", e.Index, e.Msg) }

// Validate reports the first thing that makes ms no valid chat, as an *InvalidError: an optional system message, then user and assistant turns
// that alternate, each assistant turn with calls followed by exactly one result a call and nothing else, no assistant turn without content and calls,
// no call id twice, arguments that are JSON objects.
// Lenient templates accept nonsense silently, so the rule is ours.
func Validate(ms []Message) error {
	last := episode.Role("")
	open := map[string]bool{}
	seen := map[string]bool{}
	bad := func(i int, format string, args ...any) error {
		return &InvalidError{Index: i, Msg: fmt.Sprintf(format, args...)}
	}
	for i, m := range ms {
		if len(open) > 0 && m.Role != episode.Tool {
			return bad(i, "%s message while %d calls have no result", m.Role, len(open))
		}
		switch m.Role {
		case episode.System:
			if i != 0 {
				return bad(i, "system message that is not the first")
			}
			continue
		case episode.User:
			if last == episode.User || last == episode.Tool {
				return bad(i, "user message after a %s message", last)
			}
			if m.Content == "" {
				return bad(i, "empty user message")
			}
		case episode.Assistant:
			if last != episode.User && last != episode.Tool {
				return bad(i, "assistant message after %q", last)
			}
			if len(m.Calls) == 0 && !hasText(m.Content) {
				return bad(i, "assistant message without content and calls")
			}
			for _, c := range m.Calls {
				if c.ID == "" || seen[c.ID] {
					return bad(i, "call id %q is empty or used before", c.ID)
				}
				if !json.Valid([]byte(c.Arguments)) || Arguments(c.Arguments) != c.Arguments {
					return bad(i, "arguments of call %q are not a JSON object", c.ID)
				}
				seen[c.ID], open[c.ID] = true, true
			}
		case episode.Tool:
			if !open[m.ToolCallID] {
				return bad(i, "result of %q, which is not an open call", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return bad(i, "unknown role %q", m.Role)
		}
		last = m.Role
	}
	if len(open) > 0 {
		return bad(len(ms), "%d calls have no result", len(open))
	}
	return nil
}
