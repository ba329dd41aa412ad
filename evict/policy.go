package evict

import (
	"errors"
	"fmt"
)

// The names of the profiles: how far a window fills before a compaction, and how far a compaction empties it.
const (
	// CacheFirst compacts rarely and deeply enough to pay for it: 75 % → 55 %. For servers whose cache can be rewound nearly anywhere.
	CacheFirst = "cache-first"
	// WindowFirst empties the window far: 70 % → 30 %. For servers that reuse little or nothing after a change.
	WindowFirst = "window-first"
	// Balanced lies between the two: 75 % → 45 %. For servers whose rewind points are few or unknown.
	Balanced = "balanced"
)

// The defaults of [Policy].
const (
	// DefaultKeepRecent is the share of the window kept untouched at the end: a late break with 6 % reprocesses 1.01–1.15 tokens per new one.
	DefaultKeepRecent = 0.06
	// DefaultMaxResult is the share of the window above which one result is rendered as head, tail and pointer.
	DefaultMaxResult = 0.125
	// DefaultMinReclaim is the share of the window that a compaction must free to be worth its break.
	DefaultMinReclaim = 0.10
	// DefaultMaxAgain is the share of the new tokens that compactions may have the server process again, taken over the whole session.
	DefaultMaxAgain = 0.15
	// DefaultSnapTolerance is the distance in tokens over which a cut may be moved back onto a checkpoint.
	DefaultSnapTolerance = 512
)

// Policy says when a session is compacted and what a compaction may take. Zero fields mean the documented defaults; see [Policy.WithDefaults].
// Shares are of the window.
type Policy struct {
	// Profile names the pair of Trigger and Target: [CacheFirst], [WindowFirst] or [Balanced]. "" leaves the choice to the engine.
	Profile string
	// Trigger is the filled share that starts a compaction, Target the share that it aims at. 0: the profile's.
	Trigger, Target float64
	// KeepRecent is the share at the end of the prompt that is not touched, in whole atoms, at least the newest. 0: [DefaultKeepRecent].
	KeepRecent float64
	// MaxResult is the share above which one tool result renders as head, tail and pointer. 0: [DefaultMaxResult].
	// Pick does not apply it: it is a rendering rule, kept here because it is set with the others.
	MaxResult float64
	// MinReclaim is the share that a compaction must free unless the hard limit is exceeded. 0: [DefaultMinReclaim].
	MinReclaim float64
	// MaxAgain bounds what compactions cost: all of them together have the server process at most this share of the session's new tokens again, as long as there is a
	// place to cut that costs no more; see [Input.Fresh]. Within the bound each of these tokens counts by the share that the plan takes of what is left, against a whole
	// token of value lost: a plan that takes a third of it for 900 tokens pays 300. Without a bound they count in full. 0: [DefaultMaxAgain]; 1 hardly bounds it.
	MaxAgain float64
	// SnapTolerance is the distance in tokens over which a cut may be moved back onto a checkpoint. 0: [DefaultSnapTolerance].
	// Pick does not apply it: the caller resolves breaks with it.
	SnapTolerance int
	// AllowDrop permits the last rung, [Dropped], for episodes that are droppable and that nothing depends on. The default is false.
	AllowDrop bool
	// ProtectedTools are names of tools whose calls and results are left alone until nothing else is left. Pick does not read it:
	// the caller sets [Item.Protect].
	ProtectedTools []string
}

// profileShares returns a profile's trigger and target.
func profileShares(profile string) (trigger, target float64, ok bool) {
	switch profile {
	case CacheFirst:
		return 0.75, 0.55, true
	case WindowFirst:
		return 0.70, 0.30, true
	case Balanced:
		return 0.75, 0.45, true
	}
	return 0, 0, false
}

// WithDefaults returns the policy with its zero fields filled in. profile is used where [Policy.Profile] is ""; an unknown or empty one means [Balanced].
func (p Policy) WithDefaults(profile string) Policy {
	if p.Profile == "" {
		p.Profile = profile
	}
	if p.Profile == "" {
		p.Profile = Balanced
	}
	trigger, target, ok := profileShares(p.Profile)
	if !ok {
		trigger, target, _ = profileShares(Balanced)
	}
	if p.Trigger == 0 {
		p.Trigger = trigger
	}
	if p.Target == 0 {
		p.Target = target
	}
	if p.KeepRecent == 0 {
		p.KeepRecent = DefaultKeepRecent
	}
	if p.MaxResult == 0 {
		p.MaxResult = DefaultMaxResult
	}
	if p.MinReclaim == 0 {
		p.MinReclaim = DefaultMinReclaim
	}
	if p.MaxAgain == 0 {
		p.MaxAgain = DefaultMaxAgain
	}
	if p.SnapTolerance == 0 {
		p.SnapTolerance = DefaultSnapTolerance
	}
	return p
}

// Validate reports every field that cannot be used, joined in one error. Zero fields are judged as their defaults.
func (p Policy) Validate() error {
	var errs []error
	if p.Profile != "" {
		if _, _, ok := profileShares(p.Profile); !ok {
			errs = append(errs, fmt.Errorf("evict: unknown profile %q (want %q, %q or %q)", p.Profile, CacheFirst, WindowFirst, Balanced))
		}
	}
	d := p.WithDefaults("")
	for _, s := range []struct {
		name  string
		share float64
	}{{"Trigger", d.Trigger}, {"Target", d.Target}, {"KeepRecent", d.KeepRecent}, {"MaxResult", d.MaxResult}, {"MinReclaim", d.MinReclaim}, {"MaxAgain", d.MaxAgain}} {
		// Written so that a NaN is refused too.
		if !(s.share > 0 && s.share <= 1) {
			errs = append(errs, fmt.Errorf("evict: %s %v is not a share between 0 and 1", s.name, s.share))
		}
	}
	if !(d.Target < d.Trigger) {
		errs = append(errs, fmt.Errorf("evict: Target %v is not below Trigger %v", d.Target, d.Trigger))
	}
	if !(d.KeepRecent < d.Target) {
		errs = append(errs, fmt.Errorf("evict: KeepRecent %v is not below Target %v", d.KeepRecent, d.Target))
	}
	if d.SnapTolerance < 0 {
		errs = append(errs, fmt.Errorf("evict: SnapTolerance %d is negative", d.SnapTolerance))
	}
	return errors.Join(errs...)
}
