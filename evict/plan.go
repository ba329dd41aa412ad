package evict

import "fmt"

// The floor classes of [Item.Floor], in the order in which they give way when a prompt cannot be made to fit otherwise. Pins never do.
const (
	// FloorTool: the calls and results of a protected tool.
	FloorTool = iota + 1
	// FloorKeepRecent: the recent atoms; computed by [Pick].
	FloorKeepRecent
	// FloorNewestAtom: the newest call with its results; computed by [Pick], and the class of open calls.
	FloorNewestAtom
	// FloorNewestUser: the newest user turn. It is trimmed, never removed.
	FloorNewestUser
	// FloorTaskRoot: the first user turn. It is trimmed, never removed.
	FloorTaskRoot
	// FloorPins: the head with its pins. It never gives way.
	FloorPins
)

// FloorName returns the name of a floor class as it stands in plans and errors, "" for 0.
func FloorName(class int) string {
	switch class {
	case 0:
		return ""
	case FloorTool:
		return "protected tool"
	case FloorKeepRecent:
		return "keep recent"
	case FloorNewestAtom:
		return "newest atom"
	case FloorNewestUser:
		return "newest user turn"
	case FloorTaskRoot:
		return "task root"
	case FloorPins:
		return "pins"
	}
	return fmt.Sprintf("Floor(%d)", class)
}

// Item is one episode as it is rendered in the prompt.
type Item struct {
	// Episode is its id, Role one of user, assistant, tool, system, Tool the tool's name for results ("" else).
	Episode, Role, Tool string
	// Atom numbers the unit that it belongs to: a call and all its results carry the same number. Ascending in prompt order.
	Atom int
	// Group is the index of the user turn that it follows, its own for a user turn. Ascending in prompt order.
	// A user turn is archived only together with everything up to the next one.
	Group int
	// Seq is the episode's place in the record.
	Seq int64
	// Pos is where its rendering starts, Tokens how long it is now with its notes and template overhead; both in tokens.
	Pos, Tokens int
	// Tier is its rung now: [Live], [Masked] or [Referenced]; what is further down is not in the prompt.
	Tier Tier
	// MaskedTokens and ReferencedTokens are its size when rendered so, in tokens. 0: that form does not exist.
	MaskedTokens, ReferencedTokens int
	// NoteTokens is what of Tokens is notes and no part of the episode: they do not count as recent work. 0 where there are none.
	NoteTokens int
	// LeastTokens is the size below which no trim brings it: its notes, its pointer and the template's own. 0: [MinTrim].
	LeastTokens int
	// Age is its distance from the newest episode in turns, 0 for the newest.
	Age int
	// InDegree is the number of edges of the dependency graph that point to it.
	InDegree int
	// Superseded says that a later episode corrects it, Droppable that it may be forgotten.
	Superseded, Droppable bool
	// Names are the names that its rendering holds, as indexes into [Input.Names], each once; nil if they are not known.
	Names []int32
	// Dependents is the number of episodes that need it; only one with none can be dropped.
	Dependents int
	// Protect is why it may not be touched: "newest user turn", "task root", "open call", "protected tool", or words of the caller's;
	// "" if it may. What is recent is found by [Pick].
	Protect string
	// Floor is the class of Protect, which says when it gives way; 0 takes it from the words of Protect, where unknown words mean [FloorTool].
	Floor int
}

// Break is a place where a prompt may be changed: everything from there on is sent anew.
type Break struct {
	// Item is the index of the first item that may change.
	Item int
	// Pos is the number of tokens before it, Reuse how many of them the server can reuse.
	Pos, Reuse int
	// Note says what is special about it, for the plan's reason; may be "".
	Note string
}

