package sakur4_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
)

// TestLaw10FarOverTheWindow takes sessions that are many times larger than the window, in every shape, to a prompt that fits.
func TestLaw10FarOverTheWindow(t *testing.T) {
	t.Parallel()
	shapes := map[string]func(d *trial){
		"many small turns": func(d *trial) {
			d.user("Read on.")
			for range rounds(400) {
				d.read("f.go", d.prose(150))
			}
		},
		"one result": func(d *trial) {
			d.user("Read on.")
			d.read("f.go", d.prose(200000))
		},
		"large results": func(d *trial) {
			d.user("Read on.")
			for range 40 {
				d.read("f.go", d.prose(4000))
			}
		},
		"a large task": func(d *trial) {
			d.user(d.prose(100000))
		},
		"large requests": func(d *trial) {
			for range 8 {
				d.user(d.prose(30000))
				d.say("Yes.")
			}
			d.user("And?")
		},
		"large answers": func(d *trial) {
			d.user("Tell me all.")
			for range 10 {
				d.say(d.prose(20000))
				d.user("More.")
			}
		},
		"many calls at once": func(d *trial) {
			d.user("Read on.")
			next := d.reading("f.go")
			for range 30 {
				next.ToolCalls = append(next.ToolCalls, d.reading("f.go").ToolCalls...)
			}
			d.commit(next)
			for _, c := range next.ToolCalls {
				d.result(c.ID, d.prose(4000))
			}
		},
		"large arguments": func(d *trial) {
			d.user("Write it.")
			for range 10 {
				d.calls++
				id := fmt.Sprintf("c%d", d.calls)
				d.say("", sakur4.ToolCall{ID: id, Name: "write", Arguments: fmt.Sprintf(`{"text":%q}`, d.prose(12000))})
				d.result(id, "ok")
			}
		},
		"large notes": func(d *trial) {
			d.user("Read on.")
			d.read("f.go", "package f")
			for range 5 {
				if _, err := d.s.Attach(d.t.Context(), sakur4.Note{Kind: sakur4.NoteRecall, Text: d.prose(20000)}); err != nil {
					d.t.Fatalf("Attach() = %v", err)
				}
			}
			d.commit(sakur4.Turn{Role: sakur4.RoleSystem, Content: d.prose(20000)})
		},
	}
	for name, build := range shapes {
		for _, window := range some(1, 2048, 1024, 4096) {
			t.Run(fmt.Sprintf("%s/%d", name, window), func(t *testing.T) {
				t.Parallel()
				d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
				d.pin(someRules[0])
				build(d)
				w := d.window()
				if w.Plan == nil && w.Receipt.Used > window*3/4 && len(w.Receipt.Notes) == 0 {
					t.Errorf("%d tokens, no plan and no reason", w.Receipt.Used)
				}
				// And it goes on.
				for range 3 {
					d.work(1, 300)
				}
				d.say("Done.")
				d.user("Next.")
				d.window()
				d.complete()
			})
		}
	}
}

// TestLaw10FloorsGiveWayInOrder makes one thing after another too large to stay whole, and looks which gave way.
func TestLaw10FloorsGiveWayInOrder(t *testing.T) {
	t.Parallel()
	const window = 2048
	build := func(t *testing.T, task, request, result int) (d *trial, w *sakur4.Window, err error) {
		d = newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
		d.pin(someRules[0])
		d.user("T" + d.prose(task))
		for range 10 {
			d.read("f.go", d.prose(300))
		}
		d.say("So far.")
		d.user("R" + d.prose(request))
		next := d.reading("g.go")
		for range 5 {
			next.ToolCalls = append(next.ToolCalls, d.reading("g.go").ToolCalls...)
		}
		d.commit(next)
		for _, c := range next.ToolCalls {
			d.result(c.ID, "G"+d.prose(result))
		}
		w, err = d.s.Window(t.Context(), d.head)
		return d, w, err
	}
	verbatim := func(d *trial, w *sakur4.Window, mark string) bool {
		for _, r := range d.recorded {
			if strings.HasPrefix(r.Content, mark) {
				return slices.ContainsFunc(w.Messages, func(m sakur4.Message) bool { return strings.HasPrefix(m.Content, r.Content) })
			}
		}
		return false
	}
	for _, c := range []struct {
		name                  string
		task, request, result int
		floor                 string
		whole, cut            string // marks of what is verbatim and what is not
	}{
		{"nothing gives way", 300, 300, 90, "", "TRG", ""},
		{"the newest atom before the newest request", 300, 1200, 500, evict.FloorName(evict.FloorNewestAtom), "TR", "G"},
		{"the newest request before the task", 300, 9000, 90, evict.FloorName(evict.FloorNewestUser), "T", "R"},
		{"the task last", 9000, 9000, 90, evict.FloorName(evict.FloorTaskRoot), "", "TR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, w, err := build(t, c.task, c.request, c.result)
			if err != nil {
				t.Fatalf("Window() = %v", err)
			}
			d.check(w)
			for _, mark := range strings.Split(c.whole, "") {
				if mark != "" && !verbatim(d, w, mark) {
					t.Errorf("%s is not verbatim", mark)
				}
			}
			for _, mark := range strings.Split(c.cut, "") {
				if mark != "" && verbatim(d, w, mark) {
					t.Errorf("%s is verbatim and cannot be", mark)
				}
			}
			if c.floor != "" && (w.Plan == nil || w.Plan.Floor != c.floor || w.Receipt.Floor != c.floor) {
				t.Errorf("Window() names the floor %q, want %q", w.Receipt.Floor, c.floor)
			}
		})
	}
	t.Run("pins never", func(t *testing.T) {
		t.Parallel()
		d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
		d.head.System = d.prose(9000)
		d.pin(someRules[0])
		d.user("Hello.")
		_, err := d.s.Window(t.Context(), d.head)
		var over *sakur4.BudgetError
		if !errors.As(err, &over) || over.Need <= over.Have || over.Have != d.limit {
			t.Errorf("Window() with a head of 9,000 bytes = %v, want a *BudgetError", err)
		}
		d.head.System = "Short."
		d.window()
	})
}

