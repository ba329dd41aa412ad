package sakur4

import (
	"context"
	"fmt"

	"sakur4/internal/codeindex"
	"sakur4/internal/cortex"
)

// Defaults and bounds of [Engine.ImpactWith].
const (
	// DefaultImpactDepth is how far Impact walks by default, in steps. MaxImpactDepth is the most.
	DefaultImpactDepth, MaxImpactDepth = 2, 16
	// DefaultImpactLimit is the most dependents that a report lists by default.
	DefaultImpactLimit = 200
)

// DependentState says what has become of a dependent since it was first seen to depend. The constants below are its members.
type DependentState string

// The states of a dependent.
const (
	// StateFresh is a dependent that is as it was when its use of the symbol was first seen.
	StateFresh DependentState = "fresh"
	// StateChanged is one that was edited since. It may have been adapted or not: look at it.
	StateChanged DependentState = "changed since it last saw this symbol"
	// StateUnchecked is one of which nothing is known: its file cannot be read, or it was edited and what it was when its use was first seen is not on record. That is on
	// record for calls, from when they are indexed, and for what implements a type, from the first report.
	StateUnchecked DependentState = "not checked"
)

// staleMark stands behind what was edited since.
const staleMark = "[STALE: changed since it last saw this symbol]"

// ImpactOptions say how far and how exactly to look. The zero value is what [Engine.Impact] does with its default depth.
type ImpactOptions struct {
	// Depth is how many steps to walk; 0 is [DefaultImpactDepth], and more than [MaxImpactDepth] is that.
	Depth int
	// Limit is the most dependents to list, the nearest and surest first; 0 is [DefaultImpactLimit], and less than 0 is no limit.
	Limit int
	// GoTypes asks the type checker of Go for exact uses. It reads the sources of the Go distribution and of the module cache, and checks the whole project once after
	// each change of it, which takes seconds. What cannot be checked is found as without it, and Notes say so.
	GoTypes bool
}

// ImpactReport says what may notice a change of a symbol.
type ImpactReport struct {
	// Symbol is the one that was asked about, as its file has it at this moment.
	Symbol Symbol `json:"symbol"`
	// Depth is how many steps were walked at most.
	Depth int `json:"depth"`
	// Levels are the dependents by their distance, those at distance 1 first. Each stands once, where it is nearest.
	Levels [][]Dependent `json:"levels"`
	// Importers are the files that import what the symbol is declared in and use its name, for types and constants.
	Importers []string `json:"importers,omitempty"`
	// Tests counts the listed dependents that are tests, Changed those that were edited since, LeftOut further dependents that were found.
	Tests   int `json:"tests"`
	Changed int `json:"changed"`
	LeftOut int `json:"left_out"`
	// Exact says that the type checker of Go was asked and answered.
	Exact bool `json:"exact"`
	// Notes say what could not be done.
	Notes []string `json:"notes,omitempty"`
}

// Dependent is something that depends on a symbol.
type Dependent struct {
	// ID is the fact of the dependent, "" for code of a file that stands in no symbol. Name is one that [Engine.Symbol] finds, Kind what it is.
	ID   FactID `json:"id,omitempty"`
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
	// File is below the project's root; Line is where the declaration begins, Lines are those of the uses, all from 1.
	File  string `json:"file"`
	Line  int    `json:"line"`
	Lines []int  `json:"lines"`
	// Signature is that of now.
	Signature string `json:"signature,omitempty"`
	// Relation is calls, mentions, implements or extends; Via is what it depends on: the symbol itself, or a dependent one step nearer.
	Relation string `json:"relation"`
	Via      string `json:"via"`
	// Tier says how that was found: exact, same scope, receiver type, same file, imported name, same package, method set, through an interface, same word, unique in the
	// project or ambiguous. Confidence is how sure it is, from 0 to 1: that of the steps on the way, multiplied. It orders and is no measurement.
	Tier       string  `json:"tier"`
	Confidence float64 `json:"confidence"`
	// Test says that it is a test.
	Test bool `json:"test,omitempty"`
	// State is what has become of the dependent since it was first seen to depend.
	State DependentState `json:"state"`
}

// Impact says what may notice a change of a symbol, before it is made: what calls it, what calls that, and so on for depth steps (0: [DefaultImpactDepth]); for types and
// constants also what implements, extends and names them. qualifiedName is understood as by [Engine.Symbol].
//
// Calls are resolved by what the source says, without a compiler: each has the way in which it was found and a confidence. Files that have changed since they were
// indexed are read anew first, so that nothing in the report is older than the call; files that are new are found by [Engine.Index].
//
// What a caller was when a call in it was first seen is on record from [Engine.Index] on, whether anybody asked or not. Which declaration the call reaches is worked out
// for the report: another file may change that at any time. The edges to the symbol are then recorded in the dependency graph.
//
// The errors are those of [Engine.Symbol].
func (e *Engine) Impact(ctx context.Context, qualifiedName string, depth int) (ImpactReport, error) {
	return e.ImpactWith(ctx, qualifiedName, ImpactOptions{Depth: depth})
}

