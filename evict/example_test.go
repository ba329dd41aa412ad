package evict_test

import (
	"fmt"

	"sakur4/evict"
)

func Example() {
	in := evict.Input{
		Items: []evict.Item{
			{Episode: "ep_1", Role: "user", Tokens: 300, Pos: 500, Age: 4, Tier: evict.Live, Protect: "task root"},
			{Episode: "ep_2", Role: "assistant", Tokens: 100, Pos: 800, Age: 3, Tier: evict.Live, Atom: 1},
			{Episode: "ep_3", Role: "tool", Tool: "read_file", Tokens: 6000, MaskedTokens: 90, ReferencedTokens: 25, Pos: 900, Age: 2, Tier: evict.Live, Atom: 1},
			{Episode: "ep_4", Role: "assistant", Tokens: 100, Pos: 6900, Age: 1, Tier: evict.Live, Atom: 2},
			{Episode: "ep_5", Role: "tool", Tool: "run", Tokens: 700, MaskedTokens: 80, ReferencedTokens: 20, Pos: 7000, Tier: evict.Live, Atom: 2},
		},
		// The server can rewind to any token, so that everything before a break is reused.
		Breaks: []evict.Break{{Item: 0, Pos: 500, Reuse: 500}, {Item: 1, Pos: 800, Reuse: 800}, {Item: 3, Pos: 6900, Reuse: 6900}},
		Total:  7700, SinceLast: 7700, Window: 10000, Limit: 8750, HeadTokens: 500, NoteTokens: 20,
		Policy: evict.Policy{Profile: evict.CacheFirst},
	}
	plan, err := evict.Pick(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Reason)
	for _, step := range plan.Steps {
		fmt.Println(step.Episode, step.Reason)
	}
	// Output:
	// first changed message at token 800: 5910 of 7700 tokens reclaimed, 800 reused, 990 prefilled, value lost 10
	// ep_3 tier live → masked (value 1.35, 5910 tokens reclaimed)
}
