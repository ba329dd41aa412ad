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
	// logicalBatch is the most tokens that the server processes between two looks at its checkpoints (-b).
	logicalBatch = 2048
	// windowSlack is how many tokens of the attention window the server does not insist on when it looks whether it can go on without a
	// checkpoint.
	windowSlack = 2
)

// rewound says where the server goes on: next is the position that it looked for, past how many tokens it keeps, point the reusable tokens of the
// checkpoint that it restores, 0 if it needs none.
type rewound struct {
	next, past, point int
	restored          Checkpoint
}

// rewind finds the place to go on from when next tokens of the new prompt are in the slot. more says that the prompt has tokens behind them.
func (c *Cache) rewind(next int, more bool) rewound {
	floor := next - c.visible()
	if !more {
		floor--
	}
	floor = max(floor, 0)
	if c.oldest(len(c.held)+c.reply) < floor {
		return rewound{next: next, past: next}
	}
	// A short prompt that is still wholly held ends here too (its oldest position and floor are both 0): the server restores a checkpoint all the same.
	for _, p := range slices.Backward(c.list) {
		if p.Tokens-1 > next || (p.Min >= floor && p.Min != 0) {
			continue
		}
		at := min(next, max(p.Min+1, p.Tokens-1))
		past := min(at, p.Tokens)
		return rewound{next: at, past: past, point: past, restored: p}
	}
	return rewound{}
}

// process does to the checkpoints what the server does while it processes the held prompt from at.past on.
func (c *Cache) process(at rewound) {
	if c.kind() != Points {
		return
	}
	if c.cells != nil {
		if at.point > 0 {
			c.cells.restore(at.restored.Cells)
		}
		c.cells.remove(at.past, 1<<31-1)
	}
	c.list = slices.DeleteFunc(c.list, func(p Checkpoint) bool { return p.Tokens-1 > at.next })
	users := c.last.users
	lastUser := -1
	if len(users) > 0 {
		lastUser = users[len(users)-1]
	}
	isUser := func(pos int) bool {
		_, ok := slices.BinarySearch(users, pos)
		return ok
	}
	total := len(c.held)
	for pos := at.past; pos < total; {
		start := pos
		end := c.chunk(start, total, users, lastUser)
		pos = end
		nearEnd := total < end+c.rule.Ubatch
		ordinary := end < total && !nearEnd && !isUser(start)
		far := len(c.list) == 0 || start == lastUser || nearEnd || start > c.list[len(c.list)-1].Tokens+c.rule.Spacing
		if start > 0 && !ordinary && far {
			c.checkpoint(start)
		}
		if c.cells != nil {
			c.cells.put(start, end-start, c.rule.Ubatch)
		}
	}
}

// chunk returns where the batch that starts at start ends.
func (c *Cache) chunk(start, total int, users []int, lastUser int) int {
	end := min(start+logicalBatch, total)
	for _, offset := range []int{tailOffset + c.rule.Ubatch, tailOffset} {
		if at := total - min(logicalBatch, offset); at > start && at < end {
			end = at
		}
	}
	i, _ := slices.BinarySearch(users, start+1)
	for ; i < len(users) && users[i] < end; i++ {
		u := users[i]
		if u == lastUser || len(c.list) == 0 || u > c.list[len(c.list)-1].Tokens+c.rule.Spacing {
			return u
		}
	}
	return end
}

// checkpoint adds one for the first n tokens, making room as the server does.
func (c *Cache) checkpoint(n int) {
	if c.rule.Max < 1 {
		return
	}
	last := -1
	for i := 0; i < len(c.list) && len(c.list)+1 >= c.rule.Max; {
		p := c.list[i]
		if p.Task != c.task && last >= 0 && p.Tokens <= last+c.rule.Spacing {
			c.list = slices.Delete(c.list, i, i+1)
			continue
		}
		last = p.Tokens
		i++
	}
	for len(c.list) >= c.rule.Max {
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.list = slices.DeleteFunc(c.list, func(p Checkpoint) bool { return p.Tokens == n })
	// Only what a later token can see is in a checkpoint; the server still notes the oldest position held, visible or not.
	c.list = append(c.list, Checkpoint{Tokens: n, Min: c.oldest(n), Task: c.task, Cells: c.cells.runs(n - c.rule.Window)})
}

// oldest returns the oldest position that the server could go on from when n tokens are in the slot: a recurrent state has only the last.
func (c *Cache) oldest(n int) int {
	if c.cells == nil {
		return n - 1
	}
	oldest, _ := c.cells.span()
	return oldest
}

// visible returns how many tokens before a position must be held to go on from it.
func (c *Cache) visible() int { return max(c.rule.Window-windowSlack, 0) }

// clearCells empties the windowed part.
func (c *Cache) clearCells() {
	c.cells = nil
	if c.kind() == Points && c.rule.Window > 0 {
		c.cells = newRing(c.rule.Window, max(c.rule.Cells, 1))
	}
}

// generate adds n reply tokens from position pos on, one by one as they are sampled.
func (c *Cache) generate(pos, n int) {
	if c.cells != nil {
		c.cells.put(pos, n, 1)
	}
}

// points returns the positions to which a prompt can be cut, and from where on every position is one.
func (c *Cache) points() (points []int, tail int) {
	// The server takes the checkpoint that was made last, not the one that reaches farthest: an earlier one is of use only where it lies before
	// all that were made after it.
	n := len(c.held)
	least := n + 1
	for _, p := range slices.Backward(c.list) {
		at := min(max(p.Min+1, p.Tokens-1), p.Tokens)
		if at <= 0 || at >= least {
			continue
		}
		least = at
		if p.Min == 0 || p.Min < at-c.visible() {
			points = append(points, at)
		}
	}
	if n == 0 {
		return points, 0
	}
	oldest := c.oldest(n + c.reply)
	if t := oldest + c.visible() + 1; c.rule.Window > 0 && t <= n {
		tail = t
	}
	if oldest < max(n+c.reply-c.visible(), 0) {
		points = append(points, n)
	}
	return points, tail
}
