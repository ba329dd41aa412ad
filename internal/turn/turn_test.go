package turn_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/turn"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{`{"a": 1}`, `{"a": 1}`},
		{"  {\"a\":1,\"a\":2}\n", "  {\"a\":1,\"a\":2}\n"},
		{``, `{"invalid_arguments": ""}`},
		{`[1]`, `{"invalid_arguments": "[1]"}`},
		{`null`, `{"invalid_arguments": "null"}`},
		{`{"a": "cut o`, `{"invalid_arguments": "{\"a\": \"cut o"}`},
		{`{} {}`, `{"invalid_arguments": "{} {}"}`},
		{"{\"a\": \"\xff\"}", `{"a": "` + "\uFFFD" + `"}`},
		// What Go takes and stricter parsers do not.
		{`{"a":"\ud83d"}`, `{"invalid_arguments": "{\"a\":\"\\ud83d\"}"}`},
		{`{"\uD800":1}`, `{"invalid_arguments": "{\"\\uD800\":1}"}`},
		{`{"a":"\ude00\ud83d"}`, `{"invalid_arguments": "{\"a\":\"\\ude00\\ud83d\"}"}`},
		{`{"a":"\ud83dx\ude00"}`, `{"invalid_arguments": "{\"a\":\"\\ud83dx\\ude00\"}"}`},
		{`{"a":"\ud83d\\ude00"}`, `{"invalid_arguments": "{\"a\":\"\\ud83d\\\\ude00\"}"}`},
		{`{"a":1e999}`, `{"invalid_arguments": "{\"a\":1e999}"}`},
		{`{"a":[-1e400 ]}`, `{"invalid_arguments": "{\"a\":[-1e400 ]}"}`},
		{nested(257), `{"invalid_arguments": "` + strings.ReplaceAll(nested(257), `"`, `\"`) + `"}`},
		// What both take.
		{nested(256), nested(256)},
		{`{"a":"\ud83d\ude00 \uD83D\uDE00 \\ud83d \u0000 1e999 {[","b":1e-999}`, `{"a":"\ud83d\ude00 \uD83D\uDE00 \\ud83d \u0000 1e999 {[","b":1e-999}`},
		{`{"a":123456789012345678901234567890,"b":-0.5E+3}`, `{"a":123456789012345678901234567890,"b":-0.5E+3}`},
		{strings.Repeat("[", 20000), `{"invalid_arguments": "` + strings.Repeat("[", 20000) + `"}`},
	} {
		got := turn.Arguments(c.raw)
		if got != c.want {
			t.Errorf("Arguments(%.40q) = %.80q, want %.80q", c.raw, got, c.want)
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(got), &object); err != nil {
			t.Errorf("Arguments(%.40q) is no object: %v", c.raw, err)
		}
		if again := turn.Arguments(got); again != got {
			t.Errorf("Arguments is not stable: %.80q, then %.80q", got, again)
		}
	}
}

// TestControls: every text once, longest first, in an order that does not depend on that of the server's own.
func TestControls(t *testing.T) {
	t.Parallel()
	got := turn.Controls([]string{"<|b|>", "<s>", "<|a|>", "<|im_start|>", "<|b|>"})
	if other := turn.Controls([]string{"<|im_start|>", "<|a|>", "<|b|>", "<s>"}); !slices.Equal(got, other) {
		t.Errorf("Controls depends on the order: %q, %q", got, other)
	}
	for _, text := range append([]string{"<|a|>", "<|b|>"}, turn.KnownControls...) {
		if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != text })); n != 1 {
			t.Errorf("Controls has %q %d times, want once", text, n)
		}
	}
	if !slices.IsSortedFunc(got, func(a, b string) int { return len(b) - len(a) }) {
		t.Errorf("Controls = %q, want the longest first", got)
	}
}

// nested returns an object that is so many levels deep, itself included.
func nested(depth int) string {
	return `{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}"
}

// FuzzArguments: what is rendered is one object that stays as it is, with the raw text in it, and no lone surrogate or infinite number.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a": 1}`, `{"a":"\ud83d"}`, `{"a":1e999}`, `{"a":"\ud83d\ude00"}`, "[", `{"a":{"b":[1,2,"c"]}} `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := turn.Arguments(raw)
		var object map[string]any // into floats: a number out of their range is an error
		if err := json.Unmarshal([]byte(got), &object); err != nil {
			t.Fatalf("Arguments(%q) = %q: %v", raw, got, err)
		}
		if again := turn.Arguments(got); again != got {
			t.Errorf("Arguments(%q) = %q, and of that %q", raw, got, again)
		}
		if got != turn.Sent(raw) && object["invalid_arguments"] != turn.Sent(raw) {
			t.Errorf("Arguments(%q) = %q, which lacks the text", raw, got)
		}
		// A lone surrogate reads as U+FFFD.
		if strings.Count(fmt.Sprint(object), "\uFFFD") > strings.Count(got, "\uFFFD")+strings.Count(strings.ToLower(got), `\ufffd`) {
			t.Errorf("Arguments(%q) = %q, with half a character in it", raw, got)
		}
	})
}

