package tokens

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"sakur4/internal/eight"
)

// Encoding is one byte-pair encoding: a rule that splits text into pieces, a vocabulary, and the merges that build its tokens inside a piece.
// It is immutable and safe for concurrent use. The zero value is not an encoding; [O200k], [CL100k] and [ByName] give one.
type Encoding struct {
	name    string
	classes *classTable
	older   bool // splits as cl100k_base does, else as o200k_base
	plain   plainWords
	vocab   *vocabulary
	special map[string]int32
}

// next returns the end of the piece that starts at byte i of s, which is valid UTF-8 and longer than i.
func (e *Encoding) next(s string, i int) int {
	if e.older {
		return e.classes.nextCL100k(s, i)
	}
	return e.classes.nextO200k(s, i)
}

// The control tokens of the encodings. They are decoded, never encoded.
var (
	o200kSpecial = map[string]int32{
		"<|endoftext|>":   199999,
		"<|endofprompt|>": 200018,
	}
	cl100kSpecial = map[string]int32{
		"<|endoftext|>":   100257,
		"<|fim_prefix|>":  100258,
		"<|fim_middle|>":  100259,
		"<|fim_suffix|>":  100260,
		"<|endofprompt|>": 100276,
	}
)

var o200k = sync.OnceValue(func() *Encoding {
	return &Encoding{name: "o200k_base", classes: classes(), plain: plainO200k(), vocab: load(codec.NewO200kBase().Decode, 199998), special: o200kSpecial}
})

var cl100k = sync.OnceValue(func() *Encoding {
	return &Encoding{name: "cl100k_base", classes: classes(), older: true, plain: plainCL100k(), vocab: load(codec.NewCl100kBase().Decode, 100256), special: cl100kSpecial}
})

// O200k returns the encoding o200k_base. The first call reads its vocabulary.
func O200k() *Encoding { return o200k() }

// CL100k returns the encoding cl100k_base. The first call reads its vocabulary.
func CL100k() *Encoding { return cl100k() }

// ByName returns the encoding of that name: "o200k_base" or "cl100k_base". Any other name is an error.
func ByName(name string) (*Encoding, error) {
	switch name {
	case "o200k_base":
		return O200k(), nil
	case "cl100k_base":
		return CL100k(), nil
	}
	return nil, fmt.Errorf("tokens: no encoding named %q, there are %q and %q", name, "cl100k_base", "o200k_base")
}

// Name returns the name of the encoding, as [ByName] takes it.
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of s, which is the length of Encode(s). It allocates nothing for valid text without very long pieces.
func (e *Encoding) Count(s string) int {
	s = valid(s)
	var m merger
	n := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			x := eight.Of(s[i:])
			if k := e.plain.word(x); k > 0 && e.vocab.hasKey(packedEight(x, k)) {
				n++
				i += k
				continue
			}
		}
		end := e.next(s, i)
		if e.vocab.has(s, i, end) {
			n++
		} else {
			n += len(e.vocab.merge(&m, s[i:end]))
		}
		i = end
	}
	return n
}

// Encode returns the ids of the tokens of s.
func (e *Encoding) Encode(s string) []int32 {
	s = valid(s)
	var m merger
	ids := make([]int32, 0, len(s)/4+1)
	for i := 0; i < len(s); {
		end := e.next(s, i)
		if piece := s[i:end]; e.vocab.id(piece) >= 0 {
			ids = append(ids, e.vocab.id(piece))
		} else {
			for _, p := range e.vocab.merge(&m, piece) {
				ids = append(ids, p.id)
			}
		}
		i = end
	}
	return ids
}

// Spans returns the ids of the tokens of s and, for each, the byte offset in s at which it ends. A token starts where the one before it ends, so the ends never fall
// and the last is len(s). A token may end inside a character. Inside the U+FFFD that stands for a bad byte, every end is the offset of that byte.
func (e *Encoding) Spans(s string) (ids []int32, ends []int) {
	bad := badBytes(s)
	s = valid(s)
	var m merger
	ids, ends = make([]int32, 0, len(s)/4+1), make([]int, 0, len(s)/4+1)
	for i := 0; i < len(s); {
		end := e.next(s, i)
		if piece := s[i:end]; e.vocab.id(piece) >= 0 {
			ids, ends = append(ids, e.vocab.id(piece)), append(ends, end)
		} else {
			for _, p := range e.vocab.merge(&m, piece) {
				ids, ends = append(ids, p.id), append(ends, i+int(p.end))
			}
		}
		i = end
	}
	restore(ends, bad)
	return ids, ends
}

// Decode returns the text of the tokens, control tokens included. It is the inverse of Encode for valid UTF-8; a cut sequence may decode to a broken character.
// An id that the encoding does not have decodes to U+FFFD.
func (e *Encoding) Decode(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		if t, ok := e.Token(id); ok {
			b.WriteString(t)
		} else {
			b.WriteRune('\uFFFD')
		}
	}
	return b.String()
}
