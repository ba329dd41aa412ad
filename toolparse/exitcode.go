package toolparse

import (
	"strings"

	"sakur4/internal/eight"
)

// ExitStatus is the exit code of a command, as the tool that ran it states it.
type ExitStatus struct {
	// Code is the number; agents write -1 for a command that was killed or never ran.
	Code int
	// Raw is the number's text in the source, Offset where it begins, Line its line.
	Raw          string
	Offset, Line int
	// Form is where the number stood: "line", "tag", "json" or "log".
	Form string
}

// How sure a form is. A weak one may as well be the output's own last line, a strong one is what tools write around a command's output, and a
// framed one is parted from the output by a mark, so whatever the output itself says comes after it.
type certainty int

const (
	weak certainty = iota + 1
	strong
	framed
)

// ExitCode finds the exit code that a tool states about the command whose output src is. The forms are those that agents write: a line of its own at the
// top ("Exit code 1", "Exit code: 1" in a block of labels, "<returncode>1</returncode>") or at the end ("Command exited with code 1",
// "[Command finished with exit code 1]", "exit status 1", "make: *** [test] Error 2"), and a JSON object with a member such as "exit_code".
// A number that prose or source text mentions is none, and two statements that contradict each other are none.
//
// It returns a [*SyntaxError] where nothing states a code: still running, timed out, aborted, or no command at all.
func ExitCode(src string) (ExitStatus, error) { return NewText(src).ExitCode() }

type exitParser struct {
	src    string
	looked int
}

// run returns the exit code, or why there is none. top are the first lines.
func (p *exitParser) run(top []textLine) (st ExitStatus, none string) {
	head, headSure := p.head(top)
	tail, tailSure, clash := p.tail()
	const contradict = "two statements of the exit code contradict each other"
	switch {
	case clash:
		return ExitStatus{}, contradict
	case headSure == 0 && tailSure == 0:
		return ExitStatus{}, "nothing states an exit code"
	case headSure > tailSure:
		return p.located(head), ""
	case tailSure > headSure:
		return p.located(tail), ""
	case head.Code != tail.Code && headSure == weak:
		return p.located(tail), "" // of two lines of output the last one ended it
	case head.Code != tail.Code:
		return ExitStatus{}, contradict
	}
	return p.located(head), ""
}

func (p *exitParser) located(st ExitStatus) ExitStatus {
	st.Line = 1 + strings.Count(p.src[:st.Offset], "\n")
	return st
}

// How many lines a tool's own words may take at either end of a result, and how long such a line may be. The frames of known agents take up to 8 and 12 lines.
const (
	maxHeadLines   = 12
	maxTailLines   = 16
	maxStatusBytes = 400
)

// textLine is a line without its end, with the place where it begins.
type textLine struct {
	text string
	at   int
}

// lines appends the first lines to top.
func (p *exitParser) lines(top []textLine) []textLine {
	for at := 0; at < len(p.src) && len(top) < maxHeadLines; {
		end := strings.IndexByte(p.src[at:], '\n')
		if end < 0 {
			end = len(p.src) - at
		}
		p.looked += end + 1
		top = append(top, textLine{strings.TrimSuffix(p.src[at:at+end], "\r"), at})
		at += end + 1
	}
	return top
}

// bottom yields the last lines, from the last one up. Nothing above the one that ends the loop is looked at.
func (p *exitParser) bottom(yield func(textLine) bool) {
	end := len(p.src)
	for n := 0; end > 0 && n < maxTailLines; n++ {
		at := lineStart(p.src, end)
		p.looked += end - at + 1
		if !yield(textLine{strings.TrimSuffix(p.src[at:end], "\r"), at}) {
			return
		}
		end = at - 1
	}
}

// lineStart returns where the line begins that ends at end.
func lineStart(s string, end int) int {
	for ; end >= 8; end -= 8 {
		if found := ^eight.Not(eight.Last(s[:end]), '\n') & eight.Highs; found != 0 {
			return end - 8 + eight.Final(found) + 1
		}
	}
	return strings.LastIndexByte(s[:end], '\n') + 1
}

