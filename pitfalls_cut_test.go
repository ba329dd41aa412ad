package sakur4_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/evict"
	"sakur4/internal/turn"
)

// TestPitfall06CompactsForNothing holds each compaction to its target, or to the floor that it names, and lets no second one follow before the
// prompt has grown.
func TestPitfall06CompactsForNothing(t *testing.T) {
	t.Parallel()
	for _, window := range some(1, 4096, 2048, 8192, 32768) {
		for _, c := range []struct {
			profile string
			request int // share of the window that the newest request takes, in percent: it keeps plans from their targets
			reclaim float64
		}{{evict.CacheFirst, 0, 0}, {evict.WindowFirst, 0, 0}, {evict.Balanced, 0, 0}, {evict.CacheFirst, 64, 0.01}, {evict.WindowFirst, 58, 0.01}} {
			t.Run(fmt.Sprintf("%d/%s/%d", window, c.profile, c.request), func(t *testing.T) {
				t.Parallel()
				policy := evict.Policy{Profile: c.profile, MinReclaim: c.reclaim}
				d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window, Policy: &policy})
				full := policy.WithDefaults("")
				growth := int((full.Trigger - full.Target) * float64(window) / 2)
				d.user("Read on. " + d.prose(window*c.request*7/200))
				after := 0
				for i := range 80 {
					d.read("f.go", d.prose(1+d.rng.IntN(window/8)))
					if i%9 == 8 && c.request == 0 {
						d.say(d.prose(window / 32))
						d.user(d.prose(window / 32))
					}
					w := d.window()
					p := w.Plan
					if p == nil {
						continue
					}
					if p.After != w.Receipt.Used || p.Before <= p.After {
						t.Errorf("Plan of window %d = %d → %d tokens, want less, and the %d of the receipt", w.Receipt.Turn, p.Before, p.After, w.Receipt.Used)
					}
					if p.After > p.Target && p.Floor == "" {
						t.Errorf("Plan of window %d = %d tokens, above its target of %d, and names no floor", w.Receipt.Turn, p.After, p.Target)
					}
					if after > 0 && p.Before-after < growth && p.Before <= d.limit {
						t.Errorf("Plan of window %d: %d tokens after the last compaction, %d now, want at least %d more", w.Receipt.Turn, after, p.Before, growth)
					}
					after = p.After
				}
				if len(d.plans) < 2 {
					t.Errorf("%d compactions, want at least 2", len(d.plans))
				}
			})
		}
	}
}

// TestPitfall06NothingToReclaim shows that a prompt which is full of what must stay is left as it is, with the reason, and not compacted again and again.
func TestPitfall06NothingToReclaim(t *testing.T) {
	t.Parallel()
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 8192})
	d.user(d.prose(20000))
	w := d.window()
	for range 4 {
		d.read("a.go", "ok")
		w = d.window()
		if w.Plan != nil {
			t.Errorf("a plan that reclaims %d of %d tokens was applied", w.Plan.Before-w.Plan.After, w.Plan.Before)
		}
	}
	p, err := d.s.Plan(t.Context(), d.head)
	if err != nil {
		t.Fatalf("Plan() = %v", err)
	}
	if p.Applied || p.Floor == "" && p.After > p.Target {
		t.Errorf("Plan() = %d → %d tokens for %d, applied %t, floor %q", p.Before, p.After, p.Target, p.Applied, p.Floor)
	}
	if said := strings.Join(w.Receipt.Notes, "\n"); !strings.Contains(said, "nothing compacted") && w.Receipt.Used > 8192*3/4 {
		t.Errorf("the receipt of a full prompt says nothing of it: %q", said)
	}
}

// TestPitfall08WrongEndThrownAway follows each turn through compactions by its own words: what stays behind the cut is byte-identical, and what stays
// with what was archived is all that there was.
func TestPitfall08WrongEndThrownAway(t *testing.T) {
	t.Parallel()
	for _, window := range some(1, 4096, 2048, 16384) {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
			d.user("w000000 Read on.")
			old := map[sakur4.EpisodeID]string{}
			for i := range rounds(120) {
				word := fmt.Sprintf("w%06d", i+1)
				d.calls++
				id := fmt.Sprintf("c%d", d.calls)
				d.say(word+" call", sakur4.ToolCall{ID: id, Name: "read", Arguments: "{}"})
				d.result(id, word+" result\n"+d.prose(d.rng.IntN(window/8)))
				if i%11 == 10 {
					d.say(word + " answer")
					d.user(word + " request " + d.prose(40))
				}
				w := d.window()
				shown := d.shown(w)
				if w.Plan != nil {
					d.kept(w, old, shown)
				}
				old = shown
			}
			if len(d.plans) < rounds(3) {
				t.Errorf("%d compactions, want at least %d", len(d.plans), rounds(3))
			}
			d.complete()
		})
	}
}

// shown returns the messages of a prompt, without the notes behind them, by their episodes: a turn is known by its words, a stub by the id that it names.
func (d *trial) shown(w *sakur4.Window) map[sakur4.EpisodeID]string {
	d.t.Helper()
	raw := asJSON(d.t, w.Messages)
	out := map[sakur4.EpisodeID]string{}
	for i, r := range d.recorded {
		begin := r.Content[:min(len(r.Content), 14)]
		for j, m := range w.Messages {
			stub := m.Role == "tool" && r.Role == sakur4.RoleTool && strings.Contains(m.Content, "is stored as "+string(r.Episode))
			if string(r.Role) == m.Role && strings.HasPrefix(m.Content, begin) || stub {
				if _, twice := out[r.Episode]; twice {
					d.t.Fatalf("window %d: turn %d is in the prompt twice", w.Receipt.Turn, i)
				}
				out[r.Episode], _, _ = strings.Cut(raw[j], `\n\n<sakur4:note`)
			}
		}
	}
	return out
}

