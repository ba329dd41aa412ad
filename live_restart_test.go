package sakur4_test

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"sakur4"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveSmallerContext replaces a real server under its address by one with a smaller context, and by one with another template.
func TestLiveSmallerContext(t *testing.T) {
	big := llamatest.Start(t, llamatest.Options{Context: 8192})
	small := llamatest.Start(t, llamatest.Options{Context: 2048})
	strict := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Template: llamatest.NoSystem}, Context: 2048})
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
	big.URL = front.URL // what the client is given; the process is stopped by its own handle
	d := newDrive(t, big, &llamacpp.Options{}, 0)
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
	d.turn()
	for d.windows[len(d.windows)-1].Used < 4096 {
		d.work(1)
	}
	use(small)
	// The agent's request is refused; it asks for the prompt again.
	d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Done with that."})
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
	if _, err := d.s.Window(t.Context(), d.head); err != nil {
		t.Fatal(err)
	}
	d.mayMiss = true
	d.turn()
	r := d.windows[len(d.windows)-1]
	if notes := strings.Join(r.Notes, "; "); r.Window != 2048 || r.Used > 2048-2048/8 || !strings.Contains(notes, "the server's context changed from 8192 to 2048 tokens") {
		t.Errorf("window of %d tokens, %d used, notes %q", r.Window, r.Used, notes)
	}
	d.work(3)
	use(strict)
	d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Done with that."})
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
	if _, err := d.s.Window(t.Context(), d.head); err != nil {
		t.Fatal(err)
	}
	d.prev = nil // the head moves
	d.turn()
	if notes := strings.Join(d.windows[len(d.windows)-1].Notes, "; "); !strings.Contains(notes, "the server's template changed") {
		t.Errorf("notes %q", notes)
	}
	d.work(3)
}
