package llamacpp

import (
	"context"

	"sakur4/boundary"
)

var (
	_ boundary.Backend   = (*Client)(nil)
	_ boundary.Spanner   = (*Client)(nil)
	_ boundary.SlotSaver = (*Client)(nil)
	_ boundary.Idler     = (*Client)(nil)
	_ boundary.Chatter   = (*Client)(nil)
)

// Profile reports what is known of the server. The first answer is kept until [Client.Refresh].
func (c *Client) Profile(ctx context.Context) (boundary.Profile, error) {
	return boundary.Profile{}, boundary.ErrUnsupported
}

// Refresh asks the server again and reports whether it changed: another build, model, context or template.
func (c *Client) Refresh(ctx context.Context) (p boundary.Profile, changed bool, err error) {
	return boundary.Profile{}, false, boundary.ErrUnsupported
}

// Render returns the exact prompt text of a request.
func (c *Client) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	return "", boundary.ErrUnsupported
}

// Tokens returns the token ids of text with control tokens parsed, adding none.
func (c *Client) Tokens(ctx context.Context, text string) ([]int32, error) {
	return nil, boundary.ErrUnsupported
}

// TokenSpans returns the token ids of text and where each ends.
func (c *Client) TokenSpans(ctx context.Context, text string) (ids []int32, ends []int, err error) {
	return nil, nil, boundary.ErrUnsupported
}

// SaveSlot writes a slot's cache to a file of the server.
func (c *Client) SaveSlot(ctx context.Context, slot int, name string) (int, error) {
	return 0, boundary.ErrUnsupported
}

// RestoreSlot reads a slot's cache back.
func (c *Client) RestoreSlot(ctx context.Context, slot int, name string) (int, error) {
	return 0, boundary.ErrUnsupported
}

// EraseSlot empties a slot.
func (c *Client) EraseSlot(ctx context.Context, slot int) error { return boundary.ErrUnsupported }

// Idle reports whether no slot is processing a request.
func (c *Client) Idle(ctx context.Context) (bool, error) { return false, boundary.ErrUnsupported }

// Chat sends one request.
func (c *Client) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	return boundary.ChatReply{}, boundary.ErrUnsupported
}
