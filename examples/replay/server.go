package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sakur4"
	"sakur4/boundary"
)

// server is what prompts are sent to: the simulator or a llama.cpp server.
type server interface {
	// backend renders and counts.
	backend() boundary.Backend
	// prompt returns the tokens of a prompt, the header of the reply included.
	prompt(ctx context.Context, messages []sakur4.Message, kwargs json.RawMessage) ([]int32, error)
	// send sends a prompt and returns what it cost. With first set nothing of what the slot held before is reused.
	send(ctx context.Context, messages []sakur4.Message, hints sakur4.Hints, first bool) (cost, error)
	// counters returns the server's own sums, nil where it does not tell them.
	counters(ctx context.Context) (*counters, error)
	close() error
}

// cost is what one prompt cost, in tokens.
type cost struct {
	prompt, cached int
	// predicted is what the model of the cache says.
	predicted int
	// millis is the server's own time for the prompt.
	millis float64
}

// openServer returns the server that the flags name, with an empty slot.
func openServer(ctx context.Context, cfg config) (server, error) {
	if cfg.llama != "" {
		return openLlama(ctx, cfg)
	}
	return openSimulator(ctx, cfg)
}

// simulator renders and counts as the module's default backend, and models the prompt cache of one slot of any kind.
type simulator struct {
	boundary.Backend
	boundary.Spanner
	eng     *sakur4.Engine
	profile boundary.Profile
	slot    slot
}

func openSimulator(ctx context.Context, cfg config) (*simulator, error) {
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "replay", Window: cfg.window})
	if err != nil {
		return nil, err
	}
	s := &simulator{Backend: eng.Backend(), eng: eng}
	spanner, ok := s.Backend.(boundary.Spanner)
	p, err := s.Backend.Profile(ctx)
	if err == nil && !ok {
		err = errors.New("the default backend does not say where tokens end")
	}
	if err != nil {
		return nil, errors.Join(err, eng.Close())
	}
	s.Spanner = spanner
	if cfg.sliding > 0 {
		rule := cfg.rule
		rule.Window = cfg.sliding
		rule = rule.WithDefaults()
		p.Geometry, p.Rule = boundary.Geometry{Kind: boundary.Points}, &rule
	}
	s.profile = p
	if s.slot, err = newSlot(ctx, s.Backend, p); err != nil {
		return nil, errors.Join(err, eng.Close())
	}
	return s, nil
}

// Profile returns what is simulated.
func (s *simulator) Profile(context.Context) (boundary.Profile, error) { return s.profile, nil }

func (s *simulator) backend() boundary.Backend { return s }

func (s *simulator) prompt(ctx context.Context, messages []sakur4.Message, kwargs json.RawMessage) ([]int32, error) {
	text, err := renderPrompt(ctx, s, messages, kwargs)
	if err != nil {
		return nil, err
	}
	return s.Tokens(ctx, text)
}

func (s *simulator) send(ctx context.Context, messages []sakur4.Message, hints sakur4.Hints, first bool) (cost, error) {
	prompt, err := s.prompt(ctx, messages, hints.TemplateKwargs)
	if err != nil {
		return cost{}, err
	}
	if len(prompt) >= s.profile.Window {
		return cost{}, &boundary.ContextError{Prompt: len(prompt), Window: s.profile.Window}
	}
	n := s.slot.process(prompt, hints.NCacheReuse, first)
	return cost{prompt: len(prompt), cached: n, predicted: n}, nil
}

func (s *simulator) counters(context.Context) (*counters, error) { return nil, nil }

func (s *simulator) close() error { return s.eng.Close() }

// slot models the cache of the one slot that is used.
type slot struct {
	cache  *boundary.Cache
	header []int32 // tokens that open a user message
}

func newSlot(ctx context.Context, b boundary.Backend, p boundary.Profile) (slot, error) {
	header, err := b.Tokens(ctx, p.Template.UserHeader)
	return slot{boundary.NewCache(p), header}, err
}

// process takes a prompt with a reply of one token, which is sampled and never evaluated, and returns what is reused of it.
func (s slot) process(prompt []int32, nCacheReuse int, first bool) int {
	if first {
		s.cache.Reset()
	}
	n := s.cache.Predict(prompt, nCacheReuse).Reused
	s.cache.Accept(prompt, boundary.UserStarts(prompt, s.header), nCacheReuse)
	return n
}

// renderPrompt returns the text of a prompt, the header of the reply included.
func renderPrompt(ctx context.Context, b boundary.Backend, messages []sakur4.Message, kwargs json.RawMessage) (string, error) {
	text, err := b.Render(ctx, boundary.RenderRequest{Messages: sakur4.MarshalMessages(messages), GenerationPrompt: true, TemplateKwargs: kwargs})
	if err != nil {
		return "", fmt.Errorf("render %d messages: %w", len(messages), err)
	}
	return text, nil
}
