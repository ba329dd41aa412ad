package store_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

// corpus is a random text of words w0, w1, …, the lower the more frequent.
func corpus(r *rand.Rand, documents int) []string {
	zipf := rand.NewZipf(r, 1.2, 2, 300)
	list := make([]string, documents)
	for i := range list {
		var b strings.Builder
		for range 3 + r.IntN(60) {
			fmt.Fprintf(&b, "W%d ", zipf.Uint64())
		}
		list[i] = b.String()
	}
	return list
}

// spoken is a turn of a session.
type spoken struct {
	session, text string
}

// model is the score of score.go written down naively.
func model(turns []spoken, terms []string, k int) []store.Scored {
	n, length := float64(len(turns)), 0.0
	words := make([][]string, len(turns))
	holding := map[string]float64{}
	for i, d := range turns {
		words[i] = strings.Fields(strings.ToLower(d.text))
		length += float64(len(words[i]))
		for _, term := range terms {
			if slices.Contains(words[i], term) {
				holding[term]++
			}
		}
	}
	frequency := func(i int, term string) float64 {
		exact, step := 0, 0.0
		for _, w := range words[i] {
			if w == term {
				exact++
			}
		}
		// The index tells these frequencies apart; one in between counts as the next lower.
		for _, l := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128} {
			if l <= exact {
				step = float64(l)
			}
		}
		return step
	}
	var list []store.Scored
	for i, d := range turns {
		var before, after []int
		for j := i - 1; j >= 0; j-- {
			if turns[j].session == d.session {
				before = append(before, j)
			}
		}
		for j := i + 1; j < len(turns); j++ {
			if turns[j].session == d.session {
				after = append(after, j)
			}
		}
		score, own := 0.0, false
		for _, term := range terms {
			tf := frequency(i, term)
			own = own || tf > 0
			if holding[term] <= n/10 {
				for distance, weight := range []float64{0.4, 0.2, 0.1} {
					if distance < len(before) {
						j, w := before[distance], weight
						if distance == 0 && strings.Contains(turns[j].text, "?") {
							w *= 2
						}
						tf += w * frequency(j, term)
					}
					if distance < len(after) {
						tf += weight * frequency(after[distance], term)
					}
				}
			}
			if tf > 0 {
				long := max(2, float64(len(words[i]))/(length/n))
				score += math.Log(1+(n-holding[term]+0.5)/(holding[term]+0.5)) * (0.2 + tf*2.2/(tf+1.2*(0.25+0.75*long)))
			}
		}
		score = math.Round(score*1e9) / 1e9
		if own {
			list = append(list, store.Scored{ID: fmt.Sprint("ep_", i), Score: score, Seq: int64(i + 1)})
		}
	}
	slices.SortStableFunc(list, func(a, b store.Scored) int {
		switch {
		case math.Abs(a.Score-b.Score) < 1e-12:
			return int(a.Seq - b.Seq)
		case a.Score > b.Score:
			return -1
		}
		return 1
	})
	return list[:min(k, len(list))]
}

