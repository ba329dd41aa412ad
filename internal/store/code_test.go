package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/digest"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// sourceFile is a file with symbols of those names, each of which calls the next. A name may bring its value: "f=2".
func sourceFile(project, path string, symbols ...string) store.FileIndex {
	f := store.FileIndex{File: store.FileRow{Path: path, Language: "go", Package: "p", Hash: digest.Of(fmt.Sprint(symbols)).String(), Bytes: 9, Parser: 1,
		Modified: time.Unix(1, 0).UTC(), Indexed: time.Unix(9, 0).UTC()}}
	for i, s := range symbols {
		name, value := s, "1"
		if j := slices.Index([]byte(s), '='); j >= 0 {
			name, value = s[:j], s[j+1:]
		}
		f.Symbols = append(f.Symbols, store.SymbolRow{
			Fact: symbolic.Row{FactID: symbolic.FactID(project, "T."+name, "method", path), Project: project, QualifiedName: "T." + name, Kind: "method", FilePath: path,
				Source: "code:go", Value: "func " + s, ASTHash: digest.Of(value).String(), Offset: i, Line: i + 1},
			Key: name, Short: name, Doc: "Doc of " + name + ".", SigHash: digest.Of(s), End: i + 9, EndLine: i + 2, Parent: i - 1, Bases: []string{"A", "B"}, Test: true, Partial: true,
		})
		if i > 0 {
			f.Calls = append(f.Calls, store.CallRow{Caller: i - 1, Callee: name, Receiver: "t", Offset: i, Line: i})
		}
	}
	f.Calls = append(f.Calls, store.CallRow{Caller: -1, Callee: "init", Offset: 99, Line: 9})
	f.Imports = []store.ImportRow{{Symbol: -1, Path: "fmt", Name: "*", Alias: "f", Line: 1}}
	return f
}

func putFile(t *testing.T, s *store.Store, project string, f store.FileIndex) {
	t.Helper()
	write(t, s, func(tx *store.Tx) error { return tx.PutFile(project, f, time.Unix(20, 0)) })
}

func fileIndex(t *testing.T, s *store.Store, project, path string) (f store.FileIndex) {
	t.Helper()
	read(t, s, func(r *store.Reader) (err error) {
		f, err = r.FileIndex(project, path)
		return err
	})
	return f
}

// seen returns the hashes that callers had, short, in source order.
func seen(f store.FileIndex) []string {
	var out []string
	for _, c := range f.Calls {
		name := c.Callee + " "
		for _, v := range []string{"1", "2", "3"} {
			if c.Seen == digest.Of(v).String() {
				name += v
			}
		}
		out = append(out, name)
	}
	return out
}

func TestFileComesBack(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	want := sourceFile("p", "a.go", "f", "g=2", "h")
	want.File.Symbols, want.File.Calls = 3, 3
	putFile(t, s, "p", want)
	for range 2 {
		got := fileIndex(t, s, "p", "a.go")
		for i := range got.Symbols {
			if f := &got.Symbols[i].Fact; f.Version != 1 || !f.First.Equal(time.Unix(20, 0)) {
				t.Errorf("symbol %d has version %d of %v", i, f.Version, f.First)
			}
			got.Symbols[i].Fact.Version, got.Symbols[i].Fact.First, got.Symbols[i].Fact.Updated = 0, time.Time{}, time.Time{}
		}
		if diff := cmp.Diff([]string{"g 1", "h 2", "init "}, seen(got)); diff != "" {
			t.Errorf("hashes seen (-want +got):\n%s", diff)
		}
		for i := range got.Calls {
			got.Calls[i].Seen = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("FileIndex() (-put +got):\n%s", diff)
		}
		putFile(t, s, "p", want) // the same again changes nothing
	}
}

