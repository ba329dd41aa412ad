package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

func TestTheSameFactAThousandTimesIsOneRow(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Now: clock()})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "{}")
	row := fact("p", "read#12345678/a", "1", "h", "ep_1")
	for range 10 {
		write(t, s, func(tx *store.Tx) error {
			for range 100 {
				if err := tx.PutFacts("p", []symbolic.Row{row}, clock()()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	read(t, s, func(r *store.Reader) error {
		counts, err := r.Counts("p")
		if counts.Project.Facts != 1 {
			t.Errorf("Counts().Project.Facts = %d, want 1", counts.Project.Facts)
		}
		got, err2 := r.Fact("p", row.FactID)
		if got.Version != 1 || !got.Updated.Equal(got.First) {
			t.Errorf("Fact() = %+v, want version 1", got)
		}
		versions, err3 := r.FactVersions("p", row.FactID)
		if len(versions) != 0 {
			t.Errorf("FactVersions() = %v, want none", versions)
		}
		degrees, err4 := r.InDegree("p", []string{"ep_1"})
		if degrees["ep_1"] != 1 {
			t.Errorf("InDegree(ep_1) = %d, want 1", degrees["ep_1"])
		}
		return errors.Join(err, err2, err3, err4)
	})
}

func TestANewValueTakesTheOldOnesPlace(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	for _, id := range []string{"ep_1", "ep_2", "ep_3"} {
		add(t, s, "p", "s", id, "{}")
	}
	now := clock()
	t1, t2, t3 := now(), now(), now()
	one, two, three := fact("p", "a", "1\x00\xff", "h1", "ep_1"), fact("p", "a", "1\x00\xff", "h1", "ep_2"), fact("p", "a", "2", "h2", "ep_3")
	two.Offset, two.Line = 7, 3
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.PutFacts("p", []symbolic.Row{one}, t1), tx.PutFacts("p", []symbolic.Row{two}, t2), tx.PutFacts("p", []symbolic.Row{three}, t3))
	})
	want := three
	want.First, want.Updated, want.Version = t1, t3, 2
	old := two // its newest evidence
	old.First, old.Updated, old.Version = t1, t1, 1
	read(t, s, func(r *store.Reader) error {
		got, err := r.Fact("p", three.FactID)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Fact() (-want +got):\n%s", diff)
		}
		versions, err2 := r.FactVersions("p", three.FactID)
		if diff := cmp.Diff([]symbolic.Row{old}, versions); diff != "" {
			t.Errorf("FactVersions() (-want +got):\n%s", diff)
		}
		edges, err3 := r.Edges("p", three.FactID, "", "derived_from")
		if len(edges) != 1 || edges[0].To != "ep_3" {
			t.Errorf("Edges(derived_from) = %+v, want one to ep_3", edges)
		}
		return errors.Join(err, err2, err3)
	})
}

func TestFactsFilters(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "{}")
	names := []string{"a", "a/b", "a/c", "b", "a\xff", "a\xffz", "b\xff\xff"}
	write(t, s, func(tx *store.Tx) error {
		var list []symbolic.Row
		for i, name := range names {
			row := fact("p", name, name, "h", "")
			if i%2 == 0 {
				row.Kind, row.FilePath, row.Episode = "csv_column", "f.csv", "ep_1"
			}
			list = append(list, row)
		}
		return tx.PutFacts("p", list, clock()())
	})
	tests := []struct {
		filter store.FactFilter
		want   []string
	}{
		{store.FactFilter{}, nil},
		{store.FactFilter{Project: "p"}, []string{"a", "a/b", "a/c", "a\xff", "a\xffz", "b", "b\xff\xff"}},
		{store.FactFilter{Project: "p", NamePrefix: "a/"}, []string{"a/b", "a/c"}},
		{store.FactFilter{Project: "p", NamePrefix: "a\xff"}, []string{"a\xff", "a\xffz"}},
		{store.FactFilter{Project: "p", NamePrefix: "\xff"}, nil},
		{store.FactFilter{Project: "p", QualifiedName: "b"}, []string{"b"}},
		{store.FactFilter{Project: "p", Kind: "csv_column", Limit: 2}, []string{"a", "a/c"}},
		{store.FactFilter{Project: "p", FilePath: "f.csv", NamePrefix: "b"}, []string{"b\xff\xff"}},
		{store.FactFilter{Project: "p", Episode: "ep_1", NamePrefix: "a/"}, []string{"a/c"}},
	}
	for _, test := range tests {
		var got []string
		read(t, s, func(r *store.Reader) error {
			for row, err := range r.Facts(test.filter) {
				if err != nil {
					return err
				}
				got = append(got, row.QualifiedName)
			}
			return nil
		})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Facts(%+v) (-want +got):\n%s", test.filter, diff)
		}
	}
}

