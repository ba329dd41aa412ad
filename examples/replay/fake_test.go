package main

import (
	"context"
	"encoding/json"
	"strings"

	"sakur4"
	"sakur4/boundary"
)

// bytesServer is a server whose numbers can be worked out by hand: a byte is a token, a message is its content between two bytes, and the header of the
// reply is one byte. Calls are rendered as their names.
type bytesServer struct{ slot slot }

func newBytesServer(geometry boundary.Geometry) *bytesServer {
	return &bytesServer{slot{cache: boundary.NewCache(boundary.Profile{Geometry: geometry})}}
}

func (s *bytesServer) Profile(context.Context) (boundary.Profile, error) {
	return boundary.Profile{Window: 1 << 20, Tokenizer: "bytes", Geometry: boundary.Geometry{Kind: boundary.AnyToken}}, nil
}

func (s *bytesServer) Render(_ context.Context, req boundary.RenderRequest) (string, error) {
	var messages []struct {
		Content string `json:"content"`
		Calls   []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(req.Messages, &messages); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("<" + m.Content)
		for _, c := range m.Calls {
			b.WriteString(c.Function.Name)
		}
		b.WriteByte('>')
	}
	if req.GenerationPrompt {
		b.WriteByte('<')
	}
	return b.String(), nil
}

func (s *bytesServer) Tokens(_ context.Context, text string) ([]int32, error) {
	ids := make([]int32, len(text))
	for i := range len(text) {
		ids[i] = int32(text[i])
	}
	return ids, nil
}

func (s *bytesServer) backend() boundary.Backend { return s }

func (s *bytesServer) prompt(ctx context.Context, messages []sakur4.Message, kwargs json.RawMessage) ([]int32, error) {
	text, err := renderPrompt(ctx, s, messages, kwargs)
	if err != nil {
		return nil, err
	}
	return s.Tokens(ctx, text)
}

func (s *bytesServer) send(ctx context.Context, messages []sakur4.Message, hints sakur4.Hints, first bool) (cost, error) {
	prompt, err := s.prompt(ctx, messages, nil)
	n := s.slot.process(prompt, hints.NCacheReuse, first)
	return cost{prompt: len(prompt), cached: n, predicted: n}, err
}

func (s *bytesServer) counters(context.Context) (*counters, error) { return nil, nil }

func (s *bytesServer) close() error { return nil }
