package cortex

import (
	"cmp"
	"go/types"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// maxCandidates is how many declarations an ambiguous call is taken to reach by default. More of them say nothing.
const maxCandidates = 5

// maxNamesakes is how many declarations of one name a call without any hint is compared with. Of more of them each is next to impossible.
const maxNamesakes = 64

// Edge is one declaration that a call may reach.
type Edge struct {
	// To is the index of the symbol in the source.
	To int
	// Tier says how it was found, Confidence how sure that is, from 0 to 1.
	Tier       Tier
	Confidence float64
}

// Resolver finds the declarations that calls reach. It is for one goroutine. The tiers are tried from the surest on; the first that finds something decides, and
// a call whose receiver or import is known to lie outside of the project reaches nothing.
type Resolver struct {
	g *Graph
	// Candidates bounds what an ambiguous call reaches; 0 is five.
	Candidates int
	// Text returns the text of a file, false where there is none. With it the types of receivers are inferred from the bodies of functions, without it from
	// signatures alone.
	Text func(file int) (string, bool)

	// Exact is what the type checker of Go says, nil for nothing. It goes before all tiers.
	Exact *Exact
	// Stop says that nobody waits any more: [Resolver.Impact] then ends early with what it has. nil is never.
	Stop func() bool

	known     map[int][]Edge // by the index of the ref
	near      map[nameIn]int
	aliases   map[int]map[string]*Import // by file
	sets      map[int]map[string]int     // methods of Go types by name
	gofer     *goInfer
	named     map[sakeKey]*namesakes
	typesOf   map[nameIn][]int       // types that a file may mean by a name
	receivers map[receiverKey]string // types that receivers were declared with
	proses    map[int][]span         // comments and strings of a file
	handedOn  map[*Import][]*Import  // what modules hand on
	modules   map[string][]int       // files by what imports may call them; nil before it is asked for
	importing map[hint][]int32       // imports by what they name; nil before it is asked for
	reached   map[string]*reach      // what calls of a name reach
	ifaces    map[string][]int32     // methods of Go interfaces by name
	written   map[int]string         // types in the signatures of Go methods
	lines     map[int][]int          // offsets of the lines of a file
	looks     int                    // how many declarations were looked at, for tests
	// declared and typeObjects are the symbols of what the type checker found.
	declared    map[spot]int
	spotsOf     map[int32][]spot // names by the key of what they mean
	typeObjects map[int][]*types.TypeName
}

// nameIn is a name as a file knows it.
type nameIn struct {
	file int
	name string
}

// NewResolver returns a resolver over a graph.
func NewResolver(g *Graph) *Resolver {
	return &Resolver{g: g, known: map[int][]Edge{}, near: map[nameIn]int{}, aliases: map[int]map[string]*Import{}, sets: map[int]map[string]int{},
		named: map[sakeKey]*namesakes{}, typesOf: map[nameIn][]int{}, reached: map[string]*reach{}, handedOn: map[*Import][]*Import{}, proses: map[int][]span{}, receivers: map[receiverKey]string{}, ifaces: map[string][]int32{}, written: map[int]string{}, lines: map[int][]int{}}
}

// Resolve returns the declarations that the ref at that index reaches, the surest first; none where it leaves the project or nobody knows.
func (r *Resolver) Resolve(ref int) []Edge {
	if out, ok := r.known[ref]; ok {
		return out
	}
	out := r.resolve(ref)
	r.known[ref] = out
	return out
}

// place is where a call stands.
type place struct {
	ref    *Ref
	lang   codesym.Lang
	callee string // the declared name, where the file calls it by another
	// owner is the qualified name of the type that the call stands in, "" for none.
	owner string
	cands *namesakes
	// climbed are the types whose bases were looked at.
	climbed map[int]bool
}

func (r *Resolver) resolve(ref int) []Edge {
	g := r.g
	p := place{ref: &g.src.Refs[ref], callee: g.src.Refs[ref].Callee}
	p.lang = g.lang(p.ref.File)
	if to, known := r.callee(p.ref.File, p.ref.Offset); known {
		if to < 0 || !callable(g.src.Symbols[to].Kind) {
			return nil
		}
		return []Edge{{To: to, Tier: Exactly, Confidence: 1}}
	}
	binding, alias := r.binding(&p)
	if alias {
		p.callee = binding.Name
	}
	if p.cands = r.sakes(callables, p.callee, p.lang); len(p.cands.list) == 0 {
		return nil
	}
	p.owner = r.ownerOf(p.ref.From)
	if p.lang == codesym.Go {
		return r.resolveGo(&p)
	}
	if p.ref.Receiver == "" {
		return r.resolveBare(&p, binding)
	}
	return r.resolveMember(&p)
}

// binding returns the import that gives a bare call its name, and whether under another name than the declared one.
func (r *Resolver) binding(p *place) (m *Import, alias bool) {
	if p.ref.Receiver != "" {
		return nil, false
	}
	for i := range r.imports(p.ref.File) {
		im := &r.imports(p.ref.File)[i]
		switch {
		case im.Alias == p.callee && im.Name != "" && im.Name != "*":
			return im, im.Name != im.Alias
		case im.Alias == "" && im.Name == p.callee:
			m = im
		}
	}
	return m, false
}

func (r *Resolver) imports(file int) []Import {
	f := &r.g.src.Files[file]
	return r.g.src.Imports[f.Imports[0]:f.Imports[1]]
}

// ownerOf returns the qualified name of the innermost type around a symbol, the symbol included; "" for none.
func (r *Resolver) ownerOf(from int) string {
	g := r.g
	for i := from; i >= 0; i = g.src.Symbols[i].Parent {
		s := &g.src.Symbols[i]
		switch {
		case s.Kind == codesym.Method:
			return g.owner(i)
		case isType(s.Kind):
			return s.Name
		}
	}
	return ""
}

// pick returns the edges of those candidates in some places that keep accepts, nil where there are none. Several ones share the confidence.
func (r *Resolver) pick(p *place, tier Tier, keep func(i int) bool, places ...hint) []Edge {
	return r.pickOf(p, tier, r.within(p.cands, p.ref.File, places...), keep)
}

func (r *Resolver) pickOf(p *place, tier Tier, list []int32, keep func(i int) bool) []Edge {
	var out []Edge
	r.looks += len(list)
	for _, i := range list {
		if keep(int(i)) {
			out = append(out, Edge{To: int(i), Tier: tier})
		}
	}
	return r.share(p, out, tier.confidence())
}

func (r *Resolver) share(p *place, out []Edge, confidence float64) []Edge {
	if len(out) == 0 {
		return nil
	}
	k := r.Candidates
	if k <= 0 {
		k = maxCandidates
	}
	// Overloads and build variants of one declaration are one answer, not several.
	names := map[int32]bool{}
	for _, e := range out {
		names[r.g.key(e.To)] = true
	}
	if len(names) > 1 {
		from := p.ref.File
		slices.SortStableFunc(out, func(a, b Edge) int {
			return cmp.Compare(r.distance(from, a.To), r.distance(from, b.To))
		})
		confidence /= float64(len(names))
	} else {
		k = maxNamesakes
	}
	// What is left out is not kept in memory either: every call of a common name would hold all declarations of it.
	out = slices.Clone(out[:min(len(out), k)])
	for i := range out {
		out[i].Confidence = confidence
	}
	return out
}

// distance says how far a symbol is from a file: 0 in the file, 1 in its folder, else the number of steps between their folders.
func (r *Resolver) distance(file, symbol int) int {
	to := r.g.src.Symbols[symbol].File
	if to == file {
		return 0
	}
	a, b := r.g.dirOf(file), r.g.dirOf(to)
	same := 0 // length of the names in front that are equal
	for i := 0; ; i++ {
		endA, endB := i == len(a) || a[i] == '/', i == len(b) || b[i] == '/'
		if endA && endB {
			same = i
		}
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			break
		}
	}
	return 1 + steps(a[same:]) + steps(b[same:])
}

