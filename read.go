package sakur4

import (
	"context"
	"errors"
	"iter"
	"time"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/store"
)

// Episode returns a recorded turn of the engine's project, byte-identical to what was committed, wherever eviction has put it.
// The error is [ErrNotFound] where the project has no such episode, and [ErrCorrupt] where the bytes on the disk are not those that were committed.
func (e *Engine) Episode(ctx context.Context, id EpisodeID) (Episode, error) {
	if err := e.check(ctx); err != nil {
		return Episode{}, err
	}
	var rec episode.Record
	err := e.st.ReadRecord(ctx, func(r *store.Reader) (err error) {
		rec, err = r.Episode(e.project, string(id))
		return err
	})
	if err != nil {
		return Episode{}, wrap(err)
	}
	return view(&rec), nil
}

// EpisodeFilter selects episodes of the engine's project. Zero fields select all.
type EpisodeFilter struct {
	// Session and Role are those of the episodes to select.
	Session string
	Role    Role
	// ToolName is the tool of a result.
	ToolName string
	// AfterSeq and BeforeSeq bound the place in the store, both exclusive.
	AfterSeq, BeforeSeq int64
	// Since and Until bound the time at which the turn happened, the first inclusive, the second exclusive; any time is a bound.
	Since, Until time.Time
	// Tiers are the tiers to select.
	Tiers []evict.Tier
	// Newest yields the newest first.
	Newest bool
	// Limit bounds the number of episodes; 0 and less is no bound.
	Limit int
}

// Episodes yields recorded turns in the order of recording. An error ends the sequence.
// As with every iterator of this package, [Engine.Close] must not be called from inside the loop.
func (e *Engine) Episodes(ctx context.Context, f EpisodeFilter) iter.Seq2[Episode, error] {
	return func(yield func(Episode, error) bool) {
		if err := e.check(ctx); err != nil {
			yield(Episode{}, err)
			return
		}
		err := e.st.ReadRecord(ctx, func(r *store.Reader) error {
			for rec, err := range r.Episodes(store.EpisodeFilter{Project: e.project, Session: f.Session, Role: episode.Role(f.Role), ToolName: f.ToolName,
				AfterSeq: f.AfterSeq, BeforeSeq: f.BeforeSeq, Since: f.Since, Until: f.Until, Tiers: f.Tiers, Desc: f.Newest, Limit: f.Limit}) {
				if err != nil {
					return err
				}
				if !yield(view(&rec), nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Episode{}, wrap(err))
		}
	}
}

// SessionInfo describes a session of the project.
type SessionInfo struct {
	// ID is the session's id, Episodes the number of its turns, LastSeq the Seq of the last.
	ID       string
	Episodes int
	LastSeq  int64
	// Created is when the session began, Last when its last turn was recorded.
	Created, Last time.Time
}

// Sessions yields the sessions of the engine's project, the one with the newest turn first. An error ends the sequence.
func (e *Engine) Sessions(ctx context.Context) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		if err := e.check(ctx); err != nil {
			yield(SessionInfo{}, err)
			return
		}
		var rows []store.SessionRow
		err := e.st.ReadRecord(ctx, func(r *store.Reader) (err error) {
			rows, err = r.Sessions(e.project)
			return err
		})
		if err != nil {
			yield(SessionInfo{}, wrap(err))
			return
		}
		for _, s := range rows {
			if !yield(SessionInfo{ID: s.Session, Episodes: s.Episodes, LastSeq: s.LastSeq, Created: s.Created, Last: s.Last}, nil) {
				return
			}
		}
	}
}
