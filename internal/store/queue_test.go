package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// result appends a tool's result and records its facts: for the ledger at once, or to be entered later. Where the id ends with 3 it is another session's.
func result(tx *store.Tx, project, id, content string, list []symbolic.Row, atOnce bool) error {
	e := episode.Record{ID: id, Project: project, Session: "s", Role: episode.Tool, Content: content}
	if strings.HasSuffix(id, "3") {
		e.Session = "t"
	}
	if err := tx.AppendEpisode(&e); err != nil {
		return err
	}
	for i := range list {
		list[i].Episode = id
	}
	if atOnce {
		return tx.PutFacts(project, list, e.Created)
	}
	return tx.RecordFacts(&e, list)
}

// factsNamed makes facts with ids as results have them.
func factsNamed(project string, values map[string]string, names ...string) (list []symbolic.Row) {
	for i, name := range names {
		v := values[name]
		row := fact(project, name, v, digest.Of(v).String(), "")
		row.FactID, row.Offset, row.Line = symbolic.FactID(project, name, row.Kind, ""), i, i+1
		list = append(list, row)
	}
	return list
}

func waitingOf(t *testing.T, s *store.Store, want int) {
	t.Helper()
	if n := store.Waiting(s); n != want {
		t.Fatalf("%d results wait for the ledger, want %d", n, want)
	}
}

