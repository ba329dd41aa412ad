package llamatest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/llamatest"
	"sakur4/internal/tokens"
)

func TestMain(m *testing.M) { os.Exit(llamatest.Main(m)) }

// timings is the part of a chat reply that says how much of the prompt was reused.
type timings struct {
	Choices []struct {
		Message struct{ Content string }
	}
	Timings struct {
		Cached    int     `json:"cache_n"`
		Processed int     `json:"prompt_n"`
		PerSecond float64 `json:"prompt_per_second"`
	}
}

func chat(t *testing.T, s *llamatest.Server, messages []message, fields map[string]any) timings {
	t.Helper()
	body := map[string]any{"messages": messages, "max_tokens": 8, "seed": 1, "id_slot": 0}
	for k, v := range fields {
		body[k] = v
	}
	status, reply, err := s.Do(t.Context(), http.MethodPost, "/v1/chat/completions", body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("chat = %d %s, %v", status, reply, err)
	}
	var got timings
	if err := json.Unmarshal(reply, &got); err != nil {
		t.Fatalf("chat reply %s: %v", reply, err)
	}
	return got
}

// history is a chat of n exchanges of about 80 tokens.
func history(n int) []message {
	text := strings.Repeat("the file of the test is not in this line ", 4)
	list := []message{{"role": "system", "content": "You are terse."}}
	for i := range n {
		list = append(list,
			message{"role": "user", "content": string(rune('a'+i%26)) + text},
			message{"role": "assistant", "content": text + string(rune('a'+i%26))})
	}
	return append(list, message{"role": "user", "content": "next"})
}

// TestGeometry shows that the two architectures behave as the two kinds of cache: a change in the middle costs a full-attention server what follows it,
// a sliding-window one everything behind its newest checkpoint in front of the change, which is here
// at the first user message.
func TestGeometry(t *testing.T) {
	t.Parallel()
	cases := []struct {
		arch  llamatest.Arch
		reuse func(cached, processed int) bool
		want  string
	}{
		{llamatest.Full, func(c, p int) bool { return c > p/2 }, "more than half as much reused as processed"},
		{llamatest.Sliding, func(c, _ int) bool { return c < 50 }, "at most the system message reused"},
	}
	for _, c := range cases {
		t.Run(string(c.arch), func(t *testing.T) {
			t.Parallel()
			s := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: c.arch}, UBatch: 128})
			messages := history(40)
			first := chat(t, s, messages, nil)
			if first.Timings.Cached != 0 || first.Timings.Processed < 1500 {
				t.Fatalf("first request: cached %d, processed %d, want 0 and over 1500", first.Timings.Cached, first.Timings.Processed)
			}
			again := chat(t, s, messages, nil)
			if again.Timings.Processed > 10 {
				t.Errorf("same request again: processed %d tokens, want at most 10", again.Timings.Processed)
			}
			messages[41]["content"] = "changed"
			got := chat(t, s, messages, nil)
			if !c.reuse(got.Timings.Cached, got.Timings.Processed) {
				t.Errorf("after a change in the middle: cached %d, processed %d, want %s", got.Timings.Cached, got.Timings.Processed, c.want)
			}
		})
	}
}

// TestGrammar shows that a schema makes the gibberish valid JSON, so that whole agent turns can run.
func TestGrammar(t *testing.T) {
	t.Parallel()
	s := llamatest.Shared(t, llamatest.Options{})
	schema := json.RawMessage(`{"type":"json_schema","json_schema":{"name":"r","schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}}}`)
	got := chat(t, s, history(1), map[string]any{"response_format": schema, "max_tokens": 64})
	var reply struct{ OK *bool }
	content := got.Choices[0].Message.Content
	if err := json.Unmarshal([]byte(content), &reply); err != nil || reply.OK == nil {
		t.Errorf("reply %q: %v, want an object with the boolean ok", content, err)
	}
}

// TestControlTokens shows that the markers are single tokens, and ordinary text is not bytes throughout.
func TestControlTokens(t *testing.T) {
	t.Parallel()
	s := llamatest.Shared(t, llamatest.Options{})
	for _, c := range []struct {
		text string
		want int
	}{
		{"<|im_start|>", 1}, {"<|im_end|>", 1}, {"<|endoftext|>", 1}, {" return", 1}, {"\n\n", 1}, {"\x00é", 3}, {"qz", 2},
	} {
		status, reply, err := s.Do(t.Context(), http.MethodPost, "/tokenize",
			map[string]any{"content": c.text, "add_special": false, "parse_special": true})
		if err != nil || status != http.StatusOK {
			t.Fatalf("tokenize(%q) = %d %s, %v", c.text, status, reply, err)
		}
		var got struct{ Tokens []int }
		if err := json.Unmarshal(reply, &got); err != nil || len(got.Tokens) != c.want {
			t.Errorf("tokenize(%q) = %v, %v, want %d tokens", c.text, got.Tokens, err, c.want)
		}
	}
}

