package prompt

import (
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// estimate is layout for a template that changes what messages say so that no mark is found again: one that writes it as hexadecimal digits, say. Each message has as much
// of the text as the template writes around one of the skeleton, and by the length of what it says a part of the rest. tools is where the tool list stands, at the end of
// the text if nowhere.
func estimate(text, skeleton string, items []Item, fs []field, tools run) plan {
	p := plan{starts: make([]int, len(items)), estimated: true}
	list := tools.end - tools.start
	if list > 0 {
		p.runs = append(p.runs, tools)
	}
	// put enters the stretch of a text that has no tool list.
	put := func(from, to int, c receipt.Category) {
		if from < min(to, tools.start) {
			p.runs = append(p.runs, run{from, min(to, tools.start), c})
		}
		if max(from, tools.start) < to {
			p.runs = append(p.runs, run{max(from, tools.start) + list, to + list, c})
		}
	}
	said := 0
	for _, f := range fs {
		said += len(turn.Sent(f.value))
	}
	around := max(min(len(text), len(skeleton)-markBytes*len(fs))-list, 0) // all of what is written around the messages
	rest := len(text) - list - around
	// The end of what the first i messages take, when that many bytes were said.
	end := func(i, bytes int) int { return around*i/len(items) + rest*bytes/max(said, 1) }
	done, k := 0, 0
	for i, it := range items {
		p.starts[i] = end(i, done)
		if i > 0 && end(i+1, done) >= tools.start { // the list stands at the end of a message, if any
			p.starts[i] += list
		}
		say := func(bytes int, c receipt.Category) {
			from := end(i+1, done)
			done += bytes
			put(from, end(i+1, done), c)
		}
		for ; k < len(fs) && fs[k].message == i; k++ {
			left := len(turn.Sent(fs[k].value))
			if !fs[k].content {
				say(left, receipt.RawHistory)
				continue
			}
			if len(it.Pieces) == 0 {
				say(left, receipt.TemplateOverhead) // one of our fixed messages
				continue
			}
			for n, piece := range it.Pieces {
				bytes := min(piece.Bytes, left)
				if n == len(it.Pieces)-1 {
					bytes = left
				}
				left -= bytes
				say(bytes, piece.Category)
			}
		}
	}
	p.sort()
	return p
}
