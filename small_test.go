package sakur4_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sakur4"
)

// TestSmallWindows: in windows that are hardly larger than what never gives way, a prompt is made as long as one fits.
func TestSmallWindows(t *testing.T) {
	t.Parallel()
	fits := map[int]int{}
	failed := map[int]int{}
	for window := 150; window <= 700; window += 10 {
		n := uint64(0) // ids of their own: their digits decide how many tokens a note takes
		eng := open(t, &sakur4.Options{Window: window, NewID: func() uint64 { n++; return n * 0x9e3779b97f4a7c15 }})
		f := &folder{t: t, s: eng.Session("s")}
		f.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "task " + strings.Repeat("word ", 100)})
		for i := range 6 {
			f.call("read", func() string { return strings.Repeat(fmt.Sprintf("line %d of the file\n", i), 60) })
		}
		w, err := f.s.Window(t.Context(), sakur4.Head{System: "You are careful."})
		var over *sakur4.BudgetError
		switch {
		case err == nil:
			fits[window] = w.Receipt.Used
			if limit := window - window/8; w.Receipt.Used > limit {
				t.Errorf("window %d: %d tokens, at most %d", window, w.Receipt.Used, limit)
			}
		case errors.As(err, &over):
			failed[window] = over.Need
		default:
			t.Fatalf("window %d: %v", window, err)
		}
	}
	least := 1 << 30
	for _, used := range fits {
		least = min(least, used)
	}
	for window := range failed {
		// The sizes of stubs and notes are estimates, a little more than they take in the end.
		if limit := window - window/8; least*5/4 <= limit {
			t.Errorf("window %d is refused, and a prompt of %d tokens was made elsewhere", window, least)
		}
	}
	if len(fits) < 30 {
		t.Errorf("only %d of 56 windows have a prompt; least %d tokens, refused %v", len(fits), least, failed)
	}
}