// Input is the state of a prompt that has to shrink.
type Input struct {
	// Items are all episodes in the prompt, in prompt order.
	Items []Item
	// Names are the names that turns of the prompt use; nil leaves the working set out of the value of the items.
	Names []Name
	// Breaks are the places where the prompt may change. Where none of them lets the prompt fit, the start of the first item is taken.
	Breaks []Break
	// Total is the size of the prompt now, Window the size of the context, Limit what the prompt may have at most (window − reserve),
	// Target what the plan aims at (0: from the policy). All in tokens.
	Total, Window, Limit, Target int
	// NoteTokens is the cost of the note that names what was archived; it is added as soon as a plan archives.
	NoteTokens int
	// NoReplyTokens is the cost of the fixed reply that stands in for a final answer archived by itself; 0 if it is not known.
	NoReplyTokens int
	// HeadTokens is the size of what stands before the first item: system text, tools, pins.
	HeadTokens int
	// Unsent is the number of tokens at the end of the prompt that the server has not seen; every plan prefills them. Used for Shift alone.
	Unsent int
	// Fresh is the number of tokens that were new in the session so far, Again how many its compactions had the server process again. They bound what a plan may
	// cost, see [Policy.MaxAgain]; Fresh 0 leaves it unbounded. Deletions alone are not bounded.
	Fresh, Again int
	// Shift asks for a plan of deletions alone, for a server that moves the kept tail instead of computing it again.
	Shift bool
	// Policy holds the rules; zero fields mean the defaults.
	Policy Policy
	// Force asks for a plan whatever the trigger, the hysteresis and the minimum say.
	Force bool
	// SinceLast is the growth in tokens since the last compaction; Total where there was none. See [Threshold].
	SinceLast int
}

// Step is one rung taken by one episode.
type Step struct {
	// Episode is its id.
	Episode string
	// From and To are neighbouring rungs.
	From, To Tier
	// Value is the episode's score, see [Score].
	Value float64
	// Tokens is what the rung reclaims; 0 is allowed.
	Tokens int
	// Reason is the step in words, such as "tier live → masked (value 2.65, 0 tokens reclaimed)", with the notes of the score.
	Reason string
}

// Trim is an episode that stays live and must be rendered shorter: head, tail and a pointer to the whole.
type Trim struct {
	// Episode is its id.
	Episode string
	// Tokens is the size that it may have at most, Reclaimed the difference to now.
	Tokens, Reclaimed int
	// Floor is the name of the floor that gave way.
	Floor string
}

// Alternative is a break that was weighed, with its arithmetic in tokens.
type Alternative struct {
	// Break is the index into [Input.Breaks], -1 for the start of the first item.
	Break int
	// Reclaimed, Prefilled and After are what the plan would have there. Lost is the value given up. Cost adds what is processed again, each token
	// priced by the share of the allowance that the plan takes, see [Policy.MaxAgain].
	Reclaimed, Prefilled, After int
	Lost, Cost                  float64
	Reached                     bool
}

// Plan is what to take out of a prompt. Nothing is changed by it.
type Plan struct {
	// Break is the index into [Input.Breaks] of the place where the prompt changes; -1: nothing changes, or it changes at the first item
	// although no break was given there.
	Break int
	// Steps are the rungs to take, episode by episode in prompt order; only the last rung of an episode is rendered. Nil: the plan changes nothing.
	Steps []Step
	// Trims are the episodes that must be rendered shorter because a floor gave way; mostly nil.
	Trims []Trim
	// Before and After are the prompt's size, Target what was aimed at, Reused and Prefilled the prediction for the next request.
	Before, After, Target, Reused, Prefilled int
	// Pressure is why there is a plan.
	Pressure Pressure
	// Reached says that After is at most Target.
	Reached bool
	// Floor is the name of the floor that stopped the plan short of its target, or that gave way; "" if none did.
	Floor string
	// Reason is the plan's arithmetic in words.
	Reason string
	// Cost is Prefilled plus the value lost, in tokens.
	Cost float64
	// Shift says that the plan consists of deletions alone, so that the server's shift applies; MinRun is then the smallest kept run
	// after the first gap, in tokens.
	Shift  bool
	MinRun int
	// Allowance is what the plan was allowed to have processed again, see [Policy.MaxAgain]; below 0 where more than that was spent before, and 0 without a bound.
	Allowance int
	// Considered holds the best few breaks, the chosen one first.
	Considered []Alternative
}

// OverflowError is returned by [Pick] when the prompt cannot be made to fit.
type OverflowError struct {
	// Floor is the name of the floor that does not give way, ID the episode that stands for it ("" for the head).
	Floor, ID string
	// Need is the least size that the prompt can have, Have what it may have; in tokens.
	Need, Have int
}

// Error says what does not fit.
func (e *OverflowError) Error() string {
	s := fmt.Sprintf("evict: no room for %s: %d tokens needed, %d available", e.Floor, e.Need, e.Have)
	if e.ID != "" {
		s += " (" + e.ID + ")"
	}
	return s
}
