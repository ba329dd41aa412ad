package sakur4_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/receipt"
)

// TestRandomSessions runs random operations on sessions and holds every step against a simple model. SAKUR4_RANDOM_SEED and SAKUR4_RANDOM_ROUNDS
// choose the first seed and the number of sessions; a seed always gives the same session.
func TestRandomSessions(t *testing.T) {
	t.Parallel()
	number := func(name string, otherwise uint64) uint64 {
		if s := os.Getenv(name); s != "" {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return n
		}
		return otherwise
	}
	first := number("SAKUR4_RANDOM_SEED", uint64(time.Now().UnixNano()))
	rounds := number("SAKUR4_RANDOM_ROUNDS", 3)
	for seed := first; seed < first+rounds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			data := make([]byte, 100+r.IntN(700))
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			runSession(t, data)
		})
	}
}

// FuzzSession runs the operations that the bytes spell.
func FuzzSession(f *testing.F) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 60+60*seed)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 800 {
			return
		}
		runSession(t, data)
	})
}

// world is a session under test: an engine, a twin that is given the same operations but no Plan, and the model.
type world struct {
	t     testing.TB
	in    *source
	a, b  *rig
	m     *model
	clock time.Time
	// flaky says that the server fails at times. The twin is then given every operation, for their servers must fail at the same call.
	flaky bool
	// sends says that every prompt is sent to the server; synced that nothing has happened behind the engine's back, so that the server's cache
	// is what the engine thinks it is.
	sends, synced bool
	// unasked says that the server has become another one since the last prompt and did not answer all questions about it: the prompt may have come back as one
	// that only the server before has counted.
	unasked bool
	n       int
	log     []string
}

func runSession(t testing.TB, data []byte) {
	w := &world{t: t, in: &source{data: data}, clock: time.Unix(1_700_000_000, 0).UTC(),
		m: &model{pins: map[sakur4.PinID]string{}, retired: map[sakur4.PinID]bool{}}}
	u := w.in.setup()
	u.template = max(w.in.n(5)-2, 0)
	w.flaky = w.in.n(4) == 0
	w.a, w.b = newRig(t, u, &w.clock), newRig(t, u, &w.clock)
	w.sends = w.in.n(2) == 0
	w.synced = w.sends && !w.flaky && u.template != 2 // a server makes checkpoints where a user message opens: without its header nobody knows them
	w.note("setup %+v, flaky %t, sends %t", u, w.flaky, w.sends)
	w.m.head = w.head()
	for !w.in.done() {
		w.clock = w.clock.Add(time.Second)
		if w.flaky && w.in.n(3) == 0 {
			after, fails := w.in.n(8), 1+w.in.n(12)
			for _, r := range []*rig{w.a, w.b} {
				r.fail(after, fails)
			}
			w.synced = false
			w.note("server fails %d calls after %d", fails, after)
		}
		w.step()
		for _, r := range []*rig{w.a, w.b} {
			r.fail(0, 0)
		}
	}
	w.finish()
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	n := len(w.log)
	w.t.Fatalf("%s\nafter %d operations, the last:\n  %s\ndata: %q", fmt.Sprintf(format, args...), n, strings.Join(w.log[max(0, n-40):], "\n  "), w.in.data[:w.in.at])
}

// both runs an operation on the engine and on its twin, which must agree.
func (w *world) both(what string, f func(r *rig) string) string {
	w.t.Helper()
	x := f(w.a)
	if y := f(w.b); x != y {
		at := 0
		for at < len(x) && at < len(y) && x[at] == y[at] {
			at++
		}
		from := max(0, at-200)
		w.fatalf("%s: two engines with the same operations differ at byte %d:\n a %.600s\n b %.600s", what, at, x[from:], y[from:])
	}
	return x
}

func (w *world) step() {
	switch n := w.in.n(32); {
	case n < 7:
		w.commit(w.turn())
	case n < 10:
		w.loop()
	case n < 13:
		w.answerAll()
	case n < 19:
		w.window(w.in.n(6) == 0, w.in.n(8) == 0)
	case n == 19:
		w.pin()
	case n == 20:
		w.unpin()
	case n < 23:
		w.attach()
	case n == 23:
		w.observe()
	case n < 26:
		w.plan()
	case n == 26:
		w.compact()
	case n == 27:
		w.reopen()
	case n == 28:
		w.chat()
	case n == 29:
		w.m.head = w.head()
		w.note("head %q %s", w.m.head.System, w.m.head.Tools)
	default:
		// A result, the commonest thing in a session.
		w.commit(w.result())
	}
}

