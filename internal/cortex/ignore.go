package cortex

import (
	"strings"
)

// ignoring is a list of patterns as .gitignore has them, of one folder. The last one that matches decides.
type ignoring struct {
	dir      string // the folder below the root, "" for the root
	patterns []pattern
}

// pattern is one line of a .gitignore.
type pattern struct {
	negated, dirOnly bool
	// anchored says that the pattern is about the whole path below the folder, otherwise about the last name of it.
	anchored bool
	segments []string
}

// verdict is what patterns say of a path.
type verdict int

const (
	silent verdict = iota
	ignored
	kept
)

// parseIgnore reads the lines of a .gitignore in dir.
func parseIgnore(dir, text string) ignoring {
	ig := ignoring{dir: dir}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if p, ok := parsePattern(strings.TrimSuffix(line, "\r")); ok {
			ig.patterns = append(ig.patterns, p)
		}
	}
	return ig
}

func parsePattern(line string) (pattern, bool) {
	var p pattern
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return p, false
	}
	if line[0] == '!' {
		p.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly, line = true, line[:len(line)-1]
	}
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" || strings.HasSuffix(line, `\`) && !strings.HasSuffix(line, `\\`) {
		return p, false
	}
	p.segments = splitPattern(line)
	return p, true
}

// trimSpaces takes spaces off the end, but for one that a backslash protects.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i = min(i+1, len(s)-1)
			end = i + 1
		case ' ':
		default:
			end = i + 1
		}
	}
	return s[:end]
}

// splitPattern cuts a pattern at its slashes. One inside of brackets belongs to the class, which then matches nothing: names hold no slash.
func splitPattern(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			if _, rest, ok := class(s[i:], 0); ok {
				i = len(s) - len(rest) - 1
			}
		case '/':
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// match says what the patterns say of a path below the root.
func (ig ignoring) match(path string, isDir bool) verdict {
	if ig.dir != "" {
		rest, ok := strings.CutPrefix(path, ig.dir+"/")
		if !ok {
			return silent
		}
		path = rest
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	var names []string
	for i := len(ig.patterns) - 1; i >= 0; i-- {
		p := &ig.patterns[i]
		if p.dirOnly && !isDir {
			continue
		}
		hit := false
		if p.anchored {
			if names == nil {
				names = strings.Split(path, "/")
			}
			hit = matchPath(p.segments, names)
		} else {
			hit = matchName(p.segments[0], base)
		}
		switch {
		case hit && p.negated:
			return kept
		case hit:
			return ignored
		}
	}
	return silent
}

// matchPath matches the names of a path with the segments of a pattern. A segment "**" stands for any number of names, at the end for at least one. The time is
// bounded by the product of both lengths: there is one place to go back to, as for "*" in a name.
func matchPath(segments, names []string) bool {
	si, ni := 0, 0
	starS, starN := -1, 0
	for ni < len(names) {
		switch {
		case si < len(segments) && doubleStar(segments[si]):
			if si == len(segments)-1 {
				return true
			}
			starS, starN = si, ni
			si++
		case si < len(segments) && matchName(segments[si], names[ni]):
			si++
			ni++
		case starS >= 0:
			starN++
			si, ni = starS+1, starN
		default:
			return false
		}
	}
	return si == len(segments)
}

func doubleStar(segment string) bool {
	return len(segment) >= 2 && strings.Trim(segment, "*") == ""
}

// matchName matches a name with a pattern: "*" stands for any bytes, "?" for one, "[…]" for one of a class, and a backslash takes the next byte as it is.
func matchName(pat, name string) bool {
	pi, ni := 0, 0
	starP, starN := -1, 0
	for ni < len(name) {
		if pi < len(pat) {
			if pat[pi] == '*' {
				starP, starN = pi, ni
				pi++
				continue
			}
			if next, ok := matchByte(pat, pi, name[ni]); ok {
				pi = next
				ni++
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starN++
		pi, ni = starP+1, starN
	}
	for pi < len(pat) && pat[pi] == '*' {
		pi++
	}
	return pi == len(pat)
}

// matchByte matches one byte with what stands at pi in the pattern, and returns where the pattern goes on.
func matchByte(pat string, pi int, c byte) (int, bool) {
	switch pat[pi] {
	case '?':
		return pi + 1, true
	case '[':
		hit, rest, ok := class(pat[pi:], c)
		return len(pat) - len(rest), ok && hit
	case '\\':
		if pi+1 < len(pat) {
			return pi + 2, pat[pi+1] == c
		}
	}
	return pi + 1, pat[pi] == c
}

// class reads a bracket expression at the beginning of s and says whether c is of it. ok is false where the bracket is not closed: it then matches nothing.
func class(s string, c byte) (hit bool, rest string, ok bool) {
	i := 1
	negated := false
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		negated = true
		i++
	}
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			return hit != negated && c != '/', s[i+1:], true
		}
		if strings.HasPrefix(s[i:], "[:") {
			// Without ":]" at the next bracket it is a class like any other.
			if name, _, found := strings.Cut(s[i+2:], "]"); found && strings.HasSuffix(name, ":") {
				if !named(strings.TrimSuffix(name, ":"), c, &hit) {
					return false, "", false
				}
				i += 2 + len(name) + 1
				continue
			}
		}
		lo, next, good := literal(s, i)
		if !good {
			break
		}
		hi := lo
		i = next
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			if hi, i, good = literal(s, i+1); !good {
				break
			}
		}
		if lo == c || lo <= c && c <= hi {
			hit = true // the first byte counts also where the range is none
		}
	}
	return false, "", false
}

// literal reads one byte of a class, behind a backslash or not.
func literal(s string, i int) (c byte, next int, ok bool) {
	if s[i] == '\\' {
		i++
	}
	if i >= len(s) {
		return 0, i, false
	}
	return s[i], i + 1, true
}

// named sets hit where c is of the POSIX class of that name, and reports whether there is such a class.
func named(name string, c byte, hit *bool) bool {
	upper, lower, digit := 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9'
	graph := '!' <= c && c <= '~'
	var in bool
	switch name {
	case "alnum":
		in = upper || lower || digit
	case "alpha":
		in = upper || lower
	case "blank":
		in = c == ' ' || c == '\t'
	case "cntrl":
		in = c < ' ' || c == 0x7f
	case "digit":
		in = digit
	case "graph":
		in = graph
	case "lower":
		in = lower
	case "print":
		in = graph || c == ' '
	case "punct":
		in = graph && !upper && !lower && !digit
	case "space":
		in = c == ' ' || '\t' <= c && c <= '\r'
	case "upper":
		in = upper
	case "xdigit":
		in = digit || 'a' <= c|0x20 && c|0x20 <= 'f'
	default:
		return false
	}
	*hit = *hit || in
	return true
}
