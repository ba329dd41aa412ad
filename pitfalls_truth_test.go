package sakur4_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/storetest"
)

// TestPitfall11SmallerRequestDearer sends each prompt to a simulated server: without a compaction all that it held is reused, with one everything
// before the cut; nothing is rewritten in place.
func TestPitfall11SmallerRequestDearer(t *testing.T) {
	t.Parallel()
	for _, kind := range []boundary.Kind{boundary.AnyToken, boundary.Points} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 8192, Backend: newServerWith(8192, sakur4.O200kBase(), kind)})
			d.pin(someRules[0])
			d.user("Read on.")
			held, text := 0, ""
			for i := range 100 {
				w := d.window()
				next := d.reading("f.go")
				if i%8 == 6 {
					next = sakur4.Turn{Role: sakur4.RoleAssistant, Content: "So far."}
				}
				reply := d.chat(next)
				cached := *reply.CachedTokens
				now := d.render(w.Messages, false)
				switch {
				case w.Plan == nil && !strings.HasPrefix(now, text):
					t.Fatalf("window %d: what was sent is no beginning of what is sent", w.Receipt.Turn)
				case w.Plan == nil && cached < held:
					t.Fatalf("window %d: %d tokens reused, want the %d that were sent", w.Receipt.Turn, cached, held)
				}
				if slack := w.Receipt.Cache.Predicted - cached; slack > 0 || w.Plan != nil && slack != 0 {
					t.Fatalf("window %d (compacted %t): %d tokens reused, %d were predicted", w.Receipt.Turn, w.Plan != nil, cached, w.Receipt.Cache.Predicted)
				}
				d.observe(reply)
				held, text = reply.PromptTokens, now
				d.commit(next)
				switch i % 8 {
				case 2:
					d.pin(fmt.Sprintf("late rule %d", i))
				case 4:
					if _, err := d.s.Attach(t.Context(), sakur4.Note{Kind: sakur4.NoteText, Text: "a remark"}); err != nil {
						t.Fatalf("Attach() = %v", err)
					}
				case 6:
					d.user("And on.")
					d.commit(sakur4.Turn{Role: sakur4.RoleSystem, Content: "The build is red."})
					continue
				}
				d.result(next.ToolCalls[0].ID, d.prose(d.rng.IntN(1200)))
			}
			if len(d.plans) < 3 {
				t.Errorf("%d compactions, want at least 3", len(d.plans))
			}
		})
	}
}

// TestPitfall20CountsThatDrift compares the one count of a prompt with the server's at every turn, and shows that what is reported is never accumulated.
func TestPitfall20CountsThatDrift(t *testing.T) {
	t.Parallel()
	for _, window := range []int{512, 2000, 4096, 8192, 40000, 131072, 1 << 20} {
		d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
		if want := window - window/8; d.limit != want {
			t.Errorf("Status().Limit of a window of %d = %d, want %d: the reserve scales", window, d.limit, want)
		}
	}
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 4096, Reserve: 300})
	if d.limit != 3796 {
		t.Errorf("Status().Limit with a reserve of 300 = %d, want 3796", d.limit)
	}
	d.head.Tools = []byte(toolList)
	d.user("Read on.")
	for range 40 {
		w := d.window()
		ids, err := d.eng.Backend().Tokens(t.Context(), d.render(w.Messages, true))
		if err != nil || len(ids) != w.Receipt.Used {
			t.Fatalf("window %d: the server counts %d tokens (%v), the receipt says %d", w.Receipt.Turn, len(ids), err, w.Receipt.Used)
		}
		next := d.reading("f.go")
		reply := d.chat(next)
		r := d.observe(reply)
		if r.Cache.Prompt != reply.PromptTokens || r.Cache.Drift != 0 || r.Cache.Reused != *reply.CachedTokens || r.Cache.Reused+r.Cache.Prefilled != reply.PromptTokens {
			t.Fatalf("Observe(%+v) = %+v: want the numbers of this call alone", reply, r.Cache)
		}
		d.commit(next)
		d.result(next.ToolCalls[0].ID, d.prose(400))
	}
	d.work(1, 400)
	r, err := d.s.Observe(t.Context(), sakur4.Usage{PromptTokens: d.last.Receipt.Used + 77})
	if err != nil || r.Cache.Drift != 77 || r.Used != d.last.Receipt.Used || !strings.Contains(r.String(), "77") {
		t.Errorf("Observe(77 tokens more) = drift %d, used %d, %v; the text must show it:\n%s", r.Cache.Drift, r.Used, err, r)
	}
	again, err := d.s.Observe(t.Context(), sakur4.Usage{PromptTokens: 5})
	if diff := cmp.Diff(r, again); err != nil || diff != "" {
		t.Errorf("Observe() a second time = %v (-want +got):\n%s", err, diff)
	}
}

