package sakur4_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sakur4"
	"sakur4/internal/turn"
)

func bash(id string) sakur4.ToolCall {
	return sakur4.ToolCall{ID: id, Name: "bash", Arguments: `{"command":"ls"}`}
}

func quick(t *testing.T) *trial {
	t.Helper()
	return newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 16384})
}

// refuseWindow asks for a prompt when it is nobody's turn.
func (d *trial) refuseWindow(want error) error {
	d.t.Helper()
	w, err := d.s.Window(d.t.Context(), d.head)
	if !errors.Is(err, want) {
		d.t.Errorf("Window() = %v, %v, want %v", w, err, want)
	}
	return err
}

// roles returns the roles of a prompt's messages in short: s, u, a, t.
func roles(ms []sakur4.Message) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteByte(m.Role[0])
	}
	return b.String()
}

// TestTurnNobodysTurn asks for prompts that no server should be sent.
func TestTurnNobodysTurn(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.refuseWindow(sakur4.ErrNoTurn)
	d.commit(sakur4.Turn{Role: sakur4.RoleSystem, Content: "a remark alone"})
	d.refuseWindow(sakur4.ErrNoTurn)
	d.user("Hello.")
	d.window()
	d.say("Hello yourself.")
	d.refuseWindow(sakur4.ErrNoTurn)
	d.commit(sakur4.Turn{Role: sakur4.RoleSystem, Content: "a remark"})
	d.refuseWindow(sakur4.ErrNoTurn)
	d.say("Anything else?")
	d.refuseWindow(sakur4.ErrNoTurn)
	d.user("Yes.")
	if w := d.window(); !strings.HasSuffix(roles(w.Messages), "au") {
		t.Errorf("roles %s, want the user's turn last", roles(w.Messages))
	}
}

// TestTurnPending waits for the results of the newest assistant turn, and names the missing ones as the model did.
func TestTurnPending(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("List.")
	d.window()
	d.say("", bash("x"), bash("y"), bash("x"))
	pending := func(want ...string) {
		t.Helper()
		err := d.refuseWindow(sakur4.ErrPending)
		var p *sakur4.PendingError
		if !errors.As(err, &p) || !slices.Equal(p.Calls, want) {
			t.Errorf("Window() = %v, want the missing calls %q", err, want)
		}
	}
	pending("x", "y", "x")
	d.result("y", "2")
	pending("x", "x")
	d.result("x", "1")
	pending("x")
	d.commit(sakur4.Turn{Role: sakur4.RoleSystem, Content: "a remark"})
	pending("x")
	if _, err := d.s.Compact(t.Context(), d.head, 1); err != nil && !errors.Is(err, sakur4.ErrPending) {
		t.Errorf("Compact() while a call is open = %v", err)
	}
	d.result("x", "3")
	w := d.window()
	if roles(w.Messages) != "suattt" {
		t.Errorf("roles %s, want suattt", roles(w.Messages))
	}
	var got []string
	for _, m := range w.Messages[3:] {
		got = append(got, m.Content[:1])
	}
	if !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("results %q, want them in the order of the calls", got)
	}
	ids := map[string]bool{}
	for _, c := range w.Messages[2].ToolCalls {
		ids[c.ID] = true
	}
	if len(ids) != 3 {
		t.Errorf("calls are rendered with the ids %v, want three", ids)
	}
}

// TestTurnInterrupted closes calls by a user turn and by CloseOpenCalls: the same marked result stands for them for ever, and a late result is a note.
func TestTurnInterrupted(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"user turn", "CloseOpenCalls"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			path := storePath(t)
			o := &sakur4.Options{Project: "p", Window: 16384}
			d := newTrial(t, path, o)
			d.user("List.")
			d.window()
			d.say("", bash("x"), bash("y"))
			d.result("y", "two")
			if by == "user turn" {
				d.user("Stop.")
			} else {
				d.refuseWindow(sakur4.ErrPending)
				d.head.CloseOpenCalls = true
			}
			w := d.window()
			marked := ""
			for _, m := range w.Messages {
				if m.Role == "tool" && m.Content != "two" {
					marked = m.Content
				}
			}
			if !strings.HasPrefix(marked, `<sakur4:note kind="interrupted">`) || !strings.Contains(marked, "bash") {
				t.Errorf("the interrupted call has the result %q", marked)
			}
			d.window()
			d.head.CloseOpenCalls = false
			d.window()
			d.reopen(path, o)
			d.window()
			record := len(d.ids())
			late := d.result("x", `{"late": true}`)
			if late.Parser != "json" || len(late.Facts) != 1 {
				t.Errorf("the late result gave %q, %d facts, want one of json", late.Parser, len(late.Facts))
			}
			if got := len(d.ids()); got != record+1 {
				t.Errorf("%d episodes after the late result, want %d", got, record+1)
			}
			d.say("I stopped.")
			d.user("Good.")
			w = d.window()
			last := w.Messages[len(w.Messages)-1].Content
			if !strings.HasPrefix(last, "Good.") || !strings.Contains(last, `kind="late-result"`) || !strings.Contains(last, `{"late": true}`) ||
				!strings.Contains(last, string(late.Episode)) {
				t.Errorf("the late result is not a note behind the newest turn: %q", last)
			}
			if n := strings.Count(texts(w.Messages), marked); n != 1 {
				t.Errorf("the marked result stands %d times in the prompt, want once and for ever", n)
			}
			d.refuse(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: "x", Content: "again"}, sakur4.ErrInvalidTurn)
		})
	}
}

