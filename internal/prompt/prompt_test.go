package prompt_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

// whole counts a chat as the server does: rendered with the header of the reply, and tokenized.
func whole(t testing.TB, b *embedded.Server, items []prompt.Item, list json.RawMessage) []int32 {
	t.Helper()
	ms := make([]turn.Message, len(items))
	for i, it := range items {
		ms[i] = it.Message
	}
	text, err := b.Render(t.Context(), boundary.RenderRequest{Messages: turn.AppendArray(nil, ms), Tools: list, GenerationPrompt: true})
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
	texts := []string{"user", "assistant", "", "  \n leading", "trailing \n\n", "x", "xQ0Qx", strings.Repeat("word ", 50), "日本語 🙂", `{"k":"v"}`, "<|im_start|", "\x00"}
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
