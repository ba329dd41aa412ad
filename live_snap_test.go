package sakur4_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sakur4"
	"sakur4/boundary"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
)

// TestLiveCutsSnap works past the window on real servers with a sliding window that write down every checkpoint that they make and erase. No compaction lands
// between two of them where one lay within the tolerance before the cut; where none did, the receipt says how far the server goes back. Either
// way the server reuses what the receipt names, to the token.
func TestLiveCutsSnap(t *testing.T) {
	if os.Getenv(llamatest.EnvServer) == "" {
		t.Skip("skipped: " + llamatest.EnvServer + " is not set")
	}
	snapped, fell := 0, 0
	for _, rule := range []boundary.CheckpointRule{
		{Spacing: 1024, Max: 6, Ubatch: 128},
		{Spacing: 8192, Max: 8, Ubatch: 512},
	} {
		t.Run(fmt.Sprintf("spacing %d, %d checkpoints, ubatch %d", rule.Spacing, rule.Max, rule.Ubatch), func(t *testing.T) {
			srv := llamatest.Start(t, llamatest.Options{Model: llamatest.Model{Arch: llamatest.Sliding, SlidingWindow: 128}, Context: 8192, UBatch: rule.Ubatch,
				Spacing: rule.Spacing, Checkpoints: rule.Max, Args: []string{"-lv", "4", "-cram", "0"}})
			d := newDrive(t, srv, &llamacpp.Options{Rule: &rule}, 6144)
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
			d.turn()
			for d.plans < 6 {
				d.work(1)
			}
			d.work(1) // so that the server has written down all of the last compaction
			kept := checkpointsOf(t, srv.Log())
			for i, r := range d.windows {
				if !r.Compacted {
					continue
				}
				c := r.Cache
				newest := 0
				for _, n := range kept[i] {
					if n-1 <= c.Boundary {
						newest = max(newest, n-1)
					}
				}
				within := newest > 0 && c.Boundary-newest <= boundary.DefaultSnapTolerance
				good := c.Verdict == boundary.Aligned || c.Verdict == boundary.Snapped
				switch back := c.Boundary - c.Reused; {
				case c.Reused != c.Predicted || c.Reused < newest:
					t.Errorf("turn %d: cut at %d, predicted %d, reused %d, the server held checkpoints %v", r.Turn, c.Boundary, c.Predicted, c.Reused, kept[i])
				case within && !good, good && back > boundary.DefaultSnapTolerance:
					t.Errorf("turn %d: cut at %d, the server went back %d tokens, verdict %v, checkpoints %v", r.Turn, c.Boundary, back, c.Verdict, kept[i])
				case good:
					snapped++
				default:
					fell++
					want := fmt.Sprintf("newest checkpoint before the cut at %d is %d, %d tokens back", c.Boundary, c.Reused, back)
					if c.Reused == 0 {
						want = fmt.Sprintf("no checkpoint at or before the cut at %d", c.Boundary)
					}
					if !strings.Contains(c.Reason, want) || c.Checkpoint != c.Reused || c.Reused > 0 && c.Snap != back {
						t.Errorf("turn %d: reason %q, checkpoint %d, snap %d, want %q", r.Turn, c.Reason, c.Checkpoint, c.Snap, want)
					}
				}
				t.Logf("turn %d: cut %d, held %v, reused %d, %v: %s", r.Turn, c.Boundary, kept[i], c.Reused, c.Verdict, c.Reason)
			}
		})
	}
	t.Logf("%d compactions at a checkpoint or within the tolerance behind one, %d elsewhere", snapped, fell)
	if !t.Failed() && (snapped == 0 || fell == 0) {
		t.Error("want some of both")
	}
}

var checkpointEvent = regexp.MustCompile(`(processing task|created context checkpoint|eras(?:ed|ing)[a-z ]* context checkpoint|superseding context checkpoint)(?:.*n_tokens = (\d+))?`)

// checkpointsOf reads a server's log: for each request the checkpoints, in tokens, that it found.
func checkpointsOf(t *testing.T, log string) (found [][]int) {
	t.Helper()
	var list []int
	for line := range strings.Lines(log) {
		m := checkpointEvent.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[1] == "processing task":
			found = append(found, slices.Clone(list))
		default:
			n, err := strconv.Atoi(m[2])
			i := slices.Index(list, n)
			switch {
			case err != nil:
				t.Fatalf("%q: %v", line, err)
			case m[1] == "created context checkpoint":
				list = append(list, n)
			case i < 0:
				t.Fatalf("%q: it has only %v", line, list)
			default:
				list = slices.Delete(list, i, i+1)
			}
		}
	}
	return found
}
