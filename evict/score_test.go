package evict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
)

func TestScore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		item  evict.Item
		value float64
		notes []string
	}{
		{"newest user turn", evict.Item{Role: "user", Tokens: 40}, 5, []string{"role user", "age 0"}},
		{"newest answer", evict.Item{Role: "assistant", Tokens: 40}, 4, []string{"role assistant", "age 0"}},
		{"newest note", evict.Item{Role: "system", Tokens: 40}, 3.5, []string{"role system", "age 0"}},
		{"newest result", evict.Item{Role: "tool", Tokens: 40}, 3, []string{"role tool", "age 0"}},
		{"half of the recency after eight turns", evict.Item{Role: "tool", Tokens: 40, Age: 8}, 2, []string{"role tool", "age 8"}},
		{"recency never reaches zero quite", evict.Item{Role: "tool", Age: 792}, 1.02, []string{"role tool", "age 792"}},
		{"one edge", evict.Item{Role: "tool", Age: 8, InDegree: 1}, 2.4, []string{"role tool", "age 8", "1 episode refers to it"}},
		{"edges up to a bound", evict.Item{Role: "tool", Age: 8, InDegree: 50}, 4, []string{"role tool", "age 8", "50 episodes refer to it"}},
		{"size below the unit", evict.Item{Role: "tool", Age: 8, Tokens: 255}, 2, []string{"role tool", "age 8"}},
		{"size at the unit", evict.Item{Role: "tool", Age: 8, Tokens: 256}, 1.75, []string{"role tool", "age 8", "256 tokens"}},
		{"size up to a bound", evict.Item{Role: "tool", Age: 8, Tokens: 1 << 30}, 0, []string{"role tool", "age 8", "1073741824 tokens"}},
		{"superseded", evict.Item{Role: "tool", Age: 8, Superseded: true}, -1, []string{"role tool", "age 8", "superseded by a later episode"}},
		{"superseded and droppable", evict.Item{Role: "tool", Age: 8, Superseded: true, Droppable: true}, -2, []string{"role tool", "age 8", "superseded by a later episode", "droppable"}},
		{"nonsense counts as nothing", evict.Item{Role: "tool", Age: -3, Tokens: -1, InDegree: -2}, 3, []string{"role tool", "age 0"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			value, notes := evict.Score(test.item)
			if value != test.value {
				t.Errorf("Score(%+v) = %v, want %v", test.item, value, test.value)
			}
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Errorf("Score(%+v) notes (-want +got):\n%s", test.item, diff)
			}
		})
	}
}

// TestScoreSupersededIsLast: a corrected episode is worth less than any uncorrected one of its kind and size.
func TestScoreSupersededIsLast(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"user", "assistant", "tool", "system"} {
		old, _ := evict.Score(evict.Item{Role: role, Age: 1 << 20, Tokens: 500})
		stale, _ := evict.Score(evict.Item{Role: role, Age: 0, Tokens: 500, Superseded: true})
		if stale >= old {
			t.Errorf("Score of a superseded %s = %v, want less than %v, that of the oldest one", role, stale, old)
		}
	}
}
