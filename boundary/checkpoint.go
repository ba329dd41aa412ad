package boundary

import "slices"

// Checkpoint is a state of the windowed or recurrent part of a slot that the server can restore.
type Checkpoint struct {
	// Tokens is how many tokens had been processed; Min is the oldest position that the state holds.
	Tokens int `json:"tokens"`
	Min    int `json:"min"`
	// Task is the number of the prompt during which it was made.
	Task int `json:"task"`
	// Cells are the positions that it restores, in the order in which they lay in the cache; none where the state is not made of positions.
	Cells []CellRun `json:"cells,omitempty"`
}

// The server's rules, as far as they decide what is reused. They were read off the server's own trace and are compared with a real one by the
// live tests.
const (
	// tailOffset is how many tokens before the end of a prompt the last checkpoint is made.
	tailOffset = 4
	// windowSlack is how many tokens of the attention window the server does not insist on when it looks whether it can go on without a
	// checkpoint.
	windowSlack = 2
)

// slotModel is what a server with checkpoints keeps of one slot, in positions alone: the rules below need no token.
type slotModel struct {
	rule CheckpointRule
	// list are the checkpoints in the order in which they were made; cells is the windowed part, nil where there is none.
	list  []Checkpoint
	cells *ring
	// task counts prompts: a checkpoint of an earlier prompt may be thinned out.
	task int
	// alike are the spacings and maxima with which all since it was set would have gone the same way.
	alike box
}

// rewound says where the server goes on: next is the position that it looked for, past how many tokens it keeps, point the reusable tokens of the
// checkpoint that it restores, 0 if it needs none.
type rewound struct {
	next, past, point int
	restored          Checkpoint
}

// reusable returns how many tokens the server keeps when it restores p.
func (p Checkpoint) reusable() int { return min(max(p.Min+1, p.Tokens-1), p.Tokens) }

// rewind finds the place to go on from when next tokens of the new prompt are in the slot, which holds n. more says that the prompt has tokens behind
// them.
func (m *slotModel) rewind(n, next int, more bool) rewound {
	floor := next - m.visible()
	if !more {
		floor--
	}
	floor = max(floor, 0)
	if m.oldest(n) < floor {
		return rewound{next: next, past: next}
	}
	// A short prompt that is still wholly held ends here too (its oldest position and floor are both 0): the server restores a checkpoint all the same.
	for _, p := range slices.Backward(m.list) {
		if p.Tokens-1 > next || (p.Min >= floor && p.Min != 0) {
			continue
		}
		at := min(next, max(p.Min+1, p.Tokens-1))
		past := min(at, p.Tokens)
		return rewound{next: at, past: past, point: past, restored: p}
	}
	return rewound{}
}

// process does to the checkpoints what the server does while it processes a prompt of total tokens from at.past on. users are the starts of its user
// messages.
func (m *slotModel) process(at rewound, total int, users []int) {
	if m.cells != nil {
		if at.point > 0 {
			m.cells.restore(at.restored.Cells)
		}
		m.cells.remove(at.past, 1<<31-1)
	}
	m.list = slices.DeleteFunc(m.list, func(p Checkpoint) bool { return p.Tokens-1 > at.next })
	lastUser := -1
	if len(users) > 0 {
		lastUser = users[len(users)-1]
	}
	isUser := func(pos int) bool {
		_, ok := slices.BinarySearch(users, pos)
		return ok
	}
	for pos := at.past; pos < total; {
		start := pos
		end := m.chunk(start, total, users, lastUser)
		pos = end
		nearEnd := total < end+m.rule.Ubatch
		ordinary := end < total && !nearEnd && !isUser(start)
		if start > 0 && !ordinary && (start == lastUser || nearEnd || m.far(start)) {
			m.checkpoint(start)
		}
		if m.cells != nil {
			m.cells.put(start, end-start, m.rule.Ubatch)
		}
	}
}

// chunk returns where the batch that starts at start ends.
func (m *slotModel) chunk(start, total int, users []int, lastUser int) int {
	batch := m.rule.Batch
	end := min(start+batch, total)
	for _, offset := range []int{tailOffset + m.rule.Ubatch, tailOffset} {
		if at := total - min(batch, offset); at > start && at < end {
			end = at
		}
	}
	i, _ := slices.BinarySearch(users, start+1)
	for ; i < len(users) && users[i] < end; i++ {
		if u := users[i]; u == lastUser || m.far(u) {
			return u
		}
	}
	return end
}

