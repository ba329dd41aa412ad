package cortex

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// The constants of the ranking. The damping is the one of the paper; the walk ends where it moves less than the tolerance in all, or after so many rounds.
const (
	damping   = 0.85
	tolerance = 1e-9
	maxRounds = 100
	// spread is the share of the teleport that stays with the whole project where there is a focus, so that what is far from it keeps an order.
	spread = 0.1
	// The weights of references beside that of a call, which is its confidence.
	baseWeight, memberWeight, signatureWeight = 1.0, 0.2, 0.3
	// testWeight lowers what tests refer to: they call everything.
	testWeight = 0.1
)

// Ranked is a symbol with its rank.
type Ranked struct {
	// Symbol is the index of the symbol. Score is its share of the walk, from 0 to 1.
	Symbol int
	Score  float64
}

// link is a weighted reference.
type link struct {
	from, to int32
	weight   float64
}

// Rank orders the definitions of a project by their weight in the graph of references: a random walk follows references from definition to definition, and
// now and then starts again at the focus. focus holds paths of files and folders, and names of symbols; without one every definition is a start.
//
// The walk is the personalised PageRank of Page, Brin, Motwani and Winograd, "The PageRank Citation Ranking: Bringing Order to the Web" (1999), section 6:
// r = (1 − d)·t + d·(Mᵀ·r + s·t), where t is the teleport, M the references weighted to sum to 1 for each definition, and s the share of definitions
// without references. Sums are taken in the order of the source and never fused, so that the result is the same to the bit everywhere.
//
// Tests come after everything else. Modules and imports are no definitions here. The only error is that of the context.
func (g *Graph) Rank(ctx context.Context, focus []string) ([]Ranked, error) {
	n := len(g.src.Symbols)
	links, total, err := g.allLinks(ctx)
	if err != nil {
		return nil, err
	}
	teleport := g.teleport(focus)
	rank := slices.Clone(teleport)
	next := make([]float64, n)
	for range maxRounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		loose := 0.0
		for i, v := range rank {
			next[i] = 0
			if total[i] == 0 {
				loose += v
			}
		}
		for _, l := range links {
			next[l.to] += float64(rank[l.from] * l.weight)
		}
		moved := 0.0
		for i := range next {
			v := float64((1-damping)*teleport[i]) + float64(damping*float64(next[i]+float64(loose*teleport[i])))
			moved += math.Abs(v - rank[i])
			next[i] = v
		}
		rank, next = next, rank
		if moved < tolerance {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]Ranked, 0, n)
	for i, v := range rank {
		if k := g.src.Symbols[i].Kind; k != codesym.ImportOf && k != codesym.Module && k != codesym.Export {
			out = append(out, Ranked{i, v})
		}
	}
	late := make([]int, n)
	for _, x := range out {
		late[x.Symbol] = g.late(x.Symbol)
	}
	slices.SortFunc(out, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(late[a.Symbol], late[b.Symbol]), cmp.Compare(b.Score, a.Score), cmp.Compare(a.Symbol, b.Symbol))
	})
	return out, nil
}

// late is 1 for what belongs to tests.
func (g *Graph) late(symbol int) int {
	s := &g.src.Symbols[symbol]
	if s.Test || testPath(g.src.Files[s.File].Path) {
		return 1
	}
	return 0
}

// testPath reports whether a file is one of tests by its name, or by a folder that it is in.
func testPath(p string) bool {
	base := p[strings.LastIndexByte(p, '/')+1:]
	name, _, _ := strings.Cut(base, ".")
	return strings.HasSuffix(name, "_test") || strings.HasPrefix(base, "test_") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") ||
		strings.Contains("/"+p, "/testdata/") || strings.Contains("/"+p, "/tests/") || strings.Contains("/"+p, "/test/") || strings.Contains("/"+p, "/__tests__/") ||
		strings.HasSuffix(name, "Test") && strings.HasSuffix(p, ".java")
}

// allLinks is findLinks, found once. A call that was cancelled leaves nothing behind.
func (g *Graph) allLinks(ctx context.Context) ([]link, []float64, error) {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if g.totals == nil {
		links, totals, err := g.findLinks(ctx, NewResolver(g))
		if err != nil {
			return nil, nil, err
		}
		g.links, g.totals = links, totals
	}
	return g.links, g.totals, nil
}