// TestTheStateOfTheIndexNeverShows asks the same of an index that is empty, partly filled, complete, inside a write, read-only.
func TestTheStateOfTheIndexNeverShows(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var documents []spoken
	for _, text := range corpus(random, 400) {
		if random.IntN(3) == 0 {
			text += "?"
		}
		documents = append(documents, spoken{fmt.Sprint("s", random.IntN(3)*random.IntN(2)), text})
	}
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	reader := storetest.Open(t, store.Config{Path: path, ReadOnly: true})
	for _, session := range []string{"s", "s0", "s1", "s2"} {
		ensure(t, s, "p", session)
	}
	for i := 0; i < len(documents); {
		n := min(len(documents)-i, 1+random.IntN(40))
		fill := func(tx *store.Tx) error {
			for j := range n {
				e := episode.Record{ID: fmt.Sprint("ep_", i+j), Project: "p", Session: documents[i+j].session, Role: episode.User, Content: documents[i+j].text}
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
			}
			return nil
		}
		write(t, s, fill)
		i += n
		var terms []string
		for range 1 + random.IntN(6) {
			terms = append(terms, fmt.Sprint("w", random.IntN(310)))
		}
		q := store.SearchQuery{Project: "p", Terms: terms, K: 1 + random.IntN(30)}
		slices.Sort(terms)
		want := model(documents[:i], slices.Compact(slices.Clone(terms)), q.K)
		check := func(where string, got []store.Scored, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: SearchEpisodes(%+v) = %v", where, q, err)
			}
			// Both are rounded to nine digits; sums in another order may round to the next.
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 2e-9), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s, %d documents: SearchEpisodes(%+v) (-want +got):\n%s", where, i, q, diff)
			}
		}
		read(t, reader, func(r *store.Reader) error {
			got, err := r.SearchEpisodes(q)
			check("read-only", got, err)
			return err
		})
		read(t, s, func(r *store.Reader) error {
			if _, err := r.LastSeq("p", "s"); err != nil { // fixes the snapshot: the index cannot be completed
				return err
			}
			got, err := r.SearchEpisodes(q)
			check("in a fixed snapshot", got, err)
			return err
		})
		if random.IntN(2) == 0 {
			boom := errors.New("undo")
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				got, err := tx.SearchEpisodes(q)
				check("inside a write", got, err)
				return boom
			})
			if !errors.Is(err, boom) {
				t.Fatal(err)
			}
		}
		if random.IntN(2) == 0 {
			read(t, s, func(r *store.Reader) error {
				got, err := r.SearchEpisodes(q)
				check("completed", got, err)
				return err
			})
			if store.Unindexed(s) {
				t.Fatal("a search left rows behind the watermark")
			}
		}
	}
}

func TestSearchFilters(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "a")
	ensure(t, s, "p", "b")
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	write(t, s, func(tx *store.Tx) error {
		for i := range 10 {
			e := episode.Record{ID: fmt.Sprint(i), Project: "p", Session: []string{"a", "b"}[i%2], Role: episode.User, Content: "word", At: day(i + 1)}
			if err := tx.AppendEpisode(&e); err != nil {
				return err
			}
		}
		for tier := evict.Live; tier < evict.Dropped; tier++ {
			if err := tx.SetTier("p", "a", "0", tier, tier+1, "w", "", 0); err != nil {
				return err
			}
		}
		return nil
	})
	tests := []struct {
		q    store.SearchQuery
		want string
	}{
		{store.SearchQuery{Project: "p", Terms: []string{"word"}, K: 100}, "123456789"},
		{store.SearchQuery{Project: "p", Terms: []string{"WORD word"}, K: 3}, "123"},
		{store.SearchQuery{Project: "p", Terms: []string{"word"}, K: 100, IncludeDropped: true}, "0123456789"},
		{store.SearchQuery{Project: "p", Session: "a", Terms: []string{"word"}, K: 100}, "2468"},
		{store.SearchQuery{Project: "p", Since: day(3), Until: day(6), Terms: []string{"word"}, K: 100}, "234"},
		{store.SearchQuery{Project: "p", Terms: []string{"other"}, K: 100}, ""},
		{store.SearchQuery{Project: "p", Terms: []string{"word"}}, ""},
		{store.SearchQuery{Project: "p", Terms: []string{"", " "}, K: 5}, ""},
		{store.SearchQuery{Project: "p", K: 5}, ""},
		{store.SearchQuery{Project: "nobody", Terms: []string{"word"}, K: 5}, ""},
		{store.SearchQuery{Terms: []string{"word"}, K: 5}, ""},
	}
	for _, test := range tests {
		got := ""
		read(t, s, func(r *store.Reader) error {
			found, err := r.SearchEpisodes(test.q)
			for _, f := range found {
				got += f.ID
			}
			return err
		})
		if got != test.want {
			t.Errorf("SearchEpisodes(%+v) = %q, want %q", test.q, got, test.want)
		}
	}
}

