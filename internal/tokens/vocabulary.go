package tokens

import (
	"fmt"
	"iter"
	"slices"
)

// noToken stands where bytes are no token.
const noToken int32 = -1

// vocabulary holds the ordinary tokens of an encoding. A token's id is its rank: of two possible merges the one with the lower id comes first.
type vocabulary struct {
	tokens  []string         // the bytes of token id
	ids     map[string]int32 // the inverse
	single  [256]int32       // the id of each byte
	pair    []int32          // the id of each two bytes, at b0<<8 | b1, or noToken
	longest int              // the length of the longest token in bytes
}

// load reads n tokens, ids 0 to n-1, through decode. It panics if the vocabulary is not the one that this package was built for: every id has bytes of its own
// and every single byte is a token.
func load(decode func([]uint) (string, error), n int) *vocabulary {
	v := &vocabulary{tokens: make([]string, n), ids: make(map[string]int32, n), pair: slices.Repeat([]int32{noToken}, 1<<16)}
	for id := range v.tokens {
		t, err := decode([]uint{uint(id)})
		if err != nil {
			panic(fmt.Sprintf("tokens: vocabulary: id %d: %v", id, err))
		}
		v.tokens[id], v.ids[t] = t, int32(id)
		v.longest = max(v.longest, len(t))
		if len(t) == 2 {
			v.pair[int(t[0])<<8|int(t[1])] = int32(id)
		}
	}
	for b := range v.single {
		id, ok := v.ids[string([]byte{byte(b)})]
		if !ok {
			panic(fmt.Sprintf("tokens: vocabulary: byte %#x is no token", b))
		}
		v.single[b] = id
	}
	return v
}

// id returns the id of the token that is exactly piece, or noToken.
func (v *vocabulary) id(piece string) int32 {
	if len(piece) > v.longest {
		return noToken
	}
	if id, ok := v.ids[piece]; ok {
		return id
	}
	return noToken
}

// Len returns the number of ordinary tokens; their ids are 0 to Len()-1.
func (e *Encoding) Len() int { return len(e.vocab.tokens) }

// Token returns the bytes of a token, control tokens included. It reports false for an id that the encoding does not have.
func (e *Encoding) Token(id int32) (string, bool) {
	if id >= 0 && int(id) < len(e.vocab.tokens) {
		return e.vocab.tokens[id], true
	}
	for t, s := range e.special {
		if s == id {
			return t, true
		}
	}
	return "", false
}

// Tokens yields the ordinary tokens in the order of their ids: id and bytes, which need not be valid UTF-8.
func (e *Encoding) Tokens() iter.Seq2[int32, string] {
	return func(yield func(int32, string) bool) {
		for id, t := range e.vocab.tokens {
			if !yield(int32(id), t) {
				return
			}
		}
	}
}
