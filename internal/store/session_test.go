package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

func TestPinsAreRetiredNeverRewritten(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Now: clock()})
	ensure(t, s, "p", "s")
	text := "never\x00 \xff force-push"
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.AddPin(store.PinRow{ID: "pin_b", Project: "p", Session: "s", Kind: "constraint", Text: text}),
			tx.AddPin(store.PinRow{ID: "pin_a", Project: "p", Kind: "preference", Text: "short"}))
	})
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		return tx.AddPin(store.PinRow{ID: "pin_a", Project: "p", Kind: "preference", Text: "again"})
	}); !errors.Is(err, store.ErrExists) {
		t.Errorf("AddPin(pin_a) again = %v, want %v", err, store.ErrExists)
	}
	write(t, s, func(tx *store.Tx) error { return tx.RetirePin("p", "pin_b") })
	for _, bad := range [][2]string{{"p", "pin_b"}, {"p", "pin_x"}, {"q", "pin_a"}} {
		err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.RetirePin(bad[0], bad[1]) })
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RetirePin(%q) = %v, want %v", bad, err, store.ErrNotFound)
		}
	}
	all := []store.PinRow{
		{ID: "pin_b", Project: "p", Session: "s", Kind: "constraint", Text: text, Seq: 1, Retired: true},
		{ID: "pin_a", Project: "p", Kind: "preference", Text: "short", Seq: 2},
	}
	read(t, s, func(r *store.Reader) error {
		got, err := r.Pins("p", true)
		if diff := cmp.Diff(all, got, cmpopts.IgnoreFields(store.PinRow{}, "Created")); diff != "" {
			t.Errorf("Pins(p, true) (-want +got):\n%s", diff)
		}
		got, err2 := r.Pins("p", false)
		if diff := cmp.Diff(all[1:], got, cmpopts.IgnoreFields(store.PinRow{}, "Created")); diff != "" {
			t.Errorf("Pins(p, false) (-want +got):\n%s", diff)
		}
		return errors.Join(err, err2)
	})
}

func TestNotesWaitUntilTheyArePlaced(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.AddNote("p", "s", store.NoteRow{ID: "n2", Kind: "recall", Text: "a\x00", Ref: "ep_1"}),
			tx.AddNote("p", "s", store.NoteRow{ID: "n1", Kind: "text", Text: "b"}),
			tx.PlaceNotes("p", "s", []string{"n2"}))
	})
	err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.PlaceNotes("p", "s", []string{"n1", "n9"}) })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("PlaceNotes(n1, n9) = %v, want %v", err, store.ErrNotFound)
	}
	want := []store.NoteRow{{ID: "n2", Seq: 1, Kind: "recall", Text: "a\x00", Ref: "ep_1", Placed: true}, {ID: "n1", Seq: 2, Kind: "text", Text: "b"}}
	read(t, s, func(r *store.Reader) error {
		got, err := r.Notes("p", "s", false)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Notes(all) (-want +got):\n%s", diff)
		}
		got, err2 := r.Notes("p", "s", true)
		if diff := cmp.Diff(want[1:], got); diff != "" {
			t.Errorf("Notes(pending) (-want +got):\n%s", diff)
		}
		return errors.Join(err, err2)
	})
}

