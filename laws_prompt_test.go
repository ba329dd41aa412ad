package sakur4_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
)

// TestLaw04PinsAreVerbatim covers the moments at which a pin can come and go.
func TestLaw04PinsAreVerbatim(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 4096})
	ctx := t.Context()
	first := d.pin(someRules[0])
	d.user("Read on.")
	w := d.window()
	if !strings.Contains(w.Messages[0].Content, someRules[0]) || w.Messages[0].Role != "system" {
		t.Error("the pins of the first prompt are not in its head")
	}
	head := d.prev[0]

	// A pin that arrives after Window and before the reply: it must be in the next prompt, whatever that breaks, and the receipt names the break.
	d.prev = nil
	d.pin(someRules[2])
	w = d.window()
	if got := strings.Join(w.Receipt.Notes, "; "); !strings.Contains(got, "pin arrived after the newest message was sent") {
		t.Errorf("the receipt of a broken prefix says %q", got)
	}
	if d.prev[0] != head {
		t.Error("a late pin changed the head")
	}
	// One that arrives while something unsent waits breaks nothing.
	d.read("f.go", "package f")
	d.pin(someRules[3])
	w = d.window()
	if last := w.Messages[len(w.Messages)-1]; !strings.HasPrefix(last.Content, "package f") || !strings.Contains(last.Content, someRules[3]) {
		t.Errorf("a late pin is not behind the newest message: %q", last.Content)
	}
	// A pin of another session of the project.
	if _, err := d.eng.Session("other").Pin(ctx, "pinned elsewhere", sakur4.PinInstruction); err != nil {
		t.Fatalf("Pin() = %v", err)
	}
	d.read("g.go", "package g")
	if w = d.window(); !contains(w.Messages, "pinned elsewhere") {
		t.Error("a pin of another session of the project is not in the prompt")
	}
	// The same text again is the same pin.
	if again, err := d.s.Pin(ctx, someRules[0], sakur4.PinConstraint); err != nil || again != first {
		t.Errorf("Pin() of a pinned text = %s, %v, want %s", again, err, first)
	}
	// Compactions that take the messages away that late pins stood in.
	for range 12 {
		d.work(3, 1200)
		if _, err := d.compact(1); err != nil {
			t.Fatalf("Compact(1) = %v", err)
		}
	}
	if !contains(d.last.Messages, "pinned elsewhere") {
		t.Error("a compaction lost a pin of another session")
	}
	// Unpin says so in every prompt that still carries the text.
	if err := d.s.Unpin(ctx, first); err != nil {
		t.Fatalf("Unpin(%s) = %v", first, err)
	}
	delete(d.pins, first)
	d.read("h.go", "package h")
	w = d.window()
	gone := string(first) + ": This pinned constraint is no longer in force."
	if contains(w.Messages, someRules[0]) && !contains(w.Messages, gone) {
		t.Error("the prompt does not say that a pin is no longer in force")
	}
	for range 5 {
		d.work(3, 1200)
		if contains(d.last.Messages, someRules[0]) && !contains(d.last.Messages, gone) {
			t.Fatal("a compaction lost the remark that a pin is no longer in force")
		}
	}
	for _, bad := range []sakur4.PinID{"", first, "pin_0"} {
		if err := d.s.Unpin(ctx, bad); !errors.Is(err, sakur4.ErrNotFound) {
			t.Errorf("Unpin(%q) = %v, want %v", bad, err, sakur4.ErrNotFound)
		}
	}
	// Pinned again, it is in force again.
	d.pin(someRules[0])
	d.read("i.go", "package i")
	d.window()
	// What cannot stand verbatim in a prompt is refused, with nothing stored.
	before := rows(t, path)
	for _, bad := range []string{"", " \n", "\xff", "a\x00b", "<|im_end|>", "</sakur4:note>"} {
		if _, err := d.s.Pin(ctx, bad, sakur4.PinConstraint); !errors.Is(err, sakur4.ErrInvalidPin) {
			t.Errorf("Pin(%q) = %v, want %v", bad, err, sakur4.ErrInvalidPin)
		}
	}
	if _, err := d.s.Pin(ctx, "x", "wish"); !errors.Is(err, sakur4.ErrInvalidPin) {
		t.Errorf("Pin of the kind wish = %v, want %v", err, sakur4.ErrInvalidPin)
	}
	if _, err := d.s.Pin(ctx, strings.Repeat("be brief ", 3000), sakur4.PinConstraint); !errors.Is(err, sakur4.ErrBudgetOverflow) {
		t.Errorf("Pin(27,000 bytes) = %v, want %v", err, sakur4.ErrBudgetOverflow)
	}
	if diff := cmp.Diff(before, rows(t, path)); diff != "" {
		t.Errorf("refused pins changed the store (-want +got):\n%s", diff)
	}
}

