package pin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/pin"
)

func TestPropose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a rule", "Fix the bug. Never force-push to main. Thanks!", []string{"Never force-push to main."}},
		{"each rule word", "You must not edit migrations! Always run the tests.\nUnder no circumstances delete data.",
			[]string{"You must not edit migrations!", "Always run the tests.", "Under no circumstances delete data."}},
		{"a list", "- never log secrets\n* always sign commits", []string{"never log secrets", "always sign commits"}},
		{"curly apostrophe", "You mustn’t touch prod.", []string{"You mustn’t touch prod."}},
		{"parts of words", "Nevertheless, the hallways are fine.", nil},
		{"a question", "Why does it never stop?", nil},
		{"code", "Look:\n```\n// never reached\n```\nDone.", nil},
		{"twice", "Never do that. Never do that.", []string{"Never do that."}},
		{"too long", "Never " + strings.Repeat("x", 500), nil},
		{"bad bytes", "Never \xff do that.", nil},
		{"no rule", "Please have a look at the logs.", nil},
		{"a version number", "Use Go 1.26 and never 1.20 for this.", []string{"Use Go 1.26 and never 1.20 for this."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, pin.Propose(c.text)); diff != "" {
				t.Errorf("Propose(%q) (-want +got)\n%s", c.text, diff)
			}
		})
	}
	if got := pin.Propose(strings.Repeat("Never do that", 1) + strings.Repeat(".\nNever do this ", 40)); len(got) > 16 {
		t.Errorf("Propose returns %d sentences, want at most 16", len(got))
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	if got := pin.Block(nil); got != "" {
		t.Errorf("Block(nil) = %q, want nothing", got)
	}
	pins := []pin.Pin{{ID: "pin_1", Kind: "constraint", Text: "never force-push\nto main"}, {ID: "pin_2", Kind: "preference", Text: "be short"}}
	got := pin.Block(pins)
	for _, p := range pins {
		if !strings.Contains(got, p.Text) || !strings.Contains(got, p.ID) {
			t.Errorf("Block does not hold pin %s verbatim:\n%s", p.ID, got)
		}
		if late := pin.Late(p); !strings.Contains(late, p.Text) {
			t.Errorf("Late does not hold pin %s verbatim:\n%s", p.ID, late)
		}
	}
}
