package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// sent is a message as a server reads it.
type sent struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

func (m sent) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// validChat says what makes the messages no chat that a strict server takes. It is written against the wire format alone, so that it proves
// something about the package that made them.
func validChat(messages []sent) error {
	waiting := map[string]bool{} // calls without a result
	used := map[string]bool{}    // ids of all calls
	turn := "start"              // whose turn the last one was; a result counts as the user's
	for i, m := range messages {
		bad := func(why string) error { return fmt.Errorf("message %d (%s): %s", i, m.Role, why) }
		if m.Role != "tool" && len(waiting) > 0 {
			return bad("calls have no result")
		}
		if m.Role != "assistant" && len(m.Calls) > 0 {
			return bad("calls")
		}
		switch m.Role {
		case "system":
			if i > 0 {
				return bad("not at the start")
			}
		case "user":
			if turn != "start" && turn != "assistant" {
				return bad("does not follow the assistant")
			}
			if m.text() == "" {
				return bad("empty")
			}
			turn = "user"
		case "assistant":
			if turn != "user" {
				return bad("does not follow a user turn or a result")
			}
			if strings.TrimSpace(m.text()) == "" && len(m.Calls) == 0 {
				return bad("neither text nor calls")
			}
			for _, c := range m.Calls {
				if c.ID == "" || used[c.ID] || c.Function.Name == "" || c.Type != "function" {
					return bad(fmt.Sprintf("call %q has no name or no id of its own", c.ID))
				}
				var args map[string]json.RawMessage
				if json.Unmarshal([]byte(c.Function.Arguments), &args) != nil || args == nil {
					return bad(fmt.Sprintf("arguments of %q are no JSON object", c.ID))
				}
				used[c.ID], waiting[c.ID] = true, true
			}
			turn = "assistant"
		case "tool":
			if !waiting[m.CallID] {
				return bad(fmt.Sprintf("result of %q, which nobody waits for", m.CallID))
			}
			delete(waiting, m.CallID)
			turn = "user"
		default:
			return bad("unknown role")
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d calls have no result", len(waiting))
	}
	if turn != "user" {
		return fmt.Errorf("nobody waits for a reply")
	}
	return nil
}
