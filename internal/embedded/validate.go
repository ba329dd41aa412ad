package embedded

import "encoding/json"

// Validate refuses what strict templates refuse: a system message that is not the first, user and assistant messages that do not take turns, a call
// without its result, a result without its call, an assistant message that says nothing. The error is [boundary.ErrInvalidRequest].
func Validate(messages json.RawMessage) error {
	list, err := parse(messages)
	if err != nil {
		return err
	}
	// open are the calls that wait for their results; before is the role of the message before.
	var open []string
	before := ""
	for i := range list {
		m := &list[i]
		role := *m.Role
		if len(open) > 0 && role != "tool" {
			return refuse("message %d: %s before the result of call %q", i, role, open[0])
		}
		switch role {
		case "system":
			if i > 0 {
				return refuse("message %d: the system message is not the first", i)
			}
			continue
		case "user":
			if before != "" && before != "assistant" {
				return refuse("message %d: user after %s", i, before)
			}
		case "assistant":
			if before != "user" && before != "tool" {
				return refuse("message %d: assistant after %q", i, before)
			}
			if m.text == "" && m.Reasoning == "" && len(m.ToolCalls) == 0 {
				return refuse("message %d: the assistant says nothing", i)
			}
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		case "tool":
			at := indexOf(open, m.ToolCallID)
			if at < 0 {
				return refuse("message %d: result of %q, which is no open call", i, m.ToolCallID)
			}
			open = append(open[:at], open[at+1:]...)
		}
		before = role
	}
	if len(open) > 0 {
		return refuse("call %q has no result", open[0])
	}
	if before == "" {
		return refuse("no user message")
	}
	return nil
}

func indexOf(list []string, s string) int {
	for i := range list {
		if list[i] == s {
			return i
		}
	}
	return -1
}
