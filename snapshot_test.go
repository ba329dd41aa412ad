package sakur4_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/internal/embedded"
	"sakur4/receipt"
)

// turnOn reads a file, sends the prompt and answers it, and returns the receipt with the server's measurement.
func (d *trial) turnOn(bytes int) receipt.Receipt {
	d.t.Helper()
	d.read(fmt.Sprintf("pkg/file%d.go", d.calls), d.prose(bytes))
	return d.send()
}

// send asks for a prompt, has the server answer it, and enters the measurement.
func (d *trial) send() receipt.Receipt {
	d.t.Helper()
	d.window()
	return d.observe(d.chat(sakur4.Turn{Content: "Reading on."}))
}

// asPredicted checks that the server reused what was predicted, up to the last reply.
func asPredicted(t testing.TB, r receipt.Receipt, status boundary.CacheStatus) {
	t.Helper()
	const reply = 24 // more tokens than the replies of these tests have
	c := r.Cache
	if c.Status != status || !c.Measured || c.Reused < c.Predicted || c.Reused > c.Predicted+reply || c.Cause != "" {
		t.Errorf("window %d: status %v, %d reused, %d predicted, cause %q, want %v as predicted\n%s", r.Turn, c.Status, c.Reused, c.Predicted, c.Cause, status, r)
	}
}

