package recall_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/internal/recall"
)

func TestFuse(t *testing.T) {
	t.Parallel()
	list := func(source string, weight float64, ids ...string) recall.Ranked {
		return recall.Ranked{Source: source, Weight: weight, IDs: ids}
	}
	for _, tc := range []struct {
		name  string
		lists []recall.Ranked
		limit int
		want  []recall.Fused
	}{
		{name: "nothing"},
		{
			name:  "agreement wins",
			lists: []recall.Ranked{list("bm25", 0, "a", "b"), list("dense", 1, "c", "b")},
			want: []recall.Fused{
				{"b", 2. / 62, []string{"bm25 rank 2", "dense rank 2"}},
				{"a", 1. / 61, []string{"bm25 rank 1"}},
				{"c", 1. / 61, []string{"dense rank 1"}},
			},
		},
		{
			name:  "weights count",
			lists: []recall.Ranked{list("bm25", 1, "a", "b"), list("graph", 0.25, "b", "c"), list("off", -1, "d"), list("odd", math.NaN(), "e")},
			want: []recall.Fused{
				{"b", 1./62 + .25/61, []string{"bm25 rank 2", "graph rank 1"}},
				{"a", 1. / 61, []string{"bm25 rank 1"}},
				{"c", .25 / 62, []string{"graph rank 2"}},
			},
		},
		{
			name:  "a repeated id counts once and takes no rank",
			lists: []recall.Ranked{list("bm25", 1, "a", "a", "b")},
			want:  []recall.Fused{{"a", 1. / 61, []string{"bm25 rank 1"}}, {"b", 1. / 62, []string{"bm25 rank 2"}}},
		},
		{
			name:  "the better single rank breaks a tie, then the id",
			lists: []recall.Ranked{list("x", 62, "-", "A"), list("y", 61, "y", "b"), list("w", 61, "a")},
			limit: 4,
			want: []recall.Fused{
				{"-", 62. / 61, []string{"x rank 1"}},
				{"a", 1, []string{"w rank 1"}},
				{"y", 1, []string{"y rank 1"}},
				{"A", 1, []string{"x rank 2"}},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, recall.Fuse(tc.lists, tc.limit), cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-15)); diff != "" {
				t.Errorf("Fuse(%v, %d) (-want +got):\n%s", tc.lists, tc.limit, diff)
			}
		})
	}
}
