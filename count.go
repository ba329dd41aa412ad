package sakur4

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/prompt"
	"sakur4/internal/store"
	"sakur4/internal/turn"
)

// measure counts the prompt.
func (s *Session) measure(ctx context.Context, l *live, backend boundary.Backend, profile boundary.Profile, fallback string) error {
	if l.counter == nil || l.counterKey != counterKey(profile, fallback, l) {
		l.useCounter(backend, profile, fallback)
	} else {
		if !sameCache(l.profile, profile) {
			l.cache = nil
		}
		l.profile = profile
	}
	return l.count(ctx)
}

// sameCache reports whether two profiles say the same of the shape of the cache. Points come and go with every prompt.
func sameCache(a, b boundary.Profile) bool {
	a.Geometry.Points, a.Geometry.Tail, b.Geometry.Points, b.Geometry.Tail = nil, 0, nil, 0
	return reflect.DeepEqual(a.Geometry, b.Geometry) && reflect.DeepEqual(a.Rule, b.Rule)
}

// countError is a failure of the backend to count. The prompt is begun again with the local counter, since two counters must not have a part in
// one plan.
type countError struct{ error }

func (e *countError) Unwrap() error { return e.error }

// failedCount returns why the backend could not count, nil where err is anything else.
func failedCount(ctx context.Context, err error) error {
	var c *countError
	if errors.As(err, &c) && ctx.Err() == nil {
		return c.error
	}
	return nil
}

// server returns what counts: the engine's server, or the local counter where down says why that one cannot.
func (s *Session) server(ctx context.Context, down error) (boundary.Backend, boundary.Profile, string) {
	if down == nil {
		if s.doubtful() {
			s.e.forget()
		}
		return s.e.server(ctx)
	}
	s.e.log.WarnContext(ctx, "backend failed to count; counting locally", "error", down)
	s.e.forget()
	s.e.rest(down)
	return s.e.without(ctx, boundary.Profile{}, down)
}

// doubtful reports whether the server may have become another one since it was last asked: nothing was measured for the last prompt, as when the
// request for it failed, it was counted otherwise, or nothing of the session was held.
func (s *Session) doubtful() bool {
	if s.live == nil || s.live.window == nil {
		return true
	}
	r := s.live.window.Receipt
	c := r.Cache
	return c.Prompt == 0 || c.Drift != 0 || (c.Measured && r.Turn > 1 && c.Reused <= templateStart)
}

// swapped asks the server again and reports whether it answers and is another one than p says.
func (s *Session) swapped(ctx context.Context, p boundary.Profile) bool {
	s.e.forget()
	_, now, fallback := s.e.server(ctx)
	return fallback == "" && (now.Template.Digest != p.Template.Digest || now.Tokenizer != p.Tokenizer || now.Window != p.Window)
}

// forget has the backend asked for its profile again before it is used next: it may come back as another one.
func (e *Engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.profile = nil
}

func counterKey(p boundary.Profile, fallback string, l *live) string {
	return fmt.Sprintf("%t\x00%s\x00%s\x00%s\x00%s", fallback != "", p.Tokenizer, p.Template.Digest, l.Tools, l.Kwargs)
}

func (l *live) useCounter(b boundary.Backend, p boundary.Profile, fallback string) {
	l.counterKey = counterKey(p, fallback, l)
	l.counter = prompt.New(b, controls(p.Template.ControlTexts), l.Tools, l.Kwargs)
	if l.Reasoning && !p.Template.PreservesReasoning {
		l.counter.Distrust() // the template drops what was sent at the next user turn: no part of the prompt can be counted by itself
	}
	l.counted, l.keep = nil, 0
	tokenizer := p.Tokenizer
	if fallback != "" {
		tokenizer += " (local)"
	}
	if tokenizer != l.tokenizer || p.Template.Digest != l.profile.Template.Digest || !sameCache(l.profile, p) {
		l.cache, l.header = nil, nil // what the server holds stays comparable only in tokens of the same kind; other tools change none of that
	}
	l.tokenizer, l.fallback, l.profile = tokenizer, fallback, p
}

