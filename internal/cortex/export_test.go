package cortex

import "context"

// Looks returns how many declarations a resolver has compared something with.
func (r *Resolver) Looks() int { return r.looks }

// LinkLooks returns how many declarations are looked at for a ranking.
func LinkLooks(ctx context.Context, g *Graph) (int, error) {
	r := NewResolver(g)
	_, _, err := g.findLinks(ctx, r)
	return r.looks, err
}
