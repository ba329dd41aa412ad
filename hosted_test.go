package sakur4_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/receipt"
)

// provider is a hosted provider's prompt cache: it counts with a vocabulary of its own, keeps every prefix that it is told to, or finds by itself, and
// reports what it reused.
type provider struct {
	geometry boundary.Geometry
	prompts  [][]int32         // that were sent, for a cache of blocks
	prefixes map[[32]byte]bool // that are kept, for a cache of marked prefixes
	silent   bool              // reports no cached count
}

// ask sends a prompt. Its tokens are those of the messages' JSON, so that an estimate is off by some part.
func (p *provider) ask(w *sakur4.Window) sakur4.Usage {
	var prompt []int32
	ends := make([]int, len(w.Messages))
	sums := make([][32]byte, len(w.Messages))
	h := sha256.New()
	for i, m := range w.Messages {
		raw, err := m.MarshalJSON()
		if err != nil {
			panic(err)
		}
		prompt = append(prompt, sakur4.CL100kBase().Encode(string(raw))...)
		ends[i] = len(prompt)
		h.Write(raw)
		h.Sum(sums[i][:0])
	}
	cached, written, marks := 0, 0, w.Marks
	if p.geometry.Kind == boundary.Marked {
		if p.geometry.Marks == 0 {
			marks = nil
			for i := range w.Messages {
				if p.prefixes[sums[i]] {
					cached = ends[i]
				}
			}
			p.prefixes[sums[len(sums)-1]] = true
		}
		for _, m := range marks {
			if p.prefixes[sums[m]] {
				cached = ends[m]
			}
		}
		for _, m := range marks {
			if ends[m] >= p.geometry.Min {
				p.prefixes[sums[m]] = true
				written = max(written, ends[m]-cached)
			}
		}
	} else {
		for _, old := range p.prompts {
			n := 0
			for n < len(old) && n < len(prompt) && old[n] == prompt[n] {
				n++
			}
			cached = max(cached, p.geometry.Rewind(n))
		}
		p.prompts = append(p.prompts, prompt)
	}
	u := sakur4.Usage{Window: w.ID, PromptTokens: len(prompt), CompletionTokens: 20, Provider: "cloud", Model: "large-1"}
	if !p.silent {
		u.CachedTokens, u.CacheWriteTokens = &cached, &written
	}
	return u
}

func (p *provider) forget() { p.prompts, p.prefixes = nil, map[[32]byte]bool{} }

// hostedTrial is a session on a hosted provider.
func hostedTrial(t testing.TB, path string, g boundary.Geometry, window int) (*trial, *provider, *sakur4.Options) {
	t.Helper()
	b, err := sakur4.Hosted(sakur4.HostedProvider{Name: "cloud", Model: "large-1", Window: window, Geometry: g})
	if err != nil {
		t.Fatalf("Hosted() = %v", err)
	}
	o := fixed(0)
	o.Backend = b
	p := &provider{geometry: g}
	p.forget()
	return newTrial(t, path, o), p, o
}

// ask sends the session's next prompt and enters what was reported.
func (d *trial) ask(p *provider) receipt.Receipt {
	d.t.Helper()
	d.window()
	r, err := d.s.Observe(d.t.Context(), p.ask(d.last))
	if err != nil {
		d.t.Fatalf("Observe() = %v", err)
	}
	return r
}

