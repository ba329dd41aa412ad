package llamatest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/llamatest"
)

type message map[string]any

func system(s string) message    { return message{"role": "system", "content": s} }
func user(s string) message      { return message{"role": "user", "content": s} }
func assistant(s string) message { return message{"role": "assistant", "content": s} }
func thinking(reasoning, s string) message {
	return message{"role": "assistant", "content": s, "reasoning_content": reasoning}
}
func calling(ids ...string) message {
	var calls []any
	for _, id := range ids {
		calls = append(calls, message{"id": id, "type": "function", "function": message{"name": "read", "arguments": `{"path": "a.go"}`}})
	}
	return message{"role": "assistant", "content": "", "tool_calls": calls}
}
func result(id, s string) message {
	return message{"role": "tool", "tool_call_id": id, "content": s}
}

// chats are the histories that tell the templates apart.
var chats = []struct {
	name     string
	messages []message
}{
	{"plain", []message{user("u1"), assistant("a1"), user("u2")}},
	{"system", []message{system("s"), user("u1"), assistant("a1"), user("u2")}},
	{"one call", []message{user("u1"), calling("c1"), result("c1", "r1"), assistant("a1"), user("u2")}},
	{"two calls", []message{user("u1"), calling("c1", "c2"), result("c1", "r1"), result("c2", "r2")}},
	{"calls in a row", []message{user("u1"), calling("c1"), result("c1", "r1"), calling("c2"), result("c2", "r2")}},
	{"two users", []message{user("u1"), user("u2")}},
	{"user after result", []message{user("u1"), calling("c1"), result("c1", "r1"), user("u2")}},
	{"late system", []message{user("u1"), assistant("a1"), system("s"), user("u2")}},
	{"assistant first", []message{assistant("a1"), user("u1")}},
	{"orphan result", []message{user("u1"), assistant("a1"), result("c1", "r1")}},
	{"missing result", []message{user("u1"), calling("c1", "c2"), result("c1", "r1"), assistant("a1"), user("u2")}},
}

var illegalOrder = []string{"two users", "user after result", "late system", "assistant first", "orphan result", "missing result"}

// TestTemplatesAccept shows which histories each template takes on a real server. "Refused" is any status but 200.
func TestTemplatesAccept(t *testing.T) {
	t.Parallel()
	refuses := map[string][]string{
		"chatml": nil, "chatml-tool-role": nil, "reasoning-dropper": nil,
		"strict": illegalOrder, "tool-in-user": illegalOrder,
		"no-system": illegalOrder, // the server itself moves a system message into the first user message
	}
	for _, template := range llamatest.Templates() {
		t.Run(template.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := refuses[template.Name]
			if !ok {
				t.Fatalf("no expectation for the template %s: add it to the table", template.Name)
			}
			s := llamatest.Shared(t, llamatest.Options{Model: llamatest.Model{Template: template.Text}})
			refused := map[string]bool{}
			for _, name := range want {
				refused[name] = true
			}
			for _, chat := range chats {
				status, reply := apply(t, s, chat.messages, true)
				if got := status != http.StatusOK; got != refused[chat.name] {
					t.Errorf("apply(%s) = %d %s, want refused: %t", chat.name, status, reply, refused[chat.name])
				}
			}
		})
	}
}

