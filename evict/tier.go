package evict

import "fmt"

// Tier is how far an episode has been pushed out of the live window. The rungs are taken one at a time, in order, and never skipped.
// The zero value is invalid.
type Tier int

// The members of [Tier], from the starting rung down.
const (
	// Live: rendered in full. Every episode is written with it.
	Live Tier = iota + 1
	// Masked: a tool result's first lines, then where the rest is stored and how to read it.
	Masked
	// Referenced: one line with the id and path.
	Referenced
	// Archived: out of the prompt; its range stands in the archive note and recall finds it.
	Archived
	// Dropped: also out of the archive note, and out of recall unless asked for.
	Dropped
)

// String returns the tier's name as stored: live, masked, referenced, archived or dropped.
func (t Tier) String() string {
	switch t {
	case Live:
		return "live"
	case Masked:
		return "masked"
	case Referenced:
		return "referenced"
	case Archived:
		return "archived"
	case Dropped:
		return "dropped"
	}
	return fmt.Sprintf("Tier(%d)", int(t))
}

// ParseTier returns the tier of that name.
func ParseTier(s string) (Tier, error) {
	for t := Live; t <= Dropped; t++ {
		if t.String() == s {
			return t, nil
		}
	}
	return 0, fmt.Errorf("evict: unknown tier %q", s)
}
