package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/internal/tokens"
)

var _ embedded.Tokenizer = (*tokens.Encoding)(nil)

const chatTools = `[{"type":"function", "function":{"name":"read"}}]`

func TestRender(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		messages, tools string
		reply           bool
		want            string
	}{
		"all roles": {`[{"role":"system","content":"S"},{"role":"user","content":"U"},
			{"role":"assistant","content":"A","reasoning_content":"R","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"p\": 1}"}},
			{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"T1"},{"role":"tool","tool_call_id":"b","content":"T2"}]`,
			chatTools, true, `<|im_start|>system
S

# Tools

You may call these functions:
<tools>
{"type":"function","function":{"name":"read"}}
</tools>

Write a call as <tool_call>{"name": ..., "arguments": ...}</tool_call>.<|im_end|>
<|im_start|>user
U<|im_end|>
<|im_start|>assistant
<think>
R
</think>

A
<tool_call>
{"name": "read", "arguments": {"p": 1}}
</tool_call>
<tool_call>
{"name": "ls", "arguments": {}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
T1
</tool_response><|im_end|>
<|im_start|>user
<tool_response>
T2
</tool_response><|im_end|>
<|im_start|>assistant
`},
		"no generation prompt": {`[{"role":"user","content":"U"}]`, "", false, "<|im_start|>user\nU<|im_end|>\n"},
		"parts":                {`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, "null", false, "<|im_start|>user\nab<|im_end|>\n"},
		"continued":            {`[{"role":"user","content":"U"},{"role":"assistant","content":"A"}]`, "[]", true, "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA"},
		"trailing empty reply": {`[{"role":"user","content":"U"},{"role":"assistant","content":""}]`, "", true, "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"},
		"nothing":              {`[]`, "", true, "<|im_start|>assistant\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := embedded.New(embedded.Config{}).Render(t.Context(), boundary.RenderRequest{
				Messages: json.RawMessage(tt.messages), Tools: json.RawMessage(tt.tools), GenerationPrompt: tt.reply,
			})
			if err != nil {
				t.Fatalf("Render() = %v", err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Render() (-want +got):\n%s", d)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const call = `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const u, a, r = `{"role":"user","content":"u"}`, `{"role":"assistant","content":"a"}`, `{"role":"tool","tool_call_id":"a","content":"r"}`
	tests := map[string]struct {
		messages string
		// lenient: a real server with a lenient template renders it.
		lenient bool
	}{
		"not there":                   {``, false},
		"no list":                     {`"x"`, false},
		"no role":                     {`[{"content":"x"}]`, false},
		"unknown role":                {`[{"role":"developer","content":"x"}]`, false},
		"no content":                  {`[{"role":"user"}]`, false},
		"content of another type":     {`[{"role":"user","content":7}]`, false},
		"a picture":                   {`[{"role":"user","content":[{"type":"image_url"}]}]`, false},
		"arguments cut off":           {`[` + u + `,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a"}}]},` + r + `]`, false},
		"arguments empty":             {`[` + u + `,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]},` + r + `]`, false},
		"arguments null":              {`[` + u + `,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"null"}}]},` + r + `]`, false},
		"two replies at the end":      {`[` + u + `,` + a + `,` + a + `]`, false},
		"open calls at the end":       {`[` + u + `,` + call + `]`, false},
		"nothing":                     {`[]`, true},
		"only a system message":       {`[{"role":"system","content":"s"}]`, true},
		"system not first":            {`[` + u + `,{"role":"system","content":"s"}]`, true},
		"two users":                   {`[` + u + `,` + u + `]`, true},
		"user after a result":         {`[` + u + `,` + call + `,` + r + `,` + u + `]`, true},
		"reply first":                 {`[` + a + `,` + u + `]`, true},
		"result without a call":       {`[` + u + `,` + r + `]`, true},
		"result of another call":      {`[` + u + `,` + call + `,{"role":"tool","tool_call_id":"z","content":"r"}]`, true},
		"two results for a call":      {`[` + u + `,` + call + `,` + r + `,` + r + `]`, true},
		"a call without its result":   {`[` + u + `,` + call + `,` + u + `]`, true},
		"a reply that says nothing":   {`[` + u + `,{"role":"assistant","content":""},` + u + `]`, true},
		"two replies in the middle":   {`[` + u + `,` + a + `,` + a + `,` + u + `]`, true},
		"one of two results is there": {`[` + u + `,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{}"}}]},` + r + `]`, true},
		"a reply instead of a result": {`[` + u + `,` + call + `,` + a + `,` + u + `]`, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := embedded.New(embedded.Config{})
			_, err := s.Render(t.Context(), boundary.RenderRequest{Messages: json.RawMessage(tt.messages)})
			if tt.lenient != (err == nil) || !tt.lenient && !errors.Is(err, boundary.ErrInvalidRequest) {
				t.Errorf("Render(%s) = %v, want refused %t", tt.messages, err, !tt.lenient)
			}
			if err := embedded.Validate(json.RawMessage(tt.messages)); !errors.Is(err, boundary.ErrInvalidRequest) {
				t.Errorf("Validate(%s) = %v, want ErrInvalidRequest", tt.messages, err)
			}
			if _, err := s.Chat(t.Context(), boundary.ChatRequest{Messages: json.RawMessage(tt.messages)}, nil); !errors.Is(err, boundary.ErrInvalidRequest) {
				t.Errorf("Chat(%s) = %v, want ErrInvalidRequest", tt.messages, err)
			}
		})
	}
	for name, req := range map[string]boundary.ChatRequest{
		"fields":       {Messages: json.RawMessage(`[` + u + `]`), Fields: json.RawMessage(`[]`)},
		"tools":        {Messages: json.RawMessage(`[` + u + `]`), Tools: json.RawMessage(`7`)},
		"unknown slot": {Messages: json.RawMessage(`[` + u + `]`), Fields: json.RawMessage(`{"id_slot":9}`)},
	} {
		if _, err := embedded.New(embedded.Config{}).Chat(t.Context(), req, nil); !errors.Is(err, boundary.ErrInvalidRequest) {
			t.Errorf("Chat() with bad %s = %v, want ErrInvalidRequest", name, err)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	const text = "<|im_start|>user\nhé <|im_end|><|endoftext|>x <|im_start|"
	for _, tok := range []embedded.Tokenizer{nil, tokens.O200k()} {
		s := embedded.New(embedded.Config{Tokenizer: tok})
		ids, err := s.Tokens(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		again, ends, err := s.TokenSpans(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(ids, again); d != "" {
			t.Errorf("TokenSpans() ids (-Tokens() +got):\n%s", d)
		}
		var texts []string
		at := 0
		for i, e := range ends {
			if piece := text[at:e]; ids[i] >= 1<<24 {
				texts = append(texts, piece)
			}
			at = e
		}
		if d := cmp.Diff([]string{"<|im_start|>", "<|im_end|>", "<|endoftext|>"}, texts); d != "" || at != len(text) {
			t.Errorf("control tokens, ending at %d of %d (-want +got):\n%s", at, len(text), d)
		}
	}
}

// TestTokensCutAtControlTokens: cutting a text at a control token changes no token, as on a real server.
func TestTokensCutAtControlTokens(t *testing.T) {
	t.Parallel()
	s := embedded.New(embedded.Config{Tokenizer: tokens.O200k()})
	const text = "<|im_start|>user\n\n  indented <|im_end|>\n<|im_start|>assistant\n\n\nok<|im_end|>\n"
	whole, _ := s.Tokens(t.Context(), text)
	for at := 0; ; {
		k := strings.Index(text[at+1:], "<|im_")
		if k < 0 {
			break
		}
		at += 1 + k
		head, _ := s.Tokens(t.Context(), text[:at])
		rest, _ := s.Tokens(t.Context(), text[at:])
		if d := cmp.Diff(whole, append(head, rest...)); d != "" {
			t.Errorf("cut at byte %d (-whole +parts):\n%s", at, d)
		}
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	p, err := embedded.New(embedded.Config{}).Profile(t.Context())
	want := boundary.Profile{
		Window: 32768, Slots: 1, Tokenizer: "bytes", Name: "embedded", Build: "1", Model: "none",
		Geometry: boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1},
		Template: boundary.Template{Digest: p.Template.Digest, PreservesReasoning: true, UserHeader: "<|im_start|>user",
			ControlTexts: []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}},
	}
	if d := cmp.Diff(want, p); err != nil || d != "" {
		t.Errorf("Profile() = %v (-want +got):\n%s", err, d)
	}
	p, _ = embedded.New(embedded.Config{Window: 100, Slots: 2, Kind: boundary.Points, Rule: boundary.CheckpointRule{Window: 64}, Tokenizer: tokens.O200k()}).Profile(t.Context())
	rule := boundary.CheckpointRule{Window: 64}.WithDefaults()
	if d := cmp.Diff(&rule, p.Rule); d != "" || p.Geometry.Kind != boundary.Points || p.Window != 100 || p.Slots != 2 || p.Tokenizer != "o200k_base" {
		t.Errorf("Profile() = %+v, rule (-want +got):\n%s", p, d)
	}
}

// talk is a chat that grows by what the server replies.
type talk struct {
	t        *testing.T
	s        *embedded.Server
	messages []map[string]any
}

func (c *talk) send(fields string) boundary.ChatReply {
	c.t.Helper()
	raw, err := json.Marshal(c.messages)
	if err != nil {
		c.t.Fatal(err)
	}
	reply, err := c.s.Chat(c.t.Context(), boundary.ChatRequest{Messages: raw, Fields: json.RawMessage(fields)}, nil)
	if err != nil {
		c.t.Fatalf("Chat(%s) = %v", raw, err)
	}
	return reply
}

func (c *talk) say(role, content string) {
	c.messages = append(c.messages, map[string]any{"role": role, "content": content})
}

func TestChatReuses(t *testing.T) {
	t.Parallel()
	c := &talk{t: t, s: embedded.New(embedded.Config{})}
	c.say("user", strings.Repeat("a", 500))
	first := c.send("")
	if first.PromptTokens != 519 || *first.CachedTokens != 0 || first.FinishReason != "stop" || first.CompletionTokens != len(first.Content) {
		t.Errorf("first Chat() = %+v", first)
	}
	if again := c.send(""); *again.CachedTokens != 518 || again.Content != first.Content {
		t.Errorf("Chat() again = %+v with %d reused, want the same reply and 518", again, *again.CachedTokens)
	}
	c.say("assistant", first.Content)
	c.say("user", "next")
	// The reply is in the prompt as it was generated, all but its last token was evaluated.
	if second, want := c.send(""), first.PromptTokens+first.CompletionTokens-1; *second.CachedTokens != want {
		t.Errorf("second Chat() reused %d of %d tokens, want %d", *second.CachedTokens, second.PromptTokens, want)
	}
	if cold := c.send(`{"cache_prompt":false}`); *cold.CachedTokens != 0 {
		t.Errorf("Chat() without cache_prompt reused %d tokens, want 0", *cold.CachedTokens)
	}
	c.s.Restart()
	if cold := c.send(""); *cold.CachedTokens != 0 {
		t.Errorf("Chat() after Restart reused %d tokens, want 0", *cold.CachedTokens)
	}
}

func TestChatShift(t *testing.T) {
	t.Parallel()
	c := &talk{t: t, s: embedded.New(embedded.Config{})}
	for i := range 12 {
		c.say("user", fmt.Sprint(i, strings.Repeat("u", 200)))
		c.say("assistant", fmt.Sprint(i, strings.Repeat("v", 200)))
	}
	c.say("user", "now")
	whole := c.send("")
	c.messages = append(c.messages[:4:4], c.messages[14:]...)
	c.say("assistant", "ok")
	c.say("user", "and now")
	plain := c.send(`{"id_slot":0}`)
	if *plain.CachedTokens > whole.PromptTokens/4 {
		t.Errorf("Chat() after a deletion reused %d of %d tokens without n_cache_reuse", *plain.CachedTokens, plain.PromptTokens)
	}
	c.s.Restart()
	before := c.messages
	c.messages = nil
	for i := range 12 {
		c.say("user", fmt.Sprint(i, strings.Repeat("u", 200)))
		c.say("assistant", fmt.Sprint(i, strings.Repeat("v", 200)))
	}
	c.say("user", "now")
	c.send("")
	c.messages = before
	if moved := c.send(`{"n_cache_reuse":64}`); moved.PromptTokens-*moved.CachedTokens > 100 {
		t.Errorf("Chat() after a deletion with n_cache_reuse reused %d of %d tokens, want nearly all", *moved.CachedTokens, moved.PromptTokens)
	}
}

func TestChatScripted(t *testing.T) {
	t.Parallel()
	c := &talk{t: t, s: embedded.New(embedded.Config{Tokenizer: tokens.O200k()})}
	c.say("user", "go")
	got := c.send(`{"scripted_reply":{"content":"Reading.","reasoning_content":"hm","tool_calls":[{"id":"x","name":"read","arguments":"{\"p\": 1}"},{"name":"ls","arguments":"{}"}]}}`)
	if len(got.ToolCalls) != 2 || !strings.HasPrefix(got.ToolCalls[1].ID, "call_") {
		t.Fatalf("Chat() = %+v, want two calls, the second with an id of its own", got)
	}
	got.ToolCalls[1].ID = ""
	want := boundary.ChatReply{Content: "Reading.", Reasoning: "hm", FinishReason: "tool_calls", PromptTokens: got.PromptTokens, CachedTokens: got.CachedTokens,
		CompletionTokens: got.CompletionTokens, Model: "none", ToolCalls: []boundary.ChatToolCall{{ID: "x", Name: "read", Arguments: `{"p": 1}`}, {Name: "ls", Arguments: "{}"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Chat() (-want +got):\n%s", d)
	}
	cut := c.send(`{"max_tokens":3,"scripted_reply":{"content":"one two three four five"}}`)
	if cut.FinishReason != "length" || cut.CompletionTokens != 3 || cut.Content != "one two three" {
		t.Errorf("Chat() of at most 3 tokens = %+v", cut)
	}
}

func TestChatContextExceeded(t *testing.T) {
	t.Parallel()
	s := embedded.New(embedded.Config{Window: 100})
	chat := func(n int) (boundary.ChatReply, error) {
		raw := json.RawMessage(`[{"role":"user","content":"` + strings.Repeat("x", n) + `"}]`)
		return s.Chat(t.Context(), boundary.ChatRequest{Messages: raw}, nil)
	}
	_, err := chat(81)
	var size *boundary.ContextError
	if !errors.Is(err, boundary.ErrContextExceeded) || !errors.As(err, &size) || *size != (boundary.ContextError{Prompt: 100, Window: 100}) {
		t.Errorf("Chat() of 100 tokens in a context of 100 = %v, want a ContextError of 100 and 100", err)
	}
	if reply, err := chat(80); err != nil || reply.CompletionTokens != 1 || reply.FinishReason != "length" {
		t.Errorf("Chat() of 99 tokens in a context of 100 = %+v, %v, want one token", reply, err)
	}
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	s := embedded.New(embedded.Config{})
	req := boundary.ChatRequest{Messages: json.RawMessage(`[{"role":"user","content":"u"}]`),
		Fields: json.RawMessage(`{"scripted_reply":{"content":"one two three","reasoning_content":"hm hm"}}`)}
	var deltas []boundary.ChatDelta
	reply, err := s.Chat(t.Context(), req, func(d boundary.ChatDelta) { deltas = append(deltas, d) })
	want := []boundary.ChatDelta{{PromptTotal: 20}, {Reasoning: "hm "}, {Reasoning: "hm"}, {Content: "one "}, {Content: "two "}, {Content: "three"}}
	if d := cmp.Diff(want, deltas); err != nil || d != "" || reply.Content != "one two three" {
		t.Errorf("Chat() = %+v, %v, progress (-want +got):\n%s", reply, err, d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply, err = s.Chat(ctx, req, func(d boundary.ChatDelta) {
		if d.Content == "two " {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || reply.Content != "one two " || reply.FinishReason != "" {
		t.Errorf("Chat() cancelled in the middle = %+v, %v, want what was passed on", reply, err)
	}
	if _, err := s.Chat(ctx, req, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Chat() with a cancelled context = %v, want Canceled", err)
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	c := &talk{t: t, s: embedded.New(embedded.Config{Slots: 2, Kind: boundary.Points, Rule: boundary.CheckpointRule{Window: 64, Ubatch: 64, Spacing: 64}})}
	c.say("user", strings.Repeat("a", 300))
	first := c.send("")
	held, err := c.s.SaveSlot(t.Context(), 0, "f")
	if want := first.PromptTokens + first.CompletionTokens - 1; err != nil || held.Tokens != want || held.Bytes == 0 {
		t.Errorf("SaveSlot() = %+v, %v, want %d tokens", held, err, want)
	}
	// Another chat takes the other slot, because it shares little with this one, and the next the one used longest ago.
	other := &talk{t: t, s: c.s}
	other.say("user", strings.Repeat("b", 400))
	other.send("")
	if again := c.send(""); *again.CachedTokens == 0 {
		t.Error("Chat() lost its slot to another one although one was free")
	}
	third := &talk{t: t, s: c.s}
	third.say("user", strings.Repeat("c", 400))
	third.send("")
	if again := other.send(""); *again.CachedTokens > 100 {
		t.Errorf("Chat() reused %d tokens of a slot that was taken", *again.CachedTokens)
	}
	if err := c.s.EraseSlot(t.Context(), 0); err != nil {
		t.Errorf("EraseSlot() = %v", err)
	}
	if n, err := c.s.RestoreSlot(t.Context(), 0, "f"); err != nil || n != held {
		t.Errorf("RestoreSlot() = %+v, %v, want %+v", n, err, held)
	}
	if warm := c.send(`{"id_slot":0}`); *warm.CachedTokens < first.PromptTokens-10 {
		t.Errorf("Chat() after RestoreSlot reused %d of %d tokens", *warm.CachedTokens, first.PromptTokens)
	}
	if n, err := c.s.RestoreSlot(t.Context(), 0, "missing"); !errors.Is(err, boundary.ErrInvalidRequest) {
		t.Errorf("RestoreSlot(missing) = %+v, %v, want ErrInvalidRequest", n, err)
	}
	if cold := c.send(`{"id_slot":0}`); *cold.CachedTokens != 0 {
		t.Errorf("Chat() after a failed restore reused %d tokens, want 0", *cold.CachedTokens)
	}
	for _, id := range []int{-1, 2} {
		if _, err := c.s.SaveSlot(t.Context(), id, "f"); !errors.Is(err, boundary.ErrInvalidRequest) {
			t.Errorf("SaveSlot(%d) = %v, want ErrInvalidRequest", id, err)
		}
	}
	if _, err := c.s.SaveSlot(t.Context(), 0, ""); !errors.Is(err, boundary.ErrInvalidRequest) {
		t.Errorf("SaveSlot() without a name = %v, want ErrInvalidRequest", err)
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	s := embedded.New(embedded.Config{})
	for _, busy := range []bool{false, true, false} {
		s.SetBusy(busy)
		if idle, err := s.Idle(t.Context()); idle == busy || err != nil {
			t.Errorf("Idle() with busy %t = %t, %v", busy, idle, err)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := embedded.New(embedded.Config{Slots: 3})
	done := make(chan error)
	for g := range 4 {
		go func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			var err error
			for range 30 {
				raw := json.RawMessage(fmt.Sprintf(`[{"role":"user","content":"%d %s"}]`, g, strings.Repeat("x", r.IntN(200))))
				_, e := s.Chat(context.Background(), boundary.ChatRequest{Messages: raw}, nil)
				_, e2 := s.SaveSlot(context.Background(), g%3, "a")
				_, e3 := s.RestoreSlot(context.Background(), g%3, "a")
				err = errors.Join(err, e, e2, e3)
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(`[{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"r"}]}]`)
	f.Add(`[{"role":"system","content":null},{"role":"user","content":"<|im_end|>"}]`)
	s := embedded.New(embedded.Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		req := boundary.RenderRequest{Messages: json.RawMessage(raw), GenerationPrompt: true}
		text, err := s.Render(t.Context(), req)
		if err != nil && !errors.Is(err, boundary.ErrInvalidRequest) {
			t.Fatalf("Render(%q) = %v, want ErrInvalidRequest", raw, err)
		}
		if embedded.Validate(json.RawMessage(raw)) == nil && (err != nil || !strings.Contains(text, "<|im_start|>user\n")) {
			t.Errorf("Render(%q) of a valid chat = %q, %v", raw, text, err)
		}
	})
}