// TestSeenHashOutlivesParsing edits callers and callees: a call keeps the hash that its caller had when it was first seen.
func TestSeenHashOutlivesParsing(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	for i, step := range []struct {
		symbols, want []string
	}{
		{[]string{"f=1", "g=1"}, []string{"g 1", "init "}},
		{[]string{"f=1", "g=2"}, []string{"g 1", "init "}},                 // the callee alone
		{[]string{"f=2", "g=2"}, []string{"g 1", "init "}},                 // the caller
		{[]string{"f=3", "g=2"}, []string{"g 1", "init "}},                 // the caller again
		{[]string{"f=3", "x=1"}, []string{"x 3", "init "}},                 // another call
		{[]string{"f=1", "g=1"}, []string{"g 1", "init "}},                 // as it was
		{[]string{"f=2", "g=1", "f2=2"}, []string{"g 1", "f2 1", "init "}}, // one more caller
	} {
		putFile(t, s, "p", sourceFile("p", "a.go", step.symbols...))
		if diff := cmp.Diff(step.want, seen(fileIndex(t, s, "p", "a.go"))); diff != "" {
			t.Errorf("step %d, %v: hashes seen (-want +got):\n%s", i, step.symbols, diff)
		}
	}
}

// TestSymbolThatLeavesAndReturns takes a symbol and a file away and brings them back, as changing a branch does.
func TestSymbolThatLeavesAndReturns(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	id := symbolic.FactID("p", "T.g", "method", "a.go")
	there := func() (row symbolic.Row, found int, ok bool) {
		read(t, s, func(r *store.Reader) error {
			var err error
			row, err = r.Fact("p", id)
			ok = err == nil
			hits, err := r.SearchFacts(store.SearchQuery{Project: "p", Terms: []string{"t.g"}, K: 9})
			found = len(hits)
			return err
		})
		return row, found, ok
	}
	for i, step := range []struct {
		do      func(tx *store.Tx) error
		ok      bool
		version int
	}{
		{func(tx *store.Tx) error { return tx.PutFile("p", sourceFile("p", "a.go", "f", "g=1"), time.Time{}) }, true, 1},
		{func(tx *store.Tx) error { return tx.PutFile("p", sourceFile("p", "a.go", "f"), time.Time{}) }, false, 0},
		{func(tx *store.Tx) error { return tx.PutFile("p", sourceFile("p", "a.go", "f", "g=1"), time.Time{}) }, true, 2},
		{func(tx *store.Tx) error { return tx.PutFile("p", sourceFile("p", "a.go", "f", "g=2"), time.Time{}) }, true, 3},
		{func(tx *store.Tx) error { return tx.RemoveFile("p", "a.go", time.Time{}) }, false, 0},
		{func(tx *store.Tx) error { return tx.RemoveFile("p", "a.go", time.Time{}) }, false, 0},
		{func(tx *store.Tx) error { return tx.PutFile("p", sourceFile("p", "a.go", "g=1"), time.Time{}) }, true, 4},
	} {
		write(t, s, step.do)
		row, found, ok := there()
		if ok != step.ok || row.Version != step.version || (found > 0) != step.ok {
			t.Errorf("step %d: fact there %v at version %d, found %d times; want %v at version %d", i, ok, row.Version, found, step.ok, step.version)
		}
	}
	read(t, s, func(r *store.Reader) error {
		versions, err := r.FactVersions("p", id)
		if len(versions) != 3 {
			t.Errorf("FactVersions() = %v, want 3 older values", versions)
		}
		return err
	})
}

// TestSeenHashOutlivesParsers reads a file that has not changed with another parser, by which its symbols have other hashes: nobody edited a caller. One that was
// edited before stays so.
func TestSeenHashOutlivesParsers(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	putFile(t, s, "p", sourceFile("p", "a.go", "f", "g", "h"))
	edited := sourceFile("p", "a.go", "f", "g=2", "h")
	putFile(t, s, "p", edited)
	again := sourceFile("p", "a.go", "f=3", "g=3", "h=3")
	again.File.Hash, again.File.Parser = edited.File.Hash, 2
	putFile(t, s, "p", again)
	if diff := cmp.Diff([]string{"g 3", "h 1", "init "}, seen(fileIndex(t, s, "p", "a.go"))); diff != "" {
		t.Errorf("after another parser (-want +got):\n%s", diff)
	}
}

