package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/internal/digest"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// entryOf returns an entry about an episode.
func entryOf(id, episode, text string) store.NewEntry {
	return store.NewEntry{ID: id, AnchorType: "episodic_stream", AnchorID: episode, Text: text, Origin: semantic.Extracted, Tokens: 3}
}

func TestAnEntryHoldsTheHashOfItsAnchor(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "content")
	created := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	var first, second semantic.Entry
	write(t, s, func(tx *store.Tx) (err error) {
		if err := tx.PutFacts("p", []symbolic.Row{fact("p", "a", "v", "hash of a", "ep_1")}, created); err != nil {
			return err
		}
		n := entryOf("sem_1", "ep_1", "says something")
		n.Created = created
		if first, err = tx.PutEntry("p", "s", n); err != nil {
			return err
		}
		second, err = tx.PutEntry("p", "s", store.NewEntry{ID: "sem_2", AnchorType: "symbolic_fact", AnchorID: "sym_p_a", Text: "about a",
			Origin: semantic.Interpreted, Replaces: "sem_1", Created: created})
		return err
	})
	want := []semantic.Entry{
		{ID: "sem_1", Project: "p", Session: "s", Text: "says something", AnchorType: "episodic_stream", AnchorID: "ep_1",
			AnchorHash: digest.Of("content").String(), Origin: semantic.Extracted, Created: created},
		{ID: "sem_2", Project: "p", Session: "s", Text: "about a", AnchorType: "symbolic_fact", AnchorID: "sym_p_a",
			AnchorHash: "hash of a", Origin: semantic.Interpreted, Replaces: "sem_1", Created: created},
	}
	if diff := cmp.Diff(want, []semantic.Entry{first, second}); diff != "" {
		t.Errorf("PutEntry() (-want +got):\n%s", diff)
	}
	read(t, s, func(r *store.Reader) error {
		all, err := drain(r.Entries(store.EntryFilter{Project: "p", All: true}))
		if diff := cmp.Diff(want, all); diff != "" || err != nil {
			t.Errorf("Entries(all) = %v (-want +got):\n%s", err, diff)
		}
		inForce, err := drain(r.Entries(store.EntryFilter{Project: "p"}))
		if diff := cmp.Diff(want[1:], inForce); diff != "" || err != nil {
			t.Errorf("Entries() = %v (-want +got):\n%s", err, diff)
		}
		edges, err := r.Edges("p", "", "", "derived_from")
		if err != nil {
			return err
		}
		edge := slices.IndexFunc(edges, func(e store.EdgeRow) bool { return e.From == "sem_2" && e.To == "sym_p_a" && e.SeenHash == "hash of a" })
		if edge < 0 {
			t.Errorf("Edges() = %v, want one from sem_2 to sym_p_a", edges)
		}
		return nil
	})
	write(t, s, func(tx *store.Tx) error { return tx.RetireEntry("p", "sem_2") })
	read(t, s, func(r *store.Reader) error {
		if e, err := r.Entry("p", "sem_2"); err != nil || !e.Retired {
			t.Errorf("Entry(sem_2) after RetireEntry = %+v, %v, want it retired", e, err)
		}
		if inForce, err := drain(r.Entries(store.EntryFilter{Project: "p"})); len(inForce) > 0 || err != nil {
			t.Errorf("Entries() after RetireEntry = %v, %v, want none", inForce, err)
		}
		return nil
	})
}