// steps counts the names of what is left of a path.
func steps(rest string) int {
	if rest == "" || rest[0] == '/' {
		return strings.Count(rest, "/")
	}
	return 1 + strings.Count(rest, "/")
}

// leftOver is for names that no scope explains: the only declaration of the project, or several.
func (r *Resolver) leftOver(p *place, keep func(i int) bool) []Edge {
	if len(p.cands.list) > maxNamesakes {
		return nil
	}
	out := r.pickOf(p, UniqueInProject, p.cands.list, keep)
	for i := range out {
		if r.g.key(out[i].To) != r.g.key(out[0].To) {
			return r.pickOf(p, Ambiguous, p.cands.list, keep)
		}
	}
	return out
}

// resolveBare resolves a call without a receiver in languages other than Go.
func (r *Resolver) resolveBare(p *place, binding *Import) []Edge {
	g := r.g
	// A declaration within a scope around the call.
	for i := p.ref.From; i >= 0; i = g.src.Symbols[i].Parent {
		inner := i
		if isType(g.src.Symbols[i].Kind) && !implicitThis(p.lang) {
			continue
		}
		if out := r.pick(p, SameScope, func(c int) bool { return g.src.Symbols[c].Parent == inner }, hint{kind: inParent, n: inner}); out != nil {
			return out
		}
	}
	if p.owner != "" && implicitThis(p.lang) {
		if out := r.members(p, SameScope, p.owner, p.ref.File); out != nil {
			return out
		}
	}
	free := func(c int) bool { return r.free(c, p.lang) }
	if out := r.pick(p, SameFile, func(c int) bool { return free(c) && g.src.Symbols[c].File == p.ref.File }, hint{kind: inFile, n: p.ref.File}); out != nil {
		return out
	}
	if binding != nil {
		return r.pick(p, ImportedName, func(c int) bool { return free(c) && r.provides(binding, c) }, r.importHints(binding)...)
	}
	for i := range r.imports(p.ref.File) {
		im := &r.imports(p.ref.File)[i]
		if !wildcard(p.lang, im) {
			continue
		}
		if out := r.pick(p, ImportedName, func(c int) bool { return free(c) && r.provides(im, c) }, r.importHints(im)...); out != nil {
			return out
		}
	}
	switch p.lang {
	case codesym.Java:
		return r.pick(p, SamePackage, func(c int) bool { return free(c) && g.pkg(c) == g.src.Files[p.ref.File].Package },
			hint{kind: inPackage, s: g.src.Files[p.ref.File].Package})
	case codesym.Python, codesym.TypeScript, codesym.TSX:
		return nil // a name that is neither declared nor imported is built in
	}
	if out := r.pick(p, SamePackage, func(c int) bool { return free(c) && g.dirOf(g.src.Symbols[c].File) == g.dirOf(p.ref.File) },
		hint{kind: inFolder, s: g.dirOf(p.ref.File)}); out != nil {
		return out
	}
	return r.leftOver(p, free)
}

