package prompt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/internal/episode"
	"sakur4/internal/prompt"
	"sakur4/internal/tokens"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

const tools = `[{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{}}}}]`

func backend() *embedded.Server { return embedded.New(embedded.Config{Tokenizer: tokens.O200k()}) }

func item(role episode.Role, pieces ...any) prompt.Item {
	it := prompt.Item{Message: turn.Message{Role: role}}
	for i := 0; i < len(pieces); i += 2 {
		text := pieces[i+1].(string)
		it.Message.Content += text
		it.Pieces = append(it.Pieces, turn.Piece{Category: pieces[i].(receipt.Category), Bytes: len(text)})
	}
	return it
}

func call(id, args string) prompt.Item {
	return prompt.Item{Message: turn.Message{Role: episode.Assistant, Calls: []episode.Call{{ID: id, Name: "read_file", Arguments: args}}}}
}

func result(id, text string) prompt.Item {
	it := item(episode.Tool, receipt.RawHistory, text)
	it.Message.ToolCallID = id
	return it
}

// rendered asks for a chat with the header of the reply.
func rendered(items []prompt.Item) boundary.RenderRequest {
	ms := make([]turn.Message, len(items))
	for i, it := range items {
		ms[i] = it.Message
	}
	return boundary.RenderRequest{Messages: turn.AppendArray(nil, ms), GenerationPrompt: true}
}

