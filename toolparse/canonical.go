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
	c := canonical{ok: true}
	c.leaves, c.paths = c.leafRoom[:0], c.pathRoom[:0]
	c.parser.visit = c.visit
	if err := c.parser.run(src); err != nil || !c.ok {
		return "", false
	}
	all := string(c.paths)
	for i := range c.leaves {
		c.leaves[i].path = all[c.leaves[i].from:c.leaves[i].to]
	}
	slices.SortStableFunc(c.leaves, func(a, b canonicalLeaf) int { return strings.Compare(a.path, b.path) })
	var room [512]byte
	b := room[:0]
	for _, l := range c.leaves {
		b = strconv.AppendQuote(b, l.path)
		b = append(b, ` "`...)
		b = append(b, l.kind.String()...)
		start := len(b)
		b = strconv.AppendQuote(b, l.value)
		b[start] = ' ' // the kind and the value are quoted as one text
		b = append(b, '\n')
	}
	return string(b), true
}

// canonical is the work on one text, with room for the arguments of most calls.
type canonical struct {
	parser   jsonParser
	leaves   []canonicalLeaf
	paths    []byte // of all leaves
	ok       bool
	leafRoom [4]canonicalLeaf
	pathRoom [64]byte
}

type canonicalLeaf struct {
	path     string
	from, to int // of the path among all
	kind     JSONKind
	value    string
}

func (c *canonical) visit(v JSONValue) bool {
	if c.ok = v.PointerLen() <= maxCanonicalPath; c.ok {
		from := len(c.paths)
		// "~0" and "~1" are the only tildes in a pointer's keys, so "~~" and a digit can be an array index only.
		c.paths = v.p.appendPath(c.paths, true)
		c.leaves = append(c.leaves, canonicalLeaf{from: from, to: len(c.paths), kind: v.Kind, value: v.Text()})
	}
	return c.ok
}
