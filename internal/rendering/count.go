package rendering

import (
	"context"
	"fmt"
	"reflect"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/prompt"
	"sakur4/internal/turn"
)

// measure counts the prompt.
func (p *Prompt) measure(ctx context.Context, srv Server) error {
	p.countWith(srv)
	return p.count(ctx)
}

// countWith has the server count from now on.
func (p *Prompt) countWith(srv Server) {
	if p.counter == nil || p.counterKey != p.keyOf(srv) {
		p.useCounter(srv)
		return
	}
	if !sameCache(p.profile, srv.Profile) {
		p.cache = nil
	}
	p.profile = srv.Profile
}

// sameCache reports whether two profiles say the same of the shape of the cache. Points come and go with every prompt.
func sameCache(a, b boundary.Profile) bool {
	a.Geometry.Points, a.Geometry.Tail, b.Geometry.Points, b.Geometry.Tail = nil, 0, nil, 0
	return reflect.DeepEqual(a.Geometry, b.Geometry) && reflect.DeepEqual(a.Rule, b.Rule)
}

// CountError is returned where the backend failed to count. The prompt is then to be begun again with the local counter, since two counters must not have a part in one
// plan.
type CountError struct{ err error }

// Error is that of the backend.
func (e *CountError) Error() string { return e.err.Error() }

// Unwrap returns the backend's error.
func (e *CountError) Unwrap() error { return e.err }

// keyOf says which counter the prompt needs on a server.
func (p *Prompt) keyOf(srv Server) string {
	return fmt.Sprintf("%t\x00%s\x00%s\x00%s\x00%s", srv.Fallback != "", srv.Profile.Tokenizer, srv.Profile.Template.Digest, p.state.Tools, p.state.Kwargs)
}

func (p *Prompt) useCounter(srv Server) {
	profile := srv.Profile
	p.counterKey = p.keyOf(srv)
	p.counter = prompt.New(srv.Backend, turn.Controls(profile.Template.ControlTexts), p.state.Tools, p.state.Kwargs)
	if p.state.Reasoning && !profile.Template.PreservesReasoning {
		p.counter.Distrust() // the template drops what was sent at the next user turn: no part of the prompt can be counted by itself
	}
	p.counted, p.keep = nil, 0
	tokenizer := profile.Tokenizer
	if srv.Fallback != "" {
		tokenizer += " (local)"
	}
	if tokenizer != p.tokenizer || profile.Template.Digest != p.profile.Template.Digest || !sameCache(p.profile, profile) {
		p.cache, p.header = nil, nil // what the server holds stays comparable only in tokens of the same kind; other tools change none of that
	}
	p.tokenizer, p.fallback, p.profile = tokenizer, srv.Fallback, profile
}

// count composes and counts the prompt, and has the cache model at hand.
func (p *Prompt) count(ctx context.Context) error {
	p.compose()
	st, err := p.counter.Count(ctx, p.counted, p.keep, p.items)
	if err != nil {
		return &CountError{err}
	}
	p.counted, p.keep = st, len(p.items)
	if p.cache != nil {
		return nil
	}
	return p.restoreCache(ctx)
}

// trimResults renders the new results that are larger than the policy allows as head, pointer and tail.
func (p *Prompt) trimResults(ctx context.Context, policy evict.Policy, window int) error {
	most := int(float64(window) * policy.MaxResult)
	for round := 0; round < 8; round++ {
		again := false
		for i := p.state.Sent; i < len(p.chat.Entries); i++ {
			e := p.chat.Entries[i]
			n := p.counted.Counts[i+p.headItems()].Tokens
			if !e.Result() || n <= most || (e.Form != turn.Full && e.Form != turn.Trimmed) {
				continue
			}
			rec, err := p.opt.Record.Episode(ctx, e.Episode)
			if err != nil {
				return err
			}
			size := len(rec.Content)
			if e.Form == turn.Trimmed {
				size = e.Head + e.Tail
			}
			next := int(float64(size) * float64(most) / float64(n) * 0.9)
			if next >= size || next < 64 {
				next = size / 2
			}
			if next < 16 {
				continue
			}
			p.chat.Retrim(e, rec, next)
			p.words.drop(e)
			p.touch(i)
			again = true
		}
		if !again {
			return nil
		}
		if err := p.count(ctx); err != nil {
			return err
		}
	}
	return nil
}