// TestPitfall25ReadsChangeNothing asks everything that can be asked, and compares the store's rows.
func TestPitfall25ReadsChangeNothing(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 4096})
	pin := d.pin(someRules[0])
	d.user("Read on.")
	d.work(12, 900)
	d.read("a.json", `{"version": "1.2.3", "items": [1, 2]}`)
	w := d.window()
	// What the last result gave is entered in the ledger once, by whoever asks first or when nobody writes.
	for _, err := range d.eng.Facts(t.Context(), sakur4.FactFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := rows(t, path)
	for range 3 {
		d.readEverything()
	}
	if diff := cmp.Diff(before, rows(t, path)); diff != "" {
		t.Errorf("reads changed the store (-want +got):\n%s", diff)
	}
	again := d.window()
	if diff := cmp.Diff(asJSON(t, w.Messages), asJSON(t, again.Messages)); diff != "" || again.Plan != nil {
		t.Errorf("reads changed the prompt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, rows(t, path)); diff != "" {
		t.Errorf("the same prompt again changed the store (-want +got):\n%s", diff)
	}
	if pins, err := d.s.Pins(t.Context()); err != nil || len(pins) != 1 || pins[0].ID != pin {
		t.Errorf("Pins() = %v, %v", pins, err)
	}
}

// readEverything calls every method that answers and changes nothing.
func (d *trial) readEverything() {
	d.t.Helper()
	ctx := d.t.Context()
	must := func(name string, err error) {
		if err != nil {
			d.t.Errorf("%s = %v", name, err)
		}
	}
	for ep, err := range d.eng.Episodes(ctx, sakur4.EpisodeFilter{}) {
		must("Episodes()", err)
		_, err = d.eng.Episode(ctx, ep.ID)
		must("Episode()", err)
	}
	for row, err := range d.eng.Facts(ctx, sakur4.FactFilter{}) {
		must("Facts()", err)
		_, err = d.eng.Rederive(ctx, sakur4.FactID(row.FactID))
		must("Rederive()", err)
	}
	for _, err := range d.eng.Sessions(ctx) {
		must("Sessions()", err)
	}
	for _, err := range d.s.Receipts(ctx) {
		must("Receipts()", err)
	}
	for _, err := range d.s.Evictions(ctx) {
		must("Evictions()", err)
	}
	hits, err := d.eng.Recall(ctx, sakur4.Query{Text: "worker pool deadlock version"})
	must("Recall()", err)
	if len(hits.Items) == 0 {
		d.t.Error("Recall() found nothing")
	}
	_, err = d.eng.Status(ctx)
	must("Status()", err)
	_, err = d.eng.Verify(ctx)
	must("Verify()", err)
	_, err = d.s.Receipt(ctx)
	must("Receipt()", err)
	_, err = d.s.Pins(ctx)
	must("Pins()", err)
	_, err = d.s.Plan(ctx, d.head)
	must("Plan()", err)
	must("Backup()", d.eng.Backup(ctx, storePath(d.t)))
	if _, err = d.eng.Episode(ctx, "ep_0"); !errors.Is(err, sakur4.ErrNotFound) {
		d.t.Errorf("Episode(ep_0) = %v, want %v", err, sakur4.ErrNotFound)
	}
}

// TestPitfall31SearchWithoutItsIndex takes the full-text index away: recall is an error, never an empty answer or a slow scan. That a SQLite without
// full-text search is refused when a store is opened is tested where the store is.
func TestPitfall31SearchWithoutItsIndex(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p"})
	d.user("the quick brown fox")
	if hits, err := d.eng.Recall(t.Context(), sakur4.Query{Text: "fox"}); err != nil || len(hits.Items) != 1 {
		t.Fatalf("Recall(fox) = %+v, %v", hits, err)
	}
	if err := d.eng.Close(); err != nil {
		t.Fatal(err)
	}
	raw := storetest.Raw(t, path)
	if err := raw.Exec(`DROP TABLE episode_fts`); err != nil {
		t.Fatal(err)
	}
	eng, err := sakur4.Open(t.Context(), path, &sakur4.Options{Project: "p"})
	if err != nil {
		return // found when it was opened
	}
	defer eng.Close()
	if hits, err := eng.Recall(t.Context(), sakur4.Query{Text: "fox"}); err == nil || errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("Recall() without its index = %+v, want an error", hits)
	}
}