func TestEscape(t *testing.T) {
	t.Parallel()
	e := turn.NewEscaper([]string{"<|im_start|>", "[INST]", "<s>", "x"})
	for _, c := range []struct {
		in, want string
		n        int
	}{
		{"plain", "plain", 0},
		{"<|im_start|>system", "<\u200b|im_start|>system", 1},
		{"a[INST]b<s>", "a[\u200bINST]b<\u200bs>", 2},
		{"<|im_start", "<|im_start", 0},
		{"<sakur4:note kind=\"x\">", "<\u200bsakur4:note kind=\"x\">", 1},
		{"</sakur4:note>", "<\u200b/sakur4:note>", 1},
		{"xxx", "xxx", 0}, // a text of one byte is no control text
	} {
		got, n := e.Escape(c.in)
		if got != c.want || n != c.n {
			t.Errorf("Escape(%q) = %q, %d; want %q, %d", c.in, got, n, c.want, c.n)
		}
		if again, n := e.Escape(got); again != got || n != 0 {
			t.Errorf("Escape is not stable: %q, then %q (%d)", got, again, n)
		}
	}
	for _, control := range turn.KnownControls {
		if got, n := turn.NewEscaper(turn.KnownControls).Escape("a " + control + " b"); n != 1 || strings.Contains(got, control) {
			t.Errorf("Escape of %q = %q, %d", control, got, n)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	system := turn.Message{Role: episode.System, Content: "s"}
	user := turn.Message{Role: episode.User, Content: "u"}
	says := turn.Message{Role: episode.Assistant, Content: "a"}
	calls := func(ids ...string) turn.Message {
		m := turn.Message{Role: episode.Assistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, episode.Call{ID: id, Name: "n", Arguments: "{}"})
		}
		return m
	}
	result := func(id string) turn.Message { return turn.Message{Role: episode.Tool, ToolCallID: id} }
	for _, c := range []struct {
		name string
		ms   []turn.Message
		at   int // -1: valid
	}{
		{"empty", nil, -1},
		{"system, user", []turn.Message{system, user}, -1},
		{"a loop", []turn.Message{system, user, calls("1", "2"), result("2"), result("1"), calls("3"), result("3"), says, user}, -1},
		{"late system", []turn.Message{user, system}, 1},
		{"two users", []turn.Message{user, user}, 1},
		{"user after result", []turn.Message{user, calls("1"), result("1"), user}, 3},
		{"assistant first", []turn.Message{says}, 0},
		{"two assistants", []turn.Message{user, says, says}, 2},
		{"empty assistant", []turn.Message{user, {Role: episode.Assistant, Content: " \n"}}, 1},
		{"empty user", []turn.Message{{Role: episode.User}}, 0},
		{"orphan", []turn.Message{user, result("1")}, 1},
		{"twice answered", []turn.Message{user, calls("1"), result("1"), result("1")}, 3},
		{"unanswered", []turn.Message{user, calls("1", "2"), result("1"), says}, 3},
		{"unanswered at the end", []turn.Message{user, calls("1")}, 2},
		{"id twice in a turn", []turn.Message{user, calls("1", "1")}, 1},
		{"id twice in a chat", []turn.Message{user, calls("1"), result("1"), calls("1")}, 3},
		{"no id", []turn.Message{user, calls("")}, 1},
		{"arguments", []turn.Message{user, {Role: episode.Assistant, Calls: []episode.Call{{ID: "1", Arguments: "[]"}}}}, 1},
		{"role", []turn.Message{{Role: "developer"}}, 0},
	} {
		err := turn.Validate(c.ms)
		var invalid *turn.InvalidError
		switch {
		case c.at < 0 && err != nil:
			t.Errorf("%s: Validate = %v, want none", c.name, err)
		case c.at >= 0 && (!errors.As(err, &invalid) || invalid.Index != c.at):
			t.Errorf("%s: Validate = %v, want an error at message %d", c.name, err, c.at)
		}
	}
}

// FuzzAppendString: what is written reads back as the text with one U+FFFD a bad byte, like encoding/json without HTML escapes.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c\n\t\r\x00\x1f", "<&>", "é日🙂", "\xff\xfe", "a\xc3", "\u2028\u2029", "\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := turn.AppendString(nil, s)
		var back string
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("AppendString(%q) = %s: %v", s, out, err)
		}
		if want := turn.Sent(s); back != want {
			t.Fatalf("AppendString(%q) reads back as %q, want %q", s, back, want)
		}
		if !utf8.Valid(out) || bytes.Contains(out, []byte(`\u003c`)) {
			t.Fatalf("AppendString(%q) = %s", s, out)
		}
	})
}

