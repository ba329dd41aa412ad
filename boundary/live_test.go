package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// liveChat is a history that grows and is compacted at random places.
type liveChat struct {
	r        *rand.Rand
	messages []map[string]any
	turn     int
	// size is the largest text in words.
	size int
}

func (c *liveChat) text() string {
	words := []string{"alpha", "beta", "run the tests", "func main() {", "error: not found", "0x1f", "\n", "the", "file", "is", "fine."}
	var b strings.Builder
	n := 1 + c.r.IntN(c.size)
	if c.r.IntN(4) > 0 {
		n = 1 + n/8
	}
	for range n {
		b.WriteString(words[c.r.IntN(len(words))])
		b.WriteByte(' ')
	}
	c.turn++
	return fmt.Sprintf("%d %s", c.turn, b.String())
}

// append adds one exchange: a reply and either a user message or a call with its results.
func (c *liveChat) append() {
	if len(c.messages) == 0 {
		c.messages = []map[string]any{{"role": "system", "content": c.text()}, {"role": "user", "content": c.text()}}
		return
	}
	if c.r.IntN(3) == 0 {
		c.messages = append(c.messages, map[string]any{"role": "assistant", "content": c.text()}, map[string]any{"role": "user", "content": c.text()})
		return
	}
	n := 1 + c.r.IntN(2)
	var calls, results []map[string]any
	for i := range n {
		id := fmt.Sprintf("call_%d_%d", c.turn, i)
		calls = append(calls, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": `{"path":"a"}`}})
		results = append(results, map[string]any{"role": "tool", "tool_call_id": id, "content": c.text()})
	}
	c.messages = append(c.messages, map[string]any{"role": "assistant", "content": "", "tool_calls": calls})
	c.messages = append(c.messages, results...)
}

// compact changes the history somewhere: a result becomes a stub, or whole exchanges go.
func (c *liveChat) compact() {
	if len(c.messages) < 6 {
		return
	}
	if c.r.IntN(2) == 0 {
		i := 2 + c.r.IntN(len(c.messages)-2)
		m := map[string]any{}
		for k, v := range c.messages[i] {
			m[k] = v
		}
		m["content"] = "stored"
		c.messages[i] = m
		return
	}
	c.remove()
}

// remove takes exchanges out of the middle.
func (c *liveChat) remove() {
	var starts []int
	for i, m := range c.messages {
		if i > 1 && m["role"] == "assistant" {
			starts = append(starts, i)
		}
	}
	if len(starts) < 2 {
		return
	}
	from := c.r.IntN(len(starts) - 1)
	to := from + 1 + c.r.IntN(len(starts)-1-from)
	c.messages = append(append([]map[string]any{}, c.messages[:starts[from]]...), c.messages[starts[to]:]...)
}

// liveSlot sends a chat to slot 0 of a real server and keeps the model of it beside.
type liveSlot struct {
	client *llamacpp.Client
	cache  *boundary.Cache
	header []int32
}

func newLiveSlot(t *testing.T, s *llamatest.Server, opts *llamacpp.Options) *liveSlot {
	t.Helper()
	client, err := llamacpp.New(s.URL, opts)
	if err != nil {
		t.Fatalf("New(%q) = %v", s.URL, err)
	}
	p, err := client.Profile(t.Context())
	if err != nil {
		t.Fatalf("Profile() = %v", err)
	}
	header, err := client.Tokens(t.Context(), p.Template.UserHeader)
	if err != nil {
		t.Fatalf("Tokens(%q) = %v", p.Template.UserHeader, err)
	}
	return &liveSlot{client: client, cache: boundary.NewCache(p), header: header}
}

// sent is what one request was predicted and measured to do.
type sent struct {
	reuse              boundary.Reuse
	measured, total, n int
	mismatch           boundary.Mismatch
	content            string
}

func (l *liveSlot) send(ctx context.Context, messages []map[string]any, maxTokens, nCacheReuse int) (sent, error) {
	raw, err := json.Marshal(messages)
	if err != nil {
		return sent{}, err
	}
	text, err := l.client.Render(ctx, boundary.RenderRequest{Messages: raw, GenerationPrompt: true})
	if err != nil {
		return sent{}, err
	}
	prompt, err := l.client.Tokens(ctx, text)
	if err != nil {
		return sent{}, err
	}
	s := sent{reuse: l.cache.Predict(prompt, nCacheReuse), total: len(prompt)}
	fields := `{"cache_prompt":true,"id_slot":0,"temperature":0,"ignore_eos":true}`
	if nCacheReuse > 0 {
		fields = fmt.Sprintf(`{"cache_prompt":true,"id_slot":0,"temperature":0,"ignore_eos":true,"n_cache_reuse":%d}`, nCacheReuse)
	}
	reply, err := l.client.Chat(ctx, boundary.ChatRequest{Messages: raw, Fields: json.RawMessage(fields), MaxTokens: maxTokens}, nil)
	if err != nil {
		return sent{}, err
	}
	if reply.CachedTokens == nil || reply.PromptTokens != len(prompt) {
		return sent{}, fmt.Errorf("server counts %d prompt tokens, %d rendered", reply.PromptTokens, len(prompt))
	}
	s.measured, s.n, s.content = *reply.CachedTokens, reply.CompletionTokens, reply.Content
	l.cache.Accept(prompt, boundary.UserStarts(prompt, l.header), nCacheReuse)
	s.mismatch = l.cache.Observe(s.reuse.Reused, s.measured)
	l.cache.GeneratedCount(s.n - 1)
	return s, nil
}

func template(t *testing.T, name string) string {
	t.Helper()
	text, ok := llamatest.TemplateNamed(name)
	if !ok {
		t.Fatalf("no template %q", name)
	}
	return text
}

// TestLiveCachePredictsEveryRequest compares the model with a real server: every request, every setting.
func TestLiveCachePredictsEveryRequest(t *testing.T) {
	if os.Getenv("SAKUR4_LLAMA_SERVER") == "" {
		t.Skip("skipped: SAKUR4_LLAMA_SERVER is not set")
	}
	type setting struct {
		arch              llamatest.Arch
		spacing, ubatch   int
		checkpoints, size int
		template          string
	}
	var settings []setting
	for _, tmpl := range []string{"chatml", "chatml-tool-role"} {
		settings = append(settings, setting{llamatest.Full, 0, 512, 0, 300, tmpl})
		for _, ubatch := range []int{512, 256} {
			for _, spacing := range []int{256, 1024, 8192} {
				settings = append(settings, setting{llamatest.Sliding, spacing, ubatch, 0, 500, tmpl})
			}
		}
		settings = append(settings, setting{llamatest.Sliding, 256, 512, 6, 200, tmpl})
	}
	requests := 60
	if testing.Short() {
		settings, requests = settings[:3], 20
	}
	// Prompts that a server keeps in memory beside its slots would come back unforeseen.
	noRAM := []string{"-cram", "0"}
	all, right, breaks, rightBreaks := 0, 0, 0, 0
	for i, s := range settings {
		name := fmt.Sprintf("%s-%s-spacing%d-ubatch%d-max%d", s.arch, s.template, s.spacing, s.ubatch, s.checkpoints)
		t.Run(name, func(t *testing.T) {
			server := llamatest.Start(t, llamatest.Options{
				Model:   llamatest.Model{Arch: s.arch, Template: template(t, s.template)},
				Context: 65536, UBatch: s.ubatch, Spacing: s.spacing, Checkpoints: s.checkpoints, Args: noRAM,
			})
			slot := newLiveSlot(t, server, &llamacpp.Options{Rule: &boundary.CheckpointRule{Spacing: s.spacing, Ubatch: s.ubatch, Max: s.checkpoints}})
			chat := &liveChat{r: rand.New(rand.NewPCG(uint64(i), 7)), size: s.size}
			for n := range requests {
				switch k := chat.r.IntN(10); {
				case n == 0 || k < 7:
					chat.append()
				case k < 9:
					chat.compact()
				}
				got, err := slot.send(t.Context(), chat.messages, 1, 0)
				if err != nil {
					t.Fatalf("request %d: %v", n, err)
				}
				isBreak := n > 0 && got.reuse.Common < got.total && got.measured != got.total-1 && got.reuse.Reused < got.reuse.Common
				all++
				if isBreak {
					breaks++
				}
				if got.reuse.Reused != got.measured {
					t.Errorf("seed %d request %d of %d tokens: Predict() = %+v, server reused %d", i, n, got.total, got.reuse, got.measured)
					continue
				}
				right++
				if isBreak {
					rightBreaks++
				}
			}
		})
	}
	t.Logf("%d of %d requests predicted exactly, %d of %d at breaks", right, all, rightBreaks, breaks)
}

// TestLiveCacheWithReplies: the replies stand in the next prompt as they were generated, tokens unknown, between compactions.
func TestLiveCacheWithReplies(t *testing.T) {
	if os.Getenv("SAKUR4_LLAMA_SERVER") == "" {
		t.Skip("skipped: SAKUR4_LLAMA_SERVER is not set")
	}
	all, right := 0, 0
	for i, arch := range []llamatest.Arch{llamatest.Full, llamatest.Sliding} {
		server := llamatest.Start(t, llamatest.Options{
			Model: llamatest.Model{Arch: arch, Template: template(t, "chatml")}, Context: 65536, Spacing: 256, Args: []string{"-cram", "0"},
		})
		slot := newLiveSlot(t, server, &llamacpp.Options{Rule: &boundary.CheckpointRule{Spacing: 256}})
		chat := &liveChat{r: rand.New(rand.NewPCG(uint64(i), 8)), size: 300}
		chat.append()
		for n := range 50 {
			got, err := slot.send(t.Context(), chat.messages, 2+chat.r.IntN(40), 0)
			if err != nil {
				t.Fatalf("request %d: %v", n, err)
			}
			all++
			if got.mismatch == (boundary.Mismatch{}) {
				right++
			} else {
				t.Errorf("%s request %d: predicted %+v, measured %d: %+v", arch, n, got.reuse, got.measured, got.mismatch)
			}
			chat.messages = append(chat.messages, map[string]any{"role": "assistant", "content": got.content}, map[string]any{"role": "user", "content": chat.text()})
			if n%6 == 5 {
				chat.compact()
			}
		}
	}
	t.Logf("%d of %d requests as predicted", right, all)
}

// TestLiveCacheShift: after deletions with n_cache_reuse the kept runs are moved, exactly those that the model names.
func TestLiveCacheShift(t *testing.T) {
	if os.Getenv("SAKUR4_LLAMA_SERVER") == "" {
		t.Skip("skipped: SAKUR4_LLAMA_SERVER is not set")
	}
	all, right, moved := 0, 0, 0
	server := llamatest.Start(t, llamatest.Options{
		Model: llamatest.Model{Arch: llamatest.Full, Template: template(t, "chatml")}, Context: 65536, Args: []string{"-cram", "0"},
	})
	slot := newLiveSlot(t, server, nil)
	chat := &liveChat{r: rand.New(rand.NewPCG(1, 9)), size: 200}
	for n := range 80 {
		reuse := 0
		if n > 6 && chat.r.IntN(3) == 0 {
			for range 1 + chat.r.IntN(3) {
				chat.remove()
			}
			reuse = []int{1, 16, 64, 200}[chat.r.IntN(4)]
		} else {
			chat.append()
		}
		got, err := slot.send(t.Context(), chat.messages, 1, reuse)
		if err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		all++
		if got.reuse.Shifted > 0 {
			moved++
		}
		if got.reuse.Reused == got.measured {
			right++
		} else {
			t.Errorf("request %d of %d tokens, n_cache_reuse %d: Predict() = %+v, server reused %d", n, got.total, reuse, got.reuse, got.measured)
		}
	}
	t.Logf("%d of %d requests predicted exactly, %d with moved tokens", right, all, moved)
}

// TestLiveCacheSavedSlot: a slot is saved at random moments, restored later, also after a restart of the server, and reuses afterwards exactly what the
// model says.
func TestLiveCacheSavedSlot(t *testing.T) {
	if os.Getenv("SAKUR4_LLAMA_SERVER") == "" {
		t.Skip("skipped: SAKUR4_LLAMA_SERVER is not set")
	}
	type setting struct {
		arch    llamatest.Arch
		spacing int
	}
	all, right, restored := 0, 0, 0
	for i, s := range []setting{{llamatest.Full, 0}, {llamatest.Sliding, 256}, {llamatest.Sliding, 8192}} {
		server := llamatest.Start(t, llamatest.Options{
			Model:   llamatest.Model{Arch: s.arch, Template: template(t, "chatml")},
			Context: 65536, Spacing: s.spacing, SlotSave: true, Args: []string{"-cram", "0"},
		})
		slot := newLiveSlot(t, server, &llamacpp.Options{Rule: &boundary.CheckpointRule{Spacing: s.spacing}})
		chat := &liveChat{r: rand.New(rand.NewPCG(uint64(i), 11)), size: 300}
		type file struct {
			boundary.SlotFile
			state    boundary.CacheState
			prompt   []int32
			messages []map[string]any
		}
		var files []file
		for n := range 60 {
			switch k := chat.r.IntN(10); {
			case n == 0 || k < 7:
				chat.append()
			default:
				chat.compact()
			}
			after := ""
			switch k := chat.r.IntN(10); {
			case n > 3 && k < 2 || n == 5:
				saved, err := slot.client.SaveSlot(t.Context(), 0, fmt.Sprintf("f%d", len(files)))
				prompt, reply := slot.cache.Held()
				if err != nil || saved.Tokens != prompt+reply {
					t.Fatalf("SaveSlot() = %+v, %v, the model holds %d and %d tokens", saved, err, prompt, reply)
				}
				files = append(files, file{saved, slot.cache.State(), slot.cache.Prompt(), chat.messages})
			case len(files) > 0 && k < 5:
				if k == 3 {
					server.Restart(t)
					after = "restart and "
				}
				id := chat.r.IntN(len(files))
				f := files[id]
				got, err := slot.client.RestoreSlot(t.Context(), 0, fmt.Sprintf("f%d", id))
				if err != nil || got != f.SlotFile {
					t.Fatalf("RestoreSlot() = %+v, %v, want %+v", got, err, f.SlotFile)
				}
				if err := slot.cache.Reload(f.state, f.prompt, nil); err != nil {
					t.Fatalf("Reload() = %v", err)
				}
				if chat.r.IntN(2) == 0 {
					chat.messages = f.messages
					chat.append()
				}
				after += "restore"
				restored++
			}
			got, err := slot.send(t.Context(), chat.messages, 1+chat.r.IntN(9), 0)
			if err != nil {
				t.Fatalf("request %d: %v", n, err)
			}
			all++
			if got.mismatch == (boundary.Mismatch{}) {
				right++
			} else {
				t.Errorf("%s spacing %d, request %d of %d tokens after %q: Predict() = %+v, server reused %d", s.arch, s.spacing, n, got.total, after, got.reuse, got.measured)
			}
		}
	}
	t.Logf("%d of %d requests as predicted, %d of them after a restore", right, all, restored)
}
