package llamacpp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

// serve starts a server that answers each path with a function.
func serve(t *testing.T, routes map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range routes {
		mux.HandleFunc(path, h)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// answer writes a status and a body.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func client(t *testing.T, url string, opts *llamacpp.Options) *llamacpp.Client {
	t.Helper()
	c, err := llamacpp.New(url, opts)
	if err != nil {
		t.Fatalf("New(%q) = %v", url, err)
	}
	return c
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	negative := -1
	tests := map[string]struct {
		url  string
		opts *llamacpp.Options
	}{
		"no scheme":       {"127.0.0.1:8080", nil},
		"no host":         {"http://", nil},
		"other scheme":    {"ftp://host", nil},
		"query":           {"http://host?x=1", nil},
		"negative probe":  {"http://host", &llamacpp.Options{Probe: -1}},
		"fragment":        {"http://host#x", nil},
		"bad escape":      {"http://host/%zz", nil},
		"negative limit":  {"http://host", &llamacpp.Options{MaxBody: -1}},
		"negative slot":   {"http://host", &llamacpp.Options{Slot: &negative}},
		"control in host": {"http://ho\x00st", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c, err := llamacpp.New(tt.url, tt.opts); err == nil {
				t.Errorf("New(%q, %+v) = %v, nil, want an error", tt.url, tt.opts, c)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sentinels := map[string]error{
		"context": boundary.ErrContextExceeded, "unavailable": boundary.ErrUnavailable, "loading": boundary.ErrLoading,
		"unauthorized": boundary.ErrUnauthorized, "unsupported": boundary.ErrUnsupported, "invalid": boundary.ErrInvalidRequest,
		"too large": llamacpp.ErrBodyTooLarge,
	}
	tests := map[string]struct {
		status int
		body   string
		want   *llamacpp.APIError
		is     []string
	}{
		"context exceeded": {400, `{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_prompt_tokens":80008,"n_ctx":32768}}`,
			&llamacpp.APIError{Status: 400, Type: "exceed_context_size_error", Message: "too long", NPrompt: 80008, NCtx: 32768}, []string{"context"}},
		"refused": {400, `{"error":{"code":400,"message":"'messages' is required","type":"invalid_request_error"}}`,
			&llamacpp.APIError{Status: 400, Type: "invalid_request_error", Message: "'messages' is required"}, []string{"invalid"}},
		"key refused": {401, `{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}`,
			&llamacpp.APIError{Status: 401, Type: "authentication_error", Message: "Invalid API Key"}, []string{"unauthorized"}},
		"forbidden": {403, ``, &llamacpp.APIError{Status: 403, Message: "Forbidden"}, []string{"unauthorized"}},
		"no such route": {404, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`,
			&llamacpp.APIError{Status: 404, Type: "not_found_error", Message: "File Not Found"}, []string{"unsupported"}},
		"not supported": {501, `{"error":{"code":501,"message":"start it with --slots","type":"not_supported_error"}}`,
			&llamacpp.APIError{Status: 501, Type: "not_supported_error", Message: "start it with --slots"}, []string{"unsupported"}},
		"loading": {503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
			&llamacpp.APIError{Status: 503, Type: "unavailable_error", Message: "Loading model"}, []string{"loading", "unavailable"}},
		"server error": {500, `{"error":{"code":500,"message":"Failed to parse messages","type":"server_error"}}`,
			&llamacpp.APIError{Status: 500, Type: "server_error", Message: "Failed to parse messages"}, nil},
		"proxy":             {502, `<html>bad gateway</html>`, &llamacpp.APIError{Status: 502, Message: `<html>bad gateway</html>`}, []string{"unavailable"}},
		"error as text":     {400, `{"error":"just text"}`, &llamacpp.APIError{Status: 400, Message: "just text"}, []string{"invalid"}},
		"error as a number": {400, `{"error":7}`, &llamacpp.APIError{Status: 400, Message: "Bad Request"}, []string{"invalid"}},
		"long text":         {500, strings.Repeat("é", 400), &llamacpp.APIError{Status: 500, Message: strings.Repeat("é", 256) + "…"}, nil},
		"not JSON":          {200, `nope`, nil, []string{"unavailable"}},
		"empty":             {200, ``, nil, []string{"unavailable"}},
		"too large":         {200, `{"prompt":"` + strings.Repeat("x", 2000) + `"}`, nil, []string{"too large"}},
		"too large error":   {500, strings.Repeat("x", 2000), &llamacpp.APIError{Status: 500, Message: strings.Repeat("x", 512) + "…"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]http.HandlerFunc{"/apply-template": answer(tt.status, tt.body)})
			got, err := client(t, s.URL, &llamacpp.Options{MaxBody: 1000}).Render(t.Context(), boundary.RenderRequest{Messages: json.RawMessage(`[]`)})
			if err == nil {
				t.Fatalf("Render() = %q, nil, want an error", got)
			}
			var api *llamacpp.APIError
			errors.As(err, &api)
			if d := cmp.Diff(tt.want, api); d != "" {
				t.Errorf("Render() = %v, as *APIError (-want +got):\n%s", err, d)
			}
			for name, sentinel := range sentinels {
				want := false
				for _, w := range tt.is {
					want = want || w == name
				}
				if got := errors.Is(err, sentinel); got != want {
					t.Errorf("errors.Is(%v, %s) = %t, want %t", err, name, got, want)
				}
			}
			var size *boundary.ContextError
			if tt.want != nil && tt.want.NCtx > 0 && (!errors.As(err, &size) || size.Prompt != tt.want.NPrompt || size.Window != tt.want.NCtx) {
				t.Errorf("errors.As(%v, *ContextError) gave %+v", err, size)
			}
		})
	}
}

func TestTransportErrors(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	url := s.URL
	s.Close()
	if _, err := client(t, url, nil).Idle(t.Context()); !errors.Is(err, boundary.ErrUnavailable) {
		t.Errorf("Idle() without a server = %v, want ErrUnavailable", err)
	}

	wait := make(chan struct{})
	slow := serve(t, map[string]http.HandlerFunc{"/slots": func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-wait:
		case <-r.Context().Done():
		}
	}})
	defer close(wait)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client(t, slow.URL, nil).Idle(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, boundary.ErrUnavailable) {
		t.Errorf("Idle() past its deadline = %v, want DeadlineExceeded alone", err)
	}
	cause := errors.New("the user left")
	gone, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, err := client(t, slow.URL, nil).Idle(gone); !errors.Is(err, cause) {
		t.Errorf("Idle() after a cancel = %v, want the cause", err)
	}
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	var got []string
	s := serve(t, map[string]http.HandlerFunc{"/v/tokenize": func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.Method, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(b))
		_, _ = io.WriteString(w, `{"tokens":[1,2]}`)
	}})
	ids, err := client(t, s.URL+"/v/", &llamacpp.Options{APIKey: "k", Model: "m"}).Tokens(t.Context(), "<b>&")
	if err != nil {
		t.Fatalf("Tokens() = %v", err)
	}
	want := []string{"POST", "Bearer k", "application/json", `{"content":"<b>&","add_special":false,"parse_special":true,"model":"m"}`}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("request (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int32{1, 2}, ids); d != "" {
		t.Errorf("Tokens() (-want +got):\n%s", d)
	}
}

func TestTokenSpans(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, answer string
		ids          []int32
		ends         []int
		unsupported  bool
		unavailable  bool
	}{
		"words":              {"hello world", `{"tokens":[{"id":1,"piece":"hello"},{"id":2,"piece":" world"}]}`, []int32{1, 2}, []int{5, 11}, false, false},
		"control token":      {"a<|im_end|>", `{"tokens":[{"id":1,"piece":"a"},{"id":2,"piece":"<|im_end|>"}]}`, []int32{1, 2}, []int{1, 11}, false, false},
		"bytes of a letter":  {"é", `{"tokens":[{"id":1,"piece":[195]},{"id":2,"piece":[169]}]}`, []int32{1, 2}, []int{1, 2}, false, false},
		"a space in front":   {"hello", `{"tokens":[{"id":1,"piece":" hello"}]}`, []int32{1}, []int{5}, false, false},
		"invalid bytes":      {"a\xff\xfeb", `{"tokens":[{"id":1,"piece":"a"},{"id":2,"piece":"�"},{"id":3,"piece":"�b"}]}`, []int32{1, 2, 3}, []int{1, 2, 4}, false, false},
		"bytes of a bad one": {"\xffb", `{"tokens":[{"id":1,"piece":[239,191]},{"id":2,"piece":[189]},{"id":3,"piece":"b"}]}`, []int32{1, 2, 3}, []int{1, 1, 2}, false, false},
		"good after bad":     {"\xffé", `{"tokens":[{"id":1,"piece":"�"},{"id":2,"piece":[195]},{"id":3,"piece":[169]}]}`, []int32{1, 2, 3}, []int{1, 2, 3}, false, false},
		"empty":              {"", `{"tokens":[]}`, []int32{}, []int{}, false, false},
		"another text":       {"Hello", `{"tokens":[{"id":1,"piece":"hello"}]}`, nil, nil, true, false},
		"text left over":     {"hello!", `{"tokens":[{"id":1,"piece":"hello"}]}`, nil, nil, true, false},
		"no byte":            {"a", `{"tokens":[{"id":1,"piece":[300]}]}`, nil, nil, false, true},
		"no text":            {"a", `{"tokens":[{"id":1,"piece":{}}]}`, nil, nil, false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]http.HandlerFunc{"/tokenize": answer(200, tt.answer)})
			ids, ends, err := client(t, s.URL, nil).TokenSpans(t.Context(), tt.text)
			if errors.Is(err, boundary.ErrUnsupported) != tt.unsupported || errors.Is(err, boundary.ErrUnavailable) != tt.unavailable ||
				(err != nil) != (tt.unsupported || tt.unavailable) {
				t.Fatalf("TokenSpans(%q) = %v, want unsupported %t, unavailable %t", tt.text, err, tt.unsupported, tt.unavailable)
			}
			if d := cmp.Diff(tt.ids, ids); d != "" {
				t.Errorf("TokenSpans(%q) ids (-want +got):\n%s", tt.text, d)
			}
			if d := cmp.Diff(tt.ends, ends); d != "" {
				t.Errorf("TokenSpans(%q) ends (-want +got):\n%s", tt.text, d)
			}
		})
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	var asked []string
	record := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			asked = append(asked, r.Method+" "+r.URL.RequestURI()+" "+string(b))
			_, _ = io.WriteString(w, body)
		}
	}
	s := serve(t, map[string]http.HandlerFunc{
		"/slots":   record(`[{"id":0,"n_ctx":4096,"is_processing":false,"n_prompt_tokens":17,"params":{"x":1}},{"id":1,"n_ctx":4096,"is_processing":true}]`),
		"/slots/1": record(`{"id_slot":1,"n_saved":10,"n_written":1000,"n_restored":9,"n_read":900,"n_erased":8}`),
	})
	c := client(t, s.URL, nil)
	slots, err := c.Slots(t.Context())
	want := []llamacpp.Slot{{ID: 0, ContextTokens: 4096, PromptTokens: 17}, {ID: 1, ContextTokens: 4096, Processing: true}}
	if d := cmp.Diff(want, slots); err != nil || d != "" {
		t.Errorf("Slots() = %v (-want +got):\n%s", err, d)
	}
	if idle, err := c.Idle(t.Context()); idle || err != nil {
		t.Errorf("Idle() with a busy slot = %t, %v, want false", idle, err)
	}
	if f, err := c.SaveSlot(t.Context(), 1, "a.bin"); f != (boundary.SlotFile{Tokens: 10, Bytes: 1000}) || err != nil {
		t.Errorf("SaveSlot() = %+v, %v, want 10 tokens in 1000 bytes", f, err)
	}
	if f, err := c.RestoreSlot(t.Context(), 1, "a.bin"); f != (boundary.SlotFile{Tokens: 9, Bytes: 900}) || err != nil {
		t.Errorf("RestoreSlot() = %+v, %v, want 9 tokens in 900 bytes", f, err)
	}
	if err := c.EraseSlot(t.Context(), 1); err != nil {
		t.Errorf("EraseSlot() = %v", err)
	}
	calls := []string{
		"GET /slots ", "GET /slots ", `POST /slots/1?action=save {"filename":"a.bin"}`, `POST /slots/1?action=restore {"filename":"a.bin"}`,
		"POST /slots/1?action=erase {}",
	}
	if d := cmp.Diff(calls, asked); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	for body, want := range map[string]bool{`[]`: false, `[{"id":0,"is_processing":false}]`: true} {
		s := serve(t, map[string]http.HandlerFunc{"/slots": answer(200, body)})
		if idle, err := client(t, s.URL, nil).Idle(t.Context()); idle != want || err != nil {
			t.Errorf("Idle() with %s = %t, %v, want %t", body, idle, err, want)
		}
	}
}

func TestEmbedder(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]http.HandlerFunc{"/v1/embeddings": func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&req)
		switch {
		case req.Input[0] == "longer":
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2,3]}]}`)
		case req.Input[0] == "elsewhere":
			_, _ = io.WriteString(w, `{"data":[{"index":4,"embedding":[1,2]}]}`)
		case req.Input[0] == "missing":
			_, _ = io.WriteString(w, `{"data":[]}`)
		case len(req.Input) == 2:
			_, _ = io.WriteString(w, `{"model":"e","data":[{"index":1,"embedding":[0,0]},{"index":0,"embedding":[0,-2]}]}`)
		default:
			_, _ = io.WriteString(w, `{"model":"e","data":[{"index":0,"embedding":[3,4]}]}`)
		}
	}})
	e, err := client(t, s.URL, nil).Embedder(t.Context())
	if err != nil || e.Model() != "e" || e.Dim() != 2 {
		t.Fatalf("Embedder() = %+v, %v, want model e of 2", e, err)
	}
	got, err := e.Embed(t.Context(), []string{"a", "b"})
	if d := cmp.Diff([][]float32{{0, -1}, {0, 0}}, got); err != nil || d != "" {
		t.Errorf("Embed(a, b) = %v (-want +got):\n%s", err, d)
	}
	if got, err := e.Embed(t.Context(), nil); got != nil || err != nil {
		t.Errorf("Embed() = %v, %v, want nothing", got, err)
	}
	for _, text := range []string{"longer", "elsewhere", "missing"} {
		if got, err := e.Embed(t.Context(), []string{text}); !errors.Is(err, boundary.ErrUnavailable) {
			t.Errorf("Embed(%s) = %v, %v, want ErrUnavailable", text, got, err)
		}
	}
	// What is known of the model is not asked for, and the texts carry what the model wants before them.
	var inputs []string
	asked := serve(t, map[string]http.HandlerFunc{"/v1/embeddings": func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&req)
		inputs = append(inputs, req.Input...)
		_, _ = io.WriteString(w, `{"model":"/models/e/e.Q8_0.gguf","data":[{"index":0,"embedding":[3,4]}]}`)
	}})
	known, err := client(t, asked.URL, nil).EmbedderWith(t.Context(), llamacpp.EmbedOptions{Model: "m", Dim: 2, QueryPrefix: "query: ", TextPrefix: "passage: "})
	if err != nil || known.Model() != "m" || known.Dim() != 2 || len(inputs) > 0 {
		t.Fatalf("EmbedderWith() = %+v, %v after the requests %q, want model m of 2 and none", known, err, inputs)
	}
	if v, err := known.EmbedQuery(t.Context(), "a"); err != nil || len(v) != 2 {
		t.Errorf("EmbedQuery(a) = %v, %v", v, err)
	}
	if v, err := known.Embed(t.Context(), []string{"b"}); err != nil || len(v) != 1 {
		t.Errorf("Embed(b) = %v, %v", v, err)
	}
	if d := cmp.Diff([]string{"query: a", "passage: b"}, inputs); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	if e, err := client(t, asked.URL, nil).Embedder(t.Context()); err != nil || e.Model() != "e.Q8_0.gguf" {
		t.Errorf("Embedder().Model() = %q, %v, want the file without its folder", e.Model(), err)
	}
	none := serve(t, map[string]http.HandlerFunc{"/v1/embeddings": answer(501, `{"error":{"code":501,"message":"start it with --embeddings"}}`)})
	if _, err := client(t, none.URL, nil).Embedder(t.Context()); !errors.Is(err, boundary.ErrUnsupported) {
		t.Errorf("Embedder() on a server without = %v, want ErrUnsupported", err)
	}
}
