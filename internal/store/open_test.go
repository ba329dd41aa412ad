package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

func TestOpenMakesFilesThatOnlyTheOwnerReads(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	path := filepath.Join(t.TempDir(), "odd name #?%+&.db")
	s := storetest.Open(t, store.Config{Path: path})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "text")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		fi, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of the store's %q file = %v, want -rw-------", suffix, got)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		cfg  store.Config
		want error
	}{
		{"a newer store", func(t *testing.T, path string) {
			s := storetest.Open(t, store.Config{Path: filepath.Join(t.TempDir(), "x")})
			if err := s.Backup(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			if err := storetest.Raw(t, path).Exec(`PRAGMA user_version = 9999`); err != nil {
				t.Fatal(err)
			}
		}, store.Config{}, store.ErrNewer},
		{"a store from before the first release", func(t *testing.T, path string) {
			if err := storetest.Raw(t, path).Exec(fmt.Sprintf(`CREATE TABLE meta (x); PRAGMA application_id = %d; PRAGMA user_version = 2`, store.ApplicationID)); err != nil {
				t.Fatal(err)
			}
		}, store.Config{}, store.ErrOlder},
		{"another program's database", func(t *testing.T, path string) {
			if err := storetest.Raw(t, path).Exec(`CREATE TABLE t (x)`); err != nil {
				t.Fatal(err)
			}
		}, store.Config{}, store.ErrCorrupt},
		{"another program's mark", func(t *testing.T, path string) {
			if err := storetest.Raw(t, path).Exec(`PRAGMA application_id = 7`); err != nil {
				t.Fatal(err)
			}
		}, store.Config{}, store.ErrCorrupt},
		{"no database", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.Config{}, store.ErrCorrupt},
		{"a missing file read-only", func(*testing.T, string) {}, store.Config{ReadOnly: true}, fs.ErrNotExist},
		{"memory read-only", func(*testing.T, string) {}, store.Config{Path: store.Memory, ReadOnly: true}, store.ErrUnsupported},
		{"no database, with a key", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.Config{Key: []byte("k")}, store.ErrWrongKey},
		{"a store without FTS5", func(*testing.T, string) {}, store.WithoutFTS(store.Config{}), store.ErrUnsupported},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			test.make(t, path)
			if test.cfg.Path == "" {
				test.cfg.Path = path
			}
			before, _ := os.ReadFile(path)
			s, err := store.Open(t.Context(), test.cfg)
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, test.want) {
				t.Errorf("Open() = %v, want %v", err, test.want)
			}
			if after, _ := os.ReadFile(path); string(before) != string(after) {
				t.Error("Open() changed the file that it refused")
			}
		})
	}
}

func TestOpenBringsOlderSchemasUpToDate(t *testing.T) {
	t.Parallel()
	scripts, err := store.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	for version := range len(scripts) {
		t.Run(fmt.Sprintf("from version %d", version), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			raw := storetest.Raw(t, path)
			for _, script := range scripts[:version] {
				if err := raw.Exec(script); err != nil {
					t.Fatal(err)
				}
			}
			if version > 0 {
				old := episode.Record{Seq: 1, ID: "ep_old", Project: "p", Session: "s", Role: episode.User, Digest: digest.Of("hello")}
				err := raw.Exec(fmt.Sprintf(`
PRAGMA application_id = %d;
PRAGMA user_version = %d;
INSERT INTO project (project_id, root, created) VALUES ('p', '', 0);
INSERT INTO session (project_id, session_id, created) VALUES ('p', 's', 0);
INSERT INTO tokenizer (num, name) VALUES (1, '');
INSERT INTO episodic_stream (seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
  content_digest, calls, reasoning, content, seal)
VALUES (1, 'ep_old', 1, 1, 'user', '', '', 0, 0, 0, 0, 0, 1, x'2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', '', x'', CAST('hello' AS BLOB), %d)`,
					store.ApplicationID, store.FirstVersion-1+version, store.EpisodeSeal(old)))
				if err != nil {
					t.Fatal(err)
				}
			}
			if version > 0 {
				_, err := store.Open(t.Context(), store.Config{Path: path, ReadOnly: true})
				if !errors.Is(err, store.ErrReadOnly) {
					t.Errorf("Open(read-only) of an old schema = %v, want %v", err, store.ErrReadOnly)
				}
			}
			s := storetest.Open(t, store.Config{Path: path})
			if version == 0 {
				return
			}
			read(t, s, func(r *store.Reader) error {
				e, err := r.Episode("p", "ep_old")
				if e.Content != "hello" {
					t.Errorf("Episode(ep_old).Content = %q after the migration, want %q", e.Content, "hello")
				}
				found, e2 := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"hello"}, K: 1})
				if len(found) != 1 {
					t.Errorf("SearchEpisodes(hello) = %v, want the old episode", found)
				}
				return errors.Join(err, e2)
			})
		})
	}
}

func TestRacingOpensMakeOneStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Errorf("Open() = %v", err)
				return
			}
			err = s.Write(t.Context(), func(tx *store.Tx) error { return tx.EnsureProject(fmt.Sprint("p", i), "") })
			if err != nil {
				t.Errorf("Write() = %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
	wg.Wait()
	s := storetest.Open(t, store.Config{Path: path})
	read(t, s, func(r *store.Reader) error {
		list, err := r.Projects()
		if len(list) != 8 {
			t.Errorf("Projects() has %d, want 8", len(list))
		}
		return err
	})
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, path string) {
		if path == "" {
			path = filepath.Join(t.TempDir(), "store.db")
		}
		s, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		var kept *store.Reader
		read(t, s, func(r *store.Reader) error { kept = r; return nil })
		if _, err := kept.Counts("p"); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a Reader after its Read: Counts() = %v, want %v", err, store.ErrClosed)
		}
		if _, err := kept.SearchFacts(store.SearchQuery{Project: "p", Terms: []string{"a"}, K: 1}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a Reader after its Read: SearchFacts() = %v, want %v", err, store.ErrClosed)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Fatalf("Close() = %v", err)
			}
		}
		for name, call := range map[string]func() error{
			"Write":  func() error { return s.Write(t.Context(), func(*store.Tx) error { return nil }) },
			"Read":   func() error { return s.Read(t.Context(), func(*store.Reader) error { return nil }) },
			"Verify": func() error { _, err := s.Verify(t.Context()); return err },
			"Backup": func() error { return s.Backup(t.Context(), filepath.Join(t.TempDir(), "b")) },
		} {
			if err := call(); !errors.Is(err, store.ErrClosed) {
				t.Errorf("%s after Close = %v, want %v", name, err, store.ErrClosed)
			}
		}
	})
}

func TestReadOnlyStoreReadsAndSearchesButNeverWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	w := storetest.Open(t, store.Config{Path: path})
	ensure(t, w, "p", "s")
	add(t, w, "p", "s", "ep_1", "a needle in here")
	r := storetest.Open(t, store.Config{Path: path, ReadOnly: true})
	if !store.Unindexed(r) {
		t.Fatal("the test wants a row behind the watermark")
	}
	read(t, r, func(r *store.Reader) error {
		found, err := r.SearchEpisodes(store.SearchQuery{Project: "p", Terms: []string{"needle"}, K: 1})
		if len(found) != 1 || found[0].ID != "ep_1" {
			t.Errorf("SearchEpisodes(needle) = %v, want ep_1", found)
		}
		return err
	})
	err := r.Write(t.Context(), func(tx *store.Tx) error { return tx.EnsureProject("q", "") })
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Write() = %v, want %v", err, store.ErrReadOnly)
	}
}

