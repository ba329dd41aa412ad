package sakur4

import (
	"context"
	"errors"

	"sakur4/boundary"
	"sakur4/internal/rendering"
)

// failedCount returns why the backend could not count, nil where err is anything else.
func failedCount(ctx context.Context, err error) error {
	var c *rendering.CountError
	if errors.As(err, &c) && ctx.Err() == nil {
		return c.Unwrap()
	}
	return nil
}

// server returns what counts: the engine's server, or the local counter where down says why that one cannot.
func (s *Session) server(ctx context.Context, down error) (srv rendering.Server) {
	if down == nil {
		if s.doubtful() {
			s.e.forget()
		}
		srv.Backend, srv.Profile, srv.Fallback = s.e.server(ctx)
	} else {
		s.e.log.WarnContext(ctx, "backend failed to count; counting locally", "error", down)
		s.e.forget()
		s.e.rest(down)
		srv.Backend, srv.Profile, srv.Fallback = s.e.without(ctx, boundary.Profile{}, down)
	}
	srv.Window, srv.Limit = s.e.window(srv.Profile)
	return srv
}

// doubtful reports whether the server may have become another one since it was last asked.
func (s *Session) doubtful() bool {
	return s.live == nil || s.live.window == nil || rendering.Doubtful(s.live.window.Receipt)
}

// swapped asks the server again and reports whether it answers and is another one than p says.
func (s *Session) swapped(ctx context.Context, p boundary.Profile) bool {
	s.e.forget()
	_, now, fallback := s.e.server(ctx)
	return fallback == "" && (now.Template.Digest != p.Template.Digest || now.Tokenizer != p.Tokenizer || now.Window != p.Window)
}

// forget has the backend asked for its profile again before it is used next: it may come back as another one.
func (e *Engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.profile = nil
}
