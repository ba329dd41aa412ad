package main

import (
	"context"
	"slices"
	"sort"
)

// oracle deletes the turns whose names are least needed by what is still to come, on a server that moves what is kept.
type oracle struct {
	*baseline
	session *session
	// at says in which turns each name stands, ascending.
	at map[string][]int
	// weights are the local sizes of atoms in tokens.
	weights map[*atom]int
}

// The least run of tokens that is asked to be moved: short ones would be found where they do not belong.
const (
	leastPull = 8
	mostPull  = 64
)

// compact keeps the user's turns, the answers before them, and the newest atom, and of the others those with the most need for each token.
func (o *oracle) compact(ctx context.Context, n int) error {
	if o.at == nil {
		o.prepare()
	}
	h := o.head()
	chosen := make([]bool, len(o.kept))
	covered := map[string]bool{}
	size, all := 0, 0
	take := func(i int) {
		chosen[i] = true
		size += o.weight(o.kept[i])
		for _, t := range o.kept[i].turns {
			for _, name := range o.session.turns[t].names {
				covered[name] = true
			}
		}
	}
	for i, a := range o.kept {
		all += o.weight(a)
		// A user turn and the answer before it stay together: without it a fixed one would be written in between, and end the moving.
		if i < h || a.user || i == len(o.kept)-1 || o.kept[i+1].user {
			take(i)
		}
	}
	// Local weights and the server's counts differ by the template's overhead.
	budget := all - (n - o.target)
	for {
		best, most := -1, -1.0
		for i, a := range o.kept {
			if chosen[i] || size+o.weight(a) > budget {
				continue
			}
			// Where nothing is needed, the newest stay.
			if v := (o.need(a, covered) + 1e-9*float64(i)) / float64(o.weight(a)); v > most {
				best, most = i, v
			}
		}
		if best < 0 {
			break
		}
		take(best)
	}
	var kept []*atom
	pull, run, gap := mostPull, 0, false
	for i, a := range o.kept {
		if chosen[i] {
			kept = append(kept, a)
			run += o.weight(a)
			continue
		}
		if gap && run > 0 {
			pull = min(pull, run) // one that is shorter than asked for would end the moving
		}
		run, gap = 0, true
	}
	o.kept = kept
	o.hints.NCacheReuse = max(pull, leastPull)
	size, err := o.count(ctx, o.kept)
	if err != nil || size < o.trigger {
		return err
	}
	return o.truncate(ctx, size)
}

func (o *oracle) prepare() {
	o.at, o.weights = map[string][]int{}, map[*atom]int{}
	for i, t := range o.session.turns {
		for _, name := range t.names {
			o.at[name] = append(o.at[name], i)
		}
	}
}

// weight is the local size of an atom in tokens.
func (o *oracle) weight(a *atom) int {
	if w := o.weights[a]; w > 0 {
		return w
	}
	const overhead = 4 // of the template a message, at least
	w := 0
	for i := range a.messages {
		w += a.verbatim[i] + overhead
	}
	o.weights[a] = w
	return w
}

// need adds up the names of an atom that are used again before they come up otherwise and that nothing kept holds. What is used soon counts more.
func (o *oracle) need(a *atom, covered map[string]bool) float64 {
	sum := 0.0
	seen := map[string]bool{}
	for _, t := range a.turns {
		for _, name := range o.session.turns[t].names {
			if covered[name] || seen[name] {
				continue
			}
			seen[name] = true
			at := o.at[name]
			// The turn that answers this prompt is the first that may use it.
			k := sort.SearchInts(at, o.index)
			if k == len(at) || !slices.Contains(o.session.turns[at[k]].used, name) {
				continue
			}
			sum += 1 / (1 + float64(at[k]-o.index)/roundTurns)
		}
	}
	return sum
}

// roundTurns is about how many turns lie between two compactions.
const roundTurns = 50

var _ policy = (*baseline)(nil)
