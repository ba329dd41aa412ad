package boundary

import (
	"errors"
	"fmt"
)

// Errors of a [Backend] that callers branch on.
var (
	// ErrContextExceeded is returned when a prompt does not fit into the context of one slot. The error is a [*ContextError].
	ErrContextExceeded = errors.New("boundary: prompt exceeds the context")
	// ErrUnavailable is returned when the server cannot be reached or does not answer properly.
	ErrUnavailable = errors.New("boundary: server unavailable")
	// ErrLoading is returned while the server loads its model. It is also [ErrUnavailable].
	ErrLoading = errors.New("boundary: server is loading its model")
	// ErrUnauthorized is returned when the server refuses the key.
	ErrUnauthorized = errors.New("boundary: not authorised")
	// ErrUnsupported is returned when the server was started without the ability, or never has it.
	ErrUnsupported = errors.New("boundary: not supported by the server")
	// ErrInvalidRequest is returned when the server refuses the messages: an illegal role or order, arguments that are no JSON.
	ErrInvalidRequest = errors.New("boundary: request refused")
)

// ContextError says that a prompt does not fit. It is [ErrContextExceeded].
type ContextError struct {
	// Prompt is the size of the prompt, Window the context of one slot, both in tokens.
	Prompt, Window int
}

// Error returns both sizes.
func (e *ContextError) Error() string {
	return fmt.Sprintf("boundary: prompt of %d tokens exceeds the context of %d", e.Prompt, e.Window)
}

// Is reports whether target is [ErrContextExceeded].
func (e *ContextError) Is(target error) bool { return target == ErrContextExceeded }