// findLinks returns the references of the project, summed by their ends and sorted, with weights that sum to 1 for each definition that has any, and the sums
// that they had before.
func (g *Graph) findLinks(ctx context.Context, r *Resolver) ([]link, []float64, error) {
	var out []link
	add := func(from, to int, weight float64) {
		if from == to || from < 0 || to < 0 {
			return
		}
		if g.late(from) == 1 {
			weight *= testWeight
		}
		out = append(out, link{int32(from), int32(to), weight})
	}
	for i := range g.src.Refs {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
		}
		ref := &g.src.Refs[i]
		from := ref.From
		if from < 0 {
			if f := g.src.Files[ref.File]; f.Symbols[0] < f.Symbols[1] {
				from = f.Symbols[0]
			}
		}
		for _, e := range r.Resolve(i) {
			if e.Tier != Ambiguous { // common names would lift whatever has them
				add(from, e.To, e.Confidence)
			}
		}
	}
	for i := range g.src.Symbols {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
		}
		s := &g.src.Symbols[i]
		for _, base := range s.Bases {
			add(i, r.nearestType(s.File, lastName(base)), baseWeight)
		}
		if s.Kind == codesym.Method {
			t := r.typeOfMethod(i)
			add(i, t, memberWeight)
			add(t, i, memberWeight/8)
		}
		if s.Kind == codesym.Function || s.Kind == codesym.Method {
			for _, word := range capitalised(s.Signature) {
				if word != s.Short {
					add(i, r.nearestType(s.File, word), signatureWeight)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.weight, b.weight))
	})
	sum := out[:0]
	for _, l := range out {
		if k := len(sum) - 1; k >= 0 && sum[k].from == l.from && sum[k].to == l.to {
			sum[k].weight += l.weight
			continue
		}
		sum = append(sum, l)
	}
	total := make([]float64, len(g.src.Symbols))
	for i := range sum {
		sum[i].weight = math.Sqrt(sum[i].weight) // the tenth call says less than the first
		total[sum[i].from] += sum[i].weight
	}
	for i := range sum {
		sum[i].weight /= total[sum[i].from]
	}
	return slices.Clip(sum), total, nil
}

// capitalised returns the distinct words of a signature that begin with a capital, as names of types do in most languages.
func capitalised(signature string) []string {
	var out []string
	for word := range strings.FieldsFuncSeq(signature, func(c rune) bool { return !identRune(c) }) {
		if word[0] >= 'A' && word[0] <= 'Z' && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// nearestType returns the type of that name that a file can name: the nearest of its package, or of what it imports; -1 for none.
func (r *Resolver) nearestType(file int, name string) int {
	key := nameIn{file, name}
	if t, ok := r.near[key]; ok {
		return t
	}
	r.near[key] = -1
	for _, t := range r.typesNamed(file, name) {
		if r.visible(file, t) {
			r.near[key] = t
			break
		}
	}
	return r.near[key]
}

// visible reports whether a file can name a symbol.
func (r *Resolver) visible(file, symbol int) bool {
	to := r.g.src.Symbols[symbol].File
	if to == file || r.g.dirOf(to) == r.g.dirOf(file) {
		return true
	}
	imports := r.imports(file)
	for i := range imports {
		if r.provides(&imports[i], symbol) {
			return true
		}
	}
	return false
}

// teleport returns where the walk starts: a share for each symbol, which sum to 1.
func (g *Graph) teleport(focus []string) []float64 {
	n := len(g.src.Symbols)
	all, near := make([]float64, n), make([]float64, n)
	sumAll, sumNear := 0.0, 0.0
	wanted := map[string]bool{}
	var paths []string
	for _, f := range focus {
		if f = strings.TrimSuffix(strings.TrimPrefix(f, "./"), "/"); f != "" {
			wanted[f] = true
			paths = append(paths, f)
		}
	}
	for i := range g.src.Symbols {
		s := &g.src.Symbols[i]
		if s.Kind == codesym.ImportOf {
			continue
		}
		w := 1.0
		if !s.Exported {
			w = 0.3
		}
		if g.late(i) == 1 {
			w *= testWeight
		}
		all[i] = w
		sumAll += w
		p := g.src.Files[s.File].Path
		inside := slices.ContainsFunc(paths, func(f string) bool { return p == f || f == "." || strings.HasPrefix(p, f+"/") })
		switch {
		case wanted[s.Name] || wanted[s.Short] || wanted[p+":"+s.Name]:
			near[i] = 4 // a name says more than the file that it is in
		case inside:
			near[i] = w
		}
		sumNear += near[i]
	}
	for i := range all {
		if sumAll > 0 {
			all[i] /= sumAll
		}
		if sumNear > 0 {
			all[i] = float64(spread*all[i]) + float64((1-spread)*near[i]/sumNear)
		}
	}
	return all
}
