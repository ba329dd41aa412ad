package llamacpp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

const chatPath = "/v1/chat/completions"

func count(n int) *int { return &n }

func TestChatBody(t *testing.T) {
	t.Parallel()
	slot := 3
	tests := map[string]struct {
		opts   *llamacpp.Options
		req    boundary.ChatRequest
		stream bool
		want   string
	}{
		"bytes as they are": {nil, boundary.ChatRequest{Messages: json.RawMessage(`[ {"role":"user", "content":"<é>"} ]`), Tools: json.RawMessage(`[ 1.0 ]`)}, false,
			`{"messages":[ {"role":"user", "content":"<é>"} ],"tools":[ 1.0 ],"stream":false}`},
		"fields in their order": {nil, boundary.ChatRequest{Messages: json.RawMessage(`[]`), Fields: json.RawMessage(`{"z":1.50,"a":{"b": "c"}}`), MaxTokens: 5}, false,
			`{"messages":[],"stream":false,"z":1.50,"a":{"b": "c"},"max_tokens":5}`},
		"the first wins": {&llamacpp.Options{Slot: &slot, Model: "m"}, boundary.ChatRequest{Messages: json.RawMessage(`[]`),
			Fields: json.RawMessage(`{"messages":[1],"max_tokens":9,"max_tokens":8,"id_slot":0,"stream":7,"model":"mine"}`), MaxTokens: 5}, false,
			`{"messages":[],"stream":false,"max_tokens":9,"id_slot":0,"model":"mine","cache_prompt":true}`},
		"defaults of the client": {&llamacpp.Options{Slot: &slot, Model: "m"}, boundary.ChatRequest{Messages: json.RawMessage(`[]`)}, true,
			`{"messages":[],"stream":true,"stream_options":{"include_usage":true},"return_progress":true,"id_slot":3,"cache_prompt":true,"model":"m"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			s := serve(t, map[string]http.HandlerFunc{chatPath: func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got = string(b)
				if tt.stream {
					_, _ = io.WriteString(w, "data: [DONE]\n\n")
					return
				}
				_, _ = io.WriteString(w, `{"choices":[{"message":{}}]}`)
			}})
			var progress func(boundary.ChatDelta)
			if tt.stream {
				progress = func(boundary.ChatDelta) {}
			}
			if _, err := client(t, s.URL, tt.opts).Chat(t.Context(), tt.req, progress); err != nil {
				t.Fatalf("Chat() = %v", err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("request body (-want +got):\n%s", d)
			}
		})
	}
	for _, fields := range []string{`[]`, `{`, `{"a":}`, `{"a":1} x`, `7`, `{"a"`} {
		s := serve(t, nil)
		if _, err := client(t, s.URL, nil).Chat(t.Context(), boundary.ChatRequest{Fields: json.RawMessage(fields)}, nil); err == nil || errors.Is(err, boundary.ErrUnsupported) {
			t.Errorf("Chat() with fields %s = %v, want an error before anything is sent", fields, err)
		}
	}
}

func TestChatReply(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want boundary.ChatReply
		err  error
	}{
		"all of it": {`{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[
			{"id":"a","type":"function","function":{"name":"read","arguments":"{\"p\": 1}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":{"d": "."}}}]}}],
			"model":"m","usage":{"completion_tokens":4,"prompt_tokens":30,"prompt_tokens_details":{"cached_tokens":20}},"timings":{"cache_n":21,"prompt_n":9,"prompt_ms":1.5,"predicted_n":4}}`,
			boundary.ChatReply{Reasoning: "hm", ToolCalls: []boundary.ChatToolCall{{ID: "a", Name: "read", Arguments: `{"p": 1}`}, {ID: "b", Name: "ls", Arguments: `{"d": "."}`}},
				FinishReason: "tool_calls", PromptTokens: 30, CachedTokens: count(21), CompletionTokens: 4, PromptMillis: 1.5, Model: "m"}, nil},
		"usage only": {`{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}],"usage":{"completion_tokens":4,"prompt_tokens":30,"prompt_tokens_details":{"cached_tokens":0}}}`,
			boundary.ChatReply{Content: "hi", FinishReason: "stop", PromptTokens: 30, CachedTokens: count(0), CompletionTokens: 4}, nil},
		"timings only": {`{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}],"timings":{"cache_n":3,"prompt_n":9,"prompt_ms":2,"predicted_n":1}}`,
			boundary.ChatReply{Content: "hi", FinishReason: "stop", PromptTokens: 12, CachedTokens: count(3), CompletionTokens: 1, PromptMillis: 2}, nil},
		"nothing reported": {`{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}],"usage":{"completion_tokens":4,"prompt_tokens":30}}`,
			boundary.ChatReply{Content: "hi", FinishReason: "stop", PromptTokens: 30, CompletionTokens: 4}, nil},
		"no choices": {`{"choices":[]}`, boundary.ChatReply{}, boundary.ErrUnavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]http.HandlerFunc{chatPath: answer(200, tt.body)})
			got, err := client(t, s.URL, nil).Chat(t.Context(), boundary.ChatRequest{Messages: json.RawMessage(`[]`)}, nil)
			if !errors.Is(err, tt.err) {
				t.Errorf("Chat() = %v, want %v", err, tt.err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Chat() (-want +got):\n%s", d)
			}
		})
	}
}

// delta is a chunk with that delta.
func delta(s string) string {
	return `data: {"choices":[{"finish_reason":null,"index":0,"delta":` + s + `}],"model":"m"}` + "\n\n"
}

const (
	progressed = `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":15,"cache":3,"processed":3,"time_ms":0}}` + "\n\n"
	ended      = `data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}]}` + "\n\n"
	counted    = `data: {"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":15,"prompt_tokens_details":{"cached_tokens":3}},"timings":{"cache_n":3,"prompt_n":12,"prompt_ms":4.5}}` + "\n\n"
	done       = "data: [DONE]\n\n"
)

