package evict

import (
	"fmt"
	"math"
	"slices"
)

// Pick chooses where to break the prompt and what to take out behind the break.
//
// For every break it takes the cheapest victims behind it that free what is needed, and of all breaks the one with the least cost: the tokens
// that the server has to process again plus the value given up. Only items at or after the break change. If the soft rules cannot reach
// the target, the plan goes as far as they let it, or reclaims nothing, and names the floor that stopped it. If the prompt exceeds the hard limit and
// they cannot bring it below, floors give way in their order, only as far as it takes to fit.
//
// A plan without steps and trims changes nothing and must not be applied; its Reason says why. The error is an [*OverflowError] if not
// even the floors that can give way let the prompt fit, or describes what is wrong with the input.
func Pick(in Input) (Plan, error) {
	if err := in.validate(); err != nil {
		return Plan{Break: -1}, err
	}
	policy := in.Policy.WithDefaults("")
	pressure, target, why := Threshold(policy, in.Window, in.Window-in.Limit, in.Total, in.SinceLast)
	if in.Target > 0 {
		target = in.Target
	}
	target = min(target, in.Limit)
	idle := Plan{
		Break: -1, Before: in.Total, After: in.Total, Target: target, Reused: max(in.Total-in.Unsent, 0), Prefilled: min(in.Unsent, in.Total),
		Pressure: pressure, Reached: in.Total <= target, Reason: why,
	}
	if pressure == Relaxed && !in.Force {
		return idle, nil
	}
	if in.Total <= target {
		idle.Reason = fmt.Sprintf("nothing to reclaim: %d tokens are not above the target of %d", in.Total, target)
		return idle, nil
	}
	p := prepare(in, policy)
	if in.Total > in.Limit {
		return p.mustFit(target)
	}
	least := 1
	if !in.Force {
		least = share(policy.MinReclaim, in.Window)
	}
	for _, shift := range p.shifts() {
		if plan, ok := p.attempt(attempt{shift: shift, goal: min(target, in.Total-least), least: least, limit: math.MaxInt, target: target}); ok {
			return plan, nil
		}
		if shift && !in.Force {
			// Below the hard limit a plan that keeps to deletions can wait.
			break
		}
	}
	idle.Floor = p.stoppedBy(in.Total - target)
	idle.Reason = fmt.Sprintf("reclaims nothing: less than the minimum of %d tokens may go, stopped by %s", least, idle.Floor)
	if len(in.Breaks) == 0 {
		idle.Reason = "reclaims nothing: no place was given where the prompt may change"
	}
	return idle, nil
}

// shifts returns the kinds of plan to try in order: deletions alone, if they are asked for, then every form.
func (p *prompt) shifts() []bool {
	if p.in.Shift {
		return []bool{true, false}
	}
	return []bool{false}
}

// mustFit plans for a prompt above its hard limit.
func (p *prompt) mustFit(target int) (Plan, error) {
	limit := p.in.Limit
	for _, shift := range p.shifts() {
		for _, first := range []bool{false, true} {
			if plan, ok := p.attempt(attempt{shift: shift, first: first, goal: target, limit: limit, target: target}); ok {
				return plan, nil
			}
		}
	}
	// Between target and limit: to stop at the limit would call for the next compaction with the next turn, to go on to the target
	// would take more from a floor than it takes to live.
	middle := target + (limit-target)/2
	for _, floor := range []int{FloorTool, FloorKeepRecent} {
		if plan, ok := p.attempt(attempt{first: true, allowed: floor, goal: middle, limit: limit, target: target}); ok {
			return plan, nil
		}
	}
	return p.trim(target)
}

// attempt is one set of rules to plan by.
type attempt struct {
	// shift: deletions alone. first: the start of the first item is a break.
	shift, first bool
	// allowed is the highest floor class that gives way.
	allowed int
	// goal is the size aimed at, limit the size that is still good, least what has to be reclaimed at least, target the policy's size.
	goal, limit, least, target int
}

