package evict_test

import (
	"errors"
	"strings"
	"testing"

	"sakur4/evict"
)

func TestPickRefusesInput(t *testing.T) {
	t.Parallel()
	good := func() evict.Input {
		return evict.Input{
			Window: 1000, Limit: 900, Total: 950, HeadTokens: 50,
			Items: []evict.Item{
				{Episode: "a", Role: "user", Tier: evict.Live, Tokens: 400},
				{Episode: "b", Role: "assistant", Tier: evict.Live, Tokens: 300, Atom: 1},
				{Episode: "c", Role: "tool", Tier: evict.Live, Tokens: 200, Atom: 1},
			},
			Breaks: []evict.Break{{Item: 1, Pos: 450, Reuse: 450}},
		}
	}
	if _, err := evict.Pick(good()); err != nil {
		t.Fatalf("Pick(good input) = %v, want no error", err)
	}
	tests := []struct {
		name string
		harm func(*evict.Input)
		want string
	}{
		{"no window", func(in *evict.Input) { in.Window = 0 }, "window of 0"},
		{"limit above the window", func(in *evict.Input) { in.Limit = 1001 }, "limit of 1001"},
		{"negative total", func(in *evict.Input) { in.Total = -1 }, "total -1"},
		{"policy", func(in *evict.Input) { in.Policy.Profile = "x" }, `profile "x"`},
		{"no tier", func(in *evict.Input) { in.Items[1].Tier = 0 }, `item 1 ("b") is Tier(0)`},
		{"archived", func(in *evict.Input) { in.Items[1].Tier = evict.Archived }, `item 1 ("b") is archived`},
		{"negative size", func(in *evict.Input) { in.Items[2].MaskedTokens = -1 }, `item 2 ("c") has a negative size`},
		{"role", func(in *evict.Input) { in.Items[0].Role = "robot" }, `unknown role "robot"`},
		{"atoms out of order", func(in *evict.Input) { in.Items[0].Atom = 2 }, `item 1 ("b") is out of order`},
		{"groups out of order", func(in *evict.Input) { in.Items[0].Group = 2 }, `item 1 ("b") is out of order`},
		{"break behind the end", func(in *evict.Input) { in.Breaks[0].Item = 4 }, "break 0 at item 4 of 3"},
		{"negative reuse", func(in *evict.Input) { in.Breaks[0].Reuse = -1 }, "reuse -1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := good()
			test.harm(&in)
			plan, err := evict.Pick(in)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Pick = %v, want an error with %q", err, test.want)
			}
			if plan.Steps != nil || plan.Break != -1 {
				t.Errorf("Pick = %+v beside its error, want nothing to do", plan)
			}
		})
	}
}

func TestOverflowError(t *testing.T) {
	t.Parallel()
	in := evict.Input{Window: 1000, Limit: 900, Total: 1200, HeadTokens: 890, Items: []evict.Item{{Episode: "a", Role: "user", Tier: evict.Live, Tokens: 310, Protect: "task root"}}}
	_, err := evict.Pick(in)
	var over *evict.OverflowError
	if !errors.As(err, &over) || *over != (evict.OverflowError{Floor: "pins", Need: 986, Have: 900}) {
		t.Errorf("Pick = %v, want the pins to overflow by 86", err)
	}
	in.HeadTokens = 60
	in.Items = append([]evict.Item{{Episode: "call", Role: "assistant", Tier: evict.Live, Tokens: 830, Floor: evict.FloorTaskRoot, Protect: "task root"}}, in.Items...)
	for i := range in.Items {
		in.Items[i].Atom = i
	}
	_, err = evict.Pick(in)
	if !errors.As(err, &over) || *over != (evict.OverflowError{Floor: "task root", ID: "call", Need: 986, Have: 900}) {
		t.Errorf("Pick = %v, want the call that cannot be trimmed to overflow", err)
	}
}

// TestPickEveryPromptFits: one result of up to ten million bytes in any window, whatever stands before it, leaves a prompt within its limit.
func TestPickEveryPromptFits(t *testing.T) {
	t.Parallel()
	for _, window := range []int{2048, 4096, 8192, 40960, 131072, 1 << 20} {
		for _, result := range []int{0, 1, 100, 1000, 10_000, 100_000, 3_500_000} {
			for _, before := range []int{0, window / 2, window * 10} {
				in := evict.Input{Window: window, Limit: window - window/8, HeadTokens: window / 10, NoteTokens: 30}
				add := func(role, protect string, tokens, atom int) {
					in.Items = append(in.Items, evict.Item{Episode: role, Role: role, Tier: evict.Live, Tokens: tokens, Atom: atom, Protect: protect})
				}
				add("user", "task root", 60, 0)
				add("assistant", "", 40, 1)
				add("tool", "", before, 1)
				add("assistant", "open call", 40, 2)
				add("tool", "open call", result, 2)
				in.Total = in.HeadTokens + 140 + before + result
				in.SinceLast = in.Total
				plan, err := evict.Pick(in)
				if err != nil || plan.After > in.Limit {
					t.Errorf("Pick(window %d, result %d, before %d) = %d tokens, %v, want at most %d", window, result, before, plan.After, err, in.Limit)
				}
			}
		}
	}
}
