package sakur4_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/storetest"
)

// TestLaw01NothingRecordedIsLostOrChanged tries to change what was recorded through a plain connection to the file, and compares all of it before and after
// compactions: eviction writes the tier and nothing else.
func TestLaw01NothingRecordedIsLostOrChanged(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	o := fixed(2048)
	o.Policy = &evict.Policy{AllowDrop: true}
	d := newTrial(t, path, o)
	d.user("\x00\xff\xfe bytes of no encoding \xc3\x28\x00")
	d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "\x80", Reasoning: "\x00why\xff", ToolCalls: []sakur4.ToolCall{{ID: "\xff", Name: "\x00", Arguments: "{\xfe"}}})
	d.result("\xff", strings.Repeat("\x00\xff", 3000))
	old := d.user("droppable")
	d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "I take that back.", Corrects: old.Episode, Droppable: true})
	d.user("Go on.")
	d.window()
	const recorded = `SELECT seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
content_digest, calls, reasoning, content FROM episodic_stream ORDER BY seq`
	raw := storetest.Raw(t, path)
	read := func() []string {
		t.Helper()
		list, err := raw.Query(recorded)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]string, len(list))
		for i, r := range list {
			out[i] = fmt.Sprintf("%q", r)
		}
		return out
	}
	before := read()
	d.work(30, 700)
	if _, err := d.compact(1); err != nil {
		t.Fatalf("Compact(1) = %v", err)
	}
	d.work(5, 700)
	if diff := cmp.Diff(before, read()[:len(before)]); diff != "" {
		t.Errorf("compactions changed recorded columns (-want +got):\n%s", diff)
	}
	columns, err := raw.Query(`SELECT name FROM pragma_table_info('episodic_stream')`)
	if err != nil {
		t.Fatal(err)
	}
	changeable := map[string]bool{"superseded_by": true, "droppable": true, "fold_id": true}
	all := rows(t, path)
	for _, c := range columns {
		name := c[0].(string)
		if changeable[name] {
			continue
		}
		if err := raw.Exec(`UPDATE episodic_stream SET ` + name + ` = ` + name + ` || 'x' WHERE seq = 1`); err == nil {
			t.Errorf("UPDATE of %s succeeded", name)
		}
	}
	id := string(d.recorded[0].Episode)
	for _, sql := range []string{
		`DELETE FROM episodic_stream`,
		`DELETE FROM episodic_stream WHERE episode_id = '` + id + `'`,
		`INSERT OR REPLACE INTO episodic_stream SELECT * FROM episodic_stream WHERE episode_id = '` + id + `'`,
		`REPLACE INTO episodic_stream SELECT * FROM episodic_stream WHERE seq = 1`,
		`UPDATE OR REPLACE episodic_stream SET seq = seq + 1`,
		`UPDATE episodic_stream SET rowid = 99999 WHERE seq = 1`,
		`UPDATE episode_tier SET eviction_tier = 'masked'`,
		`INSERT OR REPLACE INTO episode_tier (first, last, eviction_tier) SELECT seq, seq, 'dropped' FROM episodic_stream`,
		`UPDATE episode_tier SET first = first + 100000`,
		`UPDATE eviction SET steps = x'00'`,
		`DELETE FROM eviction`,
	} {
		if err := raw.Exec(sql); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
	if diff := cmp.Diff(all, rows(t, path)); diff != "" {
		t.Errorf("refused statements changed rows (-want +got):\n%s", diff)
	}
	d.complete()
	d.reopen(path, &sakur4.Options{Project: "trial", Window: 2048})
	d.complete()
	if _, err := d.eng.Verify(t.Context()); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}

