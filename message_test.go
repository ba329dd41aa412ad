package sakur4_test

import (
	"sakur4"
	"sakur4/internal/episode"
	"sakur4/internal/turn"
)

// inner turns a message into the form that the validator reads.
func inner(m sakur4.Message) turn.Message {
	t := turn.Message{Role: episode.Role(m.Role), Content: m.Content, Reasoning: m.ReasoningContent, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		t.Calls = append(t.Calls, episode.Call(c))
	}
	return t
}
