package sakur4_test

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"sakur4"
	"sakur4/boundary/llamacpp"
	"sakur4/internal/llamatest"
	"sakur4/receipt"
)

// TestLiveSettingsLearned works on real servers that were started with other settings than anybody told: from the fourth compaction on each is predicted to
// the token, or its receipt says that the settings are not known for sure. Then a server with other settings takes the place of the first: the restart is
// named, and its settings are learned in turn.
func TestLiveSettingsLearned(t *testing.T) {
	swa := llamatest.Model{Arch: llamatest.Sliding}
	sets := []llamatest.Options{
		{Model: swa, Context: 8192, Spacing: 256, UBatch: 128, Checkpoints: 8},
		{Model: swa, Context: 8192, Spacing: 1024, UBatch: 256},
		{Model: swa, Context: 8192, Spacing: 64, UBatch: 64, Checkpoints: 4},
		{Model: swa, Context: 8192, Args: []string{"--swa-full"}},
	}
	if testing.Short() {
		sets = sets[:2]
	}
	times := 0
	for i, set := range sets {
		t.Run(fmt.Sprintf("spacing %d, ubatch %d, %d checkpoints%s", set.Spacing, set.UBatch, set.Checkpoints, strings.Join(set.Args, "")), func(t *testing.T) {
			set.Args = append(set.Args, "-cram", "0")
			first := llamatest.Start(t, set)
			var now atomic.Pointer[url.URL]
			use := func(s string) {
				u, err := url.Parse(s)
				if err != nil {
					t.Fatal(err)
				}
				now.Store(u)
			}
			use(first.URL)
			front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(now.Load()) }})
			defer front.Close()
			first.URL = front.URL
			d := newDriveWith(t, first, &llamacpp.Options{}, &sakur4.Options{Window: 4096})
			d.mayMiss = true
			d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
			d.turn()
			times += learned(t, d, 9)
			if i > 0 {
				return
			}
			other := sets[1]
			other.Args = append(other.Args, "-cram", "0")
			second := llamatest.Start(t, other)
			use(second.URL)
			from := len(d.windows)
			d.work(2)
			named := false
			for _, r := range d.windows[from:] {
				named = named || strings.Contains(r.Cache.Cause, "the server restarted or the slot was taken")
			}
			if !named {
				t.Errorf("the restart is not named")
			}
			times += learned(t, d, 9)
		})
	}
	if times < 2 && !t.Skipped() && !t.Failed() && os.Getenv(llamatest.EnvServer) != "" {
		t.Errorf("something was learned %d times", times)
	}
}

// learned works until there were so many more compactions, and checks what was predicted from the fourth on.
// It returns how often something was learned.
func learned(t *testing.T, d *drive, plans int) int {
	t.Helper()
	from, until := len(d.windows), d.plans+plans
	for d.plans < until {
		d.work(1)
	}
	n, exact, unsure := 0, 0, 0
	var notes []string
	for _, r := range d.windows[from:] {
		for _, note := range r.Notes {
			if strings.HasPrefix(note, "cache profile") {
				notes = append(notes, fmt.Sprintf("turn %d: %s", r.Turn, note))
			}
		}
		if !r.Compacted {
			continue
		}
		if n++; n <= 3 {
			continue
		}
		switch off := r.Cache.Reused - r.Cache.Predicted; {
		case off == 0:
			exact++
		case saidUnsure(r):
			unsure++
		default:
			t.Errorf("turn %d, compaction %d: predicted %d, reused %d, notes %q, cause %q", r.Turn, n, r.Cache.Predicted, r.Cache.Reused, r.Notes, r.Cache.Cause)
		}
	}
	t.Logf("%d compactions: of those from the fourth on %d predicted to the token, %d otherwise as was said; %s", n, exact, unsure, strings.Join(notes, "; "))
	return len(notes)
}

func saidUnsure(r receipt.Receipt) bool {
	return strings.Contains(strings.Join(r.Notes, "; "), "not known for sure")
}
