package boundary

import (
	"encoding/binary"
	"slices"
)

// learner is what a [Cache] keeps to learn the settings of its server.
type learner struct {
	// given is the rule of the profile, givenKind its shape; learned is what replaced them.
	given     CheckpointRule
	givenKind Kind
	learned   *Learned
	// log are the requests since the slot was empty. blind says that they are not known from there on.
	log   []request
	blind bool
	// users are the starts of the last one's user messages; packed are all but the last in short.
	users  []int
	packed []byte
	// fits are the settings that explain the first fitted requests of the log, none before they were looked for; partial says that there may be others.
	fits    []fit
	fitted  int
	partial bool
	told    int // requests that tell when they were looked for
}

// keep enters an accepted prompt of total tokens into the log. r is its prediction; known and reply tokens lay behind the last prompt.
func (c *Cache) keep(r Reuse, total, known, reply int, users []int) {
	switch {
	case c.kind() == Blocks || c.kind() == Marked:
		return
	case !r.Held:
		c.forget(false)
	case c.sealed.Digest != "" || c.last.reloaded || len(c.log) >= maxLog || c.kind() != Points && len(c.log) >= maxAnyLog:
		c.forget(true)
	}
	if c.blind {
		return
	}
	kept := 0
	for kept < len(c.users) && kept < len(users) && users[kept] == c.users[kept] {
		kept++
	}
	if n := len(c.log); n > 0 {
		c.packed = c.log[n-1].pack(c.packed)
	}
	c.log = append(c.log, request{total: total, common: r.Common, known: known, reply: reply, kept: kept, users: slices.Clone(users[kept:]), measured: -1,
		moved: r.Shifted > 0})
	c.users = append(c.users[:kept], users[kept:]...)
}

// forget lets go of the log. blind says that the requests to come are not all since the slot was empty.
func (c *Cache) forget(blind bool) {
	c.log, c.users, c.packed, c.fits, c.blind = nil, nil, nil, nil, blind
}

// begin makes the log begin with its n-th request, which found the slot empty.
func (c *Cache) begin(n int) {
	var users []int
	for _, q := range c.log[:n+1] {
		users = q.starts(users)
	}
	first := request{total: c.log[n].total, users: users, measured: 0}
	c.log, c.packed, c.fits = append([]request{first}, c.log[n+1:]...), nil, nil
	for _, q := range c.log[:len(c.log)-1] {
		c.packed = q.pack(c.packed)
	}
}

// note enters what was measured of the last prompt into the log.
func (c *Cache) note(measured int) {
	if len(c.log) == 0 {
		return
	}
	q := &c.log[len(c.log)-1]
	q.measured = measured
	before := 0
	if n := len(c.log) - 2; n >= 0 {
		before = c.log[n].total
	}
	switch {
	case q.appends(before) && measured == 0:
		// Nothing is left of what was there, whatever the settings are: the server was restarted, or the slot taken.
		c.begin(len(c.log) - 1)
		if c.distrust && !c.lessAtAppend {
			c.distrust, c.lessRow, c.confirmed, c.fresh = false, 0, nil, confirmedFor
		}
	case q.common == 0 && measured > 0:
		c.forget(true) // the slot held what nobody told us of
	case c.kind() != Points && c.tells() >= settled:
		c.forget(true) // every break went as it does where any token is a rewind point
	}
}

// settled is after how many breaks a server is known to rewind to any token.
const settled = 4

// tells counts the requests in the log that tell settings from others.
func (c *Cache) tells() int {
	n, _ := c.evidence()
	return n
}

// evidence also counts those at which nothing was reused of a prompt that had been sent before: a restart, or no rewind point that was left.
func (c *Cache) evidence() (tells, zeros int) {
	before := 0
	for _, q := range c.log {
		switch {
		case q.tells(before):
			tells++
		case q.breaks(before) && q.measured == 0:
			zeros++
		}
		before = q.total
	}
	return tells, zeros
}

// windowKnown reports whether the profile says what the checkpoints hold.
func (c *Cache) windowKnown() bool { return c.givenKind == Points }

// infer finds the settings that explain the log, and keeps them for the requests to come.
func (c *Cache) infer() {
	if len(c.fits) > 0 {
		before := 0
		var users []int
		for i, q := range c.log {
			if users = q.starts(users); i >= c.fitted {
				c.fits = stepAll(c.fits, q, before, users)
			}
			before = q.total
		}
		c.fitted = len(c.log)
	}
	if len(c.fits) > 0 && (!c.partial || c.told == c.tells()) {
		return
	}
	g := inference{log: c.log, given: c.rule, slots: c.p.Slots}
	if !c.windowKnown() {
		g.given = CheckpointRule{}.WithDefaults()
	}
	if c.p.Window > 0 {
		g.cap = roundCells(c.p.Window)
	}
	g.infer(c.windowKnown())
	c.fits, c.fitted, c.told = g.fits, len(c.log), c.tells()
	c.partial = g.partial || c.learned != nil && !c.learned.usual()
}

