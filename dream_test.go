package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/semantic"
)

// writer is a summarizer that says what it is told to.
type writer struct {
	mu   sync.Mutex
	say  func(n int, req sakur4.SummaryRequest) (string, error)
	seen []sakur4.SummaryRequest
}

func (w *writer) Summarize(ctx context.Context, req sakur4.SummaryRequest) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, req)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return w.say(len(w.seen), req)
}

func says(text string) *writer {
	return &writer{say: func(int, sakur4.SummaryRequest) (string, error) { return text, nil }}
}

// story is a text of more than 96 tokens about one thing.
func story(about string) string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "Step %d looked at %s and found that drainQueue must not hold the lock there. The weather was fine on day %d.\n", i, about, i)
	}
	return b.String()
}

func (w *workshop) dream(o sakur4.DreamOptions) sakur4.DreamReport {
	w.t.Helper()
	r, err := w.eng.Dream(w.t.Context(), o)
	if err != nil {
		w.t.Fatalf("Dream(%+v) = %+v, %v", o, r, err)
	}
	return r
}

// actions are what a report did, as text.
func actions(r sakur4.DreamReport) []string {
	var out []string
	for _, it := range r.Items {
		out = append(out, string(it.Action))
	}
	return out
}

// TestDreamPromotes: a long turn gets an entry of its own sentences, shorter than it and found by its words; a short one is skipped and reported; what has an
// entry is left alone the next time.
func TestDreamPromotes(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	text := story("worker_pool.go")
	long := w.user(text)
	short := w.say("It is fine.")
	var progress []sakur4.DreamProgress
	r := w.dream(sakur4.DreamOptions{Progress: func(p sakur4.DreamProgress) { progress = append(progress, p) }})
	if r.Promoted != 1 || r.Skipped != 1 || len(r.Items) != 2 || r.LastSeq != short.Seq {
		t.Fatalf("Dream = %+v, want one promoted and one skipped", r)
	}
	it := r.Items[0]
	if it.Action != sakur4.DreamPromoted || it.Episode != long.Episode || it.Anchor != sakur4.EpisodeAnchor(long.Episode) || it.Origin != "extracted" ||
		it.Tokens >= it.SourceTokens || it.SourceTokens < 96 {
		t.Errorf("Dream: %+v, want the long turn promoted, shorter than it is", it)
	}
	if sk := r.Items[1]; sk.Action != sakur4.DreamSkipped || sk.Episode != short.Episode || !strings.Contains(sk.Reason, "under 96") {
		t.Errorf("Dream: %+v, want the short turn skipped with the reason", sk)
	}
	if len(progress) != 2 || progress[1].Done != 2 || progress[0].Item.Entry != it.Entry {
		t.Errorf("Dream: progress %+v, want both items", progress)
	}
	hit := w.entry("drainQueue lock worker_pool.go", it.Entry)
	names, body, ok := strings.Cut(hit.Text, ": ")
	if !ok || !strings.Contains(names, "worker_pool.go") || !strings.Contains(names, "drainQueue") {
		t.Errorf("entry %q, want identifiers in front", hit.Text)
	}
	for _, s := range strings.Split(body, "\n") {
		if !strings.Contains(text, s) {
			t.Errorf("entry holds %q, which is no sentence of the episode", s)
		}
	}
	if again := w.dream(sakur4.DreamOptions{}); again.Promoted != 0 || again.Known != 1 || again.Skipped != 1 {
		t.Errorf("Dream again = %+v, want nothing new", again)
	}
	if next := w.dream(sakur4.DreamOptions{AfterSeq: r.LastSeq}); len(next.Items) != 0 || next.LastSeq != 0 {
		t.Errorf("Dream after the last = %+v, want nothing", next)
	}
}

