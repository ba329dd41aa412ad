package evict

import (
	"math"
	"math/bits"
	"slices"
)

// Name says how the turns of a prompt use an identifier, a path or an error code. What was used lately or often is likely to be used again, and a model that
// does not see it then has to look it up: together the names are the session's working set.
type Name struct {
	// Uses is the number of turns that hold it, at least 1. Age is the distance in turns of the newest of them from the end of the prompt.
	Uses, Age int
}

// The parts of a name's weight, in hundredths: one used once in the newest turn has 100.
const (
	// usePoints is for every doubling of its uses, up to maxUses doublings: what many turns hold is the vocabulary of the task.
	usePoints = 69
	maxUses   = 6
	// nameTokens is what a weight of 100 is worth: in recorded sessions about one time in eight the name is written before the next compaction, and looking it
	// up takes a round trip of tripTokens.
	nameTokens = tripTokens / 8
	// rareHolders is how many results may hold a name that says which of them is worked with; companyFade is how many turns a result grows older for each
	// that its names stay in use: work moves on in the end.
	rareHolders = 4
	companyFade = 4
)

// weight is what a name adds to the value of what holds it, in hundredths.
func (n Name) weight() int {
	doublings := min(bits.Len(uint(max(n.Uses, 1)))-1, maxUses)
	return (100 + usePoints*doublings) * recencyHalf / (recencyHalf + max(n.Age, 0))
}

// workingSet returns for each item the weight of the names that would leave the prompt with it, in hundredths. Of all items that hold a name the one counts that will
// be kept the longest: one that is protected, else the one with the most weight for its size, of equals the newest. For the others the name is no reason to stay.
func (p *prompt) workingSet() []int {
	worth := make([]int, len(p.in.Items))
	if len(p.in.Names) == 0 {
		return worth
	}
	weights := make([]int, len(p.in.Names))
	ages := p.company()
	for i, n := range p.in.Names {
		n.Age = min(n.Age, int(ages[i]))
		weights[i] = n.weight()
	}
	type holder struct {
		density uint64 // of weight, the highest for what is protected
		item    int32
	}
	order := make([]holder, 0, len(p.in.Items))
	for i := range p.in.Items {
		it := &p.in.Items[i]
		if len(it.Names) == 0 {
			continue
		}
		sum := 0
		for _, n := range it.Names {
			sum += weights[n]
		}
		density := uint64(math.MaxUint64)
		if p.class[i] == 0 {
			density = uint64(sum) << 20 / uint64(max(it.Tokens, 1))
		}
		order = append(order, holder{density, int32(i)})
	}
	slices.SortFunc(order, func(x, y holder) int {
		if x.density != y.density {
			return before(x.density > y.density)
		}
		return int(y.item - x.item)
	})
	for _, h := range order {
		for _, n := range p.in.Items[h.item].Names {
			worth[h.item] += weights[n]
			weights[n] = 0 // held
		}
	}
	return worth
}

// company returns for each name how long ago one was written with which it stands in a result, in turns; names that are in no such company get the greatest age.
// Names are needed in company: what a result holds that is worked with is several times as likely to be written next as what an equally old one holds.
func (p *prompt) company() []int32 {
	ages := make([]int32, len(p.in.Names))
	for i := range ages {
		ages[i] = math.MaxInt32
	}
	// The first results that hold a name, and how many do.
	holders := make([][rareHolders]int32, len(p.in.Names))
	held := make([]int32, len(p.in.Names))
	written := make([]int32, len(p.in.Items)) // of a result, the newest item that writes one of its names, counted from 1
	for i := range p.in.Items {
		it := &p.in.Items[i]
		for _, n := range it.Names {
			switch {
			case it.Role != roleTool:
				if k := held[n]; k <= rareHolders {
					for _, h := range holders[n][:k] {
						written[h] = int32(i) + 1
					}
				}
			case held[n] < rareHolders:
				holders[n][held[n]] = int32(i)
				held[n]++
			default:
				held[n] = rareHolders + 1
			}
		}
	}
	for i, w := range written {
		if w == 0 {
			continue
		}
		it := &p.in.Items[i]
		age := int32(min(max(p.in.Items[w-1].Age, 0)+max(it.Age, 0)/companyFade, math.MaxInt32))
		for _, n := range it.Names {
			ages[n] = min(ages[n], age)
		}
	}
	return ages
}

// lostNames returns how many of an item's names are gone on a rung, in percent: a masked result shows its first lines, a referenced one its path.
func lostNames(t Tier) int64 {
	switch t {
	case Masked:
		return 80
	case Referenced:
		return 95
	case Archived, Dropped:
		return 100
	}
	return 0
}
