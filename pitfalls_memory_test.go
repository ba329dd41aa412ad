package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/symbolic"
)

// TestPitfall09SummariesThatGrow lets a file change fifty times, and what is written about it be written anew each time: it stays as small as it was, the
// first round is still found, and another session starts without any of it.
func TestPitfall09SummariesThatGrow(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, &sakur4.Options{Window: 8192})
	w.user("The launch code of round zero is kumquat.")
	first := 0
	for round := range 50 {
		w.write("pool.go", longSource(round))
		w.symbols(w.open("pool.go"))
		w.say(fmt.Sprintf("Round %d is done.", round))
		w.user("Go on.")
		r := w.dream(sakur4.DreamOptions{})
		for _, it := range r.Items {
			if it.Entry == "" || it.Action == sakur4.DreamSkipped {
				continue
			}
			if first == 0 {
				first = it.Tokens
			}
			if it.Tokens > 256 || it.Tokens > first+16 {
				t.Fatalf("round %d: %+v, the first had %d tokens", round, it, first)
			}
		}
		if r.Promoted+r.Regenerated == 0 {
			t.Fatalf("round %d: Dream = %+v, want an entry", round, r)
		}
	}
	if hits := w.recall("launch code kumquat"); len(hits) == 0 || !strings.Contains(hits[0].Text, "kumquat") {
		t.Errorf("Recall = %+v, want what was said in the first round", hits)
	}
	r := w.staleness()
	if r.Entries != 1 || r.Stale != 0 {
		t.Errorf("Staleness = %+v, want one entry in force", r)
	}
	next := trialOn(t, w.eng, "next")
	next.user("Hello.")
	for _, m := range next.window().Messages {
		if strings.Contains(m.Content, "startWorker") || strings.Contains(m.Content, "kumquat") {
			t.Errorf("the next session begins with %q", m.Content)
		}
	}
}

// meddling is a server that does something once, in the middle of a count.
type meddling struct {
	*embedded.Server
	do func()
}

func (m *meddling) Tokens(ctx context.Context, text string) ([]int32, error) {
	if f := m.do; f != nil {
		m.do = nil
		f()
	}
	return m.Server.Tokens(ctx, text)
}

func (m *meddling) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	if f := m.do; f != nil {
		m.do = nil
		f()
	}
	return m.Server.TokenSpans(ctx, text)
}

// TestPitfall10FailureInTheMiddle ends a compaction while it is at work, and records turns from elsewhere meanwhile: nothing is lost, nothing is half done.
func TestPitfall10FailureInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{true, false} {
		t.Run(fmt.Sprintf("fails %t", fails), func(t *testing.T) {
			t.Parallel()
			server := &meddling{Server: newServer(4096)}
			path := storePath(t)
			o := func() *sakur4.Options { return &sakur4.Options{Project: "p", Window: 4096, Backend: server} }
			d := newTrial(t, path, o())
			d.user("Read on.")
			for len(d.plans) == 0 && d.windows < 200 {
				d.work(1, 900)
			}
			// Fill up to just before the next compaction, without asking for a prompt.
			for range 6 {
				d.read("more.go", d.prose(900))
			}
			before, tiers := d.ids(), tiersOf(t, d)
			elsewhere := openEngine(t, path, &sakur4.Options{Project: "p", Window: 4096}).Session("main")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var late sakur4.Committed
			server.do = func() {
				var err error
				if late, err = elsewhere.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Meanwhile."}); err != nil {
					t.Errorf("Commit() meanwhile = %v", err)
				}
				if fails {
					cancel()
				}
			}
			w, err := d.s.Window(ctx, d.head)
			if fails != errors.Is(err, context.Canceled) || fails == (w != nil) {
				t.Fatalf("Window() = %v, %v, want it cancelled: %t", w, err, fails)
			}
			if late.Episode == "" {
				t.Fatal("nothing was recorded meanwhile")
			}
			if got := d.ids(); !slices.Equal(got, append(slices.Clone(before), late.Episode)) {
				t.Errorf("the record has %d episodes, want the %d of before and the late one", len(got), len(before))
			}
			now := tiersOf(t, d)
			delete(now, late.Episode)
			if same := cmp.Equal(tiers, now); same != fails {
				t.Errorf("tiers unchanged: %t, want %t", same, fails)
			}
			next, err := d.s.Window(t.Context(), d.head)
			if err != nil || !strings.Contains(next.Messages[len(next.Messages)-1].Content, "Meanwhile.") {
				t.Errorf("Window() afterwards = %v, want it to end with the turn that was recorded meanwhile", err)
			}
		})
	}
}

