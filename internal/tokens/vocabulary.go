package tokens

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// noToken stands where bytes are no token.
const noToken int32 = -1

// vocabulary holds the ordinary tokens of an encoding. A token's id is its rank: of two possible merges the one with the lower id comes first.
type vocabulary struct {
	text   string   // the bytes of all tokens, in the order of their ids
	starts []uint32 // where those of token id start; one more for the end
	// These find an id by the bytes, see index.go: short and shortIDs that of a token of at most shortLen bytes, slots that of a longer one.
	short    []uint64
	shortIDs []int32
	shift    uint8
	slots    []uint64
	single   [256]int32 // the id of each byte
	pair     []int32    // the id of each two bytes, at b0<<8 | b1, or noToken
	longest  int        // the length of the longest token in bytes
	numbers  bool       // one to three digits are always a token
}

// load reads n tokens, ids 0 to n-1, through decode. It panics if the vocabulary is not the one that this package was built for: every id has bytes of its own
// and every single byte is a token.
func load(decode func([]uint) (string, error), n int) *vocabulary {
	v := &vocabulary{starts: make([]uint32, 1, n+1), pair: slices.Repeat([]int32{noToken}, 1<<16)}
	var text strings.Builder
	for id := range n {
		t, err := decode([]uint{uint(id)})
		if err != nil {
			panic(fmt.Sprintf("tokens: vocabulary: id %d: %v", id, err))
		}
		text.WriteString(t)
		v.starts = append(v.starts, uint32(text.Len()))
		v.longest = max(v.longest, len(t))
		if len(t) == 2 {
			v.pair[int(t[0])<<8|int(t[1])] = int32(id)
		}
	}
	v.text = text.String()
	v.index()
	for b := range v.single {
		v.single[b] = v.id(string([]byte{byte(b)}))
		if v.single[b] == noToken {
			panic(fmt.Sprintf("tokens: vocabulary: byte %#x is no token", b))
		}
	}
	return v
}

// token returns the bytes of a token.
func (v *vocabulary) token(id int32) string { return v.text[v.starts[id]:v.starts[id+1]] }

// size returns the number of tokens.
func (v *vocabulary) size() int { return len(v.starts) - 1 }

// Len returns the number of ordinary tokens; their ids are 0 to Len()-1.
func (e *Encoding) Len() int { return e.vocab.size() }

// Token returns the bytes of a token, control tokens included. It reports false for an id that the encoding does not have.
func (e *Encoding) Token(id int32) (string, bool) {
	if id >= 0 && int(id) < e.vocab.size() {
		return e.vocab.token(id), true
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
		for id := range int32(e.vocab.size()) {
			if !yield(id, e.vocab.token(id)) {
				return
			}
		}
	}
}
