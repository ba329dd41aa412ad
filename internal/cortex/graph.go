package cortex

import (
	"path"
	"sort"
	"strings"

	"sakur4/internal/codesym"
)

// Graph answers questions about who calls whom in a [Source]. It is safe for concurrent use: what it says never changes.
type Graph struct {
	src *Source
	// byShort and byCallee hold symbols and refs by name, byAlias the imports that give a name another one; each list is in the order of the source.
	byShort, byCallee, byAlias map[string][]int32
	byFile                     map[string]int
	byPackage                  map[string][]int32 // files
	methods                    map[string][]int32 // methods by package, a space and the name of their type
	method                     map[string]int32   // the first of that name, by what is in methods, a space and its name
	byBase                     map[string][]int32 // types by the bare names of what they extend
	keys                       []int32            // of the symbols: declarations with equal ones are one
	byKey                      [][]int32          // symbols by their keys, but for imports
	scopes                     []string           // of the symbols
	packages                   map[string][]ecmaPackage
	clauses                    []string // names in the package clauses of Go files
	dirs                       []string // folders of the files

	turn   chan struct{} // holds one value while links and totals are found or read
	links  []link        // with totals; nil before they are asked for
	totals []float64
}

// NewGraph makes a Graph of a source, which must not change afterwards.
func NewGraph(src *Source) *Graph {
	g := &Graph{src: src, packages: ecmaPackages(src), byShort: map[string][]int32{}, byCallee: map[string][]int32{}, byAlias: map[string][]int32{}, byFile: map[string]int{},
		byPackage: map[string][]int32{}, methods: map[string][]int32{}, method: map[string]int32{}, byBase: map[string][]int32{}, turn: make(chan struct{}, 1)}
	for i, f := range src.Files {
		g.byFile[f.Path] = i
		g.dirs = append(g.dirs, path.Dir(f.Path))
		g.byPackage[f.Package] = append(g.byPackage[f.Package], int32(i))
	}
	g.keys, g.scopes, g.clauses = make([]int32, len(src.Symbols)), make([]string, len(src.Symbols)), make([]string, len(src.Files))
	keys := map[[3]string]int32{}
	for i := range src.Symbols {
		s := &src.Symbols[i]
		g.scopes[i] = g.findScope(i)
		key := [3]string{src.Files[s.File].Package, g.scopes[i], s.Short}
		if _, ok := keys[key]; !ok {
			keys[key] = int32(len(keys))
			g.byKey = append(g.byKey, nil)
		}
		g.keys[i] = keys[key]
		if s.Kind == codesym.Module && g.clauses[s.File] == "" {
			g.clauses[s.File] = s.Short
		}
		if s.Kind == codesym.ImportOf {
			continue // it is known by its own name elsewhere
		}
		g.byShort[s.Short] = append(g.byShort[s.Short], int32(i))
		g.byKey[g.keys[i]] = append(g.byKey[g.keys[i]], int32(i))
		if s.Kind == codesym.Method {
			key := g.typeKey(src.Files[s.File].Package, lastName(g.owner(i)))
			g.methods[key] = append(g.methods[key], int32(i))
			key += " " + s.Short
			if _, twice := g.method[key]; !twice {
				g.method[key] = int32(i)
			}
		}
		if isType(s.Kind) {
			for _, b := range s.Bases {
				name := lastName(b)
				if list := g.byBase[name]; len(list) == 0 || list[len(list)-1] != int32(i) {
					g.byBase[name] = append(list, int32(i))
				}
			}
		}
	}
	for i, r := range src.Refs {
		g.byCallee[r.Callee] = append(g.byCallee[r.Callee], int32(i))
	}
	for i, m := range src.Imports {
		if m.Alias != "" && m.Name != "" && m.Name != "*" {
			g.byAlias[m.Name] = append(g.byAlias[m.Name], int32(i))
		}
	}
	return g
}

// Clause returns the name in the package clause of a Go file, "" of others.
func (g *Graph) Clause(file int) string {
	if g.lang(file) != codesym.Go {
		return ""
	}
	return g.clauses[file]
}

