package semantic

import "fmt"

// Freshness says whether an entry still speaks of what is there.
type Freshness int

// The members of [Freshness]. The zero value is none of them, so that nothing is fresh by default.
const (
	// Fresh: the anchor has the hash that it had when the entry was written.
	Fresh Freshness = iota + 1
	// Stale: the anchor has changed since.
	Stale
	// Gone: the anchor no longer exists. It counts as stale.
	Gone
	// Unverified: the anchor could not be looked at, such as a file that cannot be read. It is never fresh.
	Unverified
)

// String returns the name of the state.
func (f Freshness) String() string {
	switch f {
	case Fresh:
		return "fresh"
	case Stale:
		return "stale"
	case Gone:
		return "gone"
	case Unverified:
		return "unverified"
	}
	return fmt.Sprintf("Freshness(%d)", int(f))
}

// Stale reports whether the entry must not be trusted because its anchor changed or is gone.
func (f Freshness) Stale() bool { return f == Stale || f == Gone }

// Current is what was found when the anchor was looked at. The zero value says that nothing could be found out.
type Current struct {
	// Checked says that the anchor could be looked at.
	Checked bool
	// Hash is the anchor's hash now; "" when the anchor is gone.
	Hash string
	// Value is what the anchor says now, to be shown in place of a stale text.
	Value string
}

// Assess compares the hash that the anchor had when e was written with the one that it has now. It is the only judge of freshness.
func Assess(e Entry, now Current) Freshness {
	switch {
	case !now.Checked:
		return Unverified
	case now.Hash == "":
		return Gone
	case now.Hash != e.AnchorHash:
		return Stale
	}
	return Fresh
}

// stalePenalty is the factor on the score of a stale hit.
const stalePenalty = 0.35

// Penalise returns the score of a hit with the freshness: that of a stale one is multiplied with 0.35.
func Penalise(score float64, f Freshness) float64 {
	if f.Stale() {
		return score * stalePenalty
	}
	return score
}
