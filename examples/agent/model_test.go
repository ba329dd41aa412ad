package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary/llamacpp"
)

// fakeServer answers streamed chats with replies of the test's choice and knows nothing else: prompts are then counted locally.
type fakeServer struct {
	*httptest.Server
	mu       sync.Mutex // guards requests
	requests []fakeRequest
}

type fakeRequest struct {
	Messages []sent `json:"messages"`
	Choice   string `json:"tool_choice"`
	Cache    bool   `json:"cache_prompt"`
}

// fake starts a server. reply gets the number of the request, from 0, and returns the chunks to stream; "hang" waits for the client to go.
func fake(t *testing.T, reply func(n int) []string) *fakeServer {
	t.Helper()
	f := &fakeServer{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		var body fakeRequest
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.mu.Lock()
		n := len(f.requests)
		f.requests = append(f.requests, body)
		f.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range reply(n) {
			if chunk == "hang" {
				<-r.Context().Done()
				return
			}
			fmt.Fprintf(w, "data: %s\n\n", chunk)
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) seen() []fakeRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]fakeRequest(nil), f.requests...)
}

// text is a chunk of words.
func text(s string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, quote(s))
}

// calls is a chunk that asks for calls, each a name and its arguments.
func calls(list ...[2]string) string {
	var parts []string
	for i, c := range list {
		parts = append(parts, fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":%s,"arguments":%s}}`, i, i, quote(c[0]), quote(c[1])))
	}
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + strings.Join(parts, ",") + `]}}]}`
}

const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// TestModelWorks runs a task with parallel calls, one of them wrong, to its answer.
func TestModelWorks(t *testing.T) {
	t.Parallel()
	f := fake(t, func(n int) []string {
		if n == 0 {
			return []string{text("I look."), calls([2]string{"read_file", `{"path":"config.json"}`}, [2]string{"read_file", `{"path":"../x"}`}, [2]string{"list_files", `{}`}), stop}
		}
		return []string{text("It is "), text("a sample."), stop}
	})
	got := runAgent(t, "", "-llama", f.URL, "-task", "What is this?", "-root", tree(t, 1), "-fields", `{"tool_choice":"auto"}`)
	if got.code != 0 || !strings.Contains(got.out, "It is a sample.\n") {
		t.Fatalf("agent = %d, %q, %s; want 0 and the answer", got.code, got.out, got.err)
	}
	requests := f.seen()
	if len(requests) != 2 || requests[1].Choice != "auto" || !requests[1].Cache {
		t.Fatalf("requests = %+v, want two with the fields of the flags and of the prompt", requests)
	}
	m := requests[1].Messages
	if len(m) != 6 {
		t.Fatalf("second prompt has %d messages, want 6: %+v", len(m), m)
	}
	for i, want := range []string{`"retries": 3`, "error: ", `"entries":[`} {
		if !strings.Contains(m[3+i].text(), want) {
			t.Errorf("result %d = %q, want %q in it", i, m[3+i].text(), want)
		}
	}
}

// TestModelJSON holds a run with -json to one object a line, with what the model said.
func TestModelJSON(t *testing.T) {
	t.Parallel()
	f := fake(t, func(n int) []string {
		if n == 0 {
			return []string{text("I look."), calls([2]string{"list_files", `{}`}), stop}
		}
		return []string{text("A sample."), stop}
	})
	lines, sum := jsonRun(t, "-llama", f.URL, "-task", "What is this?", "-root", tree(t, 1))
	if len(lines) != 2 || lines[0].Said != "I look." || lines[1].Said != "A sample." {
		t.Fatalf("turns = %+v, want two with their words", lines)
	}
	if diff := cmp.Diff([]string{"list_files {}"}, lines[0].Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if lines[0].Prompt != nil || lines[0].Cached != nil || sum.Prompt != 0 {
		t.Errorf("turn = %+v: the server reported no counts, want null", lines[0])
	}
}

// TestModelLimits has servers that never come to an end: the agent does.
func TestModelLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		reply    func(n int) []string
		args     []string
		want     string
		requests int
	}{
		{"same_call", func(int) []string { return []string{calls([2]string{"list_files", `{}`}), stop} }, nil, errRepeats.Error(), endRepeats},
		{"written_call", func(int) []string { return []string{text(`{"name":"list.files","arguments":{}}`), stop} }, nil, errRepeats.Error(), endRepeats},
		{"other_calls", func(n int) []string {
			return []string{calls([2]string{"read_file", fmt.Sprintf(`{"path":"config.json","limit":%d}`, n+1)}), stop}
		}, []string{"-turns", "9"}, errTurnLimit.Error(), 9},
		{"nothing", func(int) []string { return []string{stop} }, nil, errSaidNothing.Error(), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fake(t, c.reply)
			got := runAgent(t, "", append([]string{"-llama", f.URL, "-task", "Go.", "-root", tree(t, 1)}, c.args...)...)
			if got.code != 1 || !strings.Contains(got.err, c.want) {
				t.Errorf("agent = %d, %q; want 1 and %q", got.code, got.err, c.want)
			}
			if n := len(f.seen()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if strings.Contains(got.out, "  NO  ") {
				t.Errorf("a promise did not hold:\n%s", got.out)
			}
		})
	}
}

