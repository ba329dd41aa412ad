package evict_test

import (
	"strings"
	"testing"

	"sakur4/evict"
)

func TestThreshold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                             string
		policy                           evict.Policy
		window, reserve, used, sinceLast int
		pressure                         evict.Pressure
		target                           int
		reason                           string
	}{
		{"below the trigger", evict.Policy{Profile: evict.CacheFirst}, 10000, 1250, 7499, 7499, evict.Relaxed, 5500, "below the trigger of 7500"},
		{"at the trigger", evict.Policy{Profile: evict.CacheFirst}, 10000, 1250, 7500, 7500, evict.Compacting, 5500, "reach the trigger of 7500"},
		{"window first", evict.Policy{Profile: evict.WindowFirst}, 10000, 1250, 7000, 7000, evict.Compacting, 3000, "trigger of 7000"},
		{"balanced", evict.Policy{Profile: evict.Balanced}, 10000, 1250, 7500, 7500, evict.Compacting, 4500, "trigger of 7500"},
		{"no profile is balanced", evict.Policy{}, 10000, 1250, 7500, 7500, evict.Compacting, 4500, "trigger of 7500"},
		{"own shares", evict.Policy{Trigger: 0.5, Target: 0.25}, 10000, 1250, 5000, 5000, evict.Compacting, 2500, "trigger of 5000"},
		{"growth one short", evict.Policy{Profile: evict.CacheFirst}, 10000, 1250, 7600, 999, evict.Relaxed, 5500, "only 999 came since the last compaction, fewer than 1000"},
		{"growth enough", evict.Policy{Profile: evict.CacheFirst}, 10000, 1250, 7600, 1000, evict.Compacting, 5500, "trigger"},
		{"no growth, at the hard limit", evict.Policy{Profile: evict.CacheFirst}, 10000, 1250, 8750, 0, evict.Relaxed, 5500, "only 0 came"},
		{"no growth, above the hard limit", evict.Policy{Profile: evict.CacheFirst}, 10000, 1250, 8751, 0, evict.Compacting, 5500, "exceed the hard limit of 8750"},
		{"a large reserve pulls both down", evict.Policy{Profile: evict.CacheFirst}, 10000, 7000, 3000, 3000, evict.Compacting, 2200, "trigger of 3000"},
		{"a reserve of everything", evict.Policy{}, 1000, 2000, 1, 1, evict.Compacting, 0, "hard limit of 0"},
		{"nothing used", evict.Policy{}, 10000, 1250, 0, 0, evict.Relaxed, 4500, "below"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pressure, target, reason := evict.Threshold(test.policy, test.window, test.reserve, test.used, test.sinceLast)
			if pressure != test.pressure || target != test.target || !strings.Contains(reason, test.reason) {
				t.Errorf("Threshold(%+v, %d, %d, %d, %d) = %v, %d, %q, want %v, %d, a reason with %q", test.policy, test.window, test.reserve, test.used, test.sinceLast,
					pressure, target, reason, test.pressure, test.target, test.reason)
			}
		})
	}
}

func TestPressureString(t *testing.T) {
	t.Parallel()
	for p, want := range map[evict.Pressure]string{evict.Relaxed: "relaxed", evict.Compacting: "compacting", evict.AnchorOverflow: "anchor_overflow", 0: "Pressure(0)", 9: "Pressure(9)"} {
		if got := p.String(); got != want {
			t.Errorf("Pressure(%d).String() = %q, want %q", int(p), got, want)
		}
	}
}

// TestThresholdConverges: whatever the profile, a session that grows and is compacted to its target is not compacted again before it grew by
// half the distance to the trigger.
func TestThresholdConverges(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{evict.CacheFirst, evict.WindowFirst, evict.Balanced} {
		policy := evict.Policy{Profile: profile}
		used, since := 0, 0
		for turn := range 2000 {
			used += 137
			since += 137
			pressure, target, reason := evict.Threshold(policy, 32768, 4096, used, since)
			if pressure != evict.Compacting {
				continue
			}
			d := policy.WithDefaults("")
			if growth := int((d.Trigger - d.Target) * 32768 / 2); since < growth {
				t.Fatalf("%s, turn %d: Threshold(…, %d, %d) = %v (%s), want relaxed before a growth of %d", profile, turn, used, since, pressure, reason, growth)
			}
			used, since = target, 0
		}
	}
}
