package sakur4_test

import (
	"fmt"
	"strings"
	"testing"

	"sakur4"
	"sakur4/internal/llamatest"
)

// TestLiveOddArguments sends calls whose arguments Go takes and stricter parsers do not, or only just: the server takes every later request.
func TestLiveOddArguments(t *testing.T) {
	for _, name := range []string{"chatml", "strict"} {
		t.Run(name, func(t *testing.T) {
			tmpl, ok := llamatest.TemplateNamed(name)
			if !ok {
				t.Skip("no such template")
			}
			srv := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Template: tmpl}, Context: 16384})
			d := newDrive(t, srv, nil, 16384)
			for i, args := range []string{
				`{"a":"\ud83d"}`, `{"\ud800":1}`, `{"a":"\ude00\ud83d"}`, `{"a":1e999}`, `{"a":-1E400}`, `{"a":1e-999,"b":123456789012345678901234567890}`,
				`{"a":"\ud83d\ude00 \u0000"}`, `{"a":` + strings.Repeat("[", 255) + strings.Repeat("]", 255) + `}`,
				`{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, strings.Repeat(`{"a":`, 256) + "1" + strings.Repeat("}", 256), `{"a":1,"a":2}`,
				`{"":"\/"}`, `{"invalid_arguments": "{"}`,
			} {
				d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprintf("Question %d.", i)})
				d.turn()
				id := fmt.Sprint("c", i)
				d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "read_file", Arguments: args}}})
				d.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: "no such file"})
				d.turn()
				d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Failed."})
			}
			for _, r := range d.windows {
				if notes := strings.Join(r.Notes, "; "); strings.Contains(notes, "counted locally") {
					t.Fatalf("window %d: %s", r.Turn, notes)
				}
			}
		})
	}
}