// TestNobodySeesTheQueue makes two stores with the same history, one of which leaves the facts of results for later, and compares everything that can be read, in every
// way in which it is read.
func TestNobodySeesTheQueue(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			now := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
			dir := t.TempDir()
			pathOf := func(i int) string { return filepath.Join(dir, fmt.Sprint(i, ".db")) }
			var stores [2]*store.Store
			for i := range stores {
				stores[i] = storetest.Open(t, store.WithoutIndexing(store.Config{Path: pathOf(i), Now: now}))
				occupy(t, stores[i], "p", 3)
				ensure(t, stores[i], "other", "s")
				ensure(t, stores[i], "other", "t")
				ensure(t, stores[i], "p", "t")
			}
			both := func(f func(tx *store.Tx, atOnce bool) error) {
				t.Helper()
				for i, s := range stores {
					write(t, s, func(tx *store.Tx) error { return f(tx, i == 0) })
				}
			}
			random := rand.New(rand.NewPCG(seed, 9))
			// few names, so that values are replaced and confirmed
			list := func() []symbolic.Row {
				values := map[string]string{}
				var names []string
				for range 1 + random.IntN(6) {
					name := fmt.Sprintf("read#%08x/k%d", random.IntN(3), random.IntN(6))
					if _, there := values[name]; !there {
						names = append(names, name)
					}
					values[name] = fmt.Sprint("secret ", random.IntN(2))
				}
				project := "p"
				if random.IntN(4) == 0 {
					project = "other"
				}
				facts := factsNamed(project, values, names...)
				for i := range facts {
					if strings.HasSuffix(facts[i].QualifiedName, "5") {
						facts[i].Kind = "tool_exit_code"
						facts[i].FactID = symbolic.FactID(project, facts[i].QualifiedName, facts[i].Kind, "")
					}
				}
				return facts
			}
			all := func(r *store.Reader) (map[string]any, error) {
				a, err := everything(r, "p", "p")
				if err == nil { // numbers of facts are given as they come: only their order counts
					found := a["SearchFacts"].([]store.Scored)
					for i := range found {
						found[i].Seq = 0
					}
				}
				return a, err
			}
			answers := func(s *store.Store) (a map[string]any) {
				t.Helper()
				read(t, s, func(r *store.Reader) (err error) {
					if a, err = all(r); err != nil {
						return err
					}
					for _, name := range []string{"read#00000000/k0", "read#00000001/k1", "read#00000002/k2"} {
						id := symbolic.FactID("p", name, "json_field", "")
						versions, err := r.FactVersions("p", id)
						related, err2 := r.Related("p", id)
						if a[name] = []any{versions, related}; err != nil || err2 != nil {
							return errors.Join(err, err2)
						}
					}
					return nil
				})
				return a
			}
			compare := func(way string, got map[string]any) {
				t.Helper()
				if diff := cmp.Diff(answers(stores[0]), got); diff != "" {
					t.Fatalf("%s (-entered at once +entered later):\n%s", way, diff)
				}
			}
			entries, waited, exits := 0, 0, 0
			for n := range 60 {
				facts := list()
				id := fmt.Sprintf("ep_%d", n)
				both(func(tx *store.Tx, atOnce bool) error {
					return result(tx, facts[0].Project, id, fmt.Sprint(n, " ", facts[0].Value, facts[len(facts)-1].Value), facts, atOnce)
				})
				waited = max(waited, store.Waiting(stores[1]))
				switch step := random.IntN(14); step {
				case 8, 9: // of an exit code it makes no difference what is entered
					before := store.Waiting(stores[1])
					after := int64(random.IntN(n + 2))
					var got map[string]string
					err := stores[1].ReadRecord(t.Context(), func(r *store.Reader) (err error) {
						if _, err := r.Counts("p"); err == nil {
							t.Error("Counts() of a ledger that may lack something succeeded")
						}
						got, err = r.ExitCodes("p", "s", after)
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
					waitingOf(t, stores[1], before)
					read(t, stores[0], func(r *store.Reader) error {
						want, err := r.ExitCodes("p", "s", after)
						if diff := cmp.Diff(want, got); diff != "" {
							t.Fatalf("exit codes (-entered at once +entered later):\n%s", diff)
						}
						for id, code := range want {
							facts, err := drain(r.Facts(store.FactFilter{Project: "p", Episode: id, Kind: "tool_exit_code", Limit: 1}))
							if err != nil || len(facts) != 1 || facts[0].Value != code {
								t.Fatalf("the first exit code of %s is %v, %v, want %s", id, facts, err, code)
							}
						}
						exits += len(want)
						return err
					})
				case 0:
					compare("read", answers(stores[1]))
					waitingOf(t, stores[1], 0)
				case 1: // it cannot be entered
					release := store.HoldWriter(stores[1])
					before := store.Waiting(stores[1])
					got := answers(stores[1])
					release()
					waitingOf(t, stores[1], before)
					compare("read beside a long write", got)
				case 2:
					other := storetest.Open(t, store.Config{Path: pathOf(1), ReadOnly: true, Now: now})
					before := store.Waiting(stores[1])
					got := answers(other)
					waitingOf(t, stores[1], before)
					compare("read by who may not write", got)
				case 3:
					var got map[string]any
					write(t, stores[1], func(tx *store.Tx) (err error) {
						got, err = all(tx.Reader)
						return err
					})
					for k, v := range answers(stores[0]) {
						if diff := cmp.Diff(v, got[k]); got[k] != nil && diff != "" {
							t.Fatalf("%s in a write (-entered at once +entered later):\n%s", k, diff)
						}
					}
				case 4: // anchors are looked for by a trigger
					if facts[0].Project == "p" {
						entries++
						both(func(tx *store.Tx, _ bool) error {
							_, err := tx.PutEntry("p", "s", store.NewEntry{ID: fmt.Sprint("sem_", entries), AnchorType: "symbolic_fact", AnchorID: facts[0].FactID, Text: "the secret is read",
								Origin: semantic.Extracted, Tokens: 4})
							return err
						})
					}
				case 5:
					both(func(tx *store.Tx, _ bool) error {
						return tx.PutFile("p", sourceFile("p", "p.go", "secret", fmt.Sprint("f", n%3)), now())
					})
				case 6: // what follows in the same transaction comes after what waits
					again := list()
					for i := range again {
						again[i].Episode = "p_ep_1"
					}
					both(func(tx *store.Tx, _ bool) error {
						if again[0].Project != "p" {
							return nil
						}
						return tx.PutFacts("p", again, now())
					})
				case 7: // two results in a transaction, with a look in between
					both(func(tx *store.Tx, atOnce bool) error {
						if err := result(tx, "p", id+"a", "x", factsNamed("p", map[string]string{"read#00000000/k0": "secret 1"}, "read#00000000/k0"), atOnce); err != nil {
							return err
						}
						if _, err := tx.Fact("p", symbolic.FactID("p", "read#00000000/k0", "json_field", "")); err != nil {
							return err
						}
						return result(tx, "p", id+"b", "x", factsNamed("p", map[string]string{"read#00000000/k0": "secret 2"}, "read#00000000/k0"), atOnce)
					})
				}
			}
			if exits == 0 {
				t.Error("no result has an exit code: nothing was tested")
			}
			if waited < 2 {
				t.Errorf("at most %d results waited for the ledger at once: nothing was tested", waited)
			}
			compare("read at the end", answers(stores[1]))
		})
	}
}