func TestPutFileRefuses(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "content")
	for name, change := range map[string]func(*store.FileIndex){
		"another project's symbol": func(f *store.FileIndex) { f.Symbols[1].Fact.Project = "q" },
		"another file's symbol":    func(f *store.FileIndex) { f.Symbols[1].Fact.FilePath = "b.go" },
		"what a tool said":         func(f *store.FileIndex) { f.Symbols[1].Fact.Episode = "ep_1" },
	} {
		f := sourceFile("p", "a.go", "f", "g")
		change(&f)
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.PutFile("p", f, time.Time{}) }); err == nil {
			t.Errorf("PutFile with %s = nil, want an error", name)
		}
	}
	read(t, s, func(r *store.Reader) error {
		files, err := drain(r.Files("p"))
		if len(files) != 0 {
			t.Errorf("Files() after refusals = %v, want none", files)
		}
		return err
	})
}

// TestOnlyAFilesSymbolLeaves tries to take facts away behind the store's back.
func TestOnlyAFilesSymbolLeaves(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "content")
	write(t, s, func(tx *store.Tx) error {
		return tx.PutFacts("p", []symbolic.Row{fact("p", "tool", "v", "h", "ep_1")}, time.Time{})
	})
	putFile(t, s, "p", sourceFile("p", "a.go", "f"))
	raw := storetest.Raw(t, path)
	for _, sql := range []string{`DELETE FROM symbolic_fact WHERE episode_id > 0`, `DELETE FROM symbolic_fact WHERE episode_id = 0`} {
		if err := raw.Exec(sql); err == nil {
			t.Errorf("%s was not refused", sql)
		}
	}
}

// TestSeenHashOutlivesOtherWriters changes the fact of a caller without its file being read: its calls keep the hash that they were seen with.
func TestSeenHashOutlivesOtherWriters(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	f := sourceFile("p", "a.go", "f=1", "g=1")
	putFile(t, s, "p", f)
	changed := f.Symbols[0].Fact
	changed.ASTHash = digest.Of("2").String()
	write(t, s, func(tx *store.Tx) error { return tx.PutFacts("p", []symbolic.Row{changed}, time.Time{}) })
	if diff := cmp.Diff([]string{"g 1", "init "}, seen(fileIndex(t, s, "p", "a.go"))); diff != "" {
		t.Errorf("hashes seen (-want +got):\n%s", diff)
	}
	putFile(t, s, "p", sourceFile("p", "a.go", "f=2", "g=1"))
	if diff := cmp.Diff([]string{"g 1", "init "}, seen(fileIndex(t, s, "p", "a.go"))); diff != "" {
		t.Errorf("hashes seen after the file was read (-want +got):\n%s", diff)
	}
}

// TestGoneFactsAreRemembered: only those that something is anchored to.
func TestGoneFactsAreRemembered(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	ensure(t, s, "q", "s")
	f := sourceFile("p", "a.go", "f=1", "g=1")
	putFile(t, s, "p", f)
	anchored := f.Symbols[1].Fact.FactID
	write(t, s, func(tx *store.Tx) error {
		_, err := tx.PutEntry("p", "s", store.NewEntry{ID: "sem_1", AnchorType: "symbolic_fact", AnchorID: anchored, Text: "text", Origin: semantic.Interpreted})
		return err
	})
	putFile(t, s, "p", sourceFile("p", "a.go", "f=1", "g=2"))
	// A fact of the file that no indexing has written leaves with it.
	stray := sourceFile("p", "a.go", "stray").Symbols[0].Fact
	write(t, s, func(tx *store.Tx) error { return tx.PutFacts("p", []symbolic.Row{stray}, time.Time{}) })
	write(t, s, func(tx *store.Tx) error { return tx.RemoveFile("p", "a.go", time.Time{}) })
	read(t, s, func(r *store.Reader) error {
		row, err := r.GoneFact("p", anchored)
		if err != nil || row.QualifiedName != "T.g" || row.Version != 2 || row.ASTHash != digest.Of("2").String() {
			t.Errorf("GoneFact() = %+v, %v, want the second value of T.g", row, err)
		}
		if _, err := r.GoneFact("q", anchored); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("GoneFact() of another project = %v, want ErrNotFound", err)
		}
		if _, err := r.GoneFact("p", f.Symbols[0].Fact.FactID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("GoneFact() of what nothing was anchored to = %v, want ErrNotFound", err)
		}
		facts, err := drain(r.Facts(store.FactFilter{Project: "p"}))
		if len(facts) != 0 {
			t.Errorf("Facts() = %v, want none", facts)
		}
		return err
	})
}
