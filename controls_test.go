package sakur4_test

import (
	"context"
	"fmt"
	"testing"

	"sakur4/boundary"
)

// peculiar is a server with control texts that no well-known template has. It may be down.
type peculiar struct{ *flaky }

func (p *peculiar) Profile(ctx context.Context) (boundary.Profile, error) {
	got, err := p.flaky.Profile(ctx)
	got.Template.ControlTexts = append([]string{"{{turn}}"}, got.Template.ControlTexts...)
	return got, err
}

// TestControlsOfAServerThatWasDown: a session that began while the server was down learns the server's own control texts when it answers. They are made
// harmless from then on; what was rendered before stays as it was, also after compactions and restarts.
func TestControlsOfAServerThatWasDown(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	o := fixed(4096)
	srv := &peculiar{&flaky{Server: newServer(4096)}}
	srv.noProfile.Store(true)
	o.Backend = srv
	d := newTrial(t, path, o)
	d.user("First {{turn}} of all.")
	w := d.window()
	if !contains(w.Messages, "First {{turn}} of all.") {
		t.Fatalf("with the server down: %q", texts(w.Messages))
	}
	d.say("Noted.")
	srv.noProfile.Store(false)
	d.user("Second {{turn}} of all.")
	check := func() {
		t.Helper()
		w := d.window()
		if !contains(w.Messages, "First {{turn}} of all.") || contains(w.Messages, "Second {{turn}}") || contains(w.Messages, "Result {{turn}}") {
			t.Errorf("window %d after %d compactions: %.300q", w.Receipt.Turn, len(d.plans), texts(w.Messages))
		}
	}
	check()
	for i := range 12 {
		d.read(fmt.Sprintf("f%d.go", i), "Result {{turn}} here.\n"+d.prose(1200))
		check()
		if i%4 == 3 {
			d.reopen(path, o)
			check()
		}
	}
	if len(d.plans) == 0 {
		t.Error("no compaction")
	}
	// A restart while the server is down forgets nothing.
	srv.noProfile.Store(true)
	d.reopen(path, o)
	check()
	d.read("g.go", "Result {{turn}} here.")
	check()
}