// TestRepeatedCallIsNotRun looks at what the model is told when it repeats itself.
func TestRepeatedCallIsNotRun(t *testing.T) {
	t.Parallel()
	f := fake(t, func(int) []string { return []string{calls([2]string{"list_files", `{}`}), stop} })
	runAgent(t, "", "-llama", f.URL, "-task", "Go.", "-root", tree(t, 1))
	requests := f.seen()
	last := requests[len(requests)-1].Messages
	if got := last[len(last)-1].text(); !strings.Contains(got, "not run: this very call was made") {
		t.Errorf("last result = %q, want that the call was not run", got)
	}
}

func TestREPL(t *testing.T) {
	t.Parallel()
	f := fake(t, func(n int) []string { return []string{text(fmt.Sprintf("answer %d", n)), stop} })
	got := runAgent(t, "first\n\nsecond, and never do that\n/quit\nthird\n", "-llama", f.URL, "-policy", "model", "-root", tree(t, 1))
	if got.code != 0 || !strings.Contains(got.out, "answer 0") || !strings.Contains(got.out, "answer 1") || strings.Contains(got.out, "answer 2") {
		t.Errorf("agent = %d, %s, %s; want two answers", got.code, got.out, got.err)
	}
	if !strings.Contains(got.out, "sounds like a rule") {
		t.Errorf("output = %s, want the rule named", got.out)
	}
}

func TestModelNeedsServer(t *testing.T) {
	t.Parallel()
	f := fake(t, func(int) []string { return nil })
	f.Close()
	got := runAgent(t, "", "-llama", f.URL, "-task", "Go.", "-root", tree(t, 1))
	if got.code != 1 || !strings.Contains(got.err, "unavailable") {
		t.Errorf("agent = %d, %q; want 1 and that the server is unavailable", got.code, got.err)
	}
}

// TestInterrupt breaks into a streamed reply and goes on with the session in a second run.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	cut := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"read_file","arguments":"{\"pa"}}]}}]}`
	for _, c := range []struct {
		name   string
		chunks []string
		// said is the assistant's turn that is recorded, task what the second run is asked: "" resumes what waits.
		said, task string
		want       []string // roles of the second run's prompt
	}{
		{"in_words", []string{text("The begin"), "hang"}, "The begin", "go on", []string{"system", "user", "assistant", "user"}},
		{"in_a_call", []string{text("I read."), cut, text("!"), "hang"}, "I read.!", "go on", []string{"system", "user", "assistant", "user"}},
		{"before_words", []string{text(" "), "hang"}, "", "", []string{"system", "user"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pieces := 0
			for _, chunk := range c.chunks {
				if strings.Contains(chunk, `"content"`) {
					pieces++
				}
			}
			f := fake(t, func(n int) []string {
				if n == 0 {
					return c.chunks
				}
				return []string{text("Done."), stop}
			})
			root, db := tree(t, 1), filepath.Join(t.TempDir(), "a.db")
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			cfg, err := parseFlags("", []string{"-llama", f.URL, "-task", "Begin.", "-root", root, "-db", db}, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			cfg.seen = func(kind, s string) {
				if kind == "delta" && s != "" {
					if pieces--; pieces == 0 {
						interrupt()
					}
				}
			}
			if err := work(ctx, cfg, streams{strings.NewReader(""), t.Output(), t.Output()}); err == nil || !strings.Contains(err.Error(), errInterrupted.Error()) {
				t.Fatalf("interrupted run = %v, want %v", err, errInterrupted)
			}
			args := []string{"-llama", f.URL, "-root", root, "-db", db, "-policy", "model"}
			got := runAgent(t, c.task+"\n", args...)
			if got.code != 0 || !strings.Contains(got.out, "Done.") {
				t.Fatalf("second run = %d, %s, %s; want its answer", got.code, got.out, got.err)
			}
			requests := f.seen()
			var roles []string
			said := ""
			for _, m := range requests[len(requests)-1].Messages {
				roles = append(roles, m.Role)
				if m.Role == "assistant" {
					said = m.text()
				}
			}
			if diff := cmp.Diff(c.want, roles); diff != "" || said != c.said {
				t.Errorf("second run's prompt says %q, want %q; roles (-want +got):\n%s", said, c.said, diff)
			}
		})
	}
}

