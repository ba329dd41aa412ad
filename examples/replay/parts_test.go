package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
)

func TestNames(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"words are none":      {"The planner, then: go on! e.g. well-known and/or 404 2026", []string{"and/or"}},
		"paths":               {"see ./gate/gate.go:12:3, /etc/hosts and README.md.", []string{"/etc/hosts", "README.md", "gate/gate.go"}},
		"identifiers":         {"minCommandGap surge_metres pkg.Func std::vec HttpStatus", []string{"HttpStatus", "minCommandGap", "pkg.Func", "std::vec", "surge_metres"}},
		"codes":               {"ENOENT SIGKILL E0308 0x1f TS2345 HTTP NOTE", []string{"0x1f", "E0308", "ENOENT", "SIGKILL", "TS2345"}},
		"sentences":           {"It ends.And goes on", []string{"ends.And"}},
		"once, sorted":        {"b.go a.go b.go", []string{"a.go", "b.go"}},
		"too short, too long": {"a.b x1 " + strings.Repeat("a_", 120), nil},
		"no text":             {"", nil},
	}
	for name, tt := range tests {
		if d := cmp.Diff(tt.want, namesOf(tt.text, nil)); d != "" {
			t.Errorf("%s: namesOf(%q) (-want +got):\n%s", name, tt.text, d)
		}
	}
	calls := []sakur4.ToolCall{{Arguments: `{"file_path":"a/b.go","n":[{"x":"one\ntwo_three"}]}`}, {Arguments: `not_json`}}
	if d := cmp.Diff([]string{"a/b.go", "not_json", "two_three"}, namesOf("", calls)); d != "" {
		t.Errorf("namesOf(calls) (-want +got):\n%s", d)
	}
}

func TestValidChat(t *testing.T) {
	t.Parallel()
	user := sakur4.Message{Role: "user", Content: "u"}
	says := sakur4.Message{Role: "assistant", Content: "a"}
	call := sakur4.Message{Role: "assistant", ToolCalls: []sakur4.ToolCall{{ID: "1", Name: "read", Arguments: "{}"}}}
	result := sakur4.Message{Role: "tool", ToolCallID: "1", Content: "r"}
	badArguments := sakur4.Message{Role: "assistant", ToolCalls: []sakur4.ToolCall{{ID: "1", Name: "read", Arguments: "{"}}}
	tests := map[string]struct {
		messages []sakur4.Message
		want     string // "" is valid
	}{
		"a turn":             {[]sakur4.Message{{Role: "system"}, user, call, result, says, user}, ""},
		"orphan result":      {[]sakur4.Message{user, says, result}, "no open call"},
		"no result":          {[]sakur4.Message{user, call}, "have no result"},
		"result too late":    {[]sakur4.Message{user, call, user}, "a call before it has no result"},
		"two user turns":     {[]sakur4.Message{user, user}, "does not follow the assistant"},
		"begins with answer": {[]sakur4.Message{says, user}, "follows neither"},
		"late system":        {[]sakur4.Message{user, {Role: "system"}}, "not at the start"},
		"empty answer":       {[]sakur4.Message{user, {Role: "assistant"}, user}, "says nothing"},
		"nobody waits":       {[]sakur4.Message{user, says}, "nobody waits"},
		"same id":            {[]sakur4.Message{user, call, result, call, result}, "is not its own"},
		"arguments":          {[]sakur4.Message{user, badArguments, result}, "no JSON object"},
		"role":               {[]sakur4.Message{{Role: "boss"}}, "unknown role"},
		"none":               {nil, "nobody waits"},
	}
	for name, tt := range tests {
		err := validChat(tt.messages)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: validChat() = %v, want %q", name, err, tt.want)
		}
	}
}

// oddSession is a random session with everything that real ones hold: calls without results, late results, repeated ids, remarks, empty answers, several user turns
// in a row, arguments that are no JSON, and control text.
func oddSession(r *rand.Rand, n int) *session {
	s := &session{file: "odd"}
	var open []string
	for i := range n {
		text := fmt.Sprintf("turn %d of file_%d.go ", i, r.IntN(20)) + strings.Repeat("word ", r.IntN(60))
		t := turn{Turn: sakur4.Turn{Content: text}}
		switch k := r.IntN(10); {
		case i == 0 || k == 0:
			t.Role, open = sakur4.RoleUser, open[:0]
		case k == 1:
			t.Role, t.Content = sakur4.RoleSystem, "remark <|im_start|>system"
		case k < 6 && len(open) > 0:
			t.Role, t.ToolCallID, open = sakur4.RoleTool, open[0], open[1:]
		default:
			t.Role = sakur4.RoleAssistant
			if r.IntN(4) == 0 {
				t.Content = ""
			}
			for range r.IntN(3) {
				id := fmt.Sprintf("call_%d", r.IntN(6))
				open = append(open, id)
				t.ToolCalls = append(t.ToolCalls, sakur4.ToolCall{ID: id, Name: "read", Arguments: []string{`{"path":"a_b.go"}`, `{`, ``, `[1]`}[r.IntN(4)]})
			}
		}
		s.turns = append(s.turns, t)
	}
	s.measure()
	return s
}

