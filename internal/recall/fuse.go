package recall

import (
	"cmp"
	"fmt"
	"slices"
)

// rankConstant is k of reciprocal rank fusion: the higher, the less a first place counts against several middling ones. 60 is the value that its authors found and others kept.
const rankConstant = 60

// Ranked is what one retriever found.
type Ranked struct {
	Source string   // names the retriever in the reasons
	Weight float64  // how much its ranks count beside those of others; 0 means 1, a negative weight leaves the list out
	IDs    []string // best first; of an id that comes again only the first place counts
}

// Fused is one result of [Fuse].
type Fused struct {
	ID      string
	Score   float64
	Reasons []string // who found it where, in the order of the lists: "bm25 rank 3"
}

// Fuse merges ranked lists by weighted reciprocal rank fusion: a result's score is the sum, over the lists that hold it, of weight / (60 + rank), the first rank being 1. Ranks
// and not the retrievers' scores are compared, because those have no common scale. See G. V. Cormack, C. L. A. Clarke and S. Büttcher, "Reciprocal rank fusion
// outperforms Condorcet and individual rank learning methods", SIGIR 2009.
//
// The highest score comes first; equal scores are ordered by the best single rank, then by id. At most limit results are returned, all of them if it is 0 or less.
func Fuse(lists []Ranked, limit int) []Fused {
	type entry struct {
		Fused
		best int // rank
		last int // the list that added to it last, counted from 1
	}
	var all []entry
	at := make(map[string]int) // id to index in all
	for l, list := range lists {
		weight := list.Weight
		if weight == 0 {
			weight = 1
		}
		if !(weight > 0) { // NaN too
			continue
		}
		rank := 0
		for _, id := range list.IDs {
			i, ok := at[id]
			if !ok {
				i = len(all)
				at[id] = i
				all = append(all, entry{Fused: Fused{ID: id}})
			}
			e := &all[i]
			if e.last == l+1 {
				continue
			}
			rank++
			e.last = l + 1
			if e.best == 0 || rank < e.best {
				e.best = rank
			}
			e.Score += weight / float64(rankConstant+rank)
			e.Reasons = append(e.Reasons, fmt.Sprintf("%s rank %d", list.Source, rank))
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.best, b.best), cmp.Compare(a.ID, b.ID))
	})
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	fused := make([]Fused, len(all))
	for i, e := range all {
		fused[i] = e.Fused
	}
	return fused
}
