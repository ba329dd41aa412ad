package sakur4_test

import (
	"encoding/json"
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

// TestLiveSlotTaken lets a second client take the slot of a real server, and then puts a fresh server in its place: each is named by the next receipt,
// nothing is lost, and the prompt after is predicted again.
func TestLiveSlotTaken(t *testing.T) {
	first := llamatest.Start(t, llamatest.Options{Context: 32768, Args: []string{"-cram", "0"}})
	second := llamatest.Start(t, llamatest.Options{Context: 32768, Args: []string{"-cram", "0"}})
	var now atomic.Pointer[url.URL]
	use := func(s string) {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		now.Store(u)
	}
	use(first.URL)
	direct := first.URL
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(now.Load()) }})
	defer front.Close()
	first.URL = front.URL
	d := newDrive(t, first, &llamacpp.Options{}, 0)
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
	d.turn()
	d.work(4)
	wants := func(what string) {
		t.Helper()
		before := len(d.prev)
		d.mayMiss = true
		d.work(1)
		d.mayMiss = false
		found := false
		for _, r := range d.windows[len(d.windows)-2:] {
			found = found || strings.Contains(r.Cache.Cause, "the server restarted or the slot was taken") && r.Cache.Reused <= 16
		}
		r := d.windows[len(d.windows)-1]
		if !found || len(d.prev) <= before {
			t.Errorf("%s: cause %q, %d of %d predicted tokens reused, %d messages after %d", what, r.Cache.Cause, r.Cache.Reused, r.Cache.Predicted, len(d.prev), before)
		}
		d.work(2) // predicted to the token again
	}
	thief, err := llamacpp.New(direct, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := thief.Chat(t.Context(), boundary.ChatRequest{Messages: json.RawMessage(`[{"role":"user","content":"Something else."}]`),
		Fields: json.RawMessage(`{"id_slot":0,"cache_prompt":true}`), MaxTokens: 4}, nil); err != nil {
		t.Fatal(err)
	}
	wants("slot taken")
	use(second.URL)
	wants("server restarted")
}
