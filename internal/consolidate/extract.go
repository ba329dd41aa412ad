package consolidate

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of the work and of what is taken.
const (
	maxText        = 256 << 10 // bytes of a text that are looked at
	maxSentences   = 2048
	maxSentence    = 320 // bytes; a longer one is data
	maxIdentifiers = 8
	maxIdentifier  = 80 // bytes
	headBytes      = 160
	maxNamed       = 16 << 10 // bytes in which names are looked for with every turn
)

// cues are beginnings of words that say that something was found, decided or broken.
var cues = [...]string{
	"error", "fail", "panic", "warn", "fix", "bug", "because", "cause", "decid", "must", "never", "always", "expect", "result", "deadlock", "race", "leak", "todo",
	"passed", "return", "require", "instead", "deprecat",
}

// sentence is a part of the text.
type sentence struct {
	text  string
	at    int // its place among the sentences
	score int
}

// Extract returns some of the text's own sentences, verbatim and in their order, behind the identifiers that occur in the text: at most budget tokens as
// count gives them. It selects and understands nothing. A text without a sentence gives its first characters; one without words gives "".
func Extract(text string, budget int, count func(string) int) string {
	if len(text) > maxText {
		text = head(text, maxText)
	}
	names, seen := identifiers(text)
	list := sentences(text)
	rate(list, seen)
	ranked := slices.Clone(list)
	slices.SortStableFunc(ranked, func(a, b sentence) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.at, b.at)) })
	prefix := strings.Join(names, ", ")
	for len(names) > 0 && count(prefix) > budget/2 {
		names = names[:len(names)-1]
		prefix = strings.Join(names, ", ")
	}
	used := count(prefix) + 2
	var taken []sentence
	for _, s := range ranked {
		n := count(s.text) + 1
		if used+n > budget || s.score*4 < ranked[0].score {
			continue
		}
		used += n
		taken = append(taken, s)
	}
	slices.SortFunc(taken, func(a, b sentence) int { return cmp.Compare(a.at, b.at) })
	lines := make([]string, 0, len(taken)+1)
	for _, s := range taken {
		lines = append(lines, s.text)
	}
	if len(lines) == 0 {
		if h := strings.TrimSpace(head(strings.TrimSpace(text), headBytes)); h != "" && used+count(h) <= budget {
			lines = append(lines, h)
		}
	}
	body := strings.Join(lines, "\n")
	switch {
	case prefix == "":
		return body
	case body == "":
		return prefix
	}
	return prefix + ": " + body
}

// head returns the first n bytes of s, less what is no whole character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// sentences splits a text at the ends of lines and of sentences. Repeated ones count once; lines without a letter are none.
func sentences(text string) []sentence {
	var list []sentence
	known := map[string]bool{}
	add := func(s string) {
		s = strings.TrimSpace(s)
		if len(s) < 8 || len(s) > maxSentence || known[s] || len(list) == maxSentences || strings.IndexFunc(s, unicode.IsLetter) < 0 {
			return
		}
		known[s] = true
		list = append(list, sentence{text: s, at: len(list)})
	}
	for line := range strings.Lines(text) {
		from := 0
		for i := 0; i+1 < len(line); i++ {
			if (line[i] == '.' || line[i] == '!' || line[i] == '?') && line[i+1] == ' ' {
				add(line[from : i+1])
				from = i + 1
			}
		}
		add(line[from:])
	}
	return list
}

// rate gives each sentence points for words that the text repeats, for identifiers, for cues and for its place.
func rate(list []sentence, names map[string]int) {
	often := map[string]int{}
	for _, s := range list {
		for _, w := range words(s.text) {
			often[w]++
		}
	}
	for i := range list {
		s := &list[i]
		done := map[string]bool{}
		for _, w := range words(s.text) {
			if done[w] {
				continue
			}
			done[w] = true
			switch {
			case names[w] > 0:
				s.score += 2
			case often[w] > 1 && len(w) > 3:
				s.score++
			}
			low := strings.ToLower(w)
			for _, cue := range cues {
				if strings.HasPrefix(low, cue) {
					s.score += 3
					break
				}
			}
		}
		s.score -= len(s.text) / 80
		if i == 0 {
			s.score += 4
		}
	}
}

// words splits at everything that stands in no name.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' && r != '/' && r != '-'
	})
}

// identifiers returns the names and paths of the text, those that occur most often first, and how often each occurs.
func identifiers(text string) (names []string, seen map[string]int) {
	seen = map[string]int{}
	var order []string
	for _, w := range words(text) {
		w = strings.Trim(w, "./-")
		if !isIdentifier(w) {
			continue
		}
		if seen[w] == 0 {
			order = append(order, w)
		}
		seen[w]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(seen[b], seen[a]) })
	return order[:min(len(order), maxIdentifiers)], seen
}

// Names returns at most max different names and paths that occur in a text, those that occur most often first, of equal ones the first.
func Names(text string, max int) []string {
	names, _ := identifiers(head(text, maxNamed))
	return names[:min(len(names), max)]
}

// isIdentifier reports whether a word looks like a name in code or a path, which prose does not: a capital inside, an underscore, a slash or a file's ending.
func isIdentifier(w string) bool {
	if len(w) < 3 || len(w) > maxIdentifier || strings.IndexFunc(w, unicode.IsLetter) < 0 {
		return false
	}
	inner := w[1:]
	hump := false
	for i := 1; i < len(w); i++ {
		hump = hump || w[i] >= 'A' && w[i] <= 'Z' && w[i-1] >= 'a' && w[i-1] <= 'z'
	}
	if hump || strings.ContainsAny(inner, "_/") {
		return true
	}
	dot := strings.LastIndexByte(w, '.')
	if dot < 1 || dot+1 == len(w) || len(w)-dot > 6 {
		return false
	}
	// "pool.go" and "v1.2" but not "end.Then"; a number is no name.
	return strings.IndexFunc(w[dot+1:], unicode.IsUpper) < 0 && unicode.IsLetter(rune(w[0]))
}
