package sakur4_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sakur4"
	"sakur4/boundary"
)

// These tests hold what random sessions found, each in as few steps as it takes.

// found opens an engine on a file with a server of that many tokens, counted as o200k.
func found(t *testing.T, tokens int) (*rig, *sakur4.Session) {
	t.Helper()
	clock := time.Unix(1_700_000_000, 0).UTC()
	r := newRig(t, setup{backend: tokens, kind: boundary.AnyToken, vocabulary: 1}, &clock)
	return r, r.session(false)
}

func mustCommit(t *testing.T, s *sakur4.Session, turns ...sakur4.Turn) []sakur4.Committed {
	t.Helper()
	var out []sakur4.Committed
	for _, x := range turns {
		c, err := s.Commit(t.Context(), x)
		if err != nil {
			t.Fatalf("Commit(%s %.40q) = %v", x.Role, x.Content, err)
		}
		out = append(out, c)
	}
	return out
}

func mustWindow(t *testing.T, s *sakur4.Session, h sakur4.Head) *sakur4.Window {
	t.Helper()
	w, err := s.Window(t.Context(), h)
	if err != nil {
		t.Fatalf("Window() = %v", err)
	}
	if err := strictChat(w.Messages); err != nil {
		t.Fatalf("Window(): %v\n%s", err, outline(w.Messages))
	}
	return w
}

func user(text string) sakur4.Turn { return sakur4.Turn{Role: sakur4.RoleUser, Content: text} }

func calling(ids ...string) sakur4.Turn {
	t := sakur4.Turn{Role: sakur4.RoleAssistant}
	for _, id := range ids {
		t.ToolCalls = append(t.ToolCalls, sakur4.ToolCall{ID: id, Name: "read", Arguments: "{}"})
	}
	return t
}

func result(id, text string) sakur4.Turn {
	return sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: text}
}

func TestResultsStandInTheOrderOfTheirCalls(t *testing.T) {
	t.Parallel()
	_, s := found(t, 4000)
	mustCommit(t, s, user("go"), calling("a", "b", "c"), result("c", "3"), result("a", "1"), result("b", "2"))
	var got []string
	for _, m := range mustWindow(t, s, sakur4.Head{}).Messages {
		if m.Role == "tool" {
			got = append(got, m.Content)
		}
	}
	if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("results = %q, want %q", got, want)
	}
}

// TestResultTakesItsCallsNameFromAnotherEngine: the first engine knows only the older call of that id when it records the result of the newer.
func TestResultTakesItsCallsNameFromAnotherEngine(t *testing.T) {
	t.Parallel()
	r, s := found(t, 4000)
	older, newer := calling("x"), calling("x")
	newer.ToolCalls[0].Name = "run"
	mustCommit(t, s, user("go"), older)
	mustCommit(t, r.session(true), newer)
	c := mustCommit(t, s, result("x", "done"))[0]
	e, err := r.eng.Episode(t.Context(), c.Episode)
	if err != nil || e.ToolName != "run" {
		t.Errorf("ToolName = %q, %v, want %q", e.ToolName, err, "run")
	}
}

func TestCloseMarkIsEscapedInEverySpelling(t *testing.T) {
	t.Parallel()
	_, s := found(t, 4000)
	const mark = "</sakur4:note >"
	if _, err := s.Pin(t.Context(), "a "+mark, sakur4.PinConstraint); !errors.Is(err, sakur4.ErrInvalidPin) {
		t.Errorf("Pin(%q) = %v, want %v", mark, err, sakur4.ErrInvalidPin)
	}
	mustCommit(t, s, user(mark))
	if w := mustWindow(t, s, sakur4.Head{}); strings.Contains(w.Messages[0].Content, mark) || w.Receipt.EscapedMarks != 1 {
		t.Errorf("content = %q, %d marks escaped", w.Messages[0].Content, w.Receipt.EscapedMarks)
	}
}

// TestHeadSurvivesRestart: tools with white space and characters that HTML escapes, and a system text with a bad byte, are the same head afterwards.
func TestHeadSurvivesRestart(t *testing.T) {
	t.Parallel()
	r, s := found(t, 4000)
	h := sakur4.Head{System: "a \xff byte & <b>", Tools: json.RawMessage(` [ {"type":"function","function":{"name":"read","description":"<b>"}} ] `)}
	mustCommit(t, s, user("go"))
	before := mustWindow(t, s, h)
	r.reopen(r.setup)
	s = r.session(false)
	mustCommit(t, s, sakur4.Turn{Role: sakur4.RoleAssistant, Content: "done"}, user("and now?"))
	after := mustWindow(t, s, h)
	if len(after.Receipt.Notes) > 0 || after.Receipt.Cache.Predicted != before.Receipt.Used {
		t.Errorf("notes %q, %d tokens predicted of %d", after.Receipt.Notes, after.Receipt.Cache.Predicted, before.Receipt.Used)
	}
}

