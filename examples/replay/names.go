package main

import (
	"encoding/json"
	"slices"
	"strings"

	"sakur4"
)

// A name is what a turn refers to by its exact letters: a path or file name, an identifier of more than a plain word (snake_case, camelCase, a.b, a::b, letters
// with digits), or an error code (ENOENT, SIGKILL, TS2345, 0x1f). Plain words and plain numbers are none.

// The length of a name in bytes.
const (
	leastName = 4
	mostName  = 200
)

// namesOf returns the names in a turn's text and in its calls' arguments, sorted and without repeats.
func namesOf(content string, calls []sakur4.ToolCall) []string {
	found := names(nil, content)
	for _, c := range calls {
		for _, text := range argumentTexts(c.Arguments) {
			found = names(found, text)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// argumentTexts returns the strings in a call's arguments, keys left out: escaped as JSON their names would look other than in text. Arguments that are no
// JSON are one string.
func argumentTexts(arguments string) []string {
	var v any
	if json.Unmarshal([]byte(arguments), &v) != nil {
		return []string{arguments}
	}
	var texts []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v { // in any order: what is made of it is sorted
				walk(e)
			}
		}
	}
	walk(v)
	return texts
}

// names appends the names in text to found.
func names(found []string, text string) []string {
	for i := 0; i < len(text); {
		if !nameByte(text[i]) {
			i++
			continue
		}
		from := i
		for i < len(text) && nameByte(text[i]) {
			i++
		}
		if w := trimName(text[from:i]); isName(w) {
			found = append(found, w)
		}
	}
	return found
}

func nameByte(c byte) bool {
	return letter(c) || digit(c) || strings.IndexByte("_./-:~@", c) >= 0
}

func letter(c byte) bool { return lower(c) || upper(c) }
func lower(c byte) bool  { return c >= 'a' && c <= 'z' }
func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// trimName takes off what belongs to the sentence: punctuation around it, "./" in front, a line number behind.
func trimName(w string) string {
	w = strings.TrimLeft(w, ":-@")
	w = strings.TrimRight(w, ".:-/@~")
	w = strings.TrimPrefix(w, "./")
	for range 2 { // line and column
		i := strings.LastIndexByte(w, ':')
		if i <= 0 || strings.Trim(w[i+1:], "0123456789-") != "" {
			break
		}
		w = strings.TrimRight(w[:i], ":")
	}
	return w
}

// isName reports whether a trimmed word is a name.
func isName(w string) bool {
	if len(w) < leastName || len(w) > mostName {
		return false
	}
	letters, digits, capitals, lowers := 0, 0, 0, 0
	inner := false // a mark or a capital inside that plain words do not have
	for i := range len(w) {
		c := w[i]
		switch {
		case lower(c):
			letters++
			lowers++
			inner = inner || i > 0 && upper(w[i-1]) && i > 1 && lower(w[i-2])
		case upper(c):
			letters++
			capitals++
			inner = inner || i > 0 && lower(w[i-1])
		case digit(c):
			digits++
		case c == '_' || c == '/':
			inner = true
		case c == '.' || c == ':':
			inner = inner || i > 0 && i+1 < len(w) && (letter(w[i+1]) || w[i+1] == ':') && (letter(w[i-1]) || digit(w[i-1]) || w[i-1] == ':')
		}
	}
	switch {
	case letters == 0:
		return false
	case inner:
		return true
	case digits > 0:
		return true
	}
	// What is written in capitals alone is shouted, unless it looks like an error or a signal.
	return capitals == len(w) && (strings.HasPrefix(w, "E") || strings.HasPrefix(w, "SIG"))
}
