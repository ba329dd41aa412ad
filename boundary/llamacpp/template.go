package llamacpp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"sakur4/boundary"
	"sakur4/internal/digest"
)

// The texts of the probe chats. They are words that no template contains.
const (
	probeSystem    = "Qsystem"
	probeUser      = "Quser1"
	probeUser2     = "Quser2"
	probeAssistant = "Qassistant"
	probeReasoning = "Qreasoning"
	probeTool      = "qtool"
)

// probeTemplate finds out what the template does by rendering a few small chats.
func (c *Client) probeTemplate(ctx context.Context, props Props) (boundary.Template, error) {
	t := boundary.Template{ControlTexts: controlTexts(props)}
	if props.ChatTemplate != "" {
		t.Digest = digest.Of(props.ChatTemplate).String()
	}
	render := func(tools, kwargs string, messages ...probeMessage) (string, bool, error) {
		raw, err := json.Marshal(messages)
		if err != nil {
			return "", false, err
		}
		text, err := c.Render(ctx, boundary.RenderRequest{
			Messages: raw, Tools: json.RawMessage(tools), TemplateKwargs: json.RawMessage(kwargs),
		})
		var refused *APIError
		if errors.As(err, &refused) && !errors.Is(err, boundary.ErrUnavailable) && !errors.Is(err, boundary.ErrUnauthorized) {
			return "", false, nil
		}
		return text, err == nil, err
	}
	user := probeMessage{Role: "user", Content: probeUser}
	user2 := probeMessage{Role: "user", Content: probeUser2}
	assistant := probeMessage{Role: "assistant", Content: probeAssistant}

	one, ok, err := render("", "", user)
	if err != nil || !ok {
		// Without /apply-template nothing more can be found out.
		return t, err
	}
	text, ok, err := render("", "", probeMessage{Role: "system", Content: probeSystem}, user)
	if err != nil {
		return t, err
	}
	t.NoSystemRole = !ok || !strings.Contains(text, probeSystem)

	text, ok, err = render(`[{"type":"function","function":{"name":"`+probeTool+`","description":"d","parameters":{"type":"object","properties":{}}}}]`, "", user)
	if err != nil {
		return t, err
	}
	t.NoTools = !ok || !strings.Contains(text, probeTool)

	text, ok, err = render("", "", user, assistant, user2)
	if err != nil {
		return t, err
	}
	if ok {
		t.UserHeader = userHeader(one, text, props.BOS)
	}

	assistant.Reasoning = probeReasoning
	for _, kwargs := range []string{"", `{"preserve_reasoning":true}`, `{"preserve_thinking":true}`, `{"clear_thinking":false}`} {
		text, ok, err = render("", kwargs, user, assistant, user2)
		if err != nil {
			return t, err
		}
		if ok && strings.Contains(text, probeReasoning) {
			t.PreservesReasoning = true
			if kwargs != "" {
				t.TemplateKwargs = json.RawMessage(kwargs)
			}
			break
		}
	}
	return t, nil
}

type probeMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content,omitempty"`
}

// userHeader finds the text that opens a user message: what stands both before the first one in a chat of its own and between an assistant's message
// and the next user's, less what closes a message. It ends before white space, which may merge with the message.
func userHeader(one, three, bos string) string {
	before, after, ok := strings.Cut(one, probeUser)
	if !ok {
		return ""
	}
	_, rest, ok := strings.Cut(three, probeAssistant)
	if !ok {
		return ""
	}
	between, _, ok := strings.Cut(rest, probeUser2)
	if !ok {
		return ""
	}
	if bos != "" {
		before = strings.TrimPrefix(before, bos)
	}
	n := 0
	for n < len(before) && n < len(between) && before[len(before)-1-n] == between[len(between)-1-n] {
		n++
	}
	header := before[len(before)-n:]
	if i := strings.LastIndex(header, after); i >= 0 && strings.TrimSpace(after) != "" {
		// The template puts a default system message first, which closes as the user's message does.
		header = header[i+len(after):]
	}
	return strings.TrimSpace(header)
}

// controlForms match what is written like a control token or a turn mark in a template.
var controlForms = regexp.MustCompile(`<\|[^|<>\s'"]{1,48}\|>|<｜[^｜<>\s'"]{1,48}｜>|\[/?[A-Z][A-Z_]{2,31}\]|</?(?:start|end)_of_[a-z]{1,16}>|</?s>|<(?:bos|eos|pad|unk)>`)

// controlTexts lists the control texts that the template and the tokenizer's own first and last tokens show, longest first.
func controlTexts(props Props) []string {
	texts := controlForms.FindAllString(props.ChatTemplate, -1)
	for _, s := range []string{props.BOS, props.EOS} {
		// A vocabulary may call an ordinary text its end token; only marks are wanted.
		if controlForms.FindString(s) == s && s != "" {
			texts = append(texts, s)
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(texts)
}
