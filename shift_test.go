package sakur4_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/embedded"
	"sakur4/receipt"
)

// motionless is a server that takes n_cache_reuse and leaves it alone, as one does whose model cannot shift.
type motionless struct {
	*embedded.Server
	unknown bool // nothing is known of its cache
}

func (m *motionless) Profile(ctx context.Context) (boundary.Profile, error) {
	p, err := m.Server.Profile(ctx)
	if m.unknown {
		p.Geometry, p.Name = boundary.Geometry{}, "llama.cpp"
	}
	return p, err
}

func (m *motionless) Chat(ctx context.Context, req boundary.ChatRequest, progress func(boundary.ChatDelta)) (boundary.ChatReply, error) {
	var h sakur4.Hints
	if err := json.Unmarshal(req.Fields, &h); err != nil {
		return boundary.ChatReply{}, err
	}
	h.NCacheReuse = 0
	req.Fields, _ = json.Marshal(h)
	return m.Server.Chat(ctx, req, progress)
}

// shifted is a session on a server, each of whose prompts is sent.
type shifted struct {
	t    *testing.T
	s    *sakur4.Session
	chat boundary.Chatter
	head sakur4.Head
	n    int
	prev *sakur4.Window
}

func newShifted(t *testing.T, path string, backend boundary.Backend) *shifted {
	t.Helper()
	eng, err := sakur4.Open(t.Context(), path, &sakur4.Options{Project: "p", Backend: backend, KVShift: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shifted{t: t, s: eng.Session("s"), chat: backend.(boundary.Chatter), head: sakur4.Head{System: "You are a careful engineer."}}
}

func (d *shifted) commit(turn sakur4.Turn) {
	d.t.Helper()
	if _, err := d.s.Commit(d.t.Context(), turn); err != nil {
		d.t.Fatal(err)
	}
}

// step records a call with its result, and every tenth time an answer and the next question, then sends the next prompt.
func (d *shifted) step() (*sakur4.Window, receipt.Receipt) {
	d.t.Helper()
	switch {
	case d.n == 0:
		d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
	case d.n%10 == 0:
		d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: fmt.Sprintf("Part %d is fine.", d.n)})
		d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprintf("Then look at part %d.", d.n+1)})
	default:
		id := fmt.Sprintf("call_%d", d.n)
		d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "read", Arguments: fmt.Sprintf(`{"path":"pool%d.go"}`, d.n)}}})
		d.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: fmt.Sprintf("package pool%d\n%s", d.n, strings.Repeat(fmt.Sprintf("line of %d\n", d.n*d.n), 10+d.n%7*10))})
	}
	d.n++
	return d.send()
}

