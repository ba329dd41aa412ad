package codesym

// operatorEnd returns the end of the operator that begins at i: the longest one that the languages with scanners of their own have. ">" stands alone, since it
// also closes type arguments, and so does "*" where it makes a pointer.
func operatorEnd(src string, i int, power bool) int {
	c := src[i]
	switch c {
	case '(', ')', '[', ']', '{', '}', ',', ';', '>', '#', '$', '\\', '~', '`':
		return i + 1
	}
	n := len(src) - i
	if n < 2 {
		return i + 1
	}
	d := src[i+1]
	third := byte(0)
	if n > 2 {
		third = src[i+2]
	}
	switch c {
	case '.':
		if d == '.' {
			if third == '.' || third == '=' {
				return i + 3
			}
			return i + 2
		}
		return i + 1
	case '*':
		if power && d == '*' {
			if third == '=' {
				return i + 3
			}
			return i + 2
		}
	case '/', '<', '&', '|', '?', '+', '-', ':', '=':
		switch {
		case d == c && c != '<' || d == '<' && c == '<':
			if (third == '=') && c != ':' && c != '+' && c != '-' {
				return i + 3
			}
			return i + 2
		case c == '-' && d == '>', c == '=' && d == '>', c == '?' && d == '.':
			return i + 2
		}
	case '!':
		if d == '=' && third == '=' {
			return i + 3
		}
	}
	if d == '=' {
		return i + 2
	}
	return i + 1
}
