package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4"
)

// TestEmbedderFindsBySense: what shares no word with the question is found by its vector, an episode, a part of a long one and an interpretation; without an embedder it is not.
func TestEmbedderFindsBySense(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := storePath(t)
	em := newSenses()
	eng := openEngine(t, path, &sakur4.Options{Project: "p", Embedder: em})
	s := eng.Session("s")
	car := say(t, s, "The automobile would not start.")
	say(t, s, "Bread needs yeast.")
	long := say(t, s, strings.Repeat("Nothing of note happened on the way. ", 100)+"Then a physician arrived. "+strings.Repeat("It rained. ", 50))
	e, err := s.Interpret(ctx, sakur4.EpisodeAnchor(sakur4.EpisodeID(car)), "Swift help is wanted.")
	if err != nil {
		t.Fatal(err)
	}
	questions := map[string]string{"car": car, "doctor": long, "fast": e.ID}
	for q, want := range questions {
		if got, notes := denseFirst(t, eng, sakur4.Query{Text: q}); got != want || len(notes) > 0 {
			t.Errorf("Recall(%s) by sense = %s, notes %q, want %s", q, got, notes, want)
		}
	}
	for _, text := range em.texts() {
		if len(text) > 1200 || strings.TrimSpace(text) == "" {
			t.Errorf("the embedder was asked for a text of %d bytes: %.40q", len(text), text)
		}
	}
	plain := openEngine(t, path, &sakur4.Options{Project: "p"})
	for q := range questions {
		if hits, err := plain.Recall(ctx, sakur4.Query{Text: q}); err != nil || len(hits.Items) > 0 || len(hits.Notes) > 0 {
			t.Errorf("Recall(%s) without an embedder = %+v, %v, want nothing", q, hits, err)
		}
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	// Vectors are stored: they are not computed a second time, and a store that cannot be written is searched with them.
	em.texts()
	for _, o := range []sakur4.Options{{Project: "p", Embedder: em}, {Project: "p", Embedder: em, ReadOnly: true}} {
		again, err := sakur4.Open(ctx, path, &o)
		if err != nil {
			t.Fatal(err)
		}
		if got, notes := denseFirst(t, again, sakur4.Query{Text: "vehicle"}); got != car || len(notes) > 0 {
			t.Errorf("Recall(vehicle) after opening again, read only %t = %s, notes %q, want %s", o.ReadOnly, got, notes, car)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"vehicle"}, em.texts()); diff != "" {
			t.Errorf("the embedder was asked for (-want +got):\n%s", diff)
		}
	}
}

// TestEmbedderFiltersLikeWords: what a query leaves out is left out however near it is.
func TestEmbedderFiltersLikeWords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	eng := openEngine(t, storePath(t), &sakur4.Options{Project: "p", Embedder: newSenses()})
	commit := func(session, text string, at time.Time) string {
		t.Helper()
		c, err := eng.Session(session).Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: text, At: at})
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Episode)
	}
	// Far more that are as near than a first look takes.
	for i := range 300 {
		commit("many", fmt.Sprint("automobile ", i), now)
	}
	one := commit("one", "automobile of another day", now.Add(24*time.Hour))
	for _, q := range []sakur4.Query{
		{Text: "car", Session: "one"}, {Text: "car", Since: now.Add(time.Hour)}, {Text: "car", Since: now.Add(time.Hour), Until: now.Add(48 * time.Hour)},
	} {
		hits, err := eng.Recall(ctx, q)
		if err != nil || len(hits.Items) != 1 || hits.Items[0].ID != one {
			t.Errorf("Recall(%+v) = %+v, %v, want %s alone", q, hits, err, one)
		}
	}
	// What was read from memory is no memory of its own.
	hits, err := eng.Recall(ctx, sakur4.Query{Text: "car", Session: "one"})
	if err != nil {
		t.Fatal(err)
	}
	s := eng.Session("one")
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "r", Name: "memory_recall", Arguments: `{"id": "7"}`}}}); err != nil {
		t.Fatal(err)
	}
	framed, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "r", Content: hits.String()})
	if err != nil {
		t.Fatal(err)
	}
	hits, err = eng.Recall(ctx, sakur4.Query{Text: "car", Session: "one"})
	if err != nil || slices.ContainsFunc(hits.Items, func(h sakur4.Hit) bool { return h.ID == string(framed.Episode) }) {
		t.Errorf("Recall(car) = %+v, %v, want it without what was recalled before", hits, err)
	}
}