func tiersOf(t testing.TB, d *trial) map[sakur4.EpisodeID]string {
	t.Helper()
	out := map[sakur4.EpisodeID]string{}
	for ep, err := range d.eng.Episodes(t.Context(), sakur4.EpisodeFilter{Session: d.s.ID()}) {
		if err != nil {
			t.Fatal(err)
		}
		out[ep.ID] = ep.Tier.String()
	}
	return out
}

// TestPitfall21RecallOverflows: hits come whole or not at all, within the budget, and those without room are counted.
func TestPitfall21RecallOverflows(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	whole := map[string]string{}
	for i := range 12 {
		text := strings.TrimSpace(strings.Repeat("marmot ", 1+i*9)) + fmt.Sprintf(" number %d", i)
		whole[string(w.user(text).Episode)] = text
		whole[w.interpret(sakur4.EpisodeAnchor(w.recorded[i].Episode), fmt.Sprintf("Marmot note %d.", i))] = fmt.Sprintf("Marmot note %d.", i)
	}
	for budget := 1; budget < 1200; budget += 37 {
		hits, err := w.eng.Recall(t.Context(), sakur4.Query{Text: "marmot", K: 30, Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		used := 0
		for _, h := range hits.Items {
			used += h.Tokens
			if want := whole[h.ID]; h.Text != want || h.Tokens != sakur4.O200kBase().Count(want) {
				t.Errorf("budget %d: hit %+v, want all of %q", budget, h, want)
			}
		}
		if used > budget {
			t.Errorf("budget %d: hits take %d tokens", budget, used)
		}
		if len(hits.Items)+hits.LeftOut != len(whole) {
			t.Errorf("budget %d: %d hits and %d left out, want %d together", budget, len(hits.Items), hits.LeftOut, len(whole))
		}
	}
}

// allFacts are the ledger's rows of a project.
func allFacts(t testing.TB, eng *sakur4.Engine) []symbolic.Row {
	t.Helper()
	var out []symbolic.Row
	for f, err := range eng.Facts(t.Context(), sakur4.FactFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// TestPitfall22FactsRetiredByJudgement: words that contradict a fact, interpretations, dreams and another project's facts of the same name change no row; the
// same call with another result does.
func TestPitfall22FactsRetiredByJudgement(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	mk := func() *workshop {
		dir := filepath.Join(t.TempDir(), "same")
		w := &workshop{trial: &trial{t: t}, dir: dir}
		w.write("keep", "")
		w.trial = newTrial(t, path, &sakur4.Options{ProjectRoot: dir, Summarizer: says("The port is 99.")})
		return w
	}
	a, b := mk(), mk()
	const call = `{"service":"web"}`
	a.user("Which port?")
	b.user("Which port?")
	fact := a.call("get_config", call, `{"port": 8080, "host": "a"}`).Facts[0]
	b.call("get_config", call, `{"port": 7070, "host": "b"}`)
	before, others := allFacts(t, a.eng), allFacts(t, b.eng)
	a.say("The port is not 8080, it is 99. " + story("port.go"))
	a.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: `{"port": 99} is right; 8080 is wrong.`, Corrects: a.recorded[0].Episode})
	a.interpret(sakur4.FactAnchor(sakur4.FactID(fact.FactID)), "This is wrong, the port is 99.")
	a.dream(sakur4.DreamOptions{})
	a.call("get_config", `{"service":"db"}`, `{"port": 99, "host": "a"}`)
	a.recall("port 99")
	for _, row := range before {
		if at := slices.Index(allFacts(t, a.eng), row); at < 0 {
			t.Errorf("the row %+v is not what it was", row)
		}
	}
	if diff := cmp.Diff(others, allFacts(t, b.eng)); diff != "" {
		t.Errorf("facts of the other project (-want +got):\n%s", diff)
	}
	a.call("get_config", call, `{"port": 99, "host": "a"}`)
	if diff := cmp.Diff(others, allFacts(t, b.eng)); diff != "" {
		t.Errorf("facts of the other project after a write on the same name (-want +got):\n%s", diff)
	}
	at := slices.IndexFunc(allFacts(t, a.eng), func(r symbolic.Row) bool { return r.FactID == fact.FactID })
	if got := allFacts(t, a.eng)[at]; got.QualifiedName != fact.QualifiedName || got.Version != 2 && strings.HasSuffix(got.QualifiedName, "/port") {
		t.Errorf("the same call again: %+v, want a new version", got)
	}
}

// TestPitfall23JunkAndDoubles: the same result a thousand times is one row a fact, and what is read from memory is not taken in as new.
func TestPitfall23JunkAndDoubles(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Watch the build.")
	for range 1000 {
		w.call("get_status", `{"of":"build"}`, `{"state": "green", "passed": 12}`)
	}
	facts := allFacts(t, w.eng)
	if len(facts) != 2 {
		t.Fatalf("%d facts, want one row each of two: %+v", len(facts), facts)
	}
	for _, f := range facts {
		if f.Version != 1 || f.Episode != string(w.recorded[len(w.recorded)-1].Episode) {
			t.Errorf("fact %+v, want one version, read last in the last result", f)
		}
	}
	if old, err := w.eng.FactVersions(t.Context(), sakur4.FactID(facts[0].FactID)); err != nil || len(old) != 0 {
		t.Errorf("FactVersions() = %v, %v, want none", old, err)
	}
	// Recalled text through tools of any name, also those whose parser would read it.
	hits, err := w.eng.Recall(t.Context(), sakur4.Query{Text: "build green passed"})
	if err != nil || len(hits.Items) == 0 {
		t.Fatalf("Recall() = %+v, %v", hits, err)
	}
	own := []string{hits.String(), w.staleness().String(), sakur4.Frame("recalled", `{"state": "red"}`)}
	for _, tool := range []string{"memory_recall", "get_status", "read_file", "run_command", "http_get"} {
		for _, text := range own {
			c := w.call(tool, `{"of":"build","path":"x.json"}`, text)
			if len(c.Facts) != 0 {
				t.Errorf("%s gave facts of %q: %+v", tool, text, c.Facts)
			}
			if _, err := w.eng.Extract(t.Context(), c.Episode, symbolic.JSON()); !errors.Is(err, symbolic.ErrNoEvidence) {
				t.Errorf("Extract of recalled text = %v, want ErrNoEvidence", err)
			}
			if _, err := w.s.Interpret(t.Context(), sakur4.EpisodeAnchor(c.Episode), text); !errors.Is(err, sakur4.ErrInvalidEntry) {
				t.Errorf("Interpret of recalled text = %v, want ErrInvalidEntry", err)
			}
		}
	}
	if diff := cmp.Diff(facts, allFacts(t, w.eng)); diff != "" {
		t.Errorf("facts after recalls (-want +got):\n%s", diff)
	}
	again, err := w.eng.Recall(t.Context(), sakur4.Query{Text: "build green passed"})
	if diff := cmp.Diff(ids(hits), ids(again)); err != nil || diff != "" {
		t.Errorf("Recall() finds its own words: %v (-want +got):\n%s", err, diff)
	}
}

func ids(h sakur4.Hits) []string {
	var out []string
	for _, it := range h.Items {
		out = append(out, it.ID)
	}
	return out
}

// TestPitfall24Contradictions: of two values the newest is current, the old one readable with where it was read; of two turns the newest is in force, the
// old one marked, linked and behind it.
func TestPitfall24Contradictions(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Which port?")
	one := w.call("get_config", `{}`, `{"port": 8080}`)
	two := w.call("get_config", `{}`, `{"port": 9090}`)
	id := sakur4.FactID(one.Facts[0].FactID)
	facts := allFacts(t, w.eng)
	if len(facts) != 1 || facts[0].Value != "9090" || facts[0].Version != 2 || facts[0].Episode != string(two.Episode) {
		t.Errorf("facts %+v, want one row with the newest value", facts)
	}
	old, err := w.eng.FactVersions(t.Context(), id)
	if err != nil || len(old) != 1 || old[0].Value != "8080" || old[0].Episode != string(one.Episode) || old[0].Version != 1 {
		t.Errorf("FactVersions() = %+v, %v, want the old value", old, err)
	}
	if _, err := w.eng.FactVersions(t.Context(), "sym_0"); !errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("FactVersions() of no fact = %v, want ErrNotFound", err)
	}
	a := w.user("Use the staging database for the marmot import, the marmot import.")
	b := w.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Use production for it.", Corrects: a.Episode})
	hits := w.recall("marmot import staging")
	at := func(id sakur4.EpisodeID) int {
		return slices.IndexFunc(hits, func(h sakur4.Hit) bool { return h.ID == string(id) })
	}
	if at(a.Episode) < 0 || at(b.Episode) < 0 || at(a.Episode) < at(b.Episode) {
		t.Fatalf("Recall = %+v, want the correction, found through its link, and the corrected turn behind it", hits)
	}
	if h := hits[at(a.Episode)]; !h.Superseded || h.Current != string(b.Episode) {
		t.Errorf("Recall: %+v, want it superseded by %s", h, b.Episode)
	}
	if h := hits[at(b.Episode)]; h.Superseded || !slices.ContainsFunc(h.Reasons, func(r string) bool { return strings.HasPrefix(r, "graph") }) {
		t.Errorf("Recall: %+v, want it in force and found by the graph", h)
	}
}

// TestPitfall26CrossProjectLeaks: two folders of the same name with the same files and the same words. Whatever is asked in one answers from it alone.
func TestPitfall26CrossProjectLeaks(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	var all []*workshop
	for range 2 {
		w := &workshop{trial: &trial{t: t}, dir: filepath.Join(t.TempDir(), "same")}
		w.write("pool.go", longSource(1))
		w.trial = newTrial(t, path, &sakur4.Options{ProjectRoot: w.dir, Window: 8192})
		all = append(all, w)
	}
	own := make([]map[string]bool, 2)
	for i, w := range all {
		own[i] = map[string]bool{}
		mine := func(id string) { own[i][id] = true }
		w.user(story("pool.go") + "startWorker1 is slow.")
		c := w.open("pool.go")
		for _, f := range w.symbols(c) {
			mine(f.ID())
		}
		mine(w.interpret(sakur4.EpisodeAnchor(c.Episode), "startWorker1 drains the queue."))
		facts := allFacts(t, w.eng)
		mine(w.interpret(sakur4.FactAnchor(sakur4.FactID(facts[len(facts)-1].FactID)), "startWorker1 must drain the queue."))
		for range i {
			w.say("More.")
			w.user("And more of startWorker1.")
		}
		for _, it := range w.dream(sakur4.DreamOptions{Force: true}).Items {
			if it.Action == sakur4.DreamPromoted {
				mine(it.Entry)
			}
		}
		for _, r := range w.recorded {
			mine(string(r.Episode))
		}
	}
	if all[0].eng.Project() == all[1].eng.Project() {
		t.Fatal("two folders are one project")
	}
	for i, w := range all {
		other := all[1-i]
		hits := w.recall("startWorker1 drains queue pool.go")
		kinds := map[sakur4.HitKind]bool{}
		for _, h := range hits {
			kinds[h.Kind] = true
			if !own[i][h.ID] || h.Stale {
				t.Errorf("project %d: Recall found %+v", i, h)
			}
		}
		if len(kinds) != 3 {
			t.Errorf("project %d: Recall found kinds %v, want all three", i, kinds)
		}
		entries := 0
		for en, err := range w.eng.Entries(t.Context(), sakur4.EntryFilter{All: true}) {
			if entries++; err != nil || !own[i][en.ID] || en.Project != w.eng.Project() {
				t.Errorf("project %d: Entries() has %+v, %v", i, en, err)
			}
		}
		st, err := w.eng.Status(t.Context())
		if err != nil || st.Own.Entries != entries || st.Store.Entries <= entries || !st.OtherProjects || st.Own.Episodes != len(w.recorded) {
			t.Errorf("project %d: Status() = %+v, %v, want %d entries of its own", i, st, err, entries)
		}
		// An edit in one makes nothing stale in the other.
		other.write("pool.go", longSource(2))
		if r := w.staleness(); r.Stale != 0 || r.Entries != entries {
			t.Errorf("project %d: Staleness = %+v after an edit in the other", i, r)
		}
		if r := other.staleness(); r.Stale == 0 {
			t.Errorf("project %d: Staleness = %+v after an edit", 1-i, r)
		}
		if r := w.dream(sakur4.DreamOptions{Force: true}); r.Regenerated+r.Retired+r.Promoted != 0 {
			t.Errorf("project %d: Dream = %+v after an edit in the other", i, r)
		}
		other.write("pool.go", longSource(1))
		for id := range own[1-i] {
			ref := sakur4.FactAnchor(sakur4.FactID(id))
			if strings.HasPrefix(id, "ep_") {
				ref = sakur4.EpisodeAnchor(sakur4.EpisodeID(id))
			}
			if _, err := w.s.Interpret(t.Context(), ref, "x"); !errors.Is(err, sakur4.ErrAnchorMissing) {
				t.Errorf("project %d: Interpret of the other's %s = %v, want ErrAnchorMissing", i, id, err)
			}
		}
	}
}

// TestPitfall27EmptyScopes: what takes something away or out names it. An empty name is an error, and nothing happens.
func TestPitfall27EmptyScopes(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Read.")
	pin := w.pin(someRules[0])
	fold, err := w.s.Fold(t.Context(), "look", "find")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Unpin":        func() error { return w.s.Unpin(ctx, "") },
		"Unfold":       func() error { return w.s.Unfold(ctx, "", "done") },
		"Backup":       func() error { return w.eng.Backup(ctx, "") },
		"Episode":      func() error { _, err := w.eng.Episode(ctx, ""); return err },
		"Rederive":     func() error { _, err := w.eng.Rederive(ctx, ""); return err },
		"FactVersions": func() error { _, err := w.eng.FactVersions(ctx, ""); return err },
		"Interpret":    func() error { _, err := w.s.Interpret(ctx, sakur4.AnchorRef{}, "x"); return err },
		"Extract":      func() error { _, err := w.eng.Extract(ctx, "", symbolic.JSON()); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("%s of nothing = nil, want an error", name)
		}
	}
	if hits, err := w.eng.Recall(ctx, sakur4.Query{}); err != nil || len(hits.Items) != 0 {
		t.Errorf("Recall of nothing = %+v, %v, want nothing", hits, err)
	}
	if pins, err := w.s.Pins(ctx); err != nil || len(pins) != 1 || pins[0].ID != pin {
		t.Errorf("Pins() = %+v, %v, want the one", pins, err)
	}
	if err := w.s.Unfold(ctx, fold, "done"); err != nil {
		t.Errorf("Unfold() = %v: it was closed by an empty name", err)
	}
}

