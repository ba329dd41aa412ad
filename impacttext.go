package sakur4

import (
	"fmt"
	"strings"
)

// String returns the report as a text for a model, in a [Frame].
func (r ImpactReport) String() string {
	var b strings.Builder
	s := &r.Symbol
	fmt.Fprintf(&b, "%s %s, %s:%d\n  %s\n", s.Kind, s.Name, s.File, s.Line, s.Signature)
	n := 0
	for _, level := range r.Levels {
		n += len(level)
	}
	how := "names and declarations"
	if r.Exact {
		how = "go/types"
	}
	fmt.Fprintf(&b, "%s within %d steps, %d of them tests, %d changed since they last saw it; found by %s.", plural(n, "dependent"), r.Depth, r.Tests, r.Changed, how)
	for i, level := range r.Levels {
		fmt.Fprintf(&b, "\n\nAt distance %d:", i+1)
		for _, d := range level {
			fmt.Fprintf(&b, "\n- %s", d.line(i > 0))
		}
	}
	if len(r.Importers) > 0 {
		fmt.Fprintf(&b, "\n\nImported and named in: %s", strings.Join(r.Importers, ", "))
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "\n\n%d more are not listed.", r.LeftOut)
	}
	for _, note := range r.Notes {
		b.WriteString("\n\nNote: " + note)
	}
	return Frame("impact", b.String())
}

// line says what a dependent is and why it is one.
func (d Dependent) line(via bool) string {
	var b strings.Builder
	lines := make([]string, len(d.Lines))
	for i, l := range d.Lines {
		lines[i] = fmt.Sprint(l)
	}
	of := ""
	if via {
		of = " " + d.Via
	}
	fmt.Fprintf(&b, "%s %s%s at %s:%s (%s, %.2f)", d.Name, d.Relation, of, d.File, strings.Join(lines, ","), d.Tier, d.Confidence)
	if d.Test {
		b.WriteString(" [test]")
	}
	switch d.State {
	case StateChanged:
		b.WriteString(" " + staleMark)
	case StateUnchecked:
		if d.Relation == "calls" {
			b.WriteString(" [not checked]")
		}
	}
	if d.Signature != "" {
		b.WriteString("\n    " + d.Signature)
	}
	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