// TestLaw11VectorsNeverLeak: two projects with the same texts find their own by sense; another one's only when it is named, with its model.
func TestLaw11VectorsNeverLeak(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	other := newSenses()
	other.model = "another model"
	options := map[string]*sakur4.Options{
		"a": {Project: "a", Embedder: newSenses()}, "b": {Project: "b", Embedder: newSenses()}, "c": {Project: "c", Embedder: other}, "d": {Project: "d"},
	}
	engines, own := map[string]*sakur4.Engine{}, map[string]map[string]bool{}
	for name, o := range options {
		eng := openEngine(t, path, o)
		engines[name], own[name] = eng, map[string]bool{}
		for i := range 3 {
			id := say(t, eng.Session("s"), fmt.Sprint("The automobile stands still, day ", i))
			e, err := eng.Session("s").Interpret(t.Context(), sakur4.EpisodeAnchor(sakur4.EpisodeID(id)), "An automobile.")
			if err != nil {
				t.Fatal(err)
			}
			own[name][id], own[name][e.ID] = true, true
		}
		if o.Embedder != nil { // an engine waits for the vectors of its own project only
			if _, err := eng.Embed(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, o := range options { // a recall waits for its own project alone
		if o.Embedder == nil {
			continue
		}
		if _, err := engines[name].Embed(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for from := range options {
		for named := range options {
			q := sakur4.Query{Text: "car", K: 100, Project: engines[named].Project()}
			hits, err := engines[from].Recall(t.Context(), q)
			want := 0
			note := ""
			switch {
			case from == "d":
			case named == "d":
				note = "no vectors"
			case (from == "c") != (named == "c"):
				note = "numbers"
			default:
				want = len(own[named])
			}
			if err != nil || len(hits.Items) != want || !strings.Contains(strings.Join(hits.Notes, "; "), note) || note == "" && len(hits.Notes) > 0 {
				t.Errorf("Recall from %s in %s = %d hits, notes %q, %v, want %d, %q", from, named, len(hits.Items), hits.Notes, err, want, note)
			}
			for _, h := range hits.Items {
				if !own[named][h.ID] {
					t.Errorf("Recall from %s in %s found %+v", from, named, h)
				}
			}
		}
	}
}

// TestLaw13VectorsSeeWrites: what one engine commits, another one finds by sense at once.
func TestLaw13VectorsSeeWrites(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	em := newSenses()
	em.dim = 4096 // each word has a place of its own
	engines := []*sakur4.Engine{openEngine(t, path, &sakur4.Options{Project: "p", Embedder: em}), openEngine(t, path, &sakur4.Options{Project: "p", Embedder: em})}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 8 {
				word := string([]byte{'q', byte('a' + g), byte('a' + i)})
				c, err := engines[g%2].Session(fmt.Sprint(g)).Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: word})
				if err != nil {
					t.Errorf("Commit() = %v", err)
					return
				}
				// The question shares the sense and no word.
				hits, err := engines[(g+1)%2].Recall(t.Context(), sakur4.Query{Text: strings.ToUpper(word[:1]) + "7 " + word, K: 100})
				found := slices.ContainsFunc(hits.Items, func(h sakur4.Hit) bool {
					return h.ID == string(c.Episode) && slices.Contains(h.Reasons, "dense rank 1")
				})
				if err != nil || !found { // what is committed meanwhile may have no vector yet
					t.Errorf("Recall(%s) through the other engine = %+v, %v, want %s first by its vector", word, hits, err, c.Episode)
				}
			}
		})
	}
	wg.Wait()
}

