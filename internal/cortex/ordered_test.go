package cortex_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"sakur4/internal/cortex"
)

func TestOrderedKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 7, 1000} {
		for _, parallel := range []int{0, 1, 3, 64} {
			next := 0
			err := cortex.Ordered(t.Context(), n, parallel, func(i int) int { return i * i }, func(i, v int) error {
				if i != next || v != i*i {
					t.Errorf("take(%d, %d) in place %d", i, v, next)
				}
				next++
				return nil
			})
			if err != nil || next != n {
				t.Errorf("Ordered(%d, %d) took %d, %v", n, parallel, next, err)
			}
		}
	}
}

// TestOrderedStops holds that no work runs after the return, and that work does not run far ahead of what was taken.
func TestOrderedStops(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var running, started atomic.Int64
	work := func(i int) int {
		running.Add(1)
		defer running.Add(-1)
		started.Add(1)
		return i
	}
	err := cortex.Ordered(t.Context(), 1_000_000, 4, work, func(i, _ int) error {
		if i == 100 {
			return boom
		}
		return nil
	})
	if !errors.Is(err, boom) || running.Load() != 0 || started.Load() > 200 {
		t.Errorf("Ordered() = %v with %d running and %d started, want boom, none, at most 200", err, running.Load(), started.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = cortex.Ordered(ctx, 1_000_000, 4, work, func(i, _ int) error {
		if i == 100 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || running.Load() != 0 {
		t.Errorf("Ordered() = %v with %d running, want cancelled and none", err, running.Load())
	}
}
