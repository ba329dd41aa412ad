// Package digest is the one hash type of the module.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Digest is the SHA-256 of some bytes. It is used wherever content may be chosen to collide: ids shown to a model, evidence, anchors.
// The zero value is no digest.
type Digest [sha256.Size]byte

// Of returns the digest of s.
func Of(s string) Digest {
	var room [256]byte
	if n := copy(room[:], s); n == len(s) {
		return sha256.Sum256(room[:n])
	}
	return ofLong(s)
}

// ofLong takes s piece by piece: as a slice of bytes all of it would be copied to the heap.
func ofLong(s string) Digest {
	var piece [1024]byte
	h := sha256.New()
	for len(s) > 0 {
		n := copy(piece[:], s)
		h.Write(piece[:n])
		s = s[n:]
	}
	var d Digest
	h.Sum(d[:0])
	return d
}

// OfBytes returns the digest of b.
func OfBytes(b []byte) Digest { return sha256.Sum256(b) }

// IsZero reports whether d is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// AppendDigits appends the first n digits of String to b.
func (d Digest) AppendDigits(b []byte, n int) []byte {
	var digits [2 * len(d)]byte
	hex.Encode(digits[:], d[:(n+1)/2])
	return append(b, digits[:n]...)
}

// Short returns the first 8 hexadecimal digits, for names that people read.
func (d Digest) Short() string { return hex.EncodeToString(d[:4]) }

// Parse returns the digest that s spells in 64 hexadecimal digits.
func Parse(s string) (Digest, error) {
	var d Digest
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return Digest{}, fmt.Errorf("digest: %q is not 64 hexadecimal digits", s)
	}
	copy(d[:], b)
	return d, nil
}

// Fast returns the xxHash64 of s. It detects change and spreads keys; it does not resist chosen collisions.
func Fast(s string) uint64 { return xxhash.Sum64String(s) }

// FastBytes returns the xxHash64 of b; see [Fast].
func FastBytes(b []byte) uint64 { return xxhash.Sum64(b) }

// Stream is an xxHash64 of bytes that are given piece by piece. A copy of it goes on by itself. [NewStream] gives an empty one; the zero value is none.
type Stream struct{ h xxhash.Digest }

// NewStream returns the hash of nothing yet.
func NewStream() Stream {
	var s Stream
	s.h.Reset()
	return s
}

// Write adds bytes.
func (s *Stream) Write(b []byte) { _, _ = s.h.Write(b) } // it never fails

// Sum returns what [FastBytes] returns for all bytes together.
func (s *Stream) Sum() uint64 { return s.h.Sum64() }

// Fields returns the digest of several strings, each framed by its length so that no two lists of fields agree by accident.
func Fields(fields ...string) Digest {
	var room [256]byte
	b := room[:0]
	for _, f := range fields {
		b = AppendField(b, f)
	}
	return sha256.Sum256(b)
}

// AppendField appends a field to b as [Fields] frames it: the digest of b is that of the fields which were appended to it.
func AppendField[T string | []byte](b []byte, field T) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(field))), field...)
}
