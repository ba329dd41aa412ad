package sakur4_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
)

// restarted is a server that can come back with another context or template. Like a client of a real one it keeps its first profile until it is
// refreshed.
type restarted struct {
	*embedded.Server
	mu        sync.Mutex // guards what follows
	window    int
	digest    string
	noSystem  bool
	kept      *boundary.Profile
	refreshed int
	down      bool
}

func (r *restarted) Profile(ctx context.Context) (boundary.Profile, error) {
	r.mu.Lock()
	kept := r.kept
	r.mu.Unlock()
	if kept != nil {
		return *kept, nil
	}
	p, _, err := r.Refresh(ctx)
	return p, err
}

func (r *restarted) Refresh(ctx context.Context) (boundary.Profile, bool, error) {
	p, err := r.Server.Profile(ctx)
	if err != nil {
		return p, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refreshed++
	p.Window, p.Template.NoSystemRole = r.window, r.noSystem
	p.Template.Digest += r.digest
	r.kept = &p
	return p, true, nil
}

func (r *restarted) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.down:
		return "", errDown
	case r.noSystem && strings.Contains(string(req.Messages), `"role":"system"`):
		return "", errRefused
	}
	return r.Server.Render(ctx, req)
}

func (r *restarted) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// restartRig is a session on such a server.
type restartRig struct {
	t    *testing.T
	srv  *restarted
	eng  *sakur4.Engine
	s    *sakur4.Session
	head sakur4.Head
	n    int
}

func newRestartRig(t *testing.T) *restartRig {
	t.Helper()
	srv := &restarted{Server: newServer(8192), window: 8192}
	eng, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{Project: "p", Backend: srv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return &restartRig{t: t, srv: srv, eng: eng, s: eng.Session("s"), head: sakur4.Head{System: "You are careful."}}
}

func (g *restartRig) commit(turn sakur4.Turn) {
	g.t.Helper()
	if _, err := g.s.Commit(g.t.Context(), turn); err != nil {
		g.t.Fatal(err)
	}
}

// ask commits a question of some hundred tokens, and the reply to the one before it.
func (g *restartRig) ask() *sakur4.Window {
	g.t.Helper()
	if g.n > 0 {
		g.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: fmt.Sprintf("Answer %d. %s", g.n, strings.Repeat("as before ", 100))})
	}
	g.n++
	g.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprintf("Question %d?", g.n)})
	return g.window()
}

func (g *restartRig) window() *sakur4.Window {
	g.t.Helper()
	w, err := g.s.Window(g.t.Context(), g.head)
	if err != nil {
		g.t.Fatal(err)
	}
	return w
}

// observe enters what a server measures that holds the whole session, or as much of it as held says.
func (g *restartRig) observe(w *sakur4.Window, drift, held int) {
	g.t.Helper()
	if held < 0 {
		held = w.Receipt.Cache.Predicted
	}
	if _, err := g.s.Observe(g.t.Context(), sakur4.Usage{Window: w.ID, PromptTokens: w.Receipt.Used + drift, CachedTokens: &held}); err != nil {
		g.t.Fatal(err)
	}
}

// grow asks so many questions, each answered as predicted.
func (g *restartRig) grow(n int) {
	g.t.Helper()
	for range n {
		g.observe(g.ask(), 0, -1)
	}
}

func notes(w *sakur4.Window) string { return strings.Join(w.Receipt.Notes, "; ") }

