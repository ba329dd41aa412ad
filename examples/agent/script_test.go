package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScripted(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name        string
		files       int
		args        []string
		turns       int
		compactions int
	}{
		{"defaults", 12, nil, scriptedTurns, 3},
		{"fewer_files_than_turns", 1, []string{"-turns", "60"}, 60, 3},
		{"small_window", 12, []string{"-window", "4096", "-turns", "40"}, 40, 5},
		{"seed", 12, []string{"-seed", "7", "-turns", "40"}, 40, 2},
		{"task", 12, []string{"-task", "Find the journal.", "-turns", "30", "-policy", "scripted", "-llama", ""}, 30, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			turns, sum := jsonRun(t, append([]string{"-root", tree(t, c.files)}, c.args...)...)
			wantHeld(t, sum, c.turns, c.compactions)
			if len(turns) != c.turns {
				t.Errorf("%d lines of turns, want %d", len(turns), c.turns)
			}
			if sum.Pins != 1 || sum.Facts == 0 || sum.Episodes < c.turns {
				t.Errorf("summary = %+v, want one pin, facts and an episode a turn", sum)
			}
			prompt, fresh := 0, 0
			for i, l := range turns {
				if l.Turn != i+1 || l.Prompt == nil || l.Cached == nil || l.Drift == nil || *l.Prompt != l.Used || (l.Plan != nil) != l.Compacted {
					t.Fatalf("turn line %d = %+v, want its number, the server's counts and no drift", i, l)
				}
				prompt += *l.Prompt
				fresh += l.New
			}
			if diff := cmp.Diff([]int{prompt, fresh}, []int{sum.Prompt, sum.New}); diff != "" {
				t.Errorf("prompt_tokens and new_tokens differ from the sums over the turns (-want +got):\n%s", diff)
			}
		})
	}
}

// TestScriptedIsDeterministic holds a run in memory to its inputs: files, seed and flags decide every count.
func TestScriptedIsDeterministic(t *testing.T) {
	t.Parallel()
	root := tree(t, 8)
	first := runAgent(t, "", "-root", root, "-turns", "30", "-json")
	second := runAgent(t, "", "-root", root, "-turns", "30", "-json")
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(output{})); first.code != 0 || diff != "" {
		t.Errorf("two runs = %d, %d; they differ (-first +second):\n%s", first.code, second.code, diff)
	}
	other := runAgent(t, "", "-root", root, "-turns", "30", "-json", "-seed", "9")
	if other.code != 0 || other.out == first.out {
		t.Errorf("run with another seed = %d, the same output: %t; want 0, false", other.code, other.out == first.out)
	}
}

// TestScriptedResumes runs one session in two processes' worth of engines.
func TestScriptedResumes(t *testing.T) {
	t.Parallel()
	root, db := tree(t, 10), filepath.Join(t.TempDir(), "a.db")
	_, first := jsonRun(t, "-root", root, "-db", db, "-turns", "25")
	wantHeld(t, first, 25, 1)
	turns, second := jsonRun(t, "-root", root, "-db", db, "-turns", "25")
	wantHeld(t, second, 25, 1)
	if turns[0].Turn != 26 || second.Episodes <= first.Episodes || second.Session != first.Session {
		t.Errorf("second run began at turn %d with %d episodes in %q, want turn 26, more than %d, %q", turns[0].Turn, second.Episodes, second.Session,
			first.Episodes, first.Session)
	}
}

func TestScriptedText(t *testing.T) {
	t.Parallel()
	got := runAgent(t, "", "-root", tree(t, 12), "-turns", "30")
	if got.code != 0 {
		t.Fatalf("agent = %d: %s", got.code, got.err)
	}
	for _, want := range []string{"turn 1: ", "turn 30: ", "compaction: ", "raw history", "proven in this run:", "  yes  every prompt was a valid chat"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("output holds no %q:\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "  NO  ") {
		t.Errorf("a promise did not hold:\n%s", got.out)
	}
}

func TestScriptedNeedsFiles(t *testing.T) {
	t.Parallel()
	got := runAgent(t, "", "-root", t.TempDir())
	if got.code != 1 || !strings.Contains(got.err, "no text file to explore") {
		t.Errorf("agent on an empty folder = %d, %q; want 1 and the reason", got.code, got.err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-policy", "clever"}, `"clever"`},
		{[]string{"-turns", "-1"}, "negative"},
		{[]string{"-fields", "[1]"}, "-fields"},
		{[]string{"stray"}, `"stray"`},
		{[]string{"recall", "-db", "x.db"}, "words"},
		{[]string{"plan"}, "-db"},
		{[]string{"-nonsense"}, "nonsense"},
	} {
		got := runAgent(t, "", c.args...)
		if got.code != 2 || !strings.Contains(got.err, c.want) {
			t.Errorf("agent %q = %d, %q; want 2 and %q", c.args, got.code, got.err, c.want)
		}
	}
}
