package sakur4_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4"
)

const groupSource = `// Package pool bounds work.
package pool

// Group is a group. It is small.
type Group struct{ n int }

// Run runs f.
func (g *Group) Run(f func()) error { return g.start(f) }

func (g *Group) start(f func()) error { f(); return nil }
`

func TestSymbol(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.write("go.mod", "module example.com/m\n")
	w.write("pool/pool.go", groupSource)
	w.write("pool/pool_test.go", "package pool\n\nimport \"testing\"\n\nfunc TestRun(t *testing.T) {}\n")
	w.write("other/pool.go", "package other\n\ntype Group struct{}\n")
	w.index(sakur4.IndexOptions{})
	got := w.lookup("Group.Run")
	want := sakur4.Symbol{Name: "Group.Run", QualifiedName: "Group.Run", Kind: "method", Language: "go", Package: "example.com/m/pool", File: "pool/pool.go", Line: 8, EndLine: 8,
		Signature: "func (g *Group) Run(f func()) error", Doc: "Run runs f.", Text: "func (g *Group) Run(f func()) error { return g.start(f) }", Exported: true}
	want.Start = strings.Index(groupSource, want.Text)
	want.End = want.Start + len(want.Text)
	if got.ID == "" || len(got.Hash) != 64 || len(got.SignatureHash) != 64 || got.Hash == got.SignatureHash {
		t.Errorf("Symbol() has id %q and hashes %q, %q", got.ID, got.Hash, got.SignatureHash)
	}
	got.ID, got.Hash, got.SignatureHash = "", "", ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Symbol(Group.Run) (-want +got):\n%s", diff)
	}
	for question, name := range map[string]string{
		"start": "Group.start", "pool.Group": "example.com/m/pool.Group", "other/pool.go:Group": "example.com/m/other.Group", "method Run": "Group.Run", "TestRun": "TestRun",
		"example.com/m/pool.Group.start": "Group.start", "testing": "testing",
	} {
		if s := w.lookup(question); s.Name != name || s.Test != (name == "TestRun") {
			t.Errorf("Symbol(%q) = %q, want %q", question, s.Name, name)
		}
	}
	for question, want := range map[string]sakur4.SymbolError{
		"Group":  {Ambiguous: true, Nearest: []string{"example.com/m/other.Group", "example.com/m/pool.Group"}},
		"Stat":   {Nearest: []string{"Group.start"}},
		"zzzzzz": {},
		"":       {},
	} {
		_, err := w.eng.Symbol(t.Context(), question)
		var got *sakur4.SymbolError
		if !errors.As(err, &got) || !errors.Is(err, sakur4.ErrNotFound) {
			t.Errorf("Symbol(%q) = %v, want a SymbolError that is ErrNotFound", question, err)
			continue
		}
		want.Name = question
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("Symbol(%q) (-want +got):\n%s", question, diff)
		}
	}
}

