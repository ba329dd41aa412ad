package evict

import "fmt"

// Pressure says how a window stands to its budget. The zero value is invalid.
type Pressure int

// The members of [Pressure].
const (
	// Relaxed: nothing has to go.
	Relaxed Pressure = iota + 1
	// Compacting: the trigger is reached or the hard limit exceeded.
	Compacting
	// AnchorOverflow: what can never be evicted does not fit by itself.
	AnchorOverflow
)

// String returns the pressure's name: relaxed, compacting or anchor_overflow.
func (p Pressure) String() string {
	switch p {
	case Relaxed:
		return "relaxed"
	case Compacting:
		return "compacting"
	case AnchorOverflow:
		return "anchor_overflow"
	}
	return fmt.Sprintf("Pressure(%d)", int(p))
}

// Threshold decides whether a prompt of used tokens has to be compacted, and to how many tokens.
//
// The hard limit is window − reserve: above it the answer is always [Compacting]. Below it the trigger decides, with hysteresis: no second
// compaction before the prompt has grown by half the distance from target to trigger. sinceLast is that growth in tokens; pass used itself
// where there was no compaction yet. A trigger above the hard limit is pulled down to it, and the target with it in proportion.
// reason is one sentence for logs and receipts.
func Threshold(p Policy, window, reserve, used, sinceLast int) (pressure Pressure, target int, reason string) {
	p = p.WithDefaults("")
	limit := max(window-reserve, 0)
	trigger := share(p.Trigger, window)
	target = share(p.Target, window)
	if trigger > limit {
		trigger = limit
		target = min(target, int(float64(limit)*(p.Target/p.Trigger)))
	}
	growth := (trigger - target) / 2
	switch {
	case used > limit:
		return Compacting, target, fmt.Sprintf("%d tokens exceed the hard limit of %d", used, limit)
	case used < trigger:
		return Relaxed, target, fmt.Sprintf("%d tokens are below the trigger of %d", used, trigger)
	case sinceLast < growth && sinceLast < used:
		return Relaxed, target, fmt.Sprintf("%d tokens reach the trigger of %d, but only %d came since the last compaction, fewer than %d", used, trigger, sinceLast, growth)
	}
	return Compacting, target, fmt.Sprintf("%d tokens reach the trigger of %d; target %d", used, trigger, target)
}

// share returns that share of the window in whole tokens, rounded down.
func share(s float64, window int) int {
	return int(s * float64(window))
}
