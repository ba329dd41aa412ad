package sakur4_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
)

// TestObserveTwiceFromTwoEngines: the first measurement of a prompt is the one that counts, whoever enters another.
func TestObserveTwiceFromTwoEngines(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, fixed(4096))
	d.user("Go on.")
	w := d.window()
	other := openEngine(t, path, fixed(4096)).Session(d.s.ID())
	cached := [...]int{3, 7}
	got := make(chan any, len(cached))
	for i, s := range []*sakur4.Session{d.s, other} {
		go func() {
			r, err := s.Observe(t.Context(), sakur4.Usage{Window: w.ID, PromptTokens: 100 + i, CachedTokens: &cached[i]})
			if err != nil {
				got <- err
				return
			}
			got <- r
		}()
	}
	first, second := <-got, <-got
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("Observe of one prompt from two engines gives two receipts (-first +second):\n%s", diff)
	}
	r, err := d.s.Receipt(t.Context())
	if err != nil {
		t.Fatalf("Receipt() = %v", err)
	}
	if diff := cmp.Diff(first, any(r)); diff != "" {
		t.Errorf("the stored receipt is not the one that was returned (-returned +stored):\n%s", diff)
	}
}

func TestObserveRefusesWhatNoServerMeasures(t *testing.T) {
	t.Parallel()
	d := newTrial(t, storePath(t), fixed(4096))
	d.user("Go on.")
	d.window()
	less := -1
	for name, u := range map[string]sakur4.Usage{
		"PromptTokens":     {PromptTokens: -1},
		"CompletionTokens": {CompletionTokens: -1},
		"CachedTokens":     {CachedTokens: &less},
		"CacheWriteTokens": {CacheWriteTokens: &less},
		"a negative time":  {PromptMillis: -0.5},
		"no number":        {PromptMillis: math.NaN()},
		"without end":      {PromptMillis: math.Inf(1)},
	} {
		var bad *sakur4.TurnError
		if _, err := d.s.Observe(t.Context(), u); !errors.As(err, &bad) {
			t.Errorf("Observe(%s) = %v, want a *TurnError", name, err)
		}
	}
	if r, err := d.s.Observe(t.Context(), sakur4.Usage{PromptTokens: 5, PromptMillis: 0.5}); err != nil || r.Cache.Millis != 0.5 {
		t.Errorf("Observe() after refused ones = %+v, %v, want the measurement", r.Cache, err)
	}
}

// TestRecallOfAnyNumberOfHits: a number that is too large, or none, is no reason to find nothing.
func TestRecallOfAnyNumberOfHits(t *testing.T) {
	t.Parallel()
	d := newTrial(t, storePath(t), fixed(4096))
	d.user("The lighthouse is at Kap Arkona.")
	for _, k := range []int{math.MinInt, -1, 0, 1, 1 << 61, 1 << 62, math.MaxInt} {
		hits, err := d.eng.Recall(t.Context(), sakur4.Query{Text: "lighthouse", K: k, Budget: min(k, 0)})
		if err != nil || len(hits.Items) != 1 {
			t.Errorf("Recall(K: %d) = %d hits, %v, want 1", k, len(hits.Items), err)
		}
	}
}

func TestOpenNeverIgnoresAKey(t *testing.T) {
	t.Parallel()
	for _, path := range []string{":memory:", storePath(t)} {
		e, err := sakur4.Open(t.Context(), path, &sakur4.Options{Project: "p", EncryptionKey: []byte("secret")})
		if err == nil {
			t.Errorf("Open(%q) with a key of 6 bytes succeeded, want a refusal", path)
			_ = e.Close()
		}
	}
}

// TestErrorsSayWhatIsWrong: an error names the value that is wrong, a turn only where it is one.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("Go on.")
	d.window()
	_, usage := d.s.Observe(t.Context(), sakur4.Usage{PromptTokens: -1})
	_, note := d.s.Attach(t.Context(), sakur4.Note{Kind: sakur4.NoteText})
	_, turn := d.s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "call_9", Content: "x"})
	for want, err := range map[string]error{
		"sakur4: invalid usage: PromptTokens: a count is not negative":       usage,
		"sakur4: invalid note: Text: a note is not empty":                    note,
		`sakur4: invalid turn: ToolCallID "call_9": no open call of that id`: turn,
	} {
		if err == nil || err.Error() != want || !errors.Is(err, sakur4.ErrInvalidTurn) {
			t.Errorf("the error is %q, want %q, which is %v", err, want, sakur4.ErrInvalidTurn)
		}
	}
}