// whole counts a chat as the server does: rendered with the header of the reply, and tokenized.
func whole(t testing.TB, b *embedded.Server, items []prompt.Item, list json.RawMessage) []int32 {
	t.Helper()
	req := rendered(items)
	req.Tools = list
	text, err := b.Render(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := b.Tokens(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestCount: the tokens are those of the whole prompt, also where only the new messages were rendered, and the parts sum to them.
func TestCount(t *testing.T) {
	t.Parallel()
	b := backend()
	p, err := b.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{"user", "assistant", "", "  \n leading", "trailing \n\n", "x", "x907300000051x", strings.Repeat("word ", 50), "日本語 🙂", `{"k":"v"}`, "<|im_start|", "\x00"}
	text := func() string { return texts[rng.IntN(len(texts))] }
	c := prompt.New(b, p.Template.ControlTexts, json.RawMessage(tools), nil)
	items := []prompt.Item{item(episode.System, receipt.System, "You are careful.", receipt.Pins, "\n\nnever force-push")}
	var st *prompt.State
	keep, grown := 0, 0
	for round := range 60 {
		if round%7 == 0 {
			if round > 0 {
				items = append(items, item(episode.Assistant, receipt.RawHistory, "done "+text()))
			}
			items = append(items, item(episode.User, receipt.RawHistory, "go on "+text(), receipt.RecalledNotes, "\n\nnote "+text()))
		} else {
			id := fmt.Sprint("c", round)
			items = append(items, call(id, fmt.Sprintf(`{"path": %s, "n":%d}`, turn.AppendString(nil, text()), round)), result(id, text()))
			if round%5 == 0 {
				items[len(items)-1].Pieces = nil // one of our fixed texts
			}
		}
		next, err := c.Count(t.Context(), st, keep, items)
		if err != nil {
			t.Fatal(err)
		}
		if !next.Full {
			grown++
		}
		if want := whole(t, b, items, json.RawMessage(tools)); !slices.Equal(next.Prompt(), want) {
			t.Fatalf("round %d (full %t): %d tokens, want %d", round, next.Full, next.Total(), len(want))
		}
		sum, perMessage := 0, len(next.Gen)
		for _, part := range next.Parts() {
			sum += part.Tokens
		}
		for _, n := range next.Counts {
			perMessage += n.Tokens
		}
		if sum != next.Total() || perMessage != next.Total() || len(next.Counts) != len(items) {
			t.Fatalf("round %d: parts sum to %d, messages to %d, of %d", round, sum, perMessage, next.Total())
		}
		st, keep = next, len(items)
	}
	if grown < 30 {
		t.Errorf("only %d of 60 counts were of the new messages alone", grown)
	}
	again, err := c.Count(t.Context(), st, keep, items)
	if err != nil || again != st {
		t.Errorf("counting the same prompt again made another state, %v", err)
	}
}

// TestParts: each category has the tokens whose first byte lies in its text, whatever the text is; the template has the rest.
func TestParts(t *testing.T) {
	t.Parallel()
	b := backend()
	p, err := b.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := func(items ...prompt.Item) map[string]int {
		c := prompt.New(b, p.Template.ControlTexts, nil, nil)
		st, err := c.Count(t.Context(), nil, 0, items)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, part := range st.Parts() {
			if part.Tokens > 0 {
				got[part.Category.String()] = part.Tokens
			}
		}
		return got
	}
	n := tokens.O200k().Count
	got := count(item(episode.System, receipt.System, "You are careful.", receipt.Pins, "\n\nnever"), item(episode.User, receipt.RawHistory, "user"))
	// "You are careful." and the blank line merge: a token belongs where it begins.
	if got["raw history"] != n("user") || got["system"]+got["pins"] != n("You are careful.\n\nnever") || got["pins"] == 0 {
		t.Errorf("parts = %v", got)
	}
	overhead := got["template overhead"]
	got = count(item(episode.System, receipt.System, "You are careful.", receipt.Pins, "\n\nnever"), item(episode.User, receipt.RawHistory, strings.Repeat("user ", 40)+"end"))
	if got["raw history"] != n(strings.Repeat("user ", 40)+"end") || got["template overhead"] != overhead {
		t.Errorf("parts of a longer turn = %v, overhead was %d", got, overhead)
	}
	got = count(item(episode.User, receipt.RawHistory, "a b c", receipt.Stubs, "\nstub stub"))
	if got["raw history"] != n("a b c") || got["stubs"] != n("\nstub stub") {
		t.Errorf("parts of a turn with a stub = %v, want %d and %d", got, n("a b c"), n("\nstub stub"))
	}
}

// TestToolsPart: the tool list is a part of its own, and no other part changes by it.
func TestToolsPart(t *testing.T) {
	t.Parallel()
	b := backend()
	p, err := b.Profile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	items := []prompt.Item{item(episode.System, receipt.System, "You are careful."), item(episode.User, receipt.RawHistory, "Go.")}
	part := func(list json.RawMessage, c receipt.Category) int {
		st, err := prompt.New(b, p.Template.ControlTexts, list, nil).Count(t.Context(), nil, 0, items)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range st.Parts() {
			if p.Category == c {
				return p.Tokens
			}
		}
		return -1
	}
	if with, without := part(json.RawMessage(tools), receipt.Tools), part(nil, receipt.Tools); without != 0 || with < 20 {
		t.Errorf("tools take %d tokens, %d without a list", with, without)
	}
	if with, without := part(json.RawMessage(tools), receipt.RawHistory), part(nil, receipt.RawHistory); with != without {
		t.Errorf("the history takes %d tokens with tools and %d without", with, without)
	}
}

// recorder is a backend that remembers what it was to tokenize, and of the last chat that it was to render the roles. Where squeeze says so, its template writes two spaces
// as one; template may change more.
type recorder struct {
	*embedded.Server
	squeeze  bool
	template func(roles []string, text string) (string, error)
	roles    []string
	mu       sync.Mutex // guards texts
	texts    []string
}

func (r *recorder) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	text, err := r.Server.Render(ctx, req)
	if r.template != nil && err == nil {
		var messages []struct{ Role string }
		if err := json.Unmarshal(req.Messages, &messages); err != nil {
			return "", err
		}
		r.roles = nil
		for _, m := range messages {
			r.roles = append(r.roles, m.Role)
		}
		text, err = r.template(r.roles, text)
	}
	if r.squeeze {
		text = strings.ReplaceAll(text, "  ", " ")
	}
	return text, err
}

func (r *recorder) TokenSpans(ctx context.Context, text string) ([]int32, []int, error) {
	r.mu.Lock()
	r.texts = append(r.texts, text)
	r.mu.Unlock()
	return r.Server.TokenSpans(ctx, text)
}

func (r *recorder) SpansAhead(ctx context.Context, text string) func() ([]int32, []int, error) {
	type outcome struct {
		ids  []int32
		ends []int
		err  error
	}
	done := make(chan outcome)
	go func() {
		ids, ends, err := r.TokenSpans(ctx, text)
		done <- outcome{ids, ends, err}
	}()
	return func() ([]int32, []int, error) {
		o := <-done
		return o.ids, o.ends, o.err
	}
}

// TestForesee: the text of new messages is foreseen, so that it is rendered and tokenized at the same time, and what was foreseen wrongly is tokenized as it is
// rendered; where that is the rule, nothing is foreseen any more.
func TestForesee(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		squeeze bool
		text    string
		wrong   int
	}{
		"as it is written":     {false, "two  spaces, \"quoted\": 1", 0},
		"nothing to squeeze":   {true, "one space", 0},
		"written by its rules": {true, "two  spaces", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &recorder{Server: backend(), squeeze: test.squeeze}
			p, err := b.Profile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c := prompt.New(b, p.Template.ControlTexts, nil, nil)
			items := []prompt.Item{item(episode.User, receipt.RawHistory, "go on")}
			var st *prompt.State
			twice := 0
			for round := range 12 {
				id := fmt.Sprint("c", round)
				items = append(items, call(id, `{"path":"a b, c: d","n":[1, 2]}`), result(id, fmt.Sprint(round, " ", test.text)))
				b.texts = nil
				if st, err = c.Count(t.Context(), st, len(items)-2, items); err != nil {
					t.Fatal(err)
				}
				if text, err := b.Render(t.Context(), rendered(items)); err != nil {
					t.Fatal(err)
				} else if want, _ := b.Tokens(t.Context(), text); !slices.Equal(st.Prompt(), want) {
					t.Fatalf("round %d: %d tokens, want %d", round, st.Total(), len(want))
				}
				if !st.Full && len(b.texts) > 1 {
					twice++
				}
			}
			if st.Full || twice != test.wrong {
				t.Errorf("%d texts were foreseen wrongly, want %d; the last count was full: %t", twice, test.wrong, st.Full)
			}
		})
	}
}

