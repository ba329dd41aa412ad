package llamacpp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

// TestClosedConnection: a server that closes a kept-alive connection while a request is on its way is asked again on a new one.
func TestClosedConnection(t *testing.T) {
	t.Parallel()
	// Each connection answers once and is closed under the second request that it gets.
	type uses struct{}
	var dropped atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(uses{}).(*atomic.Int64).Add(1) == 2 {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				dropped.Add(1)
				conn.Close()
			}
			return
		}
		w.Write([]byte(`{"tokens": [1, 2, 3]}`))
	}))
	srv.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, uses{}, new(atomic.Int64))
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c, err := llamacpp.New(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		ids, err := c.Tokens(t.Context(), "some text")
		if err != nil || len(ids) != 3 {
			t.Fatalf("request %d: Tokens = %v, %v; want 3 tokens", i, ids, err)
		}
	}
	if dropped.Load() == 0 {
		t.Error("no connection was dropped: the test shows nothing")
	}
}

// TestBrokenAnswer: an answer that is cut short is asked for once more, and not for ever.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	var asked, cut atomic.Int64
	cut.Store(1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Length", "23")
		if cut.Add(-1) >= 0 {
			w.Write([]byte(`{"tokens": [1`))
			panic(http.ErrAbortHandler)
		}
		w.Write([]byte(`{"tokens": [1, 2, 3] }` + "\n"))
	}))
	t.Cleanup(srv.Close)
	c, err := llamacpp.New(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := c.Tokens(t.Context(), "text"); err != nil || len(ids) != 3 {
		t.Errorf("Tokens = %v, %v after one broken answer", ids, err)
	}
	asked.Store(0)
	cut.Store(100)
	if _, err := c.Tokens(t.Context(), "text"); !errors.Is(err, boundary.ErrUnavailable) || asked.Load() < 2 || asked.Load() > 4 {
		t.Errorf("Tokens = %v after %d requests, want ErrUnavailable after a few", err, asked.Load())
	}
}
