package sakur4_test

import (
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
	"sakur4/receipt"
)

// TestLiveShift works past the window on real servers with KV shift allowed: where the model's cache can shift, each compaction reuses at least 97 of 100
// tokens that the server held, exactly those predicted; where it cannot, that is said, and compactions are exact.
func TestLiveShift(t *testing.T) {
	for _, c := range []struct {
		name   string
		server llamatest.Options
		client llamacpp.Options
		moved  bool
		asked  int // requests that ask for a shift before the server is found out
		why    string
	}{
		{"full attention", llamatest.Options{Context: 16384}, llamacpp.Options{}, true, 0, ""},
		{"sliding window held whole", llamatest.Options{Context: 16384, Model: llamatest.Model{Arch: llamatest.Sliding}, Args: []string{"--swa-full"}},
			llamacpp.Options{Geometry: boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1}}, true, 0, ""},
		{"sliding window", llamatest.Options{Context: 16384, Model: llamatest.Model{Arch: llamatest.Sliding}, UBatch: 512, Spacing: 256, Checkpoints: 32},
			llamacpp.Options{Rule: &boundary.CheckpointRule{Spacing: 256, Max: 32, Ubatch: 512}}, false, 0, "KV shift not used: the server's cache can only go back to checkpoints"},
		{"sliding window, said to shift", llamatest.Options{Context: 16384, Model: llamatest.Model{Arch: llamatest.Sliding}},
			llamacpp.Options{Geometry: boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1}}, false, 2, "KV shift not used: the server did not do as it was predicted to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := llamatest.Start(t, c.server)
			d := newDriveWith(t, srv, &c.client, &sakur4.Options{Window: 8192, KVShift: true})
			d.mayMiss = c.asked > 0
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
			d.turn()
			for d.plans < 5 {
				d.work(1)
			}
			held, reused, shifts := 0, 0, 0
			for _, r := range d.windows {
				if !r.Compacted {
					continue
				}
				notes := strings.Join(r.Notes, "; ")
				if r.Cache.Shifted {
					shifts++
					held += r.Used - r.New - r.Tokens(receipt.Stubs)
					reused += r.Cache.Reused
					if r.Cache.Reused < r.Cache.Predicted && !strings.Contains(r.Cache.Cause, "did not move") {
						t.Errorf("turn %d: %d of %d predicted tokens reused, cause %q", r.Turn, r.Cache.Reused, r.Cache.Predicted, r.Cache.Cause)
					}
				} else if !strings.Contains(notes, c.why) || c.moved {
					t.Errorf("turn %d: no shift, notes %q", r.Turn, notes)
				}
			}
			t.Logf("%d compactions, %d with a shift: %d of %d held tokens reused", d.plans, shifts, reused, held)
			if c.moved && (shifts < 5 || reused*100 < held*97) || !c.moved && shifts > c.asked {
				t.Errorf("%d shifts, %d of %d held tokens reused", shifts, reused, held)
			}
		})
	}
}
