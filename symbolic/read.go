package symbolic

import (
	"strconv"
	"strings"

	"sakur4/toolparse"
)

// DefaultMax is how many facts [Read] returns where max is 0.
const DefaultMax = 512

// NoStructure is the summary of a result that no parser reads.
const NoStructure = "no structure detected"

// Reading is what [Read] found in a result.
type Reading struct {
	// Parser is the name of the parser, "" where none applied.
	Parser string
	// Summary says in a few words what was read.
	Summary string
	// Facts are at most as many as asked for, LeftOut counts the others.
	Facts   []Fact
	LeftOut int
}

// Read picks the parser of a result and returns its facts: the one that the tool's name asks for, and where the name says nothing or that
// parser refuses, the one whose structure the bytes show. A command's exit code is read beside the structure of its output.
// Prose gives no facts, no parser and the summary [NoStructure]. max 0 means [DefaultMax]. The zero evidence reads as prose.
func Read(ev Evidence, max int) Reading { return DefaultTable().Read(ev, max) }

// ReadWith reads the evidence with a parser of the caller's choice. Its errors are those of [Extract].
func ReadWith(src FactSource, ev Evidence, max int) (Reading, error) {
	return readWith(src, ev, textOf(ev), max)
}

func readWith(src FactSource, ev Evidence, t *text, max int) (Reading, error) {
	facts, left, err := mint(src, ev, t, orDefault(max), nil)
	if err != nil {
		return Reading{Summary: NoStructure}, err
	}
	r := Reading{Parser: parserName(src), Facts: facts, LeftOut: left}
	r.Summary = summary(r)
	return r, nil
}

// Read is [Read] with the table t.
func (t Table) Read(ev Evidence, max int) Reading {
	max = orDefault(max)
	src, _ := t.Lookup(ev.ToolName())
	content := textOf(ev)
	sniffed := false
	for {
		if src.kind != 0 {
			if r, err := readWith(src, ev, content, max); err == nil && len(r.Facts)+r.LeftOut > 0 {
				return withExit(r, ev, content, max)
			}
		}
		if sniffed {
			return Reading{Summary: NoStructure}
		}
		sniffed = true
		var ok bool
		if src, ok = sniff(ev, content); !ok {
			return Reading{Summary: NoStructure}
		}
	}
}

// withExit adds the exit code beside what else was read. It goes first, so that a large output does not crowd it out.
func withExit(r Reading, ev Evidence, t *text, max int) Reading {
	if r.Parser == ExitCode().String() || ev.FilePath() != "" {
		return r
	}
	if !t.whole.HasExitCode() {
		return r
	}
	exit, _, err := mint(ExitCode(), ev, t, 0, nil)
	if err != nil {
		return r
	}
	r.Facts = append(exit, r.Facts...)
	if n := len(r.Facts) - max; n > 0 {
		r.Facts, r.LeftOut = r.Facts[:max], r.LeftOut+n
	}
	r.Summary += ", exit code " + exit[0].Value()
	return r
}

// Sniff returns the source whose structure the bytes show beyond doubt: a JSON object or array, a unified diff, the heads of HTTP messages in front,
// a table, a stated exit code, or lines that are fields and nothing else.
func Sniff(ev Evidence) (FactSource, bool) { return sniff(ev, textOf(ev)) }

func sniff(ev Evidence, t *text) (FactSource, bool) {
	if !ev.Valid() {
		return FactSource{}, false
	}
	s := t.content
	name := t.whole.Sniff()
	if name == "" && ev.FilePath() == "" {
		if start, end := t.whole.Output(); end-start < len(s) {
			name = toolparse.Sniff(s[start:end])
		}
	}
	switch name {
	case "json":
		return JSON(), true
	case "unified_diff":
		return UnifiedDiff(), true
	case "http_headers":
		return HTTPHeaders(), true
	case "csv":
		return CSV(), true
	}
	// A file's content is nobody's exit code.
	if ev.FilePath() == "" && t.whole.HasExitCode() {
		return ExitCode(), true
	}
	if toolparse.OnlyFields(s) {
		return Fields(), true
	}
	return FactSource{}, false
}

func orDefault(max int) int {
	if max <= 0 {
		return DefaultMax
	}
	return max
}

// parserName is the source's name without its argument.
func parserName(src FactSource) string {
	name, _, _ := strings.Cut(src.String(), ":")
	return name
}

func summary(r Reading) string {
	n := len(r.Facts) + r.LeftOut
	if r.Parser == ExitCode().String() && n == 1 {
		return "exit code " + r.Facts[0].Value()
	}
	counted, left := " values", ""
	if n == 1 {
		counted = " value"
	}
	if r.LeftOut > 0 {
		left = ", " + strconv.Itoa(r.LeftOut) + " left out"
	}
	return r.Parser + ": " + strconv.Itoa(n) + counted + left
}