// steal sends another client's chat to slot 0.
func steal(t testing.TB, srv *embedded.Server) {
	t.Helper()
	_, err := srv.Chat(t.Context(), boundary.ChatRequest{Messages: json.RawMessage(`[{"role":"user","content":"something else"}]`), Fields: json.RawMessage(`{"id_slot":0}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func (d *trial) snapshot() sakur4.Snapshot {
	d.t.Helper()
	snap, err := d.s.Snapshot(d.t.Context())
	if err != nil {
		d.t.Fatalf("Snapshot() = %v", err)
	}
	return snap
}

func (d *trial) restore(snap sakur4.Snapshot) {
	d.t.Helper()
	if err := d.s.Restore(d.t.Context(), snap); err != nil {
		d.t.Fatalf("Restore(%+v) = %v", snap, err)
	}
}

// TestSnapshot: after the slot was taken, or server and agent were restarted, Restore brings back what was saved, whatever the session did since, and the
// next prompt reuses exactly what is predicted.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	for _, kind := range []boundary.Kind{boundary.AnyToken, boundary.Points} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v restart=%t", kind, restart), func(t *testing.T) {
				t.Parallel()
				path := storePath(t)
				o := fixed(8192)
				srv := newServerWith(8192, sakur4.O200kBase(), kind)
				o.Backend = srv
				d := newTrial(t, path, o)
				d.user("Find out why the worker pool deadlocks.")
				for range 6 {
					d.turnOn(1500)
				}
				lose := func() {
					t.Helper()
					steal(t, srv)
					if restart {
						next := newServerWith(8192, sakur4.O200kBase(), kind)
						next.Adopt(srv)
						srv, o.Backend = next, next
						d.reopen(path, o)
					}
				}
				if restart {
					d.reopen(path, o) // the slot's model is read from the store
				}
				snap := d.snapshot()
				if snap.Tokens < d.last.Receipt.Used || snap.Bytes == 0 || snap.Window != d.last.ID || snap.Session != d.s.ID() || snap.At.IsZero() {
					t.Errorf("Snapshot() = %+v, want the slot of window %s with %d tokens", snap, d.last.ID, d.last.Receipt.Used)
				}
				list, err := d.s.Snapshots(t.Context())
				if diff := cmp.Diff([]sakur4.Snapshot{snap}, list); err != nil || diff != "" {
					t.Errorf("Snapshots() = %v (-want +got):\n%s", err, diff)
				}
				lose()
				d.restore(snap)
				if restart {
					d.reopen(path, o) // that it was restored is in the store too
				}
				r := d.turnOn(1500)
				asPredicted(t, r, boundary.StatusWarmRestored)
				if r.Cache.Predicted < snap.Tokens*9/10 || !strings.Contains(strings.Join(r.Notes, ";"), string(snap.ID)) {
					t.Errorf("%d tokens predicted of %d restored, notes %q", r.Cache.Predicted, snap.Tokens, r.Notes)
				}
				asPredicted(t, d.turnOn(1500), boundary.StatusPartialReuse)

				// A prompt that was made and not sent is made again, with what is reused now.
				d.read("again.go", d.prose(800))
				before := d.window()
				lose()
				d.restore(snap)
				r = d.send()
				if r.ID == string(before.ID) {
					t.Error("the prompt made before Restore was returned again, with its prediction")
				}
				asPredicted(t, r, boundary.StatusWarmRestored)

				// Long after compactions the beginning is still shared.
				compactions := len(d.plans)
				for len(d.plans) == compactions {
					d.turnOn(3000)
				}
				lose()
				d.restore(snap)
				r = d.turnOn(1500)
				if r.Cache.Predicted != r.Cache.Reused || r.Cache.Cause != "" {
					t.Errorf("after a compaction: %d predicted, %d reused: %s", r.Cache.Predicted, r.Cache.Reused, r.Cache.Cause)
				}
				asPredicted(t, d.turnOn(1500), boundary.StatusPartialReuse)
				d.complete()
			})
		}
	}
}

// TestSnapshotTwice: a snapshot of a slot that was itself restored is as good as the first.
func TestSnapshotTwice(t *testing.T) {
	t.Parallel()
	o := fixed(8192)
	srv := newServer(8192)
	o.Backend = srv
	d := newTrial(t, storePath(t), o)
	d.user("Go on.")
	d.turnOn(4000)
	first := d.snapshot()
	d.turnOn(4000)
	d.restore(first)
	second := d.snapshot()
	if second.Tokens != first.Tokens || second.ID == first.ID {
		t.Errorf("Snapshot() of a restored slot = %+v, want %d tokens under another id than %s", second, first.Tokens, first.ID)
	}
	steal(t, srv)
	d.restore(second)
	asPredicted(t, d.turnOn(1000), boundary.StatusWarmRestored)
}

// TestSnapshotStatusWaits: the first measured reuse is the one that is warm-restored, also where the server did not report one before.
func TestSnapshotStatusWaits(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	o := fixed(8192)
	srv := newServer(8192)
	o.Backend = srv
	d := newTrial(t, path, o)
	d.user("Go on.")
	d.turnOn(4000)
	snap := d.snapshot()
	steal(t, srv)
	d.restore(snap)
	d.read("silent.go", d.prose(500))
	d.window()
	reply := d.chat(sakur4.Turn{Content: "Reading on."})
	reply.CachedTokens = nil
	if r := d.observe(reply); r.Cache.Status != boundary.StatusUnknown {
		t.Errorf("status without a cached count = %v, want unknown", r.Cache.Status)
	}
	d.reopen(path, o)
	if r := d.turnOn(500); r.Cache.Status != boundary.StatusWarmRestored {
		t.Errorf("status of the first measured reuse = %v, want warm-restored", r.Cache.Status)
	}
	if r := d.turnOn(500); r.Cache.Status != boundary.StatusPartialReuse {
		t.Errorf("status of the second = %v, want partial-reuse", r.Cache.Status)
	}
}

// TestSnapshotFiles: old snapshots give way by count and bytes, the server's files are written over and emptied, and no name is forgotten.
func TestSnapshotFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy   sakur4.SnapshotPolicy
		restores int // of the last snapshots
		files    int
	}{
		{sakur4.SnapshotPolicy{}, 4, 5},
		{sakur4.SnapshotPolicy{Keep: 1}, 1, 2},
		{sakur4.SnapshotPolicy{Keep: 3}, 3, 4},
		{sakur4.SnapshotPolicy{Keep: 9, MaxBytes: 1 << 20}, 0, 0},
		{sakur4.SnapshotPolicy{Keep: 9, MaxBytes: 1}, 1, 1},
		{sakur4.SnapshotPolicy{Keep: 2, MaxBytes: 1 << 20}, 0, 0},
	} {
		t.Run(fmt.Sprintf("%+v", test.policy), func(t *testing.T) {
			t.Parallel()
			o := fixed(32768)
			srv := newServer(32768)
			o.Backend, o.Snapshots = srv, test.policy
			d := newTrial(t, storePath(t), o)
			d.user("Go on.")
			var all []sakur4.Snapshot
			largest := int64(0)
			for range 9 {
				if r := d.turnOn(2000); r.Cache.Cause != "" {
					t.Errorf("turn between snapshots: %s", r)
				}
				all = append(all, d.snapshot())
				largest = max(largest, all[len(all)-1].Bytes)
			}
			total := func() int64 {
				sum := int64(0)
				for _, f := range srv.SlotFiles() {
					sum += f.Bytes
				}
				return sum
			}
			list, err := d.s.Snapshots(t.Context())
			if err != nil {
				t.Fatalf("Snapshots() = %v", err)
			}
			if test.restores > 0 && (len(list) != test.restores || len(srv.SlotFiles()) != test.files) {
				t.Errorf("%d snapshots in %d files, want %d in %d", len(list), len(srv.SlotFiles()), test.restores, test.files)
			}
			if most := test.policy.MaxBytes; most > largest && total() > most {
				t.Errorf("%d snapshots of up to %d bytes take %d bytes in all, want at most %d", len(list), largest, total(), most)
			}
			if diff := cmp.Diff(all[len(all)-len(list):], list); diff != "" {
				t.Errorf("Snapshots() are not the newest ones (-want +got):\n%s", diff)
			}
			if err := d.s.Restore(t.Context(), all[0]); !errors.Is(err, sakur4.ErrNotFound) {
				t.Errorf("Restore() of one that gave way = %v, want %v", err, sakur4.ErrNotFound)
			}
			d.restore(list[0])
			held := int64(0)
			for _, s := range list {
				held += s.Bytes
			}
			if n := total() - held; n > 1<<10 {
				t.Errorf("after Restore the files of old snapshots take %d bytes, want next to nothing", n)
			}
			asPredicted(t, d.turnOn(1000), boundary.StatusWarmRestored)
		})
	}
}

// noSaver is a server that cannot save slots at all; refusing is one that was started without a folder for them.
type noSaver struct{ boundary.Backend }

type refusing struct{ *embedded.Server }

func (refusing) SaveSlot(context.Context, int, string) (boundary.SlotFile, error) {
	return boundary.SlotFile{}, boundary.ErrUnsupported
}

func (refusing) RestoreSlot(context.Context, int, string) (boundary.SlotFile, error) {
	return boundary.SlotFile{}, boundary.ErrUnsupported
}

// TestSnapshotRefusals: each thing that can be wrong has its error, and nothing is lost: the session goes on, and its record is what it was.
func TestSnapshotRefusals(t *testing.T) {
	t.Parallel()
	o := fixed(8192)
	srv := newServer(8192)
	o.Backend = srv
	path := storePath(t)
	d := newTrial(t, path, o)
	d.user("Go on.")
	if _, err := d.s.Snapshot(t.Context()); !errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("Snapshot() before the first prompt = %v, want %v", err, sakur4.ErrNotFound)
	}
	d.turnOn(3000)
	snap := d.snapshot()
	d.turnOn(1000)
	recorded := d.ids()
	foreign := func(what string, err error, text string) {
		t.Helper()
		var se *sakur4.SnapshotError
		if !errors.Is(err, sakur4.ErrSnapshotForeign) || !errors.As(err, &se) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s = %v, want %v that says %q", what, err, sakur4.ErrSnapshotForeign, text)
		}
	}
	// Another session's.
	foreign("Restore() in another session", d.eng.Session("other").Restore(t.Context(), snap), `"main"`)
	if err := d.s.Restore(t.Context(), sakur4.Snapshot{}); !errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("Restore(zero) = %v, want %v", err, sakur4.ErrNotFound)
	}
	// None of these reached the slot.
	if r := d.turnOn(500); r.Cache.Status != boundary.StatusPartialReuse || r.Cache.Cause != "" {
		t.Errorf("after refusals: %s", r)
	}
	// A slot that was taken is not saved as ours, and costs none of the old ones.
	steal(t, srv)
	_, err := d.s.Snapshot(t.Context())
	foreign("Snapshot() of a slot that was taken", err, "another request has taken it")
	if list, err := d.s.Snapshots(t.Context()); err != nil || len(list) != 1 || list[0].ID != snap.ID {
		t.Errorf("Snapshots() = %+v, %v, want %s alone", list, err, snap.ID)
	}

	with := func(b sakur4.Backend, f func(d *trial)) {
		t.Helper()
		c := fixed(0)
		c.Backend, c.NewID = b, o.NewID
		d.reopen(path, c)
		f(d)
	}
	for name, b := range map[string]sakur4.Backend{"no ability": noSaver{srv}, "no folder": refusing{srv}, "several slots": embedded.New(embedded.Config{Slots: 2, Window: 8192, Tokenizer: sakur4.O200kBase()})} {
		with(b, func(d *trial) {
			if err := d.s.Restore(t.Context(), snap); !errors.Is(err, sakur4.ErrUnsupported) {
				t.Errorf("%s: Restore() = %v, want %v", name, err, sakur4.ErrUnsupported)
			}
			if _, err := d.s.Snapshot(t.Context()); !errors.Is(err, sakur4.ErrUnsupported) {
				t.Errorf("%s: Snapshot() = %v, want %v", name, err, sakur4.ErrUnsupported)
			}
		})
	}
	down := &flaky{Server: srv}
	down.noProfile.Store(true)
	with(down, func(d *trial) {
		if err := d.s.Restore(t.Context(), snap); !errors.Is(err, boundary.ErrUnavailable) {
			t.Errorf("Restore() with the server down = %v, want %v", err, boundary.ErrUnavailable)
		}
	})
	with(embedded.New(embedded.Config{Window: 8192, Tokenizer: sakur4.O200kBase(), Model: "llama"}), func(d *trial) {
		foreign("Restore() on another model", d.s.Restore(t.Context(), snap), `"llama"`)
	})
	with(embedded.New(embedded.Config{Window: 8192, Tokenizer: sakur4.CL100kBase()}), func(d *trial) {
		foreign("Restore() on another vocabulary", d.s.Restore(t.Context(), snap), "vocabulary")
	})
	with(newServer(1024), func(d *trial) {
		foreign("Restore() in a small context", d.s.Restore(t.Context(), snap), "room for 1024")
	})

	// Another file under the same name, and no file at all.
	with(srv, func(d *trial) {
		d.restore(snap)
		r := d.send()
		asPredicted(t, r, boundary.StatusWarmRestored)
		steal(t, srv)
		if _, err := srv.SaveSlot(t.Context(), 0, snap.File); err != nil {
			t.Fatal(err)
		}
		var se *sakur4.SnapshotError
		if err := d.s.Restore(t.Context(), snap); !errors.Is(err, sakur4.ErrSnapshotGone) || !errors.As(err, &se) || se.ID != snap.ID || se.File != snap.File {
			t.Errorf("Restore() of a file that was written over = %v, want %v", err, sakur4.ErrSnapshotGone)
		}
		if r := d.turnOn(500); r.Cache.Predicted != 0 || r.Cache.Reused != 0 || r.Cache.Status != boundary.StatusCold {
			t.Errorf("after a restore that failed: %s", r)
		}
		if err := d.s.Restore(t.Context(), snap); !errors.Is(err, sakur4.ErrNotFound) {
			t.Errorf("Restore() once more = %v, want %v", err, sakur4.ErrNotFound)
		}
		next := d.snapshot()
		srv.RemoveSlotFile(next.File)
		if err := d.s.Restore(t.Context(), next); !errors.Is(err, sakur4.ErrSnapshotGone) || !errors.Is(err, boundary.ErrInvalidRequest) {
			t.Errorf("Restore() of a missing file = %v, want %v", err, sakur4.ErrSnapshotGone)
		}
		if r := d.turnOn(500); r.Cache.Predicted != 0 || r.Cache.Reused != 0 || r.Cache.Status != boundary.StatusCold {
			t.Errorf("after a missing file: %s", r)
		}
		if r := d.turnOn(500); r.Cache.Status != boundary.StatusPartialReuse || r.Cache.Cause != "" {
			t.Errorf("and the turn after it: %s", r)
		}
	})
	if now := d.ids(); !cmp.Equal(recorded, now[:len(recorded)]) {
		t.Errorf("the record is %v, was %v", now, recorded)
	}
	d.complete()
	if _, err := d.eng.Verify(t.Context()); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}