// TestGoNames asks for symbols of packages that are not called as their folders. RepoMap lists every one under a name of its own.
func TestGoNames(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.write("go.mod", "module m\n")
	w.write("cmd/agent/main.go", "package main\n\nfunc main() { run() }\n\nfunc run() {}\n")
	w.write("cmd/other/main.go", "package main\n\nfunc main() {}\n")
	w.write("net/v2/dial.go", "package net\n\nfunc Dial() {}\n\ntype C struct{}\n\nfunc (c *C) Close() {}\n")
	w.write("net/v2/in_test.go", "package net\n\nfunc help() {}\n")
	w.write("net/v2/ex_test.go", "package net_test\n\nfunc help() {}\n")
	w.index(sakur4.IndexOptions{})
	for question, name := range map[string]string{
		"main.run": "run", "agent.run": "run", "agent.main": "m/cmd/agent.main", "net.Dial": "Dial", "v2.Dial": "Dial", "m/net/v2.(*C).Close": "C.Close",
		"net_test.help": "m/net/v2_test.help", "m/net/v2.help": "m/net/v2.help", "net.help": "m/net/v2.help",
	} {
		if s := w.lookup(question); s.Name != name {
			t.Errorf("Symbol(%q) = %q, want %q", question, s.Name, name)
		}
	}
	for _, question := range []string{"main.main", "v2.help"} {
		var got *sakur4.SymbolError
		if _, err := w.eng.Symbol(t.Context(), question); !errors.As(err, &got) || !got.Ambiguous || len(got.Nearest) != 2 {
			t.Errorf("Symbol(%q) = %v, want an ambiguous name of two", question, err)
		}
	}
	m, err := w.eng.RepoMap(t.Context(), sakur4.RepoMapOptions{NamesOnly: true})
	if err != nil || m.LeftOut != 0 {
		t.Fatalf("RepoMap = %+v, %v", m, err)
	}
	for _, name := range m.Names {
		if s := w.lookup(name); s.Name != name {
			t.Errorf("Symbol(%q) = %q", name, s.Name)
		}
	}
}

