package sakur4_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
)

func newServer(window int) *embedded.Server {
	return newServerWith(window, sakur4.O200kBase(), boundary.AnyToken)
}

func newServerWith(window int, tok sakur4.Tokenizer, kind boundary.Kind) *embedded.Server {
	return embedded.New(embedded.Config{Window: window, Tokenizer: tok, Kind: kind, Rule: boundary.CheckpointRule{Spacing: 256, Ubatch: 512}})
}

// strict is a server whose template refuses what the strictest ones refuse. It is asked for whole chats and for their beginnings.
type strict struct {
	*embedded.Server
	noSystem bool
}

func newStrict(window int, noSystem bool) *strict { return &strict{newServer(window), noSystem} }

var errRefused = errors.New("the template raised an exception")

func (s *strict) Profile(ctx context.Context) (boundary.Profile, error) {
	p, err := s.Server.Profile(ctx)
	p.Template.NoSystemRole = s.noSystem
	return p, err
}

func (s *strict) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	var list []struct {
		Role string `json:"role"`
	}
	if err := json.Unmarshal(req.Messages, &list); err != nil {
		return "", err
	}
	// Results stand in user turns, so that only a reply may follow them.
	last := "assistant"
	for i, m := range list {
		switch m.Role {
		case "system":
			if i > 0 || s.noSystem {
				return "", errRefused
			}
			continue
		case "user":
			if last != "assistant" {
				return "", errRefused
			}
		case "assistant":
			if last == "assistant" {
				return "", errRefused
			}
		case "tool":
			if last == "user" {
				return "", errRefused
			}
		}
		last = m.Role
	}
	return s.Server.Render(ctx, req)
}

// flaky is a server of which parts fail when they are told to.
type flaky struct {
	*embedded.Server
	noProfile, noRender, noTokens, noSpans atomic.Bool
	// rendered and tokenized count the bytes that were asked about.
	rendered, tokenized atomic.Int64
}

var errDown = errors.New("connection refused")

func (f *flaky) Profile(ctx context.Context) (boundary.Profile, error) {
	if f.noProfile.Load() {
		return boundary.Profile{}, errDown
	}
	return f.Server.Profile(ctx)
}

func (f *flaky) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	if f.noRender.Load() {
		return "", errDown
	}
	f.rendered.Add(int64(len(req.Messages)))
	return f.Server.Render(ctx, req)
}

func (f *flaky) Tokens(ctx context.Context, text string) ([]int32, error) {
	if f.noTokens.Load() {
		return nil, errDown
	}
	f.tokenized.Add(int64(len(text)))
	return f.Server.Tokens(ctx, text)
}

func (f *flaky) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	if f.noTokens.Load() {
		return nil, nil, errDown
	}
	if f.noSpans.Load() {
		return nil, nil, boundary.ErrUnsupported
	}
	f.tokenized.Add(int64(len(text)))
	return f.Server.TokenSpans(ctx, text)
}

// counting is a tokenizer that counts the bytes that it is asked about.
type counting struct {
	sakur4.Tokenizer
	bytes atomic.Int64
}

func (c *counting) Count(text string) int {
	c.bytes.Add(int64(len(text)))
	return c.Tokenizer.Count(text)
}

func (c *counting) Encode(text string) []int32 {
	c.bytes.Add(int64(len(text)))
	return c.Tokenizer.Encode(text)
}

func (c *counting) Spans(text string) ([]int32, []int) {
	c.bytes.Add(int64(len(text)))
	return c.Tokenizer.Spans(text)
}

// forgetful is a server whose template may drop reasoning.
type forgetful struct {
	*embedded.Server
	preserves bool
}

func (f *forgetful) Profile(ctx context.Context) (boundary.Profile, error) {
	p, err := f.Server.Profile(ctx)
	p.Template.PreservesReasoning = f.preserves
	return p, err
}

// shapeless is a server of whose cache nothing is known.
type shapeless struct{ *embedded.Server }

func (s *shapeless) Profile(ctx context.Context) (boundary.Profile, error) {
	p, err := s.Server.Profile(ctx)
	p.Geometry = boundary.Geometry{}
	return p, err
}