// head reads the block that a tool writes in front of the output.
func (p *exitParser) head(lines []textLine) (ExitStatus, certainty) {
	var found ExitStatus
	sure := certainty(0)
	first := true
	for i, l := range lines {
		s := strings.TrimSpace(l.text)
		if s == "" {
			continue
		}
		if len(s) > maxStatusBytes {
			break
		}
		if st, how := p.status(l); how == framed || how == strong && outputFollows(lines[i+1:]) {
			return st, framed
		} else if how == strong {
			return st, strong
		} else if how == weak && first {
			// A weak line at the very top, such as "exit status 1", is the whole of a short output or nothing.
			found, sure = st, weak
		}
		if first {
			if st, ok := p.logLine(l); ok {
				return st, framed
			}
			if st, ok := p.beforeOutput(lines); ok {
				return st, framed
			}
		}
		first = false
		if !isElement(s) && !isLabel(s) && !isBracketed(s) {
			break
		}
		if outputBegins(s) {
			break
		}
	}
	return found, sure
}

// outputFollows reports whether nothing but lines of the tool's own stands before the one that announces the output.
func outputFollows(lines []textLine) bool {
	for _, l := range lines {
		s := strings.TrimSpace(l.text)
		if outputBegins(s) {
			return true
		}
		if s != "" && !isLabel(s) && !isElement(s) {
			return false
		}
	}
	return false
}

// beforeOutput finds a labelled code right above the line that announces the output, below a sentence or two of the tool's own.
func (p *exitParser) beforeOutput(lines []textLine) (ExitStatus, bool) {
	for i := 0; i+1 < len(lines); i++ {
		if strings.TrimSpace(lines[i+1].text) != "Output:" {
			continue
		}
		st, how := p.status(lines[i])
		return st, how >= strong
	}
	return ExitStatus{}, false
}

// tail reads the block that a tool writes behind the output, from the last line up.
func (p *exitParser) tail() (found ExitStatus, sure certainty, clash bool) {
	blanks := 0
	for l := range p.bottom {
		s := strings.TrimSpace(l.text)
		if s == "" {
			// One gap may part the tool's own lines; output lies behind it in all other cases.
			if blanks++; blanks > 2 || sure >= strong {
				break
			}
			continue
		}
		if len(s) > maxStatusBytes {
			break
		}
		st, how := p.status(l)
		switch {
		case how == 0:
		case sure == 0:
			found, sure = st, how
		case how >= strong && sure >= strong && isBracketed(s) && st.Code != found.Code:
			return found, sure, true
		case how >= strong && sure == weak:
			found, sure = st, how
		}
		if how == 0 && !isTailFrame(s) {
			break
		}
	}
	return found, sure, false
}

// isTailFrame reports whether s may stand in a tool's closing block without being a code itself.
func isTailFrame(s string) bool {
	return isBracketed(s) || isLabel(s) || isElement(s) || strings.HasPrefix(s, "</") && strings.HasSuffix(s, ">") || s == "```"
}

func isBracketed(s string) bool {
	return len(s) > 2 && (s[0] == '[' && s[len(s)-1] == ']' || s[0] == '(' && s[len(s)-1] == ')')
}

// isElement reports whether s is one XML element on one line, or an opening or closing tag.
func isElement(s string) bool {
	return len(s) > 2 && s[0] == '<' && s[len(s)-1] == '>'
}

// isLabel reports whether s is "Some words: value" with at most four words in front, or one of the unlabelled lines of a known frame.
func isLabel(s string) bool {
	i := strings.IndexByte(s, ':')
	if i <= 0 || i > 40 || i+1 < len(s) && s[i+1] != ' ' {
		return false
	}
	words := 1
	for _, c := range []byte(s[:i]) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		case c == ' ':
			words++
		default:
			return false
		}
	}
	return words <= 4
}

func outputBegins(s string) bool {
	switch strings.ToLower(s) {
	case "output:", "<output>", "<stdout>", "stdout:", "command output:", "code output:":
		return true
	}
	return false
}