// TestEmbedderThatFails: whatever an embedder does, turns are recorded, prompts made and words found; the answer says what it lacks, and has it again when the embedder is well.
func TestEmbedderThatFails(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	one := func(v []float32) func(context.Context, []string) ([][]float32, error) {
		return func(_ context.Context, texts []string) ([][]float32, error) {
			return slices.Repeat([][]float32{v}, len(texts)), nil
		}
	}
	with := func(i int, x float32) []float32 {
		v := make([]float32, 512)
		v[i] = x
		return v
	}
	for _, c := range []struct {
		name, note string
		answer     func(ctx context.Context, texts []string) ([][]float32, error)
		place      int // of the number at fault, -2 for another error
	}{
		{"error", "out of order", outOfOrder, -2},
		{"no vectors", "0 vectors for 1", func(context.Context, []string) ([][]float32, error) { return nil, nil }, -1},
		{"short", "511 numbers, not 512", one(make([]float32, 511)), -1},
		{"zero", "all numbers are 0", one(make([]float32, 512)), -1},
		{"NaN", "number 7: NaN is not finite", one(with(7, nan)), 7},
		{"infinite", "number 3: +Inf is not finite", one(with(3, float32(math.Inf(1)))), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			em := newSenses()
			em.set(c.answer)
			eng := openEngine(t, storePath(t), &sakur4.Options{Project: "p", Embedder: em})
			s := eng.Session("s")
			id := say(t, s, "The automobile would not start.")
			if _, err := s.Window(ctx, sakur4.Head{}); err != nil {
				t.Errorf("Window() = %v", err)
			}
			hits, err := eng.Recall(ctx, sakur4.Query{Text: "automobile"})
			if err != nil || len(hits.Items) != 1 || hits.Items[0].ID != id {
				t.Errorf("Recall(automobile) = %+v, %v, want %s by its words", hits, err, id)
			}
			if notes := strings.Join(hits.Notes, "; "); len(hits.Notes) != 1 || !strings.Contains(notes, c.note) || !strings.Contains(hits.String(), "dense results") {
				t.Errorf("Recall(automobile) has the notes %q, want one with %q and the same in\n%s", notes, c.note, hits)
			}
			var bad *sakur4.VectorError
			_, err = eng.Embed(ctx, nil)
			if err == nil || errors.As(err, &bad) != (c.place > -2) || bad != nil && bad.Number != c.place {
				t.Errorf("Embed() = %v (%+v), want the place %d", err, bad, c.place)
			}
			em.set(nil)
			if got, notes := denseFirst(t, eng, sakur4.Query{Text: "car"}); got != id || len(notes) > 0 {
				t.Errorf("Recall(car) afterwards = %s, notes %q, want %s", got, notes, id)
			}
		})
	}
}

// TestEmbedderThatHangs: a commit and a prompt never wait for an embedder, a query waits a few seconds, the ones after it do not. The clock is the bubble's.
func TestEmbedderThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		em := newSenses()
		em.set(func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		eng, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{Project: "p", Embedder: em})
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		s := eng.Session("s")
		start := time.Now()
		id := say(t, s, "The automobile would not start.")
		if _, err := s.Window(t.Context(), sakur4.Head{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("Commit and Window took %v", took)
		}
		recall := func(longest time.Duration) {
			t.Helper()
			start := time.Now()
			hits, err := eng.Recall(t.Context(), sakur4.Query{Text: "automobile"})
			if took := time.Since(start); err != nil || len(hits.Items) != 1 || hits.Items[0].ID != id || len(hits.Notes) == 0 || took > longest {
				t.Errorf("Recall() = %+v, %v after %v, want %s with notes within %v", hits, err, took, id, longest)
			}
		}
		recall(7 * time.Second)
		recall(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := eng.Recall(ctx, sakur4.Query{Text: "automobile"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Recall() with a deadline = %v, want it", err)
		}
		time.Sleep(2 * time.Minute)
		em.set(nil)
		if got, notes := denseFirst(t, eng, sakur4.Query{Text: "car"}); got != id || len(notes) > 0 {
			t.Errorf("Recall(car) afterwards = %s, notes %q, want %s", got, notes, id)
		}
	})
}

// TestEmbedderThatRefusesTexts: a text that is too long for the model is shortened, one that it never takes is left out, and neither keeps the others back.
func TestEmbedderThatRefusesTexts(t *testing.T) {
	t.Parallel()
	em := newSenses()
	em.set(func(_ context.Context, texts []string) ([][]float32, error) {
		for _, text := range texts {
			if len(text) > 400 || strings.Contains(text, "poi") {
				return nil, fmt.Errorf("a text of %d bytes", len(text))
			}
		}
		return em.good(texts), nil
	})
	path := storePath(t)
	eng := openEngine(t, path, &sakur4.Options{Project: "p"})
	s := eng.Session("s")
	for i := range 40 {
		say(t, s, fmt.Sprint("Bread needs yeast, day ", i))
	}
	poison := say(t, s, "poison and an automobile")
	long := say(t, s, "A physician said: "+strings.Repeat("rest. ", 180))
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	eng = openEngine(t, path, &sakur4.Options{Project: "p", Embedder: em})
	var last sakur4.EmbedProgress
	if _, err := eng.Embed(t.Context(), func(p sakur4.EmbedProgress) { last = p }); err != nil || last.Waiting != 0 {
		t.Errorf("Embed() = %v, last progress %+v", err, last)
	}
	if got, notes := denseFirst(t, eng, sakur4.Query{Text: "doctor"}); got != long || len(notes) > 0 {
		t.Errorf("Recall(doctor) = %s, notes %q, want %s", got, notes, long)
	}
	hits, err := eng.Recall(t.Context(), sakur4.Query{Text: "automobile"})
	if err != nil || len(hits.Items) == 0 || hits.Items[0].ID != poison || slices.ContainsFunc(hits.Items[0].Reasons, func(r string) bool { return strings.HasPrefix(r, "dense") }) {
		t.Errorf("Recall(automobile) = %+v, %v, want %s by its words alone", hits, err, poison)
	}
	st, err := eng.Status(t.Context())
	if err != nil || st.Vectors.Stored != 41 || st.Vectors.Refused != 1 || st.Vectors.Waiting != 0 {
		t.Errorf("Status() = %+v, %v, want 41 vectors, 1 refused", st.Vectors, err)
	}
}

