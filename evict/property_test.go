package evict_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
)

// TestPickProperties tries random prompts and checks what must hold of every plan.
func TestPickProperties(t *testing.T) {
	t.Parallel()
	rounds := uint64(1000)
	if testing.Short() {
		rounds = 300
	}
	seen := map[string]int{}
	for seed := range rounds {
		in := randomInput(rand.New(rand.NewPCG(seed, 1)))
		plan, err := evict.Pick(in)
		var over *evict.OverflowError
		switch {
		case errors.As(err, &over):
			seen["overflow"]++
			if err := checkOverflow(in, plan, over); err != nil {
				t.Fatalf("seed %d: Pick: %v", seed, err)
			}
			continue
		case err != nil:
			t.Fatalf("seed %d: Pick = %v, want a plan", seed, err)
		}
		if err := checkPlan(in, plan); err != nil {
			t.Fatalf("seed %d: Pick: %v\nplan: %s", seed, err, plan.Reason)
		}
		again, _ := evict.Pick(in)
		if !reflect.DeepEqual(plan, again) {
			t.Fatalf("seed %d: Pick twice (-first +second):\n%s", seed, cmp.Diff(plan, again))
		}
		switch {
		case plan.Steps == nil && plan.Trims == nil:
			seen["nothing"]++
		case plan.Trims != nil:
			seen["trimmed"]++
		case plan.Floor != "" && strings.Contains(plan.Reason, "gave way"):
			seen["floor gave way"]++
		case plan.Shift:
			seen["shift"]++
		case plan.Reached:
			seen["reached"]++
		default:
			seen["stopped"]++
		}
	}
	t.Logf("plans: %v", seen)
	for _, kind := range []string{"nothing", "overflow", "trimmed", "floor gave way", "shift", "reached", "stopped"} {
		if seen[kind] == 0 {
			t.Errorf("no plan of the kind %q in %d rounds: %v", kind, rounds, seen)
		}
	}
}

// checkPlan returns what is wrong with a plan.
func checkPlan(in evict.Input, plan evict.Plan) error {
	index := map[string]int{}
	for i, it := range in.Items {
		index[it.Episode] = i
	}
	tiers := make([]evict.Tier, len(in.Items))
	for i, it := range in.Items {
		tiers[i] = it.Tier
	}
	reclaimed, archived, last, first := 0, false, -1, len(in.Items)
	for _, s := range plan.Steps {
		i, ok := index[s.Episode]
		if !ok || i < last {
			return fmt.Errorf("step %+v is out of prompt order or of no item", s)
		}
		last, first = i, min(first, i)
		if s.From != tiers[i] || s.To != s.From+1 {
			return fmt.Errorf("step %+v of an item on %v skips a rung", s, tiers[i])
		}
		if s.Tokens < 0 || s.Reason == "" {
			return fmt.Errorf("step %+v has no reason or reclaims less than nothing", s)
		}
		if value, _ := evict.Score(in.Items[i]); value != s.Value {
			return fmt.Errorf("step %+v has not the value %v of its item", s, value)
		}
		tiers[i] = s.To
		reclaimed += s.Tokens
		archived = archived || s.To == evict.Archived
	}
	for _, tr := range plan.Trims {
		i := index[tr.Episode]
		first = min(first, i)
		if tiers[i] != evict.Live || tr.Floor == "" || tr.Tokens+tr.Reclaimed != in.Items[i].Tokens || tr.Reclaimed <= 0 {
			return fmt.Errorf("trim %+v of an item of %d tokens on %v", tr, in.Items[i].Tokens, tiers[i])
		}
		reclaimed += tr.Reclaimed
	}
	after := plan.Before - reclaimed
	if archived {
		after += in.NoteTokens
	}
	if plan.After != after || plan.Before != in.Total {
		return fmt.Errorf("before %d, after %d, want %d after reclaiming %d", plan.Before, plan.After, after, reclaimed)
	}
	if plan.Reused+plan.Prefilled != plan.After {
		return fmt.Errorf("reused %d + prefilled %d is not after %d", plan.Reused, plan.Prefilled, plan.After)
	}
	if plan.After > in.Limit && in.Total > in.Limit {
		return fmt.Errorf("after %d is above the limit of %d", plan.After, in.Limit)
	}
	if plan.Reached != (plan.After <= plan.Target) || !plan.Reached && plan.Floor == "" && plan.Pressure == evict.Compacting {
		return fmt.Errorf("reached %v, floor %q with %d after and the target %d", plan.Reached, plan.Floor, plan.After, plan.Target)
	}
	if plan.Steps == nil && plan.Trims == nil {
		if plan.Reason == "" || plan.Break != -1 {
			return fmt.Errorf("a plan of nothing with break %d and reason %q", plan.Break, plan.Reason)
		}
		return nil
	}
	if !in.Force && in.Total <= in.Limit && float64(plan.Before-plan.After) < 0.1*float64(in.Window)-1 {
		return fmt.Errorf("%d tokens reclaimed of a window of %d", plan.Before-plan.After, in.Window)
	}
	if plan.Before-plan.After <= 0 {
		return fmt.Errorf("%d tokens reclaimed", plan.Before-plan.After)
	}
	if plan.Break >= 0 && in.Breaks[plan.Break].Item > first {
		return fmt.Errorf("item %d changes before the break at item %d", first, in.Breaks[plan.Break].Item)
	}
	if plan.Break < 0 && in.Total <= in.Limit {
		return fmt.Errorf("item %d changes without a break", first)
	}
	return checkUnits(in, plan, tiers)
}

