package codesym

import "strings"

// parseYAML reads the keys of YAML that is written in lines. The items of sequences have no names, and what lies in them, and between brackets, is no symbol.
func parseYAML(b *builder) {
	if strings.HasPrefix(strings.TrimLeft(b.src, " \t\r\n"), "{") {
		parseJSON(b) // which is YAML too
		return
	}
	y := &yamlFile{builder: b, keys: keyList{builder: b}, indents: []int{0}, block: -1, item: -1}
	for i := 0; i < len(b.src); {
		i = y.line(i)
	}
	y.leave(0)
	y.keys.prune()
}

// yamlFile reads a file line by line.
type yamlFile struct {
	*builder
	keys    keyList
	indents []int // of the lines, for the tokens
	// open are the keys whose values may go on, the outermost first.
	open []yamlKey
	// block is the column of the key whose value is a text in lines, -1 for none. Deeper lines belong to it.
	block int
	// scalar is the column of the key that has a value in its line; deeper lines continue it. It is -1 for none.
	scalar int
	// item is the column of the sequence around the line, -1 for none.
	item int
	// end is where the last content ended.
	end int
	// wasted counts the bytes that were looked at for what closes a string or a bracket in vain. Past the length of the file nothing more is looked for.
	wasted int
}

type yamlKey struct {
	column, decl int // decl is -1 for a key that is not listed
	children     bool
}

// line reads the line that begins at i, and those that a string or a bracket continues. It returns the offset of the next one.
func (y *yamlFile) line(i int) int {
	start, stop := i, lineEnd(y.src, i)
	for i < stop && (y.src[i] == ' ' || y.src[i] == '\t') {
		i++
	}
	column := i - start
	text := strings.TrimRight(y.src[i:stop], " \t\r")
	switch {
	case text == "":
		return stop + 1
	case y.block >= 0 && column > y.block:
		y.content(column, i, i+len(text), false)
		return stop + 1
	case text[0] == '#':
		y.comments = append(y.comments, span{int32(i), int32(i + len(text))})
		return stop + 1
	}
	y.block = -1
	if column == 0 && (text == "---" || text == "..." || strings.HasPrefix(text, "--- ") || text[0] == '%') {
		y.leave(0)
		y.scalar, y.item = -1, -1
		y.content(0, i, i+len(text), true)
		return stop + 1
	}
	if column <= y.item && (text[0] != '-' || column < y.item) {
		y.item = -1
	}
	// Columns of items in a line: "- - key: value".
	at := i
	for at < stop && y.src[at] == '-' && (at+1 == stop || y.src[at+1] == ' ' || y.src[at+1] == '\t' || y.src[at+1] == '\r') {
		if y.item < 0 {
			y.leave(at - start + 1)
			y.item = at - start
		}
		y.scalar = -1
		for at++; at < stop && (y.src[at] == ' ' || y.src[at] == '\t' || y.src[at] == '\r'); {
			at++
		}
	}
	if column <= y.scalar {
		y.scalar = -1
	}
	key, colon := -1, -1
	if y.scalar < 0 {
		if colon = yamlColon(y.src, at, stop); colon >= 0 {
			key = at
		}
	}
	value := at
	if key >= 0 {
		value = colon + 1
	}
	end, kind := y.value(value, stop, column)
	if key < 0 {
		if kind == yamlBlock {
			y.block = column
			if at > i {
				y.block = at - start - 1
			}
		}
		y.content(column, i, end, true)
		return y.next(end)
	}
	keyColumn := key - start
	if y.item < 0 {
		y.leave(keyColumn)
		d := decl{kind: Constant, name: keyName(strings.TrimSpace(y.src[key:colon])), start: key, sigStart: key, sigEnd: colon + 1, nameAt: key, end: colon + 1}
		if c := y.src[key]; c == '"' || c == '\'' {
			d.nameAt++
		}
		n := -1
		if d.name != "<<" {
			n = y.keys.put(d, len(y.open)+1)
		}
		if len(y.open) > 0 {
			y.open[len(y.open)-1].children = true
		}
		y.open = append(y.open, yamlKey{column: keyColumn, decl: n})
	}
	switch kind {
	case yamlBlock:
		y.block = keyColumn
	case yamlPlain:
		y.scalar = keyColumn
	}
	y.content(column, i, end, true)
	return y.next(end)
}

