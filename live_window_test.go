package sakur4_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// requests counts what is sent to a server.
type requests struct {
	http.RoundTripper
	mu    sync.Mutex // guards what follows
	paths []string
	bytes int64
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.paths = append(r.paths, req.URL.Path)
	r.bytes += max(req.ContentLength, 0)
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(req)
}

// take returns what was sent since it was last asked.
func (r *requests) take() (paths []string, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	paths, bytes = r.paths, r.bytes
	r.paths, r.bytes = nil, 0
	return paths, bytes
}

// longTalk is a session of many turns on a real server, measured as predicted after each prompt.
type longTalk struct {
	t      testing.TB
	client *llamacpp.Client
	s      *sakur4.Session
	sent   *requests
	n      int
	result string
	args   string
}

func newLongTalk(t testing.TB, episodes int) *longTalk {
	t.Helper()
	srv := llamatest.Start(t, llamatest.Options{Context: 1 << 17})
	sent := &requests{RoundTripper: &http.Transport{}}
	client, err := llamacpp.New(srv.URL, &llamacpp.Options{HTTPClient: &http.Client{Transport: sent}})
	if err != nil {
		t.Fatal(err)
	}
	eng, err := sakur4.Open(t.Context(), filepath.Join(t.TempDir(), "live.db"), &sakur4.Options{ProjectRoot: t.TempDir(), Backend: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &longTalk{t: t, client: client, s: eng.Session("live"), sent: sent, result: strings.Repeat("ok 17 of 20 ", 4), args: "{}"}
	l.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
	for l.n < episodes/2 {
		l.round()
	}
	for range 3 { // the counter sees a few prompts as a whole
		l.round()
		l.window()
	}
	sent.take()
	return l
}

func (l *longTalk) commit(t sakur4.Turn) {
	l.t.Helper()
	if _, err := l.s.Commit(l.t.Context(), t); err != nil {
		l.t.Fatal(err)
	}
}

func (l *longTalk) round() {
	l.t.Helper()
	id := fmt.Sprint("c", l.n)
	l.n++
	l.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "bash", Arguments: l.args}}})
	l.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: l.result})
}

// window makes the next prompt and measures it as it was predicted.
func (l *longTalk) window() time.Duration {
	l.t.Helper()
	start := time.Now()
	w, err := l.s.Window(l.t.Context(), sakur4.Head{System: "You are a careful engineer."})
	took := time.Since(start)
	if err != nil || w.Plan != nil {
		l.t.Fatalf("Window() = %+v, %v, want a prompt and no compaction", w, err)
	}
	cached := w.Receipt.Cache.Predicted
	if _, err := l.s.Observe(l.t.Context(), sakur4.Usage{PromptTokens: w.Receipt.Used, CachedTokens: &cached}); err != nil {
		l.t.Fatal(err)
	}
	return took
}

// plain are two messages of the size of a round, with which the server has the least work.
func (l *longTalk) plain() []sakur4.Message {
	return []sakur4.Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: l.result}}
}

// newest are the two messages that a round adds: a call and its result.
func (l *longTalk) newest() []sakur4.Message {
	id := fmt.Sprint("c", l.n-1)
	call := sakur4.ToolCall{ID: id, Name: "bash", Arguments: l.args}
	return []sakur4.Message{{Role: "assistant", ToolCalls: []sakur4.ToolCall{call}}, {Role: "tool", ToolCallID: id, Content: l.result}}
}

// floor is what the server takes to render messages and to tokenize what comes of it.
func (l *longTalk) floor(ctx context.Context, messages []sakur4.Message) time.Duration {
	l.t.Helper()
	body := sakur4.MarshalMessages(messages)
	start := time.Now()
	text, err := l.client.Render(ctx, boundary.RenderRequest{Messages: body})
	if err == nil {
		_, _, err = l.client.TokenSpans(ctx, text)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return time.Since(start)
}

// TestLiveWindowSendsTheNewTurns counts what a prompt asks a real server for, in a short session and in a long one.
func TestLiveWindowSendsTheNewTurns(t *testing.T) {
	for _, episodes := range []int{20, 1000} {
		l := newLongTalk(t, episodes)
		for i := range 5 {
			l.args = fmt.Sprintf(`{"command":"grep -n \"a, b: c\"\\n","lines":[1, %d],"in":{"file" : "naïve.go"}}`, i)
			l.round()
			l.window()
			paths, bytes := l.sent.take()
			slices.Sort(paths) // they are on their way at the same time
			if want := []string{"/apply-template", "/tokenize"}; !slices.Equal(paths, want) || bytes > 2000 {
				t.Errorf("a prompt after %d episodes sends %d bytes to %q, want at most 2000 to %q", 2*l.n, bytes, paths, want)
			}
		}
	}
}

// BenchmarkLiveWindow makes the next prompt of a session of 1,000 episodes on a real server, in turn with what the server takes for two messages: p50-ratio is to
// plain ones, round-ratio to the two that the prompt adds.
func BenchmarkLiveWindow(b *testing.B) {
	l := newLongTalk(b, 1000)
	var windows, floors, rounds []time.Duration
	for b.Loop() {
		l.round()
		windows = append(windows, l.window())
		floors = append(floors, l.floor(b.Context(), l.plain()))
		rounds = append(rounds, l.floor(b.Context(), l.newest()))
	}
	b.ReportMetric(percentile(windows, 50), "p50-µs")
	b.ReportMetric(percentile(windows, 50)/percentile(floors, 50), "p50-ratio")
	b.ReportMetric(percentile(windows, 50)/percentile(rounds, 50), "round-ratio")
	b.ReportMetric(percentile(windows, 99)/percentile(floors, 99), "p99-ratio")
}