// TestSymbolCannotBeStale edits, moves and removes symbols behind the index.
func TestSymbolCannotBeStale(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.write("a.go", "package p\n\nfunc A() {}\n\nfunc B() {}\n")
	w.write("b.go", "package p\n\nfunc D() {}\n")
	w.index(sakur4.IndexOptions{})
	at := time.Now().Add(-time.Hour)
	edit := func(name, text string) {
		w.write(name, text)
		// The file looks as it did: only its content tells.
		if err := os.Chtimes(filepath.Join(w.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	id := w.lookup("A").ID
	edit("a.go", "package p\n\n// moved\n\nfunc A(x int) {}\n\nfunc N() {}\n")
	if s := w.lookup("A"); s.Signature != "func A(x int)" || !s.Refreshed || s.ID != id || s.Line != 5 {
		t.Errorf("Symbol(A) after an edit = %+v", s)
	}
	if s := w.lookup("A"); s.Refreshed {
		t.Errorf("Symbol(A) again = %+v, want it in the index", s)
	}
	if _, err := w.eng.Symbol(t.Context(), "B"); !errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("Symbol(B) after its removal = %v, want ErrNotFound", err)
	}
	if s := w.lookup("N"); s.File != "a.go" {
		t.Errorf("Symbol(N) after it was written = %+v", s)
	}
	// A symbol that is written into a file that nobody asked for.
	w.write("b.go", "package p\n\nfunc D() {}\n\nfunc Late() {}\n")
	if s := w.lookup("Late"); s.File != "b.go" || !s.Refreshed {
		t.Errorf("Symbol(Late) = %+v", s)
	}
	w.remove("b.go")
	if _, err := w.eng.Symbol(t.Context(), "D"); !errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("Symbol(D) of a file that is gone = %v, want ErrNotFound", err)
	}
	for _, f := range w.ledger() {
		if strings.HasPrefix(f, "b.go") {
			t.Errorf("the ledger still has %s", f)
		}
	}
	// A link in a file's place leads to what is not the project's.
	w.remove("a.go")
	outside := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(outside, []byte("package p\n\nfunc A() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.dir, "a.go")); err != nil {
		t.Skip(err)
	}
	if s, err := w.eng.Symbol(t.Context(), "A"); !errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("Symbol(A) through a link = %+v, %v, want ErrNotFound", s, err)
	}
}

// TestAmbiguityIsOfNow: of two symbols of one name, one has gone since they were indexed.
func TestAmbiguityIsOfNow(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.write("a/a.go", "package a\n\nfunc F() {}\n")
	w.write("b/b.go", "package b\n\nfunc F() {}\n")
	w.index(sakur4.IndexOptions{})
	w.write("a/a.go", "package a\n\nfunc G() {}\n")
	if s := w.lookup("F"); s.File != "b/b.go" || s.Name != "F" {
		t.Errorf("Symbol(F) = %+v, want that of b", s)
	}
}

func TestSymbolOfAReadOnlyStore(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.write("a.go", "package p\n\nfunc A() {}\n")
	w.index(sakur4.IndexOptions{})
	path := storePath(t)
	if err := w.eng.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	reader, err := sakur4.Open(t.Context(), path, &sakur4.Options{ProjectRoot: w.dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	w.write("a.go", "package p\n\nfunc A(now string) {}\n")
	for range 2 {
		if s, err := reader.Symbol(t.Context(), "A"); err != nil || s.Signature != "func A(now string)" || !s.Refreshed {
			t.Errorf("Symbol(A) = %+v, %v, want it as it is now", s, err)
		}
	}
}

func TestSymbolOfAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.write("d/a.go", "package p\n\nfunc A() {}\n")
	w.index(sakur4.IndexOptions{})
	if err := os.RemoveAll(filepath.Join(w.dir, "d", "a.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "d", "a.go"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := w.eng.Symbol(t.Context(), "A"); !errors.Is(err, sakur4.ErrNotFound) {
		t.Errorf("Symbol(A) where a folder has its file's place = %+v, %v, want ErrNotFound", s, err)
	}
	if os.Geteuid() == 0 {
		t.Skip("everything can be read")
	}
	w.write("e.go", "package p\n\nfunc E() {}\n")
	w.index(sakur4.IndexOptions{})
	if err := os.Chmod(filepath.Join(w.dir, "e.go"), 0); err != nil {
		t.Skip(err)
	}
	if s, err := w.eng.Symbol(t.Context(), "E"); !errors.Is(err, sakur4.ErrUnverified) {
		t.Errorf("Symbol(E) = %+v, %v, want ErrUnverified", s, err)
	}
	if r := w.index(sakur4.IndexOptions{}); r.Symbols != 2 || r.Removed != 0 || len(r.Skipped) != 1 {
		t.Errorf("Index() = %v, want the symbols kept", r)
	}
}

// TestInterpretationOfASymbol is the way of an agent: look a symbol up, say what it means, and be told when that is out of date.
func TestInterpretationOfASymbol(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	w.write("pool.go", groupSource)
	w.index(sakur4.IndexOptions{})
	w.interpret(sakur4.FactAnchor(w.lookup("Group.Run").ID), "Run waits for the quokka.")
	fresh := func() (hit sakur4.Hit) {
		for _, h := range w.recall("quokka") {
			if h.Kind == sakur4.HitEntry {
				hit = h
			}
		}
		return hit
	}
	if h := fresh(); h.ID == "" || h.Stale {
		t.Errorf("Recall() = %+v, want a fresh entry", h)
	}
	w.write("pool.go", strings.Replace(groupSource, "Run(f func()) error", "Run(f func(), again bool) error", 1))
	for range 2 { // before and after the index has it
		if h := fresh(); !h.Stale || h.Current != "func (g *Group) Run(f func(), again bool) error" {
			t.Errorf("Recall() = %+v, want it stale with the signature of now", h)
		}
		w.index(sakur4.IndexOptions{})
	}
	r, err := w.eng.Verify(t.Context())
	if err != nil || r.Facts != 4 || r.Rederived != 4 {
		t.Errorf("Verify() = %+v, %v, want all 4 facts derived again", r, err)
	}
	w.write("pool.go", "package pool\n\ntype Group struct{ m int }\n")
	if r, err = w.eng.Verify(t.Context()); err != nil || r.Rederived != 1 || r.Drifted != 1 || r.Gone != 2 {
		t.Errorf("Verify() after an edit = %+v, %v, want 1 derived, 1 drifted, 2 gone", r, err)
	}
	for _, h := range w.recall("start") {
		if h.Kind == sakur4.HitFact && !h.Stale {
			t.Errorf("Recall(start) = %+v, want it stale: the file has no such place", h)
		}
	}
}
