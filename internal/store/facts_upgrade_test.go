package store_test

import (
	"errors"
	"fmt"
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

// storeOfSix makes a store as the sixth migration left it: two projects with an episode each, a fact of each, one that was replaced, a file's symbol, and an index
// that has yet to read the last of them.
func storeOfSix(t *testing.T, more string) string {
	t.Helper()
	scripts, err := store.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	const before = 6 // migrations
	path := filepath.Join(t.TempDir(), "store.db")
	raw := storetest.Raw(t, path)
	p := episode.Record{Seq: 1, ID: "ep_p", Project: "p", Session: "s", Role: episode.User, Digest: digest.Of("hello")}
	q := episode.Record{Seq: 2, ID: "ep_q", Project: "q", Session: "s", Role: episode.User, Digest: digest.Of("hello")}
	insert := `
INSERT INTO episodic_stream (seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
  content_digest, calls, reasoning, content, seal)
VALUES (%d, '%s', %[1]d, %[1]d, 'user', '', '', 0, 0, 0, 0, 0, 1, x'%[3]x', '', x'', CAST('hello' AS BLOB), %[4]d);`
	for _, script := range append(scripts[:before:before], fmt.Sprintf(`
PRAGMA application_id = %d;
PRAGMA user_version = %d;
INSERT INTO project (project_id, root, created) VALUES ('p', '', 0), ('q', '', 0);
INSERT INTO session (project_id, session_id, created) VALUES ('p', 's', 0), ('q', 's', 0);
INSERT INTO tokenizer (num, name) VALUES (1, '');`, store.ApplicationID, store.FirstVersion-1+before),
		fmt.Sprintf(insert, 1, p.ID, p.Digest[:], store.EpisodeSeal(p)),
		fmt.Sprintf(insert, 2, q.ID, q.Digest[:], store.EpisodeSeal(q)),
		fmt.Sprintf(`
INSERT INTO symbolic_fact (num, fact_id, project_id, qualified_name, kind, file_path, source, value, ast_hash, episode_id, byte_offset, line, first_seen, updated, version, revision)
VALUES
  (1, 'sym_p_a', 'p', 'a', 'json_field', '', 'json', CAST('one' AS BLOB), '%[1]s', 'ep_p', 4, 2, 10, 10, 1, 1),
  (2, 'sym_p_b', 'p', 'b', 'json_field', '', 'json', CAST('two' AS BLOB), '%[2]s', 'ep_p', 5, 3, 10, 20, 2, 4),
  (3, 'sym_p_f', 'p', 'T.f', 'method', 'a.go', 'code:go', CAST('three' AS BLOB), '%[1]s', '', 6, 4, 10, 10, 1, 3),
  (4, 'sym_q_a', 'q', 'a', 'json_field', '', 'json', CAST('four' AS BLOB), '%[1]s', 'ep_q', 0, 1, 10, 10, 1, 5);
INSERT INTO symbolic_fact_version (num, project_id, fact_id, version, source, value, ast_hash, episode_id, byte_offset, line, updated, replaced)
VALUES (1, 'p', 'sym_p_b', 1, 'json', CAST('old' AS BLOB), 'h1', 'ep_p', 0, 1, 10, 20);
INSERT INTO repo_file (num, project_id, path, language, package, content_hash, bytes, modified, indexed, parser, problem, symbols, calls)
VALUES (1, 'p', 'a.go', 'go', 'p', 'h', 9, 0, 0, 1, '', 1, 0);
INSERT INTO code_symbol (num, file_num, ord, parent, key, short, doc, bases, sig_hash, end_byte, end_line, flags)
VALUES (3, 1, 0, -1, 'f', '', '', '', zeroblob(32), 9, 9, 0);
INSERT INTO fact_doc (doc, num, terms) VALUES (1, 1, 2), (2, 2, 2), (3, 3, 3);
INSERT INTO fact_fts (rowid, terms) VALUES (1, '1:a 1:one '), (2, '1:b 1:two '), (3, '1:a.go 1:t.f 1:three ');
INSERT INTO fts_total (name, project_num, docs, terms, first_doc, last_doc) VALUES ('fact', 1, 3, 7, 1, 3);
UPDATE fts_watermark SET watermark = 4 WHERE name = 'fact';
%[3]s`, digest.Of("1"), strings.ToUpper(digest.Of("2").String()), more)) {
		if err := raw.Exec(script); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestTheLedgerIsBroughtUpToDate: what was in the ledger of a store comes through its seventh migration as it was, is found as before, and goes on.
func TestTheLedgerIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Path: storeOfSix(t, "")}) // verifies at the end
	at := func(n int64) time.Time { return time.Unix(0, n).UTC() }
	hash, odd := digest.Of("1").String(), strings.ToUpper(digest.Of("2").String())
	a := symbolic.Row{FactID: "sym_p_a", Project: "p", QualifiedName: "a", Kind: "json_field", Source: "json", Value: "one", ASTHash: hash, Episode: "ep_p", Offset: 4, Line: 2,
		First: at(10), Updated: at(10), Version: 1}
	b := symbolic.Row{FactID: "sym_p_b", Project: "p", QualifiedName: "b", Kind: "json_field", Source: "json", Value: "two", ASTHash: odd, Episode: "ep_p", Offset: 5, Line: 3,
		First: at(10), Updated: at(20), Version: 2}
	f := symbolic.Row{FactID: "sym_p_f", Project: "p", QualifiedName: "T.f", Kind: "method", FilePath: "a.go", Source: "code:go", Value: "three", ASTHash: hash, Offset: 6, Line: 4,
		First: at(10), Updated: at(10), Version: 1}
	read(t, s, func(r *store.Reader) error {
		for name, want := range map[string]struct {
			filter store.FactFilter
			rows   []symbolic.Row
		}{
			"all":            {store.FactFilter{Project: "p"}, []symbolic.Row{f, a, b}},
			"of the episode": {store.FactFilter{Project: "p", Episode: "ep_p"}, []symbolic.Row{a, b}},
			"of the file":    {store.FactFilter{Project: "p", FilePath: "a.go"}, []symbolic.Row{f}},
			"told":           {store.FactFilter{Project: "p", Told: true}, []symbolic.Row{a, b}},
		} {
			got, err := drain(r.Facts(want.filter))
			if diff := cmp.Diff(want.rows, got); diff != "" || err != nil {
				t.Errorf("%s: Facts(%+v), %v (-want +got):\n%s", name, want.filter, err, diff)
			}
		}
		symbols, err := r.SymbolsByKey("p", "f")
		if err != nil || len(symbols) != 1 || symbols[0].Fact != f {
			t.Errorf("SymbolsByKey(f) = %+v, %v, want the one of %+v", symbols, err, f)
		}
		versions, err := r.FactVersions("p", "sym_p_b")
		if err != nil || len(versions) != 1 || versions[0].Value != "old" {
			t.Errorf("FactVersions(b) = %+v, %v, want the old one", versions, err)
		}
		for term, want := range map[string]string{"one": "sym_p_a", "two": "sym_p_b", "three": "sym_p_f"} {
			found, err := r.SearchFacts(store.SearchQuery{Project: "p", Terms: []string{term}, K: 9})
			if err != nil || len(found) != 1 || found[0].ID != want {
				t.Errorf("SearchFacts(%s) = %v, %v, want %s", term, found, err, want)
			}
		}
		found, err := r.SearchFacts(store.SearchQuery{Project: "q", Terms: []string{"four"}, K: 9})
		if err != nil || len(found) != 1 || found[0].ID != "sym_q_a" {
			t.Errorf("SearchFacts(four) = %v, %v, want the fact that the index had yet to read", found, err)
		}
		return nil
	})
	for id, anchor := range map[string]string{"sem_a": "sym_p_a", "sem_b": "sym_p_b"} {
		write(t, s, func(tx *store.Tx) error {
			_, err := tx.PutEntry("p", "s", store.NewEntry{ID: id, AnchorType: "symbolic_fact", AnchorID: anchor, Text: "text", Origin: semantic.Interpreted})
			return err
		})
	}
	fresh := func() (states string) {
		t.Helper()
		read(t, s, func(r *store.Reader) error {
			all, err := drain(r.Freshness("p", 0))
			for _, e := range all {
				states += fmt.Sprintf("%s stale %t; ", e.Entry.AnchorID, e.Stale)
			}
			return err
		})
		return states
	}
	if got := fresh(); strings.Contains(got, "true") {
		t.Errorf("Freshness() = %s, want none stale", got)
	}
	a.Value, a.ASTHash, b.Value, b.ASTHash = "five", digest.Of("5").String(), "six", digest.Of("6").String()
	write(t, s, func(tx *store.Tx) error {
		return tx.PutFacts("p", []symbolic.Row{a, b, fact("p", "c", "seven", "h", "ep_p")}, time.Unix(0, 30))
	})
	if got := fresh(); strings.Count(got, "true") != 2 {
		t.Errorf("Freshness() = %s, want both stale", got)
	}
	read(t, s, func(r *store.Reader) error {
		for term, want := range map[string]int{"one": 0, "two": 0, "five": 1, "six": 1, "seven": 1} {
			found, err := r.SearchFacts(store.SearchQuery{Project: "p", Terms: []string{term}, K: 9})
			if err != nil || len(found) != want {
				t.Errorf("SearchFacts(%s) = %v, %v, want %d", term, found, err, want)
			}
		}
		return nil
	})
	write(t, s, func(tx *store.Tx) error { return tx.RemoveFile("p", "a.go", time.Unix(0, 40)) })
	read(t, s, func(r *store.Reader) error {
		if _, err := r.Fact("p", "sym_p_f"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Fact() of a symbol whose file is gone = %v, want ErrNotFound", err)
		}
		return nil
	})
}

// TestADamagedLedgerIsBroughtUpToDate opens a store with a fact whose episode is not there: it is what it was, and Verify says so as before.
func TestADamagedLedgerIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	path := storeOfSix(t, `UPDATE symbolic_fact SET episode_id = 'ep_gone' WHERE num = 1`)
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	report, err := s.Verify(t.Context())
	if got := strings.Join(report.Problems, "; "); err != nil || !strings.Contains(got, "fact sym_p_a comes from episode number") {
		t.Errorf("Verify() = %q, %v, want a problem that names the fact", got, err)
	}
	read(t, s, func(r *store.Reader) error {
		row, err := r.Fact("p", "sym_p_a")
		if err != nil || row.Value != "one" || row.Episode == "" {
			t.Errorf("Fact() = %+v, %v, want it with the number of an episode", row, err)
		}
		return nil
	})
}
