package prompt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/internal/episode"
	"sakur4/internal/prompt"
	"sakur4/receipt"
)

// rewriter is a backend whose template changes the text of each message.
type rewriter struct {
	*embedded.Server
	change func(string) string
}

func (r rewriter) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	text, err := r.Server.Render(ctx, req)
	return r.change(text), err
}

var (
	jsonCall = regexp.MustCompile(`\{"name": "(\w+)", "arguments": (\{.*\})\}`)
	jsonArg  = regexp.MustCompile(`"(\w+)"\s*:\s*"([^"]*)"`)
)

// tagged writes calls as several templates do: each argument between tags of its own.
func tagged(text string) string {
	return jsonCall.ReplaceAllStringFunc(text, func(call string) string {
		m := jsonCall.FindStringSubmatch(call)
		return "<function=" + m[1] + ">\n" + jsonArg.ReplaceAllString(strings.Trim(m[2], "{}"), "<parameter=$1>\n$2\n</parameter>\n") + "</function>"
	})
}

// inHex has what pattern finds in its group written as hexadecimal digits.
func inHex(pattern string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(text string) string {
		var b strings.Builder
		at := 0
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			fmt.Fprintf(&b, "%s%x", text[at:m[2]], text[m[2]:m[3]])
			at = m[3]
		}
		return b.String() + text[at:]
	}
}

// TestShares: each message has the tokens that the prompt is longer by with it, whatever the template makes of what messages say; where it shows nothing of their
// places, about as many.
func TestShares(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    func(string) string
		estimated bool
		slack     int // in tokens
	}{
		"as it is":        {func(text string) string { return text }, false, 0},
		"small":           {strings.ToLower, false, 0},
		"large":           {strings.ToUpper, false, 12},
		"no x":            {func(text string) string { return strings.ReplaceAll(text, "x", "") }, false, 0},
		"tagged calls":    {tagged, false, 0},
		"results in hex":  {inHex(`(?s)<tool_response>\n(.*?)\n</tool_response>`), true, 50},
		"messages in hex": {inHex(`(?s)<\|im_start\|>(.*?)<\|im_end\|>`), true, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rewriter{backend(), test.change}
			p, err := b.Profile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			count := func(items []prompt.Item) *prompt.State {
				t.Helper()
				st, err := prompt.New(b, p.Template.ControlTexts, json.RawMessage(tools), nil).Count(t.Context(), nil, 0, items)
				if err != nil {
					t.Fatal(err)
				}
				return st
			}
			items := []prompt.Item{item(episode.System, receipt.System, "You are careful.", receipt.Pins, "\n\nnever force-push"), item(episode.User, receipt.RawHistory, "go on")}
			before := []int{count(items).Total()} // of a prompt that ends in front of the call
			for i := range 30 {
				id := fmt.Sprint("c", i)
				args := []string{`{"path":"a"}`, `{}`, `{"path":"b","mode":"c"}`}[i%3]
				items = append(items, call(id, args), result(id, strings.Repeat(fmt.Sprint("next", i, " "), 1+i*7%19)))
				before = append(before, count(items).Total())
			}
			st := count(items)
			if st.Estimated != test.estimated {
				t.Errorf("Count says that shares are estimated: %t, want %t", st.Estimated, test.estimated)
			}
			for i := range 29 { // the last has the header of the reply too where that is not known to be one
				got := st.Counts[2+2*i].Tokens + st.Counts[3+2*i].Tokens
				if want := before[i+1] - before[i]; max(got-want, want-got) > test.slack {
					t.Errorf("call %d and its result have %d tokens, want %d, or %d more or less", i, got, want, test.slack)
				}
			}
		})
	}
}