// TestInterruptedTools records a result for every call when the user breaks in while they run.
func TestInterruptedTools(t *testing.T) {
	t.Parallel()
	f := fake(t, func(n int) []string {
		if n == 0 {
			return []string{calls([2]string{"list_files", `{}`}, [2]string{"read_file", `{"path":"config.json"}`}), stop}
		}
		return []string{text("Done."), stop}
	})
	root, db := tree(t, 1), filepath.Join(t.TempDir(), "a.db")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	cfg, err := parseFlags("", []string{"-llama", f.URL, "-task", "Begin.", "-root", root, "-db", db}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	acks := 0
	cfg.seen = func(kind, _ string) {
		if kind == "ack" {
			if acks++; acks == 2 { // the user's turn and the assistant's calls are recorded
				interrupt()
			}
		}
	}
	if err := work(ctx, cfg, streams{strings.NewReader(""), t.Output(), t.Output()}); err == nil || acks != 4 {
		t.Fatalf("interrupted run = %v after %d turns, want an error after 4", err, acks)
	}
	got := runAgent(t, "", "-llama", f.URL, "-root", root, "-db", db, "-policy", "model")
	if got.code != 0 || !strings.Contains(got.out, "Done.") {
		t.Fatalf("second run = %d, %s, %s; want its answer", got.code, got.out, got.err)
	}
	last := f.seen()[1].Messages
	if got := last[len(last)-1].text(); !strings.Contains(got, "interrupted") {
		t.Errorf("last result = %q, want that the user interrupted", got)
	}
}

// TestAnswers holds the look for a server that was not named to what only a llama.cpp server says.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want bool
	}{{`{"build_info":"b1-x","total_slots":1}`, true}, {`{"total_slots":1}`, false}, {`<html>`, false}, {`{}`, false}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/props" {
				fmt.Fprint(w, c.body)
			}
		}))
		client, err := llamacpp.New(s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := answers(t.Context(), client); got != c.want {
			t.Errorf("answers(a server whose props are %s) = %t, want %t", c.body, got, c.want)
		}
		s.Close()
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	got, err := merge(json.RawMessage(`{"b":1,"a":{"x":[1]}}`), nil, json.RawMessage(`{"b":2,"c":null}`))
	if err != nil || string(got) != `{"a":{"x":[1]},"b":1,"c":null}` {
		t.Errorf("merge = %s, %v", got, err)
	}
	for _, bad := range []string{`[]`, `null`, `{`, `1`} {
		if got, err := merge(json.RawMessage(bad)); err == nil {
			t.Errorf("merge(%s) = %s, want an error", bad, got)
		}
	}
}

func TestToolListIsFixed(t *testing.T) {
	t.Parallel()
	root := tree(t, 1)
	a, b := opened(t, root), opened(t, root)
	if diff := cmp.Diff(string(a.head.Tools), string(b.head.Tools)); diff != "" || !json.Valid(a.head.Tools) {
		t.Errorf("two tool lists differ, or are no JSON (-first +second):\n%s", diff)
	}
	const promise = "Any interpretation whose source has since changed is returned with stale=true and the source's CURRENT value attached — trust current_value, not text."
	if tl := a.tool("memory.recall"); tl == nil || !strings.Contains(tl.description, promise) {
		t.Errorf("memory.recall = %+v, want the words about stale values in its description", tl)
	}
}
