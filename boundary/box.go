package boundary

import "math"

// span is a range of numbers from Lo up to Hi, without Hi.
type span struct{ Lo, Hi int }

// lowest and highest bound every number that a setting can be.
const (
	lowest  = math.MinInt32
	highest = math.MaxInt32
)

// anything is every setting.
func anything() box { return box{span{lowest, highest}, span{lowest, highest}} }

func (s span) has(n int) bool { return s.Lo <= n && n < s.Hi }

// and returns what two ranges have in common.
func (s span) and(o span) span { return span{max(s.Lo, o.Lo), min(s.Hi, o.Hi)} }

func (s span) empty() bool { return s.Lo >= s.Hi }

// likeliest chooses what was given where the range has it, else the default, else the largest power of two, else the least.
func (s span) likeliest(given, standard int) int {
	switch {
	case s.has(given):
		return given
	case s.has(standard):
		return standard
	}
	for n := 1 << 16; n > 0; n /= 2 {
		if s.has(n) {
			return n
		}
	}
	return s.Lo
}

// box is a set of settings: every spacing of the one range with every maximum of the other.
type box struct{ spacings, maxima span }

// split appends to in what lies in o, and to out what does not.
func (b box) split(o box, in, out []box) (_, _ []box) {
	put := func(to []box, s, m span) []box {
		if s.empty() || m.empty() {
			return to
		}
		return append(to, box{s, m})
	}
	s := b.spacings.and(o.spacings)
	in = put(in, s, b.maxima.and(o.maxima))
	out = put(out, b.spacings.and(span{lowest, o.spacings.Lo}), b.maxima)
	out = put(out, b.spacings.and(span{o.spacings.Hi, highest}), b.maxima)
	out = put(out, s, b.maxima.and(span{lowest, o.maxima.Lo}))
	return in, put(out, s, b.maxima.and(span{o.maxima.Hi, highest}))
}
