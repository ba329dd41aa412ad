package boundary

import (
	"fmt"
	"math"
	"slices"
)

// A server tells none of the settings that decide when it writes checkpoints. But what it reuses after a break is the position of one, to the token, and
// most settings would have left others. So the requests since the slot was empty are kept, in positions, and where a prediction was wrong all settings are
// tried on them: those that give every measured count are what the server may have been started with.

// Learned is what measurements showed of a server that was predicted wrongly. It replaces what was given or assumed.
type Learned struct {
	// Kind and Rule are what the measurements show; Rule is zero where Kind is not [Points].
	Kind Kind           `json:"kind"`
	Rule CheckpointRule `json:"rule"`
	// GivenKind and Given are what they replace: of a server with another profile they say nothing.
	GivenKind Kind           `json:"given_kind"`
	Given     CheckpointRule `json:"given"`
	// Breaks is how many measured breaks they explain.
	Breaks int `json:"breaks"`
}

// String names the shape and the settings.
func (l Learned) String() string {
	if l.Kind != Points {
		return "the cache can be rewound to any token"
	}
	r := l.Rule
	s := fmt.Sprintf("checkpoints at least %d tokens apart, %d at most, ubatch %d", max(r.Spacing, 0), max(r.Max, 0), r.Ubatch)
	if r.Batch != DefaultBatch {
		s += fmt.Sprintf(", batch %d", r.Batch)
	}
	if r.Window > 0 {
		return s + fmt.Sprintf(", window %d", r.Window)
	}
	return s + ", no window"
}

// request is one prompt as positions.
type request struct {
	// total is its size, common its longest common prefix with what was held, of which known and reply tokens lay behind the last prompt: the ids of the
	// latter are not known.
	total, common, known, reply int
	// users are the starts of its user messages, without the first kept ones, which are those of the prompt before.
	kept  int
	users []int
	// measured is how many tokens were reused, −1 where that was not reported.
	measured int
	// moved says that a shift was asked for: the count says nothing then of a server that can rewind to any token.
	moved bool
}

// appends reports whether it goes on from all that the slot held with before tokens of prompt.
func (q request) appends(before int) bool {
	return q.common > 0 && q.common == before+q.known && (q.reply == 0 || q.total > q.common)
}

// tells reports whether its count tells settings from others.
func (q request) tells(before int) bool {
	return q.measured > 0 && q.breaks(before)
}

// breaks reports whether it changes what the slot held.
func (q request) breaks(before int) bool { return q.common > 0 && !q.appends(before) }

// starts returns the starts of all its user messages, given those of the prompt before, over whose memory it writes.
func (q request) starts(before []int) []int { return append(before[:q.kept], q.users...) }

// maxLog bounds the requests that are kept: a session has many breaks by then. A server that is said to rewind to any token has shown it or not after a few.
const (
	maxLog    = 512
	maxAnyLog = 96
)

// explain returns where a server with these settings goes on from at q, and whether that is what was measured. before is the size of the last prompt. zero
// says that nothing was left against the settings, as after a restart.
func (m *slotModel) explain(q request, before int) (at rewound, zero, ok bool) {
	n := before + q.known + q.reply
	try := func(next int) bool {
		next = min(next, q.total)
		at = m.rewind(max(n, next), next, next < q.total)
		at.past = min(at.past, q.total-1)
		return q.measured < 0 || at.past == q.measured
	}
	switch {
	case q.common == 0:
		return rewound{}, false, q.measured <= 0
	case q.appends(before) && q.measured < 0:
		return at, false, try(q.common + q.reply)
	case q.appends(before):
		return at, false, q.measured > q.common && try(q.measured) || try(q.common) || try(q.common+q.reply)
	case try(q.common):
		return at, false, true
	case q.measured == 0:
		return rewound{}, true, true
	}
	return at, false, false
}

// fit is a group of settings that explain what was measured and that nothing so far tells from each other.
type fit struct {
	kind Kind
	// settings are those of the group, beside what slotModel.rule says of the others.
	settings []box
	// slotModel is the slot after the last request.
	slotModel
	// zeros counts the breaks at which nothing was reused against the settings, as after a restart; breaks those that they explain.
	zeros, breaks int
}

// clone returns an independent copy.
func (f *fit) clone() fit {
	c := *f
	c.slotModel = f.slotModel.clone()
	return c
}

