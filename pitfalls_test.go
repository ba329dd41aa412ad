package sakur4_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/evict"
)

// The tests of this file and its neighbours are named after failures that users of comparable systems reported. Each tests the failure's opposite.

// someRules are pins of the kinds that users write.
var someRules = []string{
	"never force-push to main",
	"Always answer in British English — “colour”, not “color”.",
	"Run\n\tgo test ./...\nafter each edit, in that order.",
	"The password file is {\"path\": \"/etc/shadow\"}; do NOT read it. <b>Never.</b>",
	"日本語のコメントは残すこと",
}

// TestPitfall01RulesForgotten forces fifty compactions at many budgets: every pin's exact bytes are in every prompt.
func TestPitfall01RulesForgotten(t *testing.T) {
	t.Parallel()
	for _, window := range some(2, 2048, 8192, 1024, 4096, 32768, 131072) {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
			for _, r := range someRules {
				d.pin(r)
			}
			d.user("Find the leak.")
			d.window()
			applied := 0
			for i := 0; applied < 50 && i < 200; i++ {
				d.work(1, min(window/4, 1200))
				if i%10 == 5 {
					d.say("That was it.")
					d.user("Now look at part " + fmt.Sprint(i))
				}
				// From everything away that can be, up to hardly anything.
				target := 1 + d.last.Receipt.Used*(i%7)/8
				p, err := d.compact(target)
				if err != nil {
					t.Fatalf("Compact(%d) = %v", target, err)
				}
				if p.Applied {
					applied++
				}
				if d.recorded[len(d.recorded)-1].Role != sakur4.RoleAssistant {
					d.window()
				}
			}
			if applied < 50 {
				t.Errorf("%d forced compactions, want at least 50", applied)
			}
			d.complete()
		})
	}
}

// TestPitfall01RulesThatDoNotFit shows that pins which cannot stand in a prompt refuse the call, with nothing changed.
func TestPitfall01RulesThatDoNotFit(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, &sakur4.Options{Project: "p", Window: 8192})
	d.pin(strings.Repeat("Keep the index sorted. ", 300))
	d.user("Find the leak.")
	d.window()
	d.work(5, 2000)
	if _, err := d.s.Pin(t.Context(), strings.Repeat("Write it all down. ", 2000), sakur4.PinConstraint); !errors.Is(err, sakur4.ErrBudgetOverflow) {
		t.Errorf("Pin(38,000 bytes) = %v, want %v", err, sakur4.ErrBudgetOverflow)
	}
	d.reopen(path, &sakur4.Options{Project: "p", Window: 1024})
	d.read("more.go", d.prose(3000))
	before := rows(t, path)
	for i := range 3 {
		_, err := d.s.Window(t.Context(), d.head)
		var over *sakur4.BudgetError
		if !errors.As(err, &over) || !errors.Is(err, sakur4.ErrBudgetOverflow) {
			t.Fatalf("Window() in 1024 tokens = %v, want a *BudgetError", err)
		}
		if over.Floor != evict.FloorName(evict.FloorPins) || over.Need <= over.Have || over.Have != 1024-1024/8 {
			t.Errorf("Window() = %+v, want the floor %q and what it needs", over, evict.FloorName(evict.FloorPins))
		}
		if _, err := d.s.Compact(t.Context(), d.head, i); !errors.Is(err, sakur4.ErrBudgetOverflow) {
			t.Errorf("Compact(%d) = %v, want %v", i, err, sakur4.ErrBudgetOverflow)
		}
	}
	if diff := cmp.Diff(before, rows(t, path)); diff != "" {
		t.Errorf("refused calls changed the store (-want +got):\n%s", diff)
	}
	d.reopen(path, &sakur4.Options{Project: "p", Window: 8192})
	d.window()
}

// TestPitfall02NewestRequestVanishes puts 300 tool calls after the newest user turn: it is verbatim in every prompt, and so are the most recent turns.
func TestPitfall02NewestRequestVanishes(t *testing.T) {
	t.Parallel()
	for _, window := range some(1, 2048, 8192, 32768) {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
			d.user("First we look around.")
			d.window()
			d.work(3, 300)
			d.say("Done.")
			request := "Rename Frobnicate to Polish everywhere.\n\n1. keep the tests\n2. leave the docs: \"they\" are <generated>\n\tand mind café.go"
			d.user(request)
			for i := range 300 {
				d.read(fmt.Sprintf("f%d.go", i), d.prose(50+d.rng.IntN(window/16)))
				w := d.window()
				if !slices.ContainsFunc(w.Messages, func(m sakur4.Message) bool { return m.Role == "user" && strings.HasPrefix(m.Content, request) }) {
					t.Fatalf("%d calls after it the newest request is not in the prompt", i+1)
				}
				d.recentIsLive(w, window)
			}
			if len(d.plans) < 3 {
				t.Errorf("%d compactions, want at least 3", len(d.plans))
			}
		})
	}
}

