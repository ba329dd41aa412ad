package boundary

import "slices"

// MaxMarks is the most positions that any provider lets a request mark.
const MaxMarks = 4

// keptMarks bounds the remembered positions: a provider forgets older ones by itself.
const keptMarks = 256

// Mark says which prefixes the next accepted prompt marks, in tokens from its start. It is for a geometry of the kind [Marked] whose Marks is not 0. The
// slice is not kept.
func (c *Cache) Mark(positions []int) { c.marking = slices.Clone(positions) }

// mark takes over what an accepted prompt of total tokens marks. What lies behind its common prefix with the last one is another text.
func (c *Cache) mark(common, total int) {
	if c.kind() != Marked {
		return
	}
	marks := slices.DeleteFunc(c.marked, func(p int) bool { return p > common })
	next := c.marking
	if c.p.Geometry.Marks == 0 {
		next = []int{total}
	}
	for _, p := range next {
		if p > 0 && p <= total {
			marks = append(marks, p)
		}
	}
	slices.Sort(marks)
	marks = slices.Compact(marks)
	c.marked, c.marking = marks[max(len(marks)-keptMarks, 0):], nil
}

// Marks returns the prefixes of the last prompt that were marked, ascending, also those that are too short to be cached.
func (c *Cache) Marks() []int { return slices.Clone(c.marked) }

// cachedMarks returns those that are long enough.
func (c *Cache) cachedMarks() []int {
	i, _ := slices.BinarySearch(c.marked, c.p.Geometry.Min)
	return slices.Clone(c.marked[i:])
}

// Breakpoints chooses which messages of a prompt to mark, at most marks and at most [MaxMarks], as ascending indexes. ends are the positions in tokens at
// which the messages end, points the marked prefixes that survive in the prompt, head is the number of messages in front of the history.
//
// The newest message comes first: the next prompt goes on from there. Then the newest prefix that is marked already, without which nothing would be read;
// between two compactions that is the newest message of the prompt before, so that every mark is set in two prompts in a row at least. Then the head and
// the first message of the history, which outlast every compaction.
func Breakpoints(ends, points []int, head, marks int) []int {
	marks = min(marks, MaxMarks)
	var list []int
	add := func(i int) {
		if i >= 0 && i < len(ends) && len(list) < marks && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	add(len(ends) - 1)
	for _, p := range slices.Backward(points) {
		if i, ok := slices.BinarySearch(ends, p); ok {
			add(i)
			break
		}
	}
	add(head - 1)
	add(head)
	slices.Sort(list)
	return list
}
