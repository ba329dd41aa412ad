package tokens

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMerges rebuilds the encoding of every piece of the golden texts from the merge list alone, as the reader of a model file does: always the leftmost pair of the
// lowest rank.
func TestMerges(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/snippets.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var snippets []string
	for l := range strings.Lines(string(file)) {
		var s string
		if err := json.Unmarshal([]byte(l), &s); err != nil {
			t.Fatal(err)
		}
		snippets = append(snippets, s)
	}
	for _, e := range []*Encoding{O200k(), CL100k()} {
		text := func(id int32) string {
			s, _ := e.Token(id)
			return s
		}
		type pair struct{ left, right int32 }
		type merged struct{ rank, id int32 }
		byText := make(map[string]int32)
		for id, s := range e.Tokens() {
			byText[s] = id
		}
		merges := make(map[pair]merged)
		last := int32(-1)
		for l, r := range e.Merges() {
			id, ok := byText[text(l)+text(r)]
			if !ok || id <= last || l >= id || r >= id {
				t.Fatalf("%s: Merges yields %q + %q, which is token %d, after token %d", e.Name(), text(l), text(r), id, last)
			}
			merges[pair{l, r}], last = merged{int32(len(merges)), id}, id
		}
		if got, want := len(merges), e.Len()-256; got != want {
			t.Errorf("%s: %d merges, want %d: one for each token but the single bytes", e.Name(), got, want)
		}
		encode := func(s string) []int32 {
			var ids []int32
			for i := range len(s) {
				ids = append(ids, byText[s[i:i+1]])
			}
			for {
				best, at := int32(len(merges)), -1
				for i := 0; i+1 < len(ids); i++ {
					if m, ok := merges[pair{ids[i], ids[i+1]}]; ok && m.rank < best {
						best, at = m.rank, i
					}
				}
				if at < 0 {
					return ids
				}
				ids[at] = merges[pair{ids[at], ids[at+1]}].id
				ids = append(ids[:at+1], ids[at+2:]...)
			}
		}
		for _, s := range snippets {
			for i := 0; i < len(s); {
				end := e.next(s, i)
				if diff := cmp.Diff(e.Encode(s[i:end]), encode(s[i:end])); diff != "" {
					t.Errorf("%s: %q by the merge list (-Encode +merges):\n%s", e.Name(), s[i:end], diff)
				}
				i = end
			}
		}
	}
}
