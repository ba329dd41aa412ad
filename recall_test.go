package sakur4_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/internal/storetest"
)

// open opens an engine in memory for a test.
func open(t testing.TB, o *sakur4.Options) *sakur4.Engine {
	t.Helper()
	if o == nil {
		o = &sakur4.Options{}
	}
	if o.ProjectRoot == "" && o.Project == "" {
		o.ProjectRoot = t.TempDir()
	}
	eng, err := sakur4.Open(t.Context(), ":memory:", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return eng
}

// TestRecallLeavesOwnWordsOut: what was read from memory is recorded, gives no facts, and is not found again.
func TestRecallLeavesOwnWordsOut(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	s := eng.Session("s")
	commit := func(tn sakur4.Turn) sakur4.Committed {
		t.Helper()
		c, err := s.Commit(ctx, tn)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Why does the worker pool deadlock?"})
	for range 3 {
		hits, err := eng.Recall(ctx, sakur4.Query{Text: "worker pool deadlock"})
		if err != nil {
			t.Fatal(err)
		}
		if len(hits.Items) != 1 || hits.Items[0].Text != "Why does the worker pool deadlock?" {
			t.Fatalf("Recall = %+v, want the user's turn alone", hits.Items)
		}
		commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "r", Name: "memory_recall", Arguments: `{"id": "7"}`}}})
		c := commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "r", Content: hits.String()})
		if len(c.Facts) != 0 || c.Parser != "" {
			t.Fatalf("recalled text gave facts: %+v", c)
		}
		if !strings.Contains(hits.String(), hits.Items[0].ID) {
			t.Fatalf("Hits.String() names no id:\n%s", hits)
		}
	}
}

// TestRecallStopsEarlyWithTheSameAnswer: without a budget hits are looked at only until the answer is settled. With a budget that holds everything all are
// looked at, and the answer is the same.
func TestRecallStopsEarlyWithTheSameAnswer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	s := eng.Session("s")
	l := newLanguage(3)
	var last sakur4.EpisodeID
	for i := range 150 {
		turn := sakur4.Turn{Role: sakur4.RoleUser, Content: l.text(20 + l.random.IntN(200))}
		if i%4 == 3 {
			turn.Corrects = last
		}
		c, err := s.Commit(ctx, turn)
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			if _, err := s.Interpret(ctx, sakur4.EpisodeAnchor(c.Episode), l.text(40)); err != nil {
				t.Fatal(err)
			}
		}
		last = c.Episode
	}
	for i := range 60 {
		q := sakur4.Query{Text: l.text(40), K: 1 + i%9}
		got, err := eng.Recall(ctx, q)
		if err != nil {
			t.Fatalf("Recall(%+v) = %v", q, err)
		}
		q.Budget = 1 << 30
		want, err := eng.Recall(ctx, q)
		if err != nil {
			t.Fatalf("Recall(%+v) = %v", q, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Recall(%+v) without budget (-all looked at +stopped early):\n%s", q, diff)
		}
	}
}

// TestRecallCompletesTheIndex: what was recorded is taken into the index by the first search that finds it missing. A search that looks through it row by row finds the same, each
// time anew.
func TestRecallCompletesTheIndex(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	eng := openEngine(t, path, &sakur4.Options{Project: "p"})
	const turns = 30 // fewer than are indexed beside the commits
	for i := range turns {
		if _, err := eng.Session("s").Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprint("The lighthouse number ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, project := range []string{"", "p"} {
		if hits, err := eng.Recall(t.Context(), sakur4.Query{Text: "lighthouse", Project: project}); err != nil || len(hits.Items) == 0 {
			t.Fatalf("Recall() = %+v, %v", hits, err)
		}
		rows, err := storetest.Raw(t, path).Query(`SELECT watermark FROM fts_watermark WHERE name = 'episode'`)
		if err != nil || len(rows) != 1 || fmt.Sprint(rows[0][0]) != fmt.Sprint(turns) {
			t.Errorf("behind a search in project %q the index is complete up to %v, %v, want %d", project, rows, err, turns)
		}
	}
}