// TestRealVocabulary shows that the server's tokens of the large vocabularies are those of our own encodings.
func TestRealVocabulary(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: writes large models")
	}
	t.Parallel()
	for vocab, encoding := range map[llamatest.Vocab]*tokens.Encoding{llamatest.CL100k: tokens.CL100k(), llamatest.O200k: tokens.O200k()} {
		t.Run(string(vocab), func(t *testing.T) {
			s := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Vocab: vocab}})
			for _, text := range texts {
				_, reply, err := s.Do(t.Context(), http.MethodPost, "/tokenize",
					map[string]any{"content": text, "add_special": false, "parse_special": true})
				var got struct{ Tokens []int32 }
				if err == nil {
					err = json.Unmarshal(reply, &got)
				}
				if diff := cmp.Diff(encoding.Encode(text), got.Tokens); err != nil || diff != "" {
					t.Errorf("tokenize(%q): %v (-ours +server):\n%s", text, err, diff)
				}
			}
		})
	}
}

// texts are what agents' prompts are made of.
var texts = []string{
	"You're reading it'll, WE'VE 1234567 tokens.",
	"func main() {\n\tfmt.Println(\"hi\")\n}\n",
	"a\n\n\n    b\n  \n\t\n c  ",
	"\n \n  \n",
	`{"path": "internal/store/open.go", "lines": [1, 20], "ok": true}`,
	"naïve façade – “quoted” … 日本語のテキスト 한국어 😀👩‍👩‍👧 ",
	"camelCaseWord HTTPServer snake_case_word SCREAMING-CASE",
	"--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n-old\n+new\n",
	"\r\nwindows\r\n\r\n",
}

// TestRestart shows that a restarted server keeps its address and slot files and has empty slots.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := llamatest.Start(t, llamatest.Options{SlotSave: true})
	url := s.URL
	chat(t, s, history(10), nil)
	status, reply, err := s.Do(t.Context(), http.MethodPost, "/slots/0?action=save", map[string]any{"filename": "one.bin"})
	if err != nil || status != http.StatusOK {
		t.Fatalf("save = %d %s, %v", status, reply, err)
	}
	s.Restart(t)
	if s.URL != url {
		t.Errorf("URL after Restart = %s, want %s", s.URL, url)
	}
	if got := chat(t, s, history(10), nil); got.Timings.Cached != 0 {
		t.Errorf("first request after Restart: cached %d, want 0", got.Timings.Cached)
	}
	if _, err := os.Stat(filepath.Join(s.SlotDir, "one.bin")); err != nil {
		t.Errorf("slot file after Restart: %v", err)
	}
	status, reply, err = s.Do(t.Context(), http.MethodPost, "/slots/0?action=restore", map[string]any{"filename": "one.bin"})
	if err != nil || status != http.StatusOK {
		t.Errorf("restore = %d %s, %v", status, reply, err)
	}
	s.Stop()
	s.Stop()
	if _, _, err := s.Do(t.Context(), http.MethodGet, "/health", nil); err == nil {
		t.Error("Do after Stop succeeded, want an error")
	}
}

// TestShared shows that equal options give the same server.
func TestShared(t *testing.T) {
	t.Parallel()
	a, b := llamatest.Shared(t, llamatest.Options{}), llamatest.Shared(t, llamatest.Options{})
	if a != b {
		t.Errorf("Shared gave %s and %s, want one server", a.URL, b.URL)
	}
}

// BenchmarkPrefill reports how fast long prompts are taken in.
func BenchmarkPrefill(b *testing.B) {
	for _, arch := range []llamatest.Arch{llamatest.Full, llamatest.Sliding} {
		b.Run(string(arch)+"/30k", func(b *testing.B) {
			s := llamatest.Start(b, llamatest.Options{Model: llamatest.Model{Arch: arch}, Context: 65536})
			messages := history(350)
			tokens, rate := 0, 0.0
			for n := 0; b.Loop(); n++ {
				messages[0]["content"] = strings.Repeat("x", n+1) // nothing to reuse
				status, reply, err := s.Do(b.Context(), http.MethodPost, "/v1/chat/completions", map[string]any{"messages": messages, "max_tokens": 1})
				if err != nil || status != http.StatusOK {
					b.Fatalf("chat = %d %s, %v", status, reply, err)
				}
				var got timings
				if err := json.Unmarshal(reply, &got); err != nil {
					b.Fatal(err)
				}
				tokens, rate = got.Timings.Processed, got.Timings.PerSecond
			}
			b.ReportMetric(float64(tokens), "prompt-tokens")
			b.ReportMetric(rate, "tokens/s")
		})
	}
}
