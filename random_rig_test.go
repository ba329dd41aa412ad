package sakur4_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/embedded"
	"sakur4/internal/store"
)

// source reads decisions from bytes, so that one decoder serves the seeded test and the fuzzer. Behind the last byte it gives zeros.
type source struct {
	data []byte
	at   int
}

func (s *source) done() bool { return s.at >= len(s.data) }

func (s *source) byte() byte {
	if s.done() {
		return 0
	}
	s.at++
	return s.data[s.at-1]
}

// n returns a number below n.
func (s *source) n(n int) int { return int(s.byte()) % n }

// setup is how an engine is opened. Reopening changes it.
type setup struct {
	backend    int // tokens in thousands of the server's context
	kind       boundary.Kind
	vocabulary int // 0 bytes, 1 o200k, 2 cl100k
	window     int // Options.Window
	reserve    int
	tokenizer  int // of the options: 0 o200k, 1 cl100k
	policy     int
	shift      bool // Options.KVShift
	template   int  // 1: no system role, 2: no places of tokens and no known user header; it stays with the session
}

func (s *source) setup() setup {
	u := setup{kind: boundary.AnyToken, vocabulary: s.n(3), tokenizer: s.n(2)}
	policy := s.byte()
	u.policy, u.shift = int(policy)%6, int(policy)/6%2 == 1
	if s.n(3) == 0 {
		u.kind = boundary.Points
	}
	u.backend = []int{1500, 2500, 4000, 8000, 16000}[s.n(5)]
	if u.vocabulary == 0 {
		u.backend *= 3
	}
	switch s.n(4) {
	case 0:
		u.window = u.backend * 3 / 4
	case 1:
		u.window = u.backend * 2 // the server's own is smaller
	}
	if s.n(4) == 0 {
		u.reserve = u.backend / 5
	}
	return u
}

// limits returns the context and what a prompt may have of it, as the options describe it.
func (u setup) limits() (window, limit int) {
	window = u.backend
	if u.window > 0 {
		window = min(window, u.window)
	}
	reserve := u.reserve
	if reserve == 0 {
		reserve = window / 8
	}
	return window, window - reserve
}

func (u setup) policyValue() *evict.Policy {
	switch u.policy {
	case 1:
		return &evict.Policy{Profile: evict.WindowFirst}
	case 2:
		return &evict.Policy{Profile: evict.Balanced, AllowDrop: true}
	case 3:
		return &evict.Policy{Profile: evict.CacheFirst, ProtectedTools: []string{"read"}}
	case 4:
		return &evict.Policy{KeepRecent: 0.3, MaxResult: 0.4}
	}
	return nil
}

func (u setup) local() sakur4.Tokenizer {
	if u.tokenizer == 1 {
		return sakur4.CL100kBase()
	}
	return sakur4.O200kBase()
}

func (u setup) server() *embedded.Server {
	cfg := embedded.Config{Window: u.backend, Kind: u.kind, Rule: boundary.CheckpointRule{Spacing: 256, Ubatch: 128, Window: 256}}
	switch u.vocabulary {
	case 1:
		cfg.Tokenizer = sakur4.O200kBase()
	case 2:
		cfg.Tokenizer = sakur4.CL100kBase()
	}
	return embedded.New(cfg)
}

var errFlaky = errors.New("server is down")

// flakyServer is a server some of whose answers fail: the calls from after on, fails of them.
type flakyServer struct {
	*embedded.Server
	after, fails int
	template     int
	seen         bool // its profile has been told
}

func (f *flakyServer) fail() error {
	if f.after > 0 {
		f.after--
		return nil
	}
	if f.fails > 0 {
		f.fails--
		return errFlaky
	}
	return nil
}

func (f *flakyServer) Profile(ctx context.Context) (boundary.Profile, error) {
	if err := f.fail(); err != nil {
		return boundary.Profile{}, err
	}
	f.seen = true
	p, err := f.Server.Profile(ctx)
	switch f.template {
	case 1:
		p.Template.NoSystemRole = true
	case 2:
		p.Template.UserHeader = ""
	}
	return p, err
}

func (f *flakyServer) Render(ctx context.Context, r boundary.RenderRequest) (string, error) {
	if err := f.fail(); err != nil {
		return "", err
	}
	return f.Server.Render(ctx, r)
}

func (f *flakyServer) Tokens(ctx context.Context, text string) ([]int32, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Server.Tokens(ctx, text)
}

func (f *flakyServer) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	if err := f.fail(); err != nil {
		return nil, nil, err
	}
	if f.template == 2 {
		return nil, nil, boundary.ErrUnsupported
	}
	return f.Server.TokenSpans(ctx, text)
}

