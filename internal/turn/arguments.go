package turn

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// maxArgumentDepth is how deep arguments may be nested. Servers walk them recursively; real arguments stay under a dozen.
const maxArgumentDepth = 256

// Arguments returns the arguments of a call as they are rendered: the raw bytes where they are one JSON object, else an object that holds them.
// A server that parses arguments refuses every later request of a chat in which they do not parse.
func Arguments(raw string) string {
	s := Sent(raw)
	if strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") && json.Valid([]byte(s)) && strict(s) {
		return s
	}
	return string(append(AppendString([]byte(`{"invalid_arguments": `), s), '}'))
}

// strict reports whether parsers that are stricter than Go's take a valid JSON text too: escaped surrogates come in pairs, numbers are finite as
// a float64, and the nesting is bounded.
func strict(s string) bool {
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			n, ok := strictString(s[i:])
			if !ok {
				return false
			}
			i += n
		case c == '-' || c >= '0' && c <= '9':
			n := strings.IndexAny(s[i:], ",]} \t\r\n")
			if n < 0 {
				n = len(s) - i
			}
			if f, err := strconv.ParseFloat(s[i:i+n], 64); err != nil || math.IsInf(f, 0) {
				return false
			}
			i += n
		case c == '{' || c == '[':
			if depth++; depth > maxArgumentDepth {
				return false
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		default:
			i++
		}
	}
	return true
}

// strictString returns the length of the JSON string that s begins with, and whether each escaped surrogate of it has its other half.
func strictString(s string) (n int, ok bool) {
	high := false // the last character was the first half of a pair
	for i := 1; i < len(s); {
		unit := -1
		size := 1
		switch {
		case s[i] == '"':
			return i + 1, !high
		case s[i] == '\\' && i+6 <= len(s) && s[i+1] == 'u':
			v, err := strconv.ParseUint(s[i+2:i+6], 16, 32)
			if err != nil {
				return 0, false
			}
			unit, size = int(v), 6
		case s[i] == '\\':
			size = 2
		}
		low := unit >= 0xDC00 && unit <= 0xDFFF
		if low != high {
			return 0, false
		}
		high = unit >= 0xD800 && unit <= 0xDBFF
		i += size
	}
	return 0, false
}
