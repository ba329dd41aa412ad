package sakur4

import (
	"context"
	"errors"
	"iter"

	"sakur4/internal/store"
	"sakur4/semantic"
)

// EntryFilter selects interpretations of the engine's project. Zero fields select all that are in force.
type EntryFilter struct {
	// Session is where it was written, Anchor the fact or episode that it is about.
	Session string
	Anchor  AnchorRef
	// All also selects those that were replaced or retired.
	All bool
	// Limit bounds the number of entries; 0 is no bound.
	Limit int
}

// Entries yields interpretations as they were written, in the order of writing. They say nothing about their freshness: see [Engine.Staleness] and
// [Engine.Recall]. An error ends the sequence.
func (e *Engine) Entries(ctx context.Context, f EntryFilter) iter.Seq2[semantic.Entry, error] {
	return func(yield func(semantic.Entry, error) bool) {
		if err := e.check(ctx); err != nil {
			yield(semantic.Entry{}, err)
			return
		}
		err := e.st.Read(ctx, func(r *store.Reader) error {
			for en, err := range r.Entries(store.EntryFilter{Project: e.project, Session: f.Session, AnchorID: f.Anchor.ID, All: f.All, Limit: f.Limit}) {
				if err != nil {
					return err
				}
				if !yield(en, nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(semantic.Entry{}, wrap(err))
		}
	}
}