// TestBaselinesSendValidChats: whatever the history and whatever is taken out.
func TestBaselinesSendValidChats(t *testing.T) {
	t.Parallel()
	for _, name := range []string{dropName, truncateName, clearName, summaryName, oracleName} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compactions := 0
			for seed := range uint64(4) {
				cfg := config{window: 2500 + int(seed)*1000, trigger: 0.85, target: 0.55}
				srv := newBytesServer(boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1})
				s := oddSession(rand.New(rand.NewPCG(seed, 1)), 120)
				p, err := openPolicy(t.Context(), cfg, name, srv, s)
				if err != nil {
					t.Fatal(err)
				}
				r := newReplay(cfg, name, s, srv, p, time.Now)
				if err := r.all(t.Context()); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if r.result.InvalidChats > 0 || r.result.PrefilledTokens < r.result.NewTokens/2 {
					t.Errorf("seed %d: %+v: want valid chats", seed, r.result)
				}
				compactions += r.result.Compactions
				for i, step := range r.result.steps {
					if step.prompt >= cfg.window {
						t.Errorf("seed %d: prompt %d has %d tokens in a window of %d", seed, i, step.prompt, cfg.window)
					}
				}
			}
			if compactions < 6 {
				t.Errorf("%d compactions, want more", compactions)
			}
		})
	}
}

// TestSummaryIsBounded: however long the history, the summary keeps to its share.
func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	cfg := config{window: 4096, trigger: 0.85, target: 0.55}
	b, err := newBaseline(t.Context(), cfg, newBytesServer(boundary.Geometry{}))
	if err != nil {
		t.Fatal(err)
	}
	var atoms []*atom
	for i := range 400 {
		m := sakur4.Message{Role: []string{"user", "assistant"}[i%2], Content: fmt.Sprintf("turn %d touches dir_%d/file_%d.go 世界", i, i%7, i)}
		atoms = append(atoms, &atom{user: i%2 == 0, messages: []sakur4.Message{m}})
		s, err := b.extract(t.Context(), atoms)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.messages[0].Content); n > cfg.window/summaryShare+len("[summary of the conversation so far]\nThe user asked:\nFiles and names:\n\nDone so far, the newest last:\n") {
			t.Fatalf("the summary of %d turns has %d bytes, want at most a sixteenth of %d", i+1, n, cfg.window)
		}
	}
}

// TestSimulatorIsTheDefaultBackend: the prompts of a run give the same counts where the module's own simulator answers them.
func TestSimulatorIsTheDefaultBackend(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg, err := parseFlags([]string{"-in", sample, "-window", "4096"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSession(ctx, sample, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := openSimulator(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.close()
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{Project: "chat", Window: cfg.window})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	chatter := eng.Backend().(boundary.Chatter)
	p, err := openPolicy(ctx, cfg, exactName, ours, s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for i, turn := range s.turns {
		if turn.asked {
			pr, err := p.next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.send(ctx, pr.messages, pr.hints, false)
			if err != nil {
				t.Fatal(err)
			}
			want, err := chatter.Chat(ctx, boundary.ChatRequest{Messages: sakur4.MarshalMessages(pr.messages), MaxTokens: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.prompt != want.PromptTokens || got.cached != *want.CachedTokens {
				t.Errorf("turn %d: %d of %d tokens reused, the default backend says %d of %d", i, got.cached, got.prompt, *want.CachedTokens, want.PromptTokens)
			}
		}
		if err := p.add(ctx, turn); err != nil {
			t.Fatal(err)
		}
	}
}

func TestParseCounters(t *testing.T) {
	t.Parallel()
	const both = "# HELP x\nllamacpp:prompt_tokens_total 12\nllamacpp:prompt_tokens_cached_total 34\nllamacpp:prompt_seconds_total 0.5\n"
	tests := map[string]struct {
		text string
		want *counters
		err  string
	}{
		"both":             {both, &counters{12, 34, 1}, ""},
		"six digits":       {"llamacpp:prompt_tokens_total 132535\nllamacpp:prompt_tokens_cached_total 1.68984e+06\n", &counters{132535, 1689840, 10}, ""},
		"zeros at the end": {"llamacpp:prompt_tokens_total 2e+06\nllamacpp:prompt_tokens_cached_total 1.5e+07\n", &counters{2000000, 15000000, 100}, ""},
		"one only":         {"llamacpp:prompt_tokens_total 12\n", nil, ""},
		"none":             {"", nil, ""},
		"no number":        {"llamacpp:prompt_tokens_total many\n", nil, "is no count"},
		"negative":         {"llamacpp:prompt_tokens_total -1\n", nil, "is no count"},
		"not a number":     {"llamacpp:prompt_tokens_total NaN\n", nil, "is no count"},
	}
	for name, tt := range tests {
		got, err := parseCounters(strings.NewReader(tt.text))
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(counters{})); d != "" || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: parseCounters(%q) = %v, %v, want %v, %q", name, tt.text, got, err, tt.want, tt.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":"a"}`))
	f.Add([]byte(`{"role":"assistant","tool_calls":[{"id":"1","name":"x","arguments":"{"}]}` + "\n\n" + `{"role":"tool","tool_call_id":"1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		turns, lines, err := parse("f", data)
		if err != nil {
			return
		}
		if len(turns) != len(lines) {
			t.Fatalf("%d turns, %d lines", len(turns), len(lines))
		}
		for i, turn := range turns {
			if i > 0 && lines[i] <= lines[i-1] {
				t.Errorf("line %d follows line %d", lines[i], lines[i-1])
			}
			for _, n := range namesOf(turn.Content, turn.ToolCalls) {
				if len(n) < leastName || len(n) > mostName || !isName(n) {
					t.Errorf("namesOf(%q) has %q", turn.Content, n)
				}
			}
		}
	})
}

func FuzzParseCounters(f *testing.F) {
	f.Add("llamacpp:prompt_tokens_total 12\nllamacpp:prompt_tokens_cached_total 34\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseCounters(strings.NewReader(text)); err == nil && c != nil && (c.processed < 0 || c.cached < 0) {
			t.Errorf("parseCounters(%q) = %+v", text, c)
		}
	})
}