func TestNotesGiveWayBeforeTurns(t *testing.T) {
	t.Parallel()
	for _, number := range []int{1, 40, 400} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			_, s := found(t, 2500)
			mustCommit(t, s, user("the task"), calling("a"), result("a", "one line"))
			for i := range number {
				if _, err := s.Attach(t.Context(), sakur4.Note{Kind: sakur4.NoteText, Text: strings.Repeat(fmt.Sprintf("note %d ", i), 10000/number)}); err != nil {
					t.Fatal(err)
				}
			}
			w := mustWindow(t, s, sakur4.Head{})
			if w.Messages[0].Content != "the task" || len(w.Messages) != 3 || !strings.HasPrefix(w.Messages[2].Content, "one line\n") {
				t.Errorf("the notes took the place of the work:\n%s", outline(w.Messages))
			}
			if w.Receipt.Used > 2500-2500/8 {
				t.Errorf("%d tokens", w.Receipt.Used)
			}
		})
	}
}

// TestArchivedAnswerWasGiven: where the last answer leaves the prompt it is still nobody's turn.
func TestArchivedAnswerWasGiven(t *testing.T) {
	t.Parallel()
	r, s := found(t, 1500)
	mustCommit(t, s, user("go"))
	mustWindow(t, s, sakur4.Head{})
	mustCommit(t, s, sakur4.Turn{Role: sakur4.RoleAssistant, Content: strings.Repeat("a long answer ", 2000)})
	if p, err := s.Compact(t.Context(), sakur4.Head{}, 0); err != nil || !p.Applied {
		t.Fatalf("Compact() = %+v, %v", p, err)
	}
	for range 2 {
		if w, err := s.Window(t.Context(), sakur4.Head{}); !errors.Is(err, sakur4.ErrNoTurn) {
			t.Fatalf("Window() = %v, %v, want %v", w, err, sakur4.ErrNoTurn)
		}
		r.reopen(r.setup)
		s = r.session(false)
	}
}

// TestCutEndOfChatIsANewPrompt: a compaction that takes only the end of the chat changes the message that is then the newest.
func TestCutEndOfChatIsANewPrompt(t *testing.T) {
	t.Parallel()
	_, s := found(t, 1500)
	mustCommit(t, s, user("go"), calling("a"), result("a", "one"))
	first := mustWindow(t, s, sakur4.Head{})
	big := calling("b")
	big.ToolCalls[0].Arguments = `{"text":"` + strings.Repeat("long argument ", 2000) + `"}`
	mustCommit(t, s, big, result("b", "two"))
	if p, err := s.Compact(t.Context(), sakur4.Head{}, 1<<30); err != nil || !p.Applied || p.After > 1500-1500/8 {
		t.Fatalf("Compact() = %+v, %v", p, err)
	}
	if w := mustWindow(t, s, sakur4.Head{}); w.ID == first.ID {
		t.Errorf("Window() after a compaction returned the prompt before it")
	}
}

// TestPromptIsNotRepeatedBeyondTheLimit: a prompt that no longer fits is not returned again.
func TestPromptIsNotRepeatedBeyondTheLimit(t *testing.T) {
	t.Parallel()
	r, s := found(t, 4000)
	mustCommit(t, s, user("go"))
	for i := range 8 {
		id := fmt.Sprint(i)
		mustCommit(t, s, calling(id), result(id, strings.Repeat("line of output "+id+"\n", 60)))
	}
	if w := mustWindow(t, s, sakur4.Head{}); w.Receipt.Used < 1400 {
		t.Fatalf("%d tokens: the test wants more", w.Receipt.Used)
	}
	u := r.setup
	u.backend = 1000
	r.reopen(u)
	if w := mustWindow(t, r.session(false), sakur4.Head{}); w.Receipt.Used > 1000-1000/8 || w.Plan == nil {
		t.Errorf("a prompt of %d tokens for a window of 1000, plan %v", w.Receipt.Used, w.Plan)
	}
}

