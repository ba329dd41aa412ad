package llamacpp_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveProfile asks real servers with every template what they are.
func TestLiveProfile(t *testing.T) {
	t.Parallel()
	facts := map[string]boundary.Template{
		"chatml":           {UserHeader: "<|im_start|>user", PreservesReasoning: true},
		"chatml-tool-role": {UserHeader: "<|im_start|>user", PreservesReasoning: true},
		"strict":           {UserHeader: "<|im_start|>user"},
		// The server itself puts a system message in front of the first user message where the template refuses it.
		"no-system":         {UserHeader: "<start_of_turn>user"},
		"reasoning-dropper": {UserHeader: "<|im_start|>user"},
		"tool-in-user":      {UserHeader: "<|im_start|>user"},
	}
	tokenizers := map[string]bool{}
	for _, tmpl := range llamatest.Templates() {
		server := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: llamatest.Full, Template: tmpl.Text}, Context: 4096, Slots: 2})
		c := client(t, server.URL, nil)
		p, err := c.Profile(t.Context())
		if err != nil {
			t.Fatalf("%s: Profile() = %v", tmpl.Name, err)
		}
		if p.Window != 2048 || p.Slots != 2 || p.Geometry.Kind != boundary.AnyToken || !p.Geometry.Shift || p.Build == "" || p.Tokenizer == "" {
			t.Errorf("%s: Profile() = %+v", tmpl.Name, p)
		}
		tokenizers[p.Tokenizer] = true
		want, ok := facts[tmpl.Name]
		if !ok {
			t.Logf("%s: no facts known, probed %+v", tmpl.Name, p.Template)
			continue
		}
		got := p.Template
		if header, _, _ := strings.Cut(want.UserHeader, ">"); !slices.Contains(got.ControlTexts, header+">") || got.Digest == "" {
			t.Errorf("%s: Template = %+v, want a digest and %s> among the control texts", tmpl.Name, got, header)
		}
		got.Digest, got.ControlTexts, got.NoTools = "", nil, false
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: Template (-want +got):\n%s", tmpl.Name, d)
		}
	}
	if len(tokenizers) > 1 {
		t.Errorf("one vocabulary has %d names: %v", len(tokenizers), tokenizers)
	}
}

