package sakur4

import (
	"context"
	"errors"
	"fmt"
)

// Plan says what a compaction would do to the session's prompt now, and changes nothing. It does so at any time, also between turns.
func (s *Session) Plan(ctx context.Context, head Head) (*Plan, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	if err := head.validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A rendering of its own: what is tried out on it never reaches the session's.
	plan, _, err := s.tryForced(ctx, head, 0)
	return plan, err
}

// Compact carries a compaction out now, down to target tokens; 0 is the policy's target. The next [Session.Window] shows the shorter prompt.
// A plan that reclaims nothing is returned and not applied.
//
// The errors are those of [Session.Window]; after an assistant turn it works all the same.
func (s *Session) Compact(ctx context.Context, head Head, target int) (*Plan, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	if err := head.validate(); err != nil {
		return nil, err
	}
	if target < 0 {
		return nil, fmt.Errorf("%w: target of %d tokens", ErrInvalidHead, target)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	plan, err := s.compact(ctx, head, target)
	if errors.Is(err, errMoved) {
		return s.compact(ctx, head, target)
	}
	return plan, err
}

// compact plans and carries out.
func (s *Session) compact(ctx context.Context, head Head, target int) (*Plan, error) {
	plan, l, err := s.tryForced(ctx, head, target)
	if err != nil || l == nil {
		return plan, err
	}
	s.live = nil
	if len(l.open) > 0 {
		return nil, &PendingError{Calls: l.open} // the plan stands; carrying it out would close calls that are still being worked on
	}
	l.prompt.Settle()
	if err := s.store(ctx, l.live, nil, s.e.st.Write); err != nil {
		return nil, err
	}
	s.e.settle(l.prompt.Learned())
	s.live = l.live // it knows what the server holds, which the store cannot tell of a prompt that was cut since
	plan.Applied = true
	return plan, nil
}

// compacted is a prompt of its own that a compaction was tried out on.
type compacted struct {
	*live
	open []string // calls that were taken for interrupted
}

// tryForced is forced, with the local counter where the backend fails to count.
func (s *Session) tryForced(ctx context.Context, head Head, target int) (*Plan, *compacted, error) {
	plan, l, err := s.forced(ctx, head, target, nil)
	if down := failedCount(ctx, err); down != nil {
		return s.forced(ctx, head, target, down)
	}
	return plan, l, err
}

// forced plans on a prompt of its own, which is nil where there is nothing to carry out.
func (s *Session) forced(ctx context.Context, head Head, target int, down error) (*Plan, *compacted, error) {
	srv := s.server(ctx, down)
	l, w, err := s.load(ctx, s.live.anew(srv.Profile), srv)
	if err != nil {
		return nil, nil, err
	}
	out := &compacted{l, l.prompt.OpenCalls()}
	l.prompt.CloseCalls()
	if l.prompt.Empty() {
		return nil, nil, ErrNoTurn
	}
	in := s.request(srv, head, w)
	in.Target = target
	did, err := l.prompt.Compact(ctx, in)
	if err != nil {
		return nil, nil, outerError(err)
	}
	plan := Plan(*did)
	if plan.Applied {
		plan.Applied = false // so far only on a prompt of its own
		return &plan, out, nil
	}
	return &plan, nil, nil
}
