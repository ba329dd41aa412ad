package evict_test

import (
	"testing"

	"sakur4/evict"
)

func TestTier(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"live", "masked", "referenced", "archived", "dropped"} {
		tier := evict.Live + evict.Tier(i)
		if got := tier.String(); got != name {
			t.Errorf("Tier(%d).String() = %q, want %q", int(tier), got, name)
		}
		if got, err := evict.ParseTier(name); got != tier || err != nil {
			t.Errorf("ParseTier(%q) = %v, %v, want %v", name, got, err, tier)
		}
	}
	for _, name := range []string{"", "Live", "tombstoned"} {
		if got, err := evict.ParseTier(name); err == nil {
			t.Errorf("ParseTier(%q) = %v, want an error", name, got)
		}
	}
	if got := evict.Tier(0).String(); got != "Tier(0)" {
		t.Errorf("Tier(0).String() = %q, want %q", got, "Tier(0)")
	}
}

func FuzzParseTier(f *testing.F) {
	f.Add("live")
	f.Add("Tier(0)")
	f.Fuzz(func(t *testing.T, s string) {
		if tier, err := evict.ParseTier(s); err == nil && tier.String() != s {
			t.Errorf("ParseTier(%q) = %v", s, tier)
		}
	})
}