// TestDreamSkips: each kind of turn that gets no entry, with its reason.
func TestDreamSkips(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	old := w.user(story("a.go"))
	w.say("Noted.")
	w.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "No.", Corrects: old.Episode})
	own := w.call("memory_recall", `{"query":"a"}`, sakur4.Frame("recalled", story("b.go")))
	remark := w.commit(sakur4.Turn{Role: sakur4.RoleSystem, Content: story("c.go")})
	dense := w.call("run", `{}`, strings.Repeat("zz9_y ", 200))
	r := w.dream(sakur4.DreamOptions{})
	for _, c := range []struct {
		ep   sakur4.EpisodeID
		want string
	}{{old.Episode, "superseded by"}, {own.Episode, "remembered"}, {remark.Episode, "remark"}} {
		at := slices.IndexFunc(r.Items, func(it sakur4.DreamItem) bool { return it.Episode == c.ep })
		if at < 0 || r.Items[at].Action != sakur4.DreamSkipped || !strings.Contains(r.Items[at].Reason, c.want) {
			t.Errorf("Dream: %+v, want %s skipped: %s", r.Items, c.ep, c.want)
		}
	}
	if r.Promoted > 1 {
		t.Errorf("Dream = %+v, want at most %s promoted", r, dense.Episode)
	}
}

// TestDreamOnlyIdle: without force nothing is done while the server is busy or cannot say, and the error says which.
func TestDreamOnlyIdle(t *testing.T) {
	t.Parallel()
	busy := newServer(8192)
	busy.SetBusy(true)
	for _, c := range []struct {
		name    string
		backend boundary.Backend
		want    string
	}{
		{"busy", busy, "it is processing a request"},
		{"cannot say", mute{newServer(8192)}, "the backend cannot say"},
		{"fails", failing{newServer(8192)}, "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, &sakur4.Options{Backend: c.backend})
			w.user(story("a.go"))
			r, err := w.eng.Dream(t.Context(), sakur4.DreamOptions{})
			if !errors.Is(err, sakur4.ErrNotIdle) || !strings.Contains(err.Error(), c.want) || len(r.Items) != 0 {
				t.Errorf("Dream = %+v, %v, want ErrNotIdle: %s", r, err, c.want)
			}
			if r := w.dream(sakur4.DreamOptions{Force: true}); r.Promoted != 1 {
				t.Errorf("Dream by force = %+v, want the turn promoted", r)
			}
		})
	}
}

// TestDreamStopsWhenBusy: somebody comes back in the middle.
func TestDreamStopsWhenBusy(t *testing.T) {
	t.Parallel()
	server := newServer(8192)
	w := newWorkshop(t, &sakur4.Options{Backend: server})
	for i := range 4 {
		w.user(story(fmt.Sprintf("f%d.go", i)))
		w.say("Noted.")
	}
	r, err := w.eng.Dream(t.Context(), sakur4.DreamOptions{Progress: func(p sakur4.DreamProgress) { server.SetBusy(p.Done >= 3) }})
	if !errors.Is(err, sakur4.ErrNotIdle) || r.Promoted != 2 {
		t.Errorf("Dream = %+v, %v, want two promoted and ErrNotIdle", r, err)
	}
	server.SetBusy(false)
	if r := w.dream(sakur4.DreamOptions{AfterSeq: r.LastSeq}); r.Promoted != 2 {
		t.Errorf("Dream from there = %+v, want the other two", r)
	}
}

// mute is a server that cannot say whether it is idle.
type mute struct{ boundary.Backend }

// failing is a server whose slots cannot be asked for.
type failing struct{ *embedded.Server }

func (failing) Idle(context.Context) (bool, error) { return false, errDown }