// ImpactWith is [Engine.Impact] with options.
func (e *Engine) ImpactWith(ctx context.Context, qualifiedName string, o ImpactOptions) (ImpactReport, error) {
	if err := e.check(ctx); err != nil {
		return ImpactReport{}, err
	}
	if o.Depth <= 0 {
		o.Depth = DefaultImpactDepth
	}
	o.Depth = min(o.Depth, MaxImpactDepth)
	switch {
	case o.Limit == 0:
		o.Limit = DefaultImpactLimit
	case o.Limit < 0:
		o.Limit = 0
	}
	if qualifiedName == "" {
		return ImpactReport{}, &SymbolError{}
	}
	v, found, err := e.code.View(ctx, qualifiedName)
	if err != nil {
		return ImpactReport{}, nameError(err)
	}
	defer v.Close()
	sym, err := symbolOf(&found)
	if err != nil {
		return ImpactReport{}, err
	}
	out, err := impact(ctx, v, sym, o)
	return out, wrap(err)
}

func impact(ctx context.Context, v *codeindex.View, sym Symbol, o ImpactOptions) (ImpactReport, error) {
	out := ImpactReport{Symbol: sym, Depth: o.Depth, Levels: [][]Dependent{}}
	target := v.Symbol(string(sym.ID))
	if target < 0 {
		return out, &SymbolError{Name: sym.Name} // another process has removed it meanwhile
	}
	r := cortex.NewResolver(v.Graph())
	r.Text, r.Stop = v.Text, func() bool { return ctx.Err() != nil }
	if !v.Readable() {
		out.Notes = append(out.Notes, "the project's files cannot be read: uses that are no calls are missing, and nothing is checked")
	}
	if o.GoTypes {
		exact, err := v.Exact(ctx)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			out.Notes = append(out.Notes, "go/types: "+oneLine(err.Error())+"; found without it")
		default:
			r.Exact, out.Exact = exact, true
			if exact.Broken > 0 {
				out.Notes = append(out.Notes, fmt.Sprintf("go/types: %d of %d packages have errors, the first: %s; what it could not tell there is found without it",
					exact.Broken, exact.Packages, oneLine(exact.Problem)))
			}
		}
	}
	src := v.Graph().Source()
	im := r.Impact(target, o.Depth, o.Limit)
	if err := ctx.Err(); err != nil {
		return out, err
	}
	out.LeftOut = im.LeftOut
	for _, f := range im.Importers {
		out.Importers = append(out.Importers, src.Files[f].Path)
	}
	seen, err := v.Seen(ctx, target)
	if err != nil {
		return out, err
	}
	for _, level := range im.Levels {
		list := make([]Dependent, len(level))
		for i := range level {
			list[i] = dependent(v, &level[i], seen)
			if list[i].Test {
				out.Tests++
			}
			if list[i].State == StateChanged {
				out.Changed++
			}
		}
		out.Levels = append(out.Levels, list)
	}
	return out, v.Record(ctx, target, im)
}

// dependent describes a dependent as it is now.
func dependent(v *codeindex.View, d *cortex.Dependent, seen map[string]string) Dependent {
	src := v.Graph().Source()
	out := Dependent{File: src.Files[d.File].Path, Lines: d.Lines, Relation: string(d.Relation), Via: v.Name(d.Via), Tier: d.Tier.String(), Confidence: d.Confidence,
		Line: 1, State: StateUnchecked}
	if d.Symbol < 0 {
		out.Name = out.File
		return out
	}
	s := &src.Symbols[d.Symbol]
	out.ID, out.Name, out.Kind, out.Line, out.Signature, out.Test = FactID(s.ID), v.Name(d.Symbol), string(s.Kind), s.Line, s.Signature, s.Test
	if _, ok := v.Text(d.File); !ok {
		return out
	}
	then := ""
	switch d.Relation {
	case cortex.Calls:
		out.State = StateFresh
		for _, ref := range d.Refs {
			then = src.Refs[ref].SeenHash
			if then == "" {
				out.State = StateUnchecked
			} else if then != s.Hash {
				out.State = StateChanged
				break
			}
		}
	case cortex.Implements, cortex.Extends:
		if then = seen[s.ID]; then == s.Hash {
			out.State = StateFresh
		} else if then != "" {
			out.State = StateChanged
		}
	case cortex.Mentions:
	}
	if out.State == StateUnchecked && then == "" && s.Version == 1 {
		out.State = StateFresh // whenever the use was first seen: the symbol has not been edited since it was
	}
	return out
}