// scribe makes the records of a session.
type scribe struct {
	seq  int64
	recs map[string]*episode.Record
}

func (s *scribe) add(role episode.Role, content string, calls ...string) *episode.Record {
	s.seq++
	r := &episode.Record{ID: fmt.Sprintf("ep_%d", s.seq), Seq: s.seq, Role: role, Content: content, Digest: digest.Of(content)}
	for _, id := range calls {
		r.Calls = append(r.Calls, episode.Call{ID: id, Name: "read_file", Arguments: `{"path": "f.go"}`})
	}
	if s.recs == nil {
		s.recs = map[string]*episode.Record{}
	}
	s.recs[r.ID] = r
	return r
}

func (s *scribe) result(call *episode.Record, index int, content string) *episode.Record {
	r := s.add(episode.Tool, content)
	r.CallEpisode, r.CallIndex, r.CallID, r.ToolName = call.ID, index, call.Calls[index].ID, "read_file"
	return r
}

func (s *scribe) find(id string) (*episode.Record, error) {
	if r := s.recs[id]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("no record %q", id)
}

func roles(c *turn.Chat) (out []string) {
	for _, e := range c.Entries {
		out = append(out, string(e.Role)[:1]+":"+e.Message.Content)
	}
	return out
}

func TestChatOrder(t *testing.T) {
	t.Parallel()
	esc := turn.NewEscaper(turn.KnownControls)
	for _, c := range []struct {
		name string
		add  func(s *scribe, add func(*episode.Record))
		want []string
	}{
		{"users in a row", func(s *scribe, add func(*episode.Record)) {
			add(s.add(episode.User, "1"))
			add(s.add(episode.User, "2"))
		}, []string{"u:1", "a:(no reply)", "u:2"}},
		{"assistant first", func(s *scribe, add func(*episode.Record)) {
			add(s.add(episode.Assistant, "1"))
			add(s.add(episode.Assistant, "2"))
			add(s.add(episode.Assistant, " \n"))
		}, []string{"u:(continue)", "a:1", "u:(continue)", "a:2"}},
		{"results come in any order, before them other turns", func(s *scribe, add func(*episode.Record)) {
			add(s.add(episode.User, "go"))
			a := s.add(episode.Assistant, "", "x", "y")
			add(a)
			b := s.add(episode.Assistant, "", "z")
			add(b)
			add(s.add(episode.Assistant, "by the way"))
			add(s.result(b, 0, "3"))
			add(s.result(a, 1, "2"))
			add(s.result(a, 0, "1"))
		}, []string{"u:go", "a:by the way", "u:(continue)", "a:", "t:1", "t:2", "a:", "t:3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			chat := turn.NewChat(esc)
			c.add(&scribe{}, func(r *episode.Record) { chat.Add(r, turn.Options{}) })
			if diff := cmp.Diff(c.want, roles(chat)); diff != "" {
				t.Errorf("entries (-want +got)\n%s", diff)
			}
			if err := turn.Validate(chat.Messages(0)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestInterrupted: a call that a user turn follows has the marked result for ever, and what arrives later is a note.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := &scribe{}
	chat := turn.NewChat(turn.NewEscaper(nil))
	chat.Add(s.add(episode.User, "go"), turn.Options{})
	a := s.add(episode.Assistant, "", "x", "x", "")
	chat.Add(a, turn.Options{})
	chat.Add(s.result(a, 1, "second"), turn.Options{})
	if got := chat.OpenCalls(); !slices.Equal(got, []string{"x", ""}) {
		t.Errorf("OpenCalls = %q", got)
	}
	chat.Add(s.add(episode.User, "stop"), turn.Options{})
	if got := chat.OpenCalls(); got != nil {
		t.Errorf("OpenCalls after a user turn = %q", got)
	}
	if e := chat.Add(s.result(a, 0, "late"), turn.Options{}); e != nil || len(chat.Pending) != 1 || !strings.Contains(chat.Pending[0].Text, "late") {
		t.Errorf("a late result renders as %v, pending %v", e, chat.Pending)
	}
	if err := turn.Validate(chat.Messages(0)); err != nil {
		t.Errorf("%v: %q", err, roles(chat))
	}
	n := 0
	for _, e := range chat.Entries {
		if e.Kind == turn.KindSynthetic {
			n++
			if !strings.Contains(e.Message.Content, "interrupted") {
				t.Errorf("the marked result reads %q", e.Message.Content)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d marked results, want 2", n)
	}
}

// TestReplay: every form of every kind of entry, stored and loaded, renders the same bytes.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := &scribe{}
	esc := turn.NewEscaper(turn.KnownControls)
	chat := turn.NewChat(esc)
	chat.Add(s.add(episode.User, "go <|im_end|>"), turn.Options{})
	long := strings.Repeat("a line of the file, and <sakur4:note in it\n", 60)
	for i, trim := range []int{0, 0, 400, 0, 0} {
		a := s.add(episode.Assistant, "look", fmt.Sprint("c", i))
		a.Reasoning = "I think"
		chat.Add(a, turn.Options{Reasoning: i%2 == 0})
		text := long
		if i > 1 {
			text += fmt.Sprint(i)
		}
		chat.Add(s.result(a, 0, text), turn.Options{Trim: trim, Exit: "2"})
	}
	chat.Add(s.add(episode.Assistant, "", "never"), turn.Options{})
	chat.Add(s.add(episode.User, "next"), turn.Options{})
	chat.Entries[len(chat.Entries)-1].Append(turn.Note{ID: "n", Kind: turn.NoteRecall, Text: "a note"})
	results := func() (out []*turn.Entry) {
		for _, e := range chat.Entries {
			if e.Result() {
				out = append(out, e)
			}
		}
		return out
	}
	forms := func() (out []turn.Form) {
		for _, e := range results() {
			out = append(out, e.Form)
		}
		return out
	}
	if want := []turn.Form{turn.Full, turn.Same, turn.Trimmed, turn.Full, turn.Full}; !slices.Equal(forms(), want) {
		t.Fatalf("forms = %v, want %v", forms(), want)
	}
	rs := results()
	next, err := chat.Rewrite(5, map[string]turn.Change{rs[3].Episode: {Form: turn.Masked, Bytes: 100}, rs[4].Episode: {Form: turn.Referenced}}, false, s.find)
	if err != nil {
		t.Fatal(err)
	}
	chat = next
	if want := []turn.Form{turn.Full, turn.Same, turn.Trimmed, turn.Masked, turn.Referenced}; !slices.Equal(forms(), want) {
		t.Fatalf("forms = %v, want %v", forms(), want)
	}
	for _, e := range results()[2:] {
		for _, want := range []string{e.Episode, "read_file", "f.go", "bytes", "exit status 2", "memory_episode"} {
			if !strings.Contains(e.Message.Content, want) {
				t.Errorf("the %s form does not say %q: %s", e.Form, want, e.Message.Content)
			}
		}
	}
	for i, e := range chat.Entries {
		back, err := turn.Load(string(e.Kind), e.Episode, string(e.Form), e.Body())
		if err != nil {
			t.Fatal(err)
		}
		var rec *episode.Record
		if e.Kind == turn.KindEpisode {
			if rec, err = s.find(e.Episode); err != nil {
				t.Fatal(err)
			}
		}
		back.Render(rec, esc)
		want, got := e.Message.AppendJSON(nil), back.Message.AppendJSON(nil)
		if !bytes.Equal(want, got) || !slices.Equal(e.Pieces, back.Pieces) || e.Escaped != back.Escaped {
			t.Errorf("entry %d (%s, %s) renders anew as\n%s %v\nwas\n%s %v", i, e.Kind, e.Form, got, back.Pieces, want, e.Pieces)
		}
		n := 0
		for _, p := range e.Pieces {
			n += p.Bytes
		}
		if !e.Filler() && n != len(e.Message.Content) {
			t.Errorf("entry %d: pieces of %d bytes, content of %d", i, n, len(e.Message.Content))
		}
	}
	for _, bad := range [][4]string{{"nothing", "ep_1", "full", "{}"}, {"episode", "ep_1", "round", "{}"}, {"episode", "ep_1", "full", "{"}} {
		if _, err := turn.Load(bad[0], bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("Load(%q) accepts it", bad)
		}
	}
}

// TestRewriteDeletes: in the pure mode everything that stays keeps its bytes and its order.
func TestRewriteDeletes(t *testing.T) {
	t.Parallel()
	s := &scribe{}
	chat := turn.NewChat(turn.NewEscaper(nil))
	var atoms [][]string
	for g := range 4 {
		chat.Add(s.add(episode.User, fmt.Sprint("user ", g)), turn.Options{})
		for range 3 {
			a := s.add(episode.Assistant, "", fmt.Sprint("c", s.seq))
			chat.Add(a, turn.Options{})
			r := s.result(a, 0, fmt.Sprint("result ", s.seq))
			chat.Add(r, turn.Options{})
			atoms = append(atoms, []string{a.ID, r.ID})
		}
	}
	before := chat.Messages(0)
	changes := map[string]turn.Change{}
	for i := 1; i < len(atoms); i += 2 {
		for _, id := range atoms[i] {
			changes[id] = turn.Change{Gone: true}
		}
	}
	next, err := chat.Rewrite(0, changes, true, s.find)
	if err != nil {
		t.Fatal(err)
	}
	after := next.Messages(0)
	if err := turn.Validate(after); err != nil {
		t.Errorf("%v: %q", err, roles(next))
	}
	at := 0
	for _, m := range after {
		for at < len(before) && !bytes.Equal(before[at].AppendJSON(nil), m.AppendJSON(nil)) {
			at++
		}
		if at == len(before) {
			t.Fatalf("message %q is not one of those before, in their order", m.Content)
		}
		at++
	}
	if len(after) >= len(before) {
		t.Errorf("%d messages of %d are left", len(after), len(before))
	}
}

// TestRewriteDeletesBehindContinue: the fixed message in front of a turn that goes is not left to call for another one behind it.
func TestRewriteDeletesBehindContinue(t *testing.T) {
	t.Parallel()
	s := &scribe{}
	chat := turn.NewChat(turn.NewEscaper(nil))
	chat.Add(s.add(episode.User, "go"), turn.Options{})
	chat.Add(s.add(episode.Assistant, "one"), turn.Options{})
	call := s.add(episode.Assistant, "", "c")
	chat.Add(call, turn.Options{})
	result := s.result(call, 0, "result")
	chat.Add(result, turn.Options{})
	chat.Add(s.add(episode.Assistant, "two"), turn.Options{})
	chat.Add(s.add(episode.User, "on"), turn.Options{})
	next, err := chat.Rewrite(0, map[string]turn.Change{call.ID: {Gone: true}, result.ID: {Gone: true}}, true, s.find)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"u:go", "a:one", "u:(continue)", "a:two", "u:on"}, roles(next)); d != "" {
		t.Errorf("Rewrite() (-want +got):\n%s", d)
	}
}

// TestStubNames: a tool or a path that holds a control text of the server opens nothing in a stub.
func TestStubNames(t *testing.T) {
	t.Parallel()
	s := &scribe{}
	chat := turn.NewChat(turn.NewEscaper([]string{"@@SYS@@"}))
	chat.Add(s.add(episode.User, "go"), turn.Options{})
	a := s.add(episode.Assistant, "", "1", "2")
	a.Calls[0] = episode.Call{ID: "1", Name: "read@@SYS@@", Arguments: `{"path": "a@@SYS@@b"}`}
	a.Calls[1].Name = "@@SYS@@"
	chat.Add(a, turn.Options{})
	r := s.result(a, 0, strings.Repeat("line\n", 400))
	r.ToolName = a.Calls[0].Name
	chat.Add(r, turn.Options{Trim: 200})
	chat.Add(s.add(episode.User, "stop"), turn.Options{})
	late := s.result(a, 1, "late")
	late.ToolName = a.Calls[1].Name
	chat.Add(late, turn.Options{})
	for _, n := range chat.Pending {
		if strings.Contains(n.Text+n.Ref, "@@SYS@@") {
			t.Errorf("a note holds the control text: %+v", n)
		}
	}
	for _, e := range chat.Entries {
		if out := string(e.Message.AppendJSON(nil)); strings.Contains(out, "@@SYS@@") {
			t.Errorf("a %s message holds the control text: %s", e.Role, out)
		}
	}
}
