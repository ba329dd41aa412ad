package llamacpp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sakur4/boundary"
)

// readStream reads a streamed reply: server-sent events whose data are chunks of a completion.
func (c *Client) readStream(ctx context.Context, body io.Reader, path string, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	var s stream
	limited := &io.LimitedReader{R: body, N: c.opts.MaxBody + 1}
	events := eventReader{r: bufio.NewReader(limited)}
	for {
		data, err := events.next()
		if limited.N <= 0 {
			return s.result(), fmt.Errorf("llamacpp: %s: answer of more than %d bytes: %w", path, c.opts.MaxBody, ErrBodyTooLarge)
		}
		switch {
		case err == io.EOF && s.finished:
			// Some servers close without [DONE].
			return s.result(), nil
		case err == io.EOF:
			return s.result(), transportError(ctx, path, io.ErrUnexpectedEOF)
		case err != nil:
			return s.result(), transportError(ctx, path, err)
		case string(data) == "[DONE]":
			return s.result(), nil
		}
		delta, err := s.chunk(data)
		if err != nil {
			return s.result(), fmt.Errorf("llamacpp: %s: %w", path, err)
		}
		if delta != (boundary.ChatDelta{}) {
			progress(delta)
		}
	}
}

// stream collects a reply.
type stream struct {
	reply              boundary.ChatReply
	content, reasoning bytes.Buffer
	calls              []streamedCall
	finished           bool
}

type streamedCall struct {
	index    int
	id, name string
	args     bytes.Buffer
}

// maxCalls bounds the tool calls of one reply: more are a server gone wrong.
const maxCalls = 1024

// chunk takes in one event.
func (s *stream) chunk(data []byte) (boundary.ChatDelta, error) {
	var delta boundary.ChatDelta
	var a completion
	if err := json.Unmarshal(data, &a); err != nil {
		return delta, fmt.Errorf("event %.80q: %w: %w", data, err, boundary.ErrUnavailable)
	}
	if len(a.Error) > 0 && string(a.Error) != "null" {
		e := &APIError{}
		e.fill(a.Error)
		return delta, e
	}
	a.finish(&s.reply)
	if a.Progress != nil {
		delta.PromptCached, delta.PromptTotal = a.Progress.Cache, a.Progress.Total
	}
	for _, choice := range a.Choices {
		if choice.Index != 0 {
			continue
		}
		s.content.WriteString(choice.Delta.Content)
		s.reasoning.WriteString(choice.Delta.Reasoning)
		delta.Content += choice.Delta.Content
		delta.Reasoning += choice.Delta.Reasoning
		for _, call := range choice.Delta.ToolCalls {
			if err := s.call(call); err != nil {
				return delta, err
			}
		}
		s.finished = s.finished || choice.Finish != nil
	}
	return delta, nil
}

// call adds a piece to the call with its index; a piece without one belongs to the newest call, or opens one if it has an id.
func (s *stream) call(p toolCall) error {
	at := -1
	for i := range s.calls {
		if p.Index != nil && s.calls[i].index == *p.Index {
			at = i
		}
	}
	if p.Index == nil && p.ID == "" {
		at = len(s.calls) - 1
	}
	if at < 0 {
		if len(s.calls) >= maxCalls {
			return fmt.Errorf("more than %d tool calls: %w", maxCalls, boundary.ErrUnavailable)
		}
		index := len(s.calls)
		if p.Index != nil {
			index = *p.Index
		}
		s.calls = append(s.calls, streamedCall{index: index})
		at = len(s.calls) - 1
	}
	c := &s.calls[at]
	if p.ID != "" {
		c.id = p.ID
	}
	c.name += p.Function.Name
	c.args.WriteString(argumentText(p.Function.Arguments))
	return nil
}

func (s *stream) result() boundary.ChatReply {
	r := s.reply
	r.Content, r.Reasoning = s.content.String(), s.reasoning.String()
	for i := range s.calls {
		c := &s.calls[i]
		r.ToolCalls = append(r.ToolCalls, boundary.ChatToolCall{ID: c.id, Name: c.name, Arguments: c.args.String()})
	}
	return r
}

// eventReader splits server-sent events. Comments and fields other than data are skipped, but an "error" line, as older servers write it,
// counts as data with an error.
type eventReader struct{ r *bufio.Reader }

// next returns the data of the next event, or io.EOF.
func (e eventReader) next() ([]byte, error) {
	var data []byte
	some := false
	for {
		line, err := e.r.ReadBytes('\n')
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			if errors.Is(err, io.EOF) && some {
				return data, nil
			}
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if some {
				return data, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "error":
			return append(append([]byte(`{"error":`), value...), '}'), nil
		case "data":
			if some {
				data = append(data, '\n')
			}
			data = append(data, value...)
			some = true
		}
	}
}