// count composes and counts the prompt, and has the cache model at hand.
func (l *live) count(ctx context.Context) error {
	l.compose()
	st, err := l.counter.Count(ctx, l.counted, l.keep, l.items)
	if err != nil {
		return &countError{err}
	}
	l.counted, l.keep = st, len(l.items)
	return l.model(ctx)
}

// model has the cache model at hand.
func (l *live) model(ctx context.Context) (err error) {
	if l.cache != nil {
		return nil
	}
	return l.restoreCache(ctx)
}

// trimResults renders the new results that are larger than the policy allows as head, pointer and tail.
func (s *Session) trimResults(ctx context.Context, l *live, p evict.Policy, window int) error {
	most := int(float64(window) * p.MaxResult)
	for round := 0; round < 8; round++ {
		again := false
		for i := l.Sent; i < len(l.chat.Entries); i++ {
			e := l.chat.Entries[i]
			n := l.counted.Counts[i+l.headItems()].Tokens
			if !e.Result() || n <= most || (e.Form != turn.Full && e.Form != turn.Trimmed) {
				continue
			}
			rec, err := s.record1(ctx, e.Episode)
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
			l.chat.Retrim(e, rec, next)
			l.words.drop(e)
			l.touch(i)
			again = true
		}
		if !again {
			return nil
		}
		if err := l.count(ctx); err != nil {
			return err
		}
	}
	return nil
}

// record1 reads one episode.
func (s *Session) record1(ctx context.Context, id string) (*episode.Record, error) {
	var rec episode.Record
	err := s.e.st.Read(ctx, func(r *store.Reader) (err error) {
		rec, err = r.Episode(s.e.project, id)
		return err
	})
	return &rec, wrap(err)
}

// prediction is what the cache model says of the next request.
type prediction struct {
	boundary.Reuse
	plan  boundary.Plan
	marks []int // messages to mark
	// unsure says what is not known of the reuse of a compacted prompt.
	unsure string
}

// predict asks the cache model about the prompt and lets it accept it.
func (l *live) predict(compacted bool) prediction {
	ids, users := l.sending.of(l.counted, l.header)
	geometry := l.cache.Geometry()
	l.askShift()
	p := prediction{Reuse: l.cache.Predict(ids, l.Hint)}
	p.plan = boundary.Resolve(geometry, p.Common, len(ids), 0)
	if p.Shifted > 0 {
		p.plan = p.plan.Moved(p.Shifted)
	}
	if compacted {
		p.unsure = l.unsure(ids)
	}
	p.marks = l.marks(p.Common)
	l.cache.Accept(ids, users, l.Hint)
	return p
}

// sending is the prompt that was made last, as it is sent. The tokens of a count are never written again, and a longer one begins with those of the one
// before in the same memory: what was copied and looked at for the last prompt holds for the next.
type sending struct {
	from   []int32 // of the count
	ids    []int32 // with the header of the reply
	header []int32
	users  []int // the starts of the user messages in from
}

// of returns the tokens of a prompt and the positions at which its user messages start. Both are valid until the next call.
func (p *sending) of(counted *prompt.State, header []int32) (ids []int32, users []int) {
	from := counted.IDs
	if len(p.from) == 0 || len(from) < len(p.from) || &from[0] != &p.from[0] || !slices.Equal(p.header, header) {
		*p = sending{ids: p.ids[:0], header: header, users: p.users[:0]}
	}
	n := len(p.from)
	p.ids = append(append(p.ids[:n], from[n:]...), counted.Gen...)
	p.from = from
	if len(header) == 0 {
		return p.ids, nil
	}
	at := max(n-len(header)+1, 0)
	if k := len(p.users); k > 0 {
		at = max(at, p.users[k-1]+len(header))
	}
	users = p.users
	for _, i := range boundary.UserStarts(p.ids[at:], header) {
		users = append(users, at+i)
		if at+i+len(header) <= len(from) {
			p.users = users
		}
	}
	return p.ids, users
}