// TestTemplatesRender shows the exact text of one history under each template.
func TestTemplatesRender(t *testing.T) {
	t.Parallel()
	call := "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.go\"}}\n</tool_call>"
	response := func(s string) string { return "\n<tool_response>\n" + s + "\n</tool_response>" }
	chatml := func(parts ...string) string {
		var b strings.Builder
		for i := 0; i < len(parts); i += 2 {
			b.WriteString("<|im_start|>" + parts[i] + "\n" + parts[i+1] + "<|im_end|>\n")
		}
		return b.String()
	}
	joined := "<|im_start|>user" + response("r1") + response("r2") + "<|im_end|>\n"
	history := []message{user("u1"), calling("c1", "c2"), result("c1", "r1"), result("c2", "r2"), thinking("why", "a1"), user("u2")}
	head := chatml("user", "u1", "assistant", call+"\n"+call)
	reasoned := chatml("assistant", "<think>\nwhy\n</think>\n\na1", "user", "u2")
	silent := chatml("assistant", "a1", "user", "u2")
	roles := chatml("tool", "r1", "tool", "r2")
	want := map[string]string{
		"chatml":            head + joined + reasoned,
		"chatml-tool-role":  head + roles + reasoned,
		"reasoning-dropper": head + joined + silent,
		"strict":            head + roles + silent,
		"tool-in-user":      head + joined + silent,
		"no-system": strings.NewReplacer("<|im_start|>assistant", "<start_of_turn>model", "<|im_start|>", "<start_of_turn>", "<|im_end|>", "<end_of_turn>").
			Replace(head + joined + silent),
	}
	for _, template := range llamatest.Templates() {
		t.Run(template.Name, func(t *testing.T) {
			t.Parallel()
			s := llamatest.Shared(t, llamatest.Options{Model: llamatest.Model{Template: template.Text}})
			status, got := apply(t, s, history, false)
			if diff := cmp.Diff(want[template.Name], got); status != http.StatusOK || diff != "" {
				t.Errorf("apply = %d (-want +got):\n%s", status, diff)
			}
			if template.Name != "reasoning-dropper" {
				return
			}
			_, got = apply(t, s, history[:5], false)
			if !strings.Contains(got, "<think>\nwhy\n</think>") {
				t.Errorf("apply without a later user message = %q, want the reasoning in it", got)
			}
		})
	}
}

// TestNoSystemRole shows what a real server makes of a system message that the template would refuse: it finds that out when it loads the template and
// puts the text in front of the first user message.
func TestNoSystemRole(t *testing.T) {
	t.Parallel()
	s := llamatest.Shared(t, llamatest.Options{Model: llamatest.Model{Template: llamatest.NoSystem}})
	want := "<start_of_turn>user\ns\nu1<end_of_turn>\n"
	if status, got := apply(t, s, []message{system("s"), user("u1")}, false); status != http.StatusOK || got != want {
		t.Errorf("apply = %d %q, want %q", status, got, want)
	}
}

// TestToolList shows that the tools are rendered into the head, with and without a system message.
func TestToolList(t *testing.T) {
	t.Parallel()
	s := llamatest.Shared(t, llamatest.Options{})
	tools := json.RawMessage(`[{"type":"function","function":{"name":"read","description":"reads","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]`)
	for _, messages := range [][]message{{system("s"), user("u")}, {user("u")}} {
		status, reply, err := s.Do(t.Context(), http.MethodPost, "/apply-template", map[string]any{"messages": messages, "tools": tools})
		if err != nil || status != http.StatusOK || !strings.Contains(string(reply), `<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"read\"`) || strings.Count(string(reply), "im_start|>system") != 1 {
			t.Errorf("apply with tools = %d %s, %v, want one system message with the tool", status, reply, err)
		}
	}
}

// TestTemplateNamed shows that every listed name is found, and no other.
func TestTemplateNamed(t *testing.T) {
	t.Parallel()
	for _, template := range llamatest.Templates() {
		if got, ok := llamatest.TemplateNamed(template.Name); !ok || got != template.Text {
			t.Errorf("TemplateNamed(%q) = %.20q, %t, want the listed text", template.Name, got, ok)
		}
	}
	if got, ok := llamatest.TemplateNamed("none"); ok {
		t.Errorf("TemplateNamed(none) = %.20q, true, want false", got)
	}
}

func apply(t *testing.T, s *llamatest.Server, messages []message, generate bool) (int, string) {
	t.Helper()
	status, reply, err := s.Do(t.Context(), http.MethodPost, "/apply-template", map[string]any{"messages": messages, "add_generation_prompt": generate})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Prompt string }
	if status != http.StatusOK {
		return status, string(reply)
	}
	if err := json.Unmarshal(reply, &got); err != nil {
		t.Fatalf("apply reply %s: %v", reply, err)
	}
	return status, got.Prompt
}
