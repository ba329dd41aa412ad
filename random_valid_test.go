package sakur4_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"sakur4"
)

// strictChat is a second opinion on what a valid chat is, on the bytes that are sent and not on our own types: whatever decodes them as a server does
// must find a chat that the strictest templates accept.
func strictChat(ms []sakur4.Message) error {
	var chat []struct {
		Role      string  `json:"role"`
		Content   *string `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
		ToolCallID *string `json:"tool_call_id"`
	}
	if err := json.Unmarshal(sakur4.MarshalMessages(ms), &chat); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if len(chat) > 0 && chat[0].Role == "system" {
		if chat[0].Content == nil || *chat[0].Content == "" {
			return fmt.Errorf("empty system message")
		}
		chat = chat[1:]
	}
	ids := map[string]bool{}
	for i := 0; i < len(chat); {
		m := chat[i]
		if m.Role != "user" && i == 0 {
			return fmt.Errorf("the chat begins with %s", m.Role)
		}
		if m.Content == nil {
			return fmt.Errorf("message %d has no content", i)
		}
		switch m.Role {
		case "user":
			if *m.Content == "" || len(m.ToolCalls) > 0 || m.ToolCallID != nil {
				return fmt.Errorf("bad user message %d", i)
			}
			if i > 0 && chat[i-1].Role != "assistant" {
				return fmt.Errorf("user message %d after %s", i, chat[i-1].Role)
			}
			i++
		case "assistant":
			if chat[i-1].Role == "assistant" {
				return fmt.Errorf("assistant message %d after another", i)
			}
			if len(m.ToolCalls) == 0 && strings.Trim(*m.Content, " \t\r\n") == "" {
				return fmt.Errorf("assistant message %d says nothing", i)
			}
			i++
			for k, c := range m.ToolCalls {
				var args map[string]json.RawMessage
				if c.Type != "function" || c.ID == "" || ids[c.ID] {
					return fmt.Errorf("call %d of message %d: bad or repeated id %q", k, i-1, c.ID)
				}
				ids[c.ID] = true
				if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil || args == nil {
					return fmt.Errorf("call %d of message %d: arguments %q", k, i-1, c.Function.Arguments)
				}
				if i >= len(chat) || chat[i].Role != "tool" || chat[i].ToolCallID == nil || *chat[i].ToolCallID != c.ID {
					return fmt.Errorf("call %d (%q) of %d has not its result at message %d", k, c.ID, len(m.ToolCalls), i)
				}
				if chat[i].Content == nil || len(chat[i].ToolCalls) > 0 {
					return fmt.Errorf("bad tool message %d", i)
				}
				i++
			}
		default:
			return fmt.Errorf("message %d: %s out of place", i, m.Role)
		}
	}
	if n := len(chat); n == 0 || chat[n-1].Role == "assistant" {
		return fmt.Errorf("nobody waits for a reply")
	}
	return nil
}
