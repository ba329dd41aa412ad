package tokens

import (
	"unicode/utf8"

	"sakur4/internal/eight"
)

// The splitting rules are regular expressions in their published form. They are followed here by hand, alternative by alternative, in time proportional to the
// length of the text: the expressions look back and ahead over a run of spaces or letters, and a run is walked at most twice.

// nextCL100k follows
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func (t *classTable) nextCL100k(s string, i int) int {
	if n := suffix(s, i); n > 0 {
		return i + n
	}
	c, n := t.at(s, i)
	j := i
	if c == other || c == space || c == mark {
		j = i + n // a word may start with one character that is no letter
	}
	end := j
	for {
		c, n := t.at(s, end)
		if !isLetter(c) {
			break
		}
		end += n
	}
	if end > j {
		return end
	}
	if c == number {
		return t.numbers(s, i)
	}
	if end := t.symbols(s, i, false); end > 0 {
		return end
	}
	return t.spaces(s, i)
}

// nextO200k follows
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func (t *classTable) nextO200k(s string, i int) int {
	if i+1 < len(s) && s[i] < utf8.RuneSelf && s[i+1] < utf8.RuneSelf {
		// Two characters of ASCII leave one or two of the alternatives.
		switch c, after := t.ascii[s[i]], t.ascii[s[i+1]]; {
		case c == number:
			return t.numbers(s, i)
		case c == newline, c == space && (after == space || after == newline || after == number):
			return t.spaces(s, i)
		case c == other && after != upper && after != lower, s[i] == ' ' && after == other:
			return t.symbols(s, i, true)
		}
	}
	c, n := t.at(s, i)
	j := i
	if c == other || c == space { // a mark is part of the word: it ends the word where only capitals follow
		j = i + n
	}
	end, sure := asciiWord(s, j)
	if !sure {
		end = t.word(s, j)
	}
	if end > j {
		return end + suffix(s, end)
	}
	if c == number {
		return t.numbers(s, i)
	}
	if end := t.symbols(s, i, true); end > 0 {
		return end
	}
	return t.spaces(s, i)
}

// asciiWord is word for text of which the next eight bytes tell most: the end of [A-Z]*[a-z]* at i. sure is false where a character beyond ASCII follows, which
// may belong to the word.
func asciiWord(s string, i int) (end int, sure bool) {
	for i < len(s) && s[i]-'A' < 26 {
		i++
	}
	for ; i+8 <= len(s); i += 8 {
		if n := smallRun(eight.Of(s[i:]), 0); n < 8 {
			i += n
			return i, s[i] < utf8.RuneSelf
		}
	}
	for i < len(s) && s[i]-'a' < 26 {
		i++
	}
	return i, i == len(s) || s[i] < utf8.RuneSelf
}

// word returns the end of [Upper]*[Lower]+ at i, where characters without case and marks are both, or else of [Upper]+, or 0 where neither starts.
func (t *classTable) word(s string, i int) int {
	end, both := i, 0 // both: the end of the last character that is upper and lower alike
	for {
		c, n := t.at(s, end)
		if c == lower {
			break
		}
		if c != upper && c != letter && c != mark {
			switch {
			case both > 0:
				return both // [Upper]* gives back what it took until one that is lower too
			case end > i:
				return end
			}
			return 0
		}
		end += n
		if c != upper {
			both = end
		}
	}
	for {
		c, n := t.at(s, end)
		if c != lower && c != letter && c != mark {
			return end
		}
		end += n
	}
}

// numbers returns the end of \p{N}{1,3} at i, which has a number.
func (t *classTable) numbers(s string, i int) int {
	for range 3 {
		c, n := t.at(s, i)
		if c != number {
			break
		}
		i += n
	}
	return i
}

// symbols returns the end of  ?[^\s\p{L}\p{N}]+[\r\n]* at i, with / among the last if slash is set, or 0 if none starts there.
func (t *classTable) symbols(s string, i int, slash bool) int {
	if s[i] == ' ' {
		i++
	}
	end := i
	for end < len(s) {
		if b := s[end]; b < utf8.RuneSelf {
			if t.ascii[b] != other {
				break
			}
			end++
			continue
		}
		c, n := t.beyond(s, end)
		if c != other && c != mark {
			break
		}
		end += n
	}
	if end == i {
		return 0
	}
	for end < len(s) && (s[end] == '\r' || s[end] == '\n' || slash && s[end] == '/') {
		end++
	}
	return end
}

// spaces returns the end of \s*[\r\n]+|\s+(?!\S)|\s+ at i, which has a space: up to the last newline of the run; else the run to the end of the text; else all but its
// last character, which belongs to what follows, unless it is the only one.
func (t *classTable) spaces(s string, i int) int {
	end, last, line := i, i, 0
	for end < len(s) {
		c, n := other, 1
		if b := s[end]; b < utf8.RuneSelf {
			c = t.ascii[b]
		} else {
			c, n = t.beyond(s, end)
		}
		if c != space && c != newline {
			break
		}
		last, end = end, end+n
		if c == newline {
			line = end
		}
	}
	switch {
	case line > 0:
		return line
	case end == len(s) || last == i:
		return end
	}
	return last
}

func isLetter(c class) bool { return c == upper || c == lower || c == letter }

// suffix returns the length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at byte i of s, or 0. Case folding makes ſ (U+017F) an s; no other character outside ASCII folds to one of these.
func suffix(s string, i int) int {
	if i >= len(s) || s[i] != '\'' {
		return 0
	}
	return contraction(s[i:])
}

// contraction is suffix for what begins with an apostrophe.
func contraction(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(s) > 2 && s[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(s) > 2 && s[2]|0x20 == 'l' {
			return 3
		}
	}
	if len(s) > 2 && s[1:3] == "ſ" {
		return 3
	}
	return 0
}