// Source returns what the graph was made of.
func (g *Graph) Source() *Source { return g.src }

func (g *Graph) typeKey(pkg, typ string) string { return pkg + " " + typ }

// FileAt returns the index of a file by its path, -1 where the source has none.
func (g *Graph) FileAt(p string) int {
	if i, ok := g.byFile[p]; ok {
		return i
	}
	return -1
}

// SymbolAt returns the index of the innermost symbol of a file that an offset lies in, -1 where it lies in none. Among the names of one declaration it is the
// one called name.
func (g *Graph) SymbolAt(file, offset int, name string) int {
	if file < 0 || file >= len(g.src.Files) {
		return -1
	}
	from, to := g.src.Files[file].Symbols[0], g.src.Files[file].Symbols[1]
	symbols := g.src.Symbols[from:to]
	i := sort.Search(len(symbols), func(i int) bool { return symbols[i].Start > offset }) - 1
	for i >= 0 && (symbols[i].End <= offset || symbols[i].Kind == codesym.ImportOf) {
		i = symbols[i].Parent - from
	}
	if i < 0 {
		return -1
	}
	best := i
	for k := i; name != "" && k >= 0 && symbols[k].Start == symbols[i].Start && symbols[k].End == symbols[i].End; k-- {
		if symbols[k].Short == name {
			best = k
		}
	}
	return from + best
}

// owner is the scope of a method as a type: of a Rust method "<m::T<K> as Trait>::f" it is T, whose methods are called alike whatever trait they are of.
func (g *Graph) owner(i int) string {
	scope := g.scopes[i]
	at := strings.LastIndex(scope, " as ")
	from := strings.IndexByte(scope, '<')
	if from < 0 || at < from || from > 0 && scope[from-1] != ':' {
		return scope
	}
	return scope[:from] + lastName(scope[from+1:at])
}

// key tells declarations apart: build variants and overloads of one have the same key.
func (g *Graph) key(i int) int32 { return g.keys[i] }

// findScope returns the qualified name of what a symbol stands in, "" for none: the type of a Go method too, which its declaration does not stand in.
func (g *Graph) findScope(i int) string {
	s := &g.src.Symbols[i]
	sep := g.lang(s.File).Separator()
	if s.Parent >= 0 {
		if p := &g.src.Symbols[s.Parent]; p.Kind != codesym.Module && strings.HasPrefix(s.Name, p.Name+sep) {
			return p.Name
		}
	}
	if at := strings.LastIndex(s.Name, sep+s.Short); at > 0 {
		return s.Name[:at]
	}
	return ""
}

func (g *Graph) lang(file int) codesym.Lang { return g.src.Files[file].Lang }

func (g *Graph) pkg(i int) string { return g.src.Files[g.src.Symbols[i].File].Package }

// family groups the languages whose files can call each other by name.
func family(l codesym.Lang) codesym.Lang {
	switch l {
	case codesym.TypeScript, codesym.TSX:
		return codesym.JavaScript
	case codesym.CPP:
		return codesym.C
	}
	return l
}

// callable reports whether something of that kind can be called: types are, as conversions and constructors.
func callable(k codesym.Kind) bool {
	switch k {
	case codesym.Function, codesym.Method, codesym.Class, codesym.Struct, codesym.Type, codesym.Enum, codesym.Interface, codesym.Trait:
		return true
	}
	return false
}

// isType reports whether a symbol of that kind may have methods.
func isType(k codesym.Kind) bool { return callable(k) && k != codesym.Function && k != codesym.Method }

// lastName returns the bare name at the end of a type as it is written: "*pkg.T[K]" is T.
func lastName(s string) string {
	s = strings.TrimLeft(s, "*&[] ")
	if at := strings.IndexAny(s, "<[(# "); at > 0 {
		s = s[:at]
	}
	s = strings.TrimRight(s, "*&?! ")
	if at := strings.LastIndexAny(s, ".:>/\\"); at >= 0 {
		s = s[at+1:]
	}
	return s
}

// dirOf returns the folder of a file, "." for the root.
func (g *Graph) dirOf(file int) string { return g.dirs[file] }
