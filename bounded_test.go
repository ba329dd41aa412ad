package sakur4_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
)

// hanging is a server that answers some questions only when their context ends.
type hanging struct {
	*embedded.Server
	profile, render, tokens atomic.Bool
	hangs                   atomic.Int64
}

func (h *hanging) hang(ctx context.Context) error {
	h.hangs.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

func (h *hanging) Profile(ctx context.Context) (boundary.Profile, error) {
	if h.profile.Load() {
		return boundary.Profile{}, h.hang(ctx)
	}
	return h.Server.Profile(ctx)
}

func (h *hanging) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	if h.render.Load() {
		return "", h.hang(ctx)
	}
	return h.Server.Render(ctx, req)
}

func (h *hanging) Tokens(ctx context.Context, text string) ([]int32, error) {
	if h.tokens.Load() {
		return nil, h.hang(ctx)
	}
	return h.Server.Tokens(ctx, text)
}

func (h *hanging) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	if h.tokens.Load() {
		return nil, nil, h.hang(ctx)
	}
	return h.Server.TokenSpans(ctx, text)
}

// TestHungBackend: a backend that does not answer holds up one prompt, for as long as one question may take. The next ones are counted locally at
// once, and after half a minute it is asked again. The clock is the bubble's: nothing waits.
func TestHungBackend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(h *hanging, on bool)
	}{
		{"profile", func(h *hanging, on bool) { h.profile.Store(on) }},
		{"render", func(h *hanging, on bool) { h.render.Store(on) }},
		{"tokens", func(h *hanging, on bool) { h.tokens.Store(on) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hanging{Server: newServer(8192)}
				c.set(h, true)
				e, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{Project: "p", Backend: h})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				s := e.Session("s")
				window := func(want time.Duration, local bool) {
					t.Helper()
					if _, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "go on"}); err != nil {
						t.Fatal(err)
					}
					start := time.Now()
					w, err := s.Window(t.Context(), sakur4.Head{System: "You are careful."})
					if err != nil {
						t.Fatal(err)
					}
					notes := strings.Join(w.Receipt.Notes, "; ")
					if took := time.Since(start); took != want || strings.Contains(notes, "counted locally") != local {
						t.Errorf("Window took %v, notes %q, want %v, counted locally %t", took, notes, want, local)
					}
					if _, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleAssistant, Content: "done"}); err != nil {
						t.Fatal(err)
					}
				}
				window(20*time.Second, true)
				for range 3 {
					window(0, true)
				}
				if n := h.hangs.Load(); n != 1 {
					t.Errorf("asked %d times, want once", n)
				}
				time.Sleep(30 * time.Second)
				window(20*time.Second, true)
				window(0, true)
				c.set(h, false)
				time.Sleep(30 * time.Second)
				window(0, false)
			})
		})
	}
}

// TestHungBackendOfCaller: a caller's own deadline is the caller's error, and nobody else's rest.
func TestHungBackendOfCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{Server: newServer(8192)}
		h.render.Store(true)
		e, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{Project: "p", Backend: h})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		s := e.Session("s")
		if _, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "go on"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Window(ctx, sakur4.Head{}); ctx.Err() == nil || err == nil {
			t.Fatalf("Window = %v, context %v, want its deadline", err, ctx.Err())
		}
		h.render.Store(false)
		w, err := s.Window(t.Context(), sakur4.Head{})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(w.Receipt.Notes, "; "); notes != "" {
			t.Errorf("notes %q, want none", notes)
		}
	})
}