// next returns the offset of the line after the one that holds offset i.
func (y *yamlFile) next(i int) int { return lineEnd(y.src, i) + 1 }

// leave ends the keys at a column and deeper ones.
func (y *yamlFile) leave(column int) {
	for n := len(y.open) - 1; n >= 0 && y.open[n].column >= column; n-- {
		if k := y.open[n]; k.decl >= 0 {
			d := &y.decls[k.decl]
			d.end = max(d.end, y.end)
			if k.children {
				d.kind = Module
			} else {
				d.sigEnd = d.end
			}
		}
		y.open = y.open[:n]
	}
}

// content adds what stands between two offsets to the tokens, with what its column opens and closes. Comments count where they may stand.
func (y *yamlFile) content(column, start, end int, comments bool) {
	mark := func(kind tokenKind) {
		y.toks = append(y.toks, tok{start: int32(y.end), end: int32(y.end), kind: kind, match: -1})
	}
	if len(y.toks) > 0 {
		mark(tokenNewline)
	}
	if column > y.indents[len(y.indents)-1] {
		y.indents = append(y.indents, column)
		mark(tokenIndent)
	}
	for column < y.indents[len(y.indents)-1] {
		y.indents = y.indents[:len(y.indents)-1]
		mark(tokenDedent)
		if column > y.indents[len(y.indents)-1] {
			y.indents = append(y.indents, column)
			break
		}
	}
	first := true
	for i := start; i < end; {
		c := y.src[i]
		switch {
		case c == '\n' || classes[c]&classSpace != 0:
			i++
		case comments && c == '#' && (i == start || classes[y.src[i-1]]&classSpace != 0 || y.src[i-1] == '\n'):
			stop := min(lineEnd(y.src, i), end)
			y.comments = append(y.comments, span{int32(i), int32(stop)})
			i = stop
		default:
			stop := i + 1
			if comments && (c == '"' || c == '\'') {
				stop = max(stop, yamlQuoted(y.src, i, end))
			}
			for stop < end && y.src[stop] != '\n' && classes[y.src[stop]]&classSpace == 0 {
				stop++
			}
			y.toks = append(y.toks, tok{start: int32(i), end: int32(stop), kind: tokenString, first: first, match: -1})
			y.end, first = stop, false
			i = stop
		}
	}
}

type yamlValue uint8

const (
	yamlNone   yamlValue = iota + 1 // no value, or one that is closed
	yamlPlain                       // a text that deeper lines continue
	yamlBlock                       // a text in lines
	yamlAnchor                      // a mark in front of what follows
)

// value returns the end of the value that begins at i in the line up to stop, and what it is. column is that of the line.
func (y *yamlFile) value(i, stop, column int) (end int, kind yamlValue) {
	for {
		for i < stop && classes[y.src[i]]&classSpace != 0 {
			i++
		}
		if i < stop && (y.src[i] == '&' || y.src[i] == '!') {
			for i < stop && classes[y.src[i]]&classSpace == 0 {
				i++
			}
			continue
		}
		break
	}
	end = i + len(strings.TrimRight(y.src[i:stop], " \t\r"))
	if i >= end || y.src[i] == '#' {
		return end, yamlNone
	}
	switch y.src[i] {
	case '|', '>':
		return end, yamlBlock
	case '"', '\'':
		closed := y.quotedEnd(i, column)
		if closed < 0 {
			y.errorAt(i, "string is not closed")
			return end, yamlNone
		}
		return max(end, lineTrimmed(y.src, closed)), yamlNone
	case '[', '{':
		closed := y.flowEnd(i, column)
		if closed < 0 {
			y.errorAt(i, "bracket "+y.src[i:i+1]+" is not closed")
			return end, yamlNone
		}
		return max(end, lineTrimmed(y.src, closed)), yamlNone
	}
	return end, yamlPlain
}

// lineTrimmed returns the end of the line that holds offset i, space at its end aside.
func lineTrimmed(src string, i int) int {
	end := lineEnd(src, i)
	return i + len(strings.TrimRight(src[i:end], " \t\r"))
}

