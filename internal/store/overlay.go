package store

import (
	"fmt"
	"regexp"

	"github.com/ncruces/go-sqlite3"
)

// Who may not write, or finds others writing for long, cannot enter the facts that wait for the ledger. They are put into tables that this connection alone sees,
// together with the rows whose places they take, by the very code that enters them; views lay those over the ledger, and every statement that names it reads the views.
// All of it ends with the transaction.

// factRow are the columns of symbolic_fact, versionRow those of symbolic_fact_version.
const (
	factRow = `num, fact_id, project_id, qualified_name, kind, file_path, source, value, ast_hash, episode_id, byte_offset, line, first_seen, renewed, version, revision`

	versionRow = `num, project_id, fact_id, version, source, value, ast_hash, episode_id, byte_offset, line, updated, replaced, seal`
)

const overlaySchema = `
CREATE TABLE temp.late_fact (
  num            INTEGER PRIMARY KEY,
  fact_id        TEXT NOT NULL UNIQUE,
  project_id     INTEGER NOT NULL,
  qualified_name TEXT NOT NULL,
  kind           TEXT NOT NULL,
  file_path      TEXT NOT NULL,
  source         TEXT NOT NULL,
  value          BLOB NOT NULL,
  ast_hash       ANY NOT NULL,
  episode_id     INTEGER NOT NULL,
  byte_offset    INTEGER NOT NULL,
  line           INTEGER NOT NULL,
  first_seen     INTEGER NOT NULL,
  renewed        INTEGER NOT NULL,
  version        INTEGER NOT NULL,
  revision       INTEGER NOT NULL,
  UNIQUE (project_id, qualified_name, kind, file_path)
) STRICT;

CREATE TABLE temp.late_fact_version (
  num         INTEGER PRIMARY KEY,
  project_id  TEXT NOT NULL,
  fact_id     TEXT NOT NULL,
  version     INTEGER NOT NULL,
  source      TEXT NOT NULL,
  value       BLOB NOT NULL,
  ast_hash    TEXT NOT NULL,
  episode_id  TEXT NOT NULL,
  byte_offset INTEGER NOT NULL,
  line        INTEGER NOT NULL,
  updated     INTEGER NOT NULL,
  replaced    INTEGER NOT NULL,
  seal        INTEGER NOT NULL,
  UNIQUE (fact_id, version)
) STRICT;

CREATE VIEW temp.seen_fact AS
SELECT ` + factRow + ` FROM main.symbolic_fact WHERE num NOT IN (SELECT num FROM temp.late_fact)
UNION ALL
SELECT ` + factRow + ` FROM temp.late_fact;

CREATE VIEW temp.seen_fact_version AS
SELECT ` + versionRow + ` FROM main.symbolic_fact_version
UNION ALL
SELECT ` + versionRow + ` FROM temp.late_fact_version;
`

// What a statement is rewritten by, in this order. Table names stand behind these words only.
var overlayWords = [...]struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\s+INDEXED BY symbolic_fact_\w+`), ``},
	{regexp.MustCompile(`\b(INTO|UPDATE)\s+symbolic_fact(_version)?\b`), `$1 late_fact$2`},
	{regexp.MustCompile(`\b(FROM|JOIN)\s+symbolic_fact(_version)?\b`), `$1 seen_fact$2`},
	{regexp.MustCompile(`\b(FROM|JOIN)\s+semantic_atlas_staleness\b`), `$1 seen_staleness`},
}

// overlaid rewrites a statement that names the ledger into one that sees what lies over it.
func overlaid(sql string) (string, error) {
	for _, w := range overlayWords {
		sql = w.pattern.ReplaceAllString(sql, w.with)
	}
	return sql, nil
}

// overlay lays what waits for the ledger over it, for this snapshot.
func (r *Reader) overlay() error {
	return fail(r.ctx, r.layOver(), "read: facts that are not in the ledger")
}

func (r *Reader) layOver() error {
	c := r.conn
	c.names = nil
	if err := c.Exec(overlaySchema); err != nil {
		return err
	}
	view := ""
	err := c.each(`SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = 'semantic_atlas_staleness'`, nil, func(s *sqlite3.Stmt) error {
		view = s.ColumnText(0)
		return nil
	})
	if err != nil {
		return err
	}
	head := regexp.MustCompile(`^CREATE VIEW\s+\S+`)
	if !head.MatchString(view) {
		return fmt.Errorf("the view of what is stale is missing: %w", ErrCorrupt)
	}
	if view, err = overlaid(head.ReplaceAllString(view, `CREATE VIEW temp.seen_staleness`)); err != nil {
		return err
	}
	if err := c.Exec(view); err != nil {
		return err
	}
	tx := &Tx{Reader: &Reader{store: r.store, conn: c, ctx: r.ctx, writing: true}, entered: true, late: true}
	defer tx.end()
	c.names = overlaid
	return tx.allWaiting(tx.layOver)
}

// layOver copies the rows whose places a row of the queue takes, and enters it.
func (tx *Tx) layOver(q *queued) error {
	for i := range q.facts {
		f := &q.facts[i]
		if _, err := tx.conn.exec(`
INSERT OR IGNORE INTO late_fact
SELECT `+factRow+`
FROM main.symbolic_fact
WHERE project_id = (SELECT num FROM project WHERE project_id = ?) AND qualified_name = ? AND kind = ? AND file_path = ?`,
			f.Project, f.QualifiedName, f.Kind, f.FilePath); err != nil {
			return err
		}
	}
	return tx.enter(q)
}
