package embedded

import (
	"context"

	"sakur4/boundary"
)

var (
	_ boundary.Backend   = (*Server)(nil)
	_ boundary.Spanner   = (*Server)(nil)
	_ boundary.SlotSaver = (*Server)(nil)
	_ boundary.Idler     = (*Server)(nil)
	_ boundary.Chatter   = (*Server)(nil)
)

// Profile reports what is known of the server.
func (s *Server) Profile(ctx context.Context) (boundary.Profile, error) {
	return boundary.Profile{}, boundary.ErrUnsupported
}

// Render returns the exact prompt text of a request.
func (s *Server) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	return "", boundary.ErrUnsupported
}

// Tokens returns the token ids of text with control tokens parsed, adding none.
func (s *Server) Tokens(ctx context.Context, text string) ([]int32, error) {
	return nil, boundary.ErrUnsupported
}

// TokenSpans returns the token ids of text and where each ends.
func (s *Server) TokenSpans(ctx context.Context, text string) (ids []int32, ends []int, err error) {
	return nil, nil, boundary.ErrUnsupported
}

// SaveSlot writes a slot's cache to a file of the server.
func (s *Server) SaveSlot(ctx context.Context, slot int, name string) (int, error) {
	return 0, boundary.ErrUnsupported
}

// RestoreSlot reads a slot's cache back.
func (s *Server) RestoreSlot(ctx context.Context, slot int, name string) (int, error) {
	return 0, boundary.ErrUnsupported
}

// EraseSlot empties a slot.
func (s *Server) EraseSlot(ctx context.Context, slot int) error { return boundary.ErrUnsupported }

// Idle reports whether no slot is processing a request.
func (s *Server) Idle(ctx context.Context) (bool, error) { return false, boundary.ErrUnsupported }

// Chat sends one request.
func (s *Server) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	return boundary.ChatReply{}, boundary.ErrUnsupported
}
