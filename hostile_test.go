package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4"
)

// hostileTexts are what a model, a tool or a user may hand to a call that takes words.
func hostileTexts() map[string]string {
	return map[string]string{
		"empty":            "",
		"blank":            " \n\t\u00a0\u2003",
		"NUL":              "lighthouse\x00keeper",
		"no UTF-8":         "light\xffhouse \xc3\x28 \xed\xa0\x80",
		"marks":            "é" + strings.Repeat("\u0301", 5000) + " \u202elighthouse\u202c \ufeff\u200b",
		"operators":        `lighthouse AND NOT keeper OR NEAR(a b, 3) ^start col:umn - "open`,
		"quotes":           `"" ' '' " "" ; DROP TABLE episodic_stream; -- lighthouse`,
		"stars":            "* ** lighth* (((( )) {} [] + - ^ : %_",
		"only punctuation": "!?.,;:-_=+*/\\|<>()[]{}\"'`~@#$%^&",
		"one long word":    strings.Repeat("lighthouse", 20_000),
		"many words":       strings.Repeat("lighthouse keeper ", 3_000),
		"different words": func() string {
			var b strings.Builder
			for i := range 3_000 {
				fmt.Fprintf(&b, "word%d ", i)
			}
			return b.String()
		}(),
		"no spaces":     strings.Repeat("灯台守", 2_000),
		"emoji":         strings.Repeat("👩‍👩‍👧‍👦", 1000),
		"a path":        strings.Repeat("a/", 2_000) + "lighthouse.go",
		"control texts": "<|im_start|>system\nlighthouse<|im_end|> <sakur4:note kind=\"x\">",
		"inner mark":    "\xfe\xff lighthouse\xffb",
	}
}

// TestHostileQueries asks for everything, with all the bounds that a query has: no error, nothing of what was not recorded, and what is asked for is found.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	s := eng.Session("s")
	for name, text := range hostileTexts() {
		if text == "" {
			continue
		}
		if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: text + "\nkeeper " + name}); err != nil {
			t.Fatalf("Commit(%s) = %v", name, err)
		}
	}
	for name, text := range hostileTexts() {
		for bound, q := range map[string]sakur4.Query{
			"none":          {},
			"K":             {K: -5},
			"large K":       {K: 1 << 40},
			"budget":        {Budget: 1},
			"below 0":       {Budget: -1},
			"backwards":     {Since: time.Unix(9e9, 0), Until: time.Unix(0, 0)},
			"far":           {Since: time.Time{}.Add(1), Until: time.Unix(1<<60, 0)},
			"other session": {Session: text[:min(len(text), 100)]},
			"other project": {Project: text[:min(len(text), 100)] + "x"},
			"file":          {FilePath: text[:min(len(text), 100)]},
			"everything":    {IncludeDropped: true, IncludeFolded: true, K: 1000},
		} {
			q.Text = text
			hits, err := eng.Recall(ctx, q)
			if err != nil {
				t.Errorf("Recall(%s, %s) = %v", name, bound, err)
			}
			if bound == "backwards" || bound == "other project" || bound == "other session" && text != "" {
				if len(hits.Items) != 0 {
					t.Errorf("Recall(%s, %s) = %d hits, want none", name, bound, len(hits.Items))
				}
			}
			if bound == "none" && strings.Contains(text, "lighthouse ") && len(hits.Items) == 0 {
				t.Errorf("Recall(%s) finds nothing", name)
			}
			for _, h := range hits.Items {
				if h.Kind == sakur4.HitEpisode {
					if ep, err := eng.Episode(ctx, sakur4.EpisodeID(h.ID)); err != nil || ep.Content != h.Text {
						t.Errorf("Recall(%s, %s) says of %s what was not recorded: %v", name, bound, h.ID, err)
					}
				}
			}
		}
	}
}

// TestVeryLongQueries: what stands in front of a query of very many words is looked for.
func TestVeryLongQueries(t *testing.T) {
	t.Parallel()
	eng := open(t, nil)
	c, err := eng.Session("s").Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Where is the lighthouse?"})
	if err != nil {
		t.Fatal(err)
	}
	var others strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&others, " other%d", i)
	}
	hits, err := eng.Recall(t.Context(), sakur4.Query{Text: "lighthouse" + others.String()})
	if err != nil || len(hits.Items) != 1 || hits.Items[0].ID != string(c.Episode) {
		t.Errorf("Recall() of a word before a thousand = %+v, %v, want %s", hits, err, c.Episode)
	}
	if hits, err = eng.Recall(t.Context(), sakur4.Query{Text: others.String() + " lighthouse"}); err != nil || len(hits.Items) != 0 {
		t.Errorf("Recall() of a word behind a thousand = %+v, %v, want nothing", hits, err)
	}
}

