package cortex

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// maxMapLine is the length in bytes of the longest signature in a map.
const maxMapLine = 160

// firstGroup is how many definitions of a map are grouped by file first. Each later group is twice as large: near the top the order matters, further down the
// headings cost more than it is worth.
const firstGroup = 16

// MapItem is one definition of a map, with the text that it adds: a heading where the file changes, and a line.
type MapItem struct {
	Symbol int
	Text   string
}

// Map returns the items of a map of those definitions, the most important ones in front, and ends where there are at least so many; 0 is all. The items do not
// depend on a budget: whatever is shown is a beginning of them. name gives the name under which a symbol is listed; nil lists signatures under the paths of their
// files.
func (g *Graph) Map(ranked []Ranked, least int, name func(symbol int) string) []MapItem {
	if least <= 0 {
		least = len(ranked)
	}
	var out []MapItem
	if name != nil {
		seen := map[string]bool{}
		for _, x := range ranked {
			if len(out) == least {
				break
			}
			if s := name(x.Symbol); !seen[s] {
				seen[s] = true
				out = append(out, MapItem{x.Symbol, s + "\n"})
			}
		}
		return out
	}
	file := -1
	for size := firstGroup; len(ranked) > 0 && len(out) < least; size *= 2 {
		group := slices.Clone(ranked[:min(size, len(ranked))])
		ranked = ranked[len(group):]
		first := map[int]int{} // place of the best definition of a file
		for i, x := range group {
			if f := g.src.Symbols[x.Symbol].File; first[f] == 0 {
				first[f] = i + 1
			}
		}
		slices.SortFunc(group, func(a, b Ranked) int {
			fa, fb := g.src.Symbols[a.Symbol].File, g.src.Symbols[b.Symbol].File
			return cmp.Or(cmp.Compare(first[fa], first[fb]), cmp.Compare(a.Symbol, b.Symbol))
		})
		for _, x := range group {
			s := &g.src.Symbols[x.Symbol]
			text := "  " + clipLine(s.Signature) + "\n"
			if s.File != file {
				file = s.File
				text = g.src.Files[file].Path + ":\n" + text
			}
			out = append(out, MapItem{x.Symbol, text})
		}
	}
	return out
}

// clipLine makes one short line of a text.
func clipLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxMapLine {
		return s
	}
	cut := maxMapLine
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// Fit returns how many of the items fit a budget in tokens, from the front on, their text and its size. Items are whole. count counts the tokens of a text;
// the text that is returned never counts more than the budget.
func Fit(items []MapItem, budget int, count func(string) int) (n int, text string, tokens int) {
	ends := []int{0} // of the first items in the text
	var all strings.Builder
	for sum := 0; len(ends) <= len(items) && sum <= 2*budget; {
		line := items[len(ends)-1].Text
		all.WriteString(line)
		ends = append(ends, all.Len())
		sum += max(1, count(line))
	}
	// The whole has another count than its lines one by one, mostly a smaller one.
	n = sort.Search(len(ends), func(n int) bool { return count(all.String()[:ends[n]]) > budget }) - 1
	for ; n > 0; n-- {
		text = all.String()[:ends[n]]
		if tokens = count(text); tokens <= budget {
			return n, text, tokens
		}
	}
	return 0, "", 0
}
