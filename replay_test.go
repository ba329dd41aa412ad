package sakur4_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sakur4"
	"sakur4/internal/turn"
)

// testData returns the folder of real inputs that SAKUR4_TEST_DATA names, else the one beside the project.
func testData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("SAKUR4_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "shared", "data")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("skipped: no test data")
	}
	return dir
}

// recorded is one turn of a recorded session.
type recorded struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Thinking  string `json:"thinking"`
	ToolName  string `json:"tool_name"`
	CallID    string `json:"tool_call_id"`
	ToolCalls []struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"tool_calls"`
}

func (r recorded) turn() sakur4.Turn {
	t := sakur4.Turn{Role: sakur4.Role(r.Role), Content: r.Content, Reasoning: r.Thinking, ToolCallID: r.CallID, ToolName: r.ToolName}
	for _, c := range r.ToolCalls {
		t.ToolCalls = append(t.ToolCalls, sakur4.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return t
}

func readSession(t testing.TB, path string) []recorded {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []recorded
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var r recorded
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatalf("%s line %d: %v", path, len(out)+1, err)
		}
		out = append(out, r)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func sessionFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testData(t), "sessions", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Skip("skipped: no test data")
	}
	return files
}

// TestReplaySessions replays recorded sessions turn by turn: every prompt is within budget and a valid chat, each grows by appending but at a
// compaction, and every turn comes back as it was.
func TestReplaySessions(t *testing.T) {
	t.Parallel()
	for _, file := range sessionFiles(t) {
		turns := readSession(t, file)
		for _, window := range []int{4096, 8192, 32768} {
			t.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(file), ".jsonl"), window), func(t *testing.T) {
				t.Parallel()
				replay(t, turns, window)
			})
		}
	}
}

func replay(t *testing.T, turns []recorded, window int) {
	ctx := t.Context()
	eng, err := sakur4.Open(ctx, ":memory:", &sakur4.Options{ProjectRoot: t.TempDir(), Window: window})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	s := eng.Session("replay")
	const rule = "never push to main without a review"
	if _, err := s.Pin(ctx, rule, sakur4.PinConstraint); err != nil {
		t.Fatal(err)
	}
	want := map[sakur4.EpisodeID]string{}
	var prev []string
	windows, plans, refused, prefilled, fresh, sent := 0, 0, 0, 0, 0, 0
	for i, r := range turns {
		if r.Role == "user" && r.Content == "" {
			refused++
			continue
		}
		c, err := s.Commit(ctx, r.turn())
		if err != nil {
			t.Fatalf("turn %d: Commit: %v", i, err)
		}
		want[c.Episode] = r.Content
		if i+1 == len(turns) || turns[i+1].Role != "assistant" {
			continue
		}
		w, err := s.Window(ctx, sakur4.Head{System: "You are a careful engineer."})
		var budget *sakur4.BudgetError
		switch {
		case errors.Is(err, sakur4.ErrPending), errors.Is(err, sakur4.ErrNoTurn):
			continue
		case errors.As(err, &budget):
			t.Fatalf("turn %d: %v", i, err)
		case err != nil:
			t.Fatalf("turn %d: Window: %v", i, err)
		}
		windows++
		if used := w.Receipt.Used; used > window-window/8 {
			t.Fatalf("turn %d: %d tokens of a window of %d", i, used, window)
		}
		msgs := make([]turn.Message, 0, len(w.Messages))
		raw := make([]string, 0, len(w.Messages))
		for _, m := range w.Messages {
			b, err := m.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			raw = append(raw, string(b))
			msgs = append(msgs, inner(m))
		}
		if err := turn.Validate(msgs); err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		if w.Plan != nil {
			plans++
		} else {
			for j, p := range prev {
				if j >= len(raw) || raw[j] != p {
					t.Fatalf("turn %d: message %d changed without a compaction", i, j)
				}
			}
		}
		if !strings.Contains(strings.Join(raw, "\n"), rule) {
			t.Fatalf("turn %d: the pin is not in the prompt", i)
		}
		prev = raw
		prefilled += w.Receipt.Used - w.Receipt.Cache.Predicted
		fresh += w.Receipt.New
		sent += w.Receipt.Used
	}
	for id, content := range want {
		ep, err := eng.Episode(ctx, id)
		if err != nil || ep.Content != content {
			t.Fatalf("Episode(%s): %d bytes of %d, %v", id, len(ep.Content), len(content), err)
		}
	}
	t.Logf("%d windows, %d compactions, %d empty user turns left out; %d tokens sent, %d new, %d prefilled: ratio %.2f", windows, plans, refused, sent, fresh, prefilled, float64(prefilled)/float64(fresh))
}
