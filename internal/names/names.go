// Package names finds in a text what turns refer to by its exact letters: paths and file names, identifiers that are no plain words (snake_case,
// camelCase, a.b, a::b, letters with digits), and error codes (ENOENT, SIGKILL, TS2345, 0x1f). Plain words and plain numbers are none.
//
// [Scan] is the one function. It is linear in the text, and what it finds it finds in any text the same way: two turns name the same thing if they
// write it the same.
package names

import "strings"

// The length of a name in bytes.
const (
	Least = 4
	Most  = 200
)

// The classes of bytes.
const (
	none byte = iota
	lower
	upper
	digit
	mark // of a name: _ . / - : ~ @
)

// classes holds the class of each ASCII byte: a look-up halves the time of a scan.
const classes = "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000" +
	"\000\000\000\000\000\000\000\000\000\000\000\000\000\004\004\004\003\003\003\003\003\003\003\003\003\003\004\000\000\000\000\000" +
	"\004\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\002\000\000\000\000\004" +
	"\000\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\000\000\000\004\000"

// class returns the class of a byte.
func class(c byte) byte {
	if c >= 128 {
		return none
	}
	return classes[c]
}

// Scan passes each name in text on, in order and as often as it stands there. With escaped set the text is JSON: what its escapes stand for ends a name.
func Scan(text string, escaped bool, found func(name string)) {
	for i := 0; i < len(text); {
		if class(text[i]) == none {
			if escaped && text[i] == '\\' && i+1 < len(text) {
				i++
				if text[i] == 'u' {
					i = min(i+4, len(text)-1)
				}
			}
			i++
			continue
		}
		from := i
		for i < len(text) && class(text[i]) != none {
			i++
		}
		if i-from < Least {
			continue
		}
		if w := trim(text[from:i]); is(w) {
			found(w)
		}
	}
}

// trim takes off what belongs to the sentence: punctuation around it, "./" in front, line and column behind, as often as they stand there. What is left is
// trimmed already.
func trim(w string) string {
	for {
		rest := strings.TrimPrefix(strings.TrimLeft(w, ":-@"), "./")
		if len(rest) == len(w) {
			break
		}
		w = rest
	}
	w = trimEnd(w)
	for {
		i := len(w)
		for i > 0 && (class(w[i-1]) == digit || w[i-1] == '-') {
			i--
		}
		if i == len(w) || i < 2 || w[i-1] != ':' {
			return w
		}
		w = trimEnd(w[:i-1])
	}
}

func trimEnd(w string) string {
	for w != "" && strings.IndexByte(".:-/@~", w[len(w)-1]) >= 0 {
		w = w[:len(w)-1]
	}
	return w
}

// is reports whether a trimmed word is a name.
func is(w string) bool {
	if len(w) < Least || len(w) > Most {
		return false
	}
	letters, digits, capitals := 0, 0, 0
	inner := false // something inside that plain words do not have
	before, last := none, none
	for i := range len(w) {
		c := class(w[i])
		switch c {
		case lower:
			letters++
			inner = inner || last == upper && before == lower
		case upper:
			letters++
			capitals++
			inner = inner || last == lower
		case digit:
			digits++
		case mark:
			switch w[i] {
			case '_', '/':
				inner = true
			case '.', ':':
				inner = inner || joins(w, i)
			}
		}
		before, last = last, c
	}
	switch {
	case letters == 0:
		return false
	case inner, digits > 0:
		return true
	}
	// What is written in capitals alone is shouted, unless it looks like an error or a signal.
	return capitals == len(w) && (w[0] == 'E' || strings.HasPrefix(w, "SIG"))
}

// joins reports whether the dot or colon at i stands inside a name: behind a letter, a digit or another colon, and before a letter or one.
func joins(w string, i int) bool {
	if i == 0 || i+1 == len(w) {
		return false
	}
	before, after := class(w[i-1]), class(w[i+1])
	return (before == lower || before == upper || before == digit || w[i-1] == ':') && (after == lower || after == upper || w[i+1] == ':')
}