func TestChatStream(t *testing.T) {
	t.Parallel()
	full := boundary.ChatReply{FinishReason: "stop", PromptTokens: 15, CachedTokens: count(3), CompletionTokens: 3, PromptMillis: 4.5, Model: "m"}
	with := func(f func(*boundary.ChatReply)) boundary.ChatReply {
		r := full
		f(&r)
		return r
	}
	tests := map[string]struct {
		body   string
		want   boundary.ChatReply
		deltas []boundary.ChatDelta
		err    error
	}{
		"text": {progressed + delta(`{"content":"Hel"}`) + delta(`{"content":"lo"}`) + ended + counted + done,
			with(func(r *boundary.ChatReply) { r.Content = "Hello" }), []boundary.ChatDelta{{PromptCached: 3, PromptTotal: 15}, {Content: "Hel"}, {Content: "lo"}}, nil},
		"reasoning": {delta(`{"reasoning_content":"hm"}`) + delta(`{"content":"x"}`) + ended + counted + done,
			with(func(r *boundary.ChatReply) { r.Content, r.Reasoning = "x", "hm" }), []boundary.ChatDelta{{Reasoning: "hm"}, {Content: "x"}}, nil},
		"parallel calls, mixed up": {delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}`) +
			delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"ls","arguments":"{"}}]}`) + delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":"}}]}`) +
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"1}"}}]}`) + ended + counted + done,
			with(func(r *boundary.ChatReply) {
				r.ToolCalls = []boundary.ChatToolCall{{ID: "a", Name: "read", Arguments: `{"p":1}`}, {ID: "b", Name: "ls", Arguments: "{}"}}
			}), nil, nil},
		"calls without an index": {delta(`{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{"}}]}`) + delta(`{"tool_calls":[{"function":{"arguments":"}"}}]}`) +
			delta(`{"tool_calls":[{"id":"b","function":{"name":"ls","arguments":"{}"}}]}`) + ended + counted + done,
			with(func(r *boundary.ChatReply) {
				r.ToolCalls = []boundary.ChatToolCall{{ID: "a", Name: "read", Arguments: `{}`}, {ID: "b", Name: "ls", Arguments: "{}"}}
			}), nil, nil},
		"other choices are not ours": {`data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}],"model":"m"}` + "\n\n" + ended + counted + done,
			with(func(r *boundary.ChatReply) { r.Content = "yes" }), []boundary.ChatDelta{{Content: "yes"}}, nil},
		"comments, names, CRLF and split data": {": ping\r\n\r\nevent: message\r\nid: 7\r\ndata: {\"choices\":[{\"index\":0,\r\ndata: \"delta\":{\"content\":\"x\"}}],\"model\":\"m\"}\r\n\r\n" + ended + counted + done,
			with(func(r *boundary.ChatReply) { r.Content = "x" }), []boundary.ChatDelta{{Content: "x"}}, nil},
		"no [DONE]": {delta(`{"content":"x"}`) + ended + counted,
			with(func(r *boundary.ChatReply) { r.Content = "x" }), []boundary.ChatDelta{{Content: "x"}}, nil},
		"last event without its empty line": {delta(`{"content":"x"}`) + ended + counted + "data: [DONE]",
			with(func(r *boundary.ChatReply) { r.Content = "x" }), []boundary.ChatDelta{{Content: "x"}}, nil},
		"cut off": {delta(`{"content":"x"}`), boundary.ChatReply{Content: "x", Model: "m"}, []boundary.ChatDelta{{Content: "x"}}, io.ErrUnexpectedEOF},
		"empty":   {"", boundary.ChatReply{}, nil, boundary.ErrUnavailable},
		"no JSON": {delta(`{"content":"x"}`) + "data: {nope\n\n", boundary.ChatReply{Content: "x", Model: "m"}, []boundary.ChatDelta{{Content: "x"}}, boundary.ErrUnavailable},
		"error in a stream": {delta(`{"content":"x"}`) + `data: {"error":{"code":400,"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}` + "\n\n",
			boundary.ChatReply{Content: "x", Model: "m"}, []boundary.ChatDelta{{Content: "x"}}, boundary.ErrContextExceeded},
		"error line of older servers": {delta(`{"content":"x"}`) + `error: {"code":503,"message":"m"}` + "\n\n",
			boundary.ChatReply{Content: "x", Model: "m"}, []boundary.ChatDelta{{Content: "x"}}, boundary.ErrLoading},
		"too much":       {strings.Repeat(delta(`{"content":"xxxxxxxx"}`), 200) + done, boundary.ChatReply{}, nil, llamacpp.ErrBodyTooLarge},
		"endless line":   {"data: " + strings.Repeat("x", 20000), boundary.ChatReply{}, nil, llamacpp.ErrBodyTooLarge},
		"too many calls": {delta(`{"tool_calls":[` + calls(1025) + `]}`), boundary.ChatReply{}, nil, boundary.ErrUnavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := int64(8000)
			if name == "too many calls" {
				limit = 1 << 20
			}
			s := serve(t, map[string]http.HandlerFunc{chatPath: answer(200, tt.body)})
			var deltas []boundary.ChatDelta
			got, err := client(t, s.URL, &llamacpp.Options{MaxBody: limit}).Chat(t.Context(), boundary.ChatRequest{Messages: json.RawMessage(`[]`)},
				func(d boundary.ChatDelta) { deltas = append(deltas, d) })
			if !errors.Is(err, tt.err) {
				t.Fatalf("Chat() = %v, want %v", err, tt.err)
			}
			if strings.HasPrefix(name, "too m") || name == "endless line" {
				return
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Chat() (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.deltas, deltas); d != "" {
				t.Errorf("progress (-want +got):\n%s", d)
			}
		})
	}
}