// TestHostedProviders works past the window on simulated providers of every geometry: what they report agrees with what was predicted, marks are stable,
// and nothing looks like a broken prefix.
func TestHostedProviders(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]boundary.Geometry{
		"vllm": boundary.VLLM(), "sglang": boundary.SGLang(), "openai": boundary.OpenAI(), "openai marked": boundary.OpenAIMarked(),
		"anthropic": boundary.Anthropic(0), "deepseek": boundary.DeepSeek(), "gemini": boundary.Gemini(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := storePath(t)
			d, p, o := hostedTrial(t, path, g, 8192)
			d.pin("never force-push to main")
			d.user("Find out why the worker pool deadlocks.")
			reused, total, newest := 0, 0, ""
			for i := range 50 {
				switch i % 10 {
				case 4:
					d.say("Done with that.")
					d.user("Go on with the next one.")
				case 7:
					d.reopen(path, o)
					d.read(fmt.Sprintf("pkg/f%d.go", i), d.prose(900))
				default:
					d.read(fmt.Sprintf("pkg/f%d.go", i), d.prose(900))
				}
				r := d.ask(p)
				c := r.Cache
				if c.Cause != "" || !c.Estimated || c.Trend == boundary.TrendInversion || c.Provider != "cloud" || c.Model != "large-1" || c.Written == nil {
					t.Errorf("window %d (compacted %t): %s", r.Turn, r.Compacted, r)
				}
				if i > 0 && !r.Compacted && c.Trend != boundary.TrendGrowth && c.Trend != boundary.TrendRewritten {
					t.Errorf("window %d: trend %v, want growth", r.Turn, c.Trend)
				}
				reused, total = reused+c.Reused, total+c.Prompt
				newest = checkMarks(t, d.last, g, newest)
			}
			marks := d.last.Marks
			d.reopen(path, o)
			if got := d.window().Marks; !cmp.Equal(marks, got) {
				t.Errorf("marks of the same prompt after a restart = %v, want %v", got, marks)
			}
			if len(d.plans) < 2 {
				t.Errorf("%d compactions, want some", len(d.plans))
			}
			if share := float64(reused) / float64(total); share < 0.5 {
				t.Errorf("%.2f of all prompt tokens reused, want most", share)
			}
			t.Logf("%d compactions, %.2f of %d prompt tokens reused", len(d.plans), float64(reused)/float64(total), total)
		})
	}
}

// checkMarks checks the marks of a prompt, and that the newest message of the prompt before is among them. It returns this one's newest.
func checkMarks(t testing.TB, w *sakur4.Window, g boundary.Geometry, newest string) string {
	t.Helper()
	if g.Kind != boundary.Marked || g.Marks == 0 {
		if w.Marks != nil {
			t.Errorf("window %d: marks %v on a cache without any", w.Receipt.Turn, w.Marks)
		}
		return ""
	}
	raw := asJSON(t, w.Messages)
	last, found := -1, newest == "" || w.Plan != nil
	for _, m := range w.Marks {
		if m <= last || m >= len(raw) {
			t.Fatalf("window %d: marks %v in %d messages", w.Receipt.Turn, w.Marks, len(raw))
		}
		last, found = m, found || raw[m] == newest
	}
	if !found || last != len(raw)-1 || len(w.Marks) > 4 || w.Marks[0] != 0 {
		t.Errorf("window %d: marks %v in %d messages; the newest of the prompt before marked: %t", w.Receipt.Turn, w.Marks, len(raw), found)
	}
	return raw[last]
}

// TestHostedInversion: a prefix that has left the provider's cache shows in the next receipt, by the prediction and by the provider's numbers alone.
func TestHostedInversion(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]boundary.Geometry{"openai": boundary.OpenAI(), "anthropic": boundary.Anthropic(0), "unknown": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, p, _ := hostedTrial(t, storePath(t), g, 32768)
			d.user("Go on.")
			for i := range 6 {
				d.read(fmt.Sprintf("f%d.go", i), d.prose(3000))
				d.ask(p)
			}
			p.forget()
			d.read("g.go", d.prose(3000))
			r := d.ask(p)
			if c := r.Cache; c.Trend != boundary.TrendInversion || !strings.Contains(c.Cause, "has left the") || c.Reused != 0 {
				t.Errorf("after the cache expired: trend %v, cause %q, %d reused", c.Trend, c.Cause, c.Reused)
			}
			d.read("h.go", d.prose(3000))
			if c := d.ask(p).Cache; c.Trend != boundary.TrendGrowth || c.Cause != "" {
				t.Errorf("one prompt later: trend %v, cause %q, want growth", c.Trend, c.Cause)
			}
		})
	}
}