// step takes a group over one more request and appends to out what is left of it: settings that go different ways become groups of their own.
func (f *fit) step(out []fit, q request, before int, users []int) []fit {
	if f.kind != Points {
		if f.anyToken(q, before) {
			out = append(out, *f)
		}
		return out
	}
	f.generate(before, q.known+q.reply)
	at, zero, ok := f.explain(q, before)
	switch {
	case !ok:
		return out
	case zero:
		f.zeros++
	case q.tells(before):
		f.breaks++
	}
	f.task++
	for rest := f.settings; len(rest) > 0; {
		g := f.clone()
		g.rule.Spacing, g.rule.Max = rest[0].spacings.Lo, rest[0].maxima.Lo
		g.alike = anything()
		g.process(at, q.total, users)
		g.settings = nil
		var others []box
		for _, b := range rest {
			g.settings, others = b.split(g.alike, g.settings, others)
		}
		out = append(out, g)
		rest = others
	}
	return out
}

// anyToken is step for a server that can rewind to any token.
func (f *fit) anyToken(q request, before int) bool {
	want := min(q.common, q.total-1)
	switch {
	case q.measured < 0, q.appends(before) && q.measured >= want, q.moved && q.measured >= want:
	case q.measured == want:
		if q.tells(before) {
			f.breaks++
		}
	case q.measured == 0:
		f.zeros++
	default:
		return false
	}
	return true
}

// inference tries settings on a log.
type inference struct {
	log   []request
	given CheckpointRule
	cap   int // the most cells that a slot has, 0 for no limit
	slots int
	// steps is how many requests may still be tried.
	steps int
	fits  []fit
	// restarts says that a break at which nothing was reused speaks against no settings: a server that can rewind to any token was restarted.
	restarts bool
	// partial says that not all settings were tried.
	partial bool
}

// maxSteps bounds each part of an inference: settings that nothing measured speaks against are many.
const maxSteps = 10_000

// try adds those of the settings that explain the log, beside the other settings of base.
func (g *inference) try(base CheckpointRule, settings []box) {
	f := fit{kind: Points, slotModel: slotModel{rule: base}, settings: settings}
	f.clear()
	groups := []fit{f}
	var users []int
	before := 0
	for _, q := range g.log {
		if g.steps -= len(groups); g.steps < 0 {
			g.partial = true
			return
		}
		users = q.starts(users)
		groups = stepAll(groups, q, before, users)
		before = q.total
	}
	g.fits = append(g.fits, groups...)
}

// stepAll takes all groups over a request. users are the starts of its user messages.
func stepAll(groups []fit, q request, before int, users []int) []fit {
	var out []fit
	for i := range groups {
		out = groups[i].step(out, q, before, users)
	}
	return out
}

// usualSpacings and usualMaxima are what people set, the likeliest first.
func usualSpacings() []int { return []int{8192, 256, 512, 1024, 2048, 4096, 16384, -1, 64, 128, 32768} }
func usualMaxima() []int   { return []int{32, 64, 16, 8, 4, 24, 12, 6, 3, 2, 1, 128, -1} }

// usual reports whether people set such a spacing and maximum.
func (l *Learned) usual() bool {
	return l.Kind != Points || slices.Contains(usualSpacings(), l.Rule.Spacing) && slices.Contains(usualMaxima(), l.Rule.Max)
}

// usual are the settings that people choose, with what was given.
func (g *inference) usual() []box {
	var list []box
	for _, m := range append([]int{g.given.Max}, usualMaxima()...) {
		for _, s := range append([]int{g.given.Spacing}, usualSpacings()...) {
			if b := (box{span{s, s + 1}, span{m, m + 1}}); !slices.Contains(list, b) {
				list = append(list, b)
			}
		}
	}
	return list
}

// anyToken adds the server that can rewind to any token, where that is what was measured.
func (g *inference) anyToken() {
	groups := []fit{{kind: AnyToken}}
	before := 0
	for _, q := range g.log {
		groups = stepAll(groups, q, before, nil)
		before = q.total
	}
	g.fits = append(g.fits, groups...)
}

