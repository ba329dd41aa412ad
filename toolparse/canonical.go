package toolparse

import (
	"slices"
	"strconv"
	"strings"
)

// maxCanonicalPath bounds the length of one leaf's path in a canonical text, so that deep nesting cannot make the text grow with the square of its source.
const maxCanonicalPath = 1024

// CanonicalJSON returns a text that two JSON texts share exactly when they differ only in the order of object keys, in spacing and in how characters are escaped.
// Numbers keep their source text, arrays their order and duplicate keys their order among themselves. It is a key to compare or hash, and no JSON.
// ok is false where src is no JSON text or nests too deep for a path of about 1,024 bytes; the source itself is then the only canonical form.
func CanonicalJSON(src string) (text string, ok bool) {
	type leaf struct{ path, value string }
	var leaves []leaf
	ok = true
	err := JSON(src, func(v JSONValue) bool {
		if ok = v.PointerLen() <= maxCanonicalPath; ok {
			// "~0" and "~1" are the only tildes in a pointer's keys, so "~~" and a digit can be an array index only.
			leaves = append(leaves, leaf{v.p.path(true), v.Kind.String() + " " + v.Text()})
		}
		return ok
	})
	if err != nil || !ok {
		return "", false
	}
	slices.SortStableFunc(leaves, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	var b strings.Builder
	for _, l := range leaves {
		b.WriteString(strconv.Quote(l.path))
		b.WriteByte(' ')
		b.WriteString(strconv.Quote(l.value))
		b.WriteByte('\n')
	}
	return b.String(), true
}
