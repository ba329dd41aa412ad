package sakur4_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
)

// storeFiles are the bytes of a store and of its log.
type storeFiles struct{ file, log []byte }

func readStore(t *testing.T, path string) storeFiles {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return storeFiles{file, log}
}

// put writes the files into a new folder.
func (f storeFiles) put(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := errors.Join(os.WriteFile(path, f.file, 0o600), os.WriteFile(path+"-wal", f.log, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// torn returns f with some of the sectors that were appended to its log since before, as a loss of power may leave them.
func (f storeFiles) torn(before storeFiles, rng *rand.Rand) storeFiles {
	log := append([]byte{}, f.log...)
	for at := len(before.log); at < len(log); at += 512 {
		if rng.IntN(4) == 0 {
			clear(log[at:min(at+512, len(log))])
		}
	}
	return storeFiles{before.file, log}
}

// TestALossOfPowerBehindAWindow takes from the store what a loss of power may take after each prompt, some of which carry pins, notes, results that were cut and calls
// that were closed: the prompt is there, or only adds turns and is made anew with the same bytes, whatever comes in between, and the session goes on behind it.
func TestALossOfPowerBehindAWindow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	opts := &sakur4.Options{Project: "p", Window: 1536, Tokenizer: fours{}}
	path := storePath(t)
	eng := openEngine(t, path, opts)
	s := eng.Session("s")
	head := sakur4.Head{System: "You are a careful engineer.", CloseOpenCalls: true}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	lost, kept, compacted := 0, 0, 0
	for i := range some(5, 0, 1, 2, 3, 4, 5, 6, 7) {
		waited := i%4 != 1 // for the first head, a note, a pin or a closed call
		must(s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: fmt.Sprint("Question ", i, "?", strings.Repeat(" Think of it.", 50))}))
		if i%2 == 1 {
			id := fmt.Sprint("call_", i)
			must(s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "fetch", Arguments: "{}"}, {ID: id + "b", Name: "fetch", Arguments: "{}"}}}))
			must(s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: strings.Repeat(fmt.Sprint("line ", i, "\n"), 200*i)}))
			if i%4 == 1 {
				must(s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id + "b", Content: "ok"}))
			}
		}
		switch i % 4 {
		case 0:
			must(s.Attach(ctx, sakur4.Note{Kind: sakur4.NoteText, Text: fmt.Sprint("note ", i)}))
		case 2:
			must(s.Pin(ctx, fmt.Sprint("never do ", i), sakur4.PinConstraint))
		}
		before := readStore(t, path)
		w, err := s.Window(ctx, head)
		must(w, err)
		after := readStore(t, path)
		if w.Plan != nil {
			compacted++
		}
		if waited = waited || w.Plan != nil; waited {
			before = after
		}
		for _, left := range []storeFiles{before, after.torn(before, rng), after} {
			other := openEngine(t, left.put(t), opts)
			o := other.Session("s")
			_, err := o.Observe(ctx, sakur4.Usage{Window: w.ID, PromptTokens: w.Receipt.Used})
			switch {
			case err == nil:
				kept++
			case errors.Is(err, sakur4.ErrNotFound) && !waited:
				lost++
				more := openEngine(t, left.put(t), opts)
				m := more.Session("s")
				must(m.Pin(ctx, "say less", sakur4.PinConstraint))
				must(m.Attach(ctx, sakur4.Note{Kind: sakur4.NoteText, Text: "one more thing"}))
				must(m.Commit(ctx, sakur4.Turn{Role: sakur4.RoleSystem, Content: "The disk is full."}))
				must(m.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "And more."}))
				next, err := m.Window(ctx, head)
				must(next, err)
				if next.Plan != nil || !cmp.Equal(w.Messages, next.Messages[:len(w.Messages)]) {
					t.Fatalf("behind a lost prompt and a pin, a note and turns: plan %+v, -lost +got:\n%s", next.Plan, cmp.Diff(w.Messages, next.Messages))
				}
			default:
				t.Fatalf("Observe() of prompt %d with plan %+v behind a loss of power = %v", i, w.Plan, err)
			}
			again, err := o.Window(ctx, head)
			must(again, err)
			if d := cmp.Diff(w.Messages, again.Messages); d != "" || again.Receipt.Used != w.Receipt.Used || again.Receipt.Turn != w.Receipt.Turn {
				t.Fatalf("Window() behind a loss of power = %d tokens in turn %d, want %d in %d (-want +got):\n%s",
					again.Receipt.Used, again.Receipt.Turn, w.Receipt.Used, w.Receipt.Turn, d)
			}
			must(o.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Done."}))
			must(o.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."}))
			next, err := o.Window(ctx, head)
			must(next, err)
			if next.Plan == nil {
				if d := cmp.Diff(w.Messages, next.Messages[:len(w.Messages)]); d != "" {
					t.Fatalf("the prompt after it begins otherwise (-want +got):\n%s", d)
				}
			}
			if report, err := other.Verify(ctx); err != nil {
				t.Fatalf("Verify() = %+v, %v", report, err)
			}
		}
		must(s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, Content: "Done."}))
		// What was recorded behind a prompt keeps it.
		other := openEngine(t, readStore(t, path).put(t), opts)
		if r, err := other.Session("s").Receipt(ctx); err != nil || r.ID != string(w.ID) {
			t.Fatalf("Receipt() behind a reply = %s, %v, want %s", r.ID, err, w.ID)
		}
	}
	t.Logf("%d prompts lost, %d kept, %d compacted", lost, kept, compacted)
	if lost == 0 || kept == 0 || compacted == 0 {
		t.Errorf("%d prompts lost, %d kept, %d compacted; want some of each", lost, kept, compacted)
	}
}
