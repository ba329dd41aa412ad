package evict_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
)

var update = flag.Bool("update", false, "write the plans of testdata/*.txt instead of comparing them")

// TestPick runs the cases of testdata/*.txt: a state, a line of dashes, the plan. Cases are separated by blank lines.
//
// The first line of a case is its name, then come "key value" lines for the input, then the items in prompt order:
// user, call, result, answer, note; with their tokens and flags. A call, an answer, a note and a user turn open an atom.
func TestPick(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob(testdata/*.txt) = %v, %v, want files", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, block := range strings.Split(strings.TrimSpace(string(raw)), "\n\n") {
				state, want, _ := strings.Cut(block+"\n", "----\n")
				got := runCase(t, state)
				out = append(out, state+"----\n"+got)
				name, _, _ := strings.Cut(state, "\n")
				if diff := cmp.Diff(want, got); diff != "" && !*update {
					t.Errorf("%s: Pick (-want +got):\n%s", name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(out, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func runCase(t *testing.T, state string) string {
	t.Helper()
	in := evict.Input{Window: 10000, Limit: 8750}
	pos, atom, group, breaks := 0, 0, -1, "all"
	for i, line := range strings.Split(strings.TrimSpace(state), "\n") {
		f := strings.Fields(line)
		if i == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		number := func() int {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return n
		}
		it := evict.Item{Tier: evict.Live}
		switch f[0] {
		case "window":
			in.Window = number()
			in.Limit = in.Window - in.Window/8
			continue
		case "head":
			in.HeadTokens = number()
			pos = in.HeadTokens
			continue
		case "note":
			if in.NoteTokens == 0 && len(in.Items) == 0 {
				in.NoteTokens = number()
				continue
			}
			it.Role = "system"
		case "unsent":
			in.Unsent = number()
			continue
		case "target":
			in.Target = number()
			continue
		case "noreply":
			in.NoReplyTokens = number()
			continue
		case "profile":
			in.Policy.Profile = f[1]
			continue
		case "breaks":
			breaks = f[1]
			continue
		case "shift":
			in.Shift = true
			continue
		case "force":
			in.Force = true
			continue
		case "drop":
			in.Policy.AllowDrop = true
			continue
		case "user":
			it.Role = "user"
			group = len(in.Items)
		case "call", "answer":
			it.Role = "assistant"
		case "result":
			it.Role, it.Tool = "tool", "read_file"
		default:
			t.Fatalf("unknown line %q", line)
		}
		if f[0] != "result" {
			atom++
		}
		it.Tokens = number()
		for _, flag := range f[2:] {
			key, value, _ := strings.Cut(flag, "=")
			n, _ := strconv.Atoi(value)
			switch key {
			case "mask":
				it.MaskedTokens = n
			case "ref":
				it.ReferencedTokens = n
			case "in":
				it.InDegree = n
			case "deps":
				it.Dependents = n
			case "masked":
				it.Tier = evict.Masked
			case "referenced":
				it.Tier = evict.Referenced
			case "superseded":
				it.Superseded = true
			case "droppable":
				it.Droppable = true
			case "root":
				it.Protect = "task root"
			case "newest":
				it.Protect = "newest user turn"
			case "open":
				it.Protect = "open call"
			case "tool":
				it.Protect = "protected tool"
			default:
				t.Fatalf("unknown flag %q in %q", flag, line)
			}
		}
		it.Episode = fmt.Sprintf("%s%d", f[0], len(in.Items))
		it.Atom, it.Group, it.Pos = atom, group, pos
		pos += it.Tokens
		in.Items = append(in.Items, it)
	}
	for i, it := range in.Items {
		in.Items[i].Age = len(in.Items) - 1 - i
		b := evict.Break{Item: i, Pos: it.Pos, Reuse: it.Pos}
		switch breaks {
		case "all":
		case "none":
			continue
		default:
			every, err := strconv.Atoi(breaks)
			if err != nil {
				t.Fatalf("breaks %q: %v", breaks, err)
			}
			b.Reuse = it.Pos / every * every
			b.Note = fmt.Sprintf("checkpoint at %d", b.Reuse)
		}
		in.Breaks = append(in.Breaks, b)
	}
	in.Total, in.SinceLast = pos, pos
	return printPlan(in)
}

func printPlan(in evict.Input) string {
	plan, err := evict.Pick(in)
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	fmt.Fprintf(&b, "%v: %d → %d, target %d, reached %v, floor %q\n", plan.Pressure, plan.Before, plan.After, plan.Target, plan.Reached, plan.Floor)
	fmt.Fprintf(&b, "%s\n", plan.Reason)
	if plan.Shift {
		fmt.Fprintf(&b, "smallest kept run %d\n", plan.MinRun)
	}
	for _, s := range plan.Steps {
		fmt.Fprintf(&b, "  %s %s\n", s.Episode, s.Reason)
	}
	for _, tr := range plan.Trims {
		fmt.Fprintf(&b, "  %s trimmed to %d, %d tokens reclaimed: %s gave way\n", tr.Episode, tr.Tokens, tr.Reclaimed, tr.Floor)
	}
	return b.String()
}
