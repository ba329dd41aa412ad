package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/embedded"
	"sakur4/receipt"
)

// folder drives a session whose turns are calls and results.
type folder struct {
	t   testing.TB
	s   *sakur4.Session
	n   int
	ids []sakur4.EpisodeID
}

func (f *folder) commit(tn sakur4.Turn) {
	f.t.Helper()
	c, err := f.s.Commit(f.t.Context(), tn)
	if err != nil {
		f.t.Fatal(err)
	}
	f.ids = append(f.ids, c.Episode)
}

// call commits a call, runs what it stands for, and commits its result.
func (f *folder) call(name string, run func() string) {
	f.t.Helper()
	f.n++
	id := fmt.Sprint("c", f.n)
	f.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: name, Arguments: "{}"}}})
	f.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: run()})
}

func (f *folder) window() *sakur4.Window {
	f.t.Helper()
	w, err := f.s.Window(f.t.Context(), sakur4.Head{System: "You are a careful engineer."})
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

func text(w *sakur4.Window) string {
	var b strings.Builder
	for _, m := range w.Messages {
		b.WriteString(m.Role + ": " + m.Content + "\n")
	}
	return b.String()
}

// TestFold opens a fold, works inside, closes it: its turns leave the prompt, its summary stands where it was opened, what was before is the same,
// and the whole trace is still there, also in another process and for folds inside folds.
func TestFold(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "fold.db")
	root := t.TempDir()
	openAt := func() *sakur4.Engine {
		eng, err := sakur4.Open(ctx, path, &sakur4.Options{ProjectRoot: root})
		if err != nil {
			t.Fatal(err)
		}
		return eng
	}
	eng := openAt()
	f := &folder{t: t, s: eng.Session("s")}
	f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find the slow query."})
	f.call("read_file", func() string { return "before the fold" })
	f.window()
	var outer, inner sakur4.FoldID
	f.call("memory_fold", func() string {
		id, err := f.s.Fold(ctx, "look at the logs", "a timestamp")
		if err != nil {
			t.Fatal(err)
		}
		outer = id
		return "fold opened: " + string(id)
	})
	w := f.window()
	opening := len(w.Messages)
	start := len(f.ids)
	f.call("read_log", func() string { return "log one, inside the outer fold" })
	f.window()
	f.call("memory_fold", func() string {
		id, err := f.s.Fold(ctx, "the second log", "")
		if err != nil {
			t.Fatal(err)
		}
		inner = id
		return "fold opened: " + string(id)
	})
	f.call("read_log", func() string { return "log two, inside the inner fold" })
	f.window()
	innerEnd := len(f.ids)
	f.call("memory_unfold", func() string {
		if err := f.s.Unfold(ctx, inner, "nothing in the second log"); err != nil {
			t.Fatal(err)
		}
		return "closed"
	})
	w = f.window()
	if got := text(w); strings.Contains(got, "log two") || !strings.Contains(got, "nothing in the second log") || !strings.Contains(got, "log one") {
		t.Fatalf("after the inner fold was closed:\n%s", got)
	}
	if n := w.Receipt.Tokens(receipt.FoldSummaries); n == 0 {
		t.Errorf("the receipt counts no fold summary:\n%s", w.Receipt)
	}
	end := len(f.ids)
	before := w.Messages[:opening-1]

	// Another process goes on.
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	eng = openAt()
	f.s = eng.Session("s")
	f.call("memory_unfold", func() string {
		if err := f.s.Unfold(ctx, outer, "the slow query is at 12:04"); err != nil {
			t.Fatal(err)
		}
		return "closed"
	})
	w = f.window()
	got := text(w)
	if strings.Contains(got, "log one") || strings.Contains(got, "second log") || !strings.Contains(got, "the slow query is at 12:04") || !strings.Contains(got, string(outer)) {
		t.Fatalf("after the outer fold was closed:\n%s", got)
	}
	for i, m := range before {
		if w.Messages[i].Content != m.Content {
			t.Errorf("message %d changed: %q, was %q", i, w.Messages[i].Content, m.Content)
		}
	}
	if w.Plan != nil || !strings.Contains(strings.Join(w.Receipt.Notes, "; "), string(outer)+" closed") {
		t.Errorf("the receipt does not name the break: %v", w.Receipt.Notes)
	}
	if again := f.window(); text(again) != got {
		t.Errorf("a second window differs:\n%s\nwas\n%s", text(again), got)
	}

	trace := func(id sakur4.FoldID) (ids []sakur4.EpisodeID) {
		for ep, err := range f.s.RecallFold(ctx, id) {
			if err != nil {
				t.Fatal(err)
			}
			if ep.Role != sakur4.RoleSystem {
				ids = append(ids, ep.ID)
			}
		}
		return ids
	}
	if got := trace(outer); !slices.Equal(got, f.ids[start:end]) {
		t.Errorf("RecallFold(outer) = %v, want %v", got, f.ids[start:end])
	}
	if got := trace(inner); !slices.Equal(got, f.ids[innerEnd-2:innerEnd]) {
		t.Errorf("RecallFold(inner) = %v, want %v", got, f.ids[innerEnd-2:innerEnd])
	}
	for _, id := range f.ids[start:end] {
		ep, err := eng.Episode(ctx, id)
		if err != nil || ep.Tier != evict.Referenced || ep.Fold == "" {
			t.Errorf("Episode(%s): tier %s, fold %q, %v", id, ep.Tier, ep.Fold, err)
		}
	}
	last := evict.Tier(0)
	for ev, err := range f.s.Evictions(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.To != ev.From+1 {
			t.Errorf("rung skipped: %+v", ev)
		}
		last = ev.To
	}
	if last != evict.Referenced {
		t.Errorf("the last rung taken is %s", last)
	}
	for _, c := range []struct {
		include bool
		want    bool
	}{{false, false}, {true, true}} {
		hits, err := eng.Recall(ctx, sakur4.Query{Text: "log one inside outer", IncludeFolded: c.include})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(hits.Items, func(h sakur4.Hit) bool { return strings.Contains(h.Text, "log one") })
		if found != c.want {
			t.Errorf("Recall with IncludeFolded %t finds the folded turn: %t", c.include, found)
		}
	}
	if err := f.s.Unfold(ctx, outer, "again"); !errors.Is(err, sakur4.ErrNoFold) {
		t.Errorf("Unfold of a closed fold: %v, want ErrNoFold", err)
	}
	if err := f.s.Unfold(ctx, "fold_none", ""); !errors.Is(err, sakur4.ErrNoFold) {
		t.Errorf("Unfold of an unknown fold: %v, want ErrNoFold", err)
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFoldKeepsTheUser: what the user says while a fold is open stays in the prompt, and an open inner fold closes with the outer one.
func TestFoldKeepsTheUser(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	eng := open(t, nil)
	f := &folder{t: t, s: eng.Session("s")}
	f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find the slow query."})
	id, err := f.s.Fold(ctx, "outside any call", "")
	if err != nil {
		t.Fatal(err)
	}
	f.call("read_log", func() string { return "inside" })
	if _, err := f.s.Fold(ctx, "never closed", ""); err != nil {
		t.Fatal(err)
	}
	f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Only the newest log, please."})
	f.call("read_log", func() string { return "inside too" })
	f.window()
	f.call("memory_unfold", func() string {
		if err := f.s.Unfold(ctx, id, "done"); err != nil {
			t.Fatal(err)
		}
		return "closed"
	})
	got := text(f.window())
	for _, want := range []string{"Find the slow query.", "Only the newest log, please.", "Result: done"} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "inside") {
		t.Errorf("the prompt still has the folded turns:\n%s", got)
	}
	for fold, err := range f.s.Folds(ctx) {
		if err != nil || fold.Summary == "" {
			t.Errorf("fold %s is open: %v", fold.ID, err)
		}
	}
}

// TestFoldClosedByOneOfManyCalls: calls that are open when a fold is closed stay with their results, whatever turn they are of.
func TestFoldClosedByOneOfManyCalls(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{true, false} {
		eng := open(t, nil)
		f := &folder{t: t, s: eng.Session("s")}
		f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "task"})
		id, err := f.s.Fold(t.Context(), "d", "g")
		if err != nil {
			t.Fatal(err)
		}
		f.call("read", func() string { return "inside" })
		a, b := sakur4.ToolCall{ID: "a", Name: "read", Arguments: "{}"}, sakur4.ToolCall{ID: "b", Name: "unfold", Arguments: "{}"}
		if same {
			f.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{a, b}})
		} else {
			f.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{a}})
			f.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{b}})
		}
		if err := f.s.Unfold(t.Context(), id, "done"); err != nil {
			t.Fatal(err)
		}
		f.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "a", Content: "result a"})
		f.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "b", Content: "result b"})
		got := text(f.window())
		if strings.Contains(got, "inside") || !strings.Contains(got, "result a") || !strings.Contains(got, "result b") || !strings.Contains(got, "Result: done") {
			t.Errorf("in one turn %t: the prompt after Unfold:\n%s", same, got)
		}
	}
}

