package consolidate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sakur4/internal/consolidate"
)

// count is a tokenizer for tests: a token a word.
func count(s string) int { return len(strings.Fields(s)) }

func TestSkip(t *testing.T) {
	t.Parallel()
	good := consolidate.Candidate{Role: "tool", Tokens: consolidate.MinTokens}
	small, old, own, remark := good, good, good, good
	small.Tokens--
	old.SupersededBy = "ep_2"
	own.OwnWords = true
	remark.Role = "system"
	for _, c := range []struct {
		c    consolidate.Candidate
		want string
	}{
		{good, ""},
		{small, "95 tokens, under 96"},
		{old, "superseded by ep_2"},
		{own, "it repeats what was remembered"},
		{remark, "a remark of the agent"},
	} {
		if got := consolidate.Skip(c.c, consolidate.MinTokens); got != c.want {
			t.Errorf("Skip(%+v) = %q, want %q", c.c, got, c.want)
		}
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"The pool waits for itself.", ""},
		{"It returns {\"name\": \"x\"}.", ""},
		{`{"version": "1.0"}`, ""},
		{"", "empty text"},
		{" \n\t", "empty text"},
		{`<tool_call>{"name":"x"}</tool_call>`, "markup: <tool_call"},
		{"Sure. [TOOL_CALLS] read", "markup: [TOOL_CALLS]"},
		{"<THINK>hm</THINK> ok", "markup: <think>"},
		{"<sakur4:note kind=\"x\">", "markup: <sakur4:note"},
		{`{"name": "read_file", "arguments": {"path": "x"}}`, "a call in JSON"},
		{"```json\n{\"name\": \"read_file\", \"parameters\": {}}\n```", "a call in JSON"},
		{`[{"function": "x", "args": 1}]`, "a call in JSON"},
		{`{"tool_calls": []}`, "a call in JSON"},
		{strings.Repeat("word ", 20), "not shorter: 20 tokens for 20"},
	} {
		if got := consolidate.Accept(c.text, count(c.text), 20); got != c.want {
			t.Errorf("Accept(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	var b consolidate.Backoff
	for _, want := range []int{0, 1, 2, 4, 8, 16, 32, 64, 64, 64} {
		waited := 0
		for {
			ask, next := b.Next()
			if b = next; ask {
				break
			}
			waited++
		}
		if waited != want {
			t.Errorf("after %d failures %d items were done without the model, want %d", b.Failures, waited, want)
		}
		b = b.Failed()
	}
	for range 1 << 10 {
		b = b.Failed()
	}
	if b.Wait != 64 {
		t.Errorf("Wait = %d after many failures, want 64", b.Wait)
	}
}

const report = `I looked at internal/pool/worker.go for the deadlock. The weather was fine.
The cause is that drainQueue holds the lock while runJobs waits for drainQueue. It is a nice day.
So runJobs must never be called with the lock held. Birds were singing outside.
We decided to move drainQueue behind the unlock in worker.go. Lunch was good.
`

func TestExtract(t *testing.T) {
	t.Parallel()
	got := consolidate.Extract(report, 60, count)
	want := "drainQueue, runJobs, internal/pool/worker.go, worker.go: I looked at internal/pool/worker.go for the deadlock.\n" +
		"The cause is that drainQueue holds the lock while runJobs waits for drainQueue.\n" +
		"So runJobs must never be called with the lock held.\n" +
		"We decided to move drainQueue behind the unlock in worker.go."
	if got != want {
		t.Errorf("Extract = %q\nwant %q", got, want)
	}
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \n ", ""},
		{"12 34\n56", "12 34\n56"},
		{strings.Repeat("x", 500), strings.Repeat("x", 160)},
		{strings.Repeat("é", 500), strings.Repeat("é", 80)},
	} {
		if got := consolidate.Extract(c.text, 50, count); got != c.want {
			t.Errorf("Extract(%.20q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzExtract: every sentence is the text's own, in its order, within the budget, the same each time.
func FuzzExtract(f *testing.F) {
	f.Add(report, 40)
	f.Add("a.b c_d: e! f? g\n\n", 10)
	f.Add("\xff\xfe é", 3)
	f.Fuzz(func(t *testing.T, text string, budget int) {
		budget = min(max(budget, 0), 1<<12)
		got := consolidate.Extract(text, budget, count)
		if again := consolidate.Extract(text, budget, count); again != got {
			t.Fatalf("Extract twice = %q and %q", got, again)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("Extract of valid text = %q", got)
		}
		_, body, ok := strings.Cut(got, ": ")
		if !ok {
			body = got
		}
		if n := count(body); n > budget && body != "" {
			t.Fatalf("Extract = %d tokens, budget %d: %q", n, budget, got)
		}
		for _, s := range strings.Split(body, "\n") {
			if !strings.Contains(text, s) && !strings.Contains(got, ", ") {
				t.Fatalf("%q is not a part of %q", s, text)
			}
		}
	})
}

// FuzzAccept: no text makes it panic, and what is accepted is text and shorter.
func FuzzAccept(f *testing.F) {
	f.Add("x", 1, 2)
	f.Add("```json\n{}```", 1, 2)
	f.Fuzz(func(t *testing.T, text string, tokens, source int) {
		if consolidate.Accept(text, tokens, source) == "" && (tokens >= source || strings.TrimSpace(text) == "" || strings.Contains(text, "<tool_call")) {
			t.Errorf("Accept(%q, %d, %d) accepts it", text, tokens, source)
		}
	})
}
