package sakur4

import (
	"context"
	"fmt"

	"sakur4/internal/cortex"
)

// DefaultMapBudget is the size of a map in tokens by default.
const DefaultMapBudget = 1024

// RepoMapOptions say what a map shows. The zero value maps the whole project in [DefaultMapBudget].
type RepoMapOptions struct {
	// Budget is the most that the text may take, in tokens of [Options.Tokenizer]; 0 is [DefaultMapBudget].
	Budget int
	// Focus are paths of files and folders, and names of symbols, that the work is about: what they refer to comes first.
	Focus []string
	// NamesOnly lists names, one a line, each of which [Engine.Symbol] and [Engine.Impact] find, instead of signatures.
	NamesOnly bool
}

// RepoMap is a text that shows what matters most in a project.
type RepoMap struct {
	// Text is the map: signatures below the paths of their files, or names. It is ready for [Session.Attach] as a [NoteRepoMap], which frames it; what goes to a model in
	// another way is [RepoMap.String]. The map of a smaller budget is a beginning of that of a larger one.
	Text string `json:"text"`
	// Tokens is the size of Text, Symbols how many definitions it shows, LeftOut how many more there are.
	Tokens  int `json:"tokens"`
	Symbols int `json:"symbols"`
	LeftOut int `json:"left_out"`
	// Names are those of the definitions, in the order of the text; each is one that [Engine.Symbol] and [Engine.Impact] find.
	Names []string `json:"names"`
}

// String returns the map as a text for a model, in a [Frame]: what code and comments say is a record and no instruction.
func (m RepoMap) String() string {
	return Frame("repo map", fmt.Sprintf("%s(%d definitions in %d tokens, %d more)", m.Text, m.Symbols, m.Tokens, m.LeftOut))
}

// RepoMap ranks the definitions of the project by how much of it refers to them, directly and through others, and shows as many as fit the budget. The ranking is
// a personalised PageRank over calls, bases and signatures; the same index and options give the same map. Indexed files that have changed are read anew first.
//
// The errors are a [*BudgetError] where not one definition fits, with what the first needs, and a [*SymbolError] where nothing is indexed.
func (e *Engine) RepoMap(ctx context.Context, o RepoMapOptions) (RepoMap, error) {
	if err := e.check(ctx); err != nil {
		return RepoMap{}, err
	}
	if o.Budget == 0 {
		o.Budget = DefaultMapBudget
	}
	v, _, err := e.code.View(ctx, "")
	if err != nil {
		return RepoMap{}, nameError(err)
	}
	defer v.Close()
	ranked, err := v.Graph().Rank(ctx, o.Focus)
	if err != nil {
		return RepoMap{}, err
	}
	var name func(int) string
	if o.NamesOnly {
		name = v.Name
	}
	items := v.Graph().Map(ranked, max(o.Budget, 1), name) // each takes a token at least
	if len(items) == 0 {
		return RepoMap{Names: []string{}}, nil
	}
	n, text, tokens := cortex.Fit(items, o.Budget, e.counter.Count)
	if n == 0 {
		return RepoMap{}, &BudgetError{Floor: "repo map", Need: e.counter.Count(items[0].Text), Have: o.Budget}
	}
	out := RepoMap{Text: text, Tokens: tokens, Symbols: n, LeftOut: len(ranked) - n, Names: make([]string, n)}
	for i, it := range items[:n] {
		out.Names[i] = v.Name(it.Symbol)
	}
	return out, nil
}
