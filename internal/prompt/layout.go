package prompt

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sakur4/internal/episode"
	"sakur4/internal/turn"
	"sakur4/receipt"
)

// A template is a black box: it trims, re-serialises and re-orders. So that every byte of its text can be given to a message and a category,
// the chat is rendered a second time with a mark in each field. What stands between the marks is the skeleton; laid over the real text
// it shows where each field begins and ends.

// A mark is digits between two letters, so that no template trims, escapes or splits it and no server takes it for a number. The digits alone are looked for: they stay
// where a template writes all letters large or small, or leaves some out.
const (
	markFront  = "9073"
	markDigits = 6
	markBack   = "51"
	markBytes  = 1 + len(markFront) + markDigits + len(markBack) + 1
)

// mark returns the text that stands for field n. Of numbers with more than markDigits digits none is found again.
func mark(n int) string {
	digits := strconv.Itoa(n)
	return "x" + markFront + strings.Repeat("0", max(markDigits-len(digits), 0)) + digits + markBack + "x"
}

// found is a mark in a text: where it stands, and the number of its field.
type found struct{ start, end, field int }

// marks finds the marks of that many fields in a text, in the order in which they stand there.
func marks(text string, fields int) iter.Seq[found] {
	return func(yield func(found) bool) {
		for at, last := 0, 0; ; { // last is the end of the last mark
			i := strings.Index(text[at:], markFront)
			if i < 0 {
				return
			}
			start := at + i
			at = start + len(markFront)
			end := at + markDigits
			if end > len(text) || !strings.HasPrefix(text[end:], markBack) || strings.Trim(text[at:end], "0123456789") != "" {
				continue
			}
			field, _ := strconv.Atoi(text[at:end])
			end += len(markBack)
			if start > last && text[start-1]|0x20 == 'x' {
				start--
			}
			if end < len(text) && text[end]|0x20 == 'x' {
				end++
			}
			at, last = end, end
			if field < fields && !yield(found{start, end, field}) {
				return
			}
		}
	}
}

// argument marks are rendered as an object, since servers parse arguments. Spaces on both sides of its colon show who writes them again, and how.
var (
	argBefore = regexp.MustCompile(`(?i)\{\s*\\?"k\\?"\s*:\s*\\?"$`)
	argAfter  = regexp.MustCompile(`^\\?"\s*\}`)
)

// field is one text of a message.
type field struct {
	message int
	value   string
	content bool // the message's content, which has pieces
	args    bool
}

func fields(items []Item) []field {
	var fs []field
	for i, it := range items {
		m := it.Message
		if m.Content != "" {
			fs = append(fs, field{message: i, value: m.Content, content: true})
		}
		if m.Reasoning != "" {
			fs = append(fs, field{message: i, value: m.Reasoning})
		}
		for _, c := range m.Calls {
			fs = append(fs, field{message: i, value: c.Name}, field{message: i, value: c.Arguments, args: true})
		}
	}
	return fs
}

// marked returns the items with a mark in each field, numbered as fields lists them.
func marked(items []Item) []Item {
	out := make([]Item, len(items))
	n := 0
	next := func() string { n++; return mark(n - 1) }
	for i, it := range items {
		m := turn.Message{Role: it.Message.Role, ToolCallID: it.Message.ToolCallID}
		if it.Message.Content != "" {
			m.Content = next()
		}
		if it.Message.Reasoning != "" {
			m.Reasoning = next()
		}
		for _, c := range it.Message.Calls {
			m.Calls = append(m.Calls, episode.Call{ID: c.ID, Name: next(), Arguments: `{"k" : "` + next() + `"}`})
		}
		out[i] = Item{Message: m}
	}
	return out
}

// run is a stretch of the text with its category; stretches ascend and do not overlap.
type run struct {
	start, end int
	category   receipt.Category
}

// plan is where the messages of a text begin and which stretches of it are content.
type plan struct {
	starts []int // one a message, ascending
	runs   []run
	// estimated says that the template changes what messages say, so that where they begin is not known.
	estimated bool
}

