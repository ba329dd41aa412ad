package tokens

import "sakur4/internal/eight"

// smallRun returns the number of bytes in x, the lowest first, of which all behind the first skip are small letters of ASCII.
func smallRun(x uint64, skip int) int {
	return eight.First((eight.Less(x, 'a') | ^eight.Less(x, 'z'+1)&eight.Highs) >> (8 * skip) << (8 * skip))
}

// plainWords knows the words that most of a text consists of: a character of ASCII, small letters behind it, and what ends them. It says what a byte may be in one.
type plainWords [256]uint8

const (
	leads uint8 = 1 << iota // a letter, or what may stand in front of letters
	ends                    // ASCII that is no part of a word
)

// word returns the length of the word that x begins with, 2 to 7 bytes, or 0 where these eight bytes do not tell how the text is split.
func (p *plainWords) word(x uint64) int {
	n := smallRun(x, 1)
	if n < 2 || n > shortLen || p[byte(x)]&leads == 0 || p[byte(x>>(8*n&63))]&ends == 0 {
		return 0
	}
	return n
}

func plainO200k() plainWords {
	var p plainWords
	for b, c := range classes().ascii {
		if c != newline && c != number {
			p[b] |= leads
		}
		if c != lower && b != '\'' { // a contraction is part of the word
			p[b] |= ends
		}
	}
	return p
}

func plainCL100k() plainWords {
	p := plainO200k()
	p['\''] = ends // a contraction is a piece of its own
	for b := 'A'; b <= 'Z'; b++ {
		p[b] = leads
	}
	return p
}
