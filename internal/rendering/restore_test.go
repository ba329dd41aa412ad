package rendering_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/internal/episode"
	"sakur4/internal/rendering"
)

// TestRestoreDamage: what is stored and is no prompt is a *DamageError; what cannot be looked up is the look-up's own error.
func TestRestoreDamage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("Find the bug.")
	r.read("a.go", lines(1, 100))
	r.next()
	errGone := errors.New("gone")
	for _, c := range []struct {
		name   string
		change func(*rendering.Stored)
		want   error // nil is a *DamageError
	}{
		{"state is no JSON", func(in *rendering.Stored) { in.Body = "{" }, nil},
		{"a decision is missing", func(in *rendering.Stored) { in.Decisions = in.Decisions[1:] }, nil},
		{"the last decisions are missing", func(in *rendering.Stored) { in.Decisions = in.Decisions[:1] }, nil},
		{"a decision is no JSON", func(in *rendering.Stored) { in.Decisions[1].Body = "{" }, nil},
		{"a decision of an unknown kind", func(in *rendering.Stored) { in.Decisions[1].Kind = "other" }, nil},
		{"an episode cannot be read", func(in *rendering.Stored) {
			in.Episode = func(string) (*episode.Record, error) { return nil, errGone }
		}, errGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := r.stored()
			in.Decisions = slices.Clone(in.Decisions)
			c.change(&in)
			_, err := rendering.Restore(r.opt, r.server.Profile, in)
			var damage *rendering.DamageError
			if c.want == nil && !errors.As(err, &damage) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("Restore: %v, want %v", err, c.want)
			}
		})
	}
}

// TestHoldSlot restores a snapshot in the prompt and in what is stored: both are the same, and the next prompt reuses what the slot holds.
func TestHoldSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("Find the bug.")
	r.next()
	r.send()
	if err := r.prompt.ModelSlot(t.Context(), r.server); err != nil {
		t.Fatal(err)
	}
	prompt, reply := r.prompt.Held()
	slot, err := r.prompt.SaveSlot(reply)
	if err != nil {
		t.Fatal(err)
	}
	if len(slot.Prompt) != prompt || reply == 0 {
		t.Fatalf("SaveSlot holds %d tokens, Held says %d and %d", len(slot.Prompt), prompt, reply)
	}
	for _, id := range []string{"snap_1", rendering.SlotEmpty} {
		body, err := rendering.HoldSlot(r.body, id, id)
		if err != nil {
			t.Fatal(err)
		}
		in := r.stored()
		in.Body = body
		in.Slot = func(got string) (*rendering.Slot, error) {
			if got != "snap_1" {
				t.Errorf("Restore asks for the slot %q", got)
			}
			return slot, nil
		}
		p, err := rendering.Restore(r.opt, r.server.Profile, in)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.ModelSlot(t.Context(), r.server); err != nil {
			t.Fatal(err)
		}
		want := prompt
		if id == rendering.SlotEmpty {
			want = 0
		}
		if got, _ := p.Held(); got != want || p.Restored() != id {
			t.Errorf("the prompt restored from %q holds %d tokens, want %d", p.Restored(), got, want)
		}
		r.restore()
		r.prompt.HoldSlot(id, id, nil)
		ch, err := r.prompt.Changes()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(body, ch.Body); diff != "" {
			t.Errorf("what is stored of a slot that holds %q (-HoldSlot +Prompt.HoldSlot):\n%s", id, diff)
		}
	}
	if _, err := rendering.HoldSlot("{", "snap_1", "snap_1"); !errors.As(err, new(*rendering.DamageError)) {
		t.Errorf("HoldSlot of what is no state: %v, want a *DamageError", err)
	}
}

// TestStoredBody reads what others need of a stored body.
func TestStoredBody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("Find the bug.")
	r.next()
	r.assistant("Yes.")
	if got, err := rendering.SentSeq(r.body); got != 1 || err != nil {
		t.Errorf("SentSeq = %d, %v; want 1", got, err)
	}
	if _, err := rendering.SentSeq("no"); !errors.As(err, new(*rendering.DamageError)) {
		t.Errorf("SentSeq of what is no state: %v, want a *DamageError", err)
	}
	want := boundary.Learned{Kind: boundary.Points, Breaks: 2}
	body, err := json.Marshal(map[string]any{"cache": map[string]any{"learned": want}})
	if err != nil {
		t.Fatal(err)
	}
	if got := rendering.Learned(string(body)); got == nil || *got != want {
		t.Errorf("Learned = %+v, want %+v", got, want)
	}
	for _, body := range []string{r.body, "no", "{}"} {
		if got := rendering.Learned(body); got != nil {
			t.Errorf("Learned(%.20q) = %+v, want nil", body, got)
		}
	}
}
