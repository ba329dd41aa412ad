package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These tests are inside package main: a command cannot be imported.

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	// A server that the developer uses is none of the tests' business.
	_ = os.Unsetenv("SAKUR4_LLAMA_URL")
	os.Exit(m.Run())
}

// tree writes n files of about 60 lines of words that differ, and a JSON file, and returns their folder.
func tree(t *testing.T, n int) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	subjects := []string{"parser", "cache", "window", "socket", "planner", "journal", "digest"}
	verbs := []string{"rejects", "keeps", "measures", "forwards", "orders", "counts"}
	for i := range n {
		var b strings.Builder
		for line := range 60 {
			k := i*61 + line
			fmt.Fprintf(&b, "line %d of file %d: the %s %s value %d before the %s\n", line+1, i, subjects[k%7], verbs[k/7%6], k*k%9973, subjects[k/3%7])
		}
		write(fmt.Sprintf("part%d/file%02d.txt", i%3, i), b.String())
	}
	write("config.json", `{"name": "sample", "retries": 3, "limits": {"bytes": 4096, "lines": 60}}`+"\n")
	return root
}

// output is what a run wrote.
type output struct {
	code     int
	out, err string
}

func runAgent(t *testing.T, stdin string, args ...string) output {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, streams{strings.NewReader(stdin), &out, &errs})
	return output{code, out.String(), errs.String()}
}

// jsonRun runs the agent with -json and returns its turns and its summary.
func jsonRun(t *testing.T, args ...string) ([]turnLine, summary) {
	t.Helper()
	got := runAgent(t, "", append(args, "-json")...)
	if got.code != 0 {
		t.Fatalf("agent %q = %d, want 0; stderr: %s\nend of stdout: %s", args, got.code, got.err, lastLines(got.out, 2))
	}
	return parseRun(t, got.out)
}

func parseRun(t *testing.T, out string) ([]turnLine, summary) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var turns []turnLine
	for _, line := range lines[:len(lines)-1] {
		var l turnLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		turns = append(turns, l)
	}
	var end struct {
		Summary *summary `json:"summary"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Summary == nil {
		t.Fatalf("last line %q is no summary: %v", lines[len(lines)-1], err)
	}
	return turns, *end.Summary
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// wantHeld fails t unless every promise held and the run did what a session is made of.
func wantHeld(t *testing.T, s summary, turns, compactions int) {
	t.Helper()
	if !s.PinsVerbatim || !s.ByteIdentical || !s.AppendOnly || !s.ValidChats || !s.Predicted || s.DriftMax != 0 {
		t.Errorf("summary = %+v, want every promise held and no drift", s)
	}
	if s.Turns != turns || s.Compactions < compactions {
		t.Errorf("%d turns and %d compactions, want %d and at least %d", s.Turns, s.Compactions, turns, compactions)
	}
	if s.MaxShare <= 0 || s.MaxShare > 1 {
		t.Errorf("max_window_share = %v, want between 0 and 1", s.MaxShare)
	}
	if s.Prompt != s.Cached+s.Prefilled {
		t.Errorf("prompt_tokens %d, cached %d + prefilled %d: want equal", s.Prompt, s.Cached, s.Prefilled)
	}
}
