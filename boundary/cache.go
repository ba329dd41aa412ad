package boundary

import (
	"fmt"
	"slices"
)

// Cache models the prompt cache of one slot of a llama.cpp server. It is a plain state machine: tell it each prompt that the server
// processed, and it predicts what the next one reuses.
//
// The rules are the server's own. With full attention ([AnyToken]) the longest common prefix is reused. With [Points] the server can rewind only to
// a checkpoint, which it writes and forgets by the rules in checkpoint.go. What is not known is assumed in the direction of less reuse.
//
// For each request call [Cache.Predict], [Cache.Accept] once the server has taken the prompt, [Cache.Observe] with what it reported, and
// [Cache.Generated] or [Cache.GeneratedCount] for the reply. A server that also keeps old prompts in memory (--cache-ram) does not look
// there for a request that names its slot; for one that names none it may bring one back when a prompt shares less than half with its slot, and then
// reuses more than predicted.
//
// Make one with [NewCache] or [RestoreCache]; the zero value is not usable. It must not be used by two goroutines at once.
type Cache struct {
	p Profile
	// slotModel follows the checkpoints; only with [Points].
	slotModel
	// held are the tokens known to be in the slot. The first prompted of them are the last prompt; reply more follow whose ids are not known.
	held            []int32
	sums            sums // of held
	prompted, reply int

	last    accepted
	lessRow int
	// lessAtAppend says that the newest mismatch was at an append, where the checkpoint rule plays no part.
	lessAtAppend bool
	distrust     bool
	confirmed    []Checkpoint
	// fresh is for how many prompts a confirmed point counts, short whether appends were seen to cost the last few tokens.
	fresh int
	short bool
	// unmoved counts the requests for a KV shift in a row that were not followed; still says that none is asked for any more.
	unmoved int
	still   bool
	// reloaded says that the slot was restored and nothing was sent since.
	reloaded bool
	// marked are the prefixes of the held prompt that were marked, ascending, marking those that the next prompt marks.
	marked, marking []int
	// sealed is the state that Hold must match; its digest is "" when nothing is missing.
	sealed CacheState
	learner
}

// accepted is what [Cache.Observe] needs to process the last prompt again from where the server really started.
type accepted struct {
	valid, observed bool

	append bool
	// reloaded says that it was the first prompt after the slot was restored.
	reloaded bool
	list     []Checkpoint
	cells    *ring
	// reply is how many tokens of the slot had unknown ids before.
	reply int
	reuse Reuse
	// rule is where the server goes on by the rule, whether that is trusted or not.
	rule  rewound
	users []int
}

// Reuse is a prediction for one prompt, in tokens. The zero value predicts that nothing is reused of a slot that holds nothing.
type Reuse struct {
	// Common is the longest common prefix of the prompt with what the slot is known to hold.
	Common int
	// Reused is how much of the prompt is not processed again, moved tokens included.
	Reused int
	// Checkpoint is the rewind point that was needed, 0 for none.
	Checkpoint int
	// Shifted is how many tokens are moved by KV shift.
	Shifted int
	// Held says that the slot held anything.
	Held bool
}

// NewCache returns the model of an empty slot of a server with profile p.
func NewCache(p Profile) *Cache {
	c := &Cache{p: p, fresh: confirmedFor}
	if p.Rule != nil {
		c.rule = *p.Rule
	}
	c.rule = c.rule.WithDefaults()
	if p.Window > 0 {
		c.rule.Cells = min(c.rule.Cells, roundCells(p.Window))
	}
	c.given, c.givenKind = c.rule, p.Geometry.Kind
	c.empty()
	if l := p.Learned; l != nil && c.answers(*l) {
		c.believe(l)
	}
	return c
}

// answers reports whether l was learned of a server with the profile.
func (c *Cache) answers(l Learned) bool { return l.GivenKind == c.givenKind && l.Given == c.given }

// Reset empties the slot: the server restarted, or the slot was erased or taken. What was learned about the server stays.
func (c *Cache) Reset() {
	c.held, c.prompted, c.reply, c.sums = nil, 0, 0, nil
	c.empty()
	c.forget(false)
	c.confirmed, c.last, c.sealed, c.reloaded = nil, accepted{}, CacheState{}, false
	c.marked, c.marking = nil, nil
}

// Predict says what the server reuses of prompt, without changing the cache. nCacheReuse is the request's n_cache_reuse in tokens, 0 for none.
func (c *Cache) Predict(prompt []int32, nCacheReuse int) Reuse {
	r, _ := c.predict(prompt, nCacheReuse)
	return r
}