// TestLaw10PlanThatReclaimsNothing is not applied and says so.
func TestLaw10PlanThatReclaimsNothing(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 8192})
	d.user("Hello.")
	d.window()
	before := rows(t, path)
	for _, target := range []int{0, 1, 4000} {
		p, err := d.s.Compact(t.Context(), d.head, target)
		if err != nil || p.Applied || len(p.Steps) > 0 || p.Before != p.After || p.Reason == "" {
			t.Errorf("Compact(%d) of two messages = %+v, %v, want a plan that is not applied and its reason", target, p, err)
		}
	}
	if _, err := d.s.Compact(t.Context(), d.head, -1); err == nil {
		t.Error("Compact(-1) succeeded")
	}
	if diff := cmp.Diff(before, rows(t, path)); diff != "" {
		t.Errorf("a plan that is not applied changed the store (-want +got):\n%s", diff)
	}
}

// TestLaw10ReopenedInASmallerWindow has the prompt of a larger window shrink before anything new was said.
func TestLaw10ReopenedInASmallerWindow(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 32768})
	d.pin(someRules[0])
	d.user("Read on.")
	d.work(30, 1500)
	for _, window := range []int{16384, 8192, 4096, 2048, 1024, 16384} {
		d.reopen(path, &sakur4.Options{Project: "p", Window: window})
		d.window()
		d.work(1, 200)
	}
	d.complete()
}

// TestLaw10ReopenedInASmallerWindowWithTheServerDown does the same where only the local count is left.
func TestLaw10ReopenedInASmallerWindowWithTheServerDown(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	f := &flaky{Server: newServer(32768)}
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 32768, Backend: f})
	d.user("Read on.")
	d.work(25, 1500)
	f.noProfile.Store(true)
	f.noRender.Store(true)
	f.noTokens.Store(true)
	d.reopen(path, &sakur4.Options{Project: "p", Window: 32768, Backend: f})
	if again := d.window(); again.Plan != nil {
		t.Error("a local count had a prompt compacted that the server had counted")
	}
	d.reopen(path, &sakur4.Options{Project: "p", Window: 8192, Backend: f})
	d.limit = 8192 - 8192/8
	d.window()
}

// TestLaw10ServerDown takes parts of the server away at every moment: turns are recorded and prompts made, counted locally, and the receipt says why.
func TestLaw10ServerDown(t *testing.T) {
	t.Parallel()
	down := map[string]func(f *flaky, v bool){
		"all of it":      func(f *flaky, v bool) { f.noProfile.Store(v); f.noRender.Store(v); f.noTokens.Store(v) },
		"apply-template": func(f *flaky, v bool) { f.noRender.Store(v) },
		"tokenize":       func(f *flaky, v bool) { f.noTokens.Store(v) },
	}
	for name, set := range down {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &flaky{Server: newServer(4096)}
			path := storePath(t)
			o := func() *sakur4.Options {
				return &sakur4.Options{Project: "p", Window: 4096, Backend: f, Tokenizer: sakur4.CL100kBase()}
			}
			set(f, true)
			d := newTrial(t, path, o())
			d.limit = 4096 - 4096/8
			d.pin(someRules[0])
			d.user("Read on.")
			local := func() {
				t.Helper()
				d.read("f.go", d.prose(900))
				if _, err := d.s.Plan(t.Context(), d.head); err != nil {
					t.Fatalf("Plan() with the server down = %v", err)
				}
				w := d.window()
				r := w.Receipt
				if !strings.Contains(r.Tokenizer, "cl100k") || !strings.Contains(r.Tokenizer, "local") {
					t.Fatalf("the receipt names the counter %q, want the local one", r.Tokenizer)
				}
				if said := strings.Join(r.Notes, "; "); !strings.Contains(said, "counted locally") || !strings.Contains(said, "connection refused") {
					t.Fatalf("the receipt says %q, want that it was counted locally and why", said)
				}
				if r.Cache.Status != boundary.StatusUnknown {
					t.Fatalf("the receipt says %v, want %v", r.Cache.Status, boundary.StatusUnknown)
				}
			}
			for range 20 {
				local()
			}
			st, err := d.eng.Status(t.Context())
			if name == "all of it" && (err != nil || !strings.Contains(st.Problem, "connection refused")) {
				t.Errorf("Status() with the server down = %+v, %v", st, err)
			}
			set(f, false)
			d.read("f.go", d.prose(300))
			// Counted otherwise now, the prompt still only grows or is compacted.
			if w := d.window(); !strings.Contains(w.Receipt.Tokenizer, "o200k") {
				t.Errorf("with the server back the receipt names the counter %q", w.Receipt.Tokenizer)
			}
			set(f, true)
			local()
			d.reopen(path, o())
			d.limit = 4096 - 4096/8
			local()
			d.complete()
			if len(d.plans) == 0 {
				t.Error("no compaction with the server down")
			}
		})
	}
}

// TestLaw10ServerWithoutSpans counts with a server that does not say where tokens end: the sums hold all the same.
func TestLaw10ServerWithoutSpans(t *testing.T) {
	t.Parallel()
	f := &flaky{Server: newServer(4096)}
	f.noSpans.Store(true)
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 4096, Backend: f})
	d.user("Read on.")
	d.work(30, 900)
	if len(d.plans) == 0 {
		t.Error("no compaction")
	}
}
