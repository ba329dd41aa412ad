package toolparse

import (
	"strconv"
	"strings"
)

// Windows reports codes as unsigned 32-bit numbers, agents as signed ones.
const (
	minCode = -1 << 31
	maxCode = 1<<32 - 1
)

// status reads a line that does nothing but state an exit code. A line with anything more is prose, source text or output, and gives nothing.
func (p *exitParser) status(l textLine) (ExitStatus, certainty) {
	s := l.text
	if len(s) > maxStatusBytes {
		return ExitStatus{}, 0
	}
	p.looked += len(s)
	c := cursor{s: s}
	c.spaces()
	if c.tag() {
		return c.status(l, "tag"), framed
	}
	c.unwrap()
	how := c.line()
	if how == 0 {
		return ExitStatus{}, 0
	}
	return c.status(l, "line"), how
}

// logLine reads the first line of a log of commands: "bash -lc 'make' exited 2 in 12ms:".
func (p *exitParser) logLine(l textLine) (ExitStatus, bool) {
	s := strings.TrimSpace(l.text)
	p.looked += len(s)
	i := strings.LastIndex(s, " exited ")
	if i <= 0 || !strings.HasSuffix(s, ":") {
		return ExitStatus{}, false
	}
	c := cursor{s: l.text, at: strings.LastIndex(l.text, " exited ") + len(" exited ")}
	if !c.number() || !c.word("in") {
		return ExitStatus{}, false
	}
	c.spaces()
	took := strings.TrimSuffix(strings.TrimSpace(c.s[c.at:]), ":")
	if took == "" || took[0] < '0' || took[0] > '9' || strings.ContainsAny(took, " \t") {
		return ExitStatus{}, false
	}
	return c.status(l, "log"), true
}

// cursor reads one line. Words compare without case.
type cursor struct {
	s          string
	at         int
	from, to   int // the number
	code       int64
	terminator string
}

func (c *cursor) status(l textLine, form string) ExitStatus {
	return ExitStatus{Code: int(c.code), Raw: c.s[c.from:c.to], Offset: l.at + c.from, Form: form}
}

func (c *cursor) spaces() {
	for c.at < len(c.s) && (c.s[c.at] == ' ' || c.s[c.at] == '\t' || c.s[c.at] == '\r') {
		c.at++
	}
}

// word takes w, preceded by spaces and followed by no letter or digit.
func (c *cursor) word(w string) bool {
	at := c.at
	for at < len(c.s) && (c.s[at] == ' ' || c.s[at] == '\t') {
		at++
	}
	end := at + len(w)
	if end > len(c.s) || !strings.EqualFold(c.s[at:end], w) || end < len(c.s) && isWordByte(c.s[end]) {
		return false
	}
	c.at = end
	return true
}

func isWordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b >= 0x80
}

func (c *cursor) anyWord(words ...string) bool {
	for _, w := range words {
		if c.word(w) {
			return true
		}
	}
	return false
}

// number takes a decimal integer, preceded by spaces.
func (c *cursor) number() bool {
	c.spaces()
	from := c.at
	at := from
	if at < len(c.s) && c.s[at] == '-' {
		at++
	}
	digits := at
	for at < len(c.s) && c.s[at] >= '0' && c.s[at] <= '9' {
		at++
	}
	n, err := strconv.ParseInt(c.s[from:at], 10, 64)
	if err != nil || n < minCode || n > maxCode || c.s[digits] == '0' && at > digits+1 || at < len(c.s) && isWordByte(c.s[at]) {
		return false
	}
	c.from, c.to, c.code, c.at = from, at, n, at
	return true
}

// ended reports whether nothing follows but the closing of what was opened and a full stop.
func (c *cursor) ended() bool {
	rest := strings.Trim(c.s[c.at:], " \t\r*`")
	rest = strings.TrimSuffix(rest, ".")
	if c.terminator != "" {
		var ok bool
		if rest, ok = strings.CutSuffix(rest, c.terminator); !ok {
			return false
		}
		rest = strings.TrimSuffix(rest, ".")
	}
	return rest == "" || rest == ":"
}

// tag reads <exit_code>1</exit_code> as a whole line.
func (c *cursor) tag() bool {
	if c.at == len(c.s) || c.s[c.at] != '<' {
		return false
	}
	end := strings.IndexByte(c.s[c.at:], '>')
	if end < 0 {
		return false
	}
	name := c.s[c.at+1 : c.at+end]
	d := *c
	d.at += end + 1
	if !isCodeName(name) || !d.number() || strings.TrimSpace(d.s[d.at:]) != "</"+name+">" {
		return false
	}
	*c = d
	return true
}

// unwrap takes what agents put around a line of their own: an element such as <system>, a GitHub annotation, a sign or bold type.
func (c *cursor) unwrap() {
	for _, name := range [...]string{"system", "error", "status", "message", "tool_use_error"} {
		open, end := "<"+name+">", "</"+name+">"
		if rest := strings.TrimSpace(c.s[c.at:]); strings.HasPrefix(rest, open) && strings.HasSuffix(rest, end) {
			c.at += len(open)
			c.s = c.s[:strings.LastIndex(c.s, end)]
			break
		}
	}
	for c.at < len(c.s) && c.s[c.at] >= 0x80 {
		c.at++
	}
	c.spaces()
	for _, mark := range [...]string{"##[error]", "**"} {
		if strings.HasPrefix(c.s[c.at:], mark) {
			c.at += len(mark)
		}
	}
}

