package evict_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
)

func TestPolicyWithDefaults(t *testing.T) {
	t.Parallel()
	base := evict.Policy{KeepRecent: 0.06, MaxResult: 0.125, MinReclaim: 0.1, MaxAgain: 0.15, SnapTolerance: 512}
	with := func(profile string, trigger, target float64) evict.Policy {
		p := base
		p.Profile, p.Trigger, p.Target = profile, trigger, target
		return p
	}
	tests := []struct {
		name    string
		policy  evict.Policy
		profile string
		want    evict.Policy
	}{
		{"nothing set", evict.Policy{}, "", with("balanced", 0.75, 0.45)},
		{"the engine's choice", evict.Policy{}, "cache-first", with("cache-first", 0.75, 0.55)},
		{"the policy's own", evict.Policy{Profile: "window-first"}, "cache-first", with("window-first", 0.70, 0.30)},
		{"a target of its own", evict.Policy{Target: 0.2}, "cache-first", with("cache-first", 0.75, 0.2)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.policy.WithDefaults(test.profile)); diff != "" {
				t.Errorf("%+v.WithDefaults(%q) (-want +got):\n%s", test.policy, test.profile, diff)
			}
		})
	}
}

func TestPolicyValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		policy evict.Policy
		want   []string
	}{
		{"zero", evict.Policy{}, nil},
		{"all set", evict.Policy{Profile: "balanced", Trigger: 0.9, Target: 0.1, KeepRecent: 0.05, MaxResult: 1, MinReclaim: 0.01, SnapTolerance: 1}, nil},
		{"unknown profile", evict.Policy{Profile: "fast"}, []string{`unknown profile "fast"`}},
		{"no share", evict.Policy{Trigger: 1.5, Target: -1}, []string{"Trigger 1.5", "Target -1"}},
		{"not a number", evict.Policy{MinReclaim: math.NaN()}, []string{"MinReclaim NaN"}},
		{"all is too much", evict.Policy{MaxAgain: 1.5}, []string{"MaxAgain 1.5"}},
		{"target at the trigger", evict.Policy{Trigger: 0.5, Target: 0.5}, []string{"Target 0.5 is not below Trigger 0.5"}},
		{"keeps more than the target", evict.Policy{KeepRecent: 0.6}, []string{"KeepRecent 0.6 is not below Target 0.45"}},
		{"negative tolerance", evict.Policy{SnapTolerance: -1}, []string{"SnapTolerance -1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.policy.Validate()
			if (err == nil) != (test.want == nil) {
				t.Fatalf("%+v.Validate() = %v, want %q", test.policy, err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%+v.Validate() = %v, want %q in it", test.policy, err, want)
				}
			}
		})
	}
}