// TestFoldWithInterruptedCalls: a call that never got its result does not keep a fold's turns in the prompt, whether a user turn or the agent closed it.
func TestFoldWithInterruptedCalls(t *testing.T) {
	t.Parallel()
	for _, byUser := range []bool{true, false} {
		eng := open(t, nil)
		f := &folder{t: t, s: eng.Session("s")}
		f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "task"})
		id, err := f.s.Fold(t.Context(), "d", "g")
		if err != nil {
			t.Fatal(err)
		}
		f.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}})
		if byUser {
			f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "stop that"})
		}
		if _, err := f.s.Window(t.Context(), sakur4.Head{CloseOpenCalls: true}); err != nil {
			t.Fatal(err)
		}
		f.call("read", func() string { return "work inside the fold" })
		f.call("unfold", func() string {
			if err := f.s.Unfold(t.Context(), id, "done"); err != nil {
				t.Fatal(err)
			}
			return "closed"
		})
		if got := text(f.window()); strings.Contains(got, "work inside") {
			t.Errorf("closed by a user turn %t: the prompt after Unfold:\n%s", byUser, got)
		}
		n := 0
		for _, err := range f.s.RecallFold(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n < 3 {
			t.Errorf("closed by a user turn %t: RecallFold yields %d turns", byUser, n)
		}
	}
}