func calls(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"index":%d,"id":"c%d"}`, i, i))
	}
	return strings.Join(list, ",")
}

// TestChatCancel: a cancel in the middle of a stream ends the request on the server too, and returns what has arrived.
func TestChatCancel(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := serve(t, map[string]http.HandlerFunc{chatPath: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, delta(`{"content":"half"}`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, err := client(t, s.URL, nil).Chat(ctx, boundary.ChatRequest{Messages: json.RawMessage(`[]`)}, func(boundary.ChatDelta) { cancel() })
	if !errors.Is(err, context.Canceled) || errors.Is(err, boundary.ErrUnavailable) {
		t.Errorf("Chat() after a cancel = %v, want Canceled alone", err)
	}
	if d := cmp.Diff(boundary.ChatReply{Content: "half", Model: "m"}, got); d != "" {
		t.Errorf("Chat() after a cancel (-want +got):\n%s", d)
	}
	<-ended
}

func TestChatStreamRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]http.HandlerFunc{chatPath: answer(503, `{"error":{"code":503,"message":"Loading model"}}`)})
	_, err := client(t, s.URL, nil).Chat(t.Context(), boundary.ChatRequest{Messages: json.RawMessage(`[]`)}, func(boundary.ChatDelta) {})
	if !errors.Is(err, boundary.ErrLoading) {
		t.Errorf("Chat() while loading = %v, want ErrLoading", err)
	}
}
