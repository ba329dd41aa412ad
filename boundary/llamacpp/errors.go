package llamacpp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"sakur4/boundary"
)

// ErrBodyTooLarge is returned by every call when the answer is larger than [Options.MaxBody].
var ErrBodyTooLarge = errors.New("llamacpp: answer too large")

// APIError is an error that the server reported. With [errors.Is] it answers to [boundary.ErrContextExceeded], [boundary.ErrUnauthorized],
// [boundary.ErrUnsupported], [boundary.ErrLoading], [boundary.ErrUnavailable] and [boundary.ErrInvalidRequest];
// with [errors.As] it yields a [*boundary.ContextError] where the prompt was too long.
type APIError struct {
	// Status is the HTTP status; 0 where the error came inside a stream without one.
	Status int
	// Type is the server's name for the error, such as "exceed_context_size_error"; "" if it gave none.
	Type string
	// Message is the server's text.
	Message string
	// NPrompt and NCtx are the sizes of the prompt and of the context in tokens where the prompt was too long, else 0.
	NPrompt, NCtx int
}

const exceedContext = "exceed_context_size_error"

// Error returns the status and what the server said.
func (e *APIError) Error() string {
	s := fmt.Sprintf("server answered %d", e.Status)
	if e.Type != "" {
		s += " " + e.Type
	}
	return s + ": " + e.Message
}

// Is reports whether the error is the sentinel.
func (e *APIError) Is(target error) bool {
	switch target {
	case boundary.ErrContextExceeded:
		return e.Type == exceedContext
	case boundary.ErrUnauthorized:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	case boundary.ErrUnsupported:
		return e.Status == http.StatusNotImplemented || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
	case boundary.ErrLoading:
		return e.Status == http.StatusServiceUnavailable
	case boundary.ErrUnavailable:
		return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout
	case boundary.ErrInvalidRequest:
		return e.Type != exceedContext && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
	}
	return false
}

// Unwrap returns the sizes as a [*boundary.ContextError] where the prompt was too long, else nil.
func (e *APIError) Unwrap() error {
	if e.Type != exceedContext {
		return nil
	}
	return &boundary.ContextError{Prompt: e.NPrompt, Window: e.NCtx}
}

// wireError is the error object in an answer.
type wireError struct {
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
	Type    string          `json:"type"`
	NPrompt int             `json:"n_prompt_tokens"`
	NCtx    int             `json:"n_ctx"`
}

// maxErrorText bounds the text of an answer that is no error object.
const maxErrorText = 512

// apiError reads the body of a refused request. A body in another form becomes the message.
func apiError(status int, body []byte) *APIError {
	var wire struct {
		Error json.RawMessage `json:"error"`
	}
	e := &APIError{Status: status, Message: http.StatusText(status)}
	if json.Unmarshal(body, &wire) == nil && len(wire.Error) > 0 {
		e.fill(wire.Error)
		return e
	}
	if text := string(body); text != "" {
		if len(text) > maxErrorText {
			n := maxErrorText
			for n > 0 && !utf8.RuneStart(text[n]) {
				n--
			}
			text = text[:n] + "…"
		}
		e.Message = text
	}
	return e
}

// fill takes over an error object, or an error that is just a string.
func (e *APIError) fill(raw json.RawMessage) {
	var w wireError
	if json.Unmarshal(raw, &w) != nil {
		if s := ""; json.Unmarshal(raw, &s) == nil {
			e.Message = s
		}
		return
	}
	e.Type, e.NPrompt, e.NCtx = w.Type, w.NPrompt, w.NCtx
	if w.Message != "" {
		e.Message = w.Message
	}
	if code := 0; e.Status == 0 && json.Unmarshal(w.Code, &code) == nil {
		e.Status = code
	}
}

// transportError wraps an error below HTTP. The caller's own cancellation is passed on as such.
func transportError(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("llamacpp: %s: %w", path, context.Cause(ctx))
	}
	return fmt.Errorf("llamacpp: %s: %w: %w", path, boundary.ErrUnavailable, err)
}
