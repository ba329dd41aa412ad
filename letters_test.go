package sakur4_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"unicode"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/receipt"
)

// rewriting is a server whose template changes what messages say: content is called for each, text for all that is rendered; either may be nil.
type rewriting struct {
	*embedded.Server
	name    string
	lost    bool // no mark survives in the messages that it changes
	content func(role, content string, last bool) string
	text    func(string) string
}

func (r rewriting) Profile(ctx context.Context) (boundary.Profile, error) {
	p, err := r.Server.Profile(ctx)
	p.Template.Digest = r.name
	return p, err
}

func (r rewriting) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	if r.content != nil {
		var ms []map[string]any
		if err := json.Unmarshal(req.Messages, &ms); err != nil {
			return "", err
		}
		for i, m := range ms {
			if text, ok := m["content"].(string); ok {
				m["content"] = r.content(m["role"].(string), text, i == len(ms)-1)
			}
		}
		var err error
		if req.Messages, err = json.Marshal(ms); err != nil {
			return "", err
		}
	}
	text, err := r.Server.Render(ctx, req)
	if r.text != nil {
		text = r.text(text)
	}
	return text, err
}

// between has f write what stands between control texts.
func between(f func(string) string) func(string) string {
	return func(text string) string {
		var b strings.Builder
		for i, part := range strings.Split(text, "<|") {
			control, rest, ok := strings.Cut(part, "|>")
			if i == 0 || !ok {
				b.WriteString(f(part))
				continue
			}
			b.WriteString("<|" + control + "|>" + f(rest))
		}
		return b.String()
	}
}

// said has f write the contents of messages of those roles, of all where none is named.
func said(f func(string) string, roles ...string) func(role, content string, last bool) string {
	return func(role, content string, _ bool) string {
		if len(roles) > 0 && !slices.Contains(roles, role) {
			return content
		}
		return f(content)
	}
}

func titled(text string) string {
	prev := ' '
	return strings.Map(func(r rune) rune {
		before := prev
		prev = r
		if unicode.IsLetter(before) {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, text)
}

func without(cut string) func(string) string {
	return func(text string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(cut, r) {
				return -1
			}
			return r
		}, text)
	}
}

func inHex(text string) string { return hex.EncodeToString([]byte(text)) }

func backwards(text string) string {
	rs := []rune(text)
	slices.Reverse(rs)
	return string(rs)
}

func first(bytes int) func(string) string {
	return func(text string) string {
		if len(text) > bytes {
			text = strings.ToValidUTF8(text[:bytes], "")
		}
		return text
	}
}

// changedLetters are templates that change what messages say; the first does not.
var changedLetters = []rewriting{
	{name: "plain"},
	{name: "all small", text: strings.ToLower},
	{name: "all large", text: strings.ToUpper},
	{name: "no digits", lost: true, text: between(without("0123456789"))},
	{name: "all in hex", lost: true, text: between(inHex)},
	{name: "results in hex", lost: true, content: said(inHex, "tool")},
	{name: "first 8 bytes", lost: true, content: said(first(8))},
	{name: "last content only", content: func(_, content string, last bool) string {
		if !last {
			return ""
		}
		return content
	}},
	{name: "large between control texts", text: between(strings.ToUpper)},
	{name: "titles", text: between(titled)},
	{name: "no spaces", text: without(" \t\r\n")},
	{name: "no x", text: between(without("xX"))},
	{name: "backwards", lost: true, text: between(backwards)},
	{name: "contents in hex", lost: true, content: said(inHex)},
	{name: "user turns in hex", lost: true, content: said(inHex, "user")},
	{name: "escaped", content: said(html.EscapeString)},
	{name: "first 40 bytes", content: said(first(40))},
	{name: "no first byte", content: said(func(s string) string { return strings.ToValidUTF8(s[min(1, len(s)):], "") })},
	{name: "contents twice", content: said(func(s string) string { return s + "\n" + s })},
	{name: "no results", content: said(first(0), "tool")},
	{name: "no system text", content: said(first(0), "system")},
}

// lettersSession commits turns under a template, makes a prompt after each and checks it; compactions is how many of them were compacted.
func lettersSession(t *testing.T, srv rewriting, turns int) (compactions int) {
	t.Helper()
	opts := fixed(0)
	opts.Backend = srv
	eng := openEngine(t, ":memory:", opts)
	s := eng.Session("s")
	commit := func(turn sakur4.Turn) {
		t.Helper()
		if _, err := s.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	profile, err := srv.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limit := profile.Window - profile.Window/8
	head := sakur4.Head{System: "You are a careful engineer, and say what you know.", Tools: json.RawMessage(
		`[{"type":"function","function":{"name":"bash","description":"Runs a command.","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}]`)}
	for i := range turns {
		if i%10 == 0 {
			if i > 0 {
				commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: fmt.Sprint("That was step ", i, ", <done> & dusted.")})
			}
			commit(sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprint("Go on with step ", i, " of the plan.")})
		}
		id := fmt.Sprint("c", i)
		commit(sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "bash", Arguments: fmt.Sprintf(`{"command": "make step%d"}`, i)}}})
		commit(sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: strings.Repeat(fmt.Sprint("Word", i, " <ok> "), 20*(1+i%4))})
		w, err := s.Window(t.Context(), head)
		if err != nil {
			t.Fatalf("turn %d: Window() = %v", i, err)
		}
		messages, err := json.Marshal(w.Messages)
		if err != nil {
			t.Fatal(err)
		}
		text, err := srv.Render(t.Context(), boundary.RenderRequest{Messages: messages, Tools: head.Tools, GenerationPrompt: true})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := srv.Tokens(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		r, sum := w.Receipt, 0
		for _, p := range r.Parts {
			sum += p.Tokens
		}
		if r.Used != len(ids) || sum != r.Used || r.Used > limit {
			t.Fatalf("turn %d: the receipt says %d of %d tokens, its parts %d, the server %d", i, r.Used, limit, sum, len(ids))
		}
		if r.Tokens(receipt.Tools) == 0 || r.Tokens(receipt.RawHistory) < r.Used/10 {
			t.Errorf("turn %d: the tools have %d tokens and the history %d of %d", i, r.Tokens(receipt.Tools), r.Tokens(receipt.RawHistory), r.Used)
		}
		const note = "shares are estimated: the template changes what messages say"
		if got := slices.Contains(r.Notes, note); got != srv.lost {
			t.Errorf("turn %d: the notes %q say that shares are estimated: %t, want %t", i, r.Notes, got, srv.lost)
		}
		if p := w.Plan; r.Compacted {
			compactions++
			claimed := 0
			for _, step := range p.Steps {
				claimed += step.Tokens
			}
			if claimed > (p.Before-p.After)*2 { // what is said of them in the archive note counts against it
				t.Errorf("turn %d: the steps say that %d tokens were reclaimed, of %d are left %d", i, claimed, p.Before, p.After)
			}
		}
	}
	return compactions
}

// TestTemplateThatChangesLetters: law 10. Whatever a template makes of what messages say, a session goes on within its window, by the server's own count, and
// is not compacted again and again.
func TestTemplateThatChangesLetters(t *testing.T) {
	t.Parallel()
	session := func(t *testing.T, srv rewriting) int {
		srv.Server = newServer(3000)
		return lettersSession(t, srv, 40)
	}
	most := 2 * session(t, changedLetters[0])
	for _, srv := range some(7, changedLetters[1:]...) {
		t.Run(srv.name, func(t *testing.T) {
			t.Parallel()
			if n := session(t, srv); n > most {
				t.Errorf("%d prompts were compacted, want at most %d", n, most)
			}
		})
	}
}
