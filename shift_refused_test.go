package sakur4_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

// TestShiftRefused: a server that refuses a request for its n_cache_reuse is asked again without, the receipt names it, and no later request asks for a shift.
func TestShiftRefused(t *testing.T) {
	t.Parallel()
	d := newTrial(t, storePath(t), &sakur4.Options{Project: "trial", Window: 4096, KVShift: true})
	d.user("Find out why the worker pool deadlocks.")
	refused, asked, cached := 0, 0, 0
	for len(d.plans) < 4 {
		w := d.window()
		u := sakur4.Usage{Window: w.ID, PromptTokens: w.Receipt.Used, CachedTokens: &w.Receipt.Cache.Predicted, CompletionTokens: 1}
		if w.Hints.NCacheReuse > 0 {
			asked++
			u.ShiftRefused, cached = true, w.Receipt.Cache.Boundary
			u.CachedTokens = &cached
		}
		r, err := d.s.Observe(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if u.ShiftRefused {
			refused++
			if !strings.Contains(strings.Join(r.Notes, "; "), "the server refused to move kept tokens") || r.Cache.Shifted || r.Cache.Cause != "" || r.Cache.Predicted != cached {
				t.Errorf("receipt of the refused request: %+v, notes %q", r.Cache, r.Notes)
			}
		}
		if w.Plan != nil && refused > 0 && !u.ShiftRefused && !strings.Contains(strings.Join(r.Notes, "; "), "KV shift not used") {
			t.Errorf("a compaction after the refusal: notes %q", r.Notes)
		}
		d.work(1, 900)
	}
	if asked != 1 || refused != 1 {
		t.Errorf("%d requests asked for a shift, want one", asked)
	}
}

// TestChatWithoutShift: the client sends a request that is refused for its n_cache_reuse once more without it, and one that is refused all the same fails.
func TestChatWithoutShift(t *testing.T) {
	t.Parallel()
	always, requests := false, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if _, ok := body["n_cache_reuse"]; ok || always {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":{"code":400,"message":"cache reuse is not supported by this context","type":"invalid_request_error"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`))
	}))
	defer srv.Close()
	c, err := llamacpp.New(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req := boundary.ChatRequest{Messages: json.RawMessage(`[]`), Fields: json.RawMessage(`{"cache_prompt":true,"n_cache_reuse":64}`)}
	reply, err := c.Chat(t.Context(), req, nil)
	if err != nil || !reply.ShiftRefused || reply.Content != "yes" || requests != 2 {
		t.Errorf("Chat() = %+v, %v after %d requests", reply, err, requests)
	}
	req.Fields = json.RawMessage(`{"cache_prompt":true,"n_cache_reuse":0}`)
	if reply, err := c.Chat(t.Context(), req, nil); err != nil || reply.ShiftRefused || reply.Content != "yes" {
		t.Errorf("Chat(n_cache_reuse 0) = %+v, %v, want an answer and no refused shift", reply, err)
	}
	always = true
	if _, err := c.Chat(t.Context(), req, nil); !errors.Is(err, boundary.ErrInvalidRequest) {
		t.Errorf("Chat() = %v, want %v", err, boundary.ErrInvalidRequest)
	}
}

// TestHostedShiftIsRefused: KV shift on a provider that has none is refused when the engine is opened.
func TestHostedShiftIsRefused(t *testing.T) {
	t.Parallel()
	b, err := sakur4.Hosted(sakur4.HostedProvider{Name: "far", Geometry: boundary.Anthropic(0)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{Project: "p", Backend: b, KVShift: true}); !errors.Is(err, sakur4.ErrUnsupported) {
		t.Errorf("Open() = %v, want %v", err, sakur4.ErrUnsupported)
	}
}

// TestHintsSayThatNothingIsMoved: a request without a shift says so, because a server started with --cache-reuse would move tokens otherwise.
func TestHintsSayThatNothingIsMoved(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(sakur4.Hints{CachePrompt: true})
	if want := `{"cache_prompt":true,"n_cache_reuse":0}`; err != nil || string(got) != want {
		t.Errorf("Marshal(Hints) = %s, %v, want %s", got, err, want)
	}
}