// TestMentionsLinkTalkWithItsSubject: a turn that names a file is linked with the result in which it was read: recall of one finds the other, and what is
// talked about is kept longer.
func TestMentionsLinkTalkWithItsSubject(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.user("Look around.")
	w.write("conf/app.json", `{"zebra": 1, "okapi": 2}`)
	read := w.open("conf/app.json")
	talk := w.say("The thing in conf/app.json is too small.")
	w.user("And nothing else.")
	hits := w.recall("zebra okapi")
	at := slices.IndexFunc(hits, func(h sakur4.Hit) bool { return h.ID == string(talk.Episode) })
	if at < 0 || !strings.HasPrefix(hits[at].Reasons[0], "graph rank") {
		t.Errorf("Recall = %+v, want %s by its link with %s", hits, talk.Episode, read.Episode)
	}
	// By words of the talk the reading is found.
	if hits := w.recall("too small"); !slices.ContainsFunc(hits, func(h sakur4.Hit) bool { return h.ID == string(read.Episode) }) {
		t.Errorf("Recall = %+v, want %s by its link", hits, read.Episode)
	}
	for _, q := range []sakur4.Query{{Text: "too small", Session: "another"}, {Text: "too small", Until: instant(0)}, {Text: "too small", Project: "proj_0000000000000000"}} {
		if got, err := w.eng.Recall(t.Context(), q); err != nil || len(got.Items) != 0 {
			t.Errorf("Recall(%+v) = %+v, %v, want nothing beyond its bounds", q, got, err)
		} else if named := len(got.Notes) == 1 && strings.Contains(got.Notes[0], "proj_0000000000000000"); named != (q.Project != "") {
			t.Errorf("Recall(%+v) has the notes %q: they name a project that is not there, and nothing else", q, got.Notes)
		}
	}
}