// tiers returns the tier of every turn, and that they are what the rungs taken say.
func (w *world) tiers() map[sakur4.EpisodeID]evict.Tier {
	out := map[sakur4.EpisodeID]evict.Tier{}
	for e, err := range w.a.eng.Episodes(w.t.Context(), sakur4.EpisodeFilter{Session: "s"}) {
		if err != nil {
			w.fatalf("Episodes: %v", err)
		}
		out[e.ID] = e.Tier
	}
	if len(out) != len(w.m.turns) {
		w.fatalf("%d episodes are stored, %d were committed", len(out), len(w.m.turns))
	}
	var evs []sakur4.Eviction
	for e, err := range w.a.session(false).Evictions(w.t.Context()) {
		if err != nil {
			w.fatalf("Evictions: %v", err)
		}
		evs = append(evs, e)
	}
	if err := checkSteps(evs, out); err != nil {
		w.fatalf("%v", err)
	}
	return out
}

// window asks for a prompt and checks it; nil if there is none.
func (w *world) window(closing, other bool) *sakur4.Window {
	h := w.m.head
	h.CloseOpenCalls = closing
	pending := w.m.pending()
	w.note("window, closing %t, other %t, %d pending, tail %q", closing, other, len(pending), w.m.tail)
	w.a.session(other) // opening writes
	before, fails := w.a.version(), w.a.server.fails
	var got *sakur4.Window
	var err error
	w.both("Window", func(r *rig) string {
		x, e := r.session(other).Window(w.t.Context(), h)
		if r == w.a {
			got, err = x, e
		}
		return asText(x, e)
	})
	w.unasked = w.m.moved && w.a.server.fails < fails
	var budget *sakur4.BudgetError
	var open *sakur4.PendingError
	tail := w.m.tail
	if closing && len(pending) > 0 {
		tail = "tool"
	}
	switch {
	case len(pending) > 0 && !closing:
		if !errors.As(err, &open) || !slices.Equal(open.Calls, pending) {
			w.fatalf("Window = %v, want the pending calls %q", err, pending)
		}
	case tail != "user" && tail != "tool":
		if !errors.Is(err, sakur4.ErrNoTurn) {
			w.fatalf("Window after %q = %v, want %v", tail, err, sakur4.ErrNoTurn)
		}
	case errors.As(err, &budget):
		w.overflow("Window", budget, other)
	case err != nil:
		w.fatalf("Window = %v", err)
	default:
		if closing {
			w.m.closeOpen()
		}
		fresh := w.m.window == nil || w.m.window.ID != got.ID
		w.check(got, h, other)
		if fresh && w.sends {
			w.send(got)
		}
		return got
	}
	if after := w.a.version(); after != before {
		w.fatalf("Window failed with %v and wrote to the store", err)
	}
	return nil
}

func (w *world) pin() {
	text := []string{"never push to main", "always run the tests <b>", "é漢字: keep\nlines", "  spaces  ", "bad <|im_end|>", "", "\xff", "a </sakur4:note > b", "</sakur4:note",
		strings.Repeat("a long rule. ", 40), strings.Repeat("a longer rule. ", 2000), "x907300000051x"}[w.in.n(12)]
	if w.in.n(2) == 0 {
		text += fmt.Sprint(w.n)
		w.n++
	}
	s := w.in.n(2)
	w.note("pin %.60q", text)
	var got sakur4.PinID
	var err error
	w.both("Pin", func(r *rig) string {
		session := r.session(false)
		if s == 1 {
			session = r.eng.Session("another")
		}
		id, e := session.Pin(w.t.Context(), text, sakur4.PinConstraint)
		if r == w.a {
			got, err = id, e
		}
		return asText(id, e)
	})
	switch {
	case err == nil:
		if strings.TrimSpace(text) == "" || strings.Contains(text, "\xff") || strings.Contains(text, "<|im_end|>") {
			w.fatalf("Pin(%q) is taken", text)
		}
		w.m.pins[got] = text
	case !errors.Is(err, sakur4.ErrInvalidPin) && !errors.Is(err, sakur4.ErrBudgetOverflow):
		w.fatalf("Pin(%q) = %v", text, err)
	}
}