func (p plan) sort() {
	slices.SortStableFunc(p.runs, func(a, b run) int { return a.start - b.start })
}

// layout lays the skeleton over the text. Where that does not show the place of each message, their places are estimated.
func layout(text, skeleton string, items []Item, controls []string, toolsText string) plan {
	fs := fields(items)
	p := plan{starts: make([]int, len(items))}
	ends := make([]int, len(items)) // of the last field of each that was found
	for i := range p.starts {
		p.starts[i] = -1
	}
	type piece struct {
		seg string // what stands before the field
		f   *field
	}
	pieces := make([]piece, 0, len(fs))
	// What stands between two fields is the same over and over: what there is to see in it is looked for once.
	bares := map[string]string{} // without the argument's beginning
	begins := map[string]int{}   // where the second of two messages begins
	at := 0
	for m := range marks(skeleton, len(fs)) {
		seg := skeleton[at:m.start]
		at = m.end
		if fs[m.field].args {
			bare, known := bares[seg]
			if !known {
				bare = argBefore.ReplaceAllString(seg, "")
				bares[seg] = bare
			}
			seg = bare
			if loc := argAfter.FindStringIndex(skeleton[at:]); loc != nil {
				at += loc[1]
			}
		}
		pieces = append(pieces, piece{seg, &fs[m.field]})
	}
	tail := skeleton[at:]
	tools := run{len(text), len(text), receipt.Tools}
	if toolsText != "" {
		if i := strings.Index(text, toolsText); i >= 0 {
			tools.start, tools.end = i, i+len(toolsText)
			p.runs = append(p.runs, tools)
			ends[0] = tools.end
		}
	}
	pos, prev := 0, -1
	aligned := true // the text is the skeleton with other fields, and nothing else
	for i, pc := range pieces {
		start, seg, begin := pos, pc.seg, 0
		if pc.f.message != prev && pc.f.message > 0 {
			at, known := begins[seg]
			if !known {
				at = messageStart(seg, controls)
				begins[seg] = at
			}
			begin = at
		}
		if !strings.HasPrefix(text[pos:], seg) {
			aligned = false
			seg, begin = seg[begin:], 0 // the end of the message before may be written otherwise
			j := strings.Index(text[pos:], seg)
			if j < 0 {
				continue // the template wrote this field otherwise: what follows finds its own place
			}
			pos += j
		}
		if pc.f.message != prev {
			p.starts[pc.f.message] = pos + begin
			prev = pc.f.message
		}
		pos += len(seg)
		after := tail
		if i+1 < len(pieces) {
			after = pieces[i+1].seg
		}
		end, lead := fieldEnd(text, pos, turn.Sent(pc.f.value), after)
		if end < 0 {
			aligned = false
			pos = start
			continue
		}
		if pc.f.content {
			p.runs = append(p.runs, contentRuns(pos, end, lead, items[pc.f.message])...)
		} else {
			p.runs = append(p.runs, run{pos, end, receipt.RawHistory})
		}
		pos = end
		ends[pc.f.message] = max(ends[pc.f.message], end)
	}
	lost := make([]bool, len(items))
	for _, f := range fs {
		lost[f.message] = p.starts[f.message] < 0
	}
	if slices.Contains(lost, true) && !(aligned && strings.HasPrefix(text[pos:], tail)) {
		return estimate(text, skeleton, items, fs, tools)
	}
	p.sort()
	p.starts[0] = 0
	next := len(text)
	for i := len(items) - 1; i >= 0; i-- {
		if p.starts[i] >= 0 && p.starts[i] <= next {
			next = p.starts[i]
			continue
		}
		// A message that has no field begins where the one behind it does, so it counts nothing and the sum stays right. Of those whose fields the template
		// leaves out each has its part of what the template writes all the same.
		first := i
		for p.starts[first] < 0 || p.starts[first] > next {
			first--
		}
		from := next
		if slices.Contains(lost[first:i+1], true) {
			from = min(max(p.starts[first], ends[first]), next)
		}
		for k := i; k > first; k-- {
			p.starts[k] = from + (next-from)*(k-first)/(i+1-first)
		}
		i, next = first, p.starts[first]
	}
	return p
}