// TestDreamCancelled: it stops within one item, and what was done stays.
func TestDreamCancelled(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	for i := range 4 {
		w.user(story(fmt.Sprintf("f%d.go", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := w.eng.Dream(ctx, sakur4.DreamOptions{Progress: func(p sakur4.DreamProgress) {
		if p.Done == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.Promoted != 2 {
		t.Errorf("Dream cancelled after two = %+v, %v, want two promoted", r, err)
	}
	if r := w.dream(sakur4.DreamOptions{}); r.Known != 2 || r.Promoted != 2 {
		t.Errorf("Dream again = %+v, want two known and two promoted", r)
	}
	if r := w.dream(sakur4.DreamOptions{Limit: 1}); r.Promoted != 0 || r.Known != 4 {
		t.Errorf("Dream with nothing to do = %+v", r)
	}
}

func TestDreamLimit(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	for i := range 3 {
		w.user(story(fmt.Sprintf("f%d.go", i)))
		w.say("Noted.")
	}
	if r := w.dream(sakur4.DreamOptions{Limit: 2}); r.Promoted != 2 {
		t.Errorf("Dream(Limit 2) = %+v, want two promoted", r)
	}
	if r := w.dream(sakur4.DreamOptions{MinTokens: 1 << 20}); r.Promoted != 0 || r.Skipped != 6 {
		t.Errorf("Dream(MinTokens 1M) = %+v, want all skipped", r)
	}
}

// TestDreamAnchorsToFacts: what gave a fact is anchored to one, and so goes stale with it.
func TestDreamAnchorsToFacts(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Read.")
	src := longSource(1)
	w.write("pool.go", src)
	c := w.open("pool.go")
	w.symbols(c)
	r := w.dream(sakur4.DreamOptions{})
	at := slices.IndexFunc(r.Items, func(it sakur4.DreamItem) bool { return it.Episode == c.Episode })
	if at < 0 || r.Items[at].Action != sakur4.DreamPromoted || r.Items[at].Anchor.Type != "symbolic_fact" {
		t.Fatalf("Dream = %+v, want the read promoted and anchored to a fact", r)
	}
	if got := w.staleness(); got.Stale != 0 || got.Entries != 1 {
		t.Errorf("Staleness after Dream = %+v, want it fresh", got)
	}
	w.write("pool.go", longSource(2))
	if got := w.staleness(); got.Stale != 1 {
		t.Errorf("Staleness after an edit = %+v, want it stale", got)
	}
}

// longSource is Go source of more than 96 tokens, of which every function depends on n.
func longSource(n int) string {
	var b strings.Builder
	b.WriteString("package pool\n")
	for i := range 8 {
		fmt.Fprintf(&b, "\n// startWorker%d starts worker %d and returns an error because the queue must be drained first.\nfunc startWorker%d(queueLength int) error {\n\treturn errorAfter(%d, queueLength)\n}\n", i, i, i, n)
	}
	return b.String()
}

// TestDreamRegenerates: a stale entry gets a new one in its place, about the source as it is now; the old one stays readable, and out of recall.
func TestDreamRegenerates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		reread bool
	}{{"from the file", false}, {"from the newest read", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, nil)
			w.user("Read.")
			w.write("pool.go", longSource(1))
			w.symbols(w.open("pool.go"))
			first := w.dream(sakur4.DreamOptions{})
			old := first.Items[slices.Index(actions(first), "promoted")]
			w.write("pool.go", longSource(2)+"\nfunc brandNewThing() {}\n")
			if c.reread {
				w.symbols(w.open("pool.go"))
			}
			r := w.dream(sakur4.DreamOptions{})
			if r.Regenerated != 1 || r.Promoted != 0 || r.Items[0].Replaces != old.Entry || r.Items[0].Anchor.Type != "symbolic_fact" {
				t.Fatalf("Dream = %+v, want %s regenerated", r, old.Entry)
			}
			if got := w.staleness(); got.Stale != 0 || got.Unverified != 0 || got.Entries < 1 {
				t.Errorf("Staleness = %+v, want all fresh", got)
			}
			for _, h := range w.recall("startWorker1 queueLength drained") {
				if h.ID == old.Entry {
					t.Errorf("Recall finds the replaced entry: %+v", h)
				}
			}
			if en := w.entryByID(old.Entry); en.Text == "" {
				t.Error("the replaced entry cannot be read any more")
			}
			again := w.dream(sakur4.DreamOptions{})
			if again.Regenerated != 0 {
				t.Errorf("Dream again = %+v, want nothing to regenerate", again)
			}
			if _, err := w.eng.Verify(t.Context()); err != nil {
				t.Errorf("Verify() = %v", err)
			}
		})
	}
}

// entryByID reads an entry, also a replaced one.
func (w *workshop) entryByID(id string) semantic.Entry {
	w.t.Helper()
	for en, err := range w.eng.Entries(w.t.Context(), sakur4.EntryFilter{All: true}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if en.ID == id {
			return en
		}
	}
	w.t.Fatalf("no entry %s", id)
	return semantic.Entry{}
}

// TestDreamLeavesTheAgentsOwn: extraction never replaces what the agent wrote; a model may.
func TestDreamLeavesTheAgentsOwn(t *testing.T) {
	t.Parallel()
	model := says("The pool now starts with two.")
	for _, c := range []struct {
		name  string
		model *writer
		want  sakur4.DreamAction
	}{{"extraction", nil, sakur4.DreamSkipped}, {"model", model, sakur4.DreamRegenerated}, {"model that fails", says(""), sakur4.DreamSkipped}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := &sakur4.Options{}
			if c.model != nil {
				o.Summarizer = c.model
			}
			w := newWorkshop(t, o)
			w.user("Read.")
			w.write("pool.go", longSource(1))
			id := w.interpret(sakur4.FactAnchor(w.symbol("pool.go", "startWorker1")), "My own words.")
			w.write("pool.go", longSource(2))
			r := w.dream(sakur4.DreamOptions{})
			if r.Items[0].Action != c.want {
				t.Errorf("Dream = %+v, want the entry %s", r, c.want)
			}
			if en := w.entryByID(id); en.Text != "My own words." || en.Origin != semantic.Interpreted {
				t.Errorf("the agent's entry is %+v now", en)
			}
			if h := w.recall("own words"); c.want == sakur4.DreamSkipped && (len(h) == 0 || !h[0].Stale) {
				t.Errorf("Recall = %+v, want the agent's entry, still flagged", h)
			}
		})
	}
}

// TestDreamRetires: an entry whose anchor is gone is taken out of force, and readable; one that cannot be looked at stays.
func TestDreamRetires(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Read.")
	w.write("pool.go", poolSource)
	gone := w.interpret(sakur4.FactAnchor(w.symbol("pool.go", "start")), "Marzipan starts.")
	w.write("other.go", poolSource)
	unseen := w.interpret(sakur4.FactAnchor(w.symbol("other.go", "start")), "Marzipan unseen.")
	w.write("pool.go", "package pool\n")
	w.remove("other.go")
	w.write("other.go/x", "")
	r := w.dream(sakur4.DreamOptions{})
	if r.Retired != 1 || r.Items[0].Action != sakur4.DreamRetired || r.Items[0].Entry != gone || r.Items[0].Reason != "the anchor no longer exists at all" {
		t.Errorf("Dream = %+v, want %s retired", r, gone)
	}
	if it := r.Items[1]; it.Action != sakur4.DreamSkipped || it.Entry != unseen || !strings.Contains(it.Reason, "could not be checked") {
		t.Errorf("Dream: %+v, want %s skipped", it, unseen)
	}
	if en := w.entryByID(gone); !en.Retired || en.Text != "Marzipan starts." {
		t.Errorf("retired entry = %+v, want it readable", en)
	}
	if hits := w.recall("marzipan"); slices.ContainsFunc(hits, func(h sakur4.Hit) bool { return h.ID == gone }) {
		t.Errorf("Recall = %+v, want no retired entry", hits)
	}
}

// TestPitfall33AuxiliaryModel: whatever a model answers, there is an entry of the text's own sentences, the failure is visible, and the model is given rests.
func TestPitfall33AuxiliaryModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		text string
		err  error
		want string
	}{
		{"empty", "", nil, "empty text"},
		{"blank", " \n", nil, "empty text"},
		{"call markup", `<tool_call>{"name": "read"}</tool_call>`, nil, "markup"},
		{"call", `{"name": "read_file", "arguments": {}}`, nil, "a call in JSON"},
		{"longer", strings.Repeat("and so on ", 5000), nil, "bytes of at most"},
		{"a little longer", strings.Repeat("and so on ", 500), nil, "not shorter"},
		{"own frame", sakur4.Frame("x", "y"), nil, "markup"},
		{"500", "", errors.New("server answered 500"), "server answered 500"},
		{"time-out", "", context.DeadlineExceeded, "deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			model := &writer{say: func(int, sakur4.SummaryRequest) (string, error) { return c.text, c.err }}
			w := newWorkshop(t, &sakur4.Options{Summarizer: model})
			for i := range 8 {
				w.user(story(fmt.Sprintf("f%d.go", i)))
			}
			r := w.dream(sakur4.DreamOptions{})
			if r.Promoted != 8 {
				t.Fatalf("Dream = %+v, want all promoted", r)
			}
			for _, it := range r.Items {
				if it.Origin != "extracted" || it.Reason == "" {
					t.Errorf("Dream: %+v, want extraction and why", it)
				}
			}
			// Asked for items 0, 2, 5; rests of 1, 2 and 4 items.
			s := r.Summarizer
			if len(model.seen) != 3 || s.Asked != 3 || s.Accepted != 0 || s.Failures != 3 || s.Wait != 2 || !strings.Contains(s.LastProblem, c.want) {
				t.Errorf("Dream: summarizer %+v asked %d times, want 3 with %q", s, len(model.seen), c.want)
			}
			if !strings.Contains(r.String(), "3 failures in a row") {
				t.Errorf("DreamReport.String() = %s", r)
			}
		})
	}
}

