package sakur4_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/storetest"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// trial is an agent at work on one session. It remembers all that it recorded, and checks each prompt against what is promised of every one.
type trial struct {
	t    testing.TB
	eng  *sakur4.Engine
	s    *sakur4.Session
	head sakur4.Head
	rng  *rand.Rand

	limit    int // of a prompt, in tokens
	recorded []recordedTurn
	pins     map[sakur4.PinID]string // in force
	prev     []string                // messages of the last prompt as JSON
	last     *sakur4.Window
	windows  int
	plans    []*sakur4.Plan
	calls    int
}

// some returns all of the sizes or, where the race detector makes everything many times slower or with -short, the first n.
func some[T any](n int, all ...T) []T {
	if raceEnabled || testing.Short() {
		return all[:n]
	}
	return all
}

// rounds is n or, where [some] leaves sizes out, a third of it.
func rounds(n int) int {
	if len(some(1, 0, 0)) == 1 {
		return n / 3
	}
	return n
}

// recordedTurn is a turn with what Commit said of it.
type recordedTurn struct {
	sakur4.Turn
	sakur4.Committed
}

// instant is the clock of tests, seconds after a fixed moment.
func instant(s int) time.Time {
	return time.Date(2026, 3, 14, 15, 9, 0, 0, time.UTC).Add(time.Duration(s) * time.Second)
}

// fixed returns options with a clock and ids that are the same in every run.
func fixed(window int) *sakur4.Options {
	var ids, clock atomic.Uint64
	return &sakur4.Options{Project: "trial", Window: window, NewID: func() uint64 { return ids.Add(1) },
		Now: func() time.Time { return instant(int(clock.Add(1))) }}
}

// openEngine opens a store and has it closed with the test.
func openEngine(t testing.TB, path string, o *sakur4.Options) *sakur4.Engine {
	t.Helper()
	eng, err := sakur4.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open(%q) = %v", path, err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return eng
}

func newTrial(t testing.TB, path string, o *sakur4.Options) *trial {
	t.Helper()
	return trialOn(t, openEngine(t, path, o), "main")
}

func trialOn(t testing.TB, eng *sakur4.Engine, session string) *trial {
	t.Helper()
	st, err := eng.Status(t.Context())
	if err != nil {
		t.Fatalf("Status() = %v", err)
	}
	return &trial{t: t, eng: eng, s: eng.Session(session), head: sakur4.Head{System: "You are a careful engineer."}, rng: rand.New(rand.NewPCG(7, 9)),
		limit: st.Limit, pins: map[sakur4.PinID]string{}}
}

// storePath returns the path of a store that does not exist yet.
func storePath(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") }

// reopen closes the engine and goes on with the session in a new one.
func (d *trial) reopen(path string, o *sakur4.Options) {
	d.t.Helper()
	if err := d.eng.Close(); err != nil {
		d.t.Fatalf("Close() = %v", err)
	}
	id := d.s.ID()
	d.eng = openEngine(d.t, path, o)
	d.s = d.eng.Session(id)
	st, err := d.eng.Status(d.t.Context())
	if err != nil {
		d.t.Fatalf("Status() = %v", err)
	}
	d.limit = st.Limit
}

func (d *trial) commit(t sakur4.Turn) sakur4.Committed {
	d.t.Helper()
	c, err := d.s.Commit(d.t.Context(), t)
	if err != nil {
		d.t.Fatalf("Commit(%s %.40q) = %v", t.Role, t.Content, err)
	}
	d.recorded = append(d.recorded, recordedTurn{t, c})
	return c
}

// refuse commits a turn that must be refused, and shows that nothing was stored.
func (d *trial) refuse(t sakur4.Turn, want error) {
	d.t.Helper()
	before := d.ids()
	c, err := d.s.Commit(d.t.Context(), t)
	if !errors.Is(err, want) {
		d.t.Errorf("Commit(%s %.40q) = %+v, %v, want %v", t.Role, t.Content, c, err, want)
	}
	if after := d.ids(); !slices.Equal(before, after) {
		d.t.Errorf("refused Commit(%s %.40q) changed the record: %d episodes, want %d", t.Role, t.Content, len(after), len(before))
	}
}

// ids returns the session's episodes in their order.
func (d *trial) ids() []sakur4.EpisodeID {
	d.t.Helper()
	var out []sakur4.EpisodeID
	for ep, err := range d.eng.Episodes(d.t.Context(), sakur4.EpisodeFilter{Session: d.s.ID()}) {
		if err != nil {
			d.t.Fatalf("Episodes() = %v", err)
		}
		out = append(out, ep.ID)
	}
	return out
}

func (d *trial) user(text string) sakur4.Committed {
	d.t.Helper()
	return d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: text})
}