// TestFoldTakesResultsWithTheirCalls: an agent may call again before the first result is in, and close the fold with the second call. The first result lies behind the turn
// that closes the fold, and goes with its call all the same: a chat with one without the other is none, and the session could never speak again.
func TestFoldTakesResultsWithTheirCalls(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	eng := openEngine(t, path, &sakur4.Options{Project: "p"})
	f := &folder{t: t, s: eng.Session("s")}
	f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
	id, err := f.s.Fold(t.Context(), "dig", "find it")
	if err != nil {
		t.Fatal(err)
	}
	f.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "a", Name: "bash", Arguments: "{}"}, {ID: "a2", Name: "bash", Arguments: "{}"}}})
	f.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "a2", Content: "the early result"})
	f.commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: "b", Name: "unfold", Arguments: "{}"}}})
	f.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "a", Content: "the late result"})
	inside := slices.Delete(slices.Clone(f.ids[1:]), 2, 3)
	if err := f.s.Unfold(t.Context(), id, "found"); err != nil {
		t.Fatal(err)
	}
	f.commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "b", Content: "folded"})
	for range 2 {
		w := f.window()
		if got := text(w); !strings.Contains(got, "folded") || !strings.Contains(got, "Result: found") || strings.Contains(got, "the late result") || strings.Contains(got, "the early result") {
			t.Errorf("the prompt is\n%s", got)
		}
		if err := strictChat(w.Messages); err != nil {
			t.Error(err)
		}
		f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "And?"})
	}
	var got []sakur4.EpisodeID
	for e, err := range f.s.RecallFold(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID)
		if e.Fold != id || e.Tier != evict.Referenced {
			t.Errorf("%s is of fold %q and %v", e.ID, e.Fold, e.Tier)
		}
	}
	if !slices.Equal(got, inside) {
		t.Errorf("RecallFold() = %q, want %q", got, inside)
	}
}

// hooked is a server during whose rendering something else happens, once.
type hooked struct {
	*embedded.Server
	hook atomic.Pointer[func()]
}

func (h *hooked) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	if f := h.hook.Swap(nil); f != nil {
		(*f)()
	}
	return h.Server.Render(ctx, req)
}

// TestFoldClosedWhileAPromptIsMade: a fold may be closed by another goroutine or process at any time. A compaction of the turns that have left with it is made anew, without them.
func TestFoldClosedWhileAPromptIsMade(t *testing.T) {
	t.Parallel()
	for _, forced := range []bool{true, false} {
		t.Run(fmt.Sprint("Compact ", forced), func(t *testing.T) {
			t.Parallel()
			srv := &hooked{Server: newServer(4096)}
			f := &folder{t: t, s: openEngine(t, ":memory:", &sakur4.Options{Project: "p", Backend: srv}).Session("s")}
			f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
			id, err := f.s.Fold(t.Context(), "dig", "find it")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				f.call("bash", func() string { return strings.Repeat(fmt.Sprint("word", i, " "), 60) })
			}
			unfold := func() {
				if err := f.s.Unfold(t.Context(), id, "found"); err != nil {
					t.Errorf("Unfold() = %v", err)
				}
			}
			srv.hook.Store(&unfold)
			if forced {
				if _, err := f.s.Compact(t.Context(), sakur4.Head{System: "You are a careful engineer."}, 0); err != nil {
					t.Errorf("Compact() = %v", err)
				}
			}
			if got := text(f.window()); srv.hook.Load() != nil || !strings.Contains(got, "Result: found") || strings.Contains(got, "word29") {
				t.Errorf("the prompt without the fold is\n%s", got)
			}
		})
	}
}
