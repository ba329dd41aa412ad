package codesym

import "strings"

// maxParameters bounds the text of the parameters in a name.
const maxParameters = 200

// parameters returns the types of the parameters between the bracket at open and the token end, as part of a name: overloads differ in them. Names, defaults,
// annotations and type arguments are left out.
func (b *builder) parameters(open, end int) string {
	var out strings.Builder
	out.WriteByte('(')
	var parts []string
	count, name := 0, -1
	flush := func() {
		if name > 0 && named(parts, name) {
			parts = append(parts[:name:name], parts[name+1:]...)
		}
		if len(parts) == 0 || out.Len() > maxParameters || len(parts) == 1 && parts[0] == "void" {
			return
		}
		if count++; count > 1 {
			out.WriteString(", ")
		}
		for k, p := range parts {
			if k > 0 && classes[p[0]]&classIdent != 0 && classes[parts[k-1][len(parts[k-1])-1]]&classIdent != 0 {
				out.WriteByte(' ')
			}
			out.WriteString(p)
		}
	}
	for k := open + 1; k < end; k++ {
		t := &b.toks[k]
		switch {
		case t.c == ',':
			flush()
			parts, name = parts[:0], -1
		case t.c == '=' && t.end == t.start+1:
			for k+1 < end && !b.is(k+1, ',') {
				if k++; b.toks[k].kind == tokenPunct && closerOf(b.toks[k].c) != 0 {
					k = b.after(k) - 1
				}
			}
		case t.c == '<':
			k = b.skipAngles(k) - 1
		case t.c == '@':
			for k+1 < end && b.toks[k+1].kind == tokenIdent {
				k++
				if !b.is(k+1, '.') {
					break
				}
				k++
			}
			if b.is(k+1, '(') {
				k = b.after(k+1) - 1
			}
		case t.c == '[':
			parts = append(parts, "[]")
			k = b.after(k) - 1
		case b.text(k) == "final" || b.text(k) == "this" || b.text(k) == "struct" || b.text(k) == "enum" || b.text(k) == "class":
		case len(parts) < 30:
			if t.kind == tokenIdent && !b.is(k+1, '.') && b.text(k+1) != "::" && b.text(k-1) != "." && b.text(k-1) != "::" {
				name = len(parts)
			}
			parts = append(parts, b.text(k))
		}
	}
	flush()
	out.WriteByte(')')
	return out.String()
}

// named reports whether the part at i is the name of a parameter and no part of its type: a type stands before it, and nothing but brackets behind it.
func named(parts []string, i int) bool {
	for _, p := range parts[i+1:] {
		if p != "[]" {
			return false
		}
	}
	if typeWords.has(parts[i]) {
		return false
	}
	for _, p := range parts[:i] {
		if p != "const" && p != "volatile" {
			return true
		}
	}
	return false
}

// typeWords are reserved words that are types, or parts of their names.
var typeWords = set("void bool char short int long float double signed unsigned byte boolean auto const volatile restrict")