// TestFactsWaitInTheFile leaves facts in the queue of a file that nobody has closed, and reads it in all ways in which such a file is opened.
func TestFactsWaitInTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s := storetest.Open(t, store.WithoutIndexing(store.Config{Path: path}))
	ensure(t, s, "p", "s")
	row := factsNamed("p", map[string]string{"a": "one"}, "a")
	write(t, s, func(tx *store.Tx) error { return result(tx, "p", "ep_1", "one", row, false) })
	waitingOf(t, s, 1)
	copyOf := func(name string) string {
		t.Helper()
		to := filepath.Join(dir, name)
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(path + suffix)
			if err == nil {
				err = os.WriteFile(to+suffix, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return to
	}
	check := func(how string, s *store.Store) {
		t.Helper()
		read(t, s, func(r *store.Reader) error {
			got, err := r.Fact("p", row[0].FactID)
			if err != nil || got.Value != "one" || got.Episode != "ep_1" || got.Version != 1 {
				t.Errorf("%s: Fact() = %+v, %v, want the one of ep_1", how, got, err)
			}
			found, err := r.SearchFacts(store.SearchQuery{Project: "p", Terms: []string{"one"}, K: 9})
			if err != nil || len(found) != 1 || found[0].ID != row[0].FactID {
				t.Errorf("%s: SearchFacts(one) = %v, %v, want the fact", how, found, err)
			}
			return nil
		})
	}
	reader := storetest.Open(t, store.Config{Path: copyOf("reader.db"), ReadOnly: true})
	check("opened for reading", reader)
	check("opened for reading, again", reader)
	waitingOf(t, reader, 1)
	raw := storetest.Raw(t, copyOf("still.db"))
	if err := raw.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	still := storetest.Open(t, store.Config{Path: filepath.Join(dir, "still.db"), ReadOnly: true})
	store.Still(still)
	check("that can take no lock", still)
	waitingOf(t, still, 1)

	// The disk is full: nothing can be entered.
	full := storetest.Open(t, store.WithoutIndexing(store.Config{Path: copyOf("full.db")}))
	if err := store.FillDisk(full); err != nil {
		t.Fatal(err)
	}
	check("on a full disk", full)

	// Another connection holds the lock for writing.
	locked := storetest.Open(t, store.WithoutIndexing(store.Config{Path: copyOf("locked.db"), LockWait: 10 * time.Second}))
	other := storetest.Raw(t, filepath.Join(dir, "locked.db"))
	if err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	check("beside another process that writes", locked)
	waitingOf(t, locked, 1)
	if err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}

	// Whoever opens it for writing enters what waits, and leaves nothing.
	opened, err := store.Open(t.Context(), store.Config{Path: copyOf("opened.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	opened = storetest.Open(t, store.Config{Path: filepath.Join(dir, "opened.db"), ReadOnly: true})
	waitingOf(t, opened, 0)
	check("opened for writing and closed", opened)

	backup := filepath.Join(dir, "backup.db")
	waitingOf(t, s, 1)
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	check("a copy", storetest.Open(t, store.Config{Path: backup}))
}

// TestWhatWaitsCannotBeChanged tries to change the queue with SQL, and finds a row that was changed all the same.
func TestWhatWaitsCannotBeChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := store.Open(t.Context(), store.WithoutIndexing(store.Config{Path: path}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ensure(t, s, "p", "s")
	list := factsNamed("p", map[string]string{"a": "one"}, "a")
	write(t, s, func(tx *store.Tx) error { return result(tx, "p", "ep_1", "one", list, false) })
	write(t, s, func(tx *store.Tx) error {
		return result(tx, "p", "ep_2", "two", factsNamed("p", map[string]string{"b": "two"}, "b"), false)
	})
	raw := storetest.Raw(t, path)
	for _, sql := range []string{
		`DELETE FROM fact_queue`,
		`UPDATE fact_queue SET facts = x'00'`,
		`UPDATE fact_queue SET seq = 9 WHERE seq = 1`,
		`INSERT OR REPLACE INTO fact_queue (seq, facts, seal) VALUES (1, x'00', 0)`,
		`INSERT INTO fact_queue (seq, facts, seal) VALUES (3, x'', 0)`,
	} {
		if err := raw.Exec(sql); err == nil {
			t.Errorf("%s: no error", sql)
		}
	}
	if err := raw.Exec(`DROP TRIGGER fact_queue_no_update; UPDATE fact_queue SET facts = CAST(facts || x'00' AS BLOB) WHERE seq = 1`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		read(t, s, func(r *store.Reader) error {
			if _, err := r.Fact("p", list[0].FactID); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "ep_1") {
				t.Errorf("Fact() = %v, want ErrCorrupt and the episode", err)
			}
			if _, err := drain(r.Entries(store.EntryFilter{Project: "p"})); err != nil {
				t.Errorf("Entries() = %v: it needs no facts", err)
			}
			if e, err := r.Episode("p", "ep_1"); err != nil || e.Content != "one" {
				t.Errorf("Episode() = %q, %v: the record is as it was", e.Content, err)
			}
			return nil
		})
	}
	// A write that needs no facts goes on; one that does is refused, and nothing of it stays.
	add(t, s, "p", "s", "ep_3", "three")
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.AppendEpisode(&episode.Record{ID: "ep_4", Project: "p", Session: "s", Role: episode.User}); err != nil {
			return err
		}
		_, err := tx.Fact("p", list[0].FactID)
		return err
	})
	if !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Write() = %v, want ErrCorrupt", err)
	}
	waitingOf(t, s, 2)
	report, err := s.Verify(t.Context())
	if err != nil || !strings.Contains(strings.Join(report.Problems, "\n"), "facts of ep_1") || !strings.Contains(strings.Join(report.Problems, "\n"), "fact_queue_no_update is missing") {
		t.Errorf("Verify() = %q, %v, want the facts of ep_1 and the trigger", report.Problems, err)
	}
	if _, found := find(s, t, "ep_4"); found {
		t.Error("ep_4 was kept although its write failed")
	}
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.PutEntry("p", "s", store.NewEntry{ID: "sem_1", AnchorType: "episodic_stream", AnchorID: "ep_1", Text: "it is one", Origin: semantic.Interpreted})
		return err
	})
	if !errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrExists) {
		t.Errorf("PutEntry() = %v, want ErrCorrupt alone", err)
	}
	if err := s.Close(); !errors.Is(err, store.ErrCorrupt) || strings.Count(err.Error(), "ep_1") != 1 {
		t.Errorf("Close() = %v, want ErrCorrupt and the episode, once", err)
	}
}