func TestNoEntryWithoutAnchor(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	ensure(t, s, "other", "s")
	add(t, s, "p", "s", "ep_1", "content")
	add(t, s, "other", "s", "ep_other", "content")
	write(t, s, func(tx *store.Tx) error {
		if err := tx.PutFacts("other", []symbolic.Row{fact("other", "a", "v", "h", "ep_other")}, time.Time{}); err != nil {
			return err
		}
		if _, err := tx.PutEntry("p", "s", entryOf("sem_there", "ep_1", "text")); err != nil {
			return err
		}
		_, err := tx.PutEntry("other", "s", entryOf("sem_other", "ep_other", "text"))
		return err
	})
	change := func(f func(n *store.NewEntry)) store.NewEntry {
		n := entryOf("sem_1", "ep_1", "text")
		f(&n)
		return n
	}
	for _, test := range []struct {
		name    string
		session string
		entry   store.NewEntry
		want    error // nil is any
	}{
		{"no such episode", "s", change(func(n *store.NewEntry) { n.AnchorID = "ep_2" }), store.ErrNotFound},
		{"no such fact", "s", change(func(n *store.NewEntry) { n.AnchorType, n.AnchorID = "symbolic_fact", "sym_p_a" }), store.ErrNotFound},
		{"an episode as a fact", "s", change(func(n *store.NewEntry) { n.AnchorType = "symbolic_fact" }), store.ErrNotFound},
		{"another project's episode", "s", change(func(n *store.NewEntry) { n.AnchorID = "ep_other" }), store.ErrNotFound},
		{"another project's fact", "s", change(func(n *store.NewEntry) { n.AnchorType, n.AnchorID = "symbolic_fact", "sym_other_a" }), store.ErrNotFound},
		{"no anchor", "s", change(func(n *store.NewEntry) { n.AnchorID = "" }), store.ErrNotFound},
		{"another kind of anchor", "s", change(func(n *store.NewEntry) { n.AnchorType = "note" }), nil},
		{"no session", "t", change(func(*store.NewEntry) {}), store.ErrNotFound},
		{"nothing to replace", "s", change(func(n *store.NewEntry) { n.Replaces = "sem_2" }), store.ErrNotFound},
		{"itself to replace", "s", change(func(n *store.NewEntry) { n.Replaces = "sem_1" }), store.ErrNotFound},
		{"another project's to replace", "s", change(func(n *store.NewEntry) { n.Replaces = "sem_other" }), store.ErrNotFound},
		{"a taken id", "s", change(func(n *store.NewEntry) { n.ID = "sem_there" }), store.ErrExists},
		{"a blank text", "s", change(func(n *store.NewEntry) { n.Text = " \n" }), semantic.ErrEmpty},
		{"no origin", "s", change(func(n *store.NewEntry) { n.Origin = 0 }), nil},
		{"no id", "s", change(func(n *store.NewEntry) { n.ID = "" }), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := entries(t, s)
			// The transaction is committed: what PutEntry refuses must not have written anything.
			write(t, s, func(tx *store.Tx) error {
				_, err := tx.PutEntry("p", test.session, test.entry)
				if err == nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("PutEntry(%+v) = %v, want %v", test.entry, err, test.want)
				}
				return nil
			})
			if diff := cmp.Diff(before, entries(t, s)); diff != "" {
				t.Errorf("a refused entry changed the atlas (-before +after):\n%s", diff)
			}
		})
	}
	err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.RetireEntry("other", "sem_there") })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("RetireEntry of another project's entry = %v, want %v", err, store.ErrNotFound)
	}
}

// entries returns all entries of both projects.
func entries(t *testing.T, s *store.Store) (list []semantic.Entry) {
	t.Helper()
	read(t, s, func(r *store.Reader) error {
		for _, project := range []string{"p", "other"} {
			some, err := drain(r.Entries(store.EntryFilter{Project: project, All: true}))
			if err != nil {
				return err
			}
			list = append(list, some...)
		}
		return nil
	})
	return list
}

func TestTheAtlasIsNeverRewritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	occupy(t, s, "p", 3)
	raw := storetest.Raw(t, path)
	before := dump(t, raw, []string{"semantic_atlas"})
	for _, sql := range []string{
		`UPDATE semantic_atlas SET text = 'x'`,
		`UPDATE semantic_atlas SET anchor_hash_at_write = 'x'`,
		`UPDATE semantic_atlas SET anchor_id = 'p_ep_2'`,
		`UPDATE semantic_atlas SET origin = 'interpreted' WHERE origin = 'extracted'`,
		`UPDATE semantic_atlas SET num = num + 10`,
		`UPDATE semantic_atlas SET rowid = rowid + 10`,
		`UPDATE semantic_atlas SET replaces = ''`,
		`UPDATE semantic_atlas SET replaced_by = ''`,
		`UPDATE semantic_atlas SET created = 0`,
		`DELETE FROM semantic_atlas`,
		`INSERT OR REPLACE INTO semantic_atlas SELECT * FROM semantic_atlas`,
		`REPLACE INTO semantic_atlas (entry_id, project_id, session_id, anchor_type, anchor_id, anchor_hash_at_write, text, origin, tokens, created)
		 VALUES ('p_sem_1', 'p', 's', 'episodic_stream', 'p_ep_1', 'h', 't', 'extracted', 1, 0)`,
		`INSERT INTO semantic_atlas (entry_id, project_id, session_id, anchor_type, anchor_id, anchor_hash_at_write, text, origin, tokens, created)
		 VALUES ('sem_9', 'p', 's', 'episodic_stream', 'p_ep_1', 'h', 't', 'guessed', 1, 0)`,
		`INSERT INTO semantic_atlas (entry_id, project_id, session_id, anchor_type, anchor_id, anchor_hash_at_write, text, origin, tokens, created)
		 VALUES ('sem_9', 'p', 's', 'episodic_stream', 'nothing', 'h', 't', 'extracted', 1, 0)`,
	} {
		if err := raw.Exec(sql); err == nil {
			t.Errorf("Exec(%s) succeeded", sql)
		}
	}
	if after := dump(t, raw, []string{"semantic_atlas"}); after != before {
		t.Errorf("the refused statements changed the atlas:\n%s\nwas\n%s", after, before)
	}
	if err := raw.Exec(`UPDATE semantic_atlas SET retired = 1`); err != nil {
		t.Errorf("retiring = %v", err)
	}
	if err := raw.Exec(`UPDATE semantic_atlas SET retired = 0`); err == nil {
		t.Error("a retired entry could be put in force again")
	}
}

