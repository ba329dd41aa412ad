package llamacpp_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
)

// chat is what a fake template is given.
type chat struct {
	Messages []struct {
		Role, Content string
		Reasoning     string `json:"reasoning_content"`
	}
	Tools  []json.RawMessage
	Kwargs map[string]bool `json:"chat_template_kwargs"`
}

// fakeTemplate renders a chat, or refuses it.
type fakeTemplate func(chat) (string, error)

// fake is a server with a template.
func fake(t *testing.T, props map[string]any, template fakeTemplate) *httptest.Server {
	t.Helper()
	raw, err := json.Marshal(props)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, map[string]http.HandlerFunc{
		"/props": answer(200, string(raw)),
		"/tokenize": func(w http.ResponseWriter, r *http.Request) {
			var req struct{ Content string }
			_ = json.NewDecoder(r.Body).Decode(&req)
			_, _ = fmt.Fprintf(w, `{"tokens":[%d,7]}`, len(req.Content))
		},
		"/apply-template": func(w http.ResponseWriter, r *http.Request) {
			var c chat
			_ = json.NewDecoder(r.Body).Decode(&c)
			text, err := template(c)
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = fmt.Fprintf(w, `{"error":{"code":500,"message":%q,"type":"server_error"}}`, err)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"prompt": text})
		},
	})
}

// wrapped renders each message between marks, as most templates do.
func wrapped(first, open, header, closing string) fakeTemplate {
	return func(c chat) (string, error) {
		s := first
		for _, m := range c.Messages {
			s += open + m.Role + header + m.Content + closing
		}
		for _, tool := range c.Tools {
			s += string(tool)
		}
		return s, nil
	}
}

func TestProfileTemplates(t *testing.T) {
	t.Parallel()
	inst := func(c chat) (string, error) {
		s := "<s>"
		for i, m := range c.Messages {
			switch {
			case m.Role == "system":
				return "", errors.New("no system role")
			case m.Role == "user" && i%2 == 0:
				s += "[INST] " + m.Content + "[/INST]"
			case m.Role == "assistant" && i%2 == 1:
				s += " " + m.Content + "</s>"
			default:
				return "", errors.New("roles must alternate")
			}
		}
		return s, nil
	}
	dropping := func(kwarg string) fakeTemplate {
		return func(c chat) (string, error) {
			s := ""
			for _, m := range c.Messages {
				s += "<|im_start|>" + m.Role + "\n"
				if c.Kwargs[kwarg] && m.Reasoning != "" {
					s += "<think>" + m.Reasoning + "</think>"
				}
				s += m.Content + "<|im_end|>\n"
			}
			return s, nil
		}
	}
	tests := map[string]struct {
		props    map[string]any
		template fakeTemplate
		want     boundary.Template
	}{
		"chatml": {map[string]any{"chat_template": "<|im_start|>…<|im_end|>", "eos_token": "<|im_end|>", "bos_token": ","}, wrapped("", "<|im_start|>", "\n", "<|im_end|>\n"),
			boundary.Template{UserHeader: "<|im_start|>user", ControlTexts: []string{"<|im_start|>", "<|im_end|>"}}},
		"a default system message": {map[string]any{"chat_template": "<|im_start|>"}, func(c chat) (string, error) {
			s := ""
			if c.Messages[0].Role != "system" {
				s = "<|im_start|>system\nYou help.<|im_end|>\n"
			}
			return wrapped(s, "<|im_start|>", "\n", "<|im_end|>\n")(c)
		}, boundary.Template{UserHeader: "<|im_start|>user", ControlTexts: []string{"<|im_start|>"}}},
		"headers with an end": {map[string]any{"chat_template": "<|start_header_id|><|end_header_id|><|eot_id|>", "bos_token": "<|begin_of_text|>"},
			wrapped("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"),
			boundary.Template{UserHeader: "<|start_header_id|>user<|end_header_id|>",
				ControlTexts: []string{"<|start_header_id|>", "<|begin_of_text|>", "<|end_header_id|>", "<|eot_id|>"}}},
		"instructions, alternating, no system": {map[string]any{"chat_template": "[INST] [/INST] [AVAILABLE_TOOLS] </s>", "bos_token": "<s>", "eos_token": "</s>"}, inst,
			boundary.Template{NoSystemRole: true, NoTools: true, UserHeader: "[INST]", ControlTexts: []string{"[AVAILABLE_TOOLS]", "[/INST]", "[INST]", "</s>", "<s>"}}},
		"turns": {map[string]any{"chat_template": "<start_of_turn> <end_of_turn>", "bos_token": "<bos>", "eos_token": "<eos>"},
			wrapped("<bos>", "<start_of_turn>", "\n", "<end_of_turn>\n"),
			boundary.Template{UserHeader: "<start_of_turn>user", ControlTexts: []string{"<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>"}}},
		"wide bars": {map[string]any{"chat_template": "<｜User｜><｜Assistant｜><｜end▁of▁sentence｜>"}, func(c chat) (string, error) {
			s := ""
			for _, m := range c.Messages {
				switch m.Role {
				case "user":
					s += "<｜User｜>" + m.Content
				case "assistant":
					s += "<｜Assistant｜>" + m.Content + "<｜end▁of▁sentence｜>"
				}
			}
			return s, nil
		}, boundary.Template{NoSystemRole: true, NoTools: true, UserHeader: "<｜User｜>",
			ControlTexts: []string{"<｜end▁of▁sentence｜>", "<｜Assistant｜>", "<｜User｜>"}}},
		"reasoning on demand": {nil, dropping("preserve_thinking"), boundary.Template{NoTools: true, UserHeader: "<|im_start|>user",
			PreservesReasoning: true, TemplateKwargs: json.RawMessage(`{"preserve_thinking":true}`)}},
		"refuses everything": {nil, func(chat) (string, error) { return "", errors.New("no") }, boundary.Template{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := client(t, fake(t, tt.props, tt.template).URL, nil).Profile(t.Context())
			if err != nil {
				t.Fatalf("Profile() = %v", err)
			}
			p.Template.Digest = ""
			if d := cmp.Diff(tt.want, p.Template); d != "" {
				t.Errorf("Profile().Template (-want +got):\n%s", d)
			}
		})
	}
}

