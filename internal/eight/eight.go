// Package eight looks at eight bytes of a text at a time, as one number: the first of them is the lowest. What is found in it is told by the highest bit of each byte.
package eight

import "math/bits"

const (
	// Lows is the lowest bit of each of eight bytes.
	Lows = 0x0101010101010101
	// Highs is the highest bit of each.
	Highs = 0x8080808080808080
)

// Of returns the first eight bytes of s, which has as many.
func Of(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Last returns the last eight bytes of s, which has as many.
func Last(s string) uint64 { return Of(s[len(s)-8:]) }

// Not returns a high bit for each byte of x that is not b. No sum in it carries into the next byte.
func Not(x uint64, b byte) uint64 {
	x ^= Lows * uint64(b)
	return (x&^Highs + (Highs - Lows) | x) & Highs
}

// Less returns a high bit for each byte of x that is lower than b, which is at most 128.
func Less(x uint64, b byte) uint64 {
	return ^(x&^Highs + Lows*(0x80-uint64(b)) | x) & Highs
}

// First returns the place of the first byte, from 0, whose high bit is set in found, and 8 where none is.
func First(found uint64) int { return bits.TrailingZeros64(found) / 8 }

// Final returns the place of the last byte, from 0, whose high bit is set in found, and -1 where none is.
func Final(found uint64) int { return 7 - bits.LeadingZeros64(found)/8 }
