package consolidate

import "fmt"

// MinTokens is the size in tokens below which an episode is not worth an interpretation: what stands for it would be about as long.
const MinTokens = 96

// Candidate is what is known of an episode before its text is looked at.
type Candidate struct {
	// Role is who spoke.
	Role string
	// Tokens is the size of its text.
	Tokens int
	// SupersededBy is the episode that corrects it, "" for none.
	SupersededBy string
	// OwnWords says that the text repeats what this module rendered.
	OwnWords bool
}

// Skip returns why an episode gets no interpretation, "" where it gets one. min is the least size in tokens.
func Skip(c Candidate, min int) string {
	switch {
	case c.Role == "system":
		return "a remark of the agent"
	case c.OwnWords:
		return "it repeats what was remembered"
	case c.SupersededBy != "":
		return "superseded by " + c.SupersededBy
	case c.Tokens < min:
		return fmt.Sprintf("%d tokens, under %d", c.Tokens, min)
	}
	return ""
}

// SummaryTokens returns the size in tokens that an interpretation of a text of that size may have: a quarter, within bounds. It keeps interpretations of
// interpretations from growing.
func SummaryTokens(source int) int { return min(max(source/4, 32), 256) }

// NotShorter returns why an interpretation of that size is no gain, "" where it is one.
func NotShorter(tokens, source int) string {
	if tokens < source {
		return ""
	}
	return fmt.Sprintf("not shorter: %d tokens for %d", tokens, source)
}
