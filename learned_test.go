package sakur4_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/receipt"
)

// untold is a server that was started with settings that nobody told: its profile has the defaults.
type untold struct {
	*embedded.Server
	window int
}

func newUntold(window int, rule boundary.CheckpointRule) *untold {
	return &untold{embedded.New(embedded.Config{Window: window, Tokenizer: sakur4.O200kBase(), Kind: boundary.Points, Rule: rule}), rule.Window}
}

func (u *untold) Profile(ctx context.Context) (boundary.Profile, error) {
	p, err := u.Server.Profile(ctx)
	rule := boundary.CheckpointRule{Window: u.window}.WithDefaults()
	p.Rule = &rule
	return p, err
}

// slider is an agent on a server with a sliding window.
type slider struct {
	t    *testing.T
	s    *sakur4.Session
	chat boundary.Chatter
	rng  *rand.Rand
	n    int
	seen []receipt.Receipt
}

func (d *slider) turn(turn sakur4.Turn) {
	d.t.Helper()
	if _, err := d.s.Commit(d.t.Context(), turn); err != nil {
		d.t.Fatal(err)
	}
}

// send asks for the next prompt, has it answered and observes the reply.
func (d *slider) send() (*sakur4.Window, receipt.Receipt) {
	d.t.Helper()
	ctx := d.t.Context()
	w, err := d.s.Window(ctx, sakur4.Head{System: "You are a careful engineer."})
	if err != nil {
		d.t.Fatal(err)
	}
	fields, err := json.Marshal(w.Hints)
	if err != nil {
		d.t.Fatal(err)
	}
	reply, err := d.chat.Chat(ctx, boundary.ChatRequest{Messages: sakur4.MarshalMessages(w.Messages), Fields: fields}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := d.s.Observe(ctx, sakur4.Usage{Window: w.ID, PromptTokens: reply.PromptTokens, CachedTokens: reply.CachedTokens, CompletionTokens: reply.CompletionTokens})
	if err != nil {
		d.t.Fatal(err)
	}
	d.seen = append(d.seen, r)
	return w, r
}

// work reads one file, or answers and is asked for more.
func (d *slider) work() (*sakur4.Window, receipt.Receipt) {
	d.t.Helper()
	d.n++
	words := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "word%d ", d.rng.IntN(3000))
		}
		return b.String()
	}
	if d.n == 1 || d.rng.IntN(5) == 0 {
		if d.n > 1 {
			d.turn(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Done: " + words(10)})
		}
		d.turn(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on with " + words(8)})
		return d.send()
	}
	id := fmt.Sprintf("call_%d", d.n)
	d.turn(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"f%d.go"}`, d.n)}}})
	d.turn(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: words(1 + d.rng.IntN(120))})
	return d.send()
}

// TestSlidingCutsSnap: over random sessions on servers with a sliding window no compaction lands between rewind points when one was within the tolerance, by
// what the server itself reused; where none was, plan and receipt say so.
func TestSlidingCutsSnap(t *testing.T) {
	t.Parallel()
	plans, fell := 0, 0
	for seed := range uint64(2 * len(some(2, 0, 0))) {
		rule := boundary.CheckpointRule{Window: 128, Spacing: []int{256, 1024, 8192}[seed%3], Ubatch: 128, Max: []int{8, 2, 32}[seed%3]}
		srv := embedded.New(embedded.Config{Window: 4096, Tokenizer: sakur4.O200kBase(), Kind: boundary.Points, Rule: rule})
		opts := fixed(4096)
		opts.Backend = srv
		eng := openEngine(t, ":memory:", opts)
		d := &slider{t: t, s: eng.Session("s"), chat: srv, rng: rand.New(rand.NewPCG(seed, 1))}
		for mine := 0; mine < 4; {
			w, r := d.work()
			if w.Plan == nil {
				continue
			}
			mine++
			plans++
			cut := w.Plan.Cut
			back := cut.Cut - r.Cache.Reused
			if r.Cache.Reused != r.Cache.Predicted || back < 0 {
				t.Errorf("spacing %d: cut at %d, predicted %d, the server reused %d", rule.Spacing, cut.Cut, r.Cache.Predicted, r.Cache.Reused)
			}
			snapped := cut.Verdict == boundary.Aligned || cut.Verdict == boundary.Snapped
			if snapped != (back <= boundary.DefaultSnapTolerance && r.Cache.Reused > 0) {
				t.Errorf("spacing %d: the server went back %d tokens before the cut at %d, verdict %v", rule.Spacing, back, cut.Cut, cut.Verdict)
			}
			if !snapped {
				fell++
				if !strings.Contains(cut.Reason, "checkpoint") || r.Cache.Verdict != cut.Verdict || r.Cache.Reason != cut.Reason {
					t.Errorf("spacing %d: plan says %v, %q; receipt %v, %q: want the fall-back in both", rule.Spacing, cut.Verdict, cut.Reason, r.Cache.Verdict, r.Cache.Reason)
				}
			}
		}
	}
	t.Logf("%d compactions, %d without a checkpoint within the tolerance", plans, fell)
	if fell == 0 || fell == plans {
		t.Error("want some of both")
	}
}

// TestSettingsOutliveTheAgent: what was learned of a server is there after a restart of the agent, in the session that learned it and in a new one; a server
// that comes back with other settings is learned anew.
func TestSettingsOutliveTheAgent(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	rule := boundary.CheckpointRule{Window: 128, Spacing: 256, Ubatch: 64, Max: 6}
	srv := newUntold(4096, rule)
	opts := fixed(4096)
	opts.Backend = srv
	eng, err := sakur4.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	d := &slider{t: t, s: eng.Session("s"), chat: srv, rng: rand.New(rand.NewPCG(3, 1))}
	compact := func(n int) (wrong, learned int) {
		for n > 0 {
			w, r := d.work()
			learned += strings.Count(strings.Join(r.Notes, "\n"), "cache profile learned")
			if w.Plan != nil {
				n--
				if r.Cache.Reused != r.Cache.Predicted && !saidUnsure(r) {
					wrong++
				}
			}
		}
		return wrong, learned
	}
	if wrong, learned := compact(6); learned == 0 || wrong > 3 {
		t.Fatalf("learned %d times, %d of 6 compactions predicted wrongly", learned, wrong)
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	eng = openEngine(t, path, opts)
	d.s = eng.Session("s")
	if wrong, learned := compact(3); learned > 0 || wrong > 0 {
		t.Errorf("after a restart of the agent: learned %d times, %d of 3 compactions predicted wrongly", learned, wrong)
	}
	d.s, d.n = eng.Session("new"), 0
	if wrong, learned := compact(3); learned > 0 || wrong > 0 {
		t.Errorf("a new session: learned %d times, %d of 3 compactions predicted wrongly", learned, wrong)
	}
	other := newUntold(4096, boundary.CheckpointRule{Window: 128, Spacing: 1024, Ubatch: 256})
	srv.Server = other.Server
	compact(4)
	if wrong, _ := compact(4); wrong > 0 {
		t.Errorf("a server with other settings: %d of the later 4 compactions predicted wrongly", wrong)
	}
}