// spell is the inverse of layout: the text that comes of laying the fields into the skeleton. A template that trims or re-orders writes another one.
func spell(skeleton string, items []Item) string {
	fs := fields(items)
	var b strings.Builder
	at := 0
	for m := range marks(skeleton, len(fs)) {
		seg, value := skeleton[at:m.start], turn.Sent(fs[m.field].value)
		at = m.end
		if fs[m.field].args {
			if loc := argBefore.FindStringIndex(seg); loc != nil {
				if !strings.HasSuffix(seg, `" : "`) {
					value = respaced(value, strings.HasSuffix(seg, `": "`))
				}
				seg = seg[:loc[0]]
			}
			if loc := argAfter.FindStringIndex(skeleton[at:]); loc != nil {
				at += loc[1]
			}
		}
		b.WriteString(seg)
		b.WriteString(value)
	}
	b.WriteString(skeleton[at:])
	return b.String()
}

// respaced writes JSON on one line, with or without spaces behind colons and commas.
func respaced(text string, spaces bool) string {
	b := make([]byte, 0, len(text)+len(text)/8)
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted:
			if c == '\\' && i+1 < len(text) {
				b = append(b, c)
				i++
				c = text[i]
			} else {
				quoted = c != '"'
			}
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		default:
			quoted = c == '"'
		}
		b = append(b, c)
		if spaces && !quoted && (c == ':' || c == ',') {
			b = append(b, ' ')
		}
	}
	return string(b)
}

// messageStart returns where, in the overhead between two messages, the second begins: at its last control text, else at the first line end.
func messageStart(seg string, controls []string) int {
	best := -1
	for _, c := range controls {
		if i := strings.LastIndex(seg, c); i > best {
			best = i
		}
	}
	if best < 0 {
		if best = strings.IndexByte(seg, '\n') + 1; best >= len(seg) {
			best = 0
		}
	}
	return best
}

// fieldEnd returns where the field's value ends that begins at pos, and how many bytes of the value the template cut off in front; -1 if not found.
func fieldEnd(text string, pos int, value, after string) (end, lead int) {
	left := strings.TrimLeft(value, " \t\r\n")
	for _, v := range []string{value, strings.TrimSpace(value), strings.TrimRight(value, " \t\r\n"), left} {
		if strings.HasPrefix(text[pos:], v) && strings.HasPrefix(text[pos+len(v):], after) && (after != "" || pos+len(v) == len(text)) {
			if len(v) < len(value) && strings.HasPrefix(left, v) {
				lead = len(value) - len(left)
			}
			return pos + len(v), lead
		}
	}
	if after == "" {
		return len(text), 0
	}
	i := strings.Index(text[pos:], after)
	if i < 0 {
		return -1, 0
	}
	return pos + i, 0
}

// contentRuns cuts a content's stretch into the categories of its pieces.
func contentRuns(start, end, lead int, it Item) []run {
	if len(it.Pieces) == 0 {
		return nil // one of our fixed messages: overhead
	}
	var rs []run
	at := start - lead
	for i, p := range it.Pieces {
		from, to := max(at, start), min(at+p.Bytes, end)
		if i == len(it.Pieces)-1 {
			to = end
		}
		if from < to {
			rs = append(rs, run{from, to, p.Category})
		}
		at += p.Bytes
	}
	return rs
}

// assign gives each token, by its first byte, to a message and a category.
func assign(ends []int, p plan, messages int) []Count {
	counts := make([]Count, messages)
	m, r, start := 0, 0, 0
	for _, end := range ends {
		for m+1 < messages && p.starts[m+1] <= start {
			m++
		}
		for r < len(p.runs) && p.runs[r].end <= start {
			r++
		}
		cat := receipt.TemplateOverhead
		if r < len(p.runs) && p.runs[r].start <= start {
			cat = p.runs[r].category
		}
		counts[m].Tokens++
		counts[m].Parts[cat]++
		start = end
	}
	return counts
}
