package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sakur4/internal/llamatest"
)

// live starts a real server with a vocabulary of realistic counts.
func live(t *testing.T, opts llamatest.Options) *llamatest.Server {
	t.Helper()
	opts.Model.Vocab = llamatest.O200k
	opts.Context = 8192
	return llamatest.Start(t, opts)
}

// TestLiveScripted drives real servers: full attention, and a sliding window whose checkpoints have to be hit.
func TestLiveScripted(t *testing.T) {
	t.Parallel()
	root := tree(t, 20)
	for _, c := range []struct {
		name  string
		turns int
		opts  llamatest.Options
		args  []string
	}{
		{"full", 120, llamatest.Options{}, nil},
		{"sliding", 120, llamatest.Options{Model: llamatest.Model{Arch: llamatest.Sliding}, UBatch: 512, Checkpoints: 32, Spacing: 256},
			[]string{"-checkpoint-spacing", "256", "-ubatch", "512", "-checkpoints", "32"}},
		{"strict_template", 40, llamatest.Options{Model: llamatest.Model{Template: llamatest.Strict}}, nil},
		{"no_system_role", 40, llamatest.Options{Model: llamatest.Model{Template: llamatest.NoSystem}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := live(t, c.opts)
			_, sum := jsonRun(t, append([]string{"-llama", s.URL, "-root", root, "-turns", fmt.Sprint(c.turns)}, c.args...)...)
			wantHeld(t, sum, c.turns, 3)
			t.Logf("%d compactions, %d tokens prefilled for %d new ones", sum.Compactions, sum.Prefilled, sum.New)
		})
	}
}

// forcedCall is a response_format under which a model of random weights writes calls.
func forcedCall(t *testing.T, files int) string {
	t.Helper()
	var paths []string
	for i := range files {
		paths = append(paths, fmt.Sprintf("part%d/file%02d.txt", i%3, i))
	}
	shape := func(name string, args map[string]any) map[string]any {
		var required []string
		for _, key := range []string{"path", "offset", "limit", "query", "k"} {
			if args[key] != nil {
				required = append(required, key)
			}
		}
		return map[string]any{"type": "object", "required": []string{"name", "arguments"}, "additionalProperties": false, "properties": map[string]any{
			"name":      map[string]any{"const": name},
			"arguments": map[string]any{"type": "object", "required": required, "additionalProperties": false, "properties": args},
		}}
	}
	enum := func(values ...any) map[string]any { return map[string]any{"enum": values} }
	var anyPath []any
	for _, p := range paths {
		anyPath = append(anyPath, p)
	}
	schema := map[string]any{"oneOf": []any{
		shape("read_file", map[string]any{"path": enum(anyPath...), "offset": enum(1, 11, 21, 31), "limit": enum(10, 20, 25)}),
		shape("memory.recall", map[string]any{"query": enum("journal", "socket counts", "planner"), "k": enum(1, 2, 3)}),
	}}
	b, err := json.Marshal(map[string]any{"temperature": 8, "reasoning_format": "none", "response_format": map[string]any{"type": "json_schema",
		"json_schema": map[string]any{"name": "call", "schema": schema}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLiveModel lets a real server decide: a grammar makes calls of its gibberish.
func TestLiveModel(t *testing.T) {
	t.Parallel()
	const turns = 40
	// A small vocabulary: the grammar looks at all of it for every token.
	s := llamatest.Start(t, llamatest.Options{Context: 16384})
	got := runAgent(t, "", "-json", "-llama", s.URL, "-root", tree(t, 12), "-task", "Read on.", "-turns", fmt.Sprint(turns), "-max-tokens", "500",
		"-fields", forcedCall(t, 12))
	if !strings.Contains(got.err, errTurnLimit.Error()) {
		t.Fatalf("agent = %d, %s; want the turn limit", got.code, got.err)
	}
	lines, sum := parseRun(t, got.out)
	for _, l := range lines {
		if l.Drift == nil || *l.Drift != 0 {
			t.Errorf("turn %+v: want no drift", l)
		}
	}
	wantHeld(t, sum, turns, 1)
	if len(lines) != turns || sum.Episodes < 2*turns {
		t.Errorf("%d turns and %d episodes, want %d and a call and a result each", len(lines), sum.Episodes, turns)
	}
}

func TestLiveDoctor(t *testing.T) {
	t.Parallel()
	s := live(t, llamatest.Options{})
	got := runAgent(t, "", "doctor", "-llama", s.URL, "-root", tree(t, 1))
	if got.code != 0 || !strings.Contains(got.out, "any-token") {
		t.Errorf("doctor = %d, %s%s; want no problem and the geometry", got.code, got.out, got.err)
	}
}
