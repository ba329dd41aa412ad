package codesym

import (
	"encoding/binary"

	"sakur4/internal/digest"
)

// hashFrame is a symbol that is open.
type hashFrame struct {
	symbol int
	at     int // where its tokens begin in what is hashed
	sig    int // where those of its signature end, -1 where they are not the first ones or not known
}

// hash computes the hashes of all symbols in one walk over the tokens. A symbol's tokens go to its hash; a symbol within another one counts there by its hash.
func (b *builder) hash(symbols []Symbol) {
	toks, stack, buf := b.toks, b.frames[:0], b.hashed[:0]
	closeTop := func() {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s := &symbols[top.symbol]
		if s.Hash = s.SignatureHash; len(buf) != top.sig {
			s.Hash = digest.OfBytes(buf[top.at:])
		}
		buf = append(buf[:top.at], 0, 3)
		buf = append(buf, s.Hash[:]...)
	}
	next := 0
	change := 0 // the offset up to which no symbol begins or ends
	for i := 0; i < len(toks); {
		start := int(toks[i].start)
		if start < change {
			if len(stack) == 0 {
				i++
				continue
			}
			buf, i = b.appendTokens(buf, i, change)
			continue
		}
		for len(stack) > 0 && symbols[stack[len(stack)-1].symbol].End <= start {
			closeTop()
		}
		walked := i
		for next < len(symbols) && symbols[next].Start <= start {
			top := hashFrame{symbol: next, at: len(buf), sig: -1}
			switch d, s := &b.decls[next], &symbols[next]; {
			case next > 0 && b.decls[next-1].sameText(d):
				s.SignatureHash = symbols[next-1].SignatureHash
			case d.sigStart <= start && start < d.sigEnd && (next+1 == len(symbols) || symbols[next+1].Start >= d.sigEnd):
				// Nothing begins or ends in the signature: its tokens are the next ones of the symbol.
				for walked < len(toks) && int(toks[walked].end) <= d.sigEnd && int(toks[walked].start) < s.End {
					buf = b.appendToken(buf, walked)
					walked++
				}
				top.sig = len(buf)
				k := walked
				for k < len(toks) && int(toks[k].end) <= d.sigEnd { // empty ones behind it
					buf = b.appendToken(buf, k)
					k++
				}
				s.SignatureHash = digest.OfBytes(buf[top.at:])
				if len(buf) > top.sig {
					buf, top.sig = buf[:top.sig], -1
				}
			default:
				for k := i; k < len(toks) && int(toks[k].end) <= d.sigEnd; k++ {
					if int(toks[k].start) >= d.sigStart {
						buf = b.appendToken(buf, k)
					}
				}
				s.SignatureHash = digest.OfBytes(buf[top.at:])
				buf = buf[:top.at]
			}
			stack = append(stack, top)
			next++
		}
		change = len(b.src) + 1
		if next < len(symbols) {
			change = symbols[next].Start
		}
		n := len(stack)
		if n > 0 {
			change = min(change, symbols[stack[n-1].symbol].End)
		}
		switch {
		case walked > i:
			i = walked
		default:
			if n > 0 {
				buf = b.appendToken(buf, i)
			}
			i++
		}
	}
	for len(stack) > 0 {
		closeTop()
	}
	b.frames, b.hashed = stack, buf
}

// appendTokens appends the tokens from i to the last that begins before an offset, and returns the one after it.
func (b *builder) appendTokens(buf []byte, i, before int) ([]byte, int) {
	for src, toks := b.src, b.toks; i < len(toks) && int(toks[i].start) < before; i++ {
		t := &toks[i]
		switch n := t.end - t.start; {
		case n == 1 && t.c != 0:
			buf = append(buf, 1, src[t.start])
		case n < 0x80 && t.kind <= tokenPunct:
			buf = append(buf, byte(n))
			buf = append(buf, src[t.start:t.end]...)
		default:
			buf = b.appendToken(buf, i)
		}
	}
	return buf, i
}

// appendToken appends a token as it counts for hashes: behind its length, or as a mark that no length gives where it is empty.
func (b *builder) appendToken(buf []byte, i int) []byte {
	t := &b.toks[i]
	n := t.end - t.start
	if n == 1 && t.c != 0 {
		return append(buf, 1, b.src[t.start])
	}
	switch t.kind {
	case tokenNewline:
		if i+1 < len(b.toks) && (b.toks[i+1].c == ')' || b.toks[i+1].c == '}') {
			return buf
		}
		return append(buf, 1, ';')
	case tokenIndent:
		return append(buf, 0, 1)
	case tokenDedent:
		return append(buf, 0, 2)
	}
	if n < 0x80 {
		buf = append(buf, byte(n))
	} else {
		buf = binary.AppendUvarint(buf, uint64(n))
	}
	return append(buf, b.src[t.start:t.end]...)
}