func (w *world) unpin() {
	var ids []sakur4.PinID
	for id := range w.m.pins {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id := sakur4.PinID("pin_nobody")
	if len(ids) > 0 {
		id = ids[w.in.n(len(ids))]
	}
	w.note("unpin %s", id)
	var err error
	w.both("Unpin", func(r *rig) string {
		e := r.session(false).Unpin(w.t.Context(), id)
		if r == w.a {
			err = e
		}
		return asText(nil, e)
	})
	if _, ok := w.m.pins[id]; ok != (err == nil) || err != nil && !errors.Is(err, sakur4.ErrNotFound) {
		w.fatalf("Unpin(%s) = %v", id, err)
	}
	if err == nil {
		delete(w.m.pins, id)
		w.m.retired[id] = true
	}
}

func (w *world) attach() {
	text, _ := w.content()
	times := 1
	if w.in.n(8) == 0 {
		times = 40
	}
	kind := []sakur4.NoteKind{sakur4.NoteRecall, sakur4.NoteRepoMap, sakur4.NoteText, 0}[w.in.n(4)]
	w.note("attach %d bytes, kind %v, %d times", len(text), kind, times)
	for range times {
		w.both("Attach", func(r *rig) string {
			id, err := r.session(false).Attach(w.t.Context(), sakur4.Note{Kind: kind, Text: text})
			if r == w.a && (err == nil) != (kind != 0 && text != "") {
				w.fatalf("Attach = %v", err)
			}
			return asText(id, err)
		})
	}
}

// observe enters counts, right or wrong.
func (w *world) observe() {
	if w.m.window == nil {
		return
	}
	used := w.m.window.Receipt.Used
	u := sakur4.Usage{PromptTokens: []int{used, 0, used + 7, used / 2}[w.in.n(4)]}
	switch w.in.n(4) {
	case 0:
		n := w.m.window.Receipt.Cache.Predicted
		u.CachedTokens = &n
	case 1:
		n := w.in.n(256) * 20
		u.CachedTokens = &n
	case 2:
		n := 0
		u.CachedTokens = &n
	}
	if w.in.n(2) == 0 {
		u.Window = w.m.window.ID
	}
	w.note("observe %+v", u)
	w.synced = false
	w.observed(u)
}

func (w *world) observed(u sakur4.Usage) receipt.Receipt {
	var got receipt.Receipt
	first := w.both("Observe", func(r *rig) string {
		x, err := r.session(false).Observe(w.t.Context(), u)
		if err != nil {
			w.fatalf("Observe = %v", err)
		}
		if r == w.a {
			got = x
		}
		return asText(x, nil)
	})
	if second := w.both("Observe", func(r *rig) string { return asText(r.session(false).Observe(w.t.Context(), u)) }); first != second {
		w.fatalf("Observe twice:\n%s\n%s", first, second)
	}
	return got
}

// chat sends the prompt to the server as an agent does, and records the reply.
func (w *world) chat() {
	x := w.window(false, false)
	if x == nil || w.sends {
		return
	}
	if reply, ok := w.send(x); ok {
		w.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: reply.Content}, "")
	}
}

// send sends a prompt to the server and enters what it measured.
func (w *world) send(x *sakur4.Window) (reply boundary.ChatReply, ok bool) {
	var err error
	fields, _ := json.Marshal(x.Hints)
	w.both("Chat", func(r *rig) string {
		a, e := r.server.Chat(context.Background(), boundary.ChatRequest{Messages: sakur4.MarshalMessages(x.Messages), Tools: w.m.head.Tools, Fields: fields}, nil)
		if r == w.a {
			reply, err = a, e
		}
		return asText(a, e)
	})
	var full *boundary.ContextError
	if errors.As(err, &full) && (slices.ContainsFunc(x.Receipt.Notes, countedLocally) || w.unasked) {
		return reply, false // another counter can be wrong about the server's
	}
	if err != nil {
		w.fatalf("Chat = %v", err)
	}
	r := w.observed(sakur4.Usage{Window: x.ID, PromptTokens: reply.PromptTokens, CachedTokens: reply.CachedTokens, CompletionTokens: reply.CompletionTokens})
	w.note("sent: %d tokens, %d cached, predicted %d, cause %q", reply.PromptTokens, *reply.CachedTokens, x.Receipt.Cache.Predicted, r.Cache.Cause)
	// The turns of these sessions are never what the server has generated. Where a window is so full that this matters, it is named, and it is true.
	reread := w.synced && strings.Contains(r.Cache.Cause, "the last reply reads back in other tokens")
	if w.synced && !reread && (r.Cache.Cause != "" || r.Cache.Drift != 0) {
		w.fatalf("%d of %d tokens were cached, %d were predicted: %s", *reply.CachedTokens, reply.PromptTokens, x.Receipt.Cache.Predicted, r.Cache.Cause)
	}
	return reply, true
}

