package cortex

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"sort"
	"sync"
)

// Exact is what the type checker of Go says of a project: which declaration each name means, and which types implement which interfaces. It is safe for
// concurrent use.
type Exact struct {
	// Packages counts the packages of the project that were checked, with their tests; Broken those in which something could not be resolved.
	Packages, Broken int
	// Problem is the first error, "" for none.
	Problem string

	files   map[int]bool    // those that were checked
	uses    map[spot]spot   // the declaration of a name, by the name
	usedAt  map[spot][]spot // the other way round, in the order of the source
	objects map[spot][]*types.TypeName

	mu sync.Mutex // held while the checker's own types are asked, which compute some of what they say when it is first needed
}

// spot is an offset in a file; file is -1 for one outside of the project.
type spot struct{ file, offset int }

// elsewhere is the declaration of what the project does not declare.
var elsewhere = spot{file: -1}

// record takes over what was found in the files of one package.
func (c *goChecker) record(e *Exact, info *types.Info, files []*ast.File) {
	for _, f := range files {
		if c.spot(f.FileStart).file >= 0 {
			e.files[c.spot(f.FileStart).file] = true
		}
	}
	for id, obj := range info.Defs {
		if t, ok := obj.(*types.TypeName); ok {
			if at := c.spot(id.Pos()); at.file >= 0 {
				e.objects[at] = append(e.objects[at], t)
			}
		}
	}
	for id, obj := range info.Uses {
		to := elsewhere
		switch obj := obj.(type) {
		case *types.Func:
			to = c.spot(obj.Origin().Pos())
		case *types.TypeName, *types.Const:
			to = c.spot(obj.Pos())
		case *types.Var, *types.PkgName, *types.Label, *types.Nil, *types.Builtin:
		}
		at := c.spot(id.Pos())
		if at.file < 0 {
			continue
		}
		if old, ok := e.uses[at]; !ok || old.file < 0 {
			e.uses[at] = to
		}
	}
}

// has reports whether a file was checked.
func (e *Exact) has(file int) bool { return e != nil && e.files[file] }

// finish brings the uses into the order of the source.
func (e *Exact) finish() {
	for at, to := range e.uses {
		if to.file >= 0 {
			e.usedAt[to] = append(e.usedAt[to], at)
		}
	}
	for _, list := range e.usedAt {
		slices.SortFunc(list, func(a, b spot) int {
			if a.file != b.file {
				return a.file - b.file
			}
			return a.offset - b.offset
		})
	}
}

// spot returns the place of a position in the project.
func (c *goChecker) spot(p token.Pos) spot {
	if !p.IsValid() {
		return elsewhere
	}
	f := c.fset.File(p)
	if f == nil {
		return elsewhere
	}
	file, ok := c.projectFiles[f]
	if !ok {
		return elsewhere
	}
	return spot{file, f.Offset(p)}
}

// callee returns the symbol that the name at an offset means, -1 for one outside of the project; known is false where the checker does not say.
func (r *Resolver) callee(file, offset int) (symbol int, known bool) {
	if r.Exact == nil {
		return -1, false
	}
	to, ok := r.Exact.uses[spot{file, offset}]
	if !ok {
		return -1, false
	}
	return r.symbolOf(to), true
}

// symbolOf returns the symbol whose name stands at a spot, -1 for none.
func (r *Resolver) symbolOf(at spot) int {
	if at.file < 0 {
		return -1
	}
	if r.declared == nil {
		r.declared = map[spot]int{}
		for to := range r.Exact.usedAt {
			r.declared[to] = r.findDeclared(to)
		}
		for to := range r.Exact.objects {
			r.declared[to] = r.findDeclared(to)
		}
	}
	if i, ok := r.declared[at]; ok {
		return i
	}
	return -1
}

func (r *Resolver) findDeclared(at spot) int {
	text, ok := "", false
	if r.Text != nil {
		text, ok = r.Text(at.file)
	}
	name := ""
	if ok && at.offset < len(text) {
		end := at.offset
		for end < len(text) && identRune(rune(text[end])) {
			end++
		}
		name = text[at.offset:end]
	}
	i := r.g.SymbolAt(at.file, at.offset, name)
	if i >= 0 && name != "" && r.g.src.Symbols[i].Short != name {
		return -1 // a local variable or the like
	}
	return i
}

// exactUses yields the uses of a symbol that are no calls of the source.
func (r *Resolver) exactUses(symbol int, yield func(Dependent)) {
	g := r.g
	key := g.key(symbol)
	calls := map[spot]bool{}
	for _, ref := range r.refsTo(g.src.Symbols[symbol].Short) {
		calls[spot{g.src.Refs[ref].File, g.src.Refs[ref].Offset}] = true
	}
	if r.spotsOf == nil {
		r.spotsOf = map[int32][]spot{}
		for to, list := range r.Exact.usedAt {
			if i := r.symbolOf(to); i >= 0 {
				r.spotsOf[g.key(i)] = append(r.spotsOf[g.key(i)], list...)
			}
		}
	}
	found := slices.Clone(r.spotsOf[key])
	slices.SortFunc(found, func(a, b spot) int {
		if a.file != b.file {
			return a.file - b.file
		}
		return a.offset - b.offset
	})
	for _, at := range slices.Compact(found) {
		if !calls[at] && !declares(g, at.file, at.offset, symbol) {
			r.mention(symbol, at.file, at.offset, r.line(at.file, at.offset), Exactly, yield)
		}
	}
}

// line returns the line of an offset, from 1; 0 where the text of the file is not there.
func (r *Resolver) line(file, offset int) int {
	lines, ok := r.lines[file]
	if !ok {
		if r.Text != nil {
			if text, there := r.Text(file); there {
				lines = []int{0}
				for i := range len(text) {
					if text[i] == '\n' {
						lines = append(lines, i+1)
					}
				}
			}
		}
		r.lines[file] = lines
	}
	return sort.SearchInts(lines, offset+1)
}

// exactImplements says whether a type implements an interface, known is false where the checker has not seen both.
func (r *Resolver) exactImplements(typ, iface int) (yes, known bool) {
	if r.Exact == nil {
		return false, false
	}
	r.Exact.mu.Lock()
	defer r.Exact.mu.Unlock()
	for _, t := range r.objectsOf(typ) {
		for _, i := range r.objectsOf(iface) {
			under, ok := i.Type().Underlying().(*types.Interface)
			if !ok {
				continue
			}
			known = true
			if hasMethods(t.Type(), under) && (types.Implements(t.Type(), under) || types.Implements(types.NewPointer(t.Type()), under)) {
				return true, true
			}
		}
	}
	return false, known
}

// hasMethods reports whether a type has methods of all names of an interface. The checker lets a type that it could not make out implement everything.
func hasMethods(t types.Type, iface *types.Interface) bool {
	set := types.NewMethodSet(t)
	if !types.IsInterface(t) {
		set = types.NewMethodSet(types.NewPointer(t))
	}
	for m := range iface.Methods() {
		if set.Lookup(m.Pkg(), m.Name()) == nil {
			return false
		}
	}
	return true
}

func (r *Resolver) objectsOf(symbol int) []*types.TypeName {
	if r.typeObjects == nil {
		r.typeObjects = map[int][]*types.TypeName{}
		for at, list := range r.Exact.objects {
			if i := r.symbolOf(at); i >= 0 {
				r.typeObjects[i] = append(r.typeObjects[i], list...)
			}
		}
	}
	return r.typeObjects[symbol]
}
