package llamacpp

import (
	"context"
	"fmt"

	"sakur4/boundary"
)

// Slot is the state of one slot of the server.
type Slot struct {
	// ID is the slot's number, ContextTokens the size of its context.
	ID            int `json:"id"`
	ContextTokens int `json:"n_ctx"`
	// Processing says that the slot works on a request.
	Processing bool `json:"is_processing"`
	// PromptTokens is what the slot holds; 0 where nothing was processed yet or the server does not say.
	PromptTokens int `json:"n_prompt_tokens"`
}

// Slots returns the state of every slot. It is [boundary.ErrUnsupported] where the server was started with --no-slots.
func (c *Client) Slots(ctx context.Context) ([]Slot, error) {
	var slots []Slot
	if err := c.call(ctx, "/slots", nil, &slots); err != nil {
		return nil, err
	}
	return slots, nil
}

// Idle reports whether no slot is processing a request. Any error means that it cannot be proved.
func (c *Client) Idle(ctx context.Context) (bool, error) {
	slots, err := c.Slots(ctx)
	if err != nil {
		return false, err
	}
	for _, s := range slots {
		if s.Processing {
			return false, nil
		}
	}
	return len(slots) > 0, nil
}

// SaveSlot writes a slot's cache to a file in the server's --slot-save-path and says what was saved: the tokens that were evaluated, and of a
// windowed or recurrent model the checkpoints. It is [boundary.ErrUnsupported] where the server has no such path. A slot that works on a request is
// saved when it is done.
func (c *Client) SaveSlot(ctx context.Context, slot int, name string) (boundary.SlotFile, error) {
	var out struct {
		Saved   int   `json:"n_saved"`
		Written int64 `json:"n_written"`
	}
	err := c.slot(ctx, slot, "save", name, &out)
	return boundary.SlotFile{Tokens: out.Saved, Bytes: out.Written}, err
}

// RestoreSlot reads a slot's cache back and says what was read. A missing or damaged file, one of a model of another shape, and one that the context has
// no room for is [boundary.ErrInvalidRequest] and leaves the slot empty. The server notices neither changed bytes in the middle of a file nor other weights
// of the same shape.
func (c *Client) RestoreSlot(ctx context.Context, slot int, name string) (boundary.SlotFile, error) {
	var out struct {
		Restored int   `json:"n_restored"`
		Read     int64 `json:"n_read"`
	}
	err := c.slot(ctx, slot, "restore", name, &out)
	return boundary.SlotFile{Tokens: out.Restored, Bytes: out.Read}, err
}

// EraseSlot empties a slot.
func (c *Client) EraseSlot(ctx context.Context, slot int) error {
	var out struct{}
	return c.slot(ctx, slot, "erase", "", &out)
}

func (c *Client) slot(ctx context.Context, slot int, action, name string, out any) error {
	body, err := encode(struct {
		Filename string `json:"filename,omitempty"`
	}{name})
	if err != nil {
		return err
	}
	return c.call(ctx, fmt.Sprintf("/slots/%d?action=%s", slot, action), body, out)
}
