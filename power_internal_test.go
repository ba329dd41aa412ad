package sakur4

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatWaitsForTheDisk: a prompt is not waited for where it only adds turns; what is recorded always is.
func TestWhatWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e, err := Open(ctx, filepath.Join(t.TempDir(), "store.db"), &Options{Project: "p", Window: 2048})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, head := e.Session("s"), Head{System: "You are careful.", CloseOpenCalls: true}
	waits := func(what string, want int64, f func() error) {
		t.Helper()
		before := e.st.Waits()
		if err := f(); err != nil {
			t.Fatalf("%s = %v", what, err)
		}
		if got := e.st.Waits() - before; got != want {
			t.Errorf("%s waited for the disk %d times, want %d", what, got, want)
		}
	}
	compacted, pin := 0, PinID("")
	for i := range 40 {
		waits("Commit()", 1, func() error {
			_, err := s.Commit(ctx, Turn{Role: RoleUser, Content: fmt.Sprint("Question ", i, strings.Repeat(" and so on", 20))})
			return err
		})
		decided := int64(0) // the first prompt, and one that places something
		switch i % 6 {
		case 0:
			decided = 1
			waits("Attach()", 1, func() error { _, err := s.Attach(ctx, Note{Kind: NoteText, Text: "a note"}); return err })
		case 2:
			decided = 1
			waits("Pin()", 1, func() (err error) { pin, err = s.Pin(ctx, fmt.Sprint("never ", i), PinConstraint); return err })
		case 3:
			decided = 1
			waits("Unpin()", 1, func() error { return s.Unpin(ctx, pin) })
		case 4:
			decided = 1
			waits("Commit()", 1, func() error {
				_, err := s.Commit(ctx, Turn{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "c", Name: "bash", Arguments: "{}"}}})
				return err
			})
		}
		before := e.st.Waits()
		w, err := s.Window(ctx, head)
		if err != nil {
			t.Fatal(err)
		}
		want := decided
		if w.Plan != nil {
			want = 1
			compacted++
		}
		if got := e.st.Waits() - before; got != want {
			t.Errorf("Window() waited for the disk %d times, want %d; plan %+v", got, want, w.Plan)
		}
		waits("Observe()", 1, func() error { _, err := s.Observe(ctx, Usage{PromptTokens: w.Receipt.Used}); return err })
		waits("Commit()", 1, func() error { _, err := s.Commit(ctx, Turn{Role: RoleAssistant, Content: "Answer."}); return err })
	}
	if compacted == 0 {
		t.Error("nothing was compacted")
	}
	waits("Compact()", 1, func() error { _, err := s.Compact(ctx, head, 300); return err })
}
