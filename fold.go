package sakur4

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/rendering"
	"sakur4/internal/store"
	"sakur4/internal/turn"
)

// Fold opens a pocket of sub-context: everything that is recorded after the result of the call that opens it (or after the newest turn, where no
// call is open) until the turn whose call closes it with [Session.Unfold]. Folds nest. An open fold changes no prompt. Both texts may be empty.
//
// The errors are [ErrTooLarge] where they are larger than [MaxTurnBytes] together, and those of the store.
func (s *Session) Fold(ctx context.Context, description, goal string) (FoldID, error) {
	if err := s.e.check(ctx); err != nil {
		return "", err
	}
	if n := len(description) + len(goal); n > MaxTurnBytes {
		return "", fmt.Errorf("%w: fold of %d bytes", ErrTooLarge, n)
	}
	id := s.e.id("fold")
	err := s.e.st.Write(ctx, func(tx *store.Tx) error {
		if err := tx.EnsureSession(s.e.project, s.id); err != nil {
			return err
		}
		last, err := tx.LastSeq(s.e.project, s.id)
		if err != nil {
			return err
		}
		folds, err := tx.Folds(s.e.project, s.id)
		if err != nil {
			return err
		}
		parent := ""
		for _, f := range folds {
			if f.Closed == 0 && f.Summary == "" {
				parent = f.ID // folds close from the inside, so the newest open one is around this one
			}
		}
		return tx.OpenFold(store.FoldRow{ID: id, Project: s.e.project, Session: s.id, Parent: parent, Description: description, Goal: goal, Opened: last})
	})
	if err != nil {
		return "", wrap(err)
	}
	return FoldID(id), nil
}

// Unfold closes a fold: its turns leave the prompt, and one summary with the result stands for them. The next prompt goes back to where the fold was
// opened; everything before that is reused. Open folds inside it are closed with it. The turns stay recorded, see [Session.RecallFold].
//
// The error is [ErrNoFold] where the session has no such open fold, and [ErrTooLarge] for a result larger than [MaxTurnBytes].
func (s *Session) Unfold(ctx context.Context, id FoldID, result string) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	if len(result) > MaxTurnBytes {
		return fmt.Errorf("%w: result of %d bytes", ErrTooLarge, len(result))
	}
	s.bookMu.Lock()
	defer s.bookMu.Unlock()
	if s.book == nil {
		s.book = newBook()
	}
	err := s.e.st.Write(ctx, func(tx *store.Tx) error {
		folds, err := tx.Folds(s.e.project, s.id)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(folds, func(f store.FoldRow) bool { return f.ID == string(id) && f.Summary == "" })
		if at < 0 {
			return fmt.Errorf("%w: %q", ErrNoFold, id)
		}
		if err := s.book.sync(tx, s.e.project, s.id); err != nil {
			return err
		}
		// Inner folds first: each open one was opened after this one.
		for i := len(folds) - 1; i > at; i-- {
			if folds[i].Summary == "" {
				if err := s.close(tx, folds[i], "closed together with the fold around it"); err != nil {
					return err
				}
			}
		}
		return s.close(tx, folds[at], result)
	})
	if err != nil {
		s.book = nil
	}
	return wrap(err)
}

