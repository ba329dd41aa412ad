package sakur4_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveSnapshot saves and restores the slot of a real server that is restarted in between, again and again over a working session with compactions:
// each prompt reuses exactly what was predicted.
func TestLiveSnapshot(t *testing.T) {
	for _, arch := range []llamatest.Arch{llamatest.Full, llamatest.Sliding} {
		t.Run(string(arch), func(t *testing.T) {
			srv := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: arch}, Context: 8192, UBatch: 512, Spacing: 256, Checkpoints: 32, SlotSave: true,
				Args: []string{"-cram", "0"}})
			o := &llamacpp.Options{}
			if arch == llamatest.Sliding {
				o.Rule = &boundary.CheckpointRule{Spacing: 256, Max: 32, Ubatch: 512}
			}
			d := newDrive(t, srv, o, 8192)
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
			d.turn()
			warm, saved := 0, 0
			for i := range 8 {
				d.work(4)
				snap, err := d.s.Snapshot(t.Context())
				if err != nil {
					t.Fatalf("Snapshot() = %v", err)
				}
				if last := d.windows[len(d.windows)-1]; snap.Tokens != last.Used+d.reply-1 {
					t.Errorf("Snapshot() has %d tokens, the prompt %d and the reply %d", snap.Tokens, last.Used, d.reply)
				}
				saved += snap.Tokens
				if i%2 == 1 {
					d.work(2) // the record goes on, the slot goes back
				}
				srv.Restart(t)
				if err := d.s.Restore(t.Context(), snap); err != nil {
					t.Fatalf("Restore() = %v", err)
				}
				n := len(d.windows)
				d.work(1)
				r := d.windows[n]
				if r.Cache.Status != boundary.StatusWarmRestored || r.Cache.Cause != "" {
					t.Errorf("first prompt after Restore: %s", r)
				}
				warm += r.Cache.Reused
			}
			files, err := os.ReadDir(srv.SlotDir)
			if err != nil || len(files) != sakur4.DefaultSnapshots+1 {
				t.Errorf("%d slot files, %v, want %d", len(files), err, sakur4.DefaultSnapshots+1)
			}
			t.Logf("%d windows, %d compactions; 8 snapshots of %d tokens in all, %d reused after restarts", len(d.windows), d.plans, saved, warm)
		})
	}
}

// TestLiveSnapshotRefusals: a file that is missing, cut short or written over, another model under the same path, and a server
// that saves no slots are errors of their own, after which the session goes on as predicted.
func TestLiveSnapshotRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	model := func(seed uint64) {
		t.Helper()
		if err := llamatest.ModelFile(path, llamatest.Model{Seed: seed}); err != nil {
			t.Fatal(err)
		}
	}
	model(1)
	srv := llamatest.Start(t, llamatest.Options{ModelPath: path, Context: 8192, SlotSave: true, Args: []string{"-cram", "0"}})
	d := newDrive(t, srv, nil, 0)
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
	d.turn()
	take := func() sakur4.Snapshot {
		t.Helper()
		d.work(2)
		snap, err := d.s.Snapshot(t.Context())
		if err != nil {
			t.Fatalf("Snapshot() = %v", err)
		}
		return snap
	}
	for name, harm := range map[string]func(file string) error{
		"missing":   os.Remove,
		"cut short": func(file string) error { return os.Truncate(file, 5000) },
		"empty":     func(file string) error { return os.Truncate(file, 0) },
		"no slot":   func(file string) error { return os.WriteFile(file, []byte("hello, world"), 0o600) },
		"another": func(file string) error {
			c, err := llamacpp.New(srv.URL, nil)
			if err != nil {
				return err
			}
			if err := c.EraseSlot(t.Context(), 0); err != nil {
				return err
			}
			_, err = c.SaveSlot(t.Context(), 0, filepath.Base(file))
			return err
		},
	} {
		snap := take()
		if err := harm(filepath.Join(srv.SlotDir, snap.File)); err != nil {
			t.Fatal(err)
		}
		if err := d.s.Restore(t.Context(), snap); !errors.Is(err, sakur4.ErrSnapshotGone) {
			t.Errorf("%s: Restore() = %v, want %v", name, err, sakur4.ErrSnapshotGone)
		}
		n := len(d.windows)
		d.work(1)
		if c := d.windows[n].Cache; c.Status != boundary.StatusCold || c.Predicted != 0 || c.Reused != 0 {
			t.Errorf("%s: the next prompt: status %v, %d predicted, %d reused, want cold and nothing", name, c.Status, c.Predicted, c.Reused)
		}
	}
	snap := take()
	srv.Stop()
	model(2)
	srv.Restart(t)
	if err := d.s.Restore(t.Context(), snap); !errors.Is(err, sakur4.ErrSnapshotForeign) {
		t.Errorf("Restore() under other weights = %v, want %v", err, sakur4.ErrSnapshotForeign)
	}
	if _, err := d.s.Snapshot(t.Context()); !errors.Is(err, sakur4.ErrSnapshotForeign) {
		t.Errorf("Snapshot() of an empty slot = %v, want %v", err, sakur4.ErrSnapshotForeign)
	}
	srv.Stop()
	model(1)
	srv.Restart(t)
	if err := d.s.Restore(t.Context(), snap); err != nil {
		t.Errorf("Restore() under the first weights = %v", err)
	}
	n := len(d.windows)
	d.work(1)
	if c := d.windows[n].Cache; c.Status != boundary.StatusWarmRestored {
		t.Errorf("after all of that: status %v, want warm-restored", c.Status)
	}

	plain := newDrive(t, llamatest.Start(t, llamatest.Options{Context: 8192}), nil, 0)
	plain.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Go on."})
	plain.turn()
	if s, err := plain.s.Snapshot(t.Context()); !errors.Is(err, sakur4.ErrUnsupported) {
		t.Errorf("Snapshot() without --slot-save-path = %+v, %v, want %v", s, err, sakur4.ErrUnsupported)
	}
	plain.work(1)
}
