package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/llamatest"
)

func TestMain(m *testing.M) { os.Exit(llamatest.Main(m)) }

const sample = "testdata/tidegate.jsonl"

// runReplay runs the command and fails t unless it returns code.
func runReplay(t *testing.T, code int, args ...string) (out, diagnostics string) {
	t.Helper()
	var o, d bytes.Buffer
	if got := run(t.Context(), args, &o, &d); got != code {
		t.Fatalf("run(%q) = %d, want %d; it said\n%s", args, got, code, d.String())
	}
	return o.String(), d.String()
}

// decode reads the JSON lines of a run.
func decode(t *testing.T, out string) []result {
	t.Helper()
	var list []result
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var r result
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		list = append(list, r)
	}
}

// TestSample replays the sample under every policy and holds what each promises.
func TestSample(t *testing.T) {
	t.Parallel()
	args := []string{"-in", sample, "-window", "4096", "-json", "-oracle"}
	out, _ := runReplay(t, 0, args...)
	list := decode(t, out)
	var names []string
	by := map[string]result{}
	for _, r := range list {
		names = append(names, r.Policy)
		by[r.Policy] = r
		if r.InvalidChats != 0 {
			t.Errorf("%s: %d invalid chats, want none", r.Policy, r.InvalidChats)
		}
		if r.Compactions == 0 || r.CompactionReuse == nil || r.PromptTokens < r.PrefilledTokens || r.File != sample || r.Window != 4096 {
			t.Errorf("%s: %+v: want compactions and their reuse", r.Policy, r)
		}
	}
	if d := cmp.Diff(append(policyNames(), oracleName), names); d != "" {
		t.Errorf("policies (-want +got):\n%s", d)
	}
	for _, name := range []string{exactName, shiftName} {
		if by[name].PinsVerbatim != 1 || by[name].PrefillRatio > 1.2 || by[name].RecallHit == 0 {
			t.Errorf("%s: %+v: want all pins in every prompt, cheap compactions and recall", name, by[name])
		}
	}
	if a, b := by[truncateName], by[exactName]; a.PrefillRatio <= b.PrefillRatio || a.WorkingSetHit > b.WorkingSetHit {
		t.Errorf("truncate %+v is better than sakur4 %+v", a, b)
	}
	if o := by[oracleName]; o.PrefillRatio > 1.05 || o.WorkingSetHit < by[shiftName].WorkingSetHit {
		t.Errorf("oracle %+v is worse than sakur4-shift %+v", o, by[shiftName])
	}

	// The same again but for the time that it took.
	again, _ := runReplay(t, 0, "-in", sample, "-window", "4096", "-json", "-policy", summaryName+","+exactName+","+shiftName, "-oracle")
	if d := cmp.Diff(timeless(t, out)[3:], timeless(t, again)); d != "" {
		t.Errorf("the same run twice (-first +second):\n%s", d)
	}
}

// timeless returns the objects of a run without the seconds, and checks their keys.
func timeless(t *testing.T, out string) []map[string]any {
	t.Helper()
	keys := strings.Fields(`policy file window new_tokens prompt_tokens prefilled_tokens prefill_ratio compaction_reuse compactions verbatim_share
		working_set_hit recall_hit pins_verbatim invalid_chats seconds`)
	slices.Sort(keys)
	var list []map[string]any
	for line := range strings.Lines(out) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if d := cmp.Diff(keys, slices.Sorted(maps.Keys(m))); d != "" {
			t.Errorf("keys (-want +got):\n%s", d)
		}
		delete(m, "seconds")
		list = append(list, m)
	}
	return list
}

// TestTableAndPicture: the table names every policy once; the picture is well-formed, describes itself, and is the same for the same runs.
func TestTableAndPicture(t *testing.T) {
	t.Parallel()
	var pictures []string
	for range 2 {
		file := filepath.Join(t.TempDir(), "replay.svg")
		out, _ := runReplay(t, 0, "-in", sample, "-window", "6000", "-policy", "truncate, sakur4", "-svg", file)
		if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 4 || !strings.Contains(lines[2], truncateName) || !strings.Contains(lines[3], exactName) {
			t.Errorf("table:\n%s", out)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, string(data))
	}
	if pictures[0] != pictures[1] {
		t.Error("two runs give two pictures")
	}
	marks, described := 0, false
	for dec := xml.NewDecoder(strings.NewReader(pictures[0])); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("picture: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			described = described || e.Name.Local == "desc"
			for _, a := range e.Attr {
				if a.Name.Local == "fill" && a.Value == colorMark {
					marks++
				}
			}
		}
	}
	if !described || marks < 3 {
		t.Errorf("picture: described %t, %d marks; want a description, and marks of the legend and of a compaction in each panel", described, marks)
	}
}

