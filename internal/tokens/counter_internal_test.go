package tokens

import (
	"strings"
	"testing"

	"sakur4/internal/digest"
)

// TestCounterForgets shows that the count used longest ago goes first, and that short texts take no room.
func TestCounterForgets(t *testing.T) {
	t.Parallel()
	c := NewCounter(CL100k(), 2)
	text := func(of string) string { return strings.Repeat(of, shortBytes) }
	a, b, d := text("first "), text("second "), text("third ")
	for _, s := range []string{a, b, a, "short", d} {
		c.Count(s)
	}
	for _, tc := range []struct {
		text string
		want bool
	}{{a, true}, {b, false}, {d, true}, {"short", false}} {
		if _, got := c.lookup(digest.Of(tc.text)); got != tc.want {
			t.Errorf("after five counts, %.10q remembered = %t, want %t", tc.text, got, tc.want)
		}
	}
	if got := len(c.counts); got != 2 || c.recent.Len() != 2 {
		t.Errorf("%d counts and %d elements held, want 2 and 2", got, c.recent.Len())
	}
}
