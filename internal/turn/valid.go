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

// Validator reads a chat message by message. The zero value has read nothing.
type Validator struct {
	last       episode.Role
	open, seen map[string]bool
	n          int
}

// Read returns how many messages it has read.
func (v *Validator) Read() int { return v.n }

// Validate reports the first thing that makes ms no valid chat, as an *InvalidError: an optional system message, then user and assistant turns
// that alternate, each assistant turn with calls followed by exactly one result a call and nothing else, no assistant turn without content and calls,
// no call id twice, arguments that are JSON objects.
// Lenient templates accept nonsense silently, so the rule is ours.
func Validate(ms []Message) error {
	var v Validator
	for _, m := range ms {
		if err := v.Add(m); err != nil {
			return err
		}
	}
	return v.End()
}

// End reports whether the chat may end here.
func (v *Validator) End() error {
	if len(v.open) > 0 {
		return &InvalidError{Index: v.n, Msg: fmt.Sprintf("%d calls have no result", len(v.open))}
	}
	return nil
}

// Add reads the next message.
func (v *Validator) Add(m Message) error {
	if v.open == nil {
		v.open, v.seen = map[string]bool{}, map[string]bool{}
	}
	i, last, open, seen := v.n, v.last, v.open, v.seen
	bad := func(format string, args ...any) error {
		return &InvalidError{Index: i, Msg: fmt.Sprintf(format, args...)}
	}
	v.n++
	if len(open) > 0 && m.Role != episode.Tool {
		return bad("%s message while %d calls have no result", m.Role, len(open))
	}
	switch m.Role {
	case episode.System:
		if i != 0 {
			return bad("system message that is not the first")
		}
		return nil
	case episode.User:
		if last == episode.User || last == episode.Tool {
			return bad("user message after a %s message", last)
		}
		if m.Content == "" {
			return bad("empty user message")
		}
	case episode.Assistant:
		if last != episode.User && last != episode.Tool {
			return bad("assistant message after %q", last)
		}
		if len(m.Calls) == 0 && !hasText(m.Content) {
			return bad("assistant message without content and calls")
		}
		for _, c := range m.Calls {
			if c.ID == "" || seen[c.ID] {
				return bad("call id %q is empty or used before", c.ID)
			}
			if !json.Valid([]byte(c.Arguments)) || Arguments(c.Arguments) != c.Arguments {
				return bad("arguments of call %q are not a JSON object", c.ID)
			}
			seen[c.ID], open[c.ID] = true, true
		}
	case episode.Tool:
		if !open[m.ToolCallID] {
			return bad("result of %q, which is not an open call", m.ToolCallID)
		}
		delete(open, m.ToolCallID)
	default:
		return bad("unknown role %q", m.Role)
	}
	v.last = m.Role
	return nil
}
