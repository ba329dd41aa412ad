package sakur4_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/evict"
)

// TestRandomFolds has an agent call several tools before the first result is in, give results in any order or never, speak, be interrupted, and open and close folds at any time, one in
// another. Every prompt is a valid chat without the turns of closed folds, and the next process makes the same one; what a fold took is its whole trace and comes back.
func TestRandomFolds(t *testing.T) {
	t.Parallel()
	for seed := range 24 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newFoldWorld(t, uint64(seed)).run(70)
		})
	}
}

// foldWorld is a session with folds, and what is known of it.
type foldWorld struct {
	t    *testing.T
	rng  *rand.Rand
	path string
	opts *sakur4.Options
	eng  *sakur4.Engine
	s    *sakur4.Session
	n    int
	// turns are all that was recorded, but for summaries; open are the calls without a result.
	turns []foldTurn
	open  []string
	folds []foldOpen
	sent  []sakur4.Message // the last prompt, nil where the next one may begin otherwise
	log   []string
}

type foldTurn struct {
	id    sakur4.EpisodeID
	role  sakur4.Role
	words string
	call  string // the calls of an assistant turn, or the one that a result answers
}

type foldOpen struct {
	id     sakur4.FoldID
	at     int // turns before it
	closed bool
}

func newFoldWorld(t *testing.T, seed uint64) *foldWorld {
	w := &foldWorld{t: t, rng: rand.New(rand.NewPCG(seed, 5)), path: storePath(t), opts: &sakur4.Options{Project: "p", Window: 1500 + int(seed%3)*3000}}
	w.opts.Backend = newServer(w.opts.Window)
	w.reopen()
	w.commit(sakur4.Turn{Role: sakur4.RoleUser}, "")
	return w
}

func (w *foldWorld) reopen() {
	if w.eng != nil {
		if err := w.eng.Close(); err != nil {
			w.fatalf("Close() = %v", err)
		}
	}
	w.eng = openEngine(w.t, w.path, w.opts)
	w.s = w.eng.Session("s")
}

func (w *foldWorld) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format+"\nafter\n%s", append(args, strings.Join(w.log, "\n"))...)
}

func (w *foldWorld) commit(tn sakur4.Turn, call string) {
	w.t.Helper()
	w.n++
	words := fmt.Sprintf("w%dw", w.n)
	tn.Content = strings.Repeat(words+" ", 1+w.rng.IntN(40))
	c, err := w.s.Commit(w.t.Context(), tn)
	w.log = append(w.log, fmt.Sprintf("commit %s %s %q %v", tn.Role, words, call, err))
	if err != nil {
		w.fatalf("Commit() = %v", err)
	}
	w.turns = append(w.turns, foldTurn{c.Episode, tn.Role, words, call})
}

func (w *foldWorld) run(steps int) {
	for range steps {
		switch w.rng.IntN(12) {
		case 0:
			w.commit(sakur4.Turn{Role: sakur4.RoleUser}, "")
		case 1:
			w.commit(sakur4.Turn{Role: sakur4.RoleAssistant}, "")
		case 2, 3, 4:
			var calls []sakur4.ToolCall
			var ids []string
			for range 1 + w.rng.IntN(2) {
				id := fmt.Sprint("c", w.n, "_", len(ids))
				ids = append(ids, id)
				calls = append(calls, sakur4.ToolCall{ID: id, Name: "bash", Arguments: "{}"})
			}
			w.open = append(w.open, ids...)
			w.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: calls}, strings.Join(ids, " "))
		case 5, 6, 7:
			if len(w.open) > 0 {
				i := w.rng.IntN(len(w.open))
				id := w.open[i]
				w.open = slices.Delete(w.open, i, i+1)
				w.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id}, id)
			}
		case 8:
			id, err := w.s.Fold(w.t.Context(), "dig", "")
			w.log = append(w.log, fmt.Sprintf("fold %s %v", id, err))
			if err != nil {
				w.fatalf("Fold() = %v", err)
			}
			w.folds = append(w.folds, foldOpen{id: id, at: len(w.turns)})
		case 9:
			w.unfold()
		case 10:
			w.window()
		default:
			if w.rng.IntN(4) == 0 {
				w.log = append(w.log, "reopen")
				w.reopen()
			}
		}
	}
	w.commit(sakur4.Turn{Role: sakur4.RoleUser}, "")
	w.window()
	if report, err := w.eng.Verify(w.t.Context()); err != nil {
		w.fatalf("Verify() = %+v, %v", report, err)
	}
}

