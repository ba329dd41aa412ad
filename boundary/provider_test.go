package boundary_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
)

func TestTrendOf(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	tests := []struct {
		name        string
		before, now boundary.Reported
		rewritten   bool
		want        boundary.Trend
	}{
		{"nothing before", boundary.Reported{}, boundary.Reported{100, n(0)}, false, boundary.TrendNotReported},
		{"no count before", boundary.Reported{100, nil}, boundary.Reported{200, n(100)}, false, boundary.TrendNotReported},
		{"no count now", boundary.Reported{100, n(0)}, boundary.Reported{200, nil}, false, boundary.TrendNotReported},
		{"no size", boundary.Reported{100, n(0)}, boundary.Reported{0, n(50)}, false, boundary.TrendNotReported},
		{"first reuse", boundary.Reported{100, n(0)}, boundary.Reported{200, n(100)}, false, boundary.TrendGrowth},
		{"under the minimum", boundary.Reported{100, n(0)}, boundary.Reported{200, n(0)}, false, boundary.TrendGrowth},
		{"within a block", boundary.Reported{1100, n(1024)}, boundary.Reported{1150, n(1024)}, false, boundary.TrendGrowth},
		{"same prompt", boundary.Reported{1100, n(1024)}, boundary.Reported{1100, n(1024)}, false, boundary.TrendGrowth},
		{"one token less", boundary.Reported{1100, n(1024)}, boundary.Reported{1150, n(1023)}, false, boundary.TrendInversion},
		{"gone", boundary.Reported{1100, n(1024)}, boundary.Reported{1150, n(0)}, false, boundary.TrendInversion},
		{"compacted", boundary.Reported{9000, n(8000)}, boundary.Reported{9500, n(4000)}, true, boundary.TrendRewritten},
		{"shorter", boundary.Reported{9000, n(8000)}, boundary.Reported{5000, n(4000)}, false, boundary.TrendRewritten},
	}
	for _, test := range tests {
		if got := boundary.TrendOf(test.before, test.now, test.rewritten); got != test.want {
			t.Errorf("%s: TrendOf() = %v, want %v", test.name, got, test.want)
		}
	}
	for trend := boundary.TrendNotReported; trend <= boundary.TrendRewritten; trend++ {
		text, err := trend.MarshalText()
		var back boundary.Trend
		if err != nil || back.UnmarshalText(text) != nil || back != trend {
			t.Errorf("trend %v: %q, %v, read back as %v", trend, text, err, back)
		}
	}
	if _, err := boundary.Trend(9).MarshalText(); err == nil || new(boundary.Trend).UnmarshalText([]byte("up")) == nil {
		t.Error("a value that is no trend is written or read")
	}
}

func TestEstimated(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	tests := []struct {
		name            string
		g               boundary.Geometry
		predicted, used int
		r               boundary.Reported
		measured        int // 0 for no mismatch
		bad             bool
	}{
		{"equal", boundary.Geometry{}, 900, 1000, boundary.Reported{1000, n(900)}, 0, false},
		{"other vocabulary", boundary.Geometry{}, 900, 1000, boundary.Reported{1300, n(1170)}, 0, false},
		{"other density", boundary.Geometry{}, 900, 1000, boundary.Reported{1300, n(1050)}, 0, false},
		{"far less", boundary.Geometry{}, 900, 1000, boundary.Reported{1300, n(650)}, 500, true},
		{"nothing", boundary.Geometry{}, 900, 1000, boundary.Reported{1300, n(0)}, 0, true},
		{"more", boundary.Geometry{}, 100, 1000, boundary.Reported{1300, n(1200)}, 0, false},
		{"a block less", boundary.OpenAI(), 1920, 2100, boundary.Reported{2100, n(1664)}, 0, false},
		{"no size", boundary.Geometry{}, 900, 1000, boundary.Reported{0, n(890)}, 0, false},
		{"not reported", boundary.Geometry{}, 900, 1000, boundary.Reported{1300, nil}, 0, false},
	}
	for _, test := range tests {
		got := boundary.Estimated(test.g, test.predicted, test.used, test.r)
		if (got != boundary.Mismatch{}) != test.bad || got.Measured != test.measured {
			t.Errorf("%s: Estimated() = %+v, want mismatch %t with %d measured", test.name, got, test.bad, test.measured)
		}
	}
}