// kept compares the prompt before a compaction with the one after it.
func (d *trial) kept(w *sakur4.Window, old, now map[sakur4.EpisodeID]string) {
	d.t.Helper()
	moved := map[sakur4.EpisodeID]evict.Tier{}
	for _, st := range w.Plan.Steps {
		moved[sakur4.EpisodeID(st.Episode)] = st.To
	}
	archived := map[sakur4.EpisodeID]bool{}
	for id, to := range moved {
		archived[id] = to >= evict.Archived
	}
	for id, message := range old {
		got, ok := now[id]
		switch {
		case archived[id] && ok:
			d.t.Errorf("window %d: %s is archived and in the prompt", w.Receipt.Turn, id)
		case !archived[id] && !ok:
			d.t.Errorf("window %d: %s is gone and not archived", w.Receipt.Turn, id)
		case ok && moved[id] == 0 && got != message && !strings.Contains(got, `kind=\"trimmed\"`):
			d.t.Errorf("window %d: %s was not to change\n got %s\nwant %s", w.Receipt.Turn, id, got, message)
		}
	}
}

// TestPitfall16OrphanedResults asks for the prompt of one session at every budget from nothing to all of it: each call has its one result behind it,
// in the order of the record.
func TestPitfall16OrphanedResults(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 1 << 20})
	d.user("Compare the two.")
	for i := range 14 {
		var calls []sakur4.ToolCall
		for j := range 1 + i%4 {
			calls = append(calls, sakur4.ToolCall{ID: fmt.Sprintf("call_%d", j), Name: "read", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
		}
		d.say(fmt.Sprint("step ", i), calls...)
		for j := range calls {
			d.result(calls[(j+i)%len(calls)].ID, d.prose(d.rng.IntN(600)))
		}
		if i%5 == 4 {
			d.say("Halfway.")
			d.user("And the rest.")
		}
	}
	d.say("Last.", sakur4.ToolCall{ID: "z", Name: "read"})
	d.result("z", "done")
	if err := d.eng.Close(); err != nil {
		t.Fatal(err)
	}
	full, small := 0, 0
	step := some(1, 599, 61)
	for budget := 8; budget < 9000; budget += step[len(step)-1] {
		eng := openEngine(t, copyStore(t, path), &sakur4.Options{Project: "p", Window: budget})
		e := trialOn(t, eng, "main")
		w, err := e.s.Window(t.Context(), e.head)
		if err != nil {
			var over *sakur4.BudgetError
			if !errors.As(err, &over) || over.Need <= over.Have {
				t.Fatalf("Window() in %d tokens = %v", budget, err)
			}
			small = budget
			continue
		}
		e.check(w)
		if w.Plan == nil {
			full++
		}
		var calls, results []string
		for i, m := range w.Messages {
			for _, c := range m.ToolCalls {
				calls = append(calls, c.ID)
			}
			if m.Role == "tool" {
				results = append(results, m.ToolCallID)
				if prev := w.Messages[i-1].Role; prev != "assistant" && prev != "tool" {
					t.Errorf("%d tokens: a result stands behind a message of the role %s", budget, prev)
				}
			}
		}
		if !slices.Equal(sorted(calls), sorted(results)) {
			t.Errorf("%d tokens: results of the calls %q, want %q", budget, results, calls)
		}
		at := 0
		for _, m := range w.Messages {
			if m.Role == "assistant" && strings.HasPrefix(m.Content, "step ") {
				n := 0
				if _, err := fmt.Sscanf(m.Content, "step %d", &n); err != nil || n < at {
					t.Errorf("%d tokens: %q out of order", budget, m.Content)
				}
				at = n
			}
		}
	}
	if full == 0 || small == 0 || small > 1500 {
		t.Errorf("%d budgets held everything, %d was too small: the range is not covered", full, small)
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// TestPitfall12VolatileHeads renders one session with other clocks and other counters: the heads are equal, and all of the prompt where the
// ids are.
func TestPitfall12VolatileHeads(t *testing.T) {
	t.Parallel()
	run := func(offset int, tools string) (windows [][]string) {
		o := fixed(4096)
		now := o.Now
		o.Now = func() time.Time { return now().AddDate(offset, 0, offset) }
		d := newTrial(t, ":memory:", o)
		d.head.Tools = []byte(tools)
		d.pin(someRules[1])
		d.user("Read on.")
		for range 25 {
			d.work(1, 900)
			d.chat(sakur4.Turn{Content: "Yes."})
			windows = append(windows, d.prev)
		}
		if len(d.plans) < 2 {
			t.Errorf("%d compactions, want at least 2", len(d.plans))
		}
		return windows
	}
	want, got := run(0, toolList), run(3, toolList)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("another clock changes the prompts (-want +got):\n%s", diff)
	}
	for i, w := range want {
		if w[0] != want[0][0] {
			t.Errorf("window %d has another head than the first", i+1)
		}
	}
	// The counters: other ids, other counts of earlier sessions in the store, other measurements.
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 4096})
	for i := range 3 {
		e := trialOn(t, d.eng, fmt.Sprint("session ", i))
		e.user("Read on.")
		e.work(i*20, 500)
		e.s, e.prev, e.plans = d.eng.Session(fmt.Sprint("next ", i)), nil, nil
		e.user("Read on.")
		e.window()
		if e.prev[0] != strings.Replace(`{"role":"system","content":"X"}`, "X", d.head.System, 1) {
			t.Errorf("the head of session %d is %s", i, e.prev[0])
		}
	}
	if turn.Version != 1 {
		t.Errorf("render version %d: the golden prompts are of version 1", turn.Version)
	}
}
