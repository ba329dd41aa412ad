package cortex

import (
	"context"
	"sync"
)

// aheadPerWorker is how many results of a worker may wait for their turn.
const aheadPerWorker = 8

// Ordered runs work for 0 … n-1 on several goroutines and take for each result in order, on the caller's goroutine. It returns when all of them have ended: with
// the first error of take, or that of the context.
func Ordered[T any](ctx context.Context, n, parallel int, work func(i int) T, take func(i int, v T) error) error {
	parallel = max(1, min(parallel, n))
	ahead := parallel * aheadPerWorker
	slots := make([]chan T, ahead)
	for i := range slots {
		slots[i] = make(chan T, 1)
	}
	turns := make(chan int, ahead) // the numbers whose slot is free
	for i := range min(n, ahead) {
		turns <- i
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(turns)
	defer cancel()
	for range parallel {
		wg.Go(func() {
			for i := range turns {
				if ctx.Err() != nil {
					return
				}
				slots[i%ahead] <- work(i)
			}
		})
	}
	for i := range n {
		var v T
		select {
		case v = <-slots[i%ahead]:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := take(i, v); err != nil {
			return err
		}
		if i+ahead < n {
			turns <- i + ahead
		}
	}
	return ctx.Err()
}