var _ boundary.Backend = (*meddling)(nil)

// TestMentionsWeigh: of two results of equal size the one that a turn names has more value to the prompt, by what its age does not explain.
func TestMentionsWeigh(t *testing.T) {
	t.Parallel()
	values := map[string]map[string]float64{}
	for _, named := range []string{"a.json", "b.json"} {
		w := newWorkshop(t, &sakur4.Options{Window: 8192})
		w.user("Look.")
		read := map[sakur4.EpisodeID]string{}
		for i, name := range []string{"a.json", "b.json"} {
			w.write(name, `{"text": "`+strings.Repeat("word ", 300)+`"}`+strings.Repeat(" ", i))
			read[w.open(name).Episode] = name
		}
		w.say(named + " matters.")
		w.user("Go on.")
		for range 4 {
			w.read("more.txt", w.prose(2000))
		}
		w.window()
		plan, err := w.s.Compact(t.Context(), w.head, 700)
		if err != nil {
			t.Fatal(err)
		}
		values[named] = map[string]float64{}
		for _, step := range plan.Steps {
			if name := read[sakur4.EpisodeID(step.Episode)]; name != "" {
				values[named][name] = step.Value
			}
		}
	}
	for _, name := range []string{"a.json", "b.json"} {
		other := map[string]string{"a.json": "b.json", "b.json": "a.json"}[name]
		if values[name][name] <= values[other][name] {
			t.Errorf("values by what was named: %v; want %s worth more when it was", values, name)
		}
	}
}
