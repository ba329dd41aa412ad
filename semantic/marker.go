package semantic

import "strings"

// The fixed texts around an entry that must not be trusted.
const (
	// Marker is the short mark of a stale hit in a list.
	Marker = "[STALE]"
	// UnverifiedMarker is the short mark of a hit whose anchor could not be looked at.
	UnverifiedMarker = "[UNVERIFIED]"
	// StaleHeading stands in front of a stale text in a prompt.
	StaleHeading = "[STALE SUMMARY — do not trust]"
	// RecallInstruction belongs into the description of a recall tool.
	RecallInstruction = "Any interpretation whose source has since changed is returned with stale=true and the source's CURRENT value attached — trust current_value, not text."
)

// Mark returns the short mark of the state, "" for a fresh one.
func Mark(f Freshness) string {
	switch f {
	case Fresh:
		return ""
	case Unverified:
		return UnverifiedMarker
	}
	return Marker
}

// Reason returns why recall lowers a hit, "" where it does not.
func Reason(e Entry, f Freshness) string {
	switch f {
	case Stale:
		return "anchor " + e.AnchorID + " changed since this summary was written — summary is not authoritative"
	case Gone:
		return "the anchor no longer exists at all"
	case Unverified:
		return "anchor " + e.AnchorID + " could not be checked"
	}
	return ""
}

// Render returns the entry as a prompt shows it. A fresh one is its text; any other has the heading in front, says what happened to the anchor, and ends with
// the anchor's current value where there is one. The text names code.query_symbol; where tool names have no dots, a model knows that tool as code_query_symbol.
func Render(e Entry, f Freshness, now Current) string {
	var b strings.Builder
	switch f {
	case Fresh:
		return e.Text
	case Unverified:
		b.WriteString("[UNVERIFIED SUMMARY — its source could not be read] " + e.Text)
		b.WriteString("\n  ↳ the anchor it was derived from (" + e.Anchored() + ") could not be checked;")
	case Gone:
		b.WriteString(StaleHeading + " " + e.Text)
		b.WriteString("\n  ↳ the anchor it was derived from (" + e.Anchored() + ") no longer exists at all;")
	default:
		b.WriteString(StaleHeading + " " + e.Text)
		b.WriteString("\n  ↳ the anchor it was derived from (" + e.Anchored() + ") has changed since this summary was written;")
	}
	b.WriteString("\n    re-read the source or call code.query_symbol to get the current truth.")
	if f != Gone && f != Unverified && now.Value != "" {
		b.WriteString("\n    current value: " + now.Value)
	}
	return b.String()
}