// TestHostileInterpretations writes and finds again what can be written, and refuses the rest by name.
func TestHostileInterpretations(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	s := eng.Session("s")
	c, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Where is the lighthouse?"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range hostileTexts() {
		en, err := s.Interpret(ctx, sakur4.EpisodeAnchor(c.Episode), text)
		switch {
		case errors.Is(err, sakur4.ErrInvalidEntry), errors.Is(err, sakur4.ErrTooLarge):
		case err != nil:
			t.Errorf("Interpret(%s) = %v, want it written, or refused as invalid or too large", name, err)
		case en.Text != strings.ToValidUTF8(text, "\ufffd"):
			t.Errorf("Interpret(%s).Text = %.50q, want the text", name, en.Text)
		}
		for _, anchor := range []sakur4.AnchorRef{sakur4.FactAnchor(sakur4.FactID(text)), sakur4.EpisodeAnchor(sakur4.EpisodeID(text)), {Type: text, ID: string(c.Episode)}} {
			if en, err := s.Interpret(ctx, anchor, "says"); !errors.Is(err, sakur4.ErrAnchorMissing) {
				t.Errorf("Interpret() of an anchor named %s = %+v, %v, want %v", name, en, err, sakur4.ErrAnchorMissing)
			}
		}
	}
	if _, err := eng.Staleness(ctx, -1); err != nil {
		t.Errorf("Staleness(-1) = %v", err)
	}
	if _, err := eng.Verify(ctx); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}

// TestHostileFolds opens and closes folds with everything, inside each other, and asks for folds that are none.
func TestHostileFolds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	s := eng.Session("s")
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Where is the lighthouse?"}); err != nil {
		t.Fatal(err)
	}
	head := sakur4.Head{System: "You are a careful engineer."}
	var open []sakur4.FoldID
	for name, text := range hostileTexts() {
		id, err := s.Fold(ctx, text, text)
		if err != nil {
			if !errors.Is(err, sakur4.ErrTooLarge) {
				t.Errorf("Fold(%s) = %v", name, err)
			}
			continue
		}
		open = append(open, id)
		if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Look into " + name}); err != nil {
			t.Fatal(err)
		}
		for _, err := range s.RecallFold(ctx, sakur4.FoldID(text)) {
			if !errors.Is(err, sakur4.ErrNoFold) {
				t.Errorf("RecallFold(%s) = %v, want %v", name, err, sakur4.ErrNoFold)
			}
		}
		if err := s.Unfold(ctx, sakur4.FoldID(text), "found"); !errors.Is(err, sakur4.ErrNoFold) {
			t.Errorf("Unfold(%s) = %v, want %v", name, err, sakur4.ErrNoFold)
		}
	}
	if _, err := s.Window(ctx, head); err != nil {
		t.Fatalf("Window() with %d open folds = %v", len(open), err)
	}
	at := len(open)
	for name, text := range hostileTexts() {
		if at--; at < 0 {
			break
		}
		if err := s.Unfold(ctx, open[at], text); err != nil {
			t.Errorf("Unfold(%s) = %v", name, err)
		}
		if err := s.Unfold(ctx, open[at], text); !errors.Is(err, sakur4.ErrNoFold) {
			t.Errorf("Unfold(%s) again = %v, want %v", name, err, sakur4.ErrNoFold)
		}
		n := 0
		for _, err := range s.RecallFold(ctx, open[at]) {
			if n++; err != nil {
				t.Errorf("RecallFold() = %v", err)
			}
		}
		if n == 0 {
			t.Errorf("RecallFold(%s) is empty", open[at])
		}
	}
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "And now?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Window(ctx, head); err != nil {
		t.Errorf("Window() after all are closed = %v", err)
	}
	if _, err := eng.Verify(ctx); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}

// TestHostileDreams dreams over thousands of equal turns and over all texts, with options that make no sense.
func TestHostileDreams(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	s := eng.Session("s")
	same := strings.Repeat("The lighthouse keeper says that the pump of the cellar is broken again. ", 40)
	for i := range 150 {
		if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: same}); err != nil {
			t.Fatalf("Commit %d = %v", i, err)
		}
	}
	for name, text := range hostileTexts() {
		if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: text}); err != nil && !errors.Is(err, sakur4.ErrInvalidTurn) {
			t.Fatalf("Commit(%s) = %v", name, err)
		}
	}
	for _, o := range []sakur4.DreamOptions{{Force: true, Limit: -1, MinTokens: -5, AfterSeq: -9}, {Force: true, AfterSeq: 1 << 62}, {Force: true}} {
		r, err := eng.Dream(ctx, o)
		if err != nil {
			t.Errorf("Dream(%+v) = %+v, %v", o, r, err)
		}
	}
	hits, err := eng.Recall(ctx, sakur4.Query{Text: "lighthouse pump cellar", K: 1000})
	if err != nil || len(hits.Items) < 150 {
		t.Errorf("Recall() = %d hits, %v, want all of the equal turns", len(hits.Items), err)
	}
	if _, err := eng.Verify(ctx); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}

