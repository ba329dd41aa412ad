package toolparse

import "strings"

// Output returns the part of src that a command wrote, between the lines that its tool put around it: behind "Exit code 1" at the top, behind a block of
// labels that ends with "Output:", inside <output>, in front of "Command exited with code 1". Where the tool states no exit code it is all of src.
// start and end are byte offsets.
func Output(src string) (start, end int) { return NewText(src).Output() }

// outputStart returns where the tool's words at the top end.
func (p *exitParser) outputStart(lines []textLine) int {
	after := func(i int) int {
		if i+1 < len(lines) {
			return lines[i+1].at
		}
		return min(len(p.src), lines[i].at+len(lines[i].text)+1)
	}
	start := 0
	for i, l := range lines {
		s := strings.TrimSpace(l.text)
		_, how := p.status(l)
		switch {
		case outputBegins(s):
			return after(i)
		case how >= strong:
			start = after(i)
		case s != "" && !isLabel(s) && !(isElement(s) && start == 0):
			return start
		}
	}
	return start
}

// outputEnd returns where the tool's words at the end begin, behind start.
func (p *exitParser) outputEnd(start int) int {
	end := len(p.src)
	for l := range p.bottom {
		if l.at < start {
			break
		}
		s := strings.TrimSpace(l.text)
		_, how := p.status(l)
		switch {
		case how >= strong, strings.HasPrefix(s, "</") && isElement(s):
			end = l.at
		case s != "" && !isTailFrame(s):
			return end
		}
	}
	return end
}