func (d *shifted) send() (*sakur4.Window, receipt.Receipt) {
	d.t.Helper()
	w, err := d.s.Window(d.t.Context(), d.head)
	if err != nil {
		d.t.Fatal(err)
	}
	fields, err := json.Marshal(w.Hints)
	if err != nil {
		d.t.Fatal(err)
	}
	reply, err := d.chat.Chat(d.t.Context(), boundary.ChatRequest{Messages: sakur4.MarshalMessages(w.Messages), Fields: fields}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := d.s.Observe(d.t.Context(), sakur4.Usage{PromptTokens: reply.PromptTokens, CachedTokens: reply.CachedTokens, CompletionTokens: reply.CompletionTokens})
	if err != nil {
		d.t.Fatal(err)
	}
	return w, r
}

// until goes on until a prompt was compacted.
func (d *shifted) until() (*sakur4.Window, receipt.Receipt) {
	d.t.Helper()
	for range 400 {
		prev := d.prev
		w, r := d.step()
		d.prev = w
		if w.Plan != nil {
			d.prev = prev
			return w, r
		}
		if w.Hints.NCacheReuse != 0 {
			d.t.Fatalf("turn %d asks for a shift of runs of %d tokens, nothing was compacted", r.Turn, w.Hints.NCacheReuse)
		}
	}
	d.t.Fatal("no compaction in 400 turns")
	return nil, receipt.Receipt{}
}

// TestKVShift: a compaction takes whole messages out and leaves every other as it was, the archive note at the tail; its request alone names the
// shortest run; the server reuses what was predicted, nearly all that it held.
func TestKVShift(t *testing.T) {
	t.Parallel()
	d := newShifted(t, ":memory:", newServer(8192))
	if _, err := d.s.Pin(t.Context(), "never force-push to main", sakur4.PinConstraint); err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		w, r := d.until()
		if n := w.Hints.NCacheReuse; n < 1 || n > 64 {
			t.Fatalf("round %d: n_cache_reuse %d, want 1 to 64; notes %q", round, n, r.Notes)
		}
		held := r.Used - r.New - r.Tokens(receipt.Stubs)
		if !r.Cache.Shifted || r.Cache.Cause != "" || r.Cache.Reused*100 < held*97 {
			t.Errorf("round %d: %d of %d held tokens reused, %d predicted, shifted %t, cause %q", round, r.Cache.Reused, held, r.Cache.Predicted, r.Cache.Shifted, r.Cache.Cause)
		}
		if !strings.Contains(strings.Join(r.Notes, "; "), "KV shift: ") || w.Plan.Cut.Verdict != boundary.Aligned || w.Plan.Cut.Reused != r.Cache.Predicted {
			t.Errorf("round %d: notes %q, cut %+v", round, r.Notes, w.Plan.Cut)
		}
		at, fresh := 0, 0
		for _, m := range w.Messages {
			i := slices.IndexFunc(d.prev.Messages[at:], func(old sakur4.Message) bool { return asText(old, nil) == asText(m, nil) })
			if i < 0 {
				fresh++ // the reply and what came after it
				continue
			}
			if at += i + 1; fresh > 0 {
				t.Errorf("round %d: message %d was sent before and follows one that was not", round, at)
			}
		}
		if fresh == 0 || fresh > 2 {
			t.Errorf("round %d: %d messages were not sent before, want the reply and a result or a question", round, fresh)
		}
		if tail := w.Messages[len(w.Messages)-1].Content; !strings.Contains(tail, `kind="archive"`) {
			t.Errorf("round %d: no archive note at the tail: %q", round, tail)
		}
		last := map[sakur4.EpisodeID]evict.Tier{}
		for _, st := range w.Plan.Steps {
			if st.To != st.From+1 {
				t.Errorf("round %d: a step from %v to %v", round, st.From, st.To)
			}
			last[sakur4.EpisodeID(st.Episode)] = st.To
		}
		for id, tier := range last {
			if tier != evict.Archived {
				t.Errorf("round %d: %s ends %v, want archived", round, id, tier)
			}
		}
		d.prev = w
	}
}

// TestKVShiftFallsBack: a server that cannot move tokens is found out by what it says or by what the first such request measures. From then on
// compactions are exact, and receipts say why.
func TestKVShiftFallsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		backend boundary.Backend
		asked   int // requests that name a run before it is found out
		why     string
	}{
		{"checkpoints", newServerWith(8192, sakur4.O200kBase(), boundary.Points), 0, "KV shift not used: the server's cache can only go back to checkpoints"},
		{"leaves it alone", &motionless{Server: newServer(8192)}, 1, "KV shift not used: the server did not do as it was predicted to"},
		{"unknown", &motionless{Server: newServer(8192), unknown: true}, 1, "KV shift not used: the server did not do as it was predicted to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newShifted(t, ":memory:", c.backend)
			for round := range 3 {
				w, r := d.until()
				if round < c.asked {
					if w.Hints.NCacheReuse == 0 || !strings.Contains(r.Cache.Cause, "the server did not move") || !strings.Contains(strings.Join(r.Notes, "; "), "KV shift is not asked for any more") {
						t.Errorf("round %d: n_cache_reuse %d, cause %q, notes %q", round, w.Hints.NCacheReuse, r.Cache.Cause, r.Notes)
					}
					continue
				}
				if notes := strings.Join(r.Notes, "; "); w.Hints.NCacheReuse != 0 || r.Cache.Shifted || r.Cache.Cause != "" || !strings.Contains(notes, c.why) {
					t.Errorf("round %d: n_cache_reuse %d, shifted %t, cause %q, notes %q", round, w.Hints.NCacheReuse, r.Cache.Shifted, r.Cache.Cause, notes)
				}
			}
		})
	}
}

