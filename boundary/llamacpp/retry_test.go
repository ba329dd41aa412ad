package llamacpp_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

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
