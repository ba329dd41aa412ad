package toolparse

import (
	"regexp"
	"strings"
)

// Field is a line of "key: value" or "key=value".
type Field struct {
	// Key is the text in front of the separator, Value the one behind it, both without space around them.
	Key, Value string
	// Separator is ':' or '='.
	Separator byte
	// Offset is where Value begins in the source; Line its line.
	Offset, Line int
}

// maxKeyBytes bounds a key: longer text before a colon is a sentence.
const maxKeyBytes = 64

// Fields passes each line that is a field to visit; others are skipped. A key begins with a letter or an underscore; before a colon it may have spaces,
// and a space and a value follow the colon; before an equals sign it is one word. It refuses a source without any field.
func Fields(src string, visit func(Field) bool) error {
	if readFields(src, visit) == 0 {
		return &SyntaxError{Parser: "fields", Line: 1, Msg: "no line is a field"}
	}
	return nil
}

// readFields returns how many lines were fields.
func readFields(src string, visit func(Field) bool) (fields int) {
	line := 0
	for at := 0; at < len(src); {
		line++
		end := strings.IndexByte(src[at:], '\n')
		if end < 0 {
			end = len(src) - at
		}
		if f, ok := fieldOf(src[at : at+end]); ok {
			fields++
			f.Offset += at
			f.Line = line
			if visit != nil && !visit(f) {
				visit = nil
			}
		}
		at += end + 1
	}
	return fields
}

func fieldOf(line string) (Field, bool) {
	spaces, i := 0, 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	start := i
	for ; i < len(line) && i-start <= maxKeyBytes; i++ {
		c := line[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
			continue
		case i > start && (c >= '0' && c <= '9' || c == '-' || c == '.' || c == '/'):
			continue
		case i > start && c == ' ':
			spaces++
			continue
		}
		break
	}
	if i == start || i == len(line) || i-start > maxKeyBytes {
		return Field{}, false
	}
	key := strings.TrimRight(line[start:i], " ")
	sep, rest := line[i], line[i+1:]
	value := strings.TrimSpace(rest)
	switch sep {
	case ':':
		if value == "" || rest[0] != ' ' && rest[0] != '\t' {
			return Field{}, false
		}
	case '=':
		if strings.Contains(key, " ") || strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ">") {
			return Field{}, false
		}
	default:
		return Field{}, false
	}
	offset := i + 1 + strings.Index(rest, value)
	return Field{Key: key, Value: value, Separator: sep, Offset: offset}, true
}

// Match is one group of one match of a regular expression.
type Match struct {
	// Group is the group's name, or its number where it has none; "0" is the whole match.
	Group string
	// Text is what the group matched, Offset where it begins, Line its line.
	Text         string
	Offset, Line int
}

// Matches passes what the groups of re match in src, match by match; the whole match where re has no group. Groups that took no part are skipped.
// It refuses a source without a match. The time is that of [regexp.Regexp.FindAllStringSubmatchIndex].
func Matches(re *regexp.Regexp, src string, visit func(Match) bool) error {
	names := re.SubexpNames()
	from := 1
	if len(names) == 1 {
		from = 0
	}
	n, line, counted := 0, 1, 0
	for _, at := range re.FindAllStringSubmatchIndex(src, -1) {
		line += strings.Count(src[counted:at[0]], "\n")
		counted = at[0]
		for g := from; g < len(names); g++ {
			if at[2*g] < 0 {
				continue
			}
			n++
			m := Match{Group: names[g], Text: src[at[2*g]:at[2*g+1]], Offset: at[2*g], Line: line + strings.Count(src[at[0]:at[2*g]], "\n")}
			if m.Group == "" {
				m.Group = itoa(g)
			}
			if visit != nil && !visit(m) {
				return nil
			}
		}
	}
	if n == 0 {
		return &SyntaxError{Parser: "regexp", Line: 1, Msg: "no match"}
	}
	return nil
}