// TestKVShiftByHand: a compaction between two prompts changes no message that was sent; the next prompt asks for the shift, says what went, and is
// reused as predicted, also by an engine that reads all of it from the store.
func TestKVShiftByHand(t *testing.T) {
	t.Parallel()
	for _, reopen := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopen=%t", reopen), func(t *testing.T) {
			t.Parallel()
			path, server := storePath(t), newServer(16384)
			d := newShifted(t, path, server)
			for range 40 {
				d.step()
			}
			p, err := d.s.Compact(t.Context(), d.head, 2500)
			if err != nil || !p.Applied {
				t.Fatalf("Compact = %+v, %v", p, err)
			}
			if reopen {
				n := d.n
				d = newShifted(t, path, server)
				d.n = n
			}
			w, r := d.step()
			for i, m := range w.Messages {
				if strings.Contains(m.Content, `kind="archive"`) && i < len(w.Messages)-1 {
					t.Errorf("the archive note stands in message %d of %d: %s", i, len(w.Messages), m.Content)
				}
			}
			if !contains(w.Messages, `kind="archive"`) || w.Hints.NCacheReuse == 0 || !r.Cache.Shifted || r.Cache.Cause != "" || r.Cache.Prefilled > r.New+r.Tokens(receipt.Stubs)+16 {
				t.Errorf("n_cache_reuse %d, cause %q, notes %q\n%s", w.Hints.NCacheReuse, r.Cache.Cause, r.Notes, r)
			}
			if w, _ := d.step(); w.Hints.NCacheReuse != 0 {
				t.Errorf("the prompt after asks for a shift of runs of %d tokens", w.Hints.NCacheReuse)
			}
		})
	}
}

// TestKVShiftUnsentReply: a long reply whose calls were interrupted has never been sent, also where the fixed message behind it has been, elsewhere: the plan counts it
// among what is processed in any case.
func TestKVShiftUnsentReply(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 12} { // kept, and archived as it comes
		t.Run(fmt.Sprintf("%d calls", size), func(t *testing.T) {
			t.Parallel()
			d := newShifted(t, ":memory:", newServer(8192))
			for d.n < 2 || d.prev.Receipt.Used < 5700 {
				w, _ := d.step()
				d.prev = w
			}
			var calls []sakur4.ToolCall
			for i := range size {
				calls = append(calls, sakur4.ToolCall{ID: fmt.Sprintf("edit_%d", i), Name: "edit", Arguments: fmt.Sprintf(`{"path":"pool%d.go","text":%q}`, i, strings.Repeat("new text ", 60))})
			}
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
			d.send()
			d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: calls})
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Stop. What did you do?"})
			w, r := d.send()
			if w.Plan == nil {
				t.Fatalf("nothing was compacted at %d tokens", r.Used)
			}
			before, reclaimed, reused := 0, 0, 0
			_, arithmetic, _ := strings.Cut(w.Plan.Reason, ": ")
			if _, err := fmt.Sscanf(arithmetic, "%d of %d tokens reclaimed, %d reused", &reclaimed, &before, &reused); err != nil {
				t.Fatalf("Reason = %q: %v", w.Plan.Reason, err)
			}
			if reused-r.Cache.Reused > 100 || r.Cache.Predicted != r.Cache.Reused {
				t.Errorf("the plan expects %d tokens to be reused, %d predicted, %d were (%s)", reused, r.Cache.Predicted, r.Cache.Reused, w.Plan.Reason)
			}
		})
	}
}
