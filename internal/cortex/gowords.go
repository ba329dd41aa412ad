package cortex

import "strings"

// The functions below look at the letters of Go source, to spare it a parser: most names stand in it in few ways. They say yes only where a parser would.

// neverDeclared reports whether a file can be seen to declare a name nowhere: each time it stands in front of a dot, in a path that is imported, or in a comment.
func (n *goInfer) neverDeclared(file int, name string) bool {
	key := nameIn{file, name}
	if known, ok := n.undeclared[key]; ok {
		return known
	}
	known := false
	if n.r.Text != nil {
		text, ok := n.r.Text(file)
		known = ok && everyWord(text, name, func(from, to int) bool {
			switch {
			case to < len(text) && text[to] == '.':
				return to+1 == len(text) || text[to+1] != '.' // "..." follows the name of a parameter
			case from > 0 && (text[from-1] == '"' || text[from-1] == '/') && to < len(text):
				return text[to] == '"' || text[to] == '/'
			}
			return false
		})
	}
	n.undeclared[key] = known
	return known
}

// onlyCalled reports whether each time a name stands in a text a bracket follows it, as in a call or the declaration of a function, or it stands in a comment.
func onlyCalled(text, name string) bool {
	return everyWord(text, name, func(_, to int) bool { return to < len(text) && text[to] == '(' })
}

// everyWord reports whether ok holds for each place of a whole word that is not in a comment.
func everyWord(text, name string, ok func(from, to int) bool) bool {
	for at := wordAt(text, name, 0); at >= 0; at = wordAt(text, name, at+len(name)) {
		if !ok(at, at+len(name)) && !inComment(text, at) {
			return false
		}
	}
	return true
}

// inComment reports whether an offset stands behind "//" in its line, with no quote in front of it that could be that of a string.
func inComment(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	before, _, ok := strings.Cut(line, "//")
	return ok && !strings.ContainsAny(before, "\"'`")
}