// implicitThis reports whether a method may be called by its bare name within its type.
func implicitThis(l codesym.Lang) bool { return l == codesym.Java || l == codesym.CPP }

// wildcard reports whether an import brings in all names of its module.
func wildcard(l codesym.Lang, m *Import) bool {
	return m.Name == "*" && m.Alias == "" || l == codesym.C || l == codesym.CPP
}

// free reports whether a symbol is called by its bare name, or by that of its module: it is no member of a type.
func (r *Resolver) free(c int, l codesym.Lang) bool {
	s := &r.g.src.Symbols[c]
	if s.Kind == codesym.Method {
		return false
	}
	if s.Parent >= 0 && isType(r.g.src.Symbols[s.Parent].Kind) {
		return isType(s.Kind)
	}
	if s.Parent >= 0 && r.g.src.Symbols[s.Parent].Kind == codesym.Function {
		return false
	}
	return true
}

// resolveMember resolves a call with a receiver in languages other than Go.
func (r *Resolver) resolveMember(p *place) []Edge {
	g := r.g
	recv := p.ref.Receiver
	last := lastName(recv)
	switch strings.TrimSuffix(recv, "()") {
	case "this", "self", "cls", "Self", "&self", "*this":
		if p.owner != "" {
			if out := r.members(p, SameScope, p.owner, p.ref.File); out != nil {
				return out
			}
			return r.leftOver(p, func(c int) bool { return g.src.Symbols[c].Kind == codesym.Method })
		}
	case "super", "base":
		if out := r.inherited(p, SameScope, p.owner, p.ref.File); out != nil {
			return out
		}
		return nil
	}
	// A module that is imported.
	if m := r.module(p.ref.File, recv); m != nil {
		if m.Name == "" || m.Name == "*" || p.lang != codesym.Java {
			if out := r.pick(p, ImportedName, func(c int) bool { return r.free(c, p.lang) && r.provides(m, c) },
				r.importHints(m)...); out != nil {
				return out
			}
		}
		if m.Name == "" || m.Name == "*" {
			return nil // a module that is not of this project, or has no such name
		}
	}
	// A type by its name: a static method, or an associated function.
	if out := r.ofType(p, last); out != nil {
		return out
	}
	// A namespace or a module that is no import.
	if strings.Contains(recv, "::") || p.lang.Separator() == "::" && !strings.ContainsAny(recv, ".->") {
		if out := r.pick(p, ImportedName, func(c int) bool {
			return r.free(c, p.lang) && (lastName(g.owner(c)) == last || strings.HasSuffix(strings.TrimSuffix(g.src.Files[g.src.Symbols[c].File].Path, ".rs"), "/"+last))
		}, hint{kind: inScope, s: last}, hint{kind: inBase, s: last}); out != nil {
			return out
		}
	}
	// A parameter whose type the signature says.
	if typ := paramType(p.lang, r.signature(p.ref.From), recv); typ != "" {
		return r.ofType(p, lastName(typ)) // of another project where nothing is found
	}
	if typ := r.receiverType(p); typ != "" {
		return r.ofType(p, typ)
	}
	return r.leftOver(p, func(c int) bool { return g.src.Symbols[c].Kind == codesym.Method })
}