func find(s *store.Store, t *testing.T, id string) (e episode.Record, found bool) {
	t.Helper()
	read(t, s, func(r *store.Reader) (err error) {
		e, err = r.Episode("p", id)
		found = err == nil
		return nil
	})
	return e, found
}

func TestRecordFactsRefuses(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	for name, change := range map[string]func(*symbolic.Row){
		"another project":   func(r *symbolic.Row) { r.Project = "q" },
		"another episode":   func(r *symbolic.Row) { r.Episode = "ep_2" },
		"no episode":        func(r *symbolic.Row) { r.Episode = "" },
		"a kind of its own": func(r *symbolic.Row) { r.Kind = "opinion" },
		"no id":             func(r *symbolic.Row) { r.FactID = "" },
		"no source":         func(r *symbolic.Row) { r.Source = "" },
		"no hash":           func(r *symbolic.Row) { r.ASTHash = "" },
	} {
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			e := episode.Record{ID: "ep_1", Project: "p", Session: "s", Role: episode.Tool, Content: "one"}
			if err := tx.AppendEpisode(&e); err != nil {
				return err
			}
			list := factsNamed("p", map[string]string{"a": "one", "b": "one"}, "a", "b")
			list[0].Episode, list[1].Episode = "ep_1", "ep_1"
			change(&list[1])
			return tx.RecordFacts(&e, list)
		})
		if !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: RecordFacts() = %v, want ErrRefused", name, err)
		}
	}
	waitingOf(t, s, 0)
	// Facts are recorded with their result, or not at all.
	e := add(t, s, "p", "s", "ep_1", "one")
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		list := factsNamed("p", map[string]string{"a": "one"}, "a")
		list[0].Episode = "ep_1"
		return tx.RecordFacts(&e, list)
	})
	if !errors.Is(err, store.ErrRefused) {
		t.Errorf("RecordFacts() behind the result = %v, want ErrRefused", err)
	}
}

// TestQuietEntersFacts waits for the maintenance goroutine, which enters what waits once nobody writes.
func TestQuietEntersFacts(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	ensure(t, s, "p", "s")
	write(t, s, func(tx *store.Tx) error {
		return result(tx, "p", "ep_1", "one", factsNamed("p", map[string]string{"a": "one"}, "a"), false)
	})
	for start := time.Now(); store.Waiting(s) > 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatal("nobody has entered the facts")
		}
	}
}

