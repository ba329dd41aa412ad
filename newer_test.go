package sakur4_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"sakur4"
	"sakur4/internal/storetest"
)

// TestNewerWhileOpen: a newer version of the module brings the store to its schema while this one has it open. From then on every call says so, and writes nothing.
func TestNewerWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "m.db")
	eng := openEngine(t, path, &sakur4.Options{Project: "p"})
	s := eng.Session("main")
	c, err := s.Commit(t.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Hello."})
	if err != nil {
		t.Fatalf("Commit() = %v", err)
	}
	if _, err := s.Window(t.Context(), sakur4.Head{}); err != nil {
		t.Fatalf("Window() = %v", err)
	}
	raw := storetest.Raw(t, path)
	ours, err := raw.Query(`PRAGMA user_version`)
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Exec(`PRAGMA user_version = 9999`); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(context.Context) error{
		"Commit": func(ctx context.Context) error {
			_, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleUser, Content: "Again."})
			return err
		},
		"Window":  func(ctx context.Context) error { _, err := s.Window(ctx, sakur4.Head{System: "other"}); return err },
		"Observe": func(ctx context.Context) error { _, err := s.Observe(ctx, sakur4.Usage{}); return err },
		"Pin":     func(ctx context.Context) error { _, err := s.Pin(ctx, "a rule", sakur4.PinConstraint); return err },
		"Fold":    func(ctx context.Context) error { _, err := s.Fold(ctx, "a", "b"); return err },
		"Attach": func(ctx context.Context) error {
			_, err := s.Attach(ctx, sakur4.Note{Kind: sakur4.NoteText, Text: "x"})
			return err
		},
		"Interpret": func(ctx context.Context) error {
			_, err := s.Interpret(ctx, sakur4.EpisodeAnchor(c.Episode), "x")
			return err
		},
		"Episode": func(ctx context.Context) error { _, err := eng.Episode(ctx, c.Episode); return err },
		"Recall":  func(ctx context.Context) error { _, err := eng.Recall(ctx, sakur4.Query{Text: "hello"}); return err },
		"Facts": func(ctx context.Context) error {
			for _, err := range eng.Facts(ctx, sakur4.FactFilter{}) {
				return err
			}
			return nil
		},
		"Status": func(ctx context.Context) error { _, err := eng.Status(ctx); return err },
		"Verify": func(ctx context.Context) error { _, err := eng.Verify(ctx); return err },
		"Backup": func(ctx context.Context) error { return eng.Backup(ctx, filepath.Join(t.TempDir(), "b.db")) },
	} {
		if err := call(t.Context()); !errors.Is(err, sakur4.ErrUnsupported) {
			t.Errorf("%s after a newer version has changed the schema = %v, want %v", name, err, sakur4.ErrUnsupported)
		}
	}
	if err := raw.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, ours[0][0])); err != nil {
		t.Fatal(err)
	}
}
