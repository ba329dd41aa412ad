package sakur4_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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
		{"positions of several axes", llamatest.Options{Context: 16384, Model: llamatest.Model{Arch: llamatest.Axes}},
			llamacpp.Options{}, false, 0, "KV shift not used: the server is not known to move tokens"},
		{"positions of several axes, said to shift", llamatest.Options{Context: 16384, Model: llamatest.Model{Arch: llamatest.Axes}},
			llamacpp.Options{Geometry: boundary.Geometry{Kind: boundary.AnyToken, Shift: true, MinChunk: 1}}, false, 1, "KV shift not used: the server did not do as it was predicted to"},
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
			ignored := strings.Count(srv.Log(), "cache reuse is not supported - ignoring n_cache_reuse")
			t.Logf("%d compactions, %d with a shift: %d of %d held tokens reused; the server ignored %d requests for one", d.plans, shifts, reused, held, ignored)
			if c.moved && ignored > 0 || !c.moved && ignored != shifts {
				t.Errorf("the server says that it ignored %d requests for a shift, %d receipts that they asked for one", ignored, shifts)
			}
			if c.moved && (shifts < 5 || reused*100 < held*97) || !c.moved && shifts > c.asked {
				t.Errorf("%d shifts, %d of %d held tokens reused", shifts, reused, held)
			}
		})
	}
}

// TestLiveShiftRefused: a real server that refuses a request for its n_cache_reuse (the number is made one that it does not take) is asked again without, in the
// same turn. The receipt says so and is predicted to the token, and no later compaction asks for a shift.
func TestLiveShiftRefused(t *testing.T) {
	srv := llamatest.Start(t, llamatest.Options{Context: 16384})
	target, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	var refusals []string // one request at a time
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			body, err := io.ReadAll(r.In.Body)
			if err != nil {
				t.Error(err)
			}
			body = bytes.ReplaceAll(body, []byte(`"n_cache_reuse":`), []byte(`"n_cache_reuse":-`))
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode < 400 {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			refusals = append(refusals, string(body))
			return err
		},
	})
	defer front.Close()
	srv.URL = front.URL
	d := newDriveWith(t, srv, &llamacpp.Options{}, &sakur4.Options{Window: 8192, KVShift: true})
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
	d.turn()
	for d.plans < 3 {
		d.work(1)
	}
	if len(refusals) != 1 || !strings.Contains(refusals[0], "n_cache_reuse") {
		t.Errorf("the server refused %q, want one request for its n_cache_reuse", refusals)
	}
	compactions := 0
	for _, r := range d.windows {
		if !r.Compacted {
			continue
		}
		want := "KV shift not used: the server did not do as it was predicted to"
		if compactions++; compactions == 1 {
			want = "the server refused to move kept tokens"
		}
		if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, want) || r.Cache.Shifted || r.Cache.Reused != r.Cache.Predicted || r.Cache.Cause != "" {
			t.Errorf("compaction %d: %d of %d predicted tokens reused, shifted %t, cause %q, notes %q, want one of %q", compactions,
				r.Cache.Reused, r.Cache.Predicted, r.Cache.Shifted, r.Cache.Cause, notes, want)
		}
	}
	t.Logf("refused with %q", refusals)
}

// TestLiveShiftNotAllowed: a real server that moves tokens unless a request says otherwise (--cache-reuse) computes a session without KV shift anew behind each
// cut, as predicted to the token.
func TestLiveShiftNotAllowed(t *testing.T) {
	srv := llamatest.Start(t, llamatest.Options{Context: 16384, Args: []string{"--cache-reuse", "32"}})
	d := newDrive(t, srv, nil, 8192)
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out why the worker pool deadlocks."})
	d.turn()
	for d.plans < 3 {
		d.work(1)
	}
	for _, r := range d.windows {
		if r.Compacted && (r.Cache.Reused != r.Cache.Predicted || r.Cache.Reused != r.Cache.Boundary || r.Cache.Shifted) {
			t.Errorf("turn %d: %d of %d predicted tokens reused up to the cut at %d, shifted %t", r.Turn, r.Cache.Reused, r.Cache.Predicted, r.Cache.Boundary, r.Cache.Shifted)
		}
	}
}