// rig is an engine on a store of its own, with all that is injected into it.
type rig struct {
	t      testing.TB
	path   string
	setup  setup
	server *flakyServer
	eng    *sakur4.Engine
	other  *sakur4.Engine // a second engine on the same file, nil if it is not open
	second *flakyServer   // what the second engine sees of the server
	ids    uint64
	clock  *time.Time
	raw    *store.Raw
}

func newRig(t testing.TB, u setup, clock *time.Time) *rig {
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "s.db"), setup: u, server: &flakyServer{Server: u.server(), template: u.template}, clock: clock}
	r.eng = r.open(r.server)
	raw, err := store.OpenRaw(t.Context(), r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.raw = raw
	t.Cleanup(func() {
		r.close()
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) open(server *flakyServer) *sakur4.Engine {
	e, err := sakur4.Open(r.t.Context(), r.path, &sakur4.Options{Project: "p", Backend: server, Tokenizer: r.setup.local(), Window: r.setup.window,
		Reserve: r.setup.reserve, KVShift: r.setup.shift, Policy: r.setup.policyValue(), Now: func() time.Time { return *r.clock },
		NewID: func() uint64 { r.ids++; return r.ids }})
	if err != nil {
		r.t.Fatalf("Open: %v", err)
	}
	return e
}

func (r *rig) close() {
	for _, e := range []*sakur4.Engine{r.eng, r.other} {
		if e == nil {
			continue
		}
		if err := e.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	}
	r.eng, r.other = nil, nil
}

// reopen closes all engines and opens one as u describes. A server of the same kind lives on.
func (r *rig) reopen(u setup) {
	r.close()
	if u.backend != r.setup.backend || u.kind != r.setup.kind || u.vocabulary != r.setup.vocabulary {
		r.server = &flakyServer{Server: u.server(), template: u.template}
	}
	r.server.seen = false
	r.setup = u
	r.eng = r.open(r.server)
}

// fail lets the server fail, for both engines.
func (r *rig) fail(after, fails int) {
	for _, s := range []*flakyServer{r.server, r.second} {
		if s != nil {
			s.after, s.fails = after, fails
		}
	}
}

func (r *rig) session(other bool) *sakur4.Session {
	if !other {
		return r.eng.Session("s")
	}
	if r.other == nil {
		r.second = &flakyServer{Server: r.server.Server, template: r.server.template, after: r.server.after, fails: r.server.fails}
		r.other = r.open(r.second)
	}
	return r.other.Session("s")
}

// version tells whether anything was written that a call could write; filling the index and the ledger does not count.
func (r *rig) version() any {
	rows, err := r.raw.Query(`
SELECT
  (SELECT coalesce(max(seq), 0) FROM episodic_stream) || '; ' ||
  (SELECT group_concat(name || ' ' || value, '; ') FROM meta WHERE name LIKE 'rows of %' AND name <> 'rows of symbolic_fact_version') || '; ' ||
  (SELECT coalesce(group_concat(session_id || ' ' || generation || ' ' || seal, '; '), '') FROM render_state) || '; ' ||
  (SELECT coalesce(group_concat(first || ' ' || last || ' ' || eviction_tier, '; '), '') FROM episode_tier) || '; ' ||
  (SELECT coalesce(sum(observed), 0) FROM receipt) || '; ' ||
  (SELECT coalesce(sum(closed_seq), 0) FROM folds) || '; ' ||
  (SELECT coalesce(sum(retired), 0) FROM anchor_set) || '; ' ||
  (SELECT coalesce(sum(placed), 0) FROM note) || '; ' ||
  (SELECT count(*) FROM dependency_graph_edge)`)
	if err != nil || len(rows) != 1 || rows[0][0] == nil {
		r.t.Fatalf("version: %v %v", rows, err)
	}
	return rows[0][0]
}

// promptIDs returns the size of the prompt that a server makes of a window.
func promptIDs(t testing.TB, server *embedded.Server, ms []sakur4.Message, tools json.RawMessage) []int32 {
	text, err := server.Render(context.Background(), boundary.RenderRequest{Messages: sakur4.MarshalMessages(ms), Tools: tools, GenerationPrompt: true})
	if err != nil {
		t.Fatalf("the server refuses the prompt: %v\n%s", err, sakur4.MarshalMessages(ms))
	}
	ids, err := server.Tokens(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// asText returns a value, or the error that came in its place, as text that two engines must agree on.
func asText(v any, err error) string {
	if err != nil {
		return fmt.Sprintf("error: %T %v", err, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "unmarshalable: " + err.Error()
	}
	return string(b)
}
