package receipt

import (
	"fmt"
	"slices"

	"sakur4/boundary"
)

// Category is a part of the prompt. The zero value is invalid.
type Category int

// The members of [Category], in the order in which a receipt lists them.
const (
	System Category = iota + 1
	Tools
	Pins
	RepoMap
	RecalledNotes
	FoldSummaries
	Stubs
	RawHistory
	TemplateOverhead
)

var _ fmt.Stringer = Category(0)

// String returns the category's name: system, tools, pins, repo map, recalled notes, fold summaries, stubs, raw history or template overhead.
func (c Category) String() string {
	switch c {
	case System:
		return "system"
	case Tools:
		return "tools"
	case Pins:
		return "pins"
	case RepoMap:
		return "repo map"
	case RecalledNotes:
		return "recalled notes"
	case FoldSummaries:
		return "fold summaries"
	case Stubs:
		return "stubs"
	case RawHistory:
		return "raw history"
	case TemplateOverhead:
		return "template overhead"
	}
	return fmt.Sprintf("Category(%d)", int(c))
}

// ParseCategory returns the category of that name.
func ParseCategory(s string) (Category, error) {
	for _, c := range Categories() {
		if c.String() == s {
			return c, nil
		}
	}
	return 0, fmt.Errorf("receipt: unknown category %q", s)
}

// MarshalText returns the category's name; a value outside the list is an error.
func (c Category) MarshalText() ([]byte, error) {
	if c < System || c > TemplateOverhead {
		return nil, fmt.Errorf("receipt: cannot write %v", c)
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads a category's name.
func (c *Category) UnmarshalText(text []byte) error {
	p, err := ParseCategory(string(text))
	if err != nil {
		return err
	}
	*c = p
	return nil
}

// Categories returns all categories in their fixed order.
func Categories() []Category {
	all := make([]Category, 0, TemplateOverhead)
	for c := System; c <= TemplateOverhead; c++ {
		all = append(all, c)
	}
	return all
}

// Part is what one category takes of the prompt.
type Part struct {
	// Category is what the tokens are spent on.
	Category Category `json:"category"`
	Tokens   int      `json:"tokens"`
}

// Parts returns the parts of a receipt: every category once, in the fixed order, with the tokens that count gives for it.
func Parts(count func(Category) int) []Part {
	parts := make([]Part, 0, TemplateOverhead)
	for _, c := range Categories() {
		parts = append(parts, Part{Category: c, Tokens: count(c)})
	}
	return parts
}

// Cache is what was predicted of the server's prompt cache, and what the server said. All counts are in tokens.
type Cache struct {
	// Status is what became of the cache; unknown where nothing was reported.
	Status boundary.CacheStatus
	// Verdict is how well the cut fitted; zero where nothing was cut.
	Verdict boundary.Verdict
	// Boundary is the position of the first changed token, Checkpoint the rewind point used (0: none), Snap the distance between them.
	Boundary, Checkpoint, Snap int
	// Predicted is the reuse that was expected.
	Predicted int
	// Measured says that the server reported its cached count. Reused and Prefilled are the server's if so; otherwise they mean nothing and
	// are shown as "not reported".
	Measured          bool
	Reused, Prefilled int
	// Prompt is the server's own size of the prompt, 0 if it was not reported; Drift is Prompt − Used.
	Prompt, Drift int
	// Cause names why the measurement differs from the prediction, "" if it does not; Reason is the arithmetic in words.
	Cause, Reason string
	// Millis is how long the prompt took to process, in milliseconds; 0 if it was not reported.
	Millis float64
	// Shifted says that the request asked the server to move kept tokens instead of computing them again (approximate).
	Shifted bool
	// Trend is what the cached count means beside that of the prompt before.
	Trend boundary.Trend
	// Written is how many tokens the provider wrote to its cache; nil is "not reported", which is not 0.
	Written *int
	// Provider and Model name who answered, "" is unknown.
	Provider, Model string
	// Estimated says that Predicted and the receipt's sizes are counted by another tokenizer than the provider's.
	Estimated bool
}

// Receipt holds the numbers of one turn.
type Receipt struct {
	// Session is the session's id, ID the window's.
	Session, ID string
	// Turn numbers the windows of the session from 1, Generation its compactions from 0.
	Turn, Generation int
	// Window is the size of the context, Used the size of the prompt: the sum of the parts. Both in tokens.
	Window, Used int
	// New is how many of those tokens have never stood in a prompt of the session: episodes with their template overhead at their first
	// appearance, and the head once; notes and stubs are not new.
	New int
	// Messages is the number of messages of the prompt, EscapedMarks that of control-token texts that were made harmless in it.
	Messages, EscapedMarks int
	// Compacted says that this turn's window was compacted.
	Compacted bool
	// Parts lists every category in the fixed order; see [Parts].
	Parts []Part
	// Cache is the server's side.
	Cache Cache
	// Tokenizer names what counted, Backend the server's kind, Floor the floor that a compaction was stopped by ("" for none).
	Tokenizer, Backend, Floor string
	// Notes are named breaks and their causes, in the order in which they happened.
	Notes []string
}

// ReuseRatio returns the share of the prompt that the server reused, between 0 and 1. ok is false if the server reported no cached count.
func (r Receipt) ReuseRatio() (ratio float64, ok bool) {
	total := r.Cache.Reused + r.Cache.Prefilled
	if !r.Cache.Measured || total <= 0 {
		return 0, false
	}
	return float64(r.Cache.Reused) / float64(total), true
}

// Tokens returns what a category takes; 0 if the receipt does not list it.
func (r Receipt) Tokens(c Category) int {
	i := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Category == c })
	if i < 0 {
		return 0
	}
	return r.Parts[i].Tokens
}