// TestLaw07NoRungIsSkipped follows every episode down the ladder as Evictions tells it, and finds it in the prompt on the last rung only.
func TestLaw07NoRungIsSkipped(t *testing.T) {
	t.Parallel()
	o := &sakur4.Options{Project: "p", Window: 4096, Policy: &evict.Policy{AllowDrop: true}}
	d := newTrial(t, ":memory:", o)
	d.user("Read on.")
	steps := 0
	rendered := map[evict.Tier]int{} // rungs on which plans left episodes
	for i := range 60 {
		text := d.prose(1 + d.rng.IntN(2500))
		if i%2 == 0 {
			text = fmt.Sprintf("part %d: ", i) + strings.Repeat("plain words that name nothing ", 1+d.rng.IntN(80)) // worth no more than its first lines
		}
		d.read("f.go", text)
		if i%7 == 3 {
			d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: fmt.Sprintf("aside %d", i), Droppable: true})
			d.user("On.")
		}
		w := d.window()
		if w.Plan != nil {
			last := map[string]evict.Tier{}
			for _, st := range w.Plan.Steps {
				steps++
				last[st.Episode] = st.To
				if st.To != st.From+1 || st.Reason == "" || st.Tokens < 0 || !strings.Contains(st.Reason, fmt.Sprintf("%v → %v", st.From, st.To)) {
					t.Fatalf("window %d has the step %+v", w.Receipt.Turn, st)
				}
			}
			for _, to := range last {
				rendered[to]++
			}
		}
	}
	tiers := map[sakur4.EpisodeID]evict.Tier{}
	n := 0
	for ev, err := range d.s.Evictions(t.Context()) {
		if err != nil {
			t.Fatalf("Evictions() = %v", err)
		}
		n++
		at := tiers[ev.Episode]
		if at == 0 {
			at = evict.Live
		}
		if ev.From != at || ev.To != at+1 || ev.Reason == "" || ev.Window == "" || ev.Tokens < 0 {
			t.Errorf("Evictions() has %+v, the episode was %v", ev, at)
		}
		tiers[ev.Episode] = ev.To
	}
	if n != steps || n == 0 {
		t.Errorf("Evictions() has %d steps, the plans had %d", n, steps)
	}
	for _, r := range d.recorded {
		ep, err := d.eng.Episode(t.Context(), r.Episode)
		if err != nil {
			t.Fatalf("Episode(%s) = %v", r.Episode, err)
		}
		want := tiers[r.Episode]
		if want == 0 {
			want = evict.Live
		}
		if ep.Tier != want {
			t.Errorf("Episode(%s).Tier = %v, its last step led to %v", r.Episode, ep.Tier, want)
		}
		if r.Role != sakur4.RoleTool {
			continue
		}
		masked, stored := contains(d.last.Messages, "The whole result of read on f.go is stored as "+string(r.Episode)),
			contains(d.last.Messages, "The result of read on f.go is stored as "+string(r.Episode))
		if masked != (ep.Tier == evict.Masked) || stored != (ep.Tier == evict.Referenced) {
			t.Errorf("%s is %v; rendered masked %t, referenced %t", r.Episode, ep.Tier, masked, stored)
		}
		if ep.Tier >= evict.Archived && contains(d.last.Messages, r.Content) && len(r.Content) > 30 {
			t.Errorf("%s is %v and verbatim in the prompt", r.Episode, ep.Tier)
		}
	}
	t.Logf("%d steps; %v", n, rendered)
	if rendered[evict.Masked]+rendered[evict.Referenced] == 0 || rendered[evict.Archived] == 0 {
		t.Errorf("rungs %v: not every kind came up", rendered)
	}
}

// TestLaw09OneCounter compares the parts of each receipt with the whole, and with what the server measured, which stands beside and changes nothing.
func TestLaw09OneCounter(t *testing.T) {
	t.Parallel()
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 4096})
	d.head.Tools = []byte(toolList)
	d.pin(someRules[0])
	d.user("Read on.")
	for i := range 25 {
		if i%5 == 0 {
			for _, n := range []sakur4.Note{{Kind: sakur4.NoteRecall, Text: "recalled"}, {Kind: sakur4.NoteRepoMap, Text: "map"}} {
				if _, err := d.s.Attach(t.Context(), n); err != nil {
					t.Fatalf("Attach(%+v) = %v", n, err)
				}
			}
		}
		d.read("f.go", d.prose(900))
		w := d.window()
		parts := map[string]int{}
		for _, p := range w.Receipt.Parts {
			parts[p.Category.String()] = p.Tokens
		}
		for _, want := range []string{"system", "tools", "pins", "raw history", "template overhead"} {
			if parts[want] == 0 {
				t.Fatalf("window %d: the part %q is empty: %v", w.Receipt.Turn, want, parts)
			}
		}
		if i == 0 && (parts["recalled notes"] == 0 || parts["repo map"] == 0) || w.Plan != nil && parts["stubs"] == 0 {
			t.Fatalf("window %d has the parts %v", w.Receipt.Turn, parts)
		}
		if w.Receipt.Cache.Measured || w.Receipt.Cache.Status != boundary.StatusUnknown {
			t.Fatalf("window %d: nothing was measured yet, the receipt says %v", w.Receipt.Turn, w.Receipt.Cache.Status)
		}
		predicted := w.Receipt.Cache.Predicted
		cached := predicted / 2
		r, err := d.s.Observe(t.Context(), sakur4.Usage{PromptTokens: w.Receipt.Used, CachedTokens: &cached})
		if err != nil || r.Cache.Predicted != predicted || r.Cache.Reused != cached || !r.Cache.Measured || r.Used != w.Receipt.Used {
			t.Fatalf("Observe(%d cached) = %+v, %v; predicted was %d", cached, r.Cache, err, predicted)
		}
	}
}