// TestLiveClient uses every call on one real server.
func TestLiveClient(t *testing.T) {
	t.Parallel()
	server := llamatest.Start(t, llamatest.Options{
		Model: llamatest.Model{Arch: llamatest.Sliding, Template: llamatest.ChatML}, Context: 8192, SlotSave: true, Args: []string{"--api-key", "secret"},
	})
	slot := 0
	c := client(t, server.URL, &llamacpp.Options{APIKey: "secret", Slot: &slot})
	if _, err := client(t, server.URL, nil).Render(t.Context(), boundary.RenderRequest{Messages: json.RawMessage(`[]`)}); !errors.Is(err, boundary.ErrUnauthorized) {
		t.Errorf("Render() without the key = %v, want ErrUnauthorized", err)
	}
	p, err := c.Profile(t.Context())
	if err != nil || p.Geometry.Kind != boundary.Points || p.Rule == nil || p.Rule.Window != llamatest.DefaultSlidingWindow {
		t.Fatalf("Profile() = %+v, %v, want points with a window of %d", p, err, llamatest.DefaultSlidingWindow)
	}
	if _, changed, err := c.Refresh(t.Context()); changed || err != nil {
		t.Errorf("Refresh() of the same server = changed %t, %v", changed, err)
	}

	const text = "<|im_start|>user\nhé 東京 😀\xff end<|im_end|>"
	ids, err := c.Tokens(t.Context(), text)
	if err != nil {
		t.Fatalf("Tokens() = %v", err)
	}
	again, ends, err := c.TokenSpans(t.Context(), text)
	if d := cmp.Diff(ids, again); err != nil || d != "" || ends[len(ends)-1] != len(text) {
		t.Errorf("TokenSpans() = %v, ends %v (-Tokens() +got):\n%s", err, ends, d)
	}

	messages := json.RawMessage(`[{"role":"system","content":"` + strings.Repeat("long text ", 200) + `"},{"role":"user","content":"hi"}]`)
	prompt, err := c.Render(t.Context(), boundary.RenderRequest{Messages: messages, GenerationPrompt: true})
	if err != nil {
		t.Fatalf("Render() = %v", err)
	}
	count, err := c.Tokens(t.Context(), prompt)
	if err != nil {
		t.Fatalf("Tokens() = %v", err)
	}
	req := boundary.ChatRequest{Messages: messages, MaxTokens: 3, Fields: json.RawMessage(`{"temperature":0,"ignore_eos":true}`)}
	first, err := c.Chat(t.Context(), req, nil)
	if err != nil || first.PromptTokens != len(count) || first.CachedTokens == nil || *first.CachedTokens != 0 || first.CompletionTokens != 3 || first.PromptMillis <= 0 {
		t.Errorf("Chat() = %+v, %v, want %d prompt tokens, none cached", first, err, len(count))
	}
	var deltas []boundary.ChatDelta
	streamed, err := c.Chat(t.Context(), req, func(d boundary.ChatDelta) { deltas = append(deltas, d) })
	if err != nil || streamed.PromptTokens != len(count) || *streamed.CachedTokens != len(count)-1 || streamed.Content != first.Content || streamed.FinishReason != "length" {
		t.Errorf("Chat() streamed = %+v, %v, want all but one token cached and the content %q", streamed, err, first.Content)
	}
	if len(deltas) < 2 || deltas[0].PromptTotal != len(count) || deltas[0].PromptCached != len(count)-1 {
		t.Errorf("Chat() streamed: progress %+v, want the prompt's first", deltas)
	}
	req.Fields = json.RawMessage(`{"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"path":{"type":"string","maxLength":4}},"required":["path"]}}}],"tool_choice":"required","temperature":0}`)
	req.MaxTokens = 400
	if called, err := c.Chat(t.Context(), req, func(boundary.ChatDelta) {}); err != nil {
		t.Errorf("Chat() with tools = %v", err)
	} else if called.FinishReason == "tool_calls" && (len(called.ToolCalls) == 0 || called.ToolCalls[0].Name != "read" || !json.Valid([]byte(called.ToolCalls[0].Arguments))) {
		t.Errorf("Chat() with tools = %+v, want a call of read", called)
	}

	saved, err := c.SaveSlot(t.Context(), 0, "live.bin")
	if err != nil || saved.Tokens < len(count) || saved.Bytes == 0 {
		t.Errorf("SaveSlot() = %+v, %v, want at least %d tokens", saved, err, len(count))
	}
	if err := c.EraseSlot(t.Context(), 0); err != nil {
		t.Errorf("EraseSlot() = %v", err)
	}
	if f, err := c.RestoreSlot(t.Context(), 0, "live.bin"); err != nil || f != saved {
		t.Errorf("RestoreSlot() = %+v, %v, want %+v", f, err, saved)
	}
	if _, err := c.RestoreSlot(t.Context(), 0, "missing.bin"); !errors.Is(err, boundary.ErrInvalidRequest) {
		t.Errorf("RestoreSlot() of a missing file = %v, want ErrInvalidRequest", err)
	}
	slots, err := c.Slots(t.Context())
	if err != nil || len(slots) != 1 || slots[0].ContextTokens != 8192 {
		t.Errorf("Slots() = %+v, %v", slots, err)
	}
	if idle, err := c.Idle(t.Context()); !idle || err != nil {
		t.Errorf("Idle() = %t, %v, want true", idle, err)
	}
	if _, err := c.Embedder(t.Context()); !errors.Is(err, boundary.ErrUnsupported) {
		t.Errorf("Embedder() = %v, want ErrUnsupported", err)
	}

	long := boundary.ChatRequest{Messages: json.RawMessage(`[{"role":"user","content":"` + strings.Repeat("x ", 9000) + `"}]`), MaxTokens: 1}
	var size *boundary.ContextError
	for name, progress := range map[string]func(boundary.ChatDelta){"plain": nil, "streamed": func(boundary.ChatDelta) {}} {
		if _, err := c.Chat(t.Context(), long, progress); !errors.Is(err, boundary.ErrContextExceeded) || !errors.As(err, &size) || size.Window != 8192 || size.Prompt <= 9000 {
			t.Errorf("%s Chat() of a long prompt = %v, want a ContextError for 8192", name, err)
		}
	}
	for name, raw := range map[string]string{
		"arguments cut off": `[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{bad"}}]},{"role":"tool","tool_call_id":"a","content":"r"}]`,
		"two replies":       `[{"role":"user","content":"x"},{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]`,
	} {
		var api *llamacpp.APIError
		if _, err := c.Chat(t.Context(), boundary.ChatRequest{Messages: json.RawMessage(raw), MaxTokens: 1}, nil); !errors.As(err, &api) || errors.Is(err, boundary.ErrUnavailable) {
			t.Errorf("Chat() with %s = %v, want an *APIError", name, err)
		}
	}
	plain := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: llamatest.Full, Template: llamatest.ChatML}, Context: 1024})
	if _, err := client(t, plain.URL, nil).SaveSlot(t.Context(), 0, "x.bin"); !errors.Is(err, boundary.ErrUnsupported) {
		t.Errorf("SaveSlot() without a folder for it = %v, want ErrUnsupported", err)
	}
}
