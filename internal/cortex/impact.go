package cortex

import (
	"cmp"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// Relation says how one symbol depends on another. The constants below are its members; the zero value is none.
type Relation string

// The relations.
const (
	// Calls is a call, Mentions any other use of the name.
	Calls    Relation = "calls"
	Mentions Relation = "mentions"
	// Implements is a type that has the methods of an interface, Extends one that extends or embeds a type.
	Implements Relation = "implements"
	Extends    Relation = "extends"
)

// rank orders relations: one that the code states says more than a name.
func (r Relation) rank() int {
	if r == Mentions {
		return 1
	}
	return 0
}

// Dependent is something that depends on a symbol.
type Dependent struct {
	// Symbol is the index of the symbol, -1 for code of a file that stands in none; File is the index of the file.
	Symbol, File int
	// Via is the index of the symbol that it depends on: the one that was asked about, or a dependent of the depth before.
	Via      int
	Relation Relation
	Tier     Tier
	// Confidence is that of the surest way from the symbol that was asked about: the product of the steps, from 0 to 1.
	Confidence float64
	// Refs are the indexes of the calls, in source order; Lines the lines of all uses, from 1.
	Refs, Lines []int
}

// Impact is what may notice a change of a symbol.
type Impact struct {
	// Levels are the dependents by their distance, the first one at distance 1; a dependent stands in the nearest one alone. Within a level they are sorted by
	// confidence, then by file and place.
	Levels [][]Dependent
	// Importers are the files that import what the symbol is declared in and use its name, for types and constants; sorted.
	Importers []int
	// LeftOut counts the dependents that were found and not listed.
	LeftOut int
}

// Impact walks from a symbol to what depends on it, at most depth steps far and with at most limit dependents in all; 0 is no limit. Cycles end where they close.
func (r *Resolver) Impact(target, depth, limit int) Impact {
	g := r.g
	var out Impact
	if target < 0 || target >= len(g.src.Symbols) {
		return out
	}
	seen := map[int32]bool{}
	frontier := []Dependent{{Symbol: target, File: g.src.Symbols[target].File, Confidence: 1}}
	for i := range g.variants(target) {
		seen[g.key(i)] = true
	}
	total := 0
	for d := 0; d < depth && len(frontier) > 0; d++ {
		found := map[int32]*Dependent{}
		for _, via := range frontier {
			if via.Symbol < 0 || r.Stop != nil && r.Stop() {
				continue
			}
			k := g.src.Symbols[via.Symbol].Kind
			r.dependents(via.Symbol, d == 0 || k == codesym.Function || k == codesym.Method, func(x Dependent) {
				key := g.dependentKey(&x)
				if seen[key] {
					return
				}
				x.Via = via.Symbol
				x.Confidence *= via.Confidence
				old := found[key]
				if old == nil {
					found[key] = &x
					return
				}
				refs, lines := append(old.Refs, x.Refs...), append(old.Lines, x.Lines...)
				if cmp.Or(cmp.Compare(x.Relation.rank(), old.Relation.rank()), cmp.Compare(old.Confidence, x.Confidence)) < 0 {
					*old = x
				}
				old.Refs, old.Lines = refs, lines
			})
		}
		level := make([]Dependent, 0, len(found))
		for key, x := range found {
			seen[key] = true
			slices.Sort(x.Refs)
			x.Refs = slices.Compact(x.Refs)
			slices.Sort(x.Lines)
			x.Lines = slices.Compact(x.Lines)
			level = append(level, *x)
		}
		slices.SortFunc(level, g.compareDependents)
		frontier = level
		if limit > 0 && total+len(level) > limit {
			out.LeftOut += total + len(level) - limit
			level = level[:limit-total]
		}
		if total += len(level); len(level) > 0 {
			out.Levels = append(out.Levels, level)
		}
	}
	switch g.src.Symbols[target].Kind {
	case codesym.Function, codesym.Method, codesym.Module:
	default:
		out.Importers = r.importers(target)
	}
	return out
}

func (g *Graph) compareDependents(a, b Dependent) int {
	return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.File, b.File), cmp.Compare(a.Symbol, b.Symbol))
}