// TestLaw04LatePins lets prompts be compacted until the messages that carried late pins, and remarks on retired ones, have left them: both stand
// in the prompt all the same.
func TestLaw04LatePins(t *testing.T) {
	t.Parallel()
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 2048, Policy: &evict.Policy{Profile: evict.WindowFirst}})
	d.user("Read on.")
	d.window()
	retired := map[sakur4.PinID]string{}
	moved := 0
	for i := range 60 {
		if i%15 == 3 {
			d.pin(fmt.Sprintf("late rule %d", i))
		}
		if i%15 == 9 {
			text := fmt.Sprintf("rule for a while %d", i)
			id := d.pin(text)
			d.read("f.go", "package f")
			d.window()
			if err := d.s.Unpin(t.Context(), id); err != nil {
				t.Fatalf("Unpin(%s) = %v", id, err)
			}
			delete(d.pins, id)
			retired[id] = text
		}
		d.read("f.go", d.prose(500))
		before := d.last
		w := d.window()
		for id, text := range retired {
			if contains(w.Messages, text) && !contains(w.Messages, string(id)+": This pinned constraint is no longer in force.") {
				t.Fatalf("window %d: %q is in the prompt and nothing says that it is no longer in force", w.Receipt.Turn, text)
			}
		}
		for _, text := range d.pins {
			at := func(ms []sakur4.Message) int {
				return len(ms) - slices.IndexFunc(ms, func(m sakur4.Message) bool { return strings.Contains(m.Content, text) })
			}
			if w.Plan != nil && at(w.Messages) == 1 && at(before.Messages) > 1 {
				moved++
			}
		}
	}
	if moved == 0 {
		t.Error("no compaction took a message away that carried a late pin")
	}
}

// TestLaw05CallersCannotChangeThePrompt: what a caller writes into a window reaches neither the same window again nor a later one.
func TestLaw05CallersCannotChangeThePrompt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	s := eng.Session("s")
	if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why."}); err != nil {
		t.Fatal(err)
	}
	first, err := s.Window(ctx, sakur4.Head{System: "You are careful."})
	if err != nil {
		t.Fatal(err)
	}
	want := string(sakur4.MarshalMessages(first.Messages))
	used := first.Receipt.Parts[0].Tokens
	for i := range first.Messages {
		first.Messages[i].Content = "changed by the caller"
	}
	first.Receipt.Parts[0].Tokens++
	again, err := s.Window(ctx, sakur4.Head{System: "You are careful."})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(sakur4.MarshalMessages(again.Messages)); got != want || again.Receipt.Parts[0].Tokens != used {
		t.Errorf("the prompt after the caller wrote into it:\n%s\nwas\n%s", got, want)
	}
}

// TestLaw05PromptsOnlyGrow reopens a session with other windows, tokenizers and servers: until its next compaction each prompt begins with the last,
// as messages and as the server's text.
func TestLaw05PromptsOnlyGrow(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "trial", Window: 4096})
	d.variety()
	text := d.render(d.last.Messages, false)
	want := d.prev
	for i, o := range []*sakur4.Options{
		{Window: 16384},
		{Window: 9000},
		{Window: 8192, Tokenizer: sakur4.CL100kBase()},
		{Window: 8192, Backend: newServerWith(8192, sakur4.O200kBase(), boundary.Points)},
		{Window: 8192, KeepReasoning: true},
		{Window: 8192, Policy: &evict.Policy{MaxResult: 0.01}},
		// Every byte is a token.
		{Window: 32768, Backend: newServerWith(32768, nil, boundary.AnyToken)},
	} {
		o.Project = "trial"
		d.reopen(path, o)
		w := d.window() // compares with the last prompt
		if diff := cmp.Diff(want, d.prev); diff != "" || w.Plan != nil {
			t.Fatalf("reopened with %+v: compacted %t (-want +got):\n%s", o, w.Plan != nil, diff)
		}
		again := d.window()
		if again.ID != w.ID || again.Plan != nil || !slices.Equal(asJSON(t, again.Messages), d.prev) {
			t.Fatalf("reopened with %+v: Window() twice is %s and %s", o, w.ID, again.ID)
		}
		d.read("f.go", fmt.Sprintf("package f%d", i))
		w = d.window()
		if w.Plan != nil {
			t.Fatalf("reopened with %+v: compacted", o)
		}
		now := d.render(w.Messages, false)
		if !strings.HasPrefix(now, text) {
			t.Fatalf("reopened with %+v: the server's text does not begin with the last one", o)
		}
		text, want = now, d.prev
	}
}

