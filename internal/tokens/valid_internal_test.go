package tokens

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRestore goes through every offset of the valid text, also those inside a U+FFFD, where no token of the present vocabularies ends.
func TestRestore(t *testing.T) {
	t.Parallel()
	const s = "a\xff\xfeé\xc3"
	if got, want := valid(s), "a\uFFFD\uFFFDé\uFFFD"; got != want {
		t.Fatalf("valid(%q) = %q, want %q", s, got, want)
	}
	got := make([]int, len(valid(s))+1)
	for i := range got {
		got[i] = i
	}
	restore(got, badBytes(s))
	want := []int{0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 5, 6}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("restore(0 to %d) for %q (-want +got):\n%s", len(got)-1, s, diff)
	}
}