// close writes the summary episode of a fold and takes its turns down the ladder.
func (s *Session) close(tx *store.Tx, f store.FoldRow, result string) error {
	region, closed, err := s.region(tx, f)
	if err != nil {
		return err
	}
	rec := &episode.Record{ID: s.e.id("ep"), Project: s.e.project, Session: s.id, Role: episode.System, ToolName: turn.FoldTool, CallID: f.ID,
		Content: foldSummary(f, len(region), result), Created: s.e.now(), Tier: evict.Live}
	rec.At, rec.Tokenizer, rec.Digest = rec.Created, s.e.opts.Tokenizer.Name(), digest.Of(rec.Content)
	rec.Tokens = s.e.countRecord(rec)
	if err := tx.AppendEpisode(rec); err != nil {
		return err
	}
	edges := make([]store.EdgeRow, 0, len(region))
	var steps []store.StepRow
	for _, ep := range region {
		edges = append(edges, store.EdgeRow{Project: s.e.project, From: rec.ID, To: ep.ID, Kind: "folded_from"})
		if ep.Fold != "" {
			continue // of an inner fold, which has taken it out already
		}
		if err := tx.SetFold(s.e.project, ep.ID, f.ID); err != nil {
			return err
		}
		for t := ep.Tier; t < evict.Referenced; t++ {
			reason := fmt.Sprintf("tier %s → %s (%s closed, 0 tokens reclaimed)", t, t+1, f.ID)
			steps = append(steps, store.StepRow{Episode: ep.ID, Seq: ep.Seq, From: t, To: t + 1, Reason: reason})
		}
	}
	if err := tx.TakeSteps(s.e.project, s.id, f.ID, steps); err != nil {
		return err
	}
	if err := tx.PutEdges(edges); err != nil {
		return err
	}
	if err := tx.CloseFold(s.e.project, f.ID, closed, rec.ID); err != nil {
		return err
	}
	s.book.add(rec)
	return nil
}

func foldSummary(f store.FoldRow, turns int, result string) string {
	text := fmt.Sprintf("Fold %s, closed. Task: %s", f.ID, f.Description)
	if f.Goal != "" {
		text += "\nGoal: " + f.Goal
	}
	return fmt.Sprintf("%s\nIts %d turns are stored whole; memory_recall_fold with id %s returns them.\nResult: %s", text, turns, f.ID, result)
}

// region returns the turns of a fold that is being closed with their results, and the Seq of the last episode before the turn that closes it.
func (s *Session) region(tx *store.Tx, f store.FoldRow) ([]episode.Record, int64, error) {
	sent, err := s.sentSeq(tx)
	if err != nil {
		return nil, 0, err
	}
	// The turns whose calls are being answered now stay, and so do their results. What stood in a prompt has been answered or closed there.
	closed := s.book.last
	for _, o := range s.book.open {
		if !o.interrupted && o.seq > sent && o.seq > f.Opened {
			closed = min(closed, o.seq-1)
		}
	}
	spoken, err := s.firstAndLastUser(tx)
	if err != nil {
		return nil, 0, err
	}
	var region []episode.Record
	begun := turns{}
	for rec, err := range tx.SessionEpisodes(s.e.project, s.id, f.Opened) {
		if err != nil {
			return nil, 0, err
		}
		turn, err := begun.of(tx.Reader, s.e.project, &rec)
		if err != nil {
			return nil, 0, err
		}
		if turn <= f.Opened || turn > closed {
			continue
		}
		if slices.Contains(spoken, rec.ID) {
			continue // what the user said first, and last, stands in every prompt
		}
		rec.Content, rec.Reasoning = "", ""
		region = append(region, rec)
	}
	return region, closed, nil
}

// turns are the places of turns whose results were looked at, by their ids.
type turns map[string]int64

// of returns where the turn of an episode is: a result goes with its call, also where it came after other turns had begun.
func (known turns) of(r *store.Reader, project string, rec *episode.Record) (int64, error) {
	if rec.Role != episode.Tool {
		return rec.Seq, nil
	}
	if seq, ok := known[rec.CallEpisode]; ok {
		return seq, nil
	}
	call, err := r.Episode(project, rec.CallEpisode)
	if err != nil {
		return 0, err
	}
	known[rec.CallEpisode] = call.Seq
	return call.Seq, nil
}

// sentSeq returns the Seq of the last episode that stood in a prompt, 0 before the first.
func (s *Session) sentSeq(tx *store.Tx) (int64, error) {
	row, err := tx.RenderState(s.e.project, s.id)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	seq, err := rendering.SentSeq(row.Body)
	return seq, s.damaged(err)
}