// TestHostedNotReported: what a provider does not report is never taken for 0.
func TestHostedNotReported(t *testing.T) {
	t.Parallel()
	d, p, _ := hostedTrial(t, storePath(t), boundary.Geometry{}, 32768)
	d.user("Go on.")
	d.ask(p)
	p.silent = true
	for i := range 3 {
		d.read(fmt.Sprintf("f%d.go", i), d.prose(2000))
		r := d.ask(p)
		c := r.Cache
		if c.Status != boundary.StatusUnknown || c.Measured || c.Trend != boundary.TrendNotReported || c.Written != nil {
			t.Errorf("without a cached count: %s", r)
		}
		if text := r.String(); !strings.Contains(text, "measured          not reported") {
			t.Errorf("receipt without a cached count:\n%s", text)
		}
	}
	p.silent = false
	d.read("g.go", d.prose(2000))
	if c := d.ask(p).Cache; c.Trend != boundary.TrendNotReported || !c.Measured {
		t.Errorf("the first report after silence: trend %v, measured %t", c.Trend, c.Measured)
	}
}

// TestHostedMoreCachedThanSent: a provider that reports the prompt without its cached part is a mistake that is easily made, and is named.
func TestHostedMoreCachedThanSent(t *testing.T) {
	t.Parallel()
	d, _, _ := hostedTrial(t, storePath(t), boundary.Anthropic(1024), 32768)
	d.user("Go on.")
	for _, test := range []struct{ prompt, cached int }{{100, 100}, {0, 200}, {100, 101}} {
		d.read(fmt.Sprintf("f%d.go", test.cached), d.prose(400))
		d.window()
		r, err := d.s.Observe(t.Context(), sakur4.Usage{PromptTokens: test.prompt, CachedTokens: &test.cached})
		want := ""
		if test.prompt > 0 && test.cached > test.prompt {
			want = "101 cached tokens were reported of a prompt of 100: the size of the prompt is to include them"
		}
		if c := r.Cache; err != nil || c.Cause != want {
			t.Errorf("Observe(%d cached of %d) = %+v, %v, want the cause %q", test.cached, test.prompt, c, err, want)
		}
	}
}

// TestHostedIsNoServer: a provider saves no slots, is never known to be idle, and numbers without sense are refused.
func TestHostedIsNoServer(t *testing.T) {
	t.Parallel()
	d, p, _ := hostedTrial(t, storePath(t), boundary.OpenAI(), 8192)
	d.user("Go on.")
	d.ask(p)
	if _, err := d.s.Snapshot(t.Context()); !errors.Is(err, sakur4.ErrUnsupported) {
		t.Errorf("Snapshot() = %v, want %v", err, sakur4.ErrUnsupported)
	}
	if _, err := d.eng.Dream(context.Background(), sakur4.DreamOptions{}); !errors.Is(err, sakur4.ErrNotIdle) {
		t.Errorf("Dream() = %v, want %v", err, sakur4.ErrNotIdle)
	}
	for _, bad := range []sakur4.HostedProvider{{Window: -1}, {Geometry: boundary.Geometry{Block: -1}}, {Geometry: boundary.Geometry{Kind: boundary.Marked, Marks: 5}},
		{Geometry: boundary.Geometry{Kind: boundary.Marked + 1}}, {Geometry: boundary.Geometry{Kind: -1}}, {Geometry: boundary.Geometry{Kind: boundary.Blocks}},
		{Geometry: boundary.Geometry{Kind: boundary.Points, Points: []int{5, 3}}}} {
		if b, err := sakur4.Hosted(bad); !errors.Is(err, sakur4.ErrUnsupported) {
			t.Errorf("Hosted(%+v) = %v, %v, want %v", bad, b, err, sakur4.ErrUnsupported)
		}
	}
}
