package boundary

import "fmt"

// Trend says what the cached count of a prompt means beside that of the session's prompt before. It needs no prediction, only the provider's own numbers.
// The zero value is [TrendNotReported].
type Trend int

// The members of [Trend].
const (
	// TrendNotReported: one of the two prompts has no cached count or no size, or there was no prompt before.
	TrendNotReported Trend = iota
	// TrendGrowth: the prompt grew and the cached count did not fall.
	TrendGrowth
	// TrendInversion: the prompt grew and the cached count fell. Its prefix was changed, or has left the cache.
	TrendInversion
	// TrendRewritten: the prompt was compacted, or is shorter than the one before, or the slot was restored. Nothing follows from the counts.
	TrendRewritten
)

// String returns the trend's name: not reported, growth, inversion or rewritten.
func (t Trend) String() string {
	switch t {
	case TrendNotReported:
		return "not reported"
	case TrendGrowth:
		return "growth"
	case TrendInversion:
		return "inversion"
	case TrendRewritten:
		return "rewritten"
	}
	return fmt.Sprintf("Trend(%d)", int(t))
}

// MarshalText returns the trend's name. It is an error for a value that is no trend.
func (t Trend) MarshalText() ([]byte, error) {
	if t < TrendNotReported || t > TrendRewritten {
		return nil, fmt.Errorf("boundary: %v is no trend", t)
	}
	return []byte(t.String()), nil
}

// UnmarshalText sets t to the trend of that name.
func (t *Trend) UnmarshalText(text []byte) error {
	for u := TrendNotReported; u <= TrendRewritten; u++ {
		if u.String() == string(text) {
			*t = u
			return nil
		}
	}
	return fmt.Errorf("boundary: unknown trend %q", text)
}

// Reported is what a provider said of one prompt, in its own tokens.
type Reported struct {
	// Prompt is the prompt's size, 0 where it was not reported; Cached is what was reused of it, nil where it was not reported.
	Prompt int
	Cached *int
}

// TrendOf compares a prompt with the one before. rewritten says that it was compacted in between.
func TrendOf(before, now Reported, rewritten bool) Trend {
	switch {
	case before.Prompt == 0 || now.Prompt == 0 || before.Cached == nil || now.Cached == nil:
		return TrendNotReported
	case rewritten || now.Prompt < before.Prompt:
		return TrendRewritten
	case *now.Cached < *before.Cached:
		return TrendInversion
	}
	return TrendGrowth
}

// estimateShare is the part of a prompt by which an estimate may be off before it counts as wrong: the tokens of two vocabularies are spread
// otherwise over prose and code.
const estimateShare = 10

// Estimated compares a prediction that was made by another tokenizer's counts with what a provider measured. used is our size of the prompt. Measured is
// given back in our tokens. The zero value says that they agree as well as two vocabularies can; one that is far larger than predicted is no mismatch.
func Estimated(g Geometry, predicted, used int, r Reported) Mismatch {
	if r.Cached == nil {
		return Mismatch{}
	}
	measured := *r.Cached
	if r.Prompt > 0 && used > 0 {
		measured = int(float64(measured)/float64(r.Prompt)*float64(used) + 0.5)
	}
	if measured >= predicted-used/estimateShare-g.Block {
		return Mismatch{}
	}
	return Mismatch{Predicted: predicted, Measured: measured, InARow: 1, Reason: fmt.Sprintf(
		"about %d of %d predicted tokens reused: the prefix was changed, or has left the provider's cache", measured, predicted)}
}
