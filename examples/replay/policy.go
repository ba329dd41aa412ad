package main

import (
	"context"

	"sakur4"
)

// policy makes the prompts of one run over a session.
type policy interface {
	// add records a turn.
	add(ctx context.Context, t turn) error
	// next makes the prompt that the next recorded turn answers.
	next(ctx context.Context) (prompt, error)
	// observe tells what the prompt cost.
	observe(ctx context.Context, p prompt, c cost) error
	// recall returns the texts of the first hits for a query; none where there is no memory.
	recall(ctx context.Context, words string) ([]string, error)
	close() error
}

// prompt is a prompt to be sent.
type prompt struct {
	messages []sakur4.Message
	hints    sakur4.Hints
	// id is the engine's name for it.
	id sakur4.WindowID
	// compacted says that something was taken out.
	compacted bool
	// fresh are the tokens of the recorded turns that came since the last prompt, verbatim those of recorded text in this one.
	fresh, verbatim int
	// side is a request that goes before it: that for a summary.
	side []sakur4.Message
}

// The policies.
const (
	dropName     = "drop-oldest"
	truncateName = "truncate"
	clearName    = "clear-tool-results"
	summaryName  = "summarise"
	exactName    = "sakur4"
	shiftName    = "sakur4-shift"
	oracleName   = "oracle"
)

// policyNames returns the policies in the order in which they are compared; the oracle comes on request.
func policyNames() []string {
	return []string{dropName, truncateName, clearName, summaryName, exactName, shiftName}
}

// openPolicy returns a policy for one run.
func openPolicy(ctx context.Context, cfg config, name string, srv server, s *session) (policy, error) {
	switch name {
	case exactName, shiftName:
		return openEngine(ctx, cfg, srv, name == shiftName)
	}
	b, err := newBaseline(ctx, cfg, srv)
	if err != nil {
		return nil, err
	}
	switch name {
	case dropName:
		b.compact = b.dropOldest
	case truncateName:
		b.compact = b.truncate
	case clearName:
		b.compact = b.clearResults
	case summaryName:
		b.compact = b.summarise
	case oracleName:
		o := &oracle{baseline: b, session: s}
		b.compact = o.compact
	}
	return b, nil
}