func (w *world) plan() {
	before := w.a.version()
	p, err := w.a.session(false).Plan(w.t.Context(), w.m.head)
	w.note("plan: %v", err)
	if after := w.a.version(); after != before {
		w.fatalf("Plan wrote to the store")
	}
	if w.flaky {
		q, e := w.b.session(false).Plan(w.t.Context(), w.m.head)
		if asText(p, err) != asText(q, e) {
			w.fatalf("Plan: two engines differ:\n%s\n%s", asText(p, err), asText(q, e))
		}
	}
	w.planned("Plan", p, err)
}

func (w *world) planned(what string, p *sakur4.Plan, err error) {
	var budget *sakur4.BudgetError
	_, limit := w.limits(false)
	switch {
	case errors.As(err, &budget):
		w.overflow(what, budget, false)
	case errors.Is(err, sakur4.ErrNoTurn):
		if w.m.tail != "" {
			w.fatalf("%s = %v after %q", what, err, w.m.tail)
		}
	case errors.Is(err, sakur4.ErrPending):
		if len(w.m.pending()) == 0 {
			w.fatalf("%s = %v", what, err)
		}
	case err != nil:
		w.fatalf("%s = %v", what, err)
	default:
		if err := checkPlan(p, limit); err != nil {
			w.fatalf("%s: %v", what, err)
		}
	}
}

func (w *world) compact() {
	target := []int{0, 1, 300, 100 * w.in.n(256), 1 << 30}[w.in.n(5)]
	w.note("compact to %d", target)
	planned := ""
	if target == 0 && !w.flaky {
		p, err := w.a.session(false).Plan(w.t.Context(), w.m.head)
		planned = asText(p, err)
	}
	var got *sakur4.Plan
	var err error
	w.both("Compact", func(r *rig) string {
		p, e := r.session(false).Compact(w.t.Context(), w.m.head, target)
		if r == w.a {
			got, err = p, e
		}
		return asText(p, e)
	})
	w.planned("Compact", got, err)
	if done := strings.Replace(asText(got, err), `"Applied":true`, `"Applied":false`, 1); planned != "" && planned != done && !errors.Is(err, sakur4.ErrPending) {
		w.fatalf("Compact did otherwise than Plan said:\n%s\n%s", planned, done)
	}
	if err == nil && got.Applied {
		w.note("compacted: %d → %d, floor %q", got.Before, got.After, got.Floor)
		w.m.compacted = true
		w.m.floors = append(w.m.floors, namedFloor{w.m.lastSeq, got.Floor})
	}
	w.tiers()
}

func (w *world) reopen() {
	u := w.a.setup
	switch w.in.n(5) {
	case 1:
		v := w.in.setup()
		u.tokenizer, u.policy = v.tokenizer, v.policy
	case 2:
		u = w.in.setup()
		u.template = w.a.setup.template
	}
	w.note("reopen %+v", u)
	if u.backend != w.a.setup.backend || u.kind != w.a.setup.kind || u.vocabulary != w.a.setup.vocabulary {
		w.m.moved, w.synced = true, false
	}
	w.a.reopen(u)
	w.b.reopen(u)
	for _, t := range w.m.turns {
		w.episode(t)
	}
}

// outline returns a prompt in a form that fits a failure.
func outline(ms []sakur4.Message) string {
	var b strings.Builder
	for i, x := range ms {
		text := x.Content
		if len(text) > 200 {
			text = text[:60] + " … " + text[len(text)-140:]
		}
		fmt.Fprintf(&b, "    %d %s %q", i, x.Role, text)
		for _, c := range x.ToolCalls {
			fmt.Fprintf(&b, " call %q", c.ID)
		}
		if x.ToolCallID != "" {
			fmt.Fprintf(&b, " of %q", x.ToolCallID)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// finish checks what must hold in the end.
func (w *world) finish() {
	w.note("finish")
	for _, t := range w.m.turns {
		w.episode(t)
	}
	w.window(true, false)
	w.tiers()
	rep, err := w.a.eng.Verify(w.t.Context())
	if err != nil {
		w.fatalf("Verify = %+v, %v", rep, err)
	}
}