// checkUnits returns what is wrong with the tiers after a plan.
func checkUnits(in evict.Input, plan evict.Plan, tiers []evict.Tier) error {
	gone := func(i int) bool { return tiers[i] >= evict.Archived }
	for i, it := range in.Items {
		if gone(i) && it.Protect != "" && it.Floor != evict.FloorTool && it.Protect != "protected tool" {
			return fmt.Errorf("item %d, %s, is archived", i, it.Protect)
		}
		if plan.Floor == "" && it.Protect != "" && tiers[i] != it.Tier {
			return fmt.Errorf("item %d, %s, changes although no floor gave way", i, it.Protect)
		}
		if plan.Shift && tiers[i] != it.Tier && !gone(i) {
			return fmt.Errorf("item %d is %v in a plan of deletions", i, tiers[i])
		}
		if tiers[i] == evict.Dropped && (!in.Policy.AllowDrop || !it.Droppable || it.Dependents > 0) {
			return fmt.Errorf("item %d is dropped: %+v", i, it)
		}
		if (tiers[i] == evict.Masked || tiers[i] == evict.Referenced) && it.Role != "tool" {
			return fmt.Errorf("item %d of role %s is %v", i, it.Role, tiers[i])
		}
		if tiers[i] == evict.Masked && it.Tier != evict.Masked && it.MaskedTokens == 0 || tiers[i] == evict.Referenced && it.ReferencedTokens == 0 {
			return fmt.Errorf("item %d is rendered as %v, a form that it has not", i, tiers[i])
		}
		if i > 0 && it.Atom == in.Items[i-1].Atom && gone(i) != gone(i-1) {
			return fmt.Errorf("atom %d is cut between items %d and %d", it.Atom, i-1, i)
		}
		if !gone(i) && it.Group < len(in.Items) && gone(it.Group) {
			return fmt.Errorf("item %d stays although its user turn %d is archived", i, it.Group)
		}
		lone := it.Role == "assistant" && (i+1 == len(in.Items) || in.Items[i+1].Atom != it.Atom)
		if plan.Shift && lone && gone(i) && !gone(it.Group) {
			return fmt.Errorf("the answer at item %d is deleted without its user turn", i)
		}
	}
	// The newest atoms stay up to the budget while no floor gave way.
	if plan.Floor != "" {
		return nil
	}
	keep, kept := int(in.Policy.WithDefaults("").KeepRecent*float64(in.Window)), 0
	for i := len(in.Items) - 1; i >= 0; i-- {
		for j := i; j >= 0 && in.Items[j].Atom == in.Items[i].Atom; j-- {
			kept += in.Items[j].Tokens
			if j > 0 && in.Items[j-1].Atom != in.Items[i].Atom {
				break
			}
		}
		newest := in.Items[i].Atom == in.Items[len(in.Items)-1].Atom
		if kept > keep && !newest {
			return nil
		}
		atom := in.Items[i].Atom
		for ; i >= 0 && in.Items[i].Atom == atom; i-- {
			if tiers[i] != in.Items[i].Tier {
				return fmt.Errorf("recent item %d changes: %d of %d tokens behind it", i, kept, keep)
			}
		}
		i++
	}
	return nil
}

// checkOverflow returns what is wrong with a refusal.
func checkOverflow(in evict.Input, plan evict.Plan, over *evict.OverflowError) error {
	if over.Need <= over.Have || over.Have != in.Limit || over.Floor == "" {
		return fmt.Errorf("%+v with a limit of %d", over, in.Limit)
	}
	if plan.Steps != nil || plan.Trims != nil || plan.Pressure != evict.AnchorOverflow {
		return fmt.Errorf("an overflow with the plan %+v", plan)
	}
	// What can never go: the head, and the newest user turn and the task root at their least.
	if least := in.HeadTokens + 2*evict.MinTrim + in.NoteTokens; least <= in.Limit-200 {
		return fmt.Errorf("%v, but a head of %d leaves room", over, in.HeadTokens)
	}
	return nil
}

// FuzzPick looks for a seed whose plan breaks a rule.
func FuzzPick(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		in := randomInput(rand.New(rand.NewPCG(seed, 2)))
		plan, err := evict.Pick(in)
		var over *evict.OverflowError
		if errors.As(err, &over) {
			if err := checkOverflow(in, plan, over); err != nil {
				t.Errorf("seed %d: Pick: %v", seed, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("seed %d: Pick = %v, want a plan", seed, err)
		}
		if err := checkPlan(in, plan); err != nil {
			t.Errorf("seed %d: Pick: %v\nplan: %s", seed, err, plan.Reason)
		}
	})
}