// line reads the sentence and label forms.
func (c *cursor) line() certainty {
	bracket := false
	for _, pair := range [...]string{"[]", "()", "<>"} {
		if c.at < len(c.s) && c.s[c.at] == pair[0] {
			c.at++
			c.terminator = pair[1:]
			bracket = true
			break
		}
	}
	start := *c
	if how := c.label(); how != 0 {
		return how
	}
	*c = start
	if c.sentence() {
		return strong
	}
	*c = start
	// What os/exec and shells print is as often the output's own last line.
	if c.word("exit") && c.word("status") && c.number() && c.ended() {
		if bracket {
			return strong
		}
		return weak
	}
	*c = start
	if bracket && c.word("exit") && c.number() && c.ended() {
		return strong
	}
	*c = start
	if c.makeError() {
		return weak
	}
	return 0
}

// label reads "Exit code: 1", "exit_code=1", "Exit code 1" and "exitcode: 1 (execution failed)".
func (c *cursor) label() certainty {
	status := false
	switch {
	case c.anyWord("exit", "return", "returned"):
		if c.at < len(c.s) && c.s[c.at] == '-' {
			c.at++
		}
		if !c.word("code") {
			if !c.word("status") {
				return 0
			}
			status = true
		}
	case c.anyWord("exit_code", "exitcode", "returncode", "return_code", "exit_status", "exitstatus"):
	default:
		return 0
	}
	separated := false
	switch {
	case c.at < len(c.s) && c.s[c.at] == '=':
		// "exit_code = 1" with spaces is a line of a program.
		if c.at++; c.at < len(c.s) && c.s[c.at] == ' ' {
			return 0
		}
		separated = true
	case c.at < len(c.s) && c.s[c.at] == ':':
		c.at++
		separated = true
		for c.at < len(c.s) && strings.IndexByte(" *`", c.s[c.at]) >= 0 {
			c.at++
		}
	case status:
		return 0 // "exit status 1" is the weak form.
	}
	if !c.number() {
		return 0
	}
	if c.ended() {
		return strong
	}
	// A remark in brackets may follow a labelled number.
	rest := strings.TrimSpace(c.s[c.at:])
	if separated && c.terminator == "" && isBracketed(rest) && rest[0] == '(' {
		return strong
	}
	return 0
}

// sentence reads "Command exited with code 1", "The command completed with exit code 1.", `Command "make" failed with exit code 1` and the like.
func (c *cursor) sentence() bool {
	if c.anyWord("elifecycle", "error", "fatal") && c.at < len(c.s) && c.s[c.at] == ':' {
		c.at++
	}
	c.word("the")
	if c.anyWord("command", "process", "script", "program", "shell", "task", "job", "container", "cmd", "subprocess") {
		c.quoted()
	}
	c.anyWord("has", "was")
	if !c.anyWord("exited", "finished", "completed", "failed", "terminated", "ended", "returned") {
		return false
	}
	with := c.word("with")
	c.anyWord("a", "an", "the")
	c.anyWord("non-zero", "nonzero", "error")
	named := c.anyWord("exit", "return")
	if !c.anyWord("code", "status") {
		// "exited with 1" leaves no doubt either; "failed with 1" does.
		if named || !with {
			return false
		}
	}
	c.spaces()
	if c.at < len(c.s) && c.s[c.at] == ':' {
		c.at++
	}
	return c.number() && c.ended()
}

// quoted takes a command in quotes or backticks.
func (c *cursor) quoted() {
	d := *c
	d.spaces()
	if d.at == len(d.s) || strings.IndexByte("\"'`", d.s[d.at]) < 0 {
		return
	}
	if end := strings.LastIndexByte(d.s, d.s[d.at]); end > d.at {
		c.at = end + 1
	}
}

// makeError reads make's last words: "make: *** [Makefile:12: test] Error 2".
func (c *cursor) makeError() bool {
	rest := c.s[c.at:]
	tool, after, ok := strings.Cut(rest, ": *** [")
	if !ok || !isMake(tool) {
		return false
	}
	i := strings.LastIndex(after, "] Error ")
	if i < 0 {
		return false
	}
	c.at = len(c.s) - len(after) + i + len("] Error ")
	return c.number() && strings.TrimSpace(c.s[c.at:]) == ""
}

// isMake accepts make, gmake and mingw32-make, with the depth that a nested make adds.
func isMake(s string) bool {
	if name, depth, ok := strings.Cut(s, "["); ok {
		depth, ok = strings.CutSuffix(depth, "]")
		if _, err := strconv.Atoi(depth); !ok || err != nil {
			return false
		}
		s = name
	}
	return s == "make" || s == "gmake" || s == "mingw32-make"
}
