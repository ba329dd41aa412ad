package sakur4_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
	"sakur4/receipt"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(agentVariable); path != "" {
		rounds, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = agentProcess(path, os.Args[1], rounds)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(llamatest.Main(m))
}

// drive is an agent that reads files of made-up content through a real server, with results of all sizes, several calls a turn, and user turns
// in between. After each prompt it checks what the laws promise.
type drive struct {
	t       *testing.T
	eng     *sakur4.Engine
	s       *sakur4.Session
	chat    boundary.Chatter
	head    sakur4.Head
	rng     *rand.Rand
	rule    string
	said    []sakur4.Turn
	prev    []string // messages of the last prompt as JSON
	reply   int      // tokens of the last reply
	calls   int
	plans   int
	windows []receipt.Receipt
	broke   []bool // for each of windows whether it followed a compaction
	// mayMiss accepts measured < predicted.
	mayMiss bool
}

func (d *drive) commit(t sakur4.Turn) sakur4.Committed {
	d.t.Helper()
	c, err := d.s.Commit(d.t.Context(), t)
	if err != nil {
		d.t.Fatalf("Commit(%s): %v", t.Role, err)
	}
	d.said = append(d.said, t)
	return c
}

// turn asks for a prompt, sends it and checks both against each other.
func (d *drive) turn() {
	d.t.Helper()
	ctx := d.t.Context()
	w, err := d.s.Window(ctx, d.head)
	if err != nil {
		d.t.Fatalf("Window: %v", err)
	}
	msgs := make([]string, len(w.Messages))
	for i, m := range w.Messages {
		raw, err := m.MarshalJSON()
		if err != nil {
			d.t.Fatal(err)
		}
		msgs[i] = string(raw)
	}
	keep := len(d.prev)
	if w.Plan != nil {
		d.plans++
		keep = 0
	}
	for i := range keep {
		if i >= len(msgs) || msgs[i] != d.prev[i] {
			d.t.Fatalf("window %d: message %d is not what was sent before\n got %s\nwant %s", w.Receipt.Turn, i, at(msgs, i), d.prev[i])
		}
	}
	d.prev = msgs
	if d.rule != "" && !strings.Contains(strings.Join(msgs, "\n"), d.rule) {
		d.t.Fatalf("window %d: the pin is not in the prompt", w.Receipt.Turn)
	}
	fields, err := json.Marshal(w.Hints)
	if err != nil {
		d.t.Fatal(err)
	}
	reply, err := d.chat.Chat(ctx, boundary.ChatRequest{Messages: sakur4.MarshalMessages(w.Messages), Tools: d.head.Tools, Fields: fields, MaxTokens: 8}, nil)
	if err != nil {
		d.t.Fatalf("window %d: Chat: %v", w.Receipt.Turn, err)
	}
	r, err := d.s.Observe(ctx, sakur4.Usage{Window: w.ID, PromptTokens: reply.PromptTokens, CachedTokens: reply.CachedTokens,
		CompletionTokens: reply.CompletionTokens, PromptMillis: reply.PromptMillis, ShiftRefused: reply.ShiftRefused})
	if err != nil {
		d.t.Fatalf("Observe: %v", err)
	}
	if r.Used != reply.PromptTokens {
		d.t.Errorf("window %d: counted %d tokens, the server %d\n%s", r.Turn, r.Used, reply.PromptTokens, r)
	}
	sum := 0
	for _, p := range r.Parts {
		sum += p.Tokens
	}
	if sum != r.Used {
		d.t.Errorf("window %d: parts sum to %d of %d", r.Turn, sum, r.Used)
	}
	if reply.CachedTokens == nil {
		d.t.Fatalf("window %d: the server reported no cached count", r.Turn)
	}
	slack := d.reply + 1
	if w.Plan != nil {
		slack = 1
	}
	diff := *reply.CachedTokens - r.Cache.Predicted
	if !d.mayMiss && (diff < -1 || diff > slack) {
		d.t.Errorf("window %d (compacted %t): predicted %d, measured %d, last reply %d tokens\n%s", r.Turn, w.Plan != nil, r.Cache.Predicted, *reply.CachedTokens, d.reply, r)
	}
	d.reply = reply.CompletionTokens
	d.windows = append(d.windows, r)
	d.broke = append(d.broke, w.Plan != nil)
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return "(none)"
}

