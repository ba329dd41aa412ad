package rendering_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/evict"
	"sakur4/internal/pin"
	"sakur4/internal/rendering"
	"sakur4/internal/turn"
)

// TestSession makes the prompts of random sessions, with restarts and forced compactions in between. Each is a valid chat within the limit with every pin, counted as the
// server counts it; it begins with the one before unless that was compacted; and what is stored of it gives the same messages.
func TestSession(t *testing.T) {
	t.Parallel()
	for _, shift := range []bool{false, true} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("shift=%t/seed=%d", shift, seed), func(t *testing.T) {
				t.Parallel()
				session(t, seed, shift)
			})
		}
	}
}

func session(t *testing.T, seed uint64, shift bool) {
	random := rand.New(rand.NewPCG(seed, 7))
	r := newRig(t)
	r.opt.Shift, r.server.Profile.Geometry.Shift, r.server.Profile.Geometry.MinChunk = shift, shift, 1
	r.prompt = rendering.New(r.opt, r.server.Profile)
	r.pins = []pin.Pin{{ID: "pin_1", Kind: "constraint", Text: "Never push without a review."}}
	r.user("Find the bug.")
	var sent []turn.Message
	compactions, forced := 0, 0
	for step := range 60 {
		switch n := random.IntN(10); {
		case step == 0:
		case n < 7:
			r.read(fmt.Sprintf("dir/file_%d.go", random.IntN(30)), lines(random.IntN(1000), 40+random.IntN(2500)))
		case n < 9:
			r.assistant(fmt.Sprintf("It is value_%d.", random.IntN(100)))
			r.user("Go on.")
		default:
			r.pins = append(r.pins, pin.Pin{ID: fmt.Sprintf("pin_%d", len(r.pins)+1), Kind: "constraint", Text: fmt.Sprintf("Leave value_%d as it is.", step)})
			r.assistant("Yes.")
			r.user("And go on.")
		}
		folds := len(r.closed)
		if step > 0 && random.IntN(10) == 0 {
			r.fold()
			sent = nil
		}
		if step > 0 && random.IntN(5) == 0 {
			r.restore()
		}
		made := r.next()
		if made == nil {
			t.Fatalf("step %d: Next = nil after new turns", step)
		}
		chat := r.messages()
		if err := turn.Validate(chat); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if made.Plan != nil {
			compactions++
			sent = nil
			if !made.Plan.Applied || made.Plan.After != made.Receipt.Used {
				t.Errorf("step %d: plan %+v of a prompt of %d tokens", step, made.Plan, made.Receipt.Used)
			}
		}
		if diff := cmp.Diff(sent, chat[:min(len(sent), len(chat))]); len(sent) > 0 && diff != "" {
			t.Fatalf("step %d: the prompt before is not its beginning (-before +now):\n%s", step, diff)
		}
		sent = chat
		if made.Receipt.Used > r.server.Limit {
			t.Errorf("step %d: %d tokens, the limit is %d", step, made.Receipt.Used, r.server.Limit)
		}
		text := string(turn.AppendArray(nil, chat))
		for _, p := range r.pins {
			if !strings.Contains(text, p.Text) {
				t.Errorf("step %d: pin %q is missing", step, p.Text)
			}
		}
		if made.Plan == nil && r.archived() && !strings.Contains(text, "out of this prompt") {
			t.Errorf("step %d: nothing says that turns are out of the prompt", step)
		}
		if n := len(r.closed); made.Plan == nil && n > folds && !strings.Contains(text, r.closed[n-1].Text) {
			t.Errorf("step %d: %q is missing", step, r.closed[n-1].Text)
		}
		if got := r.send(); got.Cache.Drift != 0 || got.Cache.Cause != "" {
			t.Errorf("step %d: the server counts %d tokens more than predicted, and reused otherwise: %q", step, got.Cache.Drift, got.Cache.Cause)
		}
		if again := r.next(); again != nil {
			t.Errorf("step %d: Next once more = %+v, want nil", step, again)
		}
		other, err := rendering.Restore(r.opt, r.server.Profile, r.stored())
		if err != nil {
			t.Fatalf("step %d: Restore: %v", step, err)
		}
		restored, _, ok := other.Sent()
		if want := append(chat[:len(chat):len(chat)], turn.Message{Role: "assistant", Content: turn.NoReply}); !ok || !cmp.Equal(want, restored) {
			t.Fatalf("step %d: Sent of what is stored (-want +got):\n%s", step, cmp.Diff(want, restored))
		}
		if random.IntN(8) == 0 {
			if plan := r.compact(0); plan.Applied {
				forced++
				sent = nil
			}
		}
	}
	if compactions == 0 || forced == 0 || r.anew == 0 {
		t.Errorf("%d compactions and %d forced ones in the whole session, %d of them also in memory, want some of each", compactions, forced, r.anew)
	}
}