func (d *trial) say(text string, calls ...sakur4.ToolCall) sakur4.Committed {
	d.t.Helper()
	return d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: text, ToolCalls: calls})
}

func (d *trial) result(id, content string) sakur4.Committed {
	d.t.Helper()
	return d.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: content})
}

// read has the model call the tool read on a path, and records its result.
func (d *trial) read(path, content string) sakur4.Committed {
	d.t.Helper()
	t := d.reading(path)
	d.commit(t)
	return d.result(t.ToolCalls[0].ID, content)
}

func (d *trial) pin(text string) sakur4.PinID {
	d.t.Helper()
	id, err := d.s.Pin(d.t.Context(), text, sakur4.PinConstraint)
	if err != nil {
		d.t.Fatalf("Pin(%.40q) = %v", text, err)
	}
	d.pins[id] = text
	return id
}

// work reads n files of made-up content, each followed by a prompt.
func (d *trial) work(n, bytes int) {
	d.t.Helper()
	for range n {
		d.read(fmt.Sprintf("pkg/file%d.go", d.calls), d.prose(bytes))
		d.window()
	}
}

// prose returns text of about that many bytes that occurs nowhere else.
func (d *trial) prose(bytes int) string {
	words := strings.Fields("worker pool channel deadlock mutex select context cancel retry budget queue shard parser token café naïve 日本 <tag> \"quoted\" 1234 x==y")
	var b strings.Builder
	for line := 1; b.Len() < bytes; line++ {
		fmt.Fprintf(&b, "%4d\t%08x", line, d.rng.Uint32())
		for range 8 {
			b.WriteByte(' ')
			b.WriteString(words[d.rng.IntN(len(words))])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// window asks for the next prompt and checks it.
func (d *trial) window() *sakur4.Window {
	d.t.Helper()
	w, err := d.s.Window(d.t.Context(), d.head)
	if err != nil {
		d.t.Fatalf("Window() after %d turns = %v", len(d.recorded), err)
	}
	d.check(w)
	return w
}

// compact forces a compaction.
func (d *trial) compact(target int) (*sakur4.Plan, error) {
	d.t.Helper()
	p, err := d.s.Compact(d.t.Context(), d.head, target)
	if err == nil && p.Applied {
		d.prev = nil // the next prompt may differ
	}
	return p, err
}

// check compares a prompt with what is promised of every prompt.
func (d *trial) check(w *sakur4.Window) {
	d.t.Helper()
	d.windows++
	r := w.Receipt
	if r.Used > d.limit {
		d.t.Fatalf("window %d: %d tokens, want at most %d", r.Turn, r.Used, d.limit)
	}
	sum := 0
	for _, p := range r.Parts {
		sum += p.Tokens
	}
	if sum != r.Used {
		d.t.Fatalf("window %d: parts sum to %d, want %d", r.Turn, sum, r.Used)
	}
	msgs := make([]turn.Message, len(w.Messages))
	for i, m := range w.Messages {
		msgs[i] = inner(m)
	}
	if err := turn.Validate(msgs); err != nil {
		d.t.Fatalf("window %d is no valid chat: %v", r.Turn, err)
	}
	raw := asJSON(d.t, w.Messages)
	if w.Plan != nil {
		d.plans = append(d.plans, w.Plan)
	} else {
		for i, p := range d.prev {
			if i >= len(raw) || raw[i] != p {
				d.t.Fatalf("window %d: message %d is not what was sent before\n got %s\nwant %s", r.Turn, i, at(raw, i), p)
			}
		}
	}
	d.prev, d.last = raw, w
	for id, text := range d.pins {
		if !contains(w.Messages, text) {
			d.t.Fatalf("window %d: pin %s is not in the prompt: %q", r.Turn, id, text)
		}
	}
}

// asJSON returns each message as it is sent.
func asJSON(t testing.TB, ms []sakur4.Message) []string {
	t.Helper()
	out := make([]string, len(ms))
	for i, m := range ms {
		raw, err := m.MarshalJSON()
		if err != nil {
			t.Fatalf("MarshalJSON() = %v", err)
		}
		out[i] = string(raw)
	}
	return out
}

func contains(ms []sakur4.Message, text string) bool {
	return slices.ContainsFunc(ms, func(m sakur4.Message) bool { return strings.Contains(m.Content, text) })
}

// texts joins the contents of a prompt's messages.
func texts(ms []sakur4.Message) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteString(m.Content)
		b.WriteByte('\n')
	}
	return b.String()
}

// complete checks that every turn comes back as it was recorded.
func (d *trial) complete() {
	d.t.Helper()
	for i, r := range d.recorded {
		ep, err := d.eng.Episode(d.t.Context(), r.Episode)
		if err != nil {
			d.t.Fatalf("Episode(%s) of turn %d = %v", r.Episode, i, err)
		}
		if ep.Content != r.Content || ep.Reasoning != r.Reasoning || !slices.Equal(ep.ToolCalls, r.ToolCalls) || ep.Role != r.Role {
			d.t.Fatalf("Episode(%s) of turn %d is not what was recorded: %d bytes, want %d", r.Episode, i, len(ep.Content), len(r.Content))
		}
	}
}

// render returns the exact prompt text of messages on the engine's backend.
func (d *trial) render(ms []sakur4.Message, generationPrompt bool) string {
	d.t.Helper()
	text, err := d.eng.Backend().Render(d.t.Context(), boundary.RenderRequest{Messages: sakur4.MarshalMessages(ms), Tools: d.head.Tools, GenerationPrompt: generationPrompt})
	if err != nil {
		d.t.Fatalf("Render() = %v", err)
	}
	return text
}

// chat sends the last prompt to the backend, which answers with turn. The counts of both sides must agree.
func (d *trial) chat(reply sakur4.Turn) boundary.ChatReply {
	d.t.Helper()
	w := d.last
	type call struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	var script struct {
		Content   string `json:"content"`
		ToolCalls []call `json:"tool_calls"`
	}
	script.Content = reply.Content
	for _, c := range reply.ToolCalls {
		script.ToolCalls = append(script.ToolCalls, call(c))
	}
	fields, err := json.Marshal(struct {
		sakur4.Hints
		Script any `json:"scripted_reply"`
	}{w.Hints, script})
	if err != nil {
		d.t.Fatalf("Marshal(%+v) = %v", w.Hints, err)
	}
	r, err := d.eng.Backend().(boundary.Chatter).Chat(d.t.Context(), boundary.ChatRequest{Messages: sakur4.MarshalMessages(w.Messages),
		Tools: d.head.Tools, Fields: fields}, nil)
	if err != nil {
		d.t.Fatalf("Chat() of window %d = %v", w.Receipt.Turn, err)
	}
	if r.PromptTokens != w.Receipt.Used {
		d.t.Fatalf("window %d: the server counts %d tokens, the receipt says %d", w.Receipt.Turn, r.PromptTokens, w.Receipt.Used)
	}
	return r
}

// observe enters what the server said of the last prompt.
func (d *trial) observe(r boundary.ChatReply) receipt.Receipt {
	d.t.Helper()
	out, err := d.s.Observe(d.t.Context(), sakur4.Usage{Window: d.last.ID, PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens,
		CompletionTokens: r.CompletionTokens, PromptMillis: r.PromptMillis})
	if err != nil {
		d.t.Fatalf("Observe() = %v", err)
	}
	return out
}

// reading is a turn that calls the tool read on a path.
func (d *trial) reading(path string) sakur4.Turn {
	d.calls++
	return sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: fmt.Sprintf("c%d", d.calls), Name: "read", Arguments: fmt.Sprintf(`{"path":%q}`, path)}}}
}

// rows returns what every table of a store holds, without the search index, which follows the record by itself.
func rows(t testing.TB, path string) map[string][]string {
	t.Helper()
	raw := storetest.Raw(t, path)
	names, err := raw.Query(`
SELECT name FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE '%fts%' AND name NOT LIKE 'sqlite_%'
  AND name NOT IN ('episode_terms', 'episode_postings', 'episode_doc', 'fact_terms', 'fact_postings', 'fact_doc')
ORDER BY name`)
	if err != nil {
		t.Fatalf("tables of %s: %v", path, err)
	}
	out := map[string][]string{}
	for _, n := range names {
		list, err := raw.Query(`SELECT * FROM "` + n[0].(string) + `"`)
		if err != nil {
			t.Fatalf("rows of %s: %v", n[0], err)
		}
		all := make([]string, 0, len(list))
		for _, row := range list {
			all = append(all, fmt.Sprintf("%q", row))
		}
		out[n[0].(string)] = all
	}
	return out
}

// copyStore copies a closed store's file.
func copyStore(t testing.TB, from string) string {
	t.Helper()
	body, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := storePath(t)
	if err := os.WriteFile(to, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