// TestGeometries pins what each preset can rewind to.
func TestGeometries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		g    boundary.Geometry
		pos  []int
		want []int
	}{
		{"vllm", boundary.VLLM(), []int{15, 16, 47, 48, 1000}, []int{0, 16, 32, 48, 992}},
		{"sglang", boundary.SGLang(), []int{1, 17, 1000}, []int{1, 17, 1000}},
		{"openai", boundary.OpenAI(), []int{1023, 1024, 1151, 1152, 5000}, []int{0, 1024, 1024, 1152, 4992}},
		{"gemini", boundary.Gemini(0), []int{2047, 2048, 2049}, []int{0, 2048, 2049}},
		{"gemini large", boundary.Gemini(4096), []int{4095, 4097}, []int{0, 4097}},
		{"anthropic", boundary.Anthropic(0), []int{5000}, []int{0}}, // nothing is marked yet
	}
	for _, test := range tests {
		var got []int
		for _, pos := range test.pos {
			got = append(got, test.g.Rewind(pos))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: Rewind(%v) (-want +got):\n%s", test.name, test.pos, diff)
		}
	}
}

func TestBreakpoints(t *testing.T) {
	t.Parallel()
	ends := []int{100, 200, 300, 400, 500, 600}
	tests := []struct {
		name         string
		points       []int
		head, marks  int
		want, prompt []int
	}{
		{"first prompt", nil, 1, 4, []int{0, 1, 5}, ends},
		{"goes on", []int{100, 200, 400}, 1, 4, []int{0, 1, 3, 5}, ends},
		{"nothing new", []int{600}, 1, 4, []int{0, 1, 5}, ends},
		{"only the head survives", []int{100}, 1, 4, []int{0, 1, 5}, ends},
		{"between messages", []int{200, 450}, 1, 4, []int{0, 1, 5}, ends},
		{"no head", []int{300}, 0, 4, []int{0, 2, 5}, ends},
		{"two marks", []int{100, 200, 400}, 1, 2, []int{3, 5}, ends},
		{"one mark", []int{400}, 1, 1, []int{5}, ends},
		{"more than anybody takes", []int{400}, 1, 9, []int{0, 1, 3, 5}, ends},
		{"one message", nil, 1, 4, []int{0}, []int{50}},
		{"none", nil, 0, 4, nil, nil},
	}
	for _, test := range tests {
		got := boundary.Breakpoints(test.prompt, test.points, test.head, test.marks)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: Breakpoints() (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestCacheOfMarkedPrefixes: what was marked and is still a prefix is reused, nothing between.
func TestCacheOfMarkedPrefixes(t *testing.T) {
	t.Parallel()
	seq := func(n, from int) []int32 {
		out := make([]int32, n)
		for i := range out {
			out[i] = int32(from + i)
		}
		return out
	}
	a := seq(3000, 0)
	changed := append(seq(2000, 0), seq(1000, 50_000)...)
	longer := append(seq(3000, 0), seq(500, 9000)...)
	for _, test := range []struct {
		name          string
		g             boundary.Geometry
		marks         []int
		append, after int // reused by longer, and by changed
	}{
		{"marked", boundary.Anthropic(0), []int{1500, 2500, 3000}, 3000, 1500},
		{"under the minimum", boundary.Anthropic(2048), []int{1500, 2500}, 2500, 0},
		{"nothing marked", boundary.Anthropic(0), nil, 0, 0},
		{"whole prompts", boundary.DeepSeek(), nil, 3000, 0},
	} {
		p := boundary.Profile{Geometry: test.g}
		c := boundary.NewCache(p)
		c.Mark(test.marks)
		c.Accept(a, nil, 0)
		c.GeneratedCount(10)
		again := boundary.RestoreCache(p, c.State())
		if err := again.Hold(a); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*boundary.Cache{c, again} {
			if got := c.Predict(longer, 0).Reused; got != test.append {
				t.Errorf("%s: an append reuses %d, want %d", test.name, got, test.append)
			}
			if got := c.Predict(changed, 0).Reused; got != test.after {
				t.Errorf("%s: a change at 2000 reuses %d, want %d", test.name, got, test.after)
			}
			if plan := boundary.Resolve(c.Geometry(), 2000, 3000, 0); plan.Reused != test.after || (test.after > 0 && !strings.Contains(plan.Reason, "marked position")) {
				t.Errorf("%s: Resolve(2000) = %+v, want %d reused", test.name, plan, test.after)
			}
		}
		c.Accept(changed, nil, 0)
		if got := c.Predict(a, 0).Reused; got != test.after && test.g.Marks > 0 {
			t.Errorf("%s: back again reuses %d, want %d", test.name, got, test.after)
		}
	}
}
