package tokens_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"sakur4/internal/digest"
	"sakur4/internal/tokens"
)

// TestCounter compares a small Counter, used by several goroutines in different orders, with plain counting.
func TestCounter(t *testing.T) {
	t.Parallel()
	e := tokens.CL100k()
	c := tokens.NewCounter(e, 8)
	var texts []string
	for i := range 40 {
		texts = append(texts, strings.Repeat(fmt.Sprintf("line %d of the log\n", i), i))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 400 {
				s := texts[(i*(2*g+1)+g)%len(texts)]
				if got, want := c.Count(s), e.Count(s); got != want {
					t.Errorf("Count(%.40q) = %d, want %d", s, got, want)
				}
				if got, want := c.CountOf(digest.Of(s), s), e.Count(s); got != want {
					t.Errorf("CountOf its digest(%.40q) = %d, want %d", s, got, want)
				}
				if got, want := c.CountOf(digest.Digest{}, s), e.Count(s); got != want {
					t.Errorf("CountOf no digest(%.40q) = %d, want %d", s, got, want)
				}
			}
		})
	}
	wg.Wait()
	if got, want := c.Name(), "cl100k_base"; got != want {
		t.Errorf("Name() = %q, want %q", got, want)
	}
}