// TestDreamSummarizer: a model's text is taken with its origin, after a failure too, and is still anchored.
func TestDreamSummarizer(t *testing.T) {
	t.Parallel()
	model := &writer{say: func(n int, req sakur4.SummaryRequest) (string, error) {
		if n == 1 {
			return "", errDown
		}
		return "The lock is held too long.", nil
	}}
	w := newWorkshop(t, &sakur4.Options{Summarizer: model})
	for i := range 4 {
		w.user(story(fmt.Sprintf("f%d.go", i)))
	}
	r := w.dream(sakur4.DreamOptions{})
	var origins []string
	for _, it := range r.Items {
		origins = append(origins, it.Origin)
	}
	if want := []string{"extracted", "extracted", "summarized", "summarized"}; !slices.Equal(origins, want) {
		t.Errorf("Dream: origins %v, want %v", origins, want)
	}
	if s := r.Summarizer; s.Failures != 0 || s.Wait != 0 || s.LastProblem != "" || s.Accepted != 2 || s.Asked != 3 {
		t.Errorf("Dream: summarizer %+v, want it well again", s)
	}
	if !strings.Contains(model.seen[0].Instruction, "f0.go") || model.seen[0].MaxTokens < 32 || len(model.seen[0].Messages) != 0 {
		t.Errorf("Summarize: %+v, want the text and a bound", model.seen[0])
	}
}