func TestBackupIsAWholeStore(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, path string) {
		s := storetest.Open(t, store.Config{Path: path})
		ensure(t, s, "p", "s")
		add(t, s, "p", "s", "ep_1", "text\x00\xff")
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := s.Backup(t.Context(), copied); err != nil {
			t.Fatalf("Backup() = %v", err)
		}
		if err := s.Backup(t.Context(), copied); !errors.Is(err, store.ErrExists) {
			t.Errorf("Backup() over a file = %v, want %v", err, store.ErrExists)
		}
		fi, err := os.Stat(copied)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); runtime.GOOS != "windows" && got != 0o600 {
			t.Errorf("mode of the copy = %v, want -rw-------", got)
		}
		add(t, s, "p", "s", "ep_2", "later")
		c := storetest.Open(t, store.Config{Path: copied})
		read(t, c, func(r *store.Reader) error {
			e, err := r.Episode("p", "ep_1")
			if e.Content != "text\x00\xff" {
				t.Errorf("Episode(ep_1).Content of the copy = %q", e.Content)
			}
			if _, err := r.Episode("p", "ep_2"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Episode(ep_2) of the copy = %v, want %v", err, store.ErrNotFound)
			}
			return err
		})
	})
}

func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, damage, want string }{
		{"a missing trigger", `DROP TRIGGER eviction_no_delete`, "trigger eviction_no_delete is missing"},
		{"changed content", `DROP TRIGGER episodic_stream_no_update; UPDATE episodic_stream SET content = x'00'`, "digest"},
		{"a tier without a step", `INSERT INTO episode_tier (first, last, eviction_tier) VALUES (1, 1, 'masked')`, "last step"},
		{"a fold that is not there", `UPDATE episodic_stream SET fold_id = 'fold_1'`, "in fold fold_1, which is not there"},
		{"a foreign mark", `PRAGMA application_id = 5`, "application id"},
		{"an orphan", `PRAGMA foreign_keys = OFF; DELETE FROM session`, "foreign key"},
		{"an index without its document", `DELETE FROM episode_doc`, "index"},
		{"a document without its fact", `DROP TRIGGER symbolic_fact_no_delete; DELETE FROM symbolic_fact WHERE num = 1`, "fact number 1 has a document and is not there"},
		{"decisions without their state", `DELETE FROM render_state`, "session s has rendering decisions and no rendering state"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			s, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ensure(t, s, "p", "s")
			add(t, s, "p", "s", "ep_1", "text")
			write(t, s, func(tx *store.Tx) error {
				return errors.Join(tx.PutFacts("p", []symbolic.Row{fact("p", "a", "text", "hash", "ep_1")}, time.Unix(1, 0)),
					tx.PutRenderState("p", "s", store.RenderState{Version: 1, Body: "{}"}),
					tx.ReplaceDecisions("p", "s", 0, []store.DecisionRow{{Kind: "k", Episode: "ep_1", Form: "f", Body: "{}"}}))
			})
			read(t, s, func(r *store.Reader) error {
				q := store.SearchQuery{Project: "p", Terms: []string{"text"}, K: 1}
				_, err := r.SearchEpisodes(q)
				_, err2 := r.SearchFacts(q)
				return errors.Join(err, err2)
			})
			if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
				t.Fatalf("Verify() of a sound store = %+v, %v", report, err)
			}
			if err := storetest.Raw(t, path).Exec(test.damage); err != nil {
				t.Fatal(err)
			}
			report, err := s.Verify(t.Context())
			if err != nil {
				t.Fatalf("Verify() = %v", err)
			}
			if got := strings.Join(report.Problems, "; "); !strings.Contains(got, test.want) {
				t.Errorf("Verify() found %q, want something about %q", got, test.want)
			}
		})
	}
}

// TestChecksAreCheap: a list behind IN in a CHECK is built anew for every row, so the tables that rows are added to all the time have none of words.
func TestChecksAreCheap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	storetest.Open(t, store.Config{Path: path})
	rows, err := storetest.Raw(t, path).Query(`
SELECT name, sql LIKE '% IN (''%' OR sql NOT LIKE '%CHECK%= ''%OR%'
FROM sqlite_schema
WHERE type = 'table' AND name IN ('episodic_stream', 'symbolic_fact', 'dependency_graph_edge')
ORDER BY name`)
	if err != nil || len(rows) != 3 {
		t.Fatalf("Query() = %v, %v, want three tables", rows, err)
	}
	for _, r := range rows {
		if r[1] != int64(0) {
			t.Errorf("a CHECK of %s has a list behind IN", r[0])
		}
	}
}
