package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxTerm is the length in bytes of the longest term: that of a SHA-256 in hexadecimal. A longer word is cut to it, a longer path gives its elements only.
	maxTerm = 64
	// maxWords bounds the words of one compound, so that a megabyte without a space is many compounds.
	maxWords = 32
)

// Analyze returns the index terms of a text, in its order and with repetitions:
//
//   - words of letters and digits in lower case and without Latin accents, English ones without their endings (files, filed and filing are one term);
//   - identifiers whole and in parts: parseHTTPHeader and parse_http_header both give parse, http and header;
//   - names joined by . / \ - @ or :: whole, beside their words, and of a path also its elements: cmd/agent/main.go gives cmd/agent/main.go and main.go;
//   - in scripts without spaces, and in Hangul, every two neighbouring characters.
//
// No term holds a space or is longer than 64 bytes. Bytes that are no valid UTF-8 end a word.
func Analyze(text string) []string {
	var terms []string
	scan(text, func(term string, _ bool) { terms = append(terms, term) })
	return terms
}

// IndexText returns the terms of [Analyze] separated by single spaces.
func IndexText(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	scan(text, func(term string, _ bool) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(term)
	})
	return b.String()
}

// QueryTerms returns the different terms of a question, in the order in which they first occur. Words that occur in almost any text, such as "the" and "which", are
// left out unless there are no others, and so are the words that only say what kind of answer is asked for: how many, how much, what kind, type or sort of.
func QueryTerms(text string) []string {
	var said []saidTerm
	scan(text, func(term string, common bool) { said = append(said, saidTerm{term, common}) })
	var all, telling []string
	seen := make(map[string]bool)
	for i, s := range said {
		if seen[s.term] {
			continue
		}
		if !s.common && !(i > 0 && asks(said[i-1].term, s.term)) && !(i+1 < len(said) && asks(s.term, said[i+1].term)) {
			seen[s.term] = true
			telling = append(telling, s.term)
		}
	}
	if len(telling) > 0 {
		return telling
	}
	for _, s := range said {
		if !seen[s.term] {
			seen[s.term] = true
			all = append(all, s.term)
		}
	}
	return all
}

// saidTerm is a term with whether it is a stop word.
type saidTerm struct {
	term   string
	common bool
}

// asks reports whether two terms in a row only ask for an amount or a kind.
func asks(first, second string) bool {
	switch first {
	case "how":
		return second == "mani" || second == "much"
	case "kind", "type", "sort":
		return second == "of"
	}
	return false
}

// emitFunc takes a term; common says that it is a stop word.
type emitFunc func(term string, common bool)

// span is a word of the text, from and to in bytes, and the joiner that follows it, if any.
type span struct {
	from, to int
	joiner   string
}

// scan finds compounds, which are words held together by single joiners, and hands out their terms.
func scan(text string, emit emitFunc) {
	var words []span
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isWord(r, n) {
			i += n
			continue
		}
		words = words[:0]
		for {
			w := span{from: i, to: wordEnd(text, i)}
			i = w.to
			if n := clitic(text[i:]); n > 0 {
				i += n
			} else if len(words) < maxWords-1 {
				w.joiner = joiner(text[i:])
			}
			words = append(words, w)
			if w.joiner == "" {
				break
			}
			i += len(w.joiner)
		}
		compound(text, words, emit)
	}
}

// isWord reports whether a character of n bytes belongs to words.
func isWord(r rune, n int) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return (r != utf8.RuneError || n > 1) && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// wordEnd returns where the word ends that starts at byte i.
func wordEnd(text string, i int) int {
	from := i
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isWord(r, n) {
			break
		}
		i += n
	}
	if n := clitic(text[i:]); n > 0 && text[i-1]|0x20 == 'n' && text[i+n-1]|0x20 == 't' { // don't
		return i + n
	}
	if i == from+1 && strings.HasPrefix(text[i:], "++") { // C++
		return i + 2
	}
	if i == from+1 && strings.HasPrefix(text[i:], "#") { // C#, F#
		return i + 1
	}
	return i
}

// clitic returns the length of the English ending at the start of rest that an apostrophe sets off, as in it's and they'll, or 0.
func clitic(rest string) int {
	n := 0
	switch {
	case strings.HasPrefix(rest, "'"):
		n = 1
	case strings.HasPrefix(rest, "’"):
		n = len("’")
	default:
		return 0
	}
	end := n
	for end < len(rest) && end < n+3 && (rest[end]|0x20 >= 'a' && rest[end]|0x20 <= 'z') {
		end++
	}
	switch strings.ToLower(rest[n:end]) {
	case "s", "t", "d", "m", "re", "ve", "ll":
		if r, size := utf8.DecodeRuneInString(rest[end:]); !isWord(r, size) {
			return end
		}
	}
	return 0
}

// joiner returns the joiner at the start of rest, or "" where none stands between two words.
func joiner(rest string) string {
	n := 0
	switch {
	case strings.HasPrefix(rest, "::"):
		n = 2
	case rest != "" && strings.IndexByte(`./\-@`, rest[0]) >= 0:
		n = 1
	default:
		return ""
	}
	if r, size := utf8.DecodeRuneInString(rest[n:]); !isWord(r, size) {
		return ""
	}
	return rest[:n]
}

// compound hands out the terms of words that are joined: of each word, of each element of a path that has several words, and of the whole.
func compound(text string, words []span, emit emitFunc) {
	element, elements := 0, 1 // element: its first word
	for i, w := range words {
		word(text, w, emit)
		if w.joiner != "" && w.joiner != "/" && w.joiner != `\` {
			continue
		}
		if i > element {
			joined(text[words[element].from:w.to], emit)
		}
		if w.joiner != "" {
			element = i + 1
			elements++
		}
	}
	if elements > 1 {
		joined(text[words[0].from:words[len(words)-1].to], emit)
	}
}

// joined hands out a name with its joiners, with / for \, unless it is too long.
func joined(name string, emit emitFunc) {
	if len(name) > maxTerm {
		return
	}
	if term := strings.ReplaceAll(fold(name), `\`, "/"); len(term) <= maxTerm {
		emit(term, false)
	}
}
