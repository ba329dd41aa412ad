package sakur4

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/symbolic"
)

// FactFilter selects facts of the engine's project. Zero fields select all.
type FactFilter struct {
	// QualifiedName is the exact name, NamePrefix a beginning of it.
	QualifiedName, NamePrefix string
	// Kind is one of [symbolic.Kinds].
	Kind string
	// FilePath is the file that the fact was read in.
	FilePath string
	// Episode is the tool episode that the fact was last read in.
	Episode EpisodeID
	// Limit bounds the number of rows; 0 and less is no bound.
	Limit int
}

// Facts yields the ledger's rows, ordered by qualified name, kind and file path. A row is a claim; [Engine.Rederive] gives the proof again.
// An error ends the sequence.
func (e *Engine) Facts(ctx context.Context, f FactFilter) iter.Seq2[symbolic.Row, error] {
	return func(yield func(symbolic.Row, error) bool) {
		if err := e.check(ctx); err != nil {
			yield(symbolic.Row{}, err)
			return
		}
		err := e.st.Read(ctx, func(r *store.Reader) error {
			for row, err := range r.Facts(store.FactFilter{Project: e.project, QualifiedName: f.QualifiedName, NamePrefix: f.NamePrefix, Kind: f.Kind,
				FilePath: f.FilePath, Episode: string(f.Episode), Limit: f.Limit}) {
				if err != nil {
					return err
				}
				if !yield(row, nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(symbolic.Row{}, wrap(err))
		}
	}
}

// Extract reads facts in a recorded tool episode with a source of the caller's choice, and records them as [Session.Commit] does.
//
// The errors are [ErrUnknownEpisode], [symbolic.ErrNoSource] for the zero source, [symbolic.ErrNoEvidence] for an episode that is no tool result
// or repeats what this module wrote, and the parser's own with offset and line.
func (e *Engine) Extract(ctx context.Context, id EpisodeID, src FactSource) ([]symbolic.Fact, error) {
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	if src == (FactSource{}) {
		return nil, symbolic.ErrNoSource
	}
	ev, err := e.evidence(ctx, string(id))
	if err != nil {
		return nil, err
	}
	reading, err := symbolic.ReadWith(src, ev, e.maxFacts)
	if err != nil {
		return nil, err
	}
	rows := make([]symbolic.Row, len(reading.Facts))
	for i, f := range reading.Facts {
		rows[i] = f.Row()
	}
	err = e.st.Write(ctx, func(tx *store.Tx) error { return tx.PutFacts(e.project, rows, e.now()) })
	if err != nil {
		return nil, wrap(err)
	}
	return reading.Facts, nil
}

// evidence is what a recorded tool episode proves.
func (e *Engine) evidence(ctx context.Context, id string) (symbolic.Evidence, error) {
	var ev symbolic.Evidence
	err := e.st.Read(ctx, func(r *store.Reader) error {
		rec, err := r.Episode(e.project, id)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %q", ErrUnknownEpisode, id)
		}
		if err != nil {
			return err
		}
		if rec.Role != episode.Tool {
			return fmt.Errorf("%w: episode %q is a %s turn", symbolic.ErrNoEvidence, id, rec.Role)
		}
		turn, err := r.Episode(e.project, rec.CallEpisode)
		if err != nil {
			return err
		}
		if rec.CallIndex >= len(turn.Calls) {
			return fmt.Errorf("%w: episode %q answers a call that its turn does not have", ErrCorrupt, id)
		}
		ev, err = episode.FromResult(rec, turn.Calls[rec.CallIndex])
		if err != nil {
			return fmt.Errorf("%w: %w", symbolic.ErrNoEvidence, err)
		}
		return nil
	})
	return ev, wrap(err)
}

// StaleError says that a fact's source has another value now than the ledger holds. It is [ErrStale].
type StaleError struct {
	// Row is what the ledger holds, Current the value now. Gone says that the source has no such place any more.
	Row     symbolic.Row
	Current string
	Gone    bool
}

// Error names the fact.
func (e *StaleError) Error() string {
	return fmt.Sprintf("sakur4: %s %q has changed since it was read", e.Row.Kind, e.Row.QualifiedName)
}

// Is reports whether target is [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Rederive gives a fact again, and only if the same place has the same value: a tool's fact by parsing its episode anew, a file's fact by parsing the file as it
// is now.
//
// The errors are [ErrNotFound] where the ledger has no such row, [ErrUnverified] where the file cannot be read, and a [*StaleError] where the bytes say
// otherwise than the row: the file has changed (Gone where it has no such place any more), or, of a tool's fact, the row was tampered with.
func (e *Engine) Rederive(ctx context.Context, id FactID) (symbolic.Fact, error) {
	if err := e.check(ctx); err != nil {
		return symbolic.Fact{}, err
	}
	var row symbolic.Row
	err := e.st.Read(ctx, func(r *store.Reader) (err error) {
		row, err = r.Fact(e.project, string(id))
		return err
	})
	if err != nil {
		return symbolic.Fact{}, wrap(err)
	}
	return e.rederive(ctx, row)
}

func (e *Engine) rederive(ctx context.Context, row symbolic.Row) (symbolic.Fact, error) {
	if row.Episode == "" {
		return e.rederiveFile(ctx, row)
	}
	ev, err := e.evidence(ctx, row.Episode)
	if err != nil {
		return symbolic.Fact{}, err
	}
	f, err := symbolic.Rederive(row, ev)
	var stale *symbolic.StaleError
	if errors.As(err, &stale) {
		return symbolic.Fact{}, &StaleError{Row: row, Current: stale.Current}
	}
	return f, err
}

// rederiveFile reads a file's fact in the file as it is now.
func (e *Engine) rederiveFile(ctx context.Context, row symbolic.Row) (symbolic.Fact, error) {
	var out symbolic.Fact
	err := e.st.Read(ctx, func(r *store.Reader) error {
		look := e.look(r, e.project)
		defer look.Close()
		f := look.File(row.FilePath)
		switch {
		case f.Gone:
			return &StaleError{Row: row, Gone: true}
		case f.Err != nil:
			return fmt.Errorf("%w: %s %q: %w", ErrUnverified, row.Kind, row.QualifiedName, f.Err)
		}
		ev, err := episode.FromFile(e.project, row.FilePath, []byte(f.Content))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnverified, err)
		}
		out, err = symbolic.Rederive(row, ev)
		var stale *symbolic.StaleError
		switch {
		case errors.As(err, &stale):
			return &StaleError{Row: row, Current: stale.Current}
		case errors.Is(err, symbolic.ErrGone):
			return &StaleError{Row: row, Gone: true}
		}
		return err
	})
	return out, wrap(err)
}

// FactVersions returns the values that a fact had before its present one, the oldest first; empty where it has had only one. Each row says when it was
// current and in which episode it was read.
//
// The error is [ErrNotFound] where the project has no such fact.
func (e *Engine) FactVersions(ctx context.Context, id FactID) ([]symbolic.Row, error) {
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	var out []symbolic.Row
	err := e.st.Read(ctx, func(r *store.Reader) error {
		if _, err := r.Fact(e.project, string(id)); err != nil {
			return err
		}
		var err error
		out, err = r.FactVersions(e.project, string(id))
		return err
	})
	return out, wrap(err)
}