// TestNewMessagesAreRenderedAlone: where a template writes new messages as it does behind others, they are rendered without any in front; where it does not, or only
// sometimes, with a short chat. The count is always that of the whole prompt.
func TestNewMessagesAreRenderedAlone(t *testing.T) {
	t.Parallel()
	const few, more = "assistant tool", "user assistant tool"
	refused := errors.New("the first message is the user's")
	for name, test := range map[string]struct {
		template func(roles []string, text string) (string, error)
		want     string
	}{
		"as it is": {func(_ []string, text string) (string, error) { return text, nil }, few},
		"a beginning of its own": {func(roles []string, text string) (string, error) {
			if roles[0] != "user" {
				text = "<|im_start|>system\nBe good.<|im_end|>\n" + text
			}
			return text, nil
		}, few},
		"a user first": {func(roles []string, text string) (string, error) {
			if roles[0] != "user" {
				return "", refused
			}
			return text, nil
		}, more},
		"otherwise where it is first": {func(roles []string, text string) (string, error) {
			if roles[0] != "user" {
				text = strings.Replace(text, "assistant", "model", 1)
			}
			return text, nil
		}, more},
		"otherwise where it is first and says 9": {func(roles []string, text string) (string, error) {
			if roles[0] != "user" && strings.Contains(text, "9 is read") {
				text = strings.Replace(text, "assistant", "model", 1)
			}
			return text, nil
		}, more},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &recorder{Server: backend(), template: test.template}
			p, err := b.Profile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c := prompt.New(b, p.Template.ControlTexts, nil, nil)
			items := []prompt.Item{item(episode.User, receipt.RawHistory, "go on")}
			var st *prompt.State
			for round := range 12 {
				id := fmt.Sprint("c", round)
				items = append(items, call(id, `{"path":"a b"}`), result(id, fmt.Sprint(round, " is read")))
				if st, err = c.Count(t.Context(), st, len(items)-2, items); err != nil {
					t.Fatal(err)
				}
				asked := strings.Join(b.roles, " ")
				if text, err := b.Render(t.Context(), rendered(items)); err != nil {
					t.Fatal(err)
				} else if want, _ := b.Tokens(t.Context(), text); !slices.Equal(st.Prompt(), want) {
					t.Fatalf("round %d: %d tokens, want %d", round, st.Total(), len(want))
				}
				if round == 11 && (st.Full || asked != test.want) {
					t.Errorf("the last messages were rendered as %q, want %q; the count was full: %t", asked, test.want, st.Full)
				}
			}
		})
	}
}
