package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// full writes some rows into every table that is counted. Rows that are written again, and decisions that are taken back, are no more rows.
func full(t *testing.T, s *store.Store) {
	t.Helper()
	ensure(t, s, "p", "s")
	write(t, s, func(tx *store.Tx) error {
		var errs []error
		for i := range 3 {
			n := fmt.Sprint(i + 1)
			errs = append(errs,
				tx.AppendEpisode(&episode.Record{ID: "ep_" + n, Project: "p", Session: "s", Role: episode.User, Content: "text " + n}),
				tx.AddPin(store.PinRow{ID: "pin_" + n, Project: "p", Kind: "constraint", Text: "never"}),
				tx.AddNote("p", "s", store.NoteRow{ID: "note_" + n, Seq: int64(i + 1), Kind: "text", Text: "note"}),
				tx.PutReceipt("p", "s", store.ReceiptRow{WindowID: "win_" + n, Turn: i + 1, Body: "{}"}),
				tx.PutReceipt("p", "s", store.ReceiptRow{WindowID: "win_" + n, Turn: i + 1, Body: `{"receipt":{}}`, Observed: true}),
				tx.OpenFold(store.FoldRow{ID: "fold_" + n, Project: "p", Session: "s", Opened: 1}),
				tx.CloseFold("p", "fold_"+n, 1, "ep_1"),
				tx.PutSnapshot("p", "s", store.SnapshotRow{File: "slot_" + n, Ord: i, ID: "snap_" + n, Tokens: 3, Bytes: 90, Body: "{}"}, []int32{1, 2, 3}),
				tx.PutSnapshot("p", "s", store.SnapshotRow{File: "slot_" + n, Ord: i, ID: "snap_" + n + "a", Tokens: 3, Bytes: 90, Body: "{}"}, []int32{1, 2, 3}),
				tx.PutFacts("p", []symbolic.Row{fact("p", "a", "value "+n, "hash"+n, "ep_1")}, time.Unix(int64(i), 0)),
			)
			_, err := tx.PutEntry("p", "s", store.NewEntry{ID: "sem_" + n, Text: "says", AnchorType: "episodic_stream", AnchorID: "ep_1", Origin: semantic.Extracted})
			errs = append(errs, err)
		}
		decision := store.DecisionRow{Kind: "k", Episode: "ep_1", Form: "f", Body: "{}"}
		second := decision
		second.Ord = 1
		third := decision
		third.Ord = 2
		return errors.Join(append(errs,
			tx.PutRenderState("p", "s", store.RenderState{Version: 1, Body: "{}"}),
			tx.ReplaceDecisions("p", "s", 0, []store.DecisionRow{decision, second}),
			tx.ReplaceDecisions("p", "s", 1, []store.DecisionRow{second}),
			tx.AddDecisions("p", "s", []store.DecisionRow{third}),
			tx.SetTier("p", "s", "ep_1", evict.Live, evict.Masked, "win_1", "old", 5),
			tx.SetTier("p", "s", "ep_1", evict.Masked, evict.Live, "win_1", "asked for", -5),
			tx.SetTier("p", "s", "ep_2", evict.Live, evict.Masked, "win_2", "old", 5),
			tx.SetTier("p", "s", "ep_2", evict.Masked, evict.Live, "win_2", "asked for", -5),
		)...)
	})
}

