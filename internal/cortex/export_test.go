package cortex

import (
	"context"

	"sakur4/internal/codesym"
)

// Prose returns the beginnings and ends of what of a text is no code.
func Prose(lang codesym.Lang, text string) [][2]int {
	var out [][2]int
	for _, s := range prose(lang, text) {
		out = append(out, [2]int{s.from, s.to})
	}
	return out
}

// Looks returns how many declarations a resolver has compared something with.
func (r *Resolver) Looks() int { return r.looks }

// LinkLooks returns how many declarations are looked at for a ranking.
func LinkLooks(ctx context.Context, g *Graph) (int, error) {
	r := NewResolver(g)
	_, _, err := g.findLinks(ctx, r)
	return r.looks, err
}