// TestSmallerContext: a server that comes back with a smaller context is noticed by what was measured, or by the want of it; the next prompt fits
// and says so.
func TestSmallerContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		last func(g *restartRig) // what happens to the prompt sent after the restart
		same bool                // the prompt is asked for again, without a new turn
	}{
		{"cold", func(g *restartRig) { g.observe(g.ask(), 0, 0) }, false},
		{"drift", func(g *restartRig) { g.observe(g.ask(), 3, -1) }, false},
		{"not observed", func(g *restartRig) { g.ask() }, false},
		{"request failed", func(g *restartRig) { g.ask() }, true},
		{"failed to count", func(g *restartRig) {
			g.srv.set(func() { g.srv.down = true })
			if w := g.ask(); !strings.Contains(notes(w), "counted locally") {
				t.Errorf("notes %q, want a local count", notes(w))
			}
			g.srv.set(func() { g.srv.down = false })
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newRestartRig(t)
			g.grow(20)
			if r, err := g.s.Receipt(t.Context()); err != nil || r.Used < 2048 {
				t.Fatalf("%d tokens used, %v, want more than the smaller context", r.Used, err)
			}
			g.srv.set(func() { g.srv.window = 2048 })
			c.last(g)
			ask := g.ask
			if c.same {
				ask = g.window
			}
			w := ask()
			const limit = 2048 - 2048/8
			if w.Receipt.Used > limit || w.Receipt.Window != 2048 || !strings.Contains(notes(w), "the server's context changed from 8192 to 2048 tokens") {
				t.Errorf("window of %d tokens, %d used, notes %q", w.Receipt.Window, w.Receipt.Used, notes(w))
			}
			g.observe(w, 0, -1)
			if w = g.ask(); strings.Contains(notes(w), "context changed") {
				t.Errorf("the prompt after it says so again: %q", notes(w))
			}
		})
	}
}

// TestUnchangedServerIsNotAsked: while everything is measured as predicted, the server is asked once.
func TestUnchangedServerIsNotAsked(t *testing.T) {
	t.Parallel()
	g := newRestartRig(t)
	g.grow(10)
	if g.srv.refreshed != 1 {
		t.Errorf("asked %d times, want once", g.srv.refreshed)
	}
}

// TestOtherTemplate: a server that comes back with a template without a system role gets the head in the first user message, as soon as it was
// asked about a whole prompt or has refused one.
func TestOtherTemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		next func(g *restartRig) *sakur4.Window
	}{
		{"request failed", func(g *restartRig) *sakur4.Window { g.ask(); return g.window() }},
		{"cold", func(g *restartRig) *sakur4.Window { g.observe(g.ask(), 0, 0); return g.ask() }},
		{"counted in full", func(g *restartRig) *sakur4.Window { g.head.System += " Very."; return g.ask() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newRestartRig(t)
			g.grow(5)
			g.srv.set(func() { g.srv.digest, g.srv.noSystem = "2", true })
			w := c.next(g)
			if n := notes(w); !strings.HasPrefix(n, "the server's template changed") || strings.Contains(n, "counted") {
				t.Errorf("notes %q", n)
			}
			if m := w.Messages[0]; m.Role != string(sakur4.RoleUser) {
				t.Errorf("the first message is of the role %q", m.Role)
			}
			g.observe(w, 0, 0)
			if w = g.ask(); notes(w) != "" {
				t.Errorf("the prompt after it: notes %q", notes(w))
			}
		})
	}
}

// TestCounterChanged: where the server counts again after the local counter did, the receipt names that, and blames no template.
func TestCounterChanged(t *testing.T) {
	t.Parallel()
	srv := &flaky{Server: newServerWith(8192, sakur4.CL100kBase(), boundary.AnyToken)}
	g := &restartRig{t: t}
	eng, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{Project: "p", Backend: srv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	g.eng, g.s = eng, eng.Session("s")
	g.grow(3)
	srv.noProfile.Store(true)
	srv.noRender.Store(true)
	if w := g.ask(); !strings.Contains(notes(w), "counted locally") {
		t.Errorf("notes %q, want a local count", notes(w))
	}
	srv.noProfile.Store(false)
	srv.noRender.Store(false)
	w := g.ask()
	if n := notes(w); !strings.Contains(n, "the prompt before by o200k_base (local)") || strings.Contains(n, "rewrote") {
		t.Errorf("notes %q, want the change of the counter and no word of the template", n)
	}
}
