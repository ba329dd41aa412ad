package toolparse

import "strings"

// gitNames sets the names that a "diff --git" line gives. They count where no other header follows: for a change of mode, an empty or a binary file.
func (p *diffParser) gitNames(s string) {
	f := p.last()
	if strings.HasPrefix(s, `"`) || strings.HasSuffix(s, `"`) {
		if old, rest, ok := headPath(s); ok {
			f.OldPath, f.NewPath = sidePaths(old, strings.TrimPrefix(rest, " "))
		}
		return
	}
	// Unquoted names may hold spaces. Where both sides are the same file the halves tell: "a/" and "b/" are as long as each other.
	if n := len(s); n%2 == 1 && s[n/2] == ' ' {
		if old, new := sidePaths(s[:n/2], s[n/2+1:]); old == new {
			f.OldPath, f.NewPath = old, new
			return
		}
	}
	if old, new, ok := strings.Cut(s, " "); ok && !strings.Contains(new, " ") {
		f.OldPath, f.NewPath = sidePaths(old, new)
	}
}

// headPath cuts the first name off a line of two, of which at least one is quoted. The quotes stay.
func headPath(s string) (first, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '"':
				return s[:i+1], s[i+1:], true
			}
		}
		return "", "", false
	}
	i := strings.Index(s, ` "`)
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i:], true
}

// sidePaths returns the two names of a file: unquoted, without time stamps and "/dev/null", and without "a/" and "b/" where both sides have them.
// "/dev/null" is written by programs that write the prefixes too, so beside it one prefix is enough.
func sidePaths(old, new string) (string, string) {
	old, new = sideName(old), sideName(new)
	switch {
	case old == "/dev/null" && new == "/dev/null":
		return "", ""
	case old == "/dev/null":
		return "", strings.TrimPrefix(new, "b/")
	case new == "/dev/null":
		return strings.TrimPrefix(old, "a/"), ""
	case len(old) > 2 && len(new) > 2 && old[1] == '/' && new[1] == '/' && prefixPair(old[0], new[0]):
		return old[2:], new[2:]
	}
	return old, new
}

// prefixPair reports whether two letters are a pair of git's prefixes: a and b, or the mnemonic ones (commit, index, work tree, object), or reversed.
func prefixPair(a, b byte) bool {
	return a != b && strings.IndexByte("abciwo", a) >= 0 && strings.IndexByte("abciwo", b) >= 0
}

// sideName unquotes a name and cuts a time stamp behind a tab.
func sideName(s string) string {
	if strings.HasPrefix(s, `"`) {
		if quoted, _, ok := headPath(s); ok {
			return cPath(quoted)
		}
	}
	s, _, _ = strings.Cut(s, "\t")
	return strings.TrimRight(s, " ")
}

// cPath decodes a name that git wrote in quotes, with C's escapes. Another name is returned as it is.
func cPath(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	const letters, bytes = `abtnvfr"\`, "\a\b\t\n\v\f\r\"\\"
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if j := strings.IndexByte(letters, s[i]); j >= 0 {
			out = append(out, bytes[j])
			continue
		}
		n, digits := 0, 0
		for digits < 3 && i+digits < len(s) && s[i+digits] >= '0' && s[i+digits] <= '7' {
			n = n*8 + int(s[i+digits]-'0')
			digits++
		}
		if digits == 0 {
			out = append(out, '\\', s[i])
			continue
		}
		out = append(out, byte(n))
		i += digits - 1
	}
	return string(out)
}
