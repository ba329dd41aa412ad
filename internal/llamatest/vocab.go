package llamatest

import (
	"fmt"
	"strings"

	"sakur4/internal/tokens"
)

// The values of tokenizer.ggml.token_type that the writer needs.
const (
	tokenNormal  int32 = 1
	tokenControl int32 = 3
)

// vocabulary is a byte-level BPE vocabulary in the form that GGUF holds.
type vocabulary struct {
	pre    string   // which splitter llama.cpp uses before merging
	tokens []string // in the printable form of tokens.GPT2
	types  []int32
	merges []string // "left right", earliest first
	loud   []bool   // tokens that the model prefers in its replies: printable ASCII
}

func (v *vocabulary) add(raw string) {
	v.tokens = append(v.tokens, tokens.GPT2(raw))
	v.types = append(v.types, tokenNormal)
	v.loud = append(v.loud, printable(raw))
}

func (v *vocabulary) addControl(text string) int {
	v.tokens = append(v.tokens, text)
	v.types = append(v.types, tokenControl)
	v.loud = append(v.loud, false)
	return len(v.tokens) - 1
}

// printable reports whether raw is made of ASCII letters with at most one space in front, so that replies look like words.
func printable(raw string) bool {
	word := strings.TrimPrefix(raw, " ")
	if word == "" {
		return false
	}
	for i := range len(word) {
		c := word[i] | 0x20
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// commonPieces are merged to single tokens in the small vocabulary, so that counts are not bytes and token borders fall inside words, as
// with real vocabularies. The double newline matters: a reply that begins with a newline then merges with the header's.
var commonPieces = []string{
	"\n\n", "  ", "    ", "        ",
	" the", " of", " and", " to", " in", " is", " that", " for", " it", " with", " as", " not", " this", " be", " on", " from",
	"ing", "tion", "er", "ed", "es", "re", "en", "al", "or", "an", "st",
	" return", " func", " error", " string", " int", " if", " file", " line", " test",
	"func", "return", "error", "string", "file", "test", "user", "system", "assistant", "tool",
	`":`, `",`, `":"`, "//", "==", " {", " }", "()", ");", ",\n", "{\n", "}\n",
}

// byteVocabulary is the small vocabulary: 256 bytes and [commonPieces].
func byteVocabulary() vocabulary {
	v := vocabulary{pre: "llama-bpe"}
	known := map[string]bool{}
	for c := range 256 {
		raw := string([]byte{byte(c)})
		v.add(raw)
		known[raw] = true
	}
	merged := map[string]bool{}
	for _, piece := range commonPieces {
		for n := 2; n <= len(piece); n++ {
			if left, right := piece[:n-1], piece[n-1:n]; !merged[piece[:n]] {
				v.merges = append(v.merges, tokens.GPT2(left)+" "+tokens.GPT2(right))
				merged[piece[:n]] = true
			}
			if !known[piece[:n]] {
				v.add(piece[:n])
				known[piece[:n]] = true
			}
		}
	}
	return v
}

// encodingVocabulary holds the ordinary tokens of e under their own ids. pre names the splitter of llama.cpp that follows the same rules.
func encodingVocabulary(e *tokens.Encoding, pre string) vocabulary {
	v := vocabulary{pre: pre}
	for _, raw := range e.Tokens() {
		v.add(raw)
	}
	for left, right := range e.Merges() {
		v.merges = append(v.merges, v.tokens[left]+" "+v.tokens[right])
	}
	return v
}

// vocabularyOf builds the vocabulary that a model names.
func vocabularyOf(vocab Vocab) (vocabulary, error) {
	switch vocab {
	case Bytes:
		return byteVocabulary(), nil
	case CL100k:
		return encodingVocabulary(tokens.CL100k(), "llama-bpe"), nil
	case O200k:
		return encodingVocabulary(tokens.O200k(), "gpt-4o"), nil
	default:
		return vocabulary{}, fmt.Errorf("llamatest: unknown vocabulary %q", vocab)
	}
}
