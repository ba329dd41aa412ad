package sakur4_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveServerChanges has everything happen to a real server that may happen to one under a running session: a second client takes the slot, the server is
// restarted, and it comes back with a smaller context, a larger one and another template. The next receipt names each, nothing recorded is lost,
// the rules stay in the prompt, and the prompts after are predicted again.
func TestLiveServerChanges(t *testing.T) {
	for _, arch := range []llamatest.Arch{llamatest.Full, llamatest.Sliding} {
		t.Run(string(arch), func(t *testing.T) { serverChanges(t, arch) })
	}
}

func serverChanges(t *testing.T, arch llamatest.Arch) {
	ctx := t.Context()
	start := func(context int, template string) *llamatest.Server {
		return llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: arch, SlidingWindow: 128, Template: template}, Context: context, UBatch: 256, Spacing: 256,
			Args: []string{"-cram", "0"}})
	}
	big, small, strict := start(8192, ""), start(2048, ""), start(8192, llamatest.NoSystem)
	var now atomic.Pointer[url.URL]
	use := func(s *llamatest.Server) {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		now.Store(u)
	}
	use(big)
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(now.Load()) }})
	defer front.Close()
	opts := &llamacpp.Options{}
	if arch == llamatest.Sliding {
		opts.Rule = &boundary.CheckpointRule{Spacing: 256, Ubatch: 256}
	}
	d := newDrive(t, &llamatest.Server{URL: front.URL}, opts, 0)
	d.rule = "never force-push to main"
	if _, err := d.s.Pin(ctx, d.rule, sakur4.PinConstraint); err != nil {
		t.Fatal(err)
	}
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
	d.turn()
	for d.windows[len(d.windows)-1].Used < 3000 {
		d.work(1)
	}

	// ask is one more question; what follows it is expected to differ from the prediction.
	ask := func() {
		d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Done with that."})
		d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on with " + d.words(8) + "."})
	}
	said := func(r int) string {
		w := d.windows[r]
		return strings.Join(append([]string{w.Cache.Cause}, w.Notes...), "; ")
	}
	// after checks what was said from the r-th prompt on, and that the session goes on as if nothing had been.
	after := func(what string, r int, names string) {
		t.Helper()
		if got := said(r); !strings.Contains(got, names) {
			t.Errorf("%s: the receipt says %q, want %q", what, got, names)
		}
		t.Logf("%s: %d of %d predicted tokens reused: %s", what, d.windows[r].Cache.Reused, d.windows[r].Cache.Predicted, said(r))
		d.mayMiss = false
		d.work(2) // counted and predicted to the token
		i := 0
		for ep, err := range d.eng.Episodes(ctx, sakur4.EpisodeFilter{Session: d.s.ID()}) {
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(d.said) || ep.Content != d.said[i].Content || ep.Role != d.said[i].Role {
				t.Fatalf("%s: episode %d is %s %q, want %+v", what, i, ep.Role, ep.Content, d.said[min(i, len(d.said)-1)])
			}
			i++
		}
		if i != len(d.said) {
			t.Errorf("%s: %d episodes, %d were committed", what, i, len(d.said))
		}
	}
	const lost = "the server restarted or the slot was taken"

	thief, err := llamacpp.New(big.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := thief.Chat(ctx, boundary.ChatRequest{Messages: json.RawMessage(`[{"role":"user","content":"Something else."}]`),
		Fields: json.RawMessage(`{"id_slot":0,"cache_prompt":true}`), MaxTokens: 4}, nil); err != nil {
		t.Fatal(err)
	}
	d.mayMiss = true
	n := len(d.windows)
	ask()
	d.turn()
	after("slot taken", n, lost)

	big.Restart(t)
	d.mayMiss = true
	n = len(d.windows)
	ask()
	d.turn()
	after("restarted", n, lost)

	use(small)
	ask()
	w, err := d.s.Window(ctx, d.head)
	if err != nil {
		t.Fatal(err)
	}
	// The prompt is too long for what is there now. The agent asks for it again.
	var full *boundary.ContextError
	if _, err := d.chat.Chat(ctx, boundary.ChatRequest{Messages: sakur4.MarshalMessages(w.Messages), Tools: d.head.Tools, MaxTokens: 1}, nil); !errors.As(err, &full) {
		t.Fatalf("Chat(%d tokens) with a context of 2048: %v, want a %T", w.Receipt.Used, err, full)
	}
	d.mayMiss = true
	n = len(d.windows)
	d.turn()
	if r := d.windows[n]; r.Window != 2048 || r.Used > 2048-2048/8 {
		t.Errorf("smaller context: %d of %d tokens used", r.Used, r.Window)
	}
	after("smaller context", n, "the server's context changed from 8192 to 2048 tokens")

	big.Restart(t)
	use(big)
	d.mayMiss = true
	n = len(d.windows)
	ask()
	d.turn()
	if !strings.Contains(said(n), lost) {
		t.Errorf("larger context: the receipt says %q, want %q", said(n), lost)
	}
	n = len(d.windows)
	ask()
	d.turn()
	after("larger context", n, "the server's context changed from 2048 to 8192 tokens")

	use(strict)
	d.mayMiss = true
	ask()
	if _, err := d.s.Window(ctx, d.head); err != nil { // refused, or never sent: it is asked for again
		t.Fatal(err)
	}
	d.prev = nil // the head moves
	n = len(d.windows)
	d.turn()
	after("other template", n, "the server's template changed")
}