// isAppend reports whether a prompt of total tokens with that common prefix goes on from all that the slot is known to hold.
func (c *Cache) isAppend(common, total int) bool {
	return common > 0 && common == len(c.held) && (c.reply == 0 || total > common)
}

// predict also returns where the server goes on by the rule, whether that is trusted or not.
func (c *Cache) predict(prompt []int32, nCacheReuse int) (r Reuse, at rewound) {
	if c.sealed.Digest != "" {
		return Reuse{Held: true}, rewound{}
	}
	r = Reuse{Common: common(c.held, prompt), Held: len(c.held) > 0}
	if r.Common == 0 {
		return r, rewound{}
	}
	grows := c.isAppend(r.Common, len(prompt))
	at = rewound{next: r.Common, past: r.Common}
	switch c.kind() {
	case AnyToken, Unknown:
		if grows && len(prompt) > r.Common {
			// The reply is likely to be in the prompt as it was generated.
			at.past = min(r.Common+c.reply, len(prompt)-1)
		}
		if c.p.Geometry.Shift && nCacheReuse > 0 && !c.distrust && !c.still {
			r.Shifted = shifted(c.held, prompt, r.Common, nCacheReuse)
			at.past = r.Common + r.Shifted
		}
		r.Reused = r.Common + r.Shifted
	case Points:
		next := r.Common
		if grows && !c.replyMatters() {
			next = min(r.Common+c.reply, len(prompt))
		}
		at = c.rewind(len(c.held)+c.reply, next, next < len(prompt))
		r.Reused, r.Checkpoint = min(at.past, r.Common), at.point
	case Marked:
		r.Reused = Geometry{Kind: Marked, Points: c.cachedMarks()}.Rewind(r.Common)
		at.past, r.Checkpoint = r.Reused, r.Reused
	case Blocks:
		r.Reused = c.p.Geometry.Rewind(r.Common)
		at.past, r.Checkpoint = r.Reused, r.Reused
	}
	at.past = min(at.past, len(prompt)-1)
	if c.short && grows {
		r.Reused = min(r.Reused, max(r.Common-tailOffset-1, 0))
	}
	if c.distrust && !grows {
		r.Reused = c.newestConfirmed(r.Common)
		r.Checkpoint, r.Shifted = r.Reused, 0
	}
	r.Reused = min(r.Reused, len(prompt)-1)
	return r, at
}

// kind is the geometry's kind as it is used now.
func (c *Cache) kind() Kind { return c.p.Geometry.Kind }

// shifted returns how many tokens of prompt behind its first skip are found in held, in order, in runs of at least n, as the server looks for them.
func shifted(held, prompt []int32, skip, n int) int {
	total := 0
	for h, p := skip, skip; h < len(held) && p < len(prompt); {
		run := common(held[h:], prompt[p:])
		if run >= n {
			total += run
			h += run
			p += run
		} else {
			h++
		}
	}
	return total
}

// Accept records that the server processed prompt. users are the ascending token positions at which user messages start in it ([UserStarts]);
// nCacheReuse is the request's n_cache_reuse. The slices are not kept.
func (c *Cache) Accept(prompt []int32, users []int, nCacheReuse int) {
	if len(prompt) == 0 {
		return
	}
	r, at := c.predict(prompt, nCacheReuse)
	c.last = accepted{
		valid: true, append: c.isAppend(r.Common, len(prompt)), list: slices.Clone(c.list),
		cells: c.cells.clone(), reply: c.reply, reuse: r, rule: at, users: slices.Clone(users), reloaded: c.reloaded,
	}
	c.keep(r, len(prompt), len(c.held)-c.prompted, c.reply, users)
	c.reloaded = false
	c.mark(r.Common, len(prompt))
	c.sealed = CacheState{}
	c.task++
	c.sums.keep(r.Common)
	c.held = append(c.held[:r.Common], prompt[r.Common:]...)
	c.prompted, c.reply = len(prompt), 0
	if c.distrust && !c.last.append {
		at = c.rewoundTo(r.Reused)
	}
	c.goOn(at)
}

// goOn processes the held prompt from where the server goes on.
func (c *Cache) goOn(at rewound) {
	if c.kind() == Points {
		c.process(at, len(c.held), c.last.users)
	}
}

// empty takes away what a slot with checkpoints keeps.
func (c *Cache) empty() {
	c.list, c.cells = nil, nil
	if c.kind() == Points {
		c.clear()
	}
}