// batches are the pairs of logical and physical batch that are tried, the likeliest first.
func (g *inference) batches() [][2]int {
	list := [][2]int{{g.given.Batch, g.given.Ubatch}, {DefaultBatch, DefaultUbatch}}
	for _, u := range [...]int{256, 1024, 128, 2048, 64, 32} {
		list = append(list, [2]int{DefaultBatch, u})
	}
	for _, b := range [...]int{512, 1024, 256, 4096} {
		list = append(list, [2]int{b, min(b, DefaultUbatch)}, [2]int{b, b})
	}
	seen := map[[2]int]bool{}
	return slices.DeleteFunc(list, func(p [2]int) bool {
		was := seen[p]
		seen[p] = true
		return was
	})
}

// odd are physical batches that a measured position points to: a checkpoint stands one batch and the tail before the end of each prompt.
func (g *inference) odd() [][2]int {
	var list [][2]int
	before := 0
	for i, q := range g.log {
		if q.tells(before) {
			for _, p := range g.log[:i] {
				u := p.total - tailOffset - 1 - q.measured
				if pair := [2]int{DefaultBatch, u}; u >= 16 && u <= DefaultBatch && !slices.Contains(list, pair) && len(list) < 64 {
					list = append(list, pair)
				}
			}
		}
		before = q.total
	}
	return list
}

// windows tries servers with an attention window of that many tokens, 0 for a recurrent state.
func (g *inference) windows(window int, batches [][2]int, settings []box) {
	for _, b := range batches {
		base := CheckpointRule{Batch: b[0], Ubatch: b[1], Window: window}
		cells := []int{0}
		if window > 0 {
			cells = []int{roundCells(window + base.Ubatch)}
			if g.slots > 1 {
				cells = append(cells, roundCells(window*g.slots+base.Ubatch))
			}
			if given := g.given; given.Window == window && given.Cells != roundCells(given.Window+given.Ubatch) {
				cells = append(cells, given.Cells)
			}
		}
		for _, n := range cells {
			if g.cap > 0 {
				n = min(n, g.cap)
			}
			base.Cells = n
			g.try(base, settings)
		}
	}
}

// infer finds the settings that explain the log; known says that the attention window is. What people set is tried first, any other setting only where
// nothing of that explains the log.
func (g *inference) infer(known bool) {
	windows := []int{g.given.Window}
	if !known {
		windows = []int{0, 512, 1024, 4096, 128, 2048}
	}
	g.anyToken()
	any := len(g.fits)
	every := []box{{span{-1, math.MaxInt32}, span{-1, 129}}}
	for _, part := range [...]struct {
		batches  [][2]int
		settings []box
	}{{g.batches(), g.usual()}, {g.odd(), g.usual()}, {g.batches(), every}} {
		if len(g.fits) > any {
			return
		}
		g.steps, g.partial = maxSteps, false
		for _, w := range windows {
			g.windows(w, part.batches, part.settings)
		}
	}
}

// best returns the likeliest of the groups, with the likeliest of its settings.
func (g *inference) best(kind Kind) (fit, bool) {
	best, most := fit{}, math.MinInt
	for _, f := range g.fits {
		score := 0
		if !g.restarts {
			score = -4 * f.zeros
		}
		if f.kind == kind {
			score += 4
		}
		if f.kind == Points {
			var s int
			f.rule.Spacing, f.rule.Max, s = g.likeliest(f.settings)
			score += s + closeness(f.rule.Ubatch, g.given.Ubatch, DefaultUbatch) + closeness(f.rule.Batch, g.given.Batch, DefaultBatch)
		}
		if g.restarts && f.kind == AnyToken {
			score = math.MaxInt // what explains all without a setting
		}
		if score > most {
			best, most = f, score
		}
	}
	return best, most > math.MinInt
}

// likeliest returns the likeliest of alike settings, and how likely they are.
func (g *inference) likeliest(settings []box) (spacing, m, score int) {
	score = -1
	for _, b := range settings {
		s, n := b.spacings.likeliest(g.given.Spacing, DefaultSpacing), b.maxima.likeliest(g.given.Max, DefaultCheckpoints)
		if k := closeness(s, g.given.Spacing, DefaultSpacing) + closeness(n, g.given.Max, DefaultCheckpoints); k > score {
			spacing, m, score = s, n, k
		}
	}
	return spacing, m, score
}

// closeness says how likely a setting is: as given, the default, a round number, any.
func closeness(n, given, standard int) int {
	switch {
	case n == given:
		return 4
	case n == standard:
		return 3
	case n > 0 && n&(n-1) == 0:
		return 1
	}
	return 0
}
