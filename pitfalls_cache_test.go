package sakur4_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
)

// reasonless is a server whose template leaves out the reasoning of every turn before the last user message.
type reasonless struct{ *embedded.Server }

func (f reasonless) Profile(ctx context.Context) (boundary.Profile, error) {
	p, err := f.Server.Profile(ctx)
	p.Template.PreservesReasoning = false
	p.Template.Digest = "reasonless"
	return p, err
}

func (f reasonless) forget(raw json.RawMessage) (json.RawMessage, error) {
	var ms []map[string]any
	if err := json.Unmarshal(raw, &ms); err != nil {
		return nil, err
	}
	last := 0
	for i, m := range ms {
		if m["role"] == "user" {
			last = i
		}
	}
	for _, m := range ms[:last] {
		delete(m, "reasoning_content")
	}
	return json.Marshal(ms)
}

func (f reasonless) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	ms, err := f.forget(req.Messages)
	if err != nil {
		return "", err
	}
	req.Messages = ms
	return f.Server.Render(ctx, req)
}

func (f reasonless) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	ms, err := f.forget(req.Messages)
	if err != nil {
		return boundary.ChatReply{}, err
	}
	req.Messages = ms
	return f.Server.Chat(ctx, req, progress)
}

// TestPitfall14TemplateRewritesHistory: a template that drops old reasoning at the next user turn changes what was sent. Prefixes are compared on the server's
// tokens, so the loss is predicted to the token and named; without KeepReasoning none was sent and none is lost.
func TestPitfall14TemplateRewritesHistory(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("KeepReasoning=%t", keep), func(t *testing.T) {
			t.Parallel()
			srv := reasonless{newServer(32768)}
			eng, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{Project: "p", Backend: srv, KeepReasoning: keep})
			if err != nil {
				t.Fatal(err)
			}
			defer eng.Close()
			d := &shifted{t: t, s: eng.Session("s"), chat: srv, head: sakur4.Head{System: "You are careful."}}
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find the leak."})
			d.send()
			for i := range 4 {
				id := fmt.Sprintf("call_%d", i)
				d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Reasoning: strings.Repeat(fmt.Sprintf("thought %d of many. ", i), 20),
					ToolCalls: []sakur4.ToolCall{{ID: id, Name: "read", Arguments: `{"path":"a.go"}`}}})
				d.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: fmt.Sprintf("package a%d", i)})
				w, r := d.send()
				if r.Cache.Cause != "" || strings.Contains(strings.Join(r.Notes, ";"), "rewrote") || (w.Messages[len(w.Messages)-2].ReasoningContent != "") != keep {
					t.Fatalf("within the loop: cause %q, notes %q, reasoning sent %q", r.Cache.Cause, r.Notes, w.Messages[len(w.Messages)-2].ReasoningContent)
				}
			}
			d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "It leaks in a.go.", Reasoning: "Now I know."})
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Fix it."})
			_, r := d.send()
			notes := strings.Join(r.Notes, "; ")
			if keep != strings.Contains(notes, "template rewrote history: ") {
				t.Errorf("at the next user turn: notes %q", notes)
			}
			if !r.Cache.Measured || r.Cache.Reused != r.Cache.Predicted || r.Cache.Cause != "" {
				t.Errorf("%d tokens predicted, %d reused, cause %q", r.Cache.Predicted, r.Cache.Reused, r.Cache.Cause)
			}
			if lost := r.Used - r.New - r.Cache.Reused; keep != (lost > 50) {
				t.Errorf("%d tokens of what was sent are processed again", lost)
			}
		})
	}
}

// TestPitfall15PredictionIsNoMeasurement: what was predicted stays what it was whatever is measured, more or less or nothing, and both are shown.
func TestPitfall15PredictionIsNoMeasurement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		diff  int // measured − predicted
		known bool
		want  []string
	}{
		{"as predicted", 0, true, nil},
		{"less", -100, true, []string{"predicted tokens reused"}},
		{"nothing", -1 << 20, true, []string{"nothing of this session was held"}},
		{"more", 1, true, nil},
		{"not reported", 0, false, []string{"not reported"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newRestartRig(t)
			g.grow(5)
			w := g.ask()
			predicted := w.Receipt.Cache.Predicted
			if w.Receipt.Cache.Measured || !strings.Contains(w.Receipt.String(), "not reported") {
				t.Errorf("measured before anything was: %s", w.Receipt)
			}
			u := sakur4.Usage{Window: w.ID, PromptTokens: w.Receipt.Used}
			cached := max(predicted+c.diff, 0)
			if c.known {
				u.CachedTokens = &cached
			}
			r, err := g.s.Observe(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			if r.Cache.Predicted != predicted || r.Cache.Measured != c.known || c.known && (r.Cache.Reused != cached || r.Cache.Prefilled != r.Used-cached) {
				t.Errorf("predicted %d, then %d; measured %t: %d reused, %d prefilled, want %d", predicted, r.Cache.Predicted, r.Cache.Measured, r.Cache.Reused, r.Cache.Prefilled, cached)
			}
			text := r.String()
			for _, want := range append(c.want, fmt.Sprintf("%d reused, %d prefilled", predicted, r.Used-predicted)) {
				if !strings.Contains(text, want) {
					t.Errorf("the receipt does not say %q:\n%s", want, text)
				}
			}
			if !c.known && r.Cache.Status != boundary.StatusUnknown {
				t.Errorf("status %v of what was not reported", r.Cache.Status)
			}
		})
	}
}
