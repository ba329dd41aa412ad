package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sakur4/internal/episode"
	"sakur4/internal/store"
)

// plain reports which files of a folder hold one of the texts.
func plain(t testing.TB, dir string, texts ...string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if bytes.Contains(b, []byte(text)) {
				found = append(found, f.Name()+" holds "+text)
			}
		}
	}
	return found
}

// TestEncryption: with a key nothing that was recorded or indexed stands in the file, its log or a copy; with another key, or none, nothing opens and
// nothing is lost, also of what is in the log only.
func TestEncryption(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	key := bytes.Repeat([]byte{7, 1}, 16)
	open := func(path string, key []byte) (*store.Store, error) {
		return store.Open(t.Context(), store.Config{Path: path, Key: key})
	}
	s, err := open(path, key)
	if err != nil {
		t.Fatalf("Open() with a key = %v", err)
	}
	ensure(t, s, "p", "sessionname")
	for i := range 50 {
		write(t, s, func(tx *store.Tx) error {
			return tx.AppendEpisode(&episode.Record{ID: fmt.Sprintf("ep_%d", i), Project: "p", Session: "sessionname", Role: episode.User, Content: "the lighthouse at Kap Arkona"})
		})
	}
	search := func(what string, s *store.Store, want int) {
		t.Helper()
		read(t, s, func(r *store.Reader) error {
			got, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"lighthouse"}, K: 200})
			if err != nil || len(got) != want {
				t.Errorf("%s: SearchEpisodes() = %d hits, %v, want %d", what, len(got), err, want)
			}
			return nil
		})
	}
	search("new", s, 50)
	second, err := open(path, key)
	if err != nil {
		t.Fatalf("Open() of an open store = %v", err)
	}
	search("second", second, 50)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	words := []string{"lighthouse", "Arkona", "SQLite format", "episodic_stream", "sessionname"}
	if found := plain(t, dir, words...); found != nil {
		t.Errorf("while open: %s", strings.Join(found, "; "))
	}
	// What a crash leaves: the file and its log, with a turn that is in the log only.
	crash := t.TempDir()
	crashed := filepath.Join(crash, "store.db")
	turns := 50
	for logged := false; !logged; {
		if turns++; turns > 70 {
			t.Fatal("the log is empty whenever it is looked at")
		}
		write(t, s, func(tx *store.Tx) error {
			return tx.AppendEpisode(&episode.Record{ID: fmt.Sprintf("ep_%d", turns-1), Project: "p", Session: "sessionname", Role: episode.User, Content: "the lighthouse again"})
		})
		for _, suffix := range []string{"-wal", ""} {
			b, err := os.ReadFile(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(crashed+suffix, b, 0o600); err != nil {
				t.Fatal(err)
			}
			logged = logged || suffix == "-wal" && len(b) > 0
		}
	}
	for name, wrong := range map[string][]byte{"another key": bytes.Repeat([]byte{7, 2}, 16), "no key": nil} {
		want := store.ErrWrongKey
		if wrong == nil {
			want = store.ErrCorrupt
		}
		if got, err := open(crashed, wrong); !errors.Is(err, want) {
			t.Errorf("Open() with %s = %v, %v, want %v", name, got, err, want)
		}
		if wrong == nil {
			continue
		}
		if got, err := store.Open(t.Context(), store.Config{Path: crashed, Key: wrong, ReadOnly: true}); !errors.Is(err, want) {
			t.Errorf("Open() read-only with %s = %v, %v, want %v", name, got, err, want)
		}
	}
	c, err := open(crashed, key)
	if err != nil {
		t.Fatalf("Open() with the right key after wrong ones = %v", err)
	}
	search("crashed", c, turns)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatalf("Backup() = %v", err)
	}
	if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("Verify() = %+v, %v", report, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := append(plain(t, dir, words...), plain(t, filepath.Dir(backup), words...)...); found != nil {
		t.Errorf("after Close: %s", strings.Join(found, "; "))
	}
	if got, err := open(backup, nil); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Open() of the copy without a key = %v, %v", got, err)
	}
	for _, p := range []string{backup, path} {
		c, err := store.Open(t.Context(), store.Config{Path: p, Key: key, ReadOnly: true})
		if err != nil {
			t.Fatalf("Open(%s) read-only = %v", p, err)
		}
		search(p, c, turns)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(p); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", p, fi.Mode(), err)
		}
	}
	// An unencrypted store does not open with a key, and is not harmed.
	bare := filepath.Join(t.TempDir(), "bare.db")
	b, err := open(bare, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(bare, key); !errors.Is(err, store.ErrWrongKey) {
		t.Errorf("Open() of an unencrypted store with a key = %v, %v, want %v", got, err, store.ErrWrongKey)
	}
	if b, err = open(bare, nil); err != nil {
		t.Fatalf("Open() of it without = %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
