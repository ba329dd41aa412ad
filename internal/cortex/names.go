package cortex

import (
	"cmp"
	"slices"
	"strings"

	"sakur4/internal/codesym"
)

// Named is a symbol by its names.
type Named struct {
	// ID is the id of its fact. Name is the qualified name, Package and Path are those of its file.
	ID, Name, Package, Path string
	Kind                    codesym.Kind
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

// Long returns the name with its package in front, as other code would write it.
func (n Named) Long() string {
	if n.Package == "" {
		return n.Name
	}
	return n.Package + "." + n.Name
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
	if kind, name := cutKind(question); kind != "" && Key(name) != keys[0] {
		keys = append(keys, Key(name))
	}
	return keys
}

// Find returns the indexes in list of what a question names: the exact qualified name, one with the package or the file in front, or the end of one. A kind and a
// space may stand before the name: "struct T"; "()" may follow it, as where it is called. The first of these ways that finds anything decides; more than one index means that the question is ambiguous.
// list must hold every symbol whose key is one of [Keys].
func Find(question string, list []Named) []int {
	if found := find("", question, list); found != nil {
		return found
	}
	if kind, name := cutKind(question); kind != "" {
		if found := find(kind, name, list); found != nil {
			return found
		}
	}
	if name, called := strings.CutSuffix(question, "()"); called {
		return Find(name, list)
	}
	return nil
}

func find(kind codesym.Kind, name string, list []Named) []int {
	ways := [...]func(Named) bool{
		func(n Named) bool { return n.Name == name },
		func(n Named) bool { return n.Long() == name || n.Full() == name },
		func(n Named) bool { return ends(n.Long(), name) || ends(n.Full(), name) },
		func(n Named) bool { return plain(n.Name) == name },
		func(n Named) bool {
			return ends(n.Path+":"+plain(n.Name), name) || ends(n.Package+"."+plain(n.Name), name)
		},
	}
	for _, way := range ways {
		var found []int
		for i, n := range list {
			if (kind == "" || n.Kind == kind) && way(n) {
				found = append(found, i)
			}
		}
		if len(found) > 0 {
			return prefer(found, list)
		}
	}
	return nil
}

// cutKind takes the kind off the front of a question.
func cutKind(question string) (codesym.Kind, string) {
	word, rest, ok := strings.Cut(question, " ")
	if !ok {
		return "", question
	}
	switch kind := codesym.Kind(word); kind {
	case codesym.Function, codesym.Method, codesym.Class, codesym.Struct, codesym.Enum, codesym.Trait, codesym.Interface, codesym.Type, codesym.Constant, codesym.Module,
		codesym.ImportOf, codesym.Export:
		return kind, strings.TrimSpace(rest)
	}
	return "", question
}

// ends reports whether a name ends in a part, at the boundary of one of its own parts.
func ends(name, part string) bool {
	rest, ok := strings.CutSuffix(name, part)
	return ok && part != "" && (rest == "" || boundary(rest[len(rest)-1]))
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

// Unique returns the shortest form of the name of list[i] that [Find] finds it and nothing else by. list must hold every symbol of its [Key].
func Unique(i int, list []Named) string {
	n := list[i]
	forms := []string{n.Name, n.Long(), n.Full(), string(n.Kind) + " " + n.Full()}
	for _, form := range forms {
		if found := Find(form, list); len(found) == 1 && found[0] == i {
			return form
		}
	}
	return forms[len(forms)-1] // the natural key: nothing else has it
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