// attempt plans by one set of rules. ok is false if they permit no plan.
func (p *prompt) attempt(a attempt) (plan Plan, ok bool) {
	moves := p.moves(a.allowed, a.shift)
	need := 1 << 40 // deletions alone cost nearly the same wherever they begin: the target is reached
	if !a.shift {
		need = p.in.Total - a.goal
	}
	w := wanted{limit: a.limit, least: a.least, need: need}
	if w.bounded = p.in.Fresh > 0 && !a.shift; w.bounded {
		w.allowance = share(p.policy.MaxAgain, p.in.Fresh) - p.in.Again
	}
	ranking := best(p.weigh(moves, p.breaks(a.first), a.goal, a.shift), w)
	if len(ranking) == 0 {
		return Plan{}, false
	}
	chosen := ranking[0]
	taken := make([]bool, len(moves))
	for i := range moves[:chosen.prefix] {
		taken[i] = moves[i].first >= chosen.Item
	}
	if chosen.reached {
		p.giveBack(moves, taken, chosen, a)
	}
	o := p.outcome(moves, taken)
	plan = p.plan(o, a)
	if plan.Allowance = w.allowance; w.bounded {
		plan.Reason += fmt.Sprintf("; allowed to process %d tokens again", max(w.allowance, 0))
	}
	for _, w := range ranking {
		plan.Considered = append(plan.Considered, Alternative{
			Break: w.index, Reclaimed: w.reclaimed, Prefilled: w.prefilled, After: w.after, Lost: lossTokens(w.lost), Cost: w.cost(), Reached: w.after <= a.target,
		})
	}
	return plan, true
}

// maxConsidered is how many breaks a plan reports.
const maxConsidered = 5

// giveBack undoes moves that the goal does not need, the dearest first: the last move of a prefix may free far more than was missing.
func (p *prompt) giveBack(moves []move, taken []bool, w weighed, a attempt) {
	room := min(a.goal-w.after, w.reclaimed-a.least)
	for i := w.prefix - 1; i >= 0 && room > 0; i-- {
		m := moves[i]
		if !taken[i] || m.tokens > room || m.lost <= 0 || m.parent >= 0 && taken[m.parent] {
			continue
		}
		taken[i] = false
		room -= m.tokens
	}
}

// validate reports the first thing about the input that cannot be planned with.
func (in Input) validate() error {
	if err := in.Policy.Validate(); err != nil {
		return err
	}
	if in.Window <= 0 || in.Limit <= 0 || in.Limit > in.Window {
		return fmt.Errorf("evict: window of %d tokens with a limit of %d", in.Window, in.Limit)
	}
	if in.Total < 0 || in.Target < 0 || in.NoteTokens < 0 || in.NoReplyTokens < 0 || in.HeadTokens < 0 || in.Unsent < 0 || in.Fresh < 0 {
		return fmt.Errorf("evict: negative count: total %d, target %d, note %d, no reply %d, head %d, unsent %d, fresh %d",
			in.Total, in.Target, in.NoteTokens, in.NoReplyTokens, in.HeadTokens, in.Unsent, in.Fresh)
	}
	for i, it := range in.Items {
		switch {
		case it.Tier < Live || it.Tier > Referenced:
			return fmt.Errorf("evict: item %d (%q) is %v and not in the prompt", i, it.Episode, it.Tier)
		case slices.ContainsFunc(it.Names, func(n int32) bool { return n < 0 || int(n) >= len(in.Names) }):
			return fmt.Errorf("evict: item %d (%q) has a name outside of the %d of the input", i, it.Episode, len(in.Names))
		case it.Tokens < 0 || it.MaskedTokens < 0 || it.ReferencedTokens < 0:
			return fmt.Errorf("evict: item %d (%q) has a negative size", i, it.Episode)
		case it.Role != roleUser && it.Role != roleAssistant && it.Role != roleTool && it.Role != roleSystem:
			return fmt.Errorf("evict: item %d (%q) has the unknown role %q", i, it.Episode, it.Role)
		case i > 0 && (it.Atom < in.Items[i-1].Atom || it.Group < in.Items[i-1].Group):
			return fmt.Errorf("evict: item %d (%q) is out of order: atom %d after %d, group %d after %d",
				i, it.Episode, it.Atom, in.Items[i-1].Atom, it.Group, in.Items[i-1].Group)
		}
	}
	for i, b := range in.Breaks {
		if b.Item < 0 || b.Item > len(in.Items) || b.Pos < 0 || b.Reuse < 0 {
			return fmt.Errorf("evict: break %d at item %d of %d, token %d, reuse %d", i, b.Item, len(in.Items), b.Pos, b.Reuse)
		}
	}
	return nil
}