// TestServerFailsWhileItCounts lets each call of one Window be the first that fails: there is a prompt all the same, for the window that is known.
func TestServerFailsWhileItCounts(t *testing.T) {
	t.Parallel()
	for after := range 12 {
		r, s := found(t, 1500)
		mustCommit(t, s, user("go"))
		mustWindow(t, s, sakur4.Head{})
		for i := range 6 {
			id := fmt.Sprint(i)
			mustCommit(t, s, calling(id), result(id, strings.Repeat("line of output 17\n", 100)))
		}
		r.server.after, r.server.fails = after, 1000
		if w := mustWindow(t, s, sakur4.Head{}); w.Receipt.Used > 1500-1500/8 {
			t.Errorf("server down from call %d on: %d tokens", after, w.Receipt.Used)
		}
		mustCommit(t, s, calling("x"), result("x", strings.Repeat("line of output 17\n", 100)))
		if w := mustWindow(t, s, sakur4.Head{}); w.Receipt.Used > 1500-1500/8 || w.Receipt.Window != 1500 {
			t.Errorf("server down: %d tokens for a window of %d", w.Receipt.Used, w.Receipt.Window)
		}
	}
}

// TestObserveBeforeAnyCount: a session that was read from the store and has made no prompt yet takes a measurement that differs.
func TestObserveBeforeAnyCount(t *testing.T) {
	t.Parallel()
	r, s := found(t, 4000)
	mustCommit(t, s, user("go"))
	w := mustWindow(t, s, sakur4.Head{})
	mustCommit(t, s, calling("a"))
	r.reopen(r.setup)
	s = r.session(false)
	if _, err := s.Window(t.Context(), sakur4.Head{}); !errors.Is(err, sakur4.ErrPending) {
		t.Fatalf("Window() = %v, want %v", err, sakur4.ErrPending)
	}
	cached := 3
	got, err := s.Observe(t.Context(), sakur4.Usage{PromptTokens: w.Receipt.Used + 5, CachedTokens: &cached})
	if err != nil || got.Cache.Drift != 5 {
		t.Errorf("Observe() = drift %d, %v, want 5", got.Cache.Drift, err)
	}
}

// TestCompactTakesAChangedHead: two compactions with a new head, and the next receipt still names it.
func TestCompactTakesAChangedHead(t *testing.T) {
	t.Parallel()
	r, s := found(t, 4000)
	mustCommit(t, s, user("go"))
	for i := range 6 {
		id := fmt.Sprint(i)
		mustCommit(t, s, calling(id), result(id, strings.Repeat("line of output 17\n", 40)))
	}
	mustWindow(t, s, sakur4.Head{System: "one"})
	for _, target := range []int{700, 400} {
		if p, err := s.Compact(t.Context(), sakur4.Head{System: "two"}, target); err != nil || !p.Applied {
			t.Fatalf("Compact(%d) = %+v, %v", target, p, err)
		}
	}
	r.reopen(r.setup)
	if w := mustWindow(t, r.session(false), sakur4.Head{System: "two"}); !slices.Contains(w.Receipt.Notes, "head changed") {
		t.Errorf("notes = %q, want the changed head", w.Receipt.Notes)
	}
}

// TestTemplateBecomesKnown: a session that began while the server was down takes the server's template as soon as it answers, and says so.
func TestTemplateBecomesKnown(t *testing.T) {
	t.Parallel()
	r, s := found(t, 4000)
	r.server.template, r.server.fails = 1, 1000
	h := sakur4.Head{System: "Be careful."}
	mustCommit(t, s, user("go"))
	if w := mustWindow(t, s, h); w.Messages[0].Role != "system" {
		t.Fatalf("the first message is %s", w.Messages[0].Role)
	}
	r.server.fails = 0
	for range 2 {
		w := mustWindow(t, s, h)
		if w.Messages[0].Role != "user" || !strings.HasPrefix(w.Messages[0].Content, h.System) || !slices.Contains(w.Receipt.Notes, "the server's template became known") {
			t.Errorf("notes %q:\n%s", w.Receipt.Notes, outline(w.Messages))
		}
	}
}

// TestTemplateBecomesKnownBeforeAPrompt: a call that made no prompt while the server was down leaves no guess behind.
func TestTemplateBecomesKnownBeforeAPrompt(t *testing.T) {
	t.Parallel()
	clock := time.Unix(1_700_000_000, 0).UTC()
	r := newRig(t, setup{backend: 8000, kind: boundary.AnyToken, vocabulary: 1, template: 1}, &clock)
	s := r.session(false)
	head := sakur4.Head{System: "You are a careful engineer."}
	r.fail(0, 1000)
	if _, err := s.Window(t.Context(), head); !errors.Is(err, sakur4.ErrNoTurn) {
		t.Fatalf("Window() = %v, want %v", err, sakur4.ErrNoTurn)
	}
	r.fail(0, 0)
	clock = clock.Add(time.Hour)
	mustCommit(t, s, user("Look."))
	if w := mustWindow(t, s, head); w.Messages[0].Role == "system" {
		t.Errorf("a system message for a template that has none:\n%s", outline(w.Messages))
	}
}