// TestQueriesAreData searches for everything that is syntax somewhere.
func TestQueriesAreData(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	words := []string{"http.StatusOK", "C++", "AND", "NEAR(a", `"quoted"`, "don't", "--", "a*", "^b", "col:umn", "{x}", "日本語", "naïve", "\xff\xfe", "1:w", "_", "…", "a\\b", "$1", "%_"}
	for i, w := range words {
		add(t, s, "p", "s", fmt.Sprint("ep_", i), "before "+w+" after")
	}
	for pass := range 2 { // the second time from the index
		for i, w := range words {
			read(t, s, func(r *store.Reader) error {
				if pass == 0 {
					if _, err := r.LastSeq("p", "s"); err != nil {
						return err
					}
				}
				found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{w}, K: 5})
				if len(found) != 1 || found[0].ID != fmt.Sprint("ep_", i) {
					t.Errorf("pass %d: SearchEpisodes(%q) = %v, want ep_%d", pass, w, found, i)
				}
				return err
			})
		}
	}
}

func TestLongEpisodesAreFoundByTheirEnds(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	for i := range 3 {
		add(t, s, "p", "s", fmt.Sprint("ep_", i), fmt.Sprintf("alpha%d ", i)+strings.Repeat("filler text ", 30_000)+fmt.Sprintf("omega%d", i))
	}
	write(t, s, func(tx *store.Tx) error {
		return tx.AppendEpisode(&episode.Record{ID: "ep_calls", Project: "p", Session: "s", Role: episode.Assistant, Calls: []episode.Call{{Name: "edit_file", Arguments: `{"path": "main.go" }`}}})
	})
	for term, want := range map[string]string{"alpha1": "ep_1", "omega2": "ep_2", "edit_file": "ep_calls", `"main.go"`: "ep_calls"} {
		read(t, s, func(r *store.Reader) error {
			found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{term}, K: 5})
			if len(found) != 1 || found[0].ID != want {
				t.Errorf("SearchEpisodes(%q) = %v, want %s", term, found, want)
			}
			return err
		})
	}
	read(t, s, func(r *store.Reader) error {
		found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"filler"}, K: 5})
		if len(found) != 3 {
			t.Errorf("SearchEpisodes(filler) = %v, want each episode once", found)
		}
		return err
	})
}

func TestSearchFactsFindsTheCurrentValueOnly(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	ids := func(term string, fixed bool) (got []string) {
		t.Helper()
		read(t, s, func(r *store.Reader) error {
			if fixed {
				if _, err := r.LastSeq("p", "s"); err != nil {
					return err
				}
			}
			found, err := r.SearchFacts(store.SearchQuery{Project: "p", Terms: []string{term}, K: 5})
			for _, f := range found {
				got = append(got, f.ID)
			}
			return err
		})
		return got
	}
	values := []string{"zebra", "lion", "zebra", "tiger"}
	for i, v := range values {
		write(t, s, func(tx *store.Tx) error {
			return tx.PutFacts("p", []symbolic.Row{fact("p", "animal", v, fmt.Sprint("h", i), ""), fact("p", fmt.Sprint("n", i), "constant", "h", "")}, clock()())
		})
		for _, fixed := range []bool{true, false, true} {
			for _, term := range []string{"zebra", "lion", "tiger"} {
				var want []string
				if term == v {
					want = []string{"sym_p_animal"}
				}
				if diff := cmp.Diff(want, ids(term, fixed)); diff != "" {
					t.Errorf("after %q: SearchFacts(%s) (-want +got):\n%s", v, term, diff)
				}
			}
			if got := ids("animal", fixed); len(got) != 1 {
				t.Errorf("after %q: SearchFacts(animal) = %v, want the one fact", v, got)
			}
			if got := ids("constant", fixed); len(got) != min(5, i+1) {
				t.Errorf("after %q: SearchFacts(constant) = %v, want %d", v, got, i+1)
			}
		}
	}
}

func TestAnalyzeMakesTheTerms(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Analyze: func(text string) string { return strings.ReplaceAll(text, "-", " ") }})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "one-two")
	read(t, s, func(r *store.Reader) error {
		found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"two"}, K: 1})
		if len(found) != 1 {
			t.Errorf("SearchEpisodes(two) = %v, want ep_1", found)
		}
		return err
	})
}
