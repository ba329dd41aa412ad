package store

import "context"

// indexBatchBytes is how much text may wait before the maintenance goroutine indexes it.
const indexBatchBytes = 256 << 10

func (s *Store) drain(ctx context.Context, background bool) error { return nil }