// Generated records reply tokens that the server evaluated and so appended to the slot: all but the last one, which is sampled and not evaluated.
// An engine that does not know them calls [Cache.GeneratedCount].
func (c *Cache) Generated(tokens []int32) {
	if c.reply > 0 {
		// Behind unknown tokens nothing can be compared.
		c.GeneratedCount(len(tokens))
		return
	}
	at := len(c.held)
	c.held = append(c.held, tokens...)
	c.generate(at, len(tokens))
}

// GeneratedCount records that the server appended n reply tokens whose ids are not known.
func (c *Cache) GeneratedCount(n int) {
	n = max(n, 0)
	c.generate(len(c.held)+c.reply, n)
	c.reply += n
}

// Geometry returns the geometry with the rewind points that survive now: [Resolve] over it says what [Cache.Predict] says of a shortened prompt.
func (c *Cache) Geometry() Geometry {
	g := c.p.Geometry
	g.Points = nil
	if c.still {
		g.Shift, g.MinChunk = false, 0
	}
	if c.distrust {
		g = Geometry{Kind: Points}
		for _, p := range c.confirmed {
			g.Points = append(g.Points, p.Tokens)
		}
		if n := len(c.held); n > 0 {
			g.Points = append(g.Points, n)
		}
	} else if g.Kind == Points {
		g.Points, g.Tail = c.points(len(c.held), c.reply)
	} else if g.Kind == Marked {
		g.Points = c.cachedMarks()
	}
	slices.Sort(g.Points)
	g.Points = slices.Compact(g.Points)
	return g
}

// CacheState is the small, storable state of a [Cache]. The tokens are not part of it. The zero value is an empty slot.
type CacheState struct {
	// Held is the number of tokens of the last prompt, Digest their digest.
	Held   int    `json:"held"`
	Digest string `json:"digest,omitempty"`
	// Reply is how many tokens the slot holds behind them.
	Reply int `json:"reply,omitempty"`
	// Cells says what the windowed part of the cache holds, Head where it goes on.
	Cells []CellRun `json:"cells,omitempty"`
	Head  int       `json:"head,omitempty"`
	// Task counts the prompts of the slot.
	Task int `json:"task,omitempty"`
	// Checkpoints are in the order in which they were made.
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	// Less counts the mismatches in a row; the other fields hold what was learned from them.
	Less      int          `json:"less,omitempty"`
	Distrust  bool         `json:"distrust,omitempty"`
	Short     bool         `json:"short,omitempty"`
	Stale     int          `json:"stale,omitempty"`
	Unmoved   int          `json:"unmoved,omitempty"`
	Still     bool         `json:"still,omitempty"`
	AtAppend  bool         `json:"at_append,omitempty"`
	Confirmed []Checkpoint `json:"confirmed,omitempty"`
	// Marked are the marked prefixes, in tokens.
	Marked []int `json:"marked,omitempty"`
	// Learned is what was learned of the server; Log are the requests since the slot was empty, packed, and Blind says that they are not known.
	Learned *Learned `json:"learned,omitempty"`
	Log     []byte   `json:"log,omitempty"`
	Blind   bool     `json:"blind,omitempty"`
	// Last is what the last prompt was predicted from, until it was observed: a cache restored from the state can be corrected all the same.
	Last *LastPrompt `json:"last,omitempty"`
}

// LastPrompt is what [Cache.Observe] needs to know of the last prompt. It is only stored and read back.
type LastPrompt struct {
	// Append says that it went on from all that was held, Reply how many tokens of that were unknown.
	Append bool `json:"append,omitempty"`
	Reply  int  `json:"reply,omitempty"`
	// Reuse is the prediction. Next, Past, Point and Restored are the place that the rule says the server went on from.
	Reuse    Reuse       `json:"reuse"`
	Next     int         `json:"next,omitempty"`
	Past     int         `json:"past,omitempty"`
	Point    int         `json:"point,omitempty"`
	Restored *Checkpoint `json:"restored,omitempty"`
	// Users are the starts of its user messages; Checkpoints, Cells and Head what was held before it. Only with [Points].
	Users       []int        `json:"users,omitempty"`
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	Cells       []CellRun    `json:"cells,omitempty"`
	Head        int          `json:"head,omitempty"`
}