// TestVerifyMissesNoRow takes the last row of each table that only grows, past its triggers: nothing else in the file says that it was there.
func TestVerifyMissesNoRow(t *testing.T) {
	t.Parallel()
	for table, last := range map[string]string{
		"anchor_set":            "seq = (SELECT max(seq) FROM anchor_set)",
		"episodic_stream":       "seq = (SELECT max(seq) FROM episodic_stream)",
		"eviction_seal":         "window_num = 2",
		"folds":                 "num = (SELECT max(num) FROM folds)",
		"note":                  "seq = 3",
		"receipt":               "turn = 3",
		"render_decision":       "ord = 2",
		"semantic_atlas":        "num = (SELECT max(num) FROM semantic_atlas)",
		"snapshot":              "file = 'slot_3'",
		"symbolic_fact_version": "version = 2",
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			s, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			full(t, s)
			if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
				t.Fatalf("Verify() of a sound store = %+v, %v", report, err)
			}
			raw := storetest.Raw(t, path)
			triggers, err := raw.Query(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?`, table)
			if err != nil {
				t.Fatal(err)
			}
			exec := func(sql string) {
				t.Helper()
				if err := raw.Exec(sql); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
			exec(`PRAGMA foreign_keys = OFF`)
			for _, tr := range triggers {
				exec(`DROP TRIGGER ` + tr[0].(string))
			}
			exec(`DELETE FROM ` + table + ` WHERE ` + last)
			for _, tr := range triggers {
				exec(tr[1].(string))
			}
			report, err := s.Verify(t.Context())
			if got := strings.Join(report.Problems, "; "); err != nil || !strings.Contains(got, table+" has ") {
				t.Errorf("Verify() without the last row = %q, %v, want a problem about the rows of %s", got, err, table)
			}
		})
	}
}

// TestChangedStepsAreNoticed changes what only the seal of a window covers, and the last step of one.
func TestChangedStepsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		`UPDATE eviction SET steps = CAST(CAST(steps AS TEXT) || '1' AS BLOB) WHERE window_num = 2`,
		`UPDATE eviction SET steps = CAST(CAST(steps AS TEXT) || CAST(steps AS TEXT) AS BLOB) WHERE window_num = 2`,
		`UPDATE eviction SET steps = CAST(replace(CAST(steps AS TEXT), char(10), ' ') AS BLOB) WHERE window_num = 2`,
		`UPDATE eviction SET steps = CAST('3' || substr(CAST(steps AS TEXT), 2) AS BLOB) WHERE window_num = 2`,
		`UPDATE eviction SET steps = CAST('77' || substr(CAST(steps AS TEXT), 2) AS BLOB) WHERE window_num = 2`,
		`UPDATE eviction SET steps = CAST(substr(CAST(steps AS TEXT), 1, 2) || '9' || substr(CAST(steps AS TEXT), 4) AS BLOB) WHERE window_num = 2`,
		`UPDATE eviction SET steps = x'00' WHERE window_num = 2`,
		`UPDATE eviction_window SET window_id = 'win_9' WHERE num = 2`,
		`UPDATE eviction_window SET at = at + 1 WHERE num = 2`,
		`UPDATE eviction_seal SET seal = seal + 1 WHERE window_num = 2`,
		`DELETE FROM eviction WHERE window_num = 2`,
	} {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			s, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			full(t, s)
			if err := storetest.Raw(t, path).Exec(`
DROP TRIGGER eviction_no_update; DROP TRIGGER eviction_no_delete; DROP TRIGGER eviction_window_no_update; DROP TRIGGER eviction_seal_no_update; ` + damage); err != nil {
				t.Fatal(err)
			}
			read(t, s, func(r *store.Reader) error {
				steps := 0
				var problem error
				for _, err := range r.Evictions("p", "s") {
					if problem = err; err == nil {
						steps++
					}
				}
				if steps != 2 || !errors.Is(problem, store.ErrCorrupt) {
					t.Errorf("Evictions() = %d steps, %v, want those of the first window and %v", steps, problem, store.ErrCorrupt)
				}
				return nil
			})
			report, err := s.Verify(t.Context())
			if got := strings.Join(report.Problems, "; "); err != nil || !strings.Contains(got, "the steps of window win_") {
				t.Errorf("Verify() = %q, %v, want a problem about the steps", got, err)
			}
		})
	}
}

// TestChangedVersionsAreNoticed changes an older value of a fact, whose parser cannot be asked again.
func TestChangedVersionsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"value = x'00'", "ast_hash = 'x'", "source = 'x'", "episode_id = 'ep_2'", "byte_offset = 7", "line = 7", "updated = updated + 1",
		"replaced = replaced + 1", "version = 9", "seal = seal + 1", "num = 9"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			s, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			full(t, s)
			if err := storetest.Raw(t, path).Exec(`DROP TRIGGER symbolic_fact_version_no_update; UPDATE symbolic_fact_version SET ` + change + ` WHERE version = 2`); err != nil {
				t.Fatal(err)
			}
			read(t, s, func(r *store.Reader) error {
				if _, err := r.FactVersions("p", "sym_p_a"); !errors.Is(err, store.ErrCorrupt) {
					t.Errorf("FactVersions() after %s = %v, want %v", change, err, store.ErrCorrupt)
				}
				return nil
			})
			report, err := s.Verify(t.Context())
			if got := strings.Join(report.Problems, "; "); err != nil || !strings.Contains(got, "of fact sym_p_a: a recorded column") {
				t.Errorf("Verify() after %s = %q, %v, want a problem that names the fact", change, got, err)
			}
		})
	}
}

// TestOldRowsHaveNoSeals opens a store whose older values and steps were written before there were seals for them, and goes on with it.
func TestOldRowsHaveNoSeals(t *testing.T) {
	t.Parallel()
	scripts, err := store.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	const before = 5 // migrations
	path := filepath.Join(t.TempDir(), "store.db")
	raw := storetest.Raw(t, path)
	old := episode.Record{Seq: 1, ID: "ep_old", Project: "p", Session: "s", Role: episode.User, Digest: digest.Of("hello")}
	for _, script := range append(scripts[:before:before], fmt.Sprintf(`
PRAGMA application_id = %d;
PRAGMA user_version = %d;
INSERT INTO project (project_id, root, created) VALUES ('p', '', 0);
INSERT INTO session (project_id, session_id, created) VALUES ('p', 's', 0);
INSERT INTO tokenizer (num, name) VALUES (1, '');
INSERT INTO episodic_stream (seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
  content_digest, calls, reasoning, content, seal)
VALUES (1, 'ep_old', 1, 1, 'user', '', '', 0, 0, 0, 0, 0, 1, x'%x', '', x'', CAST('hello' AS BLOB), %d);
INSERT INTO symbolic_fact (num, fact_id, project_id, qualified_name, kind, file_path, source, value, ast_hash, episode_id, byte_offset, line, first_seen, updated, version, revision)
VALUES (1, 'sym_p_a', 'p', 'a', 'json_field', '', 'json', x'32', 'h2', 'ep_old', 0, 1, 0, 0, 2, 1);
INSERT INTO symbolic_fact_version (num, project_id, fact_id, version, source, value, ast_hash, episode_id, byte_offset, line, updated, replaced)
VALUES (1, 'p', 'sym_p_a', 1, 'json', x'31', 'h1', 'ep_old', 0, 1, 0, 0);
INSERT INTO eviction_window (num, session_id, window_id, at) VALUES (1, 1, 'win_1', 0);
INSERT INTO eviction (window_num, ord, episode_id, from_tier, to_tier, tokens, reason) VALUES (1, 1, 1, 1, 2, 5, 'old');
UPDATE episodic_stream SET eviction_tier = 'masked'`,
		store.ApplicationID, store.FirstVersion-1+before, old.Digest[:], store.EpisodeSeal(old))) {
		if err := raw.Exec(script); err != nil {
			t.Fatal(err)
		}
	}
	s := storetest.Open(t, store.Config{Path: path}) // verifies at the end
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.PutFacts("p", []symbolic.Row{fact("p", "a", "3", "h3", "ep_old")}, time.Unix(9, 0)),
			tx.SetTier("p", "s", "ep_old", evict.Masked, evict.Referenced, "win_2", "older", 5))
	})
	read(t, s, func(r *store.Reader) error {
		versions, err := r.FactVersions("p", "sym_p_a")
		steps, e := drain(r.Evictions("p", "s"))
		if len(versions) != 2 || len(steps) != 2 {
			t.Errorf("FactVersions() = %v, Evictions() = %v, want two each", versions, steps)
		}
		return errors.Join(err, e)
	})
	if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("Verify() = %+v, %v, want no problem", report, err)
	}
}