// far reports whether a checkpoint at pos is farther than the spacing behind the newest one.
func (m *slotModel) far(pos int) bool {
	return len(m.list) == 0 || m.apart(pos, m.list[len(m.list)-1].Tokens)
}

// apart reports whether two positions are farther from each other than the spacing.
func (m *slotModel) apart(pos, last int) bool {
	far := pos > last+m.rule.Spacing
	if far {
		m.alike.spacings.Hi = min(m.alike.spacings.Hi, pos-last)
	} else {
		m.alike.spacings.Lo = max(m.alike.spacings.Lo, pos-last)
	}
	return far
}

// full reports whether n checkpoints are as many as there may be.
func (m *slotModel) full(n int) bool {
	full := n >= m.rule.Max
	if full {
		m.alike.maxima.Hi = min(m.alike.maxima.Hi, n+1)
	} else {
		m.alike.maxima.Lo = max(m.alike.maxima.Lo, n+1)
	}
	return full
}

// checkpoint adds one for the first n tokens, making room as the server does.
func (m *slotModel) checkpoint(n int) {
	if m.full(0) {
		return
	}
	last := -1
	for i := 0; i < len(m.list) && m.full(len(m.list)+1); {
		p := m.list[i]
		if p.Task != m.task && last >= 0 && !m.apart(p.Tokens, last) {
			m.list = slices.Delete(m.list, i, i+1)
			continue
		}
		last = p.Tokens
		i++
	}
	for len(m.list) > 0 && m.full(len(m.list)) {
		m.list = slices.Delete(m.list, 0, 1)
	}
	m.list = slices.DeleteFunc(m.list, func(p Checkpoint) bool { return p.Tokens == n })
	// Only what a later token can see is in a checkpoint; the server still notes the oldest position held, visible or not.
	m.list = append(m.list, Checkpoint{Tokens: n, Min: m.oldest(n), Task: m.task, Cells: m.cells.runs(n - m.rule.Window)})
}

// oldest returns the oldest position that the server could go on from when n tokens are in the slot: a recurrent state has only the last.
func (m *slotModel) oldest(n int) int {
	if m.cells == nil {
		return n - 1
	}
	oldest, _ := m.cells.span()
	return oldest
}

// visible returns how many tokens before a position must be held to go on from it.
func (m *slotModel) visible() int { return max(m.rule.Window-windowSlack, 0) }

// clear empties the slot.
func (m *slotModel) clear() {
	m.list, m.cells = nil, nil
	if m.rule.Window > 0 {
		m.cells = newRing(m.rule.Window, max(m.rule.Cells, 1))
	}
}

// generate adds n reply tokens from position pos on, one by one as they are sampled.
func (m *slotModel) generate(pos, n int) {
	if m.cells != nil {
		m.cells.put(pos, n, 1)
	}
}

// clone returns an independent copy.
func (m *slotModel) clone() slotModel {
	c := *m
	c.list, c.cells = slices.Clone(m.list), m.cells.clone()
	return c
}

// points returns the positions to which a prompt can be cut, and from where on every position is one, where the slot holds n tokens of a prompt and reply
// more behind them.
func (m *slotModel) points(n, reply int) (points []int, tail int) {
	// The server takes the checkpoint that was made last, not the one that reaches farthest: an earlier one is of use only where it lies before
	// all that were made after it.
	least := n + 1
	for _, p := range slices.Backward(m.list) {
		at := p.reusable()
		if at <= 0 || at >= least {
			continue
		}
		least = at
		if p.Min == 0 || p.Min < at-m.visible() {
			points = append(points, at)
		}
	}
	if n == 0 {
		return points, 0
	}
	oldest := m.oldest(n + reply)
	if t := oldest + m.visible() + 1; m.rule.Window > 0 && t <= n {
		tail = t
	}
	if oldest < max(n+reply-m.visible(), 0) {
		points = append(points, n)
	}
	return points, tail
}