// dependentKey is the key of a symbol, or one of its own for the code of a file.
func (g *Graph) dependentKey(d *Dependent) int32 {
	if d.Symbol < 0 {
		return int32(-1 - d.File)
	}
	return g.key(d.Symbol)
}

// variants yields the declarations that a symbol is one of: of Go under other build constraints, of other languages its overloads too.
func (g *Graph) variants(symbol int) func(func(int) bool) {
	key := g.key(symbol)
	return func(yield func(int) bool) {
		for _, i := range g.byShort[g.src.Symbols[symbol].Short] {
			if g.key(int(i)) == key && !yield(int(i)) {
				return
			}
		}
	}
}

// dependents yields what depends directly on a symbol. uses says whether uses that are no calls count: a type that is used further on is hardly affected.
func (r *Resolver) dependents(symbol int, uses bool, yield func(Dependent)) {
	g := r.g
	s := &g.src.Symbols[symbol]
	key := g.key(symbol)
	through := map[int32]bool{} // methods of interfaces and of what the type extends
	if s.Kind == codesym.Method {
		for _, i := range g.byShort[s.Short] {
			if k := g.key(int(i)); k != key && g.src.Symbols[i].Kind == codesym.Method && r.overrides(symbol, int(i)) {
				through[k] = true
			}
		}
	}
	for _, ref := range r.refsTo(symbol) {
		for _, e := range r.Resolve(ref) {
			d := Dependent{Symbol: g.src.Refs[ref].From, File: g.src.Refs[ref].File, Relation: Calls, Tier: e.Tier, Confidence: e.Confidence,
				Refs: []int{ref}, Lines: []int{g.src.Refs[ref].Line}}
			switch k := g.key(e.To); {
			case k == key:
			case through[k]:
				d.Tier = ThroughInterface
				d.Confidence *= ThroughInterface.confidence()
			default:
				continue
			}
			r.place(&d)
			yield(d)
		}
	}
	if isType(s.Kind) {
		r.subtypes(symbol, yield)
	}
	if uses {
		r.mentions(symbol, yield)
	}
}

// place leaves the code of a file that stands in no symbol but its module to the file.
func (r *Resolver) place(d *Dependent) {
	if d.Symbol >= 0 && r.g.src.Symbols[d.Symbol].Kind == codesym.Module && r.g.src.Symbols[d.Symbol].Parent < 0 {
		d.Symbol = -1
	}
}

// refsTo returns the calls by the name of a symbol, also by a name that an import gives it.
func (r *Resolver) refsTo(symbol int) []int {
	g := r.g
	s := &g.src.Symbols[symbol]
	var out []int
	for _, i := range g.byCallee[s.Short] {
		out = append(out, int(i))
	}
	for _, i := range g.byAlias[s.Short] {
		m := &g.src.Imports[i]
		for _, ref := range g.byCallee[m.Alias] {
			if g.src.Refs[ref].File == m.File {
				out = append(out, int(ref))
			}
		}
	}
	return out
}

// overrides reports whether a call of one method may reach another: the type of the other extends that of the one or has all methods of it.
func (r *Resolver) overrides(method, of int) bool {
	g := r.g
	if family(g.lang(g.src.Symbols[method].File)) != family(g.lang(g.src.Symbols[of].File)) {
		return false
	}
	upper := g.src.Symbols[of].Parent
	if g.lang(g.src.Symbols[of].File) == codesym.Go {
		return upper >= 0 && g.src.Symbols[upper].Kind == codesym.Interface && r.goImplements(r.typeOfMethod(method), upper)
	}
	lower := r.typeOfMethod(method)
	return lower >= 0 && upper >= 0 && lower != upper && r.extends(lower, upper, true, map[int]bool{})
}

// typeOfMethod returns the type that a method belongs to, -1 where the project does not declare it.
func (r *Resolver) typeOfMethod(method int) int {
	g := r.g
	if p := g.src.Symbols[method].Parent; p >= 0 && isType(g.src.Symbols[p].Kind) {
		return p
	}
	pkg, name := g.pkg(method), lastName(g.scope(method))
	for _, i := range g.byShort[name] {
		if s := &g.src.Symbols[i]; isType(s.Kind) && g.pkg(int(i)) == pkg {
			return int(i)
		}
	}
	return -1
}

