package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"sakur4/evict"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

// TestRecordedRowsCannotBeChanged writes past the package, as any other program could.
func TestRecordedRowsCannotBeChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "one")
	add(t, s, "p", "s", "ep_2", "two")
	write(t, s, func(tx *store.Tx) error {
		if err := tx.SetTier("p", "s", "ep_1", evict.Live, evict.Masked, "w", "r", 1); err != nil {
			return err
		}
		if err := tx.PutFacts("p", []symbolic.Row{fact("p", "a", "1", "h1", "ep_1")}, clock()()); err != nil {
			return err
		}
		if err := tx.PutFacts("p", []symbolic.Row{fact("p", "a", "2", "h2", "ep_2")}, clock()()); err != nil {
			return err
		}
		if err := tx.MarkSuperseded("p", "ep_1", "ep_2"); err != nil {
			return err
		}
		return tx.AddPin(store.PinRow{ID: "pin_1", Project: "p", Kind: "constraint", Text: "never"})
	})
	raw := storetest.Raw(t, path)
	const columns = `(seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
  content_digest, calls, reasoning, content, seal)`
	row := func(seq, id string) string {
		return columns + ` VALUES (` + seq + `, '` + id + `', 1, 1, 'user', '', '', 0, 0, 0, 0, 0, 1, zeroblob(32), '', x'', x'', 0)`
	}
	const allowed = "superseded_by droppable fold_id"
	var statements []string
	info, err := raw.Query(`SELECT name FROM pragma_table_info('episodic_stream')`)
	if err != nil {
		t.Fatal(err)
	}
	recorded := 0
	for _, c := range append(info, []any{"rowid"}, []any{"oid"}, []any{"_rowid_"}) {
		name := c[0].(string)
		if strings.Contains(allowed, name) {
			continue
		}
		recorded++
		statements = append(statements,
			`UPDATE episodic_stream SET `+name+` = `+name+` WHERE seq = 1 AND '`+name+`' NOT IN ('rowid', 'oid', '_rowid_') RETURNING 1`,
			`UPDATE episodic_stream SET `+name+` = 77 WHERE seq = 1`,
			`UPDATE OR REPLACE episodic_stream SET `+name+` = (SELECT `+name+` FROM episodic_stream WHERE seq = 2) WHERE seq = 1`,
			`UPDATE OR IGNORE episodic_stream SET droppable = 0, `+name+` = 77 WHERE seq = 1`)
	}
	if recorded < 17 {
		t.Fatalf("only %d recorded columns", recorded)
	}
	statements = append(statements,
		`DELETE FROM episodic_stream`,
		`DELETE FROM episodic_stream WHERE seq = 1`,
		`INSERT OR REPLACE INTO episodic_stream `+row("99", "ep_1"),
		`INSERT OR REPLACE INTO episodic_stream `+row("1", "ep_new"),
		`INSERT OR REPLACE INTO episodic_stream `+row("1", "ep_1"),
		`REPLACE INTO episodic_stream `+row("2", "ep_2"),
		`INSERT INTO episodic_stream `+row("0", "ep_0"),
		`INSERT INTO episodic_stream `+row("-4", "ep_0"),
		`INSERT INTO episodic_stream `+row("99", "ep_1")+` ON CONFLICT DO UPDATE SET content = x'01'`,
		// The ladder.
		`UPDATE episode_tier SET eviction_tier = 'archived' WHERE first = 1`,
		`UPDATE episode_tier SET eviction_tier = 'gone' WHERE first = 1`,
		`UPDATE OR REPLACE episode_tier SET first = 2 WHERE first = 1`,
		`UPDATE episode_tier SET rowid = 2 WHERE first = 1`,
		`UPDATE episode_tier SET last = 2 WHERE first = 1`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (2, 2, 'referenced')`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (2, 2, 'live')`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (1, 2, 'masked')`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (2, 3, 'masked')`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (2, 1, 'masked')`,
		`INSERT INTO episode_tier (last, eviction_tier) VALUES (2, 'masked')`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (1, 1, 'masked')`,
		`INSERT OR REPLACE INTO episode_tier (first, last, eviction_tier) VALUES (1, 1, 'dropped')`,
		`INSERT OR REPLACE INTO episode_tier (first, last, eviction_tier) VALUES (1, 1, 'masked')`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (1, 1, 'masked') ON CONFLICT DO UPDATE SET eviction_tier = 'dropped'`,
		// Older values, steps and pins.
		`UPDATE symbolic_fact_version SET value = x'00'`,
		`DELETE FROM symbolic_fact_version`,
		`INSERT OR REPLACE INTO symbolic_fact_version SELECT * FROM symbolic_fact_version`,
		`UPDATE eviction SET steps = x'00'`,
		`DELETE FROM eviction`,
		`INSERT OR REPLACE INTO eviction SELECT * FROM eviction`,
		`UPDATE anchor_set SET text = 'x'`,
		`DELETE FROM anchor_set`,
		`INSERT OR REPLACE INTO anchor_set SELECT * FROM anchor_set`,
		// What no parser has written.
		`UPDATE symbolic_fact SET source = ''`,
		`UPDATE symbolic_fact SET kind = 'opinion'`,
		`UPDATE dependency_graph_edge SET kind = 'likes'`,
		`INSERT INTO semantic_atlas (entry_id, project_id, session_id, anchor_type, anchor_id, anchor_hash_at_write, text, origin, tokens, created, seal)
		 VALUES ('sem_1', 'p', 's', 'symbolic_fact', 'sym_missing', 'h', 't', 'extracted', 1, 0, 0)`,
		`INSERT INTO semantic_atlas (entry_id, project_id, session_id, anchor_type, anchor_id, anchor_hash_at_write, text, origin, tokens, created, seal)
		 VALUES ('sem_1', 'p', 's', 'guess', 'ep_1', 'h', 't', 'extracted', 1, 0, 0)`,
		`INSERT INTO semantic_atlas (entry_id, project_id, session_id, anchor_type, anchor_id, anchor_hash_at_write, text, origin, tokens, created, seal)
		 VALUES ('sem_1', 'p', 's', 'episodic_stream', 'ep_1', NULL, 't', 'extracted', 1, 0, 0)`,
	)
	tables := []string{"episodic_stream", "symbolic_fact", "symbolic_fact_version", "episode_tier", "eviction", "anchor_set", "dependency_graph_edge", "semantic_atlas"}
	before := dump(t, raw, tables)
	for _, sql := range statements {
		err := raw.Exec(sql)
		if err == nil && strings.Contains(sql, "RETURNING") && strings.Contains(sql, "rowid") {
			continue // The names that are no columns: the statement selects nothing.
		}
		if err == nil {
			t.Errorf("Exec(%s) succeeded", sql)
		}
	}
	if after := dump(t, raw, tables); after != before {
		t.Errorf("the refused statements changed the store:\n%s\nwas\n%s", after, before)
	}
	for _, sql := range []string{
		`UPDATE episode_tier SET eviction_tier = 'referenced' WHERE first = 1`,
		`UPDATE episode_tier SET eviction_tier = 'archived' WHERE first = 1`,
		`UPDATE episode_tier SET eviction_tier = 'dropped' WHERE first = 1`,
		`DELETE FROM episode_tier WHERE first = 1`,
		`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (1, 1, 'masked')`,
		`UPDATE episodic_stream SET superseded_by = 'ep_2', droppable = 1, fold_id = 'fold_1' WHERE seq = 1`,
		`UPDATE episodic_stream SET superseded_by = '', droppable = 0, fold_id = '' WHERE seq = 1`,
		`UPDATE anchor_set SET retired = 1`,
	} {
		if err := raw.Exec(sql); err != nil {
			t.Errorf("Exec(%s) = %v, want it allowed", sql, err)
		}
	}
	if err := raw.Exec(`UPDATE anchor_set SET retired = 0`); err == nil {
		t.Error("a retired pin came back into force")
	}
}

// dump returns every row of the tables as text.
func dump(t *testing.T, raw *store.Raw, tables []string) string {
	t.Helper()
	var b strings.Builder
	for _, table := range tables {
		list, err := raw.Query(`SELECT json_array(` + columnsOf(t, raw, table) + `) FROM ` + table)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range list {
			b.WriteString(table + " " + row[0].(string) + "\n")
		}
	}
	return b.String()
}

func columnsOf(t *testing.T, raw *store.Raw, table string) string {
	t.Helper()
	list, err := raw.Query(`SELECT name FROM pragma_table_info('` + table + `')`)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, row := range list {
		names[i] = "quote(" + row[0].(string) + ")"
	}
	return strings.Join(names, ", ")
}