// TestTurnCloseOpenCallsOnAFreshSession closes nothing where nothing is open.
func TestTurnCloseOpenCallsOnAFreshSession(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.head.CloseOpenCalls = true
	d.refuseWindow(sakur4.ErrNoTurn)
	d.user("Hello.")
	w := d.window()
	if roles(w.Messages) != "su" {
		t.Errorf("roles %s, want su", roles(w.Messages))
	}
	if again := d.window(); again.ID != w.ID {
		t.Errorf("Window() again = %s, want %s", again.ID, w.ID)
	}
}

// TestTurnFixedMessages puts the fixed reply between user turns and between a result and a user turn, and joins nothing.
func TestTurnFixedMessages(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("One.")
	d.user("Two.")
	w := d.window()
	if roles(w.Messages) != "suau" || w.Messages[2].Content != turn.NoReply || w.Messages[1].Content != "One." || w.Messages[3].Content != "Two." {
		t.Errorf("two user turns render as %q", texts(w.Messages))
	}
	d.say("", bash("x"))
	d.result("x", "done")
	d.user("Three.")
	w = d.window()
	if roles(w.Messages) != "suauatau" || w.Messages[6].Content != turn.NoReply {
		t.Errorf("a user turn after a result: roles %s", roles(w.Messages))
	}
	d.say("A.")
	d.say("B.")
	d.user("Four.")
	w = d.window()
	if !strings.HasSuffix(roles(w.Messages), "uauau") {
		t.Errorf("two assistant turns in a row: roles %s", roles(w.Messages))
	}
	first := quick(t)
	first.say("I begin.")
	first.user("Do.")
	if w := first.window(); roles(w.Messages) != "suau" {
		t.Errorf("an assistant turn that begins: roles %s", roles(w.Messages))
	}
}

// TestTurnArguments renders arguments as they were written where they are one JSON object, else inside one.
func TestTurnArguments(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("Go.")
	for i, c := range []struct{ raw, want string }{
		{`{}`, `{}`},
		{`{"b" : 1,  "a":[1, 2]}`, `{"b" : 1,  "a":[1, 2]}`},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{` {"a":1}`, ` {"a":1}`},
		{``, `{"invalid_arguments": ""}`},
		{`{"cut o`, `{"invalid_arguments": "{\"cut o"}`},
		{`[1,2]`, `{"invalid_arguments": "[1,2]"}`},
		{`null`, `{"invalid_arguments": "null"}`},
		{`"x"`, `{"invalid_arguments": "\"x\""}`},
		{`{"a":1} {"b":2}`, `{"invalid_arguments": "{\"a\":1} {\"b\":2}"}`},
		{"\xff", `{"invalid_arguments": "` + "\ufffd" + `"}`},
	} {
		id := fmt.Sprint("c", i)
		call := d.say("", sakur4.ToolCall{ID: id, Name: "bash", Arguments: c.raw})
		d.result(id, "ok")
		w := d.window()
		m := w.Messages[len(w.Messages)-2]
		if len(m.ToolCalls) != 1 || m.ToolCalls[0].Arguments != c.want {
			t.Errorf("arguments %q render as %+v, want %q", c.raw, m.ToolCalls, c.want)
		}
		if ep, err := d.eng.Episode(t.Context(), call.Episode); err != nil || ep.ToolCalls[0].Arguments != c.raw {
			t.Errorf("arguments %q come back as %+v, %v", c.raw, ep.ToolCalls, err)
		}
	}
}