// extends reports whether a type names another among its bases, or, with deep, a base of its does. seen holds the types that were looked at.
func (r *Resolver) extends(lower, upper int, deep bool, seen map[int]bool) bool {
	g := r.g
	if seen[lower] {
		return false
	}
	seen[lower] = true
	s := &g.src.Symbols[lower]
	for _, base := range s.Bases {
		for _, t := range r.typesNamed(s.File, lastName(base)) {
			if t == lower {
				continue
			}
			if t == upper || deep && r.extends(t, upper, deep, seen) {
				return true
			}
			break // the nearest one is meant
		}
	}
	return false
}

// subtypes yields the types that extend, embed or implement a type.
func (r *Resolver) subtypes(symbol int, yield func(Dependent)) {
	g := r.g
	short := g.src.Symbols[symbol].Short
	for i := range g.src.Symbols {
		s := &g.src.Symbols[i]
		if !isType(s.Kind) || i == symbol || family(g.lang(s.File)) != family(g.lang(g.src.Symbols[symbol].File)) {
			continue
		}
		d := Dependent{Symbol: i, File: s.File, Relation: Extends, Tier: SamePackage, Confidence: SamePackage.confidence(), Lines: []int{s.Line}}
		named := slices.ContainsFunc(s.Bases, func(b string) bool { return lastName(b) == short }) && r.namesBase(i, symbol)
		switch {
		case named:
			if s.File != g.src.Symbols[symbol].File && g.pkg(i) != g.pkg(symbol) {
				d.Tier, d.Confidence = ImportedName, ImportedName.confidence()
			}
			if k := g.src.Symbols[symbol].Kind; k == codesym.Interface && s.Kind != codesym.Interface && g.lang(s.File) != codesym.Go || k == codesym.Trait {
				d.Relation = Implements
			}
		case g.src.Symbols[symbol].Kind == codesym.Interface && g.lang(s.File) == codesym.Go && s.Kind != codesym.Interface && r.goImplements(i, symbol):
			d.Relation, d.Tier, d.Confidence = Implements, MethodSet, MethodSet.confidence()
		default:
			continue
		}
		yield(d)
	}
}

// namesBase reports whether the base of a type that has the short name of another is that one: the nearest of its name.
func (r *Resolver) namesBase(lower, upper int) bool {
	g := r.g
	s := &g.src.Symbols[lower]
	if g.lang(s.File) != codesym.Go {
		return r.extends(lower, upper, false, map[int]bool{})
	}
	for _, base := range s.Bases {
		if lastName(base) != g.src.Symbols[upper].Short {
			continue
		}
		base = strings.TrimLeft(base, "*")
		qualifier, _, dotted := strings.Cut(base, ".")
		if !dotted {
			if r.samePackage(s.File, g.src.Symbols[upper].File) {
				return true
			}
			continue
		}
		if m := r.module(s.File, qualifier); m != nil && r.names(s.File, m.Path, g.src.Symbols[upper].File) {
			return true
		}
	}
	return false
}

// importers returns the files that import what a symbol is declared in and, as far as their text is there, use its name.
func (r *Resolver) importers(symbol int) []int {
	g := r.g
	short := g.src.Symbols[symbol].Short
	var out []int
	for i := range g.src.Imports {
		m := &g.src.Imports[i]
		if len(out) > 0 && out[len(out)-1] == m.File || m.Name != "" && m.Name != "*" && m.Name != short && g.lang(m.File) != codesym.Python {
			continue
		}
		if !r.provides(m.File, m, symbol) {
			continue
		}
		if r.Text != nil {
			if text, ok := r.Text(m.File); ok && !hasWord(text, short) {
				continue
			}
		}
		out = append(out, m.File)
	}
	return out
}

// ImportOf returns the index of the import's own symbol by which a file imports what a symbol is declared in, -1 for none.
func (g *Graph) ImportOf(file, symbol int) int {
	r := NewResolver(g)
	for i := range r.imports(file) {
		if m := &r.imports(file)[i]; m.Symbol >= 0 && r.provides(file, m, symbol) {
			return m.Symbol
		}
	}
	return -1
}
