package cortex

import (
	"cmp"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// Named is a symbol by its names.
type Named struct {
	// ID is the id of its fact. Name is the qualified name, Package and Path are those of its file. Clause is the name in the package clause of a Go file.
	ID, Name, Package, Path, Clause string
	Kind                            codesym.Kind
}

// Key returns the part of a name, or of a question for one, that every form of it ends in: the name without scopes, parameters and number.
func Key(name string) string {
	name = plain(name)
	for i := len(name) - 1; i >= 0; i-- {
		if boundary(name[i]) && i < len(name)-1 {
			return name[i+1:]
		}
	}
	return name
}

// boundary reports whether a byte stands between the parts of a name.
func boundary(c byte) bool { return c == '.' || c == ':' || c == '/' }

// plain takes the number and the parameters off the end of a name.
func plain(name string) string {
	if i := strings.LastIndexByte(name, '#'); i > 0 && i < len(name)-1 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	if !strings.HasSuffix(name, ")") {
		return name
	}
	depth := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return name[:i]
			}
		}
	}
	return name
}

// Long returns the name with its package in front, as other code would write it: of Go the import path, with "_test" behind it for tests that are a package of
// their own.
func (n Named) Long() string {
	switch {
	case n.Package == "":
		return n.Name
	case n.external():
		return n.Package + "_test." + n.Name
	}
	return n.Package + "." + n.Name
}

// external reports whether the symbol is of the external tests of a Go package.
func (n Named) external() bool {
	return strings.HasSuffix(n.Clause, "_test") && strings.HasSuffix(n.Path, "_test.go")
}

// others returns further names with something in front, which may stand for several symbols: with the name of the package clause where the folder is called
// otherwise, as "main.run" and "yaml.Node" of the folder yaml.v3, and with the folder of external tests.
func (n Named) others() []string {
	var out []string
	if n.Clause != "" && n.Clause != n.Package[strings.LastIndexByte(n.Package, '/')+1:] {
		out = append(out, n.Clause+"."+n.Name)
	}
	if n.external() {
		out = append(out, n.Package+"."+n.Name)
	}
	return out
}

// Full returns the name with its file in front: "dir/file.go:T.Method".
func (n Named) Full() string { return n.Path + ":" + n.Name }

// defines reports whether the symbol declares something, rather than naming what is declared elsewhere.
func (n Named) defines() bool {
	return n.Kind != codesym.ImportOf && n.Kind != codesym.Export && n.Kind != codesym.Module
}

// Keys returns the keys of the symbols that a question may name.
func Keys(question string) []string {
	keys := []string{Key(question)}
	if kinds, name := cutKind(question); kinds != nil && Key(name) != keys[0] {
		keys = append(keys, Key(name))
	}
	return keys
}

// Names finds symbols by name. It is for one goroutine.
type Names struct {
	list []Named
	ways [len(spellings)]map[string][]int // made when they are needed
	// found are the answers to what was asked for whole names: all symbols called main are asked for one after the other.
	found map[string][]int
}

// NewNames returns a Names over a list, which must hold every symbol whose key is one of the [Keys] of what is asked.
func NewNames(list []Named) *Names { return &Names{list: list, found: map[string][]int{}} }

// spellings are the ways in which a name may be written, the plainest in front.
var spellings = [...]func(n *Named, add func(string)){
	func(n *Named, add func(string)) { add(n.Name) },
	func(n *Named, add func(string)) {
		add(n.Long())
		add(n.Full())
	},
	func(n *Named, add func(string)) {
		endings(n.Long(), add)
		endings(n.Full(), add)
		for _, s := range n.others() {
			endings(s, add)
		}
	},
	func(n *Named, add func(string)) { add(plain(n.Name)) },
	func(n *Named, add func(string)) {
		endings(n.Path+":"+plain(n.Name), add)
		endings(n.Package+"."+plain(n.Name), add)
		for _, s := range n.others() {
			endings(plain(s), add)
		}
	},
}

// endings adds the ends of a name that begin at the boundary of one of its parts, and the whole.
func endings(name string, add func(string)) {
	for i := range len(name) {
		if i == 0 || boundary(name[i-1]) {
			add(name[i:])
		}
	}
}

// Find returns the indexes in the list of what a question names: the exact qualified name, one with the package or the file in front, or the end of one. A kind, or
// the word that declares it, may stand before the name: "struct T", "func Open"; "()" may follow it, as where it is called, and the receiver of a Go method may be written as in a stack trace:
// "store.(*Tx).Put". The first of these ways that finds anything decides; more than one index means that the question is ambiguous.
func (ns *Names) Find(question string) []int {
	if found := ns.find(nil, question); found != nil {
		return slices.Clone(found)
	}
	if kinds, name := cutKind(question); kinds != nil {
		if found := ns.find(kinds, name); found != nil {
			return found
		}
	}
	if name, called := strings.CutSuffix(question, "()"); called {
		return ns.Find(name)
	}
	if before, rest, ok := strings.Cut(question, "(*"); ok {
		if typ, method, ok := strings.Cut(rest, ")."); ok {
			return ns.Find(before + typ + "." + method)
		}
	}
	return nil
}

