package boundary

import (
	"encoding/binary"
	"fmt"

	"sakur4/internal/digest"
)

// sumTokens is after how many tokens a digest is kept.
const sumTokens = 1024

// sums are the digests of the beginnings of some tokens, of sumTokens, of twice as many and so on: the digest of longer tokens goes on from the last.
type sums []digest.Stream

// keep forgets the digests of more than n tokens: what stands behind has changed.
func (s *sums) keep(n int) { *s = (*s)[:min(len(*s), n/sumTokens)] }

// of returns the digest of tokens, of which the kept digests are those of the beginnings.
func (s *sums) of(tokens []int32) string {
	s.keep(len(tokens))
	h := digest.NewStream()
	if n := len(*s); n > 0 {
		h = (*s)[n-1]
	}
	var b [4 * sumTokens]byte
	for rest := tokens[len(*s)*sumTokens:]; ; {
		n := min(len(rest), sumTokens)
		for i, t := range rest[:n] {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(t))
		}
		h.Write(b[:4*n])
		if n < sumTokens {
			return fmt.Sprintf("%016x", h.Sum())
		}
		*s = append(*s, h)
		rest = rest[n:]
	}
}

// tokensDigest tells two prompts apart. It is taken with every prompt, and nobody gains by a collision, so it is the fast hash.
func tokensDigest(tokens []int32) string {
	var s sums
	return s.of(tokens)
}