// state returns the storable form.
func (a *accepted) state(kind Kind) *LastPrompt {
	if !a.valid {
		return nil
	}
	s := &LastPrompt{Append: a.append, Reply: a.reply, Reuse: a.reuse, Next: a.rule.next, Past: a.rule.past, Point: a.rule.point}
	if kind != Points {
		return s
	}
	if a.rule.point > 0 {
		p := a.rule.restored
		s.Restored = &p
	}
	s.Users, s.Checkpoints, s.Cells = slices.Clone(a.users), slices.Clone(a.list), a.cells.runs(0)
	if a.cells != nil {
		s.Head = a.cells.head
	}
	return s
}

// restoreLast takes the stored form back.
func (c *Cache) restoreLast(s *LastPrompt) {
	if s == nil {
		return
	}
	c.last = accepted{valid: true, append: s.Append, reply: s.Reply, reuse: s.Reuse, rule: rewound{next: s.Next, past: s.Past, point: s.Point},
		users: slices.Clone(s.Users), list: slices.Clone(s.Checkpoints)}
	if s.Restored != nil {
		c.last.rule.restored = *s.Restored
	}
	if c.cells != nil {
		c.last.cells = newRing(c.cells.window, c.cells.size)
		c.last.cells.fill(s.Cells, s.Head)
	}
}

// Unobserved reports whether the last prompt's measurement has not been entered.
func (c *Cache) Unobserved() bool { return c.last.valid && !c.last.observed }

// Prompt returns the tokens of the last prompt, as far as they are known.
func (c *Cache) Prompt() []int32 { return slices.Clone(c.held[:c.prompted]) }

// State returns the storable state.
func (c *Cache) State() CacheState {
	if c.sealed.Digest != "" {
		return c.sealed
	}
	s := CacheState{
		Held: c.prompted, Reply: len(c.held) - c.prompted + c.reply, Cells: c.cells.runs(0), Task: c.task, Checkpoints: slices.Clone(c.list),
		Less: c.lessRow, Distrust: c.distrust, Short: c.short, Stale: confirmedFor - c.fresh, Confirmed: slices.Clone(c.confirmed),
		Unmoved: c.unmoved, Still: c.still, AtAppend: c.lessAtAppend, Marked: slices.Clone(c.marked),
	}
	s.Learned, s.Log, s.Blind = c.Learned(), c.packLog(), c.blind
	if !c.last.observed {
		s.Last = c.last.state(c.kind())
	}
	if c.cells != nil {
		s.Head = c.cells.head
	}
	if s.Held > 0 {
		s.Digest = c.sums.of(c.held[:c.prompted])
	}
	return s
}

// RestoreCache returns the cache that s describes. Until [Cache.Hold] gives it the tokens again it predicts that nothing is reused.
func RestoreCache(p Profile, s CacheState) *Cache {
	c := NewCache(p)
	if l := s.Learned; l != nil && c.answers(*l) {
		c.believe(l)
	}
	c.blind = s.Blind
	c.unpackLog(s.Log)
	c.reply, c.task, c.list = s.Reply, s.Task, slices.Clone(s.Checkpoints)
	if c.cells != nil {
		c.cells.fill(s.Cells, s.Head)
	}
	c.lessRow, c.distrust, c.confirmed = s.Less, s.Distrust, slices.Clone(s.Confirmed)
	c.short, c.fresh = s.Short, max(confirmedFor-s.Stale, 0)
	c.unmoved, c.still, c.lessAtAppend = s.Unmoved, s.Still, s.AtAppend
	c.restoreLast(s.Last)
	c.marked = slices.Clone(s.Marked)
	if s.Digest != "" {
		c.sealed = s
	}
	return c
}

// Hold gives a restored cache the tokens of the last prompt again. It is an error if they are not those that the state was taken with; the cache
// is then unchanged. A cache that misses no tokens refuses them likewise unless they are its own.
func (c *Cache) Hold(tokens []int32) error {
	want, n := c.sealed.Digest, c.sealed.Held
	if want == "" {
		if c.prompted == len(tokens) && equal(c.held[:c.prompted], tokens) {
			return nil
		}
		return fmt.Errorf("boundary: the cache holds other tokens than the %d given", len(tokens))
	}
	if got := tokensDigest(tokens); len(tokens) != n || got != want {
		return fmt.Errorf("boundary: %d tokens with digest %.8s are not the %d with digest %.8s that the cache held", len(tokens), got, n, want)
	}
	c.sealed = CacheState{}
	c.held, c.prompted, c.sums = slices.Clone(tokens), len(tokens), nil
	return nil
}