// find is Find for symbols of some kinds, of the first of them where there are any; nil is every kind.
func (ns *Names) find(kinds []codesym.Kind, name string) []int {
	if kinds == nil {
		if found, ok := ns.found[name]; ok {
			return found
		}
	}
	var found []int
	for w := range ns.ways {
		if ns.ways[w] == nil {
			ns.ways[w] = ns.spell(w)
		}
		for _, i := range ns.ways[w][name] {
			if kinds == nil || slices.Contains(kinds, ns.list[i].Kind) {
				found = append(found, i)
			}
		}
		if len(found) > 0 {
			found = prefer(found, ns.list)
			if first := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return kinds == nil || ns.list[i].Kind != kinds[0] }); len(first) > 0 {
				found = first
			}
			break
		}
	}
	if kinds == nil {
		ns.found[name] = found
	}
	return found
}

// spell lists the symbols by one way of writing their names.
func (ns *Names) spell(way int) map[string][]int {
	out := map[string][]int{}
	for i := range ns.list {
		spellings[way](&ns.list[i], func(s string) {
			if at := out[s]; len(at) == 0 || at[len(at)-1] != i {
				out[s] = append(at, i)
			}
		})
	}
	return out
}

// cutKind takes a kind, or the word that declares such things in a source, off the front of a question; nil is no kind.
func cutKind(question string) ([]codesym.Kind, string) {
	word, rest, ok := strings.Cut(question, " ")
	if !ok {
		return nil, question
	}
	rest = strings.TrimSpace(rest)
	switch kind := codesym.Kind(word); kind {
	case codesym.Function, codesym.Method, codesym.Class, codesym.Struct, codesym.Enum, codesym.Trait, codesym.Interface, codesym.Constant, codesym.Module,
		codesym.ImportOf, codesym.Export:
		return []codesym.Kind{kind}, rest
	case codesym.Type: // of Go it declares all of them
		return []codesym.Kind{codesym.Type, codesym.Struct, codesym.Interface, codesym.Class, codesym.Enum, codesym.Trait}, rest
	}
	switch word {
	case "func", "fn", "def", "fun":
		return []codesym.Kind{codesym.Function, codesym.Method}, rest
	case "const":
		return []codesym.Kind{codesym.Constant}, rest
	}
	return nil, question
}

// prefer leaves out imports and exports where something is declared, and what a header declares where one other file defines it.
func prefer(found []int, list []Named) []int {
	keep := func(ok func(Named) bool) {
		if slices.ContainsFunc(found, func(i int) bool { return ok(list[i]) }) {
			found = slices.DeleteFunc(found, func(i int) bool { return !ok(list[i]) })
		}
	}
	keep(Named.defines)
	keep(func(n Named) bool { return !header(n.Path) })
	return found
}

// header reports whether a file is a header of C or C++.
func header(path string) bool {
	i := strings.LastIndexByte(path, '.')
	return i >= 0 && (strings.HasPrefix(path[i:], ".h") && len(path)-i <= 4)
}

// Unique returns the shortest form of the name of the symbol at that index that [Names.Find] finds it and nothing else by. The list must hold every symbol of its [Key].
func (ns *Names) Unique(i int) string {
	n := &ns.list[i]
	forms := [...]string{n.Name, n.Long(), n.Full(), string(n.Kind) + " " + n.Full()}
	for _, form := range forms[:3] {
		if found := ns.find(nil, form); len(found) == 1 && found[0] == i {
			return form
		}
	}
	return forms[3] // the natural key: nothing else has it
}

// Nearest returns those of keys that a misspelt name may have meant, the likeliest first, at most most of them. keys are sorted and hold nothing twice.
func Nearest(name string, keys []string, most int) []string {
	type near struct {
		key  string
		cost int
	}
	want := strings.ToLower(Key(name))
	var list []near
	if want == "" {
		return nil
	}
	limit := max(1, len(want)/3)
	for _, key := range keys {
		have := strings.ToLower(key)
		cost := distance(want, have, limit)
		if cost > limit && len(want) >= 3 && (strings.Contains(have, want) || len(have) >= 4 && strings.Contains(want, have)) {
			cost = limit + 1 + max(len(have)-len(want), len(want)-len(have))
		} else if cost > limit {
			continue
		}
		list = append(list, near{key, cost})
	}
	slices.SortFunc(list, func(a, b near) int { return cmp.Or(cmp.Compare(a.cost, b.cost), strings.Compare(a.key, b.key)) })
	var out []string
	for _, n := range list[:min(len(list), most)] {
		out = append(out, n.key)
	}
	return out
}

// distance returns how many bytes must be put in, taken out, changed or swapped with their neighbours to make b of a, and limit+1 where it is more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
}