// TestFreshnessIsComputedWhenItIsRead changes facts at random and compares the view with a model.
func TestFreshnessIsComputedWhenItIsRead(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "content")
	type wanted struct {
		ID, Current    string
		Missing, Stale bool
	}
	type entry struct{ id, fact, hash string }
	hashes := map[string]string{}
	var model []entry
	for i := range 120 {
		name := fmt.Sprint("f", random.IntN(12))
		id := "sym_p_" + name
		write(t, s, func(tx *store.Tx) error {
			if hashes[id] == "" || random.IntN(2) == 0 {
				hashes[id] = fmt.Sprint("h", random.IntN(3))
				return tx.PutFacts("p", []symbolic.Row{fact("p", name, "v"+hashes[id], hashes[id], "ep_1")}, time.Time{})
			}
			n := store.NewEntry{ID: fmt.Sprint("sem_", i), AnchorType: "symbolic_fact", AnchorID: id, Text: "text", Origin: semantic.Summarized}
			if len(model) > 0 && random.IntN(4) == 0 {
				old := random.IntN(len(model))
				n.Replaces = model[old].id
				model = slices.Delete(model, old, old+1)
			}
			model = append(model, entry{n.ID, id, hashes[id]})
			_, err := tx.PutEntry("p", "s", n)
			return err
		})
		if i%10 > 0 {
			continue
		}
		var want []wanted
		for _, stale := range []bool{true, false} {
			for _, e := range model {
				if (hashes[e.fact] != e.hash) == stale {
					want = append(want, wanted{e.id, hashes[e.fact], false, stale})
				}
			}
		}
		most := random.IntN(20)
		if most > 0 {
			want = want[:min(len(want), most)]
		}
		var got []wanted
		read(t, s, func(r *store.Reader) error {
			for state, err := range r.Freshness("p", most) {
				if err != nil {
					return err
				}
				got = append(got, wanted{state.Entry.ID, state.CurrentHash, state.Missing, state.Stale})
			}
			return nil
		})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after %d steps: Freshness(%d) (-want +got):\n%s", i, most, diff)
		}
	}
	// Nothing of ours takes a tool's fact away; a damaged file may lack it all the same.
	gone := filepath.Join(t.TempDir(), "gone.db")
	if err := s.Backup(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Raw(t, gone).Exec(`DROP TRIGGER symbolic_fact_no_delete; DELETE FROM symbolic_fact`); err != nil {
		t.Fatal(err)
	}
	without, err := store.Open(t.Context(), store.Config{Path: gone})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	read(t, without, func(r *store.Reader) error {
		for state, err := range r.Freshness("p", 0) {
			if err != nil || !state.Missing || !state.Stale || state.CurrentHash != "" {
				t.Errorf("Freshness() without facts = %+v, %v, want missing and stale", state, err)
			}
		}
		return nil
	})
}

func TestSearchEntriesFindsWhatIsInForce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	ensure(t, s, "p", "t")
	add(t, s, "p", "s", "ep_1", "content")
	check := func(what string, q store.SearchQuery, want ...string) {
		t.Helper()
		q.Project, q.K = "p", 10
		for _, where := range []string{"read", "write"} {
			var got []string
			search := func(r *store.Reader) error {
				found, err := r.SearchEntries(q)
				for _, f := range found {
					got = append(got, f.ID)
				}
				return err
			}
			if where == "read" {
				read(t, s, search)
			} else {
				write(t, s, func(tx *store.Tx) error { return search(tx.Reader) })
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, in a %s: SearchEntries(%v) (-want +got):\n%s", what, where, q, diff)
			}
		}
	}
	put := func(session string, n store.NewEntry) {
		t.Helper()
		write(t, s, func(tx *store.Tx) error { _, err := tx.PutEntry("p", session, n); return err })
	}
	check("an empty atlas", store.SearchQuery{Terms: []string{"retry"}})
	put("s", entryOf("sem_1", "ep_1", "retry and wait"))
	put("t", entryOf("sem_2", "ep_1", "retry retry retry"))
	check("two", store.SearchQuery{Terms: []string{"RETRY"}}, "sem_2", "sem_1")
	check("one session", store.SearchQuery{Terms: []string{"retry"}, Session: "s"}, "sem_1")
	write(t, s, func(tx *store.Tx) error {
		return tx.PutFacts("p", []symbolic.Row{fact("p", "backoff", "v", "h", "ep_1")}, time.Time{})
	})
	put("s", store.NewEntry{ID: "sem_3", AnchorType: "symbolic_fact", AnchorID: "sym_p_backoff", Text: "doubles", Origin: semantic.Interpreted, Replaces: "sem_2"})
	check("the name of the fact", store.SearchQuery{Terms: []string{"backoff"}}, "sem_3")
	check("after a replacement", store.SearchQuery{Terms: []string{"retry"}}, "sem_1")
	write(t, s, func(tx *store.Tx) error { return tx.RetireEntry("p", "sem_1") })
	check("after a retirement", store.SearchQuery{Terms: []string{"retry"}})
	put("s", entryOf("sem_4", "ep_1", strings.Repeat("retry ", 50_000)))
	check("a text of several documents", store.SearchQuery{Terms: []string{"retry"}}, "sem_4")
}