// TestLaw06OneBreakPerCompaction has a simulated server measure every prompt: a compaction changes one place, everything before it is reused as predicted,
// and the turns after it are appends again.
func TestLaw06OneBreakPerCompaction(t *testing.T) {
	t.Parallel()
	for _, kind := range []boundary.Kind{boundary.AnyToken, boundary.Points} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 8192, Backend: newServerWith(8192, sakur4.O200kBase(), kind)})
			d.user("Read on.")
			prefilled, fresh := 0, 0
			for range rounds(120) {
				before := d.prev
				w := d.window()
				same := 0
				for same < min(len(before), len(d.prev)) && before[same] == d.prev[same] {
					same++
				}
				next := d.reading("f.go")
				reply := d.chat(next)
				cached := *reply.CachedTokens
				if p := w.Plan; p != nil {
					if cached != w.Receipt.Cache.Predicted {
						t.Errorf("window %d: %d tokens reused after a compaction, %d predicted", w.Receipt.Turn, cached, w.Receipt.Cache.Predicted)
					}
					if p.Cut.Verdict.String() == "" || p.Reason == "" || len(p.Steps) == 0 {
						t.Errorf("window %d: the plan has no verdict, reason or steps: %+v", w.Receipt.Turn, p)
					}
					for same > 0 && w.Messages[same-1].Role == "assistant" {
						same-- // a chat that ends so is rendered otherwise
					}
					if same > 0 && kind == boundary.AnyToken {
						ids, err := d.eng.Backend().Tokens(t.Context(), d.render(w.Messages[:same], false))
						if err != nil || cached < len(ids) {
							t.Errorf("window %d: %d tokens reused (%v), the %d messages before the cut have %d", w.Receipt.Turn, cached, err, same, len(ids))
						}
					}
				}
				d.observe(reply)
				prefilled += reply.PromptTokens - cached
				fresh += w.Receipt.New
				d.commit(next)
				d.result(next.ToolCalls[0].ID, d.prose(100+d.rng.IntN(1200)))
			}
			if len(d.plans) < rounds(3) {
				t.Errorf("%d compactions, want at least %d", len(d.plans), rounds(3))
			}
			t.Logf("%d compactions; %d tokens processed for %d new ones: %.2f", len(d.plans), prefilled, fresh, float64(prefilled)/float64(fresh))
		})
	}
}

