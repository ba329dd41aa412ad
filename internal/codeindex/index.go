// Package codeindex keeps a project's source code in the store: what its files declare, call and import, brought up to date where they have changed.
package codeindex

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sakur4/internal/sourcefile"
	"sakur4/internal/store"
)

// Index is the index of one project. It is safe for concurrent use. Its fields do not change.
type Index struct {
	Store    *store.Store
	Project  string
	ReadOnly bool
	Now      func() time.Time
	Log      *slog.Logger
	// Open opens the files of the project.
	Open func() (*sourcefile.Root, error)

	mu    sync.Mutex // guards cache
	cache cache
}

// Symbol returns the one symbol of a name, as its file has it at this moment. The errors are a [*NameError] and those of the store.
func (x *Index) Symbol(ctx context.Context, name string) (Found, error) {
	look, err := x.lookup(ctx, name)
	if err != nil {
		return Found{}, err
	}
	defer look.close(ctx)
	return look.symbol(ctx)
}