func TestRenderingIsReplayed(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Now: clock()})
	ensure(t, s, "p", "s")
	read(t, s, func(r *store.Reader) error {
		if _, err := r.RenderState("p", "s"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RenderState() before the first window = %v, want %v", err, store.ErrNotFound)
		}
		if _, err := r.LastReceipt("p", "s"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("LastReceipt() before the first window = %v, want %v", err, store.ErrNotFound)
		}
		return nil
	})
	rows := []store.DecisionRow{{Ord: 0, Kind: "episode", Episode: "ep_1", Form: "live", Body: "{}"}, {Ord: 1, Kind: "note", Form: "x"}, {Ord: 2, Kind: "note"}}
	tail := []store.DecisionRow{{Ord: 1, Kind: "episode", Episode: "ep_2", Form: "masked"}}
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.PutRenderState("p", "s", store.RenderState{Version: 1, Generation: 1, Body: "old"}),
			tx.PutRenderState("p", "s", store.RenderState{Version: 2, Generation: 3, Body: "\x00\xff"}),
			tx.ReplaceDecisions("p", "s", 0, rows),
			tx.ReplaceDecisions("p", "s", 1, tail),
			tx.PutReceipt("p", "s", store.ReceiptRow{WindowID: "w2", Turn: 2, Body: "two"}),
			tx.PutReceipt("p", "s", store.ReceiptRow{WindowID: "w10", Turn: 10, Body: "ten"}),
			tx.PutReceipt("p", "s", store.ReceiptRow{WindowID: "w2", Turn: 2, Body: "two again", Observed: true}),
			tx.PutCheckpoints("p", "s", []store.CheckpointRow{{Position: 1}, {Position: 2}, {Position: 3}}),
			tx.PutCheckpoints("p", "s", []store.CheckpointRow{{Position: 9, Body: "a"}, {Position: 5, Body: "b"}}))
	})
	read(t, s, func(r *store.Reader) error {
		state, err := r.RenderState("p", "s")
		if diff := cmp.Diff(store.RenderState{Version: 2, Generation: 3, Body: "\x00\xff"}, state, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
			t.Errorf("RenderState() (-want +got):\n%s", diff)
		}
		decisions, err2 := r.Decisions("p", "s")
		if diff := cmp.Diff(append(rows[:1:1], tail...), decisions); diff != "" {
			t.Errorf("Decisions() (-want +got):\n%s", diff)
		}
		last, err3 := r.LastReceipt("p", "s")
		if last.WindowID != "w10" {
			t.Errorf("LastReceipt() = %+v, want w10", last)
		}
		two, err4 := r.Receipt("p", "s", "w2")
		if two.Body != "two again" || !two.Observed {
			t.Errorf("Receipt(w2) = %+v, want it observed", two)
		}
		order := ""
		for row, err := range r.Receipts("p", "s") {
			if err != nil {
				return err
			}
			order += row.WindowID + " "
		}
		if order != "w2 w10 " {
			t.Errorf("Receipts() = %q, want w2 w10", order)
		}
		points, err5 := r.Checkpoints("p", "s")
		if diff := cmp.Diff([]store.CheckpointRow{{Position: 9, Body: "a"}, {Position: 5, Body: "b"}}, points); diff != "" {
			t.Errorf("Checkpoints() (-want +got):\n%s", diff)
		}
		return errors.Join(err, err2, err3, err4, err5)
	})
}

func TestSessionsNewestFirst(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Now: clock()})
	for _, name := range []string{"empty", "a", "b"} {
		ensure(t, s, "p", name)
	}
	add(t, s, "p", "b", "ep_1", "x")
	last := add(t, s, "p", "a", "ep_2", "x")
	add(t, s, "p", "b", "ep_3", "x")
	read(t, s, func(r *store.Reader) error {
		got, err := r.Sessions("p")
		want := []store.SessionRow{
			{Project: "p", Session: "b", Episodes: 2, FirstSeq: 1, LastSeq: 3},
			{Project: "p", Session: "a", Episodes: 1, FirstSeq: 2, LastSeq: 2},
			{Project: "p", Session: "empty"},
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
			t.Errorf("Sessions() (-want +got):\n%s", diff)
		}
		if len(got) == 3 && (!got[1].Last.Equal(last.Created) || !got[2].Last.IsZero() || got[2].Created.IsZero()) {
			t.Errorf("Sessions() dates a by %v, want %v; empty by %v", got[1].Last, last.Created, got[2].Last)
		}
		seq, err2 := r.LastSeq("p", "b")
		none, err3 := r.LastSeq("p", "empty")
		if seq != 3 || none != 0 {
			t.Errorf("LastSeq() = %d and %d, want 3 and 0", seq, none)
		}
		return errors.Join(err, err2, err3)
	})
}
