package sakur4

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sakur4/boundary"
	"sakur4/internal/rendering"
)

const (
	// backendTimeout bounds one question to the backend. A prompt of 130,000 tokens is rendered and tokenized in well under a second.
	backendTimeout = 20 * time.Second
	// backendRest is how long a backend that let a question run into its timeout is not asked again: each such question holds up a prompt.
	backendRest = 30 * time.Second
)

// errHung is the cause where a backend or an embedder let a question run into its timeout.
var errHung = errors.New("sakur4: no answer in time")

// bounded asks a backend with a time limit on each question.
type bounded struct{ b boundary.Backend }

// boundedSpanner is bounded, for a backend that can also say where tokens end.
type boundedSpanner struct {
	bounded
	s boundary.Spanner
}

// boundedRemote is boundedSpanner, for a backend of which two things are asked at once.
type boundedRemote struct{ boundedSpanner }

var (
	_ boundary.Backend = bounded{}
	_ boundary.Spanner = boundedSpanner{}
	_ rendering.Eager  = boundedRemote{}
)

// bound returns the backend with a time limit on each question, as what it is besides.
func bound(b boundary.Backend) boundary.Backend {
	s, ok := b.(boundary.Spanner)
	if !ok {
		return bounded{b}
	}
	spanner := boundedSpanner{bounded{b}, s}
	if _, ok := b.(boundary.Remote); ok {
		return boundedRemote{spanner}
	}
	return spanner
}

// Profile looks at the server anew, also where the backend keeps its first profile.
func (q bounded) Profile(ctx context.Context) (p boundary.Profile, err error) {
	err = inTime(ctx, func(ctx context.Context) (err error) {
		if r, ok := q.b.(boundary.Refresher); ok {
			p, _, err = r.Refresh(ctx)
			return err
		}
		p, err = q.b.Profile(ctx)
		return err
	})
	return p, err
}

func (q bounded) Render(ctx context.Context, req boundary.RenderRequest) (text string, err error) {
	err = inTime(ctx, func(ctx context.Context) (err error) { text, err = q.b.Render(ctx, req); return err })
	return text, err
}

func (q bounded) Tokens(ctx context.Context, text string) (ids []int32, err error) {
	err = inTime(ctx, func(ctx context.Context) (err error) { ids, err = q.b.Tokens(ctx, text); return err })
	return ids, err
}

func (q boundedSpanner) TokenSpans(ctx context.Context, text string) (ids []int32, ends []int, err error) {
	err = inTime(ctx, func(ctx context.Context) (err error) { ids, ends, err = q.s.TokenSpans(ctx, text); return err })
	return ids, ends, err
}

// SpansAhead implements [rendering.Eager].
func (q boundedRemote) SpansAhead(ctx context.Context, text string) (wait func() ([]int32, []int, error)) {
	var ids []int32
	var ends []int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ids, ends, err = q.TokenSpans(ctx, text)
	}()
	return func() ([]int32, []int, error) {
		<-done
		return ids, ends, err
	}
}

// inTime asks one question. Its error is [errHung] where the time ran out that we gave, not the caller's.
func inTime(ctx context.Context, question func(context.Context) error) error {
	return within(ctx, backendTimeout, question)
}

// within is inTime with another limit.
func within(ctx context.Context, limit time.Duration, question func(context.Context) error) error {
	ask, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := question(ask)
	if err != nil && ask.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errHung, err)
	}
	return err
}

// resting returns why the backend is not asked now, nil where it is.
func (e *Engine) resting() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hung != nil && e.now().Before(e.restUntil) {
		return e.hung
	}
	e.hung = nil
	return nil
}

// rest lets the backend alone for a while if err says that it let a question run into its timeout.
func (e *Engine) rest(err error) {
	if !errors.Is(err, errHung) {
		return
	}
	until := e.now().Add(backendRest)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hung, e.restUntil = err, until
}
