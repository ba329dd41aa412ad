package tokens

import "math/bits"

const (
	lows  = 0x0101010101010101 // the lowest bit of each of eight bytes
	highs = 0x8080808080808080 // the highest
)

// smallRun returns the number of bytes in x, the lowest first, of which all behind the first skip are small letters of ASCII.
func smallRun(x uint64, skip int) int {
	// The high bit of a byte tells whether it is one. No sum carries into the next byte.
	m := x &^ highs
	small := (m + lows*(0x80-'a')) &^ (m + lows*(0x7f-'z')) &^ x
	return bits.TrailingZeros64(^small&highs>>(8*skip)<<(8*skip)) / 8
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