// TestOverflow pins what does not fit: the error names it, and what was stored gives the prompt that it was.
func TestOverflow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("Find the bug.")
	r.next()
	want := r.messages()
	r.pins = []pin.Pin{{ID: "pin_1", Kind: "constraint", Text: lines(1, window)}}
	r.assistant("Yes.")
	r.user("Go on.")
	r.extend()
	_, err := r.prompt.Next(t.Context(), r.request())
	var over *evict.OverflowError
	if !errors.As(err, &over) || over.Floor != "pins" || over.Need <= over.Have {
		t.Fatalf("Next: %v, want an *evict.OverflowError that names the pins", err)
	}
	r.restore()
	r.pins = nil
	if r.next(); !cmp.Equal(want, r.messages()[:len(want)]) {
		t.Errorf("the prompt after the overflow (-want +got):\n%s", cmp.Diff(want, r.messages()[:len(want)]))
	}
}

// failing is a backend that does not count.
type failing struct{ boundary.Backend }

var errDown = errors.New("down")

func (failing) Render(context.Context, boundary.RenderRequest) (string, error) { return "", errDown }

// TestCountError has the backend fail: the error is told from others, and says why.
func TestCountError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.user("Find the bug.")
	r.extend()
	in := r.request()
	in.Server.Backend = failing{r.chat}
	_, err := r.prompt.Next(t.Context(), in)
	var count *rendering.CountError
	if !errors.As(err, &count) || !errors.Is(err, errDown) {
		t.Errorf("Next: %v, want a *CountError because of %v", err, errDown)
	}
}

// swapping is a backend whose vocabulary becomes another one.
type swapping struct {
	boundary.Backend
	by int32
}

func (s *swapping) Tokens(ctx context.Context, text string) ([]int32, error) {
	ids, err := s.Backend.Tokens(ctx, text)
	for i := range ids {
		ids[i] += s.by
	}
	return ids, err
}

// TestSwapped has the server count what was sent otherwise than before: where it has become another one, no prompt is made, else the receipt says so.
func TestSwapped(t *testing.T) {
	t.Parallel()
	for _, swapped := range []bool{false, true} {
		r := newRig(t)
		server := &swapping{Backend: r.chat}
		r.server.Backend = server
		r.user("Find the bug.")
		r.next()
		r.assistant("Yes.")
		r.user("Go on.")
		r.extend()
		server.by = 1000
		in := r.request()
		in.Swapped = func(context.Context) bool { return swapped }
		made, err := r.prompt.Next(t.Context(), in)
		switch {
		case swapped && !errors.Is(err, rendering.ErrSwapped):
			t.Errorf("Next: %v, want %v", err, rendering.ErrSwapped)
		case !swapped && (err != nil || !strings.Contains(strings.Join(made.Receipt.Notes, "\n"), "template rewrote history")):
			t.Errorf("Next = %+v, %v; want a note that the template rewrote history", made, err)
		}
	}
}

// TestFoldOfHalfACall: a fold that was closed by an earlier version may name a call without its result, or the other way round: the two leave together or stay together, as the
// call does.
func TestFoldOfHalfACall(t *testing.T) {
	t.Parallel()
	for _, call := range []bool{true, false} {
		r := newRig(t)
		r.user("Find the bug.")
		r.read("a.go", "the content")
		r.next()
		half := r.record[2]
		if call {
			half = r.record[1]
		}
		r.closed = append(r.closed, rendering.Fold{ID: "fold_1", Summary: "ep_fold", Text: "the summary", Turns: map[string]bool{half.ID: true}})
		r.user("Go on.")
		r.next() // which looks whether the chat is valid
		said := ""
		for _, m := range r.messages() {
			said += m.Content
		}
		if strings.Contains(said, "the content") == call || !strings.Contains(said, "the summary") {
			t.Errorf("a fold of the call alone %t: the prompt says %q", call, said)
		}
	}
}