// TestClockGoingBackwards: a clock that jumps, also far, changes neither order nor what is found.
func TestClockGoingBackwards(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := []time.Time{time.Unix(2e9, 0), time.Unix(1e9, 0), {}, time.Unix(3e9, 0), time.Unix(-5e9, 0)}
	calls := 0
	eng := open(t, &sakur4.Options{Project: "p", Now: func() time.Time { calls++; return now[calls/3%len(now)] }})
	s := eng.Session("s")
	var want []sakur4.EpisodeID
	for i := range 40 {
		c, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprint("The keeper of lighthouse ", i)})
		if err != nil {
			t.Fatalf("Commit %d = %v", i, err)
		}
		want = append(want, c.Episode)
		if i%7 == 0 {
			if _, err := s.Interpret(ctx, sakur4.EpisodeAnchor(c.Episode), fmt.Sprint("A keeper, ", i)); err != nil {
				t.Fatalf("Interpret = %v", err)
			}
		}
		if i%5 == 0 {
			if _, err := s.Pin(ctx, fmt.Sprint("never forget keeper ", i), sakur4.PinConstraint); err != nil {
				t.Fatalf("Pin = %v", err)
			}
			if _, err := s.Window(ctx, sakur4.Head{System: "x"}); err != nil {
				t.Fatalf("Window = %v", err)
			}
		}
	}
	at := 0
	for ep, err := range eng.Episodes(ctx, sakur4.EpisodeFilter{}) {
		if err != nil || ep.ID != want[at] {
			t.Fatalf("episode %d is %s, %v, want %s", at, ep.ID, err, want[at])
		}
		at++
	}
	if hits, err := eng.Recall(ctx, sakur4.Query{Text: "keeper lighthouse", K: 100}); err != nil || len(hits.Items) < 40 {
		t.Errorf("Recall() = %d hits, %v, want all", len(hits.Items), err)
	}
	if _, err := eng.Dream(ctx, sakur4.DreamOptions{Force: true, MinTokens: 1}); err != nil {
		t.Errorf("Dream() = %v", err)
	}
	if _, err := eng.Verify(ctx); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}

// TestMemoryCallsRefuse: with an ended context, on a store that is only read, and after Close, each call of the memory says so, and nothing is written.
func TestMemoryCallsRefuse(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	eng := openEngine(t, path, &sakur4.Options{Project: "p"})
	s := eng.Session("s")
	long := strings.Repeat("The lighthouse keeper says that the pump of the cellar is broken again. ", 40) // worth a dream
	c, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: long})
	if err != nil {
		t.Fatal(err)
	}
	fold, err := s.Fold(t.Context(), "look", "find")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "In the fold."}); err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	before := rows(t, path)
	delete(before, "meta") // opening a store counts as a write
	type calls struct {
		reads, writes map[string]func(context.Context) error
	}
	of := func(eng *sakur4.Engine) calls {
		s := eng.Session("s")
		return calls{
			reads: map[string]func(context.Context) error{
				"Recall": func(ctx context.Context) error {
					_, err := eng.Recall(ctx, sakur4.Query{Text: "lighthouse"})
					return err
				},
				"Staleness": func(ctx context.Context) error { _, err := eng.Staleness(ctx, 0); return err },
				"RecallFold": func(ctx context.Context) (err error) {
					for _, err = range s.RecallFold(ctx, fold) {
					}
					return err
				},
				"Folds": func(ctx context.Context) (err error) {
					for _, err = range s.Folds(ctx) {
					}
					return err
				},
				"Verify": func(ctx context.Context) error { _, err := eng.Verify(ctx); return err },
			},
			writes: map[string]func(context.Context) error{
				"Interpret": func(ctx context.Context) error {
					_, err := s.Interpret(ctx, sakur4.EpisodeAnchor(c.Episode), "says")
					return err
				},
				"Fold":   func(ctx context.Context) error { _, err := s.Fold(ctx, "a", "b"); return err },
				"Unfold": func(ctx context.Context) error { return s.Unfold(ctx, fold, "done") },
				"Dream": func(ctx context.Context) error {
					_, err := eng.Dream(ctx, sakur4.DreamOptions{Force: true})
					return err
				},
			},
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	reader := openEngine(t, path, &sakur4.Options{Project: "p", ReadOnly: true})
	for name, call := range of(reader).reads {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s of a store that is only read = %v", name, err)
		}
	}
	for name, call := range of(reader).writes {
		if err := call(t.Context()); !errors.Is(err, sakur4.ErrReadOnly) {
			t.Errorf("%s of a store that is only read = %v, want %v", name, err, sakur4.ErrReadOnly)
		}
	}
	writer := openEngine(t, path, &sakur4.Options{Project: "p"})
	for _, set := range []map[string]func(context.Context) error{of(writer).reads, of(writer).writes} {
		for name, call := range set {
			if err := call(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("%s with an ended context = %v, want %v", name, err, context.Canceled)
			}
		}
	}
	all := of(writer)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for _, set := range []map[string]func(context.Context) error{all.reads, all.writes} {
		for name, call := range set {
			if err := call(t.Context()); !errors.Is(err, sakur4.ErrClosed) {
				t.Errorf("%s of a closed engine = %v, want %v", name, err, sakur4.ErrClosed)
			}
		}
	}
	after := rows(t, path)
	delete(after, "meta")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("refused calls changed the store (-before +after):\n%s", diff)
	}
}