// firstAndLastUser returns the ids of the session's task root and of its newest user turn.
func (s *Session) firstAndLastUser(tx *store.Tx) (ids []string, err error) {
	for _, newest := range []bool{false, true} {
		for rec, err := range tx.Episodes(store.EpisodeFilter{Project: s.e.project, Session: s.id, Role: episode.User, Desc: newest, Limit: 1}) {
			if err != nil {
				return nil, err
			}
			ids = append(ids, rec.ID)
		}
	}
	return ids, nil
}

// closedFolds reads the folds that were closed and are still in the prompt.
func (s *Session) closedFolds(r *store.Reader, p *rendering.Prompt) (closed []rendering.Fold, err error) {
	folds, err := r.Folds(s.e.project, s.id)
	if err != nil {
		return nil, err
	}
	for _, f := range folds {
		if f.Summary == "" || p.Folded(f.ID) {
			continue
		}
		summary, err := r.Episode(s.e.project, f.Summary)
		if err != nil {
			return nil, err
		}
		gone := map[string]bool{}
		for rec, err := range r.Episodes(store.EpisodeFilter{Project: s.e.project, Fold: f.ID}) {
			if err != nil {
				return nil, err
			}
			gone[rec.ID] = true
		}
		closed = append(closed, rendering.Fold{ID: f.ID, Summary: summary.ID, Text: summary.Content, Turns: gone})
	}
	return closed, nil
}

// FoldInfo describes a fold.
type FoldInfo struct {
	// ID is its name, Parent the fold around it ("" for none).
	ID, Parent FoldID
	// Description and Goal are what it was opened with.
	Description, Goal string
	// Summary is the episode that stands for it; "" while it is open.
	Summary EpisodeID
}

// Folds yields the session's folds in the order in which they were opened. An error ends the sequence.
func (s *Session) Folds(ctx context.Context) iter.Seq2[FoldInfo, error] {
	return func(yield func(FoldInfo, error) bool) {
		if err := s.e.check(ctx); err != nil {
			yield(FoldInfo{}, err)
			return
		}
		var rows []store.FoldRow
		err := s.e.st.ReadRecord(ctx, func(r *store.Reader) (err error) {
			rows, err = r.Folds(s.e.project, s.id)
			return err
		})
		if err != nil {
			yield(FoldInfo{}, wrap(err))
			return
		}
		for _, f := range rows {
			if !yield(FoldInfo{ID: FoldID(f.ID), Parent: FoldID(f.Parent), Description: f.Description, Goal: f.Goal, Summary: EpisodeID(f.Summary)}, nil) {
				return
			}
		}
	}
}

// RecallFold yields every turn of a fold, those of folds inside it too, verbatim and in their order; of an open one, those so far.
// The error is [ErrNoFold] where the session has no such fold.
func (s *Session) RecallFold(ctx context.Context, id FoldID) iter.Seq2[Episode, error] {
	return func(yield func(Episode, error) bool) {
		if err := s.e.check(ctx); err != nil {
			yield(Episode{}, err)
			return
		}
		err := s.e.st.ReadRecord(ctx, func(r *store.Reader) error {
			f, err := r.Fold(s.e.project, string(id))
			if errors.Is(err, store.ErrNotFound) || err == nil && f.Session != s.id {
				return fmt.Errorf("%w: %q", ErrNoFold, id)
			}
			if err != nil {
				return err
			}
			begun := turns{}
			for rec, err := range r.SessionEpisodes(s.e.project, s.id, f.Opened) {
				if err != nil {
					return err
				}
				if rec.ID == f.Summary {
					return nil // results that came later are nobody's but the session's
				}
				turn, err := begun.of(r, s.e.project, &rec)
				if err != nil {
					return err
				}
				if turn <= f.Opened || f.Summary != "" && turn > f.Closed {
					continue
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
