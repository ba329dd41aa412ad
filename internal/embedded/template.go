package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sakur4/boundary"
)

// templateVersion changes whenever the template renders a chat differently.
const templateVersion = "embedded ChatML 1"

const (
	userHeader   = turnStart + "user"
	replyHeader  = turnStart + "assistant\n"
	closing      = turnEnd + "\n"
	toolsHeading = "# Tools\n\nYou may call these functions:\n<tools>\n"
	toolsEnd     = "</tools>\n\nWrite a call as <tool_call>{\"name\": ..., \"arguments\": ...}</tool_call>."
)

// message is a chat message as the server reads it.
type message struct {
	Role       *string         `json:"role"`
	Content    json.RawMessage `json:"content"`
	Reasoning  string          `json:"reasoning_content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`

	text string
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("embedded: "+format+": %w", append(args, boundary.ErrInvalidRequest)...)
}

// parse reads the messages and refuses what a real server refuses whatever its template.
func parse(raw json.RawMessage) ([]message, error) {
	var list []message
	if len(raw) == 0 {
		return nil, refuse("'messages' is required")
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, refuse("messages: %v", err)
	}
	for i := range list {
		m := &list[i]
		if m.Role == nil {
			return nil, refuse("message %d: no role", i)
		}
		switch *m.Role {
		case "system", "user", "assistant", "tool":
		default:
			return nil, refuse("message %d: unknown role %q", i, *m.Role)
		}
		if m.Content == nil && *m.Role != "assistant" {
			return nil, refuse("message %d: all non-assistant messages must contain 'content'", i)
		}
		var err error
		if m.text, err = contentText(m.Content); err != nil {
			return nil, refuse("message %d: content: %v", i, err)
		}
		for _, c := range m.ToolCalls {
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(c.Function.Arguments), &object); err != nil || object == nil {
				return nil, refuse("message %d: arguments of %q are not a JSON object", i, c.Function.Name)
			}
		}
	}
	n := len(list)
	if n >= 2 && *list[n-1].Role == "assistant" && *list[n-2].Role == "assistant" {
		return nil, refuse("cannot have 2 or more assistant messages at the end of the list")
	}
	if n > 0 && *list[n-1].Role == "assistant" && len(list[n-1].ToolCalls) > 0 {
		return nil, refuse("cannot continue an assistant message that contains tool calls")
	}
	return list, nil
}

// contentText returns a message's text: a string, null, or the texts of its parts.
func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] != '[' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("part of type %q", p.Type)
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

// render writes a chat as prompt text. A trailing assistant message is left open, to be continued.
func render(messages, tools json.RawMessage, generationPrompt bool) (string, error) {
	list, err := parse(messages)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	system := ""
	hasSystem := len(list) > 0 && *list[0].Role == "system"
	if hasSystem {
		system = list[0].text
		list = list[1:]
	}
	section, err := toolSection(tools)
	if err != nil {
		return "", err
	}
	if hasSystem || section != "" {
		b.WriteString(turnStart + "system\n" + system)
		if system != "" && section != "" {
			b.WriteString("\n\n")
		}
		b.WriteString(section + closing)
	}
	for i := range list {
		m := &list[i]
		last := i == len(list)-1
		switch *m.Role {
		case "assistant":
			if last && m.text == "" && m.Reasoning == "" {
				continue
			}
			b.WriteString(replyHeader + m.body())
			if last {
				return b.String(), nil
			}
			b.WriteString(closing)
		case "tool":
			b.WriteString(userHeader + "\n<tool_response>\n" + m.text + "\n</tool_response>" + closing)
		default:
			b.WriteString(turnStart + *m.Role + "\n" + m.text + closing)
		}
	}
	if generationPrompt {
		b.WriteString(replyHeader)
	}
	return b.String(), nil
}

// body is what an assistant says, calls included.
func (m *message) body() string {
	var b strings.Builder
	if m.Reasoning != "" {
		b.WriteString("<think>\n" + m.Reasoning + "\n</think>\n\n")
	}
	b.WriteString(m.text)
	for i, c := range m.ToolCalls {
		if i > 0 || m.text != "" {
			b.WriteByte('\n')
		}
		name, _ := json.Marshal(c.Function.Name)
		fmt.Fprintf(&b, "<tool_call>\n{\"name\": %s, \"arguments\": %s}\n</tool_call>", name, c.Function.Arguments)
	}
	return b.String()
}

// toolSection lists the tools, one a line.
func toolSection(tools json.RawMessage) (string, error) {
	if len(tools) == 0 || string(tools) == "null" {
		return "", nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(tools, &list); err != nil {
		return "", refuse("tools: %v", err)
	}
	if len(list) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	b.WriteString(toolsHeading)
	for i, t := range list {
		if err := json.Compact(&b, t); err != nil {
			return "", refuse("tool %d: %v", i, err)
		}
		b.WriteByte('\n')
	}
	b.WriteString(toolsEnd)
	return b.String(), nil
}
