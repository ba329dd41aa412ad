package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"sakur4"
)

// validChat says what makes the messages no chat that a strict template takes. It judges the prompts of all policies, and shares no code with what makes them.
func validChat(messages []sakur4.Message) error {
	waiting := map[string]bool{} // calls without a result
	used := map[string]bool{}    // ids of all calls
	before := ""                 // who spoke; a result counts as the user's
	for i, m := range messages {
		bad := func(why string) error { return fmt.Errorf("message %d (%s): %s", i, m.Role, why) }
		if m.Role != "tool" && len(waiting) > 0 {
			return bad("a call before it has no result")
		}
		switch m.Role {
		case "system":
			if i > 0 {
				return bad("not at the start")
			}
		case "user":
			if before != "" && before != "assistant" {
				return bad("does not follow the assistant")
			}
			before = "user"
		case "assistant":
			if before != "user" {
				return bad("follows neither a user turn nor a result")
			}
			if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
				return bad("says nothing")
			}
			for _, c := range m.ToolCalls {
				var arguments map[string]json.RawMessage
				switch {
				case c.ID == "" || used[c.ID]:
					return bad(fmt.Sprintf("call id %q is not its own", c.ID))
				case json.Unmarshal([]byte(c.Arguments), &arguments) != nil || arguments == nil:
					return bad(fmt.Sprintf("arguments of %q are no JSON object", c.ID))
				}
				used[c.ID], waiting[c.ID] = true, true
			}
			before = "assistant"
		case "tool":
			if !waiting[m.ToolCallID] {
				return bad(fmt.Sprintf("result of %q, which is no open call", m.ToolCallID))
			}
			delete(waiting, m.ToolCallID)
			before = "user"
		default:
			return bad("unknown role")
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d calls have no result", len(waiting))
	}
	if before != "user" {
		return fmt.Errorf("nobody waits for a reply")
	}
	return nil
}