// work does n rounds of calls and results.
func (d *drive) work(n int) {
	d.t.Helper()
	for range n {
		k := 1
		if d.rng.IntN(4) == 0 {
			k = 2
		}
		t := sakur4.Turn{Role: sakur4.RoleAssistant}
		if d.rng.IntN(2) == 0 {
			t.Content = "Reading on.\n"
		}
		for range k {
			d.calls++
			t.ToolCalls = append(t.ToolCalls, sakur4.ToolCall{ID: fmt.Sprintf("call_%05d", d.calls), Name: "read_file", Arguments: fmt.Sprintf(`{"path": "pkg/f%d.go",  "from":%d}`, d.calls, d.calls)})
		}
		d.commit(t)
		for _, c := range t.ToolCalls {
			d.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: c.ID, Content: d.text()})
		}
		d.turn()
		if d.rng.IntN(6) == 0 {
			d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Done with that: " + d.words(6) + "."})
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on with " + d.words(8) + "."})
			d.turn()
		}
	}
}

func (d *drive) words(n int) string {
	list := strings.Fields("worker pool channel deadlock mutex select context cancel retry budget queue shard parser token café naïve 日本 <tag> \"quoted\" 1234 x==y")
	out := make([]string, n)
	for i := range out {
		out[i] = list[d.rng.IntN(len(list))]
	}
	return strings.Join(out, " ")
}

func (d *drive) text() string {
	switch d.rng.IntN(6) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("{\"ok\": true, \"n\": %d, \"items\": [1, 2, %q]}", d.calls, d.words(5))
	case 2:
		return "  \n\tindented " + d.words(20) + "\n\n"
	}
	var b strings.Builder
	for i := range 5 + d.rng.IntN(40) {
		fmt.Fprintf(&b, "%4d\tfunc f%d() { %s }\n", i, d.calls, d.words(6))
	}
	return b.String()
}

const toolList = `[{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"from":{"type":"integer"}},"required":["path"]}}}]`

func newDrive(t *testing.T, srv *llamatest.Server, o *llamacpp.Options, window int) *drive {
	t.Helper()
	return newDriveWith(t, srv, o, &sakur4.Options{Window: window})
}

func newDriveWith(t *testing.T, srv *llamatest.Server, o *llamacpp.Options, so *sakur4.Options) *drive {
	t.Helper()
	if o == nil {
		o = &llamacpp.Options{}
	}
	slot := 0
	o.Slot = &slot
	client, err := llamacpp.New(srv.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	so.ProjectRoot, so.Backend = t.TempDir(), client
	eng, err := sakur4.Open(t.Context(), ":memory:", so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return &drive{t: t, eng: eng, s: eng.Session("live"), chat: client, rng: rand.New(rand.NewPCG(1, 2)),
		head: sakur4.Head{System: "You are a careful engineer.", Tools: json.RawMessage(toolList)}}
}

// TestLiveTemplates works past the window on a real server under each template, strict ones included: every prompt is accepted, counted to the
// token, and reused as predicted.
func TestLiveTemplates(t *testing.T) {
	for _, tmpl := range llamatest.Templates() {
		for _, arch := range []llamatest.Arch{llamatest.Full, llamatest.Sliding} {
			t.Run(fmt.Sprintf("%s/%s", tmpl.Name, arch), func(t *testing.T) {
				srv := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: arch, Template: tmpl.Text}, Context: 16384, UBatch: 512, Spacing: 256, Checkpoints: 32})
				var rule *boundary.CheckpointRule
				if arch == llamatest.Sliding {
					rule = &boundary.CheckpointRule{Spacing: 256, Max: 32, Ubatch: 512}
				}
				d := newDrive(t, srv, &llamacpp.Options{Rule: rule}, 8192)
				d.rule = "never force-push to main"
				if _, err := d.s.Pin(t.Context(), d.rule, sakur4.PinConstraint); err != nil {
					t.Fatal(err)
				}
				d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
				d.turn()
				d.work(40)
				if d.plans < 2 {
					t.Errorf("%d compactions", d.plans)
				}
				t.Logf("%d windows, %d compactions", len(d.windows), d.plans)
			})
		}
	}
}