func TestPutFactsRefuses(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	ensure(t, s, "q", "s")
	write(t, s, func(tx *store.Tx) error {
		return tx.PutFacts("p", []symbolic.Row{fact("p", "a", "1", "h", "")}, clock()())
	})
	change := func(f func(*symbolic.Row)) symbolic.Row {
		row := fact("p", "new", "1", "h", "")
		f(&row)
		return row
	}
	tests := []struct {
		name string
		row  symbolic.Row
	}{
		{"no source", change(func(r *symbolic.Row) { r.Source = "" })},
		{"an unknown kind", change(func(r *symbolic.Row) { r.Kind = "opinion" })},
		{"no hash", change(func(r *symbolic.Row) { r.ASTHash = "" })},
		{"no id", change(func(r *symbolic.Row) { r.FactID = "" })},
		{"another key's id", change(func(r *symbolic.Row) { r.FactID = "sym_p_a" })},
		{"another id for a key", change(func(r *symbolic.Row) { r.QualifiedName = "a" })},
		{"another project", change(func(r *symbolic.Row) { r.Project = "q" })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.PutFacts("p", []symbolic.Row{test.row}, clock()()) })
			if !errors.Is(err, store.ErrRefused) {
				t.Errorf("PutFacts(%+v) = %v, want %v", test.row, err, store.ErrRefused)
			}
		})
	}
}

func TestAnEdgeKeepsTheHashThatWasFirstSeen(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Now: clock()})
	ensure(t, s, "p", "s")
	put := func(site, hash string) error {
		return s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.PutEdges([]store.EdgeRow{{Project: "p", From: "sym_a", To: "sym_b", Kind: "calls", Site: site, SeenHash: hash, Confidence: 0.5}})
		})
	}
	if err := errors.Join(put("f.go:1", "h1"), put("f.go:9", "h2")); err != nil {
		t.Fatal(err)
	}
	read(t, s, func(r *store.Reader) error {
		edges, err := r.Edges("p", "", "sym_b", "")
		if len(edges) != 1 || edges[0].SeenHash != "h1" || edges[0].Site != "f.go:9" || edges[0].Confidence != 0.5 {
			t.Errorf("Edges() = %+v, want the first hash and the last site", edges)
		}
		return err
	})
	for _, bad := range []store.EdgeRow{
		{Project: "p", From: "a", To: "b", Kind: "likes"},
		{Project: "p", From: "", To: "b", Kind: "calls"},
		{Project: "p", From: "a", To: "", Kind: "calls"},
		{Project: "p", From: "a", To: "b", Kind: "calls", Confidence: 2},
		{Project: "x", From: "a", To: "b", Kind: "calls"},
	} {
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.PutEdges([]store.EdgeRow{bad}) }); !errors.Is(err, store.ErrRefused) {
			t.Errorf("PutEdges(%+v) = %v, want %v", bad, err, store.ErrRefused)
		}
	}
}

// TestManyFactsAreAsOneByOne puts lists with new keys, known ones and the same one twice at once, and their facts one by one into another store.
func TestManyFactsAreAsOneByOne(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	at := time.Unix(1000, 0)
	stores := [2]*store.Store{storetest.Open(t, store.Config{}), storetest.Open(t, store.Config{})}
	for _, s := range stores {
		ensure(t, s, "p", "s")
	}
	for round := range 60 {
		id := fmt.Sprint("ep_", round)
		list := make([]symbolic.Row, random.IntN(25))
		for i := range list {
			list[i] = fact("p", fmt.Sprint("name", random.IntN(60)), fmt.Sprint("value", random.IntN(3)), "h", id)
			list[i].FactID = symbolic.FactID("p", list[i].QualifiedName, list[i].Kind, list[i].FilePath)
			list[i].Offset = i
		}
		for n, s := range stores {
			add(t, s, "p", "s", id, "text")
			write(t, s, func(tx *store.Tx) error {
				if n == 0 {
					return tx.PutFacts("p", list, at)
				}
				for i := range list {
					if err := tx.PutFacts("p", list[i:i+1], at); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	var got [2][][]symbolic.Row
	for n, s := range stores {
		read(t, s, func(r *store.Reader) error {
			all, err := drain(r.Facts(store.FactFilter{Project: "p"}))
			if err != nil {
				return err
			}
			got[n] = append(got[n], all)
			for _, f := range all {
				old, err := r.FactVersions("p", f.FactID)
				if err != nil {
					return err
				}
				got[n] = append(got[n], old)
			}
			return nil
		})
	}
	if diff := cmp.Diff(got[1], got[0]); diff != "" || len(got[0]) < 40 {
		t.Errorf("%d facts and their versions (-one by one +at once):\n%s", len(got[0])-1, diff)
	}
}