// TestDreamReusesThePrompt: the request for a summary begins with the prompt that the server holds, byte for byte, and the simulated server reuses it.
func TestDreamReusesThePrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		last func(*workshop)
	}{
		{"after a reply", func(w *workshop) { w.say("All is known now.") }},
		{"after a prompt", func(*workshop) {}},
		{"after a call", func(w *workshop) { w.say("", w.newCall("read_file", `{"path":"x"}`)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(8192)
			spy := &spy{Server: server}
			w := newWorkshop(t, &sakur4.Options{Backend: server, Summarizer: sakur4.ChatSummarizer(spy)})
			w.head.Tools = []byte(toolList)
			w.pin(someRules[0])
			w.user(story("a.go"))
			sent := w.window()
			w.chat(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "All is known now."})
			c.last(w)
			w.dream(sakur4.DreamOptions{Limit: 1})
			if len(spy.requests) != 1 {
				t.Fatalf("the model was asked %d times, want once", len(spy.requests))
			}
			front := strings.TrimSuffix(string(sakur4.MarshalMessages(sent.Messages)), "]")
			if got := string(spy.requests[0].Messages); !strings.HasPrefix(got, front) || string(spy.requests[0].Tools) != toolList {
				t.Errorf("request %.300s\nwant it to begin with %.300s", got, front)
			}
			if cached := *spy.replies[0].CachedTokens; cached < sent.Receipt.Used-8 {
				t.Errorf("%d tokens reused, want the %d of the prompt", cached, sent.Receipt.Used)
			}
		})
	}
}

// spy is a chat server that keeps what it was asked.
type spy struct {
	*embedded.Server
	requests []boundary.ChatRequest
	replies  []boundary.ChatReply
}

func (s *spy) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	reply, err := s.Server.Chat(ctx, req, progress)
	s.requests, s.replies = append(s.requests, req), append(s.replies, reply)
	return reply, err
}

// TestDreamReadOnly: nothing is written to a store that was opened for reading, and Dream says so whether there was anything to write or not.
func TestDreamReadOnly(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	o := &sakur4.Options{ProjectRoot: t.TempDir()}
	w := &workshop{newTrial(t, path, o), o.ProjectRoot}
	for _, turns := range []int{0, 1} {
		for range turns {
			w.user(story("a.go"))
		}
		w.reopen(path, &sakur4.Options{ProjectRoot: o.ProjectRoot, ReadOnly: true})
		if r, err := w.eng.Dream(t.Context(), sakur4.DreamOptions{}); !errors.Is(err, sakur4.ErrReadOnly) || r.Promoted != 0 {
			t.Errorf("Dream of a read-only store of %d turns = %+v, %v, want ErrReadOnly", turns, r, err)
		}
		w.reopen(path, o)
	}
}
