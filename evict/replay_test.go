package evict_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sakur4/evict"
)

// recorded is one line of a recorded session.
type recorded struct {
	Role, Content string
	ToolName      string `json:"tool_name"`
}

// readSession returns a session's turns as items; a token is taken for four bytes, a message's frame for six tokens.
func readSession(t *testing.T, file string) []evict.Item {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var items []evict.Item
	atom, group := 0, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var turn recorded
		raw := map[string]json.RawMessage{}
		if err := json.Unmarshal(lines.Bytes(), &raw); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := json.Unmarshal(lines.Bytes(), &turn); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		size := (len(turn.Content)+len(raw["tool_calls"]))/4 + 6
		it := evict.Item{Episode: fmt.Sprintf("ep_%d", len(items)), Role: turn.Role, Tool: turn.ToolName, Seq: int64(len(items)), Tier: evict.Live}
		switch turn.Role {
		case "user":
			group = len(items)
			atom++
		case "tool":
			it.MaskedTokens, it.ReferencedTokens = 90, 30
		case "assistant":
			atom++
		default:
			continue
		}
		it.Tokens, it.Atom, it.Group = size, atom, group
		items = append(items, it)
	}
	return items
}

// replay runs a session through a window and counts what the server has to process. rewind maps a position to what can be reused before it.
type replay struct {
	window  int
	profile string
	rewind  func(pos int) int
	shift   bool
}

func (r replay) run(t *testing.T, session []evict.Item) (fresh, prefilled, compactions, worst int) {
	t.Helper()
	const head, note = 3000, 40
	var items []evict.Item
	total, held, since := head, 0, 0
	for n, it := range session {
		if it.Tokens > r.window/8 {
			it.Tokens = r.window / 8
		}
		items = append(items, it)
		total += it.Tokens
		since += it.Tokens
		fresh += it.Tokens
		next := n+1 < len(session) && session[n+1].Role == "assistant"
		if !next || it.Role == "assistant" {
			continue
		}
		in := evict.Input{
			Items: items, Total: total, Window: r.window, Limit: r.window - r.window/8, HeadTokens: head, NoteTokens: note, NoReplyTokens: 8, SinceLast: since,
			Unsent: total - held, Shift: r.shift, Policy: evict.Policy{Profile: r.profile},
		}
		newest := 0
		pos := head
		for i := range items {
			items[i].Pos, items[i].Age, items[i].Protect = pos, len(items)-1-i, ""
			if items[i].Role == "user" {
				newest = i
			}
			in.Breaks = append(in.Breaks, evict.Break{Item: i, Pos: pos, Reuse: min(r.rewind(pos), held)})
			pos += items[i].Tokens
		}
		items[newest].Protect = "newest user turn"
		items[0].Protect = "task root"
		plan, err := evict.Pick(in)
		if err != nil {
			t.Fatalf("turn %d: Pick = %v", n, err)
		}
		if plan.Steps == nil && plan.Trims == nil {
			prefilled += total - held
			held = total
			continue
		}
		compactions++
		prefilled += plan.Prefilled
		worst = max(worst, plan.Prefilled)
		items = apply(items, plan, in)
		total, held, since = plan.After, plan.After, 0
	}
	return fresh, prefilled, compactions, worst
}

// apply carries a plan out. The note goes to the last item.
func apply(items []evict.Item, plan evict.Plan, in evict.Input) []evict.Item {
	tiers, sizes := map[string]evict.Tier{}, map[string]int{}
	note := 0
	for _, s := range plan.Steps {
		tiers[s.Episode] = s.To
		sizes[s.Episode] += s.Tokens
		if s.To == evict.Archived {
			note = in.NoteTokens
		}
	}
	for _, tr := range plan.Trims {
		sizes[tr.Episode] += tr.Reclaimed
	}
	var out []evict.Item
	for _, it := range items {
		if tier, ok := tiers[it.Episode]; ok {
			it.Tier = tier
		}
		it.Tokens -= sizes[it.Episode]
		if it.Tier <= evict.Referenced || it.Tokens > 0 {
			it.Tier = min(it.Tier, evict.Referenced)
			out = append(out, it)
		}
	}
	out[len(out)-1].Tokens += note
	// Groups are indexes into the items.
	group := 0
	for i := range out {
		if out[i].Role == "user" {
			group = i
		}
		out[i].Group = group
	}
	return out
}

// TestReplay: on recorded sessions a late break costs little more than the new tokens themselves.
func TestReplay(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(os.Getenv("SAKUR4_TEST_DATA"), "sessions", "*.jsonl"))
	if os.Getenv("SAKUR4_TEST_DATA") == "" || len(files) == 0 {
		t.Skip("skipped: no test data; set SAKUR4_TEST_DATA to the folder that holds sessions/*.jsonl")
	}
	anyToken := func(pos int) int { return pos }
	for _, r := range []struct {
		name string
		replay
		most float64
	}{
		{"any token, 32k, cache first", replay{32768, evict.CacheFirst, anyToken, false}, 1.2},
		{"any token, 64k, cache first", replay{65536, evict.CacheFirst, anyToken, false}, 1.2},
		{"any token, 32k, window first", replay{32768, evict.WindowFirst, anyToken, false}, 1.15},
		{"any token, 16k, cache first", replay{16384, evict.CacheFirst, anyToken, false}, 1.25},
		{"shift, 32k, cache first", replay{32768, evict.CacheFirst, anyToken, true}, 1.02},
		{"points every 2048, 32k, balanced", replay{32768, evict.Balanced, func(pos int) int { return pos / 2048 * 2048 }, false}, 1.25},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, file := range files {
				session := readSession(t, file)
				fresh, prefilled, compactions, worst := r.run(t, session)
				ratio := float64(prefilled) / float64(fresh+3000)
				t.Logf("%s: %d turns, %d new tokens, %d prefilled (%.3f a new one), %d compactions, the worst prefilled %d", filepath.Base(file), len(session), fresh, prefilled, ratio, compactions, worst)
				if ratio > r.most {
					t.Errorf("%s: %.3f tokens prefilled a new one, want at most %.2f", filepath.Base(file), ratio, r.most)
				}
			}
		})
	}
}