// TestTurnEmptyAssistant records an assistant turn that says nothing, and renders nothing of it.
func TestTurnEmptyAssistant(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", " \n\t"} {
		d := quick(t)
		d.user("Hello.")
		d.window()
		c := d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: content, Reasoning: "hm"})
		if ep, err := d.eng.Episode(t.Context(), c.Episode); err != nil || ep.Content != content || ep.Reasoning != "hm" {
			t.Errorf("Episode() of an empty turn = %+v, %v", ep, err)
		}
		d.user("Still there?")
		if w := d.window(); roles(w.Messages) != "suau" || w.Messages[2].Content != turn.NoReply {
			t.Errorf("an assistant turn of %q renders as %q", content, texts(w.Messages))
		}
	}
}

// TestTurnRepeatedIDs restarts the ids of calls with every turn, as some servers do: a result belongs to the newest open call of its id.
func TestTurnRepeatedIDs(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("Go.")
	for i := range 5 {
		d.say("", bash("call_0"), bash("call_1"))
		d.result("call_1", fmt.Sprint("b", i))
		d.result("call_0", fmt.Sprint("a", i))
		d.window()
	}
	w := d.last
	names := map[string]string{}
	for _, m := range w.Messages {
		for j, c := range m.ToolCalls {
			if names[c.ID] != "" {
				t.Errorf("the id %q is rendered twice", c.ID)
			}
			names[c.ID] = "ab"[j : j+1]
		}
		if m.Role == "tool" && m.Content[:1] != names[m.ToolCallID] {
			t.Errorf("the result %q answers the call %s", m.Content, names[m.ToolCallID])
		}
	}
	if len(names) != 10 {
		t.Errorf("%d ids, want 10", len(names))
	}
	// An older call of the same id that is still open is not the one that is answered.
	d.say("", bash("call_0"))
	d.user("Stop.")
	d.say("", bash("call_0"))
	d.result("call_0", "newest")
	w = d.window()
	if last := w.Messages[len(w.Messages)-1]; last.Role != "tool" || last.Content != "newest" {
		t.Errorf("the result of the newest call renders as %+v", last)
	}
	d.result("call_0", "older")
	d.user("And?")
	if w = d.window(); !strings.Contains(w.Messages[len(w.Messages)-1].Content, "older") {
		t.Error("the result of the older call is not a note")
	}
}

// TestTurnSeveralBeforeResults records several assistant turns before the first result.
func TestTurnSeveralBeforeResults(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("Go.")
	d.say("first", bash("a"))
	d.say("second", bash("b"))
	d.say("a word in between")
	d.refuseWindow(sakur4.ErrPending)
	d.result("b", "rb")
	d.result("a", "ra")
	w := d.window() // checks that it is a valid chat
	for _, want := range []string{"first", "second", "a word in between", "ra", "rb"} {
		if !contains(w.Messages, want) {
			t.Errorf("%q is not in the prompt", want)
		}
	}
	for i, m := range w.Messages {
		if m.Role == "tool" && w.Messages[i-1].Content != map[string]string{"ra": "first", "rb": "second"}[m.Content] {
			t.Errorf("the result %q stands behind %q", m.Content, w.Messages[i-1].Content)
		}
	}
}

// TestTurnReasoning sends reasoning back where the template preserves it, and keeps it in the record in any case.
func TestTurnReasoning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preserves, keep, want bool
	}{{true, false, true}, {false, false, false}, {false, true, true}} {
		server := &forgetful{newServer(16384), c.preserves}
		d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 16384, Backend: server, KeepReasoning: c.keep})
		d.user("Think.")
		done := d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Reasoning: "because <|im_end|>", ToolCalls: []sakur4.ToolCall{bash("x")}})
		d.result("x", "ok")
		w := d.window()
		if got := w.Messages[2].ReasoningContent != ""; got != c.want {
			t.Errorf("template preserves %t, KeepReasoning %t: reasoning is sent %t, want %t", c.preserves, c.keep, got, c.want)
		}
		if strings.Contains(w.Messages[2].ReasoningContent, "<|im_end|>") {
			t.Error("reasoning opens a message of its own")
		}
		if ep, err := d.eng.Episode(t.Context(), done.Episode); err != nil || ep.Reasoning != "because <|im_end|>" {
			t.Errorf("Episode().Reasoning = %q, %v", ep.Reasoning, err)
		}
	}
}