// unfold closes a fold, and those inside it with it.
func (w *foldWorld) unfold() {
	at := -1
	for i, f := range w.folds {
		if !f.closed && (at < 0 || w.rng.IntN(2) == 0) {
			at = i
		}
	}
	if at < 0 {
		return
	}
	err := w.s.Unfold(w.t.Context(), w.folds[at].id, fmt.Sprintf("the outcome of %s", w.folds[at].id))
	w.log = append(w.log, fmt.Sprintf("unfold %s %v", w.folds[at].id, err))
	if err != nil {
		w.fatalf("Unfold() = %v", err)
	}
	for i := at; i < len(w.folds); i++ {
		w.folds[i].closed = true
	}
	w.sent = nil
	w.trace(w.folds[at])
}

// trace looks at what a closed fold took: turns with all results that they had, none of them live.
func (w *foldWorld) trace(f foldOpen) {
	taken := map[sakur4.EpisodeID]bool{}
	for e, err := range w.s.RecallFold(w.t.Context(), f.id) {
		if err != nil {
			w.fatalf("RecallFold(%s) = %v", f.id, err)
		}
		if e.Role == sakur4.RoleSystem {
			continue // the summary of a fold inside it
		}
		taken[e.ID] = true
		if e.Fold == "" && e.Role != sakur4.RoleUser || e.Fold != "" && e.Tier == evict.Live {
			w.fatalf("%s is in the trace of %s, of fold %q and %v", e.ID, f.id, e.Fold, e.Tier)
		}
	}
	calls := map[string]bool{} // whether its turn was taken
	for i, tn := range w.turns {
		switch tn.role {
		case sakur4.RoleAssistant:
			for _, id := range strings.Fields(tn.call) {
				calls[id] = taken[tn.id]
			}
			if taken[tn.id] && i < f.at {
				w.fatalf("%s was recorded before %s was opened", tn.id, f.id)
			}
		case sakur4.RoleTool:
			if taken[tn.id] != calls[tn.call] {
				w.fatalf("the trace of %s has the call %t and its result %s %t", f.id, calls[tn.call], tn.words, taken[tn.id])
			}
		}
	}
}

func (w *foldWorld) window() {
	head := sakur4.Head{System: "You are careful.", CloseOpenCalls: w.rng.IntN(2) == 0}
	got, err := w.s.Window(w.t.Context(), head)
	w.log = append(w.log, fmt.Sprintf("window %v", err))
	switch {
	case errors.Is(err, sakur4.ErrPending) && !head.CloseOpenCalls, errors.Is(err, sakur4.ErrNoTurn), errors.Is(err, sakur4.ErrBudgetOverflow):
		return
	case err != nil:
		w.fatalf("Window() = %v", err)
	}
	if err := strictChat(got.Messages); err != nil {
		w.fatalf("the prompt is no valid chat: %v\n%s", err, outline(got.Messages))
	}
	if n := len(w.sent); n > 0 && got.Plan == nil && (n > len(got.Messages) || !cmp.Equal(w.sent, got.Messages[:min(n, len(got.Messages))])) {
		w.fatalf("the prompt does not begin with the last one (-last +got):\n%s", cmp.Diff(w.sent, got.Messages))
	}
	w.sent = got.Messages
	said := text(got)
	for _, tn := range w.turns {
		e, err := w.eng.Episode(w.t.Context(), tn.id)
		if err != nil {
			w.fatalf("Episode(%s) = %v", tn.id, err)
		}
		if e.Fold != "" && tn.role != sakur4.RoleTool && strings.Contains(said, tn.words+" ") {
			w.fatalf("%s of the closed fold %s stands in the prompt:\n%s", tn.words, e.Fold, outline(got.Messages))
		}
	}
	w.reopen()
	again, err := w.s.Window(w.t.Context(), head)
	if err != nil || text(again) != said || again.ID != got.ID {
		w.fatalf("Window() of the next process = %+v, %v, want %s", again, err, got.ID)
	}
}