// quotedEnd returns the offset after the string that begins at i, -1 where it does not end before a key at the column.
func (y *yamlFile) quotedEnd(i, column int) int {
	limit := len(y.src)
	if y.wasted > len(y.src) {
		limit = lineEnd(y.src, i)
	}
	closed := yamlQuoted(y.src, i, limit)
	if closed < 0 {
		y.wasted += limit - i
		return -1
	}
	if closed > lineEnd(y.src, i) && y.keyWithin(i, closed, column) {
		y.wasted += closed - i
		return -1
	}
	return closed
}

// keyWithin reports whether a line between two offsets begins with a key at the column or further left: then what was to close before it did not.
func (y *yamlFile) keyWithin(from, to, column int) bool {
	for i := lineEnd(y.src, from) + 1; i < to && i < len(y.src); i = lineEnd(y.src, i) + 1 {
		if y.keyAt(i, column) {
			return true
		}
	}
	return false
}

// keyAt reports whether the line that begins at i begins with a key, or an item, at the column or further left.
func (y *yamlFile) keyAt(i, column int) bool {
	if i > len(y.src) {
		return false
	}
	start, stop := i, lineEnd(y.src, i)
	for i < stop && y.src[i] == ' ' {
		i++
	}
	if i-start <= column && strings.HasPrefix(y.src[i:stop], "- ") {
		return true
	}
	return i-start <= column && i < stop && y.src[i] != '#' && classes[y.src[i]]&classIdent != 0 && yamlColon(y.src, i, stop) >= 0
}

// flowEnd returns the offset after the bracket that closes the one at i, -1 where none does before a key at the column.
func (y *yamlFile) flowEnd(i, column int) int {
	limit := len(y.src)
	if y.wasted > len(y.src) {
		limit = lineEnd(y.src, i)
	}
	depth, from := 0, i
	for i < limit {
		c, before := y.src[i], byte(' ')
		if i > from {
			before = y.src[i-1]
		}
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			if strings.IndexByte(" [{,:\n\t", before) >= 0 {
				if end := y.quotedEnd(i, column); end >= 0 {
					i = end
					continue
				}
			}
		case '#':
			if strings.IndexByte(" \t\n", before) >= 0 {
				i = lineEnd(y.src, i)
				continue
			}
		case '\n':
			if y.keyAt(i+1, column) {
				y.wasted += i - from
				return -1
			}
		}
		i++
	}
	y.wasted += limit - from
	return -1
}

// yamlQuoted returns the end of the string that begins with a quote at i, -1 where it is not closed before limit.
func yamlQuoted(src string, i, limit int) int {
	quote := src[i]
	for i++; i < limit; i++ {
		switch {
		case src[i] == quote && quote == '\'' && i+1 < limit && src[i+1] == quote:
			i++
		case src[i] == quote:
			return i + 1
		case src[i] == '\\' && quote == '"':
			i++
		}
	}
	return -1
}

// yamlColon returns the offset of the colon behind the key that begins at i in the line up to stop, -1 where no key does.
func yamlColon(src string, i, stop int) int {
	if i >= stop {
		return -1
	}
	from := i
	switch c := src[i]; c {
	case '"', '\'':
		if i = yamlQuoted(src, i, stop); i < 0 {
			return -1
		}
		for i < stop && classes[src[i]]&classSpace != 0 {
			i++
		}
		if i < stop && src[i] == ':' && (i+1 == stop || classes[src[i+1]]&classSpace != 0) {
			return i
		}
		return -1
	case '[', '{', '#', '|', '>', '&', '*', '!', '%', '@', '`', ',', ']', '}':
		return -1
	case '?':
		if i+1 == stop || src[i+1] == ' ' {
			return -1
		}
	}
	for ; i < stop && i < from+1024; i++ {
		switch {
		case src[i] == ':' && (i+1 == stop || classes[src[i+1]]&classSpace != 0):
			if i == from {
				return -1
			}
			return i
		case src[i] == '#' && classes[src[i-1]]&classSpace != 0:
			return -1
		}
	}
	return -1
}
