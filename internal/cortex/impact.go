package cortex

import (
	"cmp"
	"slices"
	"sort"
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

// maxWalked is how many dependents a walk with a limit finds before it goes no further: of what is behind them only a number would be said.
const maxWalked = 1000

// Impact walks from a symbol to what depends on it, at most depth steps far and with at most limit dependents in all; 0 is no limit. Cycles end where they close. With a limit it goes no
// further from where a thousand were found.
func (r *Resolver) Impact(target, depth, limit int) Impact {
	g := r.g
	var out Impact
	if target < 0 || target >= len(g.src.Symbols) {
		return out
	}
	seen := map[int32]bool{}
	frontier := []Dependent{{Symbol: target, File: g.src.Symbols[target].File, Confidence: 1}}
	for i := range g.variants(target) {
		if s := &g.src.Symbols[i]; s.Name == g.src.Symbols[target].Name || g.lang(s.File) == codesym.Go { // a declaration in a header is no other thing
			seen[g.dependentKey(&Dependent{Symbol: i, File: s.File})] = true
		}
	}
	total, walked := 0, 0
	for d := 0; d < depth && len(frontier) > 0; d++ {
		found := map[int32]*Dependent{}
		for _, via := range frontier {
			if via.Symbol < 0 || r.stopped() {
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
		if walked += len(level); limit > 0 && walked > max(limit, maxWalked) {
			frontier = nil
		}
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

// dependentKey tells dependents apart: variants of a Go declaration under other build constraints are one, overloads of other languages are not, and the code of a
// file has a key of its own.
func (g *Graph) dependentKey(d *Dependent) int32 {
	switch {
	case d.Symbol < 0:
		return int32(-1 - d.File)
	case g.lang(d.File) == codesym.Go:
		if all := g.byKey[g.key(d.Symbol)]; len(all) > 0 {
			return all[0]
		}
	}
	return int32(d.Symbol)
}

// variants yields the declarations that a symbol is one of: of Go under other build constraints, of other languages its overloads too.
func (g *Graph) variants(symbol int) func(func(int) bool) {
	key := g.key(symbol)
	return func(yield func(int) bool) {
		for _, i := range g.byKey[key] {
			if !yield(int(i)) {
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
	direct, through := r.reachOf(symbol), r.through(symbol)
	for _, c := range direct.at[key] {
		yield(r.dependent(c))
	}
	for _, k := range through {
		for _, c := range direct.at[k] {
			d := r.dependent(c)
			d.Tier = ThroughInterface
			d.Confidence *= ThroughInterface.confidence()
			yield(d)
		}
	}
	if isType(s.Kind) {
		r.subtypes(symbol, yield)
	}
	if uses && !r.stopped() {
		r.mentions(symbol, yield)
	}
}

// call is a call with what it reaches.
type call struct {
	ref  int
	edge Edge
}

// reach holds the calls of one name by the key of what they reach.
type reach struct{ at map[int32][]call }

// reachOf resolves the calls that may reach a symbol, once: all of its name, but of a function or type of a Go package only those that stand in the package, name it or import
// all of it. The others would have to have the types of their receivers found out, in thousands of files where the name is a common one.
func (r *Resolver) reachOf(symbol int) *reach {
	g := r.g
	s := &g.src.Symbols[symbol]
	if g.lang(s.File) != codesym.Go || !topLevel(g, symbol) {
		return r.reach(s.Short, s.Short, func(*Ref) bool { return true })
	}
	if r.gofer == nil {
		r.gofer = newGoInfer(r)
	}
	pkg := g.src.Files[s.File].Package
	return r.reach(s.Short+" "+pkg, s.Short, func(ref *Ref) bool {
		if ref.Receiver == "" {
			return g.src.Files[ref.File].Package == pkg || slices.Contains(r.gofer.dotted(ref.File), pkg)
		}
		m := r.module(ref.File, ref.Receiver)
		return m != nil && m.Path == pkg
	})
}

// reach resolves the calls of a name that may be of use, once for a key.
func (r *Resolver) reach(key, short string, may func(*Ref) bool) *reach {
	if out, ok := r.reached[key]; ok {
		return out
	}
	out := &reach{at: map[int32][]call{}}
	for i, ref := range r.refsTo(short) {
		if i%64 == 0 && r.stopped() {
			return out // and do not keep it
		}
		if !may(&r.g.src.Refs[ref]) {
			continue
		}
		for _, e := range r.Resolve(ref) {
			k := r.g.key(e.To)
			out.at[k] = append(out.at[k], call{ref, e})
		}
	}
	r.reached[key] = out
	return out
}

// stopped reports whether nobody waits any more.
func (r *Resolver) stopped() bool { return r.Stop != nil && r.Stop() }

// dependent returns what a call makes of what it stands in.
func (r *Resolver) dependent(c call) Dependent {
	ref := &r.g.src.Refs[c.ref]
	d := Dependent{Symbol: ref.From, File: ref.File, Relation: Calls, Tier: c.edge.Tier, Confidence: c.edge.Confidence, Refs: []int{c.ref}, Lines: []int{ref.Line}}
	r.place(&d)
	return d
}

// place leaves the code of a file that stands in no symbol but its module to the file.
func (r *Resolver) place(d *Dependent) {
	if d.Symbol >= 0 && r.g.src.Symbols[d.Symbol].Kind == codesym.Module && r.g.src.Symbols[d.Symbol].Parent < 0 {
		d.Symbol = -1
	}
}

// refsTo returns the calls by a name, also by one that an import gives it.
func (r *Resolver) refsTo(short string) []int {
	g := r.g
	var out []int
	for _, i := range g.byCallee[short] {
		out = append(out, int(i))
	}
	for _, i := range g.byAlias[short] {
		m := &g.src.Imports[i]
		if m.Alias == short {
			continue // they are there
		}
		list := g.byCallee[m.Alias]
		for k := sort.Search(len(list), func(k int) bool { return g.src.Refs[list[k]].File >= m.File }); k < len(list) && g.src.Refs[list[k]].File == m.File; k++ {
			out = append(out, int(list[k]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// through returns the keys of those methods of a symbol's name whose calls may reach it: those of the interfaces that its type implements, and those of what its
// type extends; sorted.
func (r *Resolver) through(method int) []int32 {
	g := r.g
	s := &g.src.Symbols[method]
	if s.Kind != codesym.Method {
		return nil
	}
	var out []int32
	add := func(k int32) {
		if k != g.key(method) {
			out = append(out, k)
		}
	}
	lower := r.typeOfMethod(method)
	if g.lang(s.File) == codesym.Go {
		for _, i := range r.ifaceMethods(s.Short) {
			if r.goImplements(lower, g.src.Symbols[i].Parent) {
				add(g.key(int(i)))
			}
		}
	} else if lower >= 0 {
		all := r.sakes(allSymbols, s.Short, g.lang(s.File))
		for _, t := range r.ancestors(lower) {
			for _, i := range r.within(all, s.File, hint{kind: inParent, n: t}) {
				if m := &g.src.Symbols[i]; m.Kind == codesym.Method && m.Parent == t {
					add(g.key(int(i)))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxInterfaces is how many interfaces with a method of one name a Go method is compared with. Nobody reads a report of more.
const maxInterfaces = 1024

// ifaceMethods returns the methods of that name of Go interfaces.
func (r *Resolver) ifaceMethods(short string) []int32 {
	if out, ok := r.ifaces[short]; ok {
		return out
	}
	g := r.g
	var out []int32
	for _, i := range r.sakes(callables, short, codesym.Go).list {
		s := &g.src.Symbols[i]
		if s.Kind == codesym.Method && s.Parent >= 0 && g.src.Symbols[s.Parent].Kind == codesym.Interface && len(out) < maxInterfaces {
			out = append(out, i)
		}
	}
	r.ifaces[short] = out
	return out
}

// ancestors returns the types that a type extends, and those that they extend: of each base the nearest of that name.
func (r *Resolver) ancestors(typ int) []int {
	g := r.g
	var out []int
	seen := map[int]bool{typ: true}
	for todo := []int{typ}; len(todo) > 0; {
		t := todo[0]
		todo = todo[1:]
		for _, base := range g.src.Symbols[t].Bases {
			if up := r.baseOf(t, base); up >= 0 && !seen[up] {
				seen[up] = true
				out = append(out, up)
				todo = append(todo, up)
			}
		}
	}
	return out
}

// baseOf returns the type that a base of a type names: the nearest; -1 for none.
func (r *Resolver) baseOf(typ int, base string) int {
	for _, t := range r.typesNamed(r.g.src.Symbols[typ].File, lastName(base)) {
		if t != typ {
			return t
		}
	}
	return -1
}

// typeOfMethod returns the type that a method belongs to, -1 where the project does not declare it.
func (r *Resolver) typeOfMethod(method int) int {
	g := r.g
	if p := g.src.Symbols[method].Parent; p >= 0 && isType(g.src.Symbols[p].Kind) {
		return p
	}
	pkg, name := g.pkg(method), lastName(g.owner(method))
	file := g.src.Symbols[method].File
	for _, i := range r.within(r.sakes(typesOnly, name, g.lang(file)), file, hint{kind: inPackage, s: pkg}) {
		r.looks++
		if s := &g.src.Symbols[i]; isType(s.Kind) && g.pkg(int(i)) == pkg {
			return int(i)
		}
	}
	return -1
}

// subtypes yields the types that extend, embed or implement a type.
func (r *Resolver) subtypes(symbol int, yield func(Dependent)) {
	g := r.g
	short := g.src.Symbols[symbol].Short
	list := slices.Clone(g.byBase[short])
	if g.src.Symbols[symbol].Kind == codesym.Interface && g.lang(g.src.Symbols[symbol].File) == codesym.Go {
		list = append(list, r.mayImplement(symbol)...)
	}
	slices.Sort(list)
	for _, at := range slices.Compact(list) {
		i := int(at)
		s := &g.src.Symbols[i]
		r.looks++
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
		return slices.ContainsFunc(s.Bases, func(b string) bool { return r.baseOf(lower, b) == upper })
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
	for _, i := range r.importsOf(symbol) {
		m := &g.src.Imports[i]
		if len(out) > 0 && out[len(out)-1] == m.File || m.Name != "" && m.Name != "*" && m.Name != short && g.lang(m.File) != codesym.Python {
			continue
		}
		if !r.provides(m, symbol) {
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
		if m := &r.imports(file)[i]; m.Symbol >= 0 && r.provides(m, symbol) {
			return m.Symbol
		}
	}
	return -1
}
