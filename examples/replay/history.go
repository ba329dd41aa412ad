package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sakur4"
)

// atom is what a baseline keeps or drops as a whole: a user turn, or an assistant turn with the results of its calls.
type atom struct {
	user     bool
	summary  bool // of what was taken out
	messages []sakur4.Message
	// turns are the recorded turns in it, by index.
	turns []int
	// open are the calls that wait for a result, by their ids as they are sent.
	open []string
	// verbatim are the tokens of recorded text in each message.
	verbatim []int
}

// history is a session as a careful agent keeps it for a server: every prompt made of it is a valid chat.
type history struct {
	atoms []*atom
	// control are the texts that the server's template reads as marks.
	control []string
	// reasoning says that the assistant's reasoning is sent back.
	reasoning bool
	// before waits to be put in front of the next text of a user or tool: remarks, and results of calls that were closed.
	before []string
	ids    map[string]int    // how often a call id was used
	sentAs map[string]string // the newest id that stands for a recorded one
}

// The texts that stand where the record has none.
const (
	interruptedText = "(interrupted: this call has no result)"
	noReplyText     = "(no reply)"
)

// add takes a turn. cut shortens a result that is too long.
func (h *history) add(index int, t sakur4.Turn, cut func(string) (string, error)) error {
	switch t.Role {
	case sakur4.RoleSystem:
		h.before = append(h.before, "[remark] "+h.plain(t.Content))
	case sakur4.RoleUser:
		h.closeCalls()
		m := sakur4.Message{Role: "user", Content: h.front() + h.plain(t.Content)}
		h.atoms = append(h.atoms, &atom{user: true, messages: []sakur4.Message{m}, turns: []int{index}})
	case sakur4.RoleAssistant:
		h.assistant(index, t)
	case sakur4.RoleTool:
		content, err := cut(t.Content)
		if err != nil {
			return err
		}
		content = h.plain(content)
		id := h.sentAs[t.ToolCallID]
		a := h.newest()
		if a == nil || !slices.Contains(a.open, id) {
			h.before = append(h.before, fmt.Sprintf("[late result of %s]\n%s", t.ToolName, content))
			return nil
		}
		a.open = slices.DeleteFunc(a.open, func(s string) bool { return s == id })
		a.messages = append(a.messages, sakur4.Message{Role: "tool", ToolCallID: id, Content: h.front() + content})
		a.turns = append(a.turns, index)
	}
	return nil
}

func (h *history) newest() *atom {
	if len(h.atoms) == 0 {
		return nil
	}
	return h.atoms[len(h.atoms)-1]
}

func (h *history) assistant(index int, t sakur4.Turn) {
	if strings.TrimSpace(t.Content) == "" && len(t.ToolCalls) == 0 {
		return
	}
	h.closeCalls()
	m := sakur4.Message{Role: "assistant", Content: h.plain(t.Content)}
	if h.reasoning {
		m.ReasoningContent = h.plain(t.Reasoning)
	}
	a := &atom{turns: []int{index}}
	for _, c := range t.ToolCalls {
		id := h.unique(c.ID)
		a.open = append(a.open, id)
		m.ToolCalls = append(m.ToolCalls, sakur4.ToolCall{ID: id, Name: c.Name, Arguments: h.plain(object(c.Arguments))})
	}
	if last := h.newest(); last != nil && !last.user && len(last.messages) == 1 && len(last.messages[0].ToolCalls) == 0 {
		// Two answers in a row are one.
		m.Content = last.messages[0].Content + "\n\n" + m.Content
		last.messages[0], last.open, last.turns = m, a.open, append(last.turns, index)
		return
	}
	a.messages = []sakur4.Message{m}
	h.atoms = append(h.atoms, a)
}

// unique returns an id for a call that no other has; some servers count from 0 in every reply.
func (h *history) unique(id string) string {
	if h.ids == nil {
		h.ids, h.sentAs = map[string]int{}, map[string]string{}
	}
	name := id
	for n := h.ids[id]; name == "" || h.ids[name] > 0; n++ {
		name = fmt.Sprintf("%s_%d", id, n)
	}
	h.ids[id]++
	if name != id {
		h.ids[name]++
	}
	h.sentAs[id] = name
	return name
}

// closeCalls gives the calls that wait a result that says that there is none.
func (h *history) closeCalls() {
	a := h.newest()
	if a == nil {
		return
	}
	for _, id := range a.open {
		a.messages = append(a.messages, sakur4.Message{Role: "tool", ToolCallID: id, Content: interruptedText})
	}
	a.open = nil
}

// front returns what waits to be put in front of a text.
func (h *history) front() string {
	if len(h.before) == 0 {
		return ""
	}
	s := strings.Join(h.before, "\n\n") + "\n\n"
	h.before = nil
	return s
}

// plain keeps recorded text from opening a message of its own: the marks of the template are broken by a space of no width.
func (h *history) plain(text string) string {
	for _, c := range h.control {
		if len(c) > 1 {
			text = strings.ReplaceAll(text, c, c[:1]+"\u200b"+c[1:])
		}
	}
	return text
}

// object returns arguments as servers want them: one JSON object.
func object(arguments string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &m) == nil && m != nil {
		return arguments
	}
	b, err := json.Marshal(map[string]string{"invalid_arguments": arguments})
	if err != nil {
		return "{}"
	}
	return string(b)
}

// chat returns the messages of a prompt that keeps the given atoms, in their order, with a fixed answer between two that would both be the user's.
func chat(head sakur4.Message, atoms []*atom) []sakur4.Message {
	messages := []sakur4.Message{head}
	for _, a := range atoms {
		if last := messages[len(messages)-1].Role; a.user && (last == "user" || last == "tool") {
			messages = append(messages, sakur4.Message{Role: "assistant", Content: noReplyText})
		}
		messages = append(messages, a.messages...)
	}
	return messages
}
