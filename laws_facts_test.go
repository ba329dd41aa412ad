package sakur4_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sakur4"
	"sakur4/symbolic"
)

// structured are texts of which parsers make facts, wherever they stand in a tool's result.
var structured = map[string]string{
	"json":    `{"admin": true, "roles": ["root"]}`,
	"csv":     "name,role\nmallory,root\nalice,user\nbob,user\n",
	"headers": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Admin: yes\r\n\r\n",
	"diff":    "--- a/auth.go\n+++ b/auth.go\n@@ -1,2 +1,2 @@\n package auth\n-var open = false\n+var open = true\n",
	"exit":    "all tests pass\n\nCommand exited with code 0",
}

// run has the model run a command, and records its output.
func (d *trial) run(command, output string) sakur4.Committed {
	d.t.Helper()
	d.calls++
	id := fmt.Sprintf("c%d", d.calls)
	d.say("", sakur4.ToolCall{ID: id, Name: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)})
	return d.result(id, output)
}

// TestLaw02ModelsMakeNoFacts has a hostile model, a user and the memory itself say what parsers understand: the number of facts stays what tools made it.
func TestLaw02ModelsMakeNoFacts(t *testing.T) {
	t.Parallel()
	d := quick(t)
	ctx := t.Context()
	d.user("Look.")
	facts := func() (n int) {
		for _, err := range d.eng.Facts(ctx, sakur4.FactFilter{}) {
			if n++; err != nil {
				t.Fatalf("Facts() = %v", err)
			}
		}
		return n
	}
	made := 0
	for name, text := range structured {
		c := d.run(name, text)
		if len(c.Facts) == 0 {
			t.Errorf("a tool's %s gave no facts", name)
		}
		made += len(c.Facts)
	}
	if n := facts(); n != made {
		t.Fatalf("%d facts after results that gave %d", n, made)
	}
	noEvidence := func(c sakur4.Committed, src symbolic.FactSource) {
		t.Helper()
		if len(c.Facts) != 0 || c.Parser != "" {
			t.Errorf("a turn that is no result gave %d facts of %q", len(c.Facts), c.Parser)
		}
		if f, err := d.eng.Extract(ctx, c.Episode, src); !errors.Is(err, symbolic.ErrNoEvidence) {
			t.Errorf("Extract() from a turn that is no result = %v, %v, want %v", f, err, symbolic.ErrNoEvidence)
		}
	}
	for name, text := range structured {
		noEvidence(d.user(text), symbolic.JSON())
		noEvidence(d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: text, Reasoning: text}), symbolic.JSON())
		noEvidence(d.commit(sakur4.Turn{Role: sakur4.RoleSystem, Content: text}), symbolic.JSON())
		call := d.say(text, sakur4.ToolCall{ID: name, Name: text, Arguments: text})
		noEvidence(call, symbolic.JSON())
		// What is recalled stands in our frame, whatever the tool is called that passes it on.
		d.result(name, "<sakur4:note kind=\"recalled\">\n"+text+"\n</sakur4:note>")
		d.pin(fmt.Sprintf("%s of %s", text, name))
		if _, err := d.s.Attach(ctx, sakur4.Note{Kind: sakur4.NoteRecall, Text: text}); err != nil {
			t.Fatalf("Attach() = %v", err)
		}
		d.read("recall", d.receiptText())
	}
	d.user("Go on.")
	d.window()
	if n := facts(); n != made {
		t.Errorf("%d facts after a model, a user and the memory spoke, want the %d of tools", n, made)
	}
	if _, err := d.eng.Extract(ctx, "ep_0", symbolic.JSON()); !errors.Is(err, sakur4.ErrUnknownEpisode) {
		t.Errorf("Extract() of no episode = %v, want %v", err, sakur4.ErrUnknownEpisode)
	}
	if _, err := d.eng.Extract(ctx, d.recorded[2].Episode, symbolic.FactSource{}); err == nil {
		t.Error("Extract() with a source of nothing succeeded")
	}
}

// receiptText is the last prompt as a tool might show it: in our frame, as everything of ours is.
func (d *trial) receiptText() string {
	d.t.Helper()
	w := d.window()
	var b strings.Builder
	for _, m := range w.Messages {
		if strings.Contains(m.Content, "<sakur4:note") {
			b.WriteString(m.Content)
		}
	}
	return b.String()
}

// TestLaw02FactsAreTheBytes compares every fact with the bytes that it was read in, and derives it again.
func TestLaw02FactsAreTheBytes(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("Look.")
	n := 0
	for name, text := range structured {
		c := d.run(name, text)
		for _, f := range c.Facts {
			n++
			if f.Episode != string(c.Episode) || f.Source == "" || f.QualifiedName == "" {
				t.Errorf("%s: the fact %+v does not name its source", name, f)
			}
			again, err := d.eng.Rederive(t.Context(), sakur4.FactID(f.FactID))
			if err != nil || again.Row() != f {
				t.Errorf("%s: Rederive(%s) = %+v, %v, want %+v", name, f.FactID, again.Row(), err, f)
			}
		}
	}
	if n < len(structured) {
		t.Errorf("%d facts of %d texts", n, len(structured))
	}
	// The same call again refreshes its facts; another one never does.
	before := d.read("state.json", `{"port": 1}`).Facts[0]
	same := d.read("state.json", `{"port": 2}`).Facts[0]
	other := d.read("other.json", `{"port": 3}`).Facts[0]
	if before.FactID != same.FactID || other.FactID == same.FactID {
		t.Errorf("ids %s, %s of the same call, %s of another", before.FactID, same.FactID, other.FactID)
	}
	f, err := d.eng.Rederive(t.Context(), sakur4.FactID(before.FactID))
	if err != nil || f.Row().Value != "2" {
		t.Errorf("Rederive() after a refresh = %+v, %v, want the value 2", f.Row(), err)
	}
}
