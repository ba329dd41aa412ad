package consolidate

import (
	"encoding/json"
	"strings"
)

// markup are beginnings of what models write to call a tool, or to think, where plain text was asked for.
var markup = [...]string{
	"<tool_call", "</tool_call", "<tool_calls", "<function=", "<function_call", "<invoke", "<|tool", "<|python_tag|>", "<|channel|>", "<|im_start|>",
	"[TOOL_CALLS]", "[TOOL_CALL]", "<think>", "</think>", "```tool_code", "```tool_call", "<sakur4:note", "</sakur4:note",
}

// Accept judges what a model wrote about a text of source tokens, and returns why it is refused, "" where it is not. tokens is the size of what it wrote.
func Accept(text string, tokens, source int) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "empty text"
	}
	lower := strings.ToLower(text)
	for _, m := range markup {
		if strings.Contains(lower, strings.ToLower(m)) {
			return "markup: " + m
		}
	}
	if isCall(unfenced(text)) {
		return "a call in JSON"
	}
	return NotShorter(tokens, source)
}

// unfenced takes the fence of Markdown off a text that is nothing else.
func unfenced(text string) string {
	rest, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	_, rest, ok = strings.Cut(rest, "\n")
	rest, closed := strings.CutSuffix(rest, "```")
	if !ok || !closed {
		return text
	}
	return strings.TrimSpace(rest)
}

// isCall reports whether a text is a call in JSON, or a list that begins with one.
func isCall(text string) bool {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	d := json.NewDecoder(strings.NewReader(text))
	var v any
	if d.Decode(&v) != nil {
		return false
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	has := func(keys ...string) bool {
		for _, k := range keys {
			if _, ok := m[k]; ok {
				return true
			}
		}
		return false
	}
	return has("tool_calls", "function_call", "tool_call") || has("name", "function", "tool", "tool_name") && has("arguments", "parameters", "args", "input")
}
