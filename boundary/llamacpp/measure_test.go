package llamacpp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveProbe measures the cache of real servers whose model file cannot be read, and holds it against what the file says.
func TestLiveProbe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arch llamatest.Arch
		args []string
		// same says that the header of the file tells the same.
		same bool
	}{
		"full attention":               {llamatest.Full, nil, true},
		"positions of several axes":    {llamatest.Axes, nil, true},
		"sliding window":               {llamatest.Sliding, nil, true},
		"sliding window, a full cache": {llamatest.Sliding, []string{"--swa-full"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tiny.gguf")
			if err := llamatest.ModelFile(path, llamatest.Model{Arch: tc.arch, Template: llamatest.ChatML}); err != nil {
				t.Fatal(err)
			}
			server := llamatest.Start(t, llamatest.Options{ModelPath: path, Context: 8192, SlotSave: true, Args: tc.args})
			told, err := client(t, server.URL, nil).Profile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if p, err := client(t, server.URL, nil).Profile(t.Context()); err != nil || p.Geometry.Kind != boundary.Unknown {
				t.Errorf("Profile() without a probe = %+v, %v, want an unknown shape", p.Geometry, err)
			}
			c := client(t, server.URL, &llamacpp.Options{Probe: 4096})
			got, err := c.Profile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(told.Geometry, got.Geometry); tc.same != (d == "") {
				t.Errorf("Profile() with a probe (-header +got):\n%s", d)
			}
			if !tc.same && got.Geometry.Kind != boundary.AnyToken {
				t.Errorf("Profile() with a probe = %+v, want any token", got.Geometry)
			}
			if slots, err := c.Slots(t.Context()); err != nil || slots[0].PromptTokens != 0 {
				t.Errorf("the probe has left %+v in the slot, %v", slots, err)
			}
			if _, changed, err := c.Refresh(t.Context()); changed || err != nil {
				t.Errorf("Refresh() = changed %t, %v", changed, err)
			}
		})
	}
}

// TestProbe tries servers that a probe must not touch, and such that answer it in odd ways: the shape stays unknown.
func TestProbe(t *testing.T) {
	t.Parallel()
	const empty = `[{"id":0,"n_ctx":8192,"is_processing":false,"n_prompt_tokens":0}]`
	reused := func(cached ...int) func(int, http.ResponseWriter) {
		return func(n int, w http.ResponseWriter) { _, _ = fmt.Fprintf(w, `{"timings":{"cache_n":%d}}`, cached[n]) }
	}
	for name, tc := range map[string]struct {
		slots string
		slot  int
		reply func(n int, w http.ResponseWriter)
		want  boundary.Geometry
		sent  int
	}{
		"any token":        {empty, 0, reused(0, 16), boundary.Geometry{Kind: boundary.AnyToken}, 2},
		"shift":            {empty, 0, reused(0, 935), boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1}, 2},
		"checkpoints":      {empty, 0, reused(0, 0), boundary.Geometry{Kind: boundary.Points}, 2},
		"odd":              {empty, 0, reused(0, 300), boundary.Geometry{}, 2},
		"not empty at all": {empty, 0, reused(500), boundary.Geometry{}, 1},
		"refused": {empty, 0, func(_ int, w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":{"code":400,"message":"no","type":"invalid_request_error"}}`))
		}, boundary.Geometry{}, 1},
		"warm":         {strings.Replace(empty, `tokens":0`, `tokens":70`, 1), 0, nil, boundary.Geometry{}, 0},
		"busy":         {strings.Replace(empty, "false", "true", 1), 0, nil, boundary.Geometry{}, 0},
		"no such slot": {empty, 3, nil, boundary.Geometry{}, 0},
		"no slots":     {"", 0, nil, boundary.Geometry{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			sent := 0
			server := serve(t, map[string]http.HandlerFunc{
				"/props": answer(200, `{"default_generation_settings":{"n_ctx":8192},"total_slots":1}`),
				"/slots": func(w http.ResponseWriter, r *http.Request) {
					if tc.slots == "" {
						w.WriteHeader(http.StatusNotImplemented)
						_, _ = w.Write([]byte(`{"error":{"code":501,"message":"off","type":"not_supported_error"}}`))
						return
					}
					_, _ = w.Write([]byte(tc.slots))
				},
				"/tokenize": func(w http.ResponseWriter, r *http.Request) {
					ids := make([]int, 2000)
					for i := range ids {
						ids[i] = i
					}
					_ = json.NewEncoder(w).Encode(map[string][]int{"tokens": ids})
				},
				"/apply-template": func(w http.ResponseWriter, r *http.Request) {
					_ = json.NewEncoder(w).Encode(map[string]string{"prompt": "p"})
				},
				"/completion": func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					tc.reply(sent, w)
					sent++
				},
			})
			c := client(t, server.URL, &llamacpp.Options{Probe: 1000, Slot: &tc.slot})
			p, err := c.Profile(t.Context())
			if d := cmp.Diff(tc.want, p.Geometry); err != nil || d != "" || sent != tc.sent {
				t.Errorf("Profile() = %v after %d requests, want %d (-want +got):\n%s", err, sent, tc.sent, d)
			}
			if (p.Rule != nil) != (tc.want.Kind == boundary.Points) {
				t.Errorf("Rule = %+v", p.Rule)
			}
		})
	}
}