// TestOverlaidStatements: what is laid over the ledger is read in its place, and nothing else is.
func TestOverlaidStatements(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT 1 FROM symbolic_fact f INDEXED BY symbolic_fact_episode WHERE x": "SELECT 1 FROM seen_fact f WHERE x",
		"SELECT 1 FROM t JOIN symbolic_fact_version v ON 1":                      "SELECT 1 FROM t JOIN seen_fact_version v ON 1",
		"SELECT 1\nFROM symbolic_fact\nWHERE a = 'symbolic_fact'":                "SELECT 1\nFROM seen_fact\nWHERE a = 'symbolic_fact'",
		"INSERT OR FAIL INTO symbolic_fact (a) VALUES (1)":                       "INSERT OR FAIL INTO late_fact (a) VALUES (1)",
		"\nUPDATE symbolic_fact\nSET a = 1":                                      "\nUPDATE late_fact\nSET a = 1",
		"INSERT INTO symbolic_fact_version (a) VALUES (1)":                       "INSERT INTO late_fact_version (a) VALUES (1)",
		"FROM a JOIN semantic_atlas_staleness s ON 1":                            "FROM a JOIN seen_staleness s ON 1",
		"SELECT 1 FROM main.symbolic_fact":                                       "SELECT 1 FROM main.symbolic_fact",
	} {
		if got := store.Overlaid(sql); got != want {
			t.Errorf("overlaid(%q) = %q, want %q", sql, got, want)
		}
	}
}

// TestAStoreWithoutAQueue opens one of the version before, in which each fact was entered with its result, and goes on.
func TestAStoreWithoutAQueue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	raw := storetest.Raw(t, path)
	if err := raw.Migrate(8); err != nil {
		t.Fatal(err)
	}
	e := episode.Record{Seq: 1, ID: "ep_1", Project: "p", Session: "s", Role: episode.Tool, Digest: digest.Of("one")}
	old := factsNamed("p", map[string]string{"a": "one"}, "a")[0]
	if err := raw.Exec(`
INSERT INTO project (project_id, root, created) VALUES ('p', '', 0);
INSERT INTO session (project_id, session_id, created) VALUES ('p', 's', 0);
INSERT INTO tokenizer (num, name) VALUES (1, '')`); err != nil {
		t.Fatal(err)
	}
	if err := raw.Exec(`
INSERT INTO episodic_stream (seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
  content_digest, calls, reasoning, content, seal)
VALUES (1, 'ep_1', 1, 1, 'tool', '', '', 0, 0, 0, 0, 0, 1, ?, '', x'', CAST('one' AS BLOB), ?)`, e.Digest[:], store.EpisodeSeal(e)); err != nil {
		t.Fatal(err)
	}
	if err := raw.Exec(`
INSERT INTO symbolic_fact (num, fact_id, project_id, qualified_name, kind, file_path, source, value, ast_hash, episode_id, byte_offset, line, first_seen, renewed, version, revision)
VALUES (1, ?, 1, 'a', 'json_field', '', 'json', CAST('one' AS BLOB), unhex(?), 1, 0, 1, 10, 10, 1, 1)`, old.FactID, old.ASTHash); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, store.WithoutIndexing(store.Config{Path: path})) // verifies at the end
	write(t, s, func(tx *store.Tx) error {
		return result(tx, "p", "ep_2", "two", factsNamed("p", map[string]string{"a": "two", "b": "two"}, "a", "b"), false)
	})
	waitingOf(t, s, 1)
	read(t, s, func(r *store.Reader) error {
		now, err := r.Fact("p", old.FactID)
		if err != nil || now.Value != "two" || now.Version != 2 || now.Episode != "ep_2" {
			t.Errorf("Fact(a) = %+v, %v, want the second version of ep_2", now, err)
		}
		before, err := r.FactVersions("p", old.FactID)
		if err != nil || len(before) != 1 || before[0].Value != "one" || before[0].Episode != "ep_1" {
			t.Errorf("FactVersions(a) = %+v, %v, want that of ep_1", before, err)
		}
		return nil
	})
}

// TestExitCodesOfNewResultsOnly counts SQLite's instructions: what is asked for behind a position costs no more where much stands in front of it.
func TestExitCodesOfNewResultsOnly(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	ensure(t, s, "p", "s")
	steps := func(episodes int) (n int) {
		t.Helper()
		write(t, s, func(tx *store.Tx) error {
			for i := range episodes {
				if err := tx.AppendEpisode(&episode.Record{ID: fmt.Sprint("ep_", episodes, "_", i), Project: "p", Session: "s", Role: episode.Tool}); err != nil {
					return err
				}
			}
			return nil
		})
		read(t, s, func(r *store.Reader) error {
			last, err := r.LastSeq("p", "s")
			if err != nil {
				return err
			}
			before := store.Steps(r)
			_, err = r.ExitCodes("p", "s", last-2)
			n = store.Steps(r) - before
			return err
		})
		return n
	}
	few, many := steps(10), steps(1000)
	if few == 0 || many > 2*few {
		t.Errorf("ExitCodes() of the last two of 1,010 episodes takes %d instructions, of 10 %d", many, few)
	}
}