func (r *Resolver) signature(symbol int) string {
	if symbol < 0 {
		return ""
	}
	return r.g.src.Symbols[symbol].Signature
}

// ofType resolves a member of a type by the type's bare name: the one that is declared nearest.
func (r *Resolver) ofType(p *place, typ string) []Edge {
	for _, t := range r.typesNamed(p.ref.File, typ) {
		if out := r.members(p, ReceiverType, r.g.src.Symbols[t].Name, r.g.src.Symbols[t].File); out != nil {
			return out
		}
	}
	return nil
}

// typesNamed returns the types that a file may mean by a name, nearest first.
func (r *Resolver) typesNamed(file int, name string) []int {
	key := nameIn{file, name}
	if out, ok := r.typesOf[key]; ok {
		return out
	}
	imports := r.imports(file)
	for i := range imports {
		if m := &imports[i]; m.Alias == name && m.Name != "" && m.Name != "*" {
			name = m.Name
			break
		}
	}
	all := r.sakes(typesOnly, name, r.g.lang(file))
	list := all.list
	if len(list) > maxNamesakes { // those that it can see
		places := []hint{{kind: inFile, n: file}, {kind: inFolder, s: r.g.dirOf(file)}, {kind: inPackage, s: r.g.src.Files[file].Package}}
		for i := range imports {
			places = append(places, r.importHints(&imports[i])...)
		}
		list = r.within(all, file, places...)
	}
	r.looks += len(list)
	out := make([]int, len(list))
	for i, t := range list {
		out[i] = int(t)
	}
	// What the file can name goes before what is merely near.
	unseen := map[int]int{}
	if len(out) > 1 {
		for _, t := range out {
			if !r.visible(file, t) {
				unseen[t] = 1
			}
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(unseen[a], unseen[b]), cmp.Compare(r.distance(file, a), r.distance(file, b)))
	})
	out = slices.Clone(out[:min(len(out), maxCandidates)])
	r.typesOf[key] = out
	return out
}

// members resolves to the members of a type, else of what it extends.
func (r *Resolver) members(p *place, tier Tier, typ string, file int) []Edge {
	g := r.g
	pkg := g.src.Files[file].Package
	own := func(c int) bool { return g.src.Symbols[c].Kind == codesym.Method && g.owner(c) == typ }
	if out := r.pick(p, tier, func(c int) bool { return own(c) && g.src.Symbols[c].File == file }, hint{kind: inFile, n: file}); out != nil {
		return out
	}
	if out := r.pick(p, tier, func(c int) bool {
		return own(c) && (g.pkg(c) == pkg || g.dirOf(g.src.Symbols[c].File) == g.dirOf(file))
	}, hint{kind: inPackage, s: pkg}, hint{kind: inFolder, s: g.dirOf(file)}); out != nil {
		return out
	}
	if p.lang == codesym.C || p.lang == codesym.CPP || p.lang == codesym.Rust { // declared in one place, defined in another
		if out := r.pick(p, tier, own, hint{kind: inScope, s: lastName(typ)}); out != nil {
			return out
		}
	}
	return r.inherited(p, tier, typ, file)
}

// inherited resolves to the members of what a type extends.
func (r *Resolver) inherited(p *place, tier Tier, typ string, file int) []Edge {
	for _, i := range r.within(r.sakes(allSymbols, lastName(typ), p.lang), file, hint{kind: inFile, n: file}) {
		s := &r.g.src.Symbols[i]
		if s.Name != typ || s.File != file || p.climbed[int(i)] {
			continue
		}
		if p.climbed == nil {
			p.climbed = map[int]bool{}
		}
		p.climbed[int(i)] = true
		for _, base := range s.Bases {
			for _, t := range r.typesNamed(file, lastName(base)) {
				if t == int(i) {
					continue
				}
				if out := r.members(p, tier, r.g.src.Symbols[t].Name, r.g.src.Symbols[t].File); out != nil {
					return out
				}
			}
		}
	}
	return nil
}
