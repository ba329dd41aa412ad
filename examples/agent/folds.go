package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sakur4"
	"sakur4/receipt"
)

// folding follows the folds of a run: where the newest one was opened, and what the server reused after each was closed.
type folding struct {
	// open is the fold that the script has opened, "" for none.
	open sakur4.FoldID
	// opening is the size of the first prompt after the newest opening in tokens, messages its length; 0 before it.
	opening, messages int
	waiting, closed   bool
}

func (a *agent) memoryFold(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		Description string `json:"description"`
		Goal        string `json:"goal"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	id, err := a.ses.Fold(ctx, in.Description, in.Goal)
	if err != nil {
		return "", err
	}
	a.fold.open, a.fold.waiting = id, true
	return fmt.Sprintf("fold %s is open; close it with memory_unfold when its task is done", id), nil
}

func (a *agent) memoryUnfold(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		ID     sakur4.FoldID `json:"id"`
		Result string        `json:"result"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	if err := a.ses.Unfold(ctx, in.ID, in.Result); err != nil {
		return "", err
	}
	a.fold.open, a.fold.closed = "", true
	return fmt.Sprintf("fold %s is closed; its turns have left the prompt, memory_recall_fold returns them", in.ID), nil
}

func (a *agent) memoryRecallFold(ctx context.Context, args json.RawMessage) (string, error) {
	var in struct {
		ID sakur4.FoldID `json:"id"`
	}
	if err := decode(args, &in); err != nil {
		return "", err
	}
	var b strings.Builder
	for e, err := range a.ses.RecallFold(ctx, in.ID) {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s, %s\n%s\n\n", e.ID, e.Role, episodeText(e))
	}
	return sakur4.Frame("fold", strings.TrimSpace(b.String())), nil
}

// prompted notes the size of the first prompt after a fold was opened.
func (f *folding) prompted(r receipt.Receipt) {
	if f.waiting {
		f.opening, f.messages, f.waiting = r.Used, r.Messages, false
	}
}

// answered measures what the server reused of everything before a fold that was closed, in the first prompt after it.
func (a *agent) answered(r receipt.Receipt) {
	f := &a.fold
	if f.closed && f.opening > 0 && r.Cache.Measured && !r.Compacted {
		share := float64(r.Cache.Reused) / float64(f.opening)
		if a.sum.Folds == 0 || share < a.sum.FoldReuse {
			a.sum.FoldReuse = share
		}
		a.sum.Folds++
	}
	if r.Compacted || f.closed {
		f.opening, f.messages = 0, 0 // the place of opening is not where it was
	}
	f.closed = false
}

func (a *agent) showFolds(ctx context.Context) error {
	for f, err := range a.ses.Folds(ctx) {
		if err != nil {
			return err
		}
		state := "open"
		if f.Summary != "" {
			state = "closed, summary " + string(f.Summary)
		}
		if err := a.say(f, "%s: %s, %s", f.ID, f.Description, state); err != nil {
			return err
		}
	}
	return nil
}