// relearn looks for settings that explain all that was measured, the last prompt included, and goes on with the likeliest. It reports whether there
// were any.
func (c *Cache) relearn() bool {
	if len(c.log) == 0 {
		return false
	}
	least := 1
	if !c.windowKnown() {
		least = 2 // another client's prompt may have left anything, once
	}
	if tells, zeros := c.evidence(); tells < least && (zeros < 2 || !c.windowKnown()) {
		return false
	}
	c.infer()
	if len(c.fits) == 0 {
		// A restart with other settings looks like a break at which nothing was left.
		for i := len(c.log) - 1; i > 0; i-- {
			if c.log[i].measured == 0 {
				c.begin(i)
				if c.tells() >= least {
					c.infer()
				}
				break
			}
		}
	}
	g := inference{fits: c.fits, given: c.rule, restarts: !c.windowKnown()}
	f, ok := g.best(c.kind())
	if !ok && c.partial {
		return false
	}
	if !ok {
		c.forget(true)
		if c.learned != nil && c.learned.Breaks < least+1 {
			c.believe(nil) // one odd measurement has misled
		}
		return false
	}
	if f.kind == c.kind() && (f.kind != Points || f.rule == c.rule) || f.kind == AnyToken && c.kind() == Unknown {
		return false // nothing speaks for others
	}
	l := Learned{Kind: f.kind, GivenKind: c.givenKind, Given: c.given, Breaks: f.breaks}
	if f.kind == Points {
		l.Rule = f.rule
	}
	c.believe(&l)
	if f.kind == Points {
		m := f.slotModel.clone()
		c.list, c.cells, c.task = m.list, m.cells, m.task
		c.generate(c.prompted, len(c.held)-c.prompted+c.reply)
	}
	c.distrust, c.lessRow, c.confirmed, c.fresh = false, 0, nil, confirmedFor
	if len(c.fits) > fewFits {
		c.fits = nil
	}
	return true
}

// fewFits is how many groups of settings are kept in memory for the next break; more are looked for again.
const fewFits = 128

// believe makes l the shape of the cache; nil is that of the profile. The slot is as good as empty then.
func (c *Cache) believe(l *Learned) {
	c.learned = l
	c.p.Geometry.Kind, c.rule = c.givenKind, c.given
	if l != nil {
		c.p.Geometry.Kind = l.Kind
		if l.Kind == Points {
			c.rule = l.Rule
			c.p.Geometry.Shift, c.p.Geometry.MinChunk = false, 0
		}
	}
	c.empty()
}

// Learned returns what measurements showed against the profile; nil where nothing did.
func (c *Cache) Learned() *Learned {
	if c.learned == nil {
		return nil
	}
	l := *c.learned
	return &l
}

// Range says between which counts the reuse of prompt lies under all settings that explain what was measured so far, and whether the settings are known
// well enough for a single count. That is so under any geometry but [Points], and where a long log was let go of. It takes some milliseconds.
func (c *Cache) Range(prompt []int32) (low, high int, sure bool) {
	n := c.Predict(prompt, 0).Reused
	if c.kind() != Points || c.distrust || c.blind || c.sealed.Digest != "" {
		return n, n, true
	}
	if c.tells() == 0 {
		return n, n, c.learned != nil && c.learned.Breaks > 0
	}
	c.infer()
	q := request{total: len(prompt), common: common(c.held, prompt), known: len(c.held) - c.prompted, reply: c.reply, measured: -1}
	low, high = n, n
	for _, f := range c.fits {
		n := min(q.common, q.total-1)
		if f.kind == Points {
			m := f.slotModel.clone()
			m.generate(c.prompted, q.known+q.reply)
			at, _, _ := m.explain(q, c.prompted)
			n = min(n, at.past)
		}
		low, high = min(low, n), max(high, n)
	}
	return low, high, low == high && !c.partial && len(c.fits) > 0
}

// pack appends a request in short: whole numbers, each of its first seven bits first. Users are counted from the one before.
func (q request) pack(b []byte) []byte {
	moved := 0
	if q.moved {
		moved = 1
	}
	for _, n := range [...]int{q.total, q.common, q.known, q.reply, q.measured + 1, moved, q.kept, len(q.users)} {
		b = binary.AppendUvarint(b, uint64(max(n, 0)))
	}
	at := 0
	for _, u := range q.users {
		b = binary.AppendUvarint(b, uint64(max(u-at, 0)))
		at = u
	}
	return b
}

// packLog returns the log in short.
func (c *Cache) packLog() []byte {
	if len(c.log) == 0 {
		return nil
	}
	return c.log[len(c.log)-1].pack(slices.Clone(c.packed))
}

// unpackLog reads it; what is none is no log.
func (c *Cache) unpackLog(b []byte) {
	bad := false
	number := func() int {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > 1<<31 {
			bad = true
			return 0
		}
		b = b[k:]
		return int(n)
	}
	for len(b) > 0 {
		q := request{total: number(), common: number(), known: number(), reply: number()}
		q.measured = number() - 1
		q.moved = number() == 1
		q.kept = number()
		n := number()
		if bad || q.kept > len(c.users) || n > len(b) {
			c.forget(true)
			return
		}
		at := 0
		for range n {
			at += number()
			q.users = append(q.users, at)
		}
		if bad {
			c.forget(true)
			return
		}
		if n := len(c.log); n > 0 {
			c.packed = c.log[n-1].pack(c.packed)
		}
		c.users = q.starts(c.users)
		c.log = append(c.log, q)
	}
}