// gguf writes the metadata of a model file: text and number values.
func gguf(t *testing.T, values ...any) string {
	t.Helper()
	b := []byte("GGUF")
	b = binary.LittleEndian.AppendUint32(b, 3)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(values)/2))
	text := func(s string) {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	for i := 0; i < len(values); i += 2 {
		text(values[i].(string))
		switch v := values[i+1].(type) {
		case string:
			b = binary.LittleEndian.AppendUint32(b, 8)
			text(v)
		case int:
			b = binary.LittleEndian.AppendUint32(b, 4)
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case []string:
			b = binary.LittleEndian.AppendUint32(b, 9)
			b = binary.LittleEndian.AppendUint32(b, 8)
			b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
			for _, s := range v {
				text(s)
			}
		case []int:
			b = binary.LittleEndian.AppendUint32(b, 9)
			b = binary.LittleEndian.AppendUint32(b, 5)
			b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
			for _, n := range v {
				b = binary.LittleEndian.AppendUint32(b, uint32(n))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProfileGeometry(t *testing.T) {
	t.Parallel()
	rule := func(r boundary.CheckpointRule) *boundary.CheckpointRule {
		r = r.WithDefaults()
		return &r
	}
	whole := boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1}
	points := boundary.Geometry{Kind: boundary.Points}
	tokens := []string{"a", "b"}
	damaged := filepath.Join(t.TempDir(), "damaged.gguf")
	if err := os.WriteFile(damaged, []byte("GGUF\x03\x00\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path     string
		vision   bool
		opts     llamacpp.Options
		geometry boundary.Geometry
		rule     *boundary.CheckpointRule
	}{
		"full attention":         {gguf(t, "general.architecture", "llama", "tokenizer.ggml.tokens", tokens, "tokenizer.ggml.token_type", []int{1, 1}), false, llamacpp.Options{}, whole, nil},
		"full attention, vision": {gguf(t, "general.architecture", "llama"), true, llamacpp.Options{}, boundary.Geometry{Kind: boundary.AnyToken}, nil},
		"positions of several axes": {gguf(t, "general.architecture", "qwen3vl", "qwen3vl.rope.dimension_sections", []int{24, 20, 20, 0}), false, llamacpp.Options{},
			boundary.Geometry{Kind: boundary.AnyToken}, nil},
		"positions of one axis":            {gguf(t, "general.architecture", "glm4", "glm4.rope.dimension_sections", []int{64, 0, 0, 0}), false, llamacpp.Options{}, whole, nil},
		"axes of another architecture":     {gguf(t, "general.architecture", "llama", "qwen3vl.rope.dimension_sections", []int{24, 20, 20, 0}), false, llamacpp.Options{}, whole, nil},
		"a rotation of its own each layer": {gguf(t, "general.architecture", "step35"), false, llamacpp.Options{}, boundary.Geometry{Kind: boundary.AnyToken}, nil},
		"too many axes":                    {gguf(t, "general.architecture", "qwen3vl", "qwen3vl.rope.dimension_sections", make([]int, 17)), false, llamacpp.Options{}, boundary.Geometry{}, nil},
		"sliding window": {gguf(t, "tokenizer.ggml.tokens", tokens, "gemma3.attention.sliding_window", 1024, "general.architecture", "gemma3"), false, llamacpp.Options{},
			points, rule(boundary.CheckpointRule{Window: 1024})},
		"sliding window with given settings": {gguf(t, "general.architecture", "gemma3", "gemma3.attention.sliding_window", 1024), false,
			llamacpp.Options{Rule: &boundary.CheckpointRule{Spacing: 256, Ubatch: 256}}, points, rule(boundary.CheckpointRule{Spacing: 256, Ubatch: 256, Window: 1024})},
		"sliding window started with --swa-full": {gguf(t, "general.architecture", "gemma3", "gemma3.attention.sliding_window", 1024), false,
			llamacpp.Options{Geometry: whole}, whole, nil},
		"points given, window read": {gguf(t, "general.architecture", "gemma3", "gemma3.attention.sliding_window", 1024), false,
			llamacpp.Options{Geometry: points}, points, rule(boundary.CheckpointRule{Window: 1024})},
		"a window of another architecture": {gguf(t, "general.architecture", "llama", "gemma3.attention.sliding_window", 1024), false, llamacpp.Options{}, whole, nil},
		"a window that is not used":        {gguf(t, "general.architecture", "qwen2", "qwen2.attention.sliding_window", 4096), false, llamacpp.Options{}, whole, nil},
		"recurrent by its keys":            {gguf(t, "general.architecture", "granitehybrid", "granitehybrid.ssm.conv_kernel", 4), false, llamacpp.Options{}, points, rule(boundary.CheckpointRule{})},
		"recurrent by its name":            {gguf(t, "general.architecture", "rwkv7"), false, llamacpp.Options{}, points, rule(boundary.CheckpointRule{})},
		"no file":                          {"/nonexistent/model.gguf", false, llamacpp.Options{}, boundary.Geometry{}, nil},
		"a folder":                         {t.TempDir(), false, llamacpp.Options{}, boundary.Geometry{}, nil},
		"a relative path":                  {"model.gguf", false, llamacpp.Options{}, boundary.Geometry{}, nil},
		"a damaged file":                   {damaged, false, llamacpp.Options{}, boundary.Geometry{}, nil},
		"settings without a file":          {"", false, llamacpp.Options{Rule: &boundary.CheckpointRule{Window: 512}}, points, rule(boundary.CheckpointRule{Window: 512})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			props := map[string]any{"model_path": tt.path, "modalities": map[string]bool{"vision": tt.vision}}
			s := fake(t, props, wrapped("", "<|im_start|>", "\n", "<|im_end|>\n"))
			p, err := client(t, s.URL, &tt.opts).Profile(t.Context())
			if err != nil {
				t.Fatalf("Profile() = %v", err)
			}
			if d := cmp.Diff(tt.geometry, p.Geometry); d != "" {
				t.Errorf("Profile().Geometry (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.rule, p.Rule); d != "" {
				t.Errorf("Profile().Rule (-want +got):\n%s", d)
			}
		})
	}
}

func TestProfileIsKeptUntilRefresh(t *testing.T) {
	t.Parallel()
	var asked, build atomic.Int64
	var down atomic.Bool
	s := serve(t, map[string]http.HandlerFunc{
		"/props": func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if down.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = fmt.Fprintf(w, `{"default_generation_settings":{"n_ctx":4096},"total_slots":4,"model_alias":"m","build_info":"b%d"}`, build.Load())
		},
		"/tokenize":       answer(200, `{"tokens":[1]}`),
		"/apply-template": answer(404, `{}`),
	})
	c := client(t, s.URL, nil)
	down.Store(true)
	if _, err := c.Profile(t.Context()); !errors.Is(err, boundary.ErrLoading) {
		t.Errorf("Profile() while loading = %v, want ErrLoading", err)
	}
	down.Store(false)
	p, err := c.Profile(t.Context())
	if err != nil || p.Window != 4096 || p.Slots != 4 || p.Model != "m" || p.Name != "llama.cpp" || p.Build != "b0" || !strings.HasPrefix(p.Tokenizer, "llama.cpp:") {
		t.Errorf("Profile() = %+v, %v", p, err)
	}
	build.Store(1)
	if again, err := c.Profile(t.Context()); err != nil || again.Build != "b0" || asked.Load() != 2 {
		t.Errorf("Profile() again = build %s, %v after %d requests, want the kept b0 after 2", again.Build, err, asked.Load())
	}
	if p, changed, err := c.Refresh(t.Context()); err != nil || !changed || p.Build != "b1" {
		t.Errorf("Refresh() = build %s, changed %t, %v, want b1, changed", p.Build, changed, err)
	}
	if p, changed, err := c.Refresh(t.Context()); err != nil || changed || p.Build != "b1" {
		t.Errorf("Refresh() again = build %s, changed %t, %v, want b1, unchanged", p.Build, changed, err)
	}
	down.Store(true)
	if _, _, err := c.Refresh(t.Context()); !errors.Is(err, boundary.ErrUnavailable) {
		t.Errorf("Refresh() of a stopped server = %v, want ErrUnavailable", err)
	}
	if p, err := c.Profile(t.Context()); err != nil || p.Build != "b1" {
		t.Errorf("Profile() after a failed Refresh = build %s, %v, want the kept b1", p.Build, err)
	}
}

// TestRefreshNotices: a server that was restarted otherwise is another one, and its template is not probed again while it is the same.
func TestRefreshNotices(t *testing.T) {
	t.Parallel()
	type server struct{ ctx, template, build, path, tokens string }
	first := server{"8192", "A", "b1", "/m/a.gguf", "[1]"}
	for _, tt := range []struct {
		name    string
		change  func(*server)
		changed bool
		probed  bool
	}{
		{"nothing", func(*server) {}, false, false},
		{"context", func(s *server) { s.ctx = "2048" }, true, false},
		{"template", func(s *server) { s.template = "B" }, true, true},
		{"build", func(s *server) { s.build = "b2" }, true, true},
		{"model", func(s *server) { s.path = "/m/b.gguf" }, true, true},
		{"vocabulary", func(s *server) { s.tokens = "[2]" }, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := first
			var rendered atomic.Int64
			s := serve(t, map[string]http.HandlerFunc{
				"/props": func(w http.ResponseWriter, r *http.Request) {
					_, _ = fmt.Fprintf(w, `{"default_generation_settings":{"n_ctx":%s},"total_slots":1,"model_path":%q,"build_info":%q,"chat_template":%q}`,
						now.ctx, now.path, now.build, now.template)
				},
				"/tokenize": func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, `{"tokens":%s}`, now.tokens) },
				"/apply-template": func(w http.ResponseWriter, r *http.Request) {
					rendered.Add(1)
					w.WriteHeader(http.StatusNotFound)
				},
			})
			c := client(t, s.URL, nil)
			before, err := c.Profile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rendered.Store(0)
			tt.change(&now)
			p, changed, err := c.Refresh(t.Context())
			if err != nil || changed != tt.changed || (rendered.Load() > 0) != tt.probed {
				t.Errorf("Refresh() = changed %t, %v, %d renders, want changed %t, probed %t", changed, err, rendered.Load(), tt.changed, tt.probed)
			}
			if !tt.probed && p.Template.Digest != before.Template.Digest {
				t.Errorf("Refresh() has template %q, want %q", p.Template.Digest, before.Template.Digest)
			}
			if fmt.Sprint(p.Window) != now.ctx {
				t.Errorf("Refresh() has a window of %d tokens, want %s", p.Window, now.ctx)
			}
		})
	}
}

func TestProfileOfOtherServers(t *testing.T) {
	t.Parallel()
	if _, err := client(t, serve(t, nil).URL, nil).Profile(t.Context()); !errors.Is(err, boundary.ErrUnsupported) {
		t.Errorf("Profile() without /props = %v, want ErrUnsupported", err)
	}
	s := serve(t, map[string]http.HandlerFunc{"/props": answer(200, `{"total_slots":1}`)})
	p, err := client(t, s.URL, nil).Profile(t.Context())
	if d := cmp.Diff(boundary.Profile{Slots: 1, Name: "llama.cpp", Model: "."}, p); err != nil || d != "" {
		t.Errorf("Profile() with /props alone = %v (-want +got):\n%s", err, d)
	}
	broken := serve(t, map[string]http.HandlerFunc{"/props": answer(200, `{}`), "/tokenize": func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "nope")
	}})
	if _, err := client(t, broken.URL, nil).Profile(t.Context()); !errors.Is(err, boundary.ErrUnavailable) {
		t.Errorf("Profile() with a broken /tokenize = %v, want ErrUnavailable", err)
	}
}