// TestLaw12UnknownIsNotZero has the server report less and less, and breaks tables under the engine.
func TestLaw12UnknownIsNotZero(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p"})
	d.user("Hello.")
	w := d.window()
	r, err := d.s.Observe(t.Context(), sakur4.Usage{Window: w.ID, PromptTokens: w.Receipt.Used})
	if err != nil {
		t.Fatalf("Observe() = %v", err)
	}
	if r.Cache.Measured || r.Cache.Status != boundary.StatusUnknown || !strings.Contains(r.String(), "not reported") {
		t.Errorf("Observe() without a cached count = %+v, want status unknown:\n%s", r.Cache, r)
	}
	if _, ok := r.ReuseRatio(); ok {
		t.Error("ReuseRatio() without a cached count is known")
	}
	d.read("f.go", "package f")
	d.window()
	zero := 0
	r, err = d.s.Observe(t.Context(), sakur4.Usage{PromptTokens: d.last.Receipt.Used, CachedTokens: &zero})
	if err != nil || !r.Cache.Measured || r.Cache.Status == boundary.StatusUnknown || r.Cache.Prefilled != r.Used {
		t.Errorf("Observe(0 cached) = %+v, %v, want a measurement of 0", r.Cache, err)
	}
	raw := storetest.Raw(t, path)
	for _, table := range []string{"episodic_stream", "episode_tier", "symbolic_fact", "fact_queue", "anchor_set", "receipt", "eviction", "session"} {
		if err := raw.Exec(`PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; ALTER TABLE ` + table + ` RENAME TO gone_` + table); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	_, recall := d.eng.Recall(ctx, sakur4.Query{Text: "hello"})
	_, status := d.eng.Status(ctx)
	_, pins := d.s.Pins(ctx)
	_, receipt := d.s.Receipt(ctx)
	_, window := d.s.Window(ctx, d.head)
	_, verify := d.eng.Verify(ctx)
	calls := map[string]error{"Recall": recall, "Status": status, "Pins": pins, "Receipt": receipt, "Window": window, "Verify": verify}
	for _, err := range d.eng.Episodes(ctx, sakur4.EpisodeFilter{}) {
		calls["Episodes"] = err
	}
	for _, err := range d.eng.Facts(ctx, sakur4.FactFilter{}) {
		calls["Facts"] = err
	}
	for _, err := range d.eng.Sessions(ctx) {
		calls["Sessions"] = err
	}
	for _, err := range d.s.Evictions(ctx) {
		calls["Evictions"] = err
	}
	for _, err := range d.s.Receipts(ctx) {
		calls["Receipts"] = err
	}
	if len(calls) != 11 {
		t.Errorf("%d calls reported something without their tables, want 11: %v", len(calls), calls)
	}
	for name, err := range calls {
		if err == nil || errors.Is(err, sakur4.ErrNotFound) {
			t.Errorf("%s() without its table = %v, want an error that is not %v", name, err, sakur4.ErrNotFound)
		}
	}
}

// TestLaw13ReadsSeeWrites commits through one engine and reads at once through another on the same file, from many goroutines.
func TestLaw13ReadsSeeWrites(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	engines := []*sakur4.Engine{openEngine(t, path, &sakur4.Options{Project: "p"}), openEngine(t, path, &sakur4.Options{Project: "p"})}
	ctx := t.Context()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			writer, reader := engines[g%2], engines[(g+1)%2]
			s := writer.Session(fmt.Sprint("session ", g))
			same := reader.Session(fmt.Sprint("session ", g))
			for i := range 12 {
				word := fmt.Sprintf("zebra%dx%d", g, i)
				user, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "find " + word})
				if err != nil {
					t.Errorf("Commit() = %v", err)
					return
				}
				if ep, err := reader.Episode(ctx, user.Episode); err != nil || ep.Content != "find "+word {
					t.Errorf("Episode(%s) through the other engine = %q, %v", user.Episode, ep.Content, err)
				}
				if hits, err := reader.Recall(ctx, sakur4.Query{Text: word}); err != nil || len(hits.Items) != 1 || hits.Items[0].ID != string(user.Episode) {
					t.Errorf("Recall(%s) through the other engine = %+v, %v", word, hits, err)
				}
				if _, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "c", Name: "read", Arguments: "{}"}}}); err != nil {
					t.Errorf("Commit() = %v", err)
				}
				// The call was recorded through one engine; its result comes through the other.
				done, err := same.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "c", Content: fmt.Sprintf(`{"%s": %d}`, word, i)})
				if err != nil || len(done.Facts) != 1 {
					t.Errorf("Commit() of the result through the other engine = %+v, %v", done, err)
					return
				}
				if _, err := writer.Rederive(ctx, sakur4.FactID(done.Facts[0].FactID)); err != nil {
					t.Errorf("Rederive() = %v", err)
				}
				for _, x := range []*sakur4.Session{s, same} {
					w, err := x.Window(ctx, sakur4.Head{})
					if err != nil || !strings.Contains(w.Messages[len(w.Messages)-1].Content, word) {
						t.Errorf("Window() = %v, want the newest result in it", err)
						return
					}
				}
				if _, err := same.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: "ok"}); err != nil {
					t.Errorf("Commit() = %v", err)
				}
			}
		})
	}
	wg.Wait()
	for i, e := range engines {
		st, err := e.Status(ctx)
		if err != nil || st.Own.Episodes != 4*12*4 || st.Own.Sessions != 4 || st.Own.Facts != 4*12 {
			t.Errorf("Status() of engine %d = %+v, %v", i, st.Own, err)
		}
	}
	if _, err := engines[0].Session("session 0").Pin(ctx, "be kind", sakur4.PinPreference); err != nil {
		t.Fatalf("Pin() = %v", err)
	}
	if pins, err := engines[1].Session("session 1").Pins(ctx); err != nil || len(pins) != 1 {
		t.Errorf("Pins() through the other engine = %v, %v", pins, err)
	}
}