// TestEmbedderChanged: vectors of another model or length are refused, with both named, until they are made anew.
func TestEmbedderChanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := storePath(t)
	old := newSenses()
	first := openEngine(t, path, &sakur4.Options{Project: "p", Embedder: old})
	id := say(t, first.Session("s"), "The automobile would not start.")
	if got, _ := denseFirst(t, first, sakur4.Query{Text: "car"}); got != id {
		t.Fatalf("Recall(car) = %s, want %s", got, id)
	}
	wide, renamed := newSenses(), newSenses()
	wide.dim, renamed.model = 96, "senses 2"
	for _, em := range []*senses{wide, renamed} {
		for _, readOnly := range []bool{false, true} {
			_, err := sakur4.Open(ctx, path, &sakur4.Options{Project: "p", Embedder: em, ReadOnly: readOnly})
			var changed *sakur4.EmbedderError
			want := sakur4.EmbedderError{Stored: "senses", StoredDim: 512, Model: em.model, Dim: em.dim}
			if !errors.Is(err, sakur4.ErrEmbedderChanged) || !errors.As(err, &changed) || *changed != want {
				t.Errorf("Open(%s, %d) = %v, want %v", em.model, em.dim, err, &want)
			}
		}
	}
	if got, _ := denseFirst(t, first, sakur4.Query{Text: "car"}); got != id {
		t.Errorf("Recall(car) after refused opens = %s, want %s", got, id)
	}
	// Another project is of no account.
	openEngine(t, path, &sakur4.Options{Project: "q", Embedder: wide})
	for i, em := range []*senses{wide, renamed} {
		eng := openEngine(t, path, &sakur4.Options{Project: "p", Embedder: em, Reembed: true})
		if _, err := eng.Embed(ctx, nil); err != nil {
			t.Errorf("Embed() = %v", err)
		}
		if got, notes := denseFirst(t, eng, sakur4.Query{Text: "car"}); got != id || len(notes) > 0 {
			t.Errorf("Recall(car) by embedder %d = %s, notes %q, want %s", i, got, notes, id)
		}
		// One that is still open with the old embedder goes on without vectors, and says so.
		got, notes := denseFirst(t, first, sakur4.Query{Text: "car"})
		if all := strings.Join(notes, "; "); got != "" || !strings.Contains(all, em.model) {
			t.Errorf("Recall(car) by the old embedder = %s, notes %q", got, notes)
		}
	}
	if _, err := sakur4.Open(ctx, path, &sakur4.Options{Project: "p", Embedder: old}); !errors.Is(err, sakur4.ErrEmbedderChanged) {
		t.Errorf("Open(the first embedder) = %v, want %v", err, sakur4.ErrEmbedderChanged)
	}
	// Reembed throws nothing away where the embedder is the same.
	renamed.texts()
	eng := openEngine(t, path, &sakur4.Options{Project: "p", Embedder: renamed, Reembed: true})
	if r, err := eng.Embed(ctx, nil); err != nil || r != (sakur4.EmbedReport{}) {
		t.Errorf("Embed() with the same embedder = %+v, %v, want nothing to do", r, err)
	}
}

// TestEmbedderOptions: what cannot be an embedder is refused, and what needs one says so.
func TestEmbedderOptions(t *testing.T) {
	t.Parallel()
	nameless, empty := newSenses(), newSenses()
	nameless.model, empty.dim = "", 0
	for name, o := range map[string]sakur4.Options{
		"no name": {Embedder: nameless}, "no numbers": {Embedder: empty}, "nothing to embed with": {Reembed: true},
		"nothing may be written": {Embedder: newSenses(), Reembed: true, ReadOnly: true},
	} {
		o.Project = "p"
		if eng, err := sakur4.Open(t.Context(), ":memory:", &o); err == nil {
			t.Errorf("%s: Open() = nil", name)
			_ = eng.Close()
		}
	}
	if _, err := open(t, nil).Embed(t.Context(), nil); !errors.Is(err, sakur4.ErrUnsupported) {
		t.Errorf("Embed() without an embedder = %v, want %v", err, sakur4.ErrUnsupported)
	}
	eng := open(t, &sakur4.Options{Embedder: newSenses()})
	say(t, eng.Session("s"), "hello")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eng.Embed(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Embed(cancelled) = %v", err)
	}
}
