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
	leastPull = 4
	mostPull  = 64
)

// compact keeps the task, the newest user turn and the newest atom, and of the others those with the most need for each token. A user turn goes only with
// everything up to the next one, and while it stays the answer to it stays: else a fixed one would be written in between, and end the moving.
func (o *oracle) compact(ctx context.Context, n int) error {
	if o.at == nil {
		o.prepare()
	}
	last := len(o.kept) - 1
	opens := make([]int, len(o.kept)) // the user turn that an atom belongs to
	newest := 0
	for i, a := range o.kept {
		if a.user {
			newest = i
		}
		opens[i] = newest
	}
	all := 0
	for _, a := range o.kept {
		all += o.weight(a)
	}
	pick := selection{oracle: o, chosen: make([]bool, len(o.kept)), covered: map[string]bool{}}
	for _, i := range []int{0, newest, last} {
		pick.take(with(o.kept, opens, i))
	}
	// Local weights and the server's counts differ by the template's overhead.
	budget := all - (n - o.target)
	for {
		var best []int
		most := -1.0
		for i := range o.kept {
			if pick.chosen[i] {
				continue
			}
			set := with(o.kept, opens, i)
			size, need := pick.gain(set)
			if pick.size+size > budget {
				continue
			}
			// Where nothing is needed, the newest stay.
			if v := (need + 1e-9*float64(i)) / float64(size); v > most {
				best, most = set, v
			}
		}
		if best == nil {
			break
		}
		pick.take(best)
	}
	var kept []*atom
	pull, run, gap := mostPull, 0, false
	for i, a := range o.kept {
		if pick.chosen[i] {
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

// with returns the atoms that stay if atom i does: the user turn that it belongs to, and what stands before the next one.
func with(atoms []*atom, opens []int, i int) []int {
	set := []int{opens[i]}
	if i != opens[i] {
		set = append(set, i)
	}
	for k := i + 1; k < len(atoms); k++ {
		if atoms[k].user {
			if k-1 != i {
				set = append(set, k-1)
			}
			break
		}
	}
	return set
}

// selection is what is kept so far.
type selection struct {
	*oracle
	chosen  []bool
	covered map[string]bool // names in it
	size    int             // in tokens
}

// gain returns what taking a set of atoms adds in tokens and in need.
func (p *selection) gain(set []int) (size int, need float64) {
	seen := map[string]bool{}
	for _, i := range set {
		if !p.chosen[i] {
			size += p.weight(p.kept[i])
			need += p.need(p.kept[i], p.covered, seen)
		}
	}
	return max(size, 1), need
}

func (p *selection) take(set []int) {
	for _, i := range set {
		if p.chosen[i] {
			continue
		}
		p.chosen[i] = true
		p.size += p.weight(p.kept[i])
		for _, t := range p.kept[i].turns {
			for _, name := range p.session.turns[t].names {
				p.covered[name] = true
			}
		}
	}
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

// need adds up the names of an atom that are used again before they come up otherwise and that are neither covered nor seen. What is used soon counts more.
func (o *oracle) need(a *atom, covered, seen map[string]bool) float64 {
	sum := 0.0
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