// recentIsLive checks that the most recent turns, as many as fit the share that is kept, are verbatim.
func (d *trial) recentIsLive(w *sakur4.Window, window int) {
	d.t.Helper()
	keep := int(float64(window) * evict.DefaultKeepRecent)
	text := texts(w.Messages)
	used := 0
	for i := len(d.recorded) - 1; i >= 0; i-- {
		r := d.recorded[i]
		// More than the template puts around a message, a call or a result.
		const around = 40
		if used += r.Tokens + around; used > keep && r.Role != sakur4.RoleTool {
			return
		}
		if used > keep && i != len(d.recorded)-1 {
			return
		}
		if !strings.Contains(text, r.Content) {
			d.t.Fatalf("window %d: turn %d of %d is within the %d recent tokens and not verbatim", w.Receipt.Turn, i, len(d.recorded), keep)
		}
	}
}

// TestPitfall03FollowUpTakenForTheTask keeps the first user turn verbatim and first through many compactions and follow-ups.
func TestPitfall03FollowUpTakenForTheTask(t *testing.T) {
	t.Parallel()
	for _, window := range some(1, 2048, 4096, 16384) {
		for _, system := range []string{"", "You are a careful engineer."} {
			t.Run(fmt.Sprintf("%d/system %t", window, system != ""), func(t *testing.T) {
				t.Parallel()
				d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: window})
				d.head.System = system
				const task = "Port the importer to Go.\nIt must read both formats."
				d.user(task)
				for round := range 40 {
					d.work(4, window/6)
					if round%4 == 3 {
						if _, err := d.compact(1); err != nil {
							t.Fatalf("Compact(1) = %v", err)
						}
					}
					if round%3 == 0 {
						d.say("So far so good.")
						d.user(fmt.Sprintf("By the way, number %d: %s", round, d.prose(window/64)))
					}
					d.read("f.go", "package f")
					w := d.window()
					first := w.Messages[0]
					if system != "" {
						first = w.Messages[1]
					}
					if first.Role != "user" || !strings.HasPrefix(first.Content, task) {
						t.Fatalf("round %d: the first user message is %.80q, want %q", round, first.Content, task)
					}
					for _, m := range w.Messages {
						if m.Role == "user" && m.Content != first.Content && strings.Contains(m.Content, task) {
							t.Fatalf("round %d: the task stands a second time in the prompt", round)
						}
					}
				}
				if len(d.plans) < 10 {
					t.Errorf("%d compactions, want at least 10", len(d.plans))
				}
			})
		}
	}
}

// TestPitfall04HugeResult gives one result of any size to a session with a window of any size: the prompt fits, without a model.
func TestPitfall04HugeResult(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	sizes := some(6, 0, 1, 100, 1<<10, 16<<10, 128<<10, 1<<20, 10<<20)
	shapes := map[string]func(n int) string{
		"lines": func(n int) string { return strings.Repeat("0123456789 abcde\n", n/17+1)[:n] },
		"line":  func(n int) string { return strings.Repeat("0123456789abcdef", n/16+1)[:n] },
		"bytes": func(n int) string { return strings.Repeat("\x00\xff\xfe<|im_end|>\n", n/14+1)[:n] },
	}
	eng := openEngine(t, path, &sakur4.Options{Project: "p"})
	sessions := map[string]string{}
	for _, shape := range slices.Sorted(maps.Keys(shapes)) {
		for _, size := range sizes {
			if size > 1<<20 && shape != "lines" {
				continue
			}
			sessions[fmt.Sprintf("%s/%d", shape, size)] = shapes[shape](size)
		}
	}
	windows := []int{2000, 4096, 8192, 40000, 131072, 1 << 20}
	for name, content := range sessions {
		for _, window := range windows {
			d := trialOn(t, eng, fmt.Sprintf("%s/%d", name, window))
			d.user("Read it.")
			d.read("big.log", content)
		}
	}
	for _, window := range windows {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			eng := openEngine(t, path, &sakur4.Options{Project: "p", Window: window})
			for _, name := range slices.Sorted(maps.Keys(sessions)) {
				d := trialOn(t, eng, fmt.Sprintf("%s/%d", name, window))
				w := d.window()
				content := sessions[name]
				last := w.Messages[len(w.Messages)-1]
				if last.Role != "tool" {
					t.Fatalf("%s in %d tokens: the last message is of the role %s", name, window, last.Role)
				}
				if len(content) > 0 && len(content) < window/16 && !strings.Contains(name, "bytes") && last.Content != content {
					t.Errorf("%s in %d tokens: a result of %d bytes is not verbatim", name, window, len(content))
				}
				if len(last.Content) < len(content)/2 && !strings.Contains(last.Content, "memory_episode") {
					t.Errorf("%s in %d tokens: the shortened result does not say how to read it", name, window)
				}
				for ep, err := range eng.Episodes(t.Context(), sakur4.EpisodeFilter{Session: d.s.ID(), Role: sakur4.RoleTool}) {
					if err != nil || ep.Content != content {
						t.Errorf("%s: %d bytes come back, want %d (%v)", name, len(ep.Content), len(content), err)
					}
				}
			}
		})
	}
}