// TestLaw11ProjectsNeverLeak fills two projects of the same base name in one store, and asks for everything in each.
func TestLaw11ProjectsNeverLeak(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	ctx := t.Context()
	roots := []string{t.TempDir() + "/one/app", t.TempDir() + "/two/app"}
	var all [2]*trial
	for i, root := range roots {
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		d := newTrial(t, path, &sakur4.Options{ProjectRoot: root, Window: 4096})
		all[i] = d
		for range i + 1 {
			d.user("Where is the marmot?")
			d.read("where.json", fmt.Sprintf(`{"marmot": "cave %d"}`, i))
			d.window()
			d.say("In the cave.")
		}
		d.pin(fmt.Sprintf("feed marmot %d", i))
	}
	for i, d := range all {
		other := all[1-i]
		if d.eng.Project() == other.eng.Project() {
			t.Fatalf("%v have the same project id %s", roots, d.eng.Project())
		}
		own := map[string]bool{}
		for _, r := range d.recorded {
			own[string(r.Episode)] = true
			for _, f := range r.Facts {
				own[f.FactID] = true
			}
		}
		n := 0
		for ep, err := range d.eng.Episodes(ctx, sakur4.EpisodeFilter{}) {
			if n++; err != nil || !own[string(ep.ID)] || ep.Project != d.eng.Project() {
				t.Errorf("Episodes() of project %d has %+v, %v", i, ep, err)
			}
		}
		facts := 0
		for f, err := range d.eng.Facts(ctx, sakur4.FactFilter{}) {
			if facts++; err != nil || !own[f.FactID] || strings.Contains(f.Value, fmt.Sprint("cave ", 1-i)) {
				t.Errorf("Facts() of project %d has %+v, %v", i, f, err)
			}
		}
		hits, err := d.eng.Recall(ctx, sakur4.Query{Text: "marmot cave", K: 100})
		if err != nil || len(hits.Items) == 0 {
			t.Errorf("Recall() in project %d = %+v, %v", i, hits, err)
		}
		for _, h := range hits.Items {
			if !own[h.ID] {
				t.Errorf("Recall() in project %d found %+v of the other", i, h)
			}
		}
		pins, err := d.s.Pins(ctx)
		if err != nil || len(pins) != 1 || pins[0].Text != fmt.Sprintf("feed marmot %d", i) {
			t.Errorf("Pins() of project %d = %+v, %v", i, pins, err)
		}
		st, err := d.eng.Status(ctx)
		want := sakur4.Counts{Episodes: 4 * (i + 1), Facts: facts, Pins: 1, Sessions: 1}
		if err != nil || st.Own != want || n != want.Episodes || !st.OtherProjects || st.Store.Episodes != 12 || st.Store.Pins != 2 {
			t.Errorf("Status() of project %d = own %+v, store %+v, others %t, %v, want own %+v", i, st.Own, st.Store, st.OtherProjects, err, want)
		}
		sessions := 0
		for s, err := range d.eng.Sessions(ctx) {
			if sessions++; err != nil || s.Episodes != want.Episodes {
				t.Errorf("Sessions() of project %d has %+v, %v", i, s, err)
			}
		}
		if sessions != 1 {
			t.Errorf("Sessions() of project %d has %d", i, sessions)
		}
		turns := 0
		for r, err := range d.s.Receipts(ctx) {
			if turns++; err != nil || r.Turn != turns {
				t.Errorf("Receipts() of project %d has %+v, %v", i, r, err)
			}
		}
		if turns != i+1 {
			t.Errorf("Receipts() of project %d has %d, want %d", i, turns, i+1)
		}
		// What belongs to the other is not found by its id, and cannot be changed.
		foreign := other.recorded[1]
		if _, err := d.eng.Episode(ctx, foreign.Episode); !errors.Is(err, sakur4.ErrNotFound) {
			t.Errorf("Episode() of the other project = %v, want %v", err, sakur4.ErrNotFound)
		}
		d.refuse(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "wrong", Corrects: foreign.Episode}, sakur4.ErrUnknownEpisode)
		for _, f := range other.recorded[2].Facts {
			if _, err := d.eng.Rederive(ctx, sakur4.FactID(f.FactID)); !errors.Is(err, sakur4.ErrNotFound) {
				t.Errorf("Rederive() of the other project = %v, want %v", err, sakur4.ErrNotFound)
			}
		}
		for id := range other.pins {
			if err := d.s.Unpin(ctx, id); !errors.Is(err, sakur4.ErrNotFound) {
				t.Errorf("Unpin() of the other project = %v, want %v", err, sakur4.ErrNotFound)
			}
		}
		if _, err := d.s.Observe(ctx, sakur4.Usage{Window: other.last.ID}); !errors.Is(err, sakur4.ErrNotFound) {
			t.Errorf("Observe() of the other project = %v, want %v", err, sakur4.ErrNotFound)
		}
		// Only what is named is read.
		named, err := d.eng.Recall(ctx, sakur4.Query{Text: "marmot", Project: other.eng.Project(), K: 100})
		if err != nil || len(named.Items) == 0 {
			t.Errorf("Recall() in the named other project = %+v, %v", named, err)
		}
		for _, h := range named.Items {
			if own[h.ID] {
				t.Errorf("Recall() in the named other project found %+v of its own", h)
			}
		}
		if contains(d.last.Messages, fmt.Sprintf("cave %d", 1-i)) {
			t.Errorf("the prompt of project %d holds what belongs to the other", i)
		}
	}
	for i, d := range all {
		d.user("Go on.")
		if w := d.window(); contains(w.Messages, fmt.Sprintf("feed marmot %d", 1-i)) {
			t.Errorf("the prompt of project %d holds a pin of the other", i)
		}
	}
}
