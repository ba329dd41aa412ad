package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sakur4"
)

// TestStaleCaught: the script shows on a copy of a file that an outdated summary is caught, whatever the folder holds, and changes no file of it.
func TestStaleCaught(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, content, want, current string
	}{
		{"go", "pool.go", "package pool\n\n// Pool starts.\nfunc Pool(n int) int { return n }\n", "pool.go", "func Pool(changed int, n int) int"},
		{"json", "limits.json", `{"name": "x", "retries": 3}`, "limits.json", "4711"},
		{"neither", "notes.txt", "nothing but words\n", "sample.json", "4711"},
		{"go that does not parse", "broken.go", "not go at all\n", "sample.json", "4711"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			path := filepath.Join(root, c.file)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, sum := jsonRun(t, "-root", root, "-turns", "3")
			if sum.StaleCaught != 1 || sum.StaleSource != c.want || sum.StaleCurrent != c.current {
				t.Errorf("stale_caught = %d of %q, now %q; want 1 of %q, now %q", sum.StaleCaught, sum.StaleSource, sum.StaleCurrent, c.want, c.current)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != c.content {
				t.Errorf("%s holds %q after the run, %v", c.file, b, err)
			}
			if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
				t.Errorf("the folder holds %v after the run, %v", entries, err)
			}
		})
	}
}

// TestAtlasCommands runs a script whose interpretations go stale, and looks at them from outside.
func TestAtlasCommands(t *testing.T) {
	t.Parallel()
	root, db := tree(t, 2), filepath.Join(t.TempDir(), "a.db")
	jsonRun(t, "-root", root, "-db", db, "-turns", "40")
	report := func(command ...string) (r sakur4.StalenessReport) {
		t.Helper()
		got := runAgent(t, "", append(command, "-root", root, "-db", db, "-json")...)
		if got.code != 0 {
			t.Fatalf("agent %q = %d: %s", command, got.code, got.err)
		}
		if err := json.Unmarshal([]byte(got.out), &r); err != nil {
			t.Fatalf("agent %q wrote %q: %v", command, got.out, err)
		}
		return r
	}
	fresh := report("staleness")
	if fresh.Entries == 0 || fresh.Stale != 0 {
		t.Errorf("staleness = %+v, want entries and none stale", fresh)
	}
	if err := os.WriteFile(filepath.Join(root, "config.json"), []byte(`{"name": "other", "retries": 9, "limits": {"bytes": 1, "lines": 2}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stale := report("staleness")
	if stale.Stale == 0 || len(stale.Items) != stale.Stale || stale.Items[0].Current == "" {
		t.Errorf("staleness after an edit = %+v, want stale entries with their current values", stale)
	}
	if got := runAgent(t, "", "staleness", "-root", root, "-db", db); !strings.Contains(got.out, "are stale") || !strings.Contains(got.out, "now: ") {
		t.Errorf("staleness as text = %q", got.out)
	}
	got := runAgent(t, "", "dream", "-root", root, "-db", db, "-limit", "2", "-json")
	var r sakur4.DreamReport
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || r.Promoted+r.Regenerated+r.Retired != 2 {
		t.Errorf("dream = %d, %+v, %v; want two items", got.code, r, err)
	}
	if got := runAgent(t, "", "dream", "-root", root, "-db", db); got.code != 0 || !strings.Contains(got.out, "promoted") {
		t.Errorf("dream as text = %d, %q, %s", got.code, got.out, got.err)
	}
	if got := runAgent(t, "", "dream", "-db", db, "-summarize"); got.code != 2 || !strings.Contains(got.err, "-llama") {
		t.Errorf("dream -summarize without a server = %d, %q", got.code, got.err)
	}
	// A server that is not there is not known to be idle.
	if got := runAgent(t, "", "dream", "-root", root, "-db", db, "-llama", "http://127.0.0.1:1"); got.code != 1 || !strings.Contains(got.err, "idle") {
		t.Errorf("dream with a server that is gone = %d, %q", got.code, got.err)
	}
}

// TestPreambleNamesTheTools: the head tells of tools that there are, on numbered occasions.
func TestPreambleNamesTheTools(t *testing.T) {
	t.Parallel()
	text := sakur4.Preamble()
	if !strings.Contains(text, "\n1. ") || text != sakur4.Preamble() {
		t.Errorf("Preamble() = %q, want numbered occasions, the same each time", text)
	}
	known := map[string]bool{}
	for _, tool := range (&agent{}).toolset() {
		known[tool.name] = true
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		if (strings.HasPrefix(word, "memory_") || strings.HasPrefix(word, "context_") || strings.HasPrefix(word, "code_") || strings.HasPrefix(word, "sakur4_")) && !known[word] {
			t.Errorf("Preamble() names %s, which is no tool of the agent", word)
		}
	}
}