// TestSliding simulates a server that can rewind to checkpoints only: it reuses less than one that can rewind anywhere.
func TestSliding(t *testing.T) {
	t.Parallel()
	full, _ := runReplay(t, 0, "-in", sample, "-window", "4096", "-policy", exactName, "-json")
	sliding, _ := runReplay(t, 0, "-in", sample, "-window", "4096", "-policy", exactName, "-json", "-sliding", "256", "-checkpoint-spacing", "512", "-ubatch", "256")
	if a, b := decode(t, full)[0], decode(t, sliding)[0]; a.PrefilledTokens >= b.PrefilledTokens {
		t.Errorf("prefilled: %d with full attention, %d with a sliding window; want more", a.PrefilledTokens, b.PrefilledTokens)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"no session":       {nil, "name one with -in"},
		"stray argument":   {[]string{"-in", "a", "b"}, `unexpected argument "b"`},
		"unknown policy":   {[]string{"-in", "a", "-policy", "forget"}, `-policy "forget" is none of drop-oldest, truncate`},
		"no policy":        {[]string{"-in", "a", "-policy", ","}, "-policy names none"},
		"small window":     {[]string{"-in", "a", "-window", "100"}, "-window 100: at least"},
		"target too high":  {[]string{"-in", "a", "-trigger", "50"}, "-target 0.55 is not below -trigger 0.5"},
		"trigger no share": {[]string{"-in", "a", "-trigger", "much"}, `"much" is no share`},
		"trigger too much": {[]string{"-in", "a", "-trigger", "120%"}, "is not between 0 and 100 %"},
		"negative count":   {[]string{"-in", "a", "-ubatch", "-1"}, "must not be negative"},
		"sliding server":   {[]string{"-in", "a", "-llama", "http://127.0.0.1:1", "-sliding", "512"}, "-sliding is for the simulator"},
		"unknown flag":     {[]string{"-x"}, "flag provided but not defined"},
	}
	for name, tt := range tests {
		if _, said := runReplay(t, 2, tt.args...); !strings.Contains(said, tt.want) {
			t.Errorf("%s: run(%q) said %q, want %q", name, tt.args, said, tt.want)
		}
	}
	for _, trigger := range []string{"0.85", "85", "85%", " 85 %"} {
		if c, err := parseFlags([]string{"-in", "a", "-trigger", trigger}, io.Discard); err != nil || c.trigger != 0.85 {
			t.Errorf("-trigger %q = %v, %v, want 0.85", trigger, c.trigger, err)
		}
	}
}

func TestInputErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = `{"role":"user","content":"a"}` + "\n" + `{"role":"assistant","content":"b"}` + "\n"
	empty := t.TempDir()
	tests := map[string]struct{ in, want string }{
		"no file":        {filepath.Join(dir, "none"), "no such file"},
		"empty folder":   {empty, "no *.jsonl in this folder"},
		"not JSON":       {file("a", good+"\n{\"role\":"), "a:4: unexpected end of JSON input"},
		"unknown role":   {file("b", `{"role":"boss"}`), `b:1: role "boss" is none of`},
		"wrong type":     {file("c", `{"role":"user","content":3}`), "c:1: json: cannot unmarshal number"},
		"nothing asked":  {file("d", `{"role":"assistant","content":"b"}`), "no assistant turn answers anything"},
		"nothing at all": {file("e", ""), "no assistant turn answers anything"},
	}
	for name, tt := range tests {
		if _, said := runReplay(t, 1, "-in", tt.in); !strings.Contains(said, tt.want) {
			t.Errorf("%s: replay -in %s said %q, want %q", name, tt.in, said, tt.want)
		}
	}
	// What cannot be recorded is left out and named.
	_, said := runReplay(t, 0, "-in", file("f", `{"role":"tool","tool_call_id":"x","content":"r"}`+"\n"+good), "-policy", truncateName)
	if !strings.Contains(said, "f:1: left out: ") {
		t.Errorf("an orphan result: said %q, want that line 1 is left out", said)
	}
	// A folder is read in the order of its names.
	folder := t.TempDir()
	for _, name := range []string{"b.jsonl", "a.jsonl", "c.txt"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := runReplay(t, 0, "-in", folder, "-policy", truncateName, "-json")
	var files []string
	for _, r := range decode(t, out) {
		files = append(files, filepath.Base(r.File))
	}
	if d := cmp.Diff([]string{"a.jsonl", "b.jsonl"}, files); d != "" {
		t.Errorf("files of a folder (-want +got):\n%s", d)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, []string{"-in", sample}, io.Discard, io.Discard); code != 1 {
		t.Errorf("run() with a cancelled context = %d, want 1", code)
	}
}
