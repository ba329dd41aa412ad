package evict_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sakur4/evict"
)

// workInput is a prompt of calls with results of equal size and age but for their names.
func workInput(names []evict.Name, held ...[]int32) evict.Input {
	in := evict.Input{Window: 10000, Limit: 8750, HeadTokens: 100, NoteTokens: 20, Names: names, Force: true, Shift: true}
	pos := in.HeadTokens
	add := func(it evict.Item) {
		it.Episode, it.Tier, it.Pos = fmt.Sprintf("ep_%d", len(in.Items)), evict.Live, pos
		in.Items = append(in.Items, it)
		in.Breaks = append(in.Breaks, evict.Break{Item: len(in.Items) - 1, Pos: pos, Reuse: pos})
		pos += it.Tokens
	}
	add(evict.Item{Role: "user", Tokens: 50, Protect: "task root"})
	for i, h := range held {
		add(evict.Item{Role: "assistant", Tokens: 40, Atom: i + 1, Age: 10})
		add(evict.Item{Role: "tool", Tokens: 500, Atom: i + 1, Age: 10, Names: h})
	}
	add(evict.Item{Role: "user", Tokens: 900, Atom: len(held) + 1, Group: 1, Protect: "newest user turn"})
	in.Total, in.SinceLast = pos, pos
	in.Target = pos - 500 // one atom has to go
	return in
}

// TestPickWorkingSet: of equal results the one goes whose names are used the least, or that another one holds as well.
func TestPickWorkingSet(t *testing.T) {
	t.Parallel()
	fresh, old, often := evict.Name{Uses: 1}, evict.Name{Uses: 1, Age: 40}, evict.Name{Uses: 32, Age: 40}
	tests := []struct {
		name  string
		names []evict.Name
		held  [][]int32
		gone  string
	}{
		{"none has names: the latest break", nil, [][]int32{nil, nil, nil}, "ep_5 ep_6"},
		{"without names", []evict.Name{fresh, fresh}, [][]int32{{0}, nil, {1}}, "ep_3 ep_4"},
		{"used long ago", []evict.Name{fresh, old, fresh}, [][]int32{{0}, {1}, {2}}, "ep_3 ep_4"},
		{"used once, not often", []evict.Name{often, old, often}, [][]int32{{0}, {1}, {2}}, "ep_3 ep_4"},
		{"held by a denser one too", []evict.Name{fresh, fresh, fresh}, [][]int32{{0}, {1}, {1, 2}}, "ep_3 ep_4"},
		{"held by the newer of equals", []evict.Name{fresh, fresh}, [][]int32{{0}, {1}, {1}}, "ep_3 ep_4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plan, err := evict.Pick(workInput(test.names, test.held...))
			if err != nil {
				t.Fatal(err)
			}
			var gone []string
			for _, st := range plan.Steps {
				if st.To == evict.Archived {
					gone = append(gone, st.Episode)
				}
			}
			if got := strings.Join(gone, " "); got != test.gone {
				t.Errorf("Pick archives %q, want %q (%s)", got, test.gone, plan.Reason)
			}
		})
	}
	in := workInput([]evict.Name{fresh}, []int32{1})
	if _, err := evict.Pick(in); err == nil || !strings.Contains(err.Error(), "a name outside of the 1") {
		t.Errorf("Pick = %v, want an error for a name that is not there", err)
	}
	// What is protected holds its names: no other item is kept for them.
	for _, held := range []bool{false, true} {
		in = workInput([]evict.Name{fresh}, nil, nil, []int32{0})
		want := "ep_3"
		if held {
			in.Items[0].Names, want = []int32{0}, "ep_5"
		}
		if plan, err := evict.Pick(in); err != nil || plan.Steps[0].Episode != want {
			t.Errorf("held by the task root %t: Pick = %+v, %v, want %s to go", held, plan.Steps, err, want)
		}
	}
}

// TestPickNamesProperty: with names the promises stand, and the value given up is never less than without them.
func TestPickNamesProperty(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 3))
	for n := range 200 {
		in := loopInput(40 + r.IntN(160))
		in.Force, in.Shift = r.IntN(2) == 0, r.IntN(2) == 0
		bare, err := evict.Pick(in)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(60) {
			in.Names = append(in.Names, evict.Name{Uses: 1 + r.IntN(9), Age: r.IntN(60)})
		}
		for i := range in.Items {
			for k := range in.Names {
				if r.IntN(20) == 0 {
					in.Items[i].Names = append(in.Items[i].Names, int32(k))
				}
			}
		}
		plan, err := evict.Pick(in)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := evict.Pick(in); again.Reason != plan.Reason || !slices.Equal(again.Steps, plan.Steps) {
			t.Fatalf("case %d: two plans for one input: %q, %q", n, plan.Reason, again.Reason)
		}
		if (plan.Steps == nil) != (bare.Steps == nil) || plan.After > in.Limit {
			t.Errorf("case %d: %q with names, %q without", n, plan.Reason, bare.Reason)
		}
		for _, st := range plan.Steps {
			if st.To != st.From+1 {
				t.Errorf("case %d: a step from %v to %v", n, st.From, st.To)
			}
		}
	}
}

// TestPickCompany: of equally old results the one stays whose names are being written, also for the names that nobody wrote yet.
func TestPickCompany(t *testing.T) {
	t.Parallel()
	// Every result holds two names of its own.
	build := func() evict.Input {
		names := make([]evict.Name, 12)
		for i := range names {
			names[i] = evict.Name{Uses: 1, Age: 40}
		}
		in := workInput(names, []int32{0, 1}, []int32{2, 3}, []int32{4, 5}, []int32{6, 7}, []int32{8, 9}, []int32{10, 11})
		for i := range in.Items[:len(in.Items)-1] {
			in.Items[i].Age = 40
		}
		return in
	}
	gone := func(in evict.Input) string {
		plan, err := evict.Pick(in)
		if err != nil || len(plan.Steps) == 0 {
			t.Fatalf("Pick = %+v, %v", plan, err)
		}
		for _, st := range plan.Steps {
			if st.To == evict.Archived {
				return st.Episode // the call: its result follows
			}
		}
		return ""
	}
	for result := 2; result <= 12; result += 2 {
		in := build()
		in.Items[len(in.Items)-1].Names = in.Items[result].Names[:1]
		// The name that was written is held by the newest user turn now; the other one is what the result is worth.
		if got := gone(in); got == in.Items[result-1].Episode {
			t.Errorf("one of the names of %s was written last, and it went all the same", in.Items[result].Episode)
		}
		// A name that many results hold says nothing about any of them.
		for i := 2; i <= 12; i += 2 {
			if i != result {
				in.Items[i].Names = append([]int32{in.Items[result].Names[0]}, in.Items[i].Names...)
			}
		}
		// Without that name it is the one that is worth least.
		if got, want := gone(in), in.Items[result-1].Episode; got != want {
			t.Errorf("a name that all hold was written: %s goes, want %s", got, want)
		}
	}
}
