package sakur4_test

import (
	"fmt"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveFold: after Unfold a real server reuses everything up to where the fold was opened, to the token: with full attention the prompt up to the end of
// the result that answers the opening call, with a sliding window the newest checkpoint before it.
func TestLiveFold(t *testing.T) {
	for _, tmpl := range llamatest.Templates() {
		for _, arch := range []llamatest.Arch{llamatest.Full, llamatest.Sliding} {
			t.Run(fmt.Sprintf("%s/%s", tmpl.Name, arch), func(t *testing.T) {
				srv := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: arch, Template: tmpl.Text}, Context: 16384, UBatch: 512, Spacing: 256, Checkpoints: 32})
				o := &llamacpp.Options{}
				if arch == llamatest.Sliding {
					o.Rule = &boundary.CheckpointRule{Spacing: 256, Max: 32, Ubatch: 512}
				}
				liveFold(t, newDrive(t, srv, o, 16384), arch)
			})
		}
	}
}

func liveFold(t *testing.T, d *drive, arch llamatest.Arch) {
	const opened = "the fold is open, go on"
	ctx := t.Context()
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find the slow query."})
	d.turn()
	d.work(3)
	call := func(name string, run func() string) {
		d.calls++
		id := fmt.Sprintf("fold_%d", d.calls)
		d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: name, Arguments: "{}"}}})
		d.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: run()})
	}
	var id sakur4.FoldID
	call("memory_fold", func() string {
		fold, err := d.s.Fold(ctx, "look at the logs", "")
		if err != nil {
			t.Fatal(err)
		}
		id = fold
		return opened
	})
	d.turn()
	d.work(6)
	call("memory_unfold", func() string {
		if err := d.s.Unfold(ctx, id, "found it"); err != nil {
			t.Fatal(err)
		}
		return "closed"
	})
	d.prev = nil // the one other break
	d.turn()
	r := d.windows[len(d.windows)-1]

	// The position of opening in the server's own tokens: the summary stands right behind it.
	w, err := d.s.Window(ctx, d.head)
	if err != nil {
		t.Fatal(err)
	}
	server := d.eng.Backend()
	text, err := server.Render(ctx, boundary.RenderRequest{Messages: sakur4.MarshalMessages(w.Messages), Tools: d.head.Tools, GenerationPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(text, opened)
	if at < 0 || !strings.Contains(text[at:], "found it") {
		t.Fatalf("the prompt does not show the fold:\n%s", text)
	}
	before, err := server.Tokens(ctx, text[:at+len(opened)])
	if err != nil {
		t.Fatal(err)
	}
	opening := len(before)
	switch {
	case r.Cache.Reused != r.Cache.Predicted:
		t.Errorf("%d tokens reused, %d predicted\n%s", r.Cache.Reused, r.Cache.Predicted, r)
	case arch == llamatest.Full && r.Cache.Reused != opening:
		t.Errorf("%d tokens reused, the fold was opened at %d\n%s", r.Cache.Reused, opening, r)
	case arch == llamatest.Sliding && (r.Cache.Boundary != opening || r.Cache.Reused != r.Cache.Checkpoint || r.Cache.Reused > opening || r.Cache.Reused < opening-1024):
		t.Errorf("%d tokens reused, the fold was opened at %d, the checkpoint before it is at %d\n%s", r.Cache.Reused, opening, r.Cache.Checkpoint, r)
	}
	t.Logf("opened at %d, reused %d, checkpoint %d, of %d tokens", opening, r.Cache.Reused, r.Cache.Checkpoint, r.Used)
	d.work(2)
}
