package store

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/symbolic"
)

const factColumns = `fact_id, project_id, qualified_name, kind, file_path, source, value, ast_hash, episode_id, byte_offset, line, first_seen, updated, version`

func scanFact(s *sqlite3.Stmt) (symbolic.Row, error) {
	return symbolic.Row{
		FactID:        s.ColumnText(0),
		Project:       s.ColumnText(1),
		QualifiedName: s.ColumnText(2),
		Kind:          s.ColumnText(3),
		FilePath:      s.ColumnText(4),
		Source:        s.ColumnText(5),
		Value:         string(s.ColumnRawBlob(6)),
		ASTHash:       s.ColumnText(7),
		Episode:       s.ColumnText(8),
		Offset:        s.ColumnInt(9),
		Line:          s.ColumnInt(10),
		First:         decodeTime(s.ColumnInt64(11)),
		Updated:       decodeTime(s.ColumnInt64(12)),
		Version:       s.ColumnInt(13),
	}, nil
}

// Fact returns the fact with that id as it is now. It fails with [ErrNotFound] when the project has none.
func (r *Reader) Fact(project, id string) (symbolic.Row, error) {
	return one(r, "fact "+id, `
SELECT `+factColumns+`
FROM symbolic_fact
WHERE fact_id = ? AND project_id = ?`, []any{id, project}, scanFact)
}

// GoneFact returns the last value of a symbol that left the ledger while something was anchored to it. It fails with [ErrNotFound] when there is none.
func (r *Reader) GoneFact(project, id string) (symbolic.Row, error) {
	return one(r, "gone fact "+id, `
SELECT g.fact_id, g.project_id, g.qualified_name, g.kind, g.file_path, v.source, v.value, v.ast_hash, v.episode_id, v.byte_offset, v.line,
  v.updated, v.updated, v.version, v.num, v.replaced, v.seal
FROM code_gone g
JOIN symbolic_fact_version v ON v.fact_id = g.fact_id
WHERE g.fact_id = ? AND g.project_id = ?
ORDER BY v.version DESC`, []any{id, project}, scanVersion)
}

// FactFilter selects facts of one project. A zero field selects everything.
type FactFilter struct {
	// Project is required.
	Project       string
	QualifiedName string
	// NamePrefix is what the qualified name begins with, byte for byte.
	NamePrefix              string
	Kind, FilePath, Episode string
	// Told selects what a tool said, not what was read in a file itself.
	Told bool
	// Limit bounds the number of facts; 0 is no bound.
	Limit int
}

// Facts streams the facts that the filter selects, by qualified name, kind and file path.
func (r *Reader) Facts(f FactFilter) iter.Seq2[symbolic.Row, error] {
	var q query
	q.where("project_id = ?", f.Project)
	if f.QualifiedName != "" {
		q.where("qualified_name = ?", f.QualifiedName)
	}
	if f.NamePrefix != "" {
		q.where("qualified_name >= ?", f.NamePrefix)
		if after, ok := successor(f.NamePrefix); ok {
			q.where("qualified_name < ?", after)
		}
	}
	if f.Kind != "" {
		q.where("kind = ?", f.Kind)
	}
	if f.Told {
		q.where("episode_id <> ''")
	}
	// These two indexes are partial, and the order of the result tempts the planner to walk all of the project's names instead. A result's facts are looked up
	// with every turn, so the index is named; the conditions that make it partial are repeated, or it could not be used.
	from := "symbolic_fact"
	if f.FilePath != "" {
		q.where("file_path <> '' AND file_path = ?", f.FilePath)
		from = "symbolic_fact INDEXED BY symbolic_fact_file"
	}
	if f.Episode != "" {
		q.where("episode_id <> '' AND episode_id = ?", f.Episode)
		from = "symbolic_fact INDEXED BY symbolic_fact_episode"
	}
	return rows(r, "facts", "SELECT "+factColumns+"\nFROM "+from+q.clause()+
		"\nORDER BY qualified_name, kind, file_path"+limit(f.Limit), q.args, scanFact)
}

// successor returns the first string after all that begin with prefix; false when there is none.
func successor(prefix string) (string, bool) {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1]), true
		}
	}
	return "", false
}

// FactVersions returns the values that the fact had before, the oldest first. Each is dated by when it was current.
func (r *Reader) FactVersions(project, id string) ([]symbolic.Row, error) {
	return all(rows(r, "versions of fact "+id, `
SELECT f.fact_id, f.project_id, f.qualified_name, f.kind, f.file_path, v.source, v.value, v.ast_hash, v.episode_id, v.byte_offset, v.line,
  f.first_seen, v.updated, v.version, v.num, v.replaced, v.seal
FROM symbolic_fact_version v
JOIN symbolic_fact f ON f.fact_id = v.fact_id
WHERE v.fact_id = ? AND f.project_id = ?
ORDER BY v.version`, []any{id, project}, scanVersion))
}

// versionRows reads all older values, for those who compare them with their seals.
const versionRows = `
SELECT fact_id, project_id, '', '', '', source, value, ast_hash, episode_id, byte_offset, line, updated, updated, version, num, replaced, seal
FROM symbolic_fact_version
ORDER BY num`

// scanVersion reads an older value and compares it with its seal. One that was written before there were seals has 0.
func scanVersion(s *sqlite3.Stmt) (symbolic.Row, error) {
	row, err := scanFact(s)
	recorded := s.ColumnInt64(16)
	if err != nil || recorded == 0 {
		return row, err
	}
	if recorded != versionSeal(&row, s.ColumnInt64(14), s.ColumnInt64(12), s.ColumnInt64(15)) {
		return row, unlike(fmt.Sprintf("version %d of fact %s", row.Version, row.FactID))
	}
	return row, nil
}

// versionSeal returns the seal of an older value, never 0. updated and replaced are as they are stored.
func versionSeal(row *symbolic.Row, num, updated, replaced int64) int64 {
	sum := seal(num, row.Project, row.FactID, int64(row.Version), row.Source, row.Value, row.ASTHash, row.Episode, int64(row.Offset), int64(row.Line), updated, replaced)
	if sum == 0 {
		sum = 1
	}
	return sum
}

// PutFacts writes facts on their natural key. A new key is inserted. A changed value or hash takes the place of the old one, which moves
// to the versions. An unchanged one only gets its newest evidence. The episode of a fact's evidence is its one derived_from edge: see [Reader.Edges].
// All rows must be of the project. First, Updated and Version of the rows are ignored.
func (tx *Tx) PutFacts(project string, list []symbolic.Row, at time.Time) error {
	if at.IsZero() {
		at = tx.store.cfg.Now()
	}
	for len(list) > 0 {
		n, err := tx.insertFacts(project, list, at)
		if err != nil {
			return err
		}
		if n == 0 {
			if _, err := tx.putFact(project, &list[0], at); err != nil {
				return err
			}
			n = 1
		}
		list = list[n:]
	}
	return nil
}

// putFact writes one fact and returns its number.
func (tx *Tx) putFact(project string, row *symbolic.Row, at time.Time) (num int64, err error) {
	what := "put fact " + row.FactID
	if row.Project != project {
		return 0, fail(tx.ctx, fmt.Errorf("it is of project %q, not %q: %w", row.Project, project, ErrRefused), "%s", what)
	}
	// Most facts are new: they are inserted without being looked for first.
	inserted, err := tx.insertFact(what, row, at)
	switch {
	case err != nil:
		return 0, err
	case inserted:
		return tx.conn.LastInsertRowID(), nil
	}
	return tx.renewFact(what, row, at)
}

// insertFact inserts a fact and reports true, or false where its key is there. A file's key that was there before goes on counting its versions; a result's
// fact never leaves.
func (tx *Tx) insertFact(what string, row *symbolic.Row, at time.Time) (bool, error) {
	revision, err := tx.nextRevision(what)
	if err != nil {
		return false, err
	}
	n, err := tx.exec(what, `
INSERT INTO symbolic_fact (`+factColumns+`, revision)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12,
  CASE ?9 WHEN '' THEN 1 + (SELECT coalesce(max(version), 0) FROM symbolic_fact_version WHERE fact_id = ?1) ELSE 1 END, ?13)
ON CONFLICT (project_id, qualified_name, kind, file_path) DO NOTHING`,
		row.FactID, row.Project, row.QualifiedName, row.Kind, row.FilePath, row.Source, blob(row.Value), row.ASTHash,
		row.Episode, row.Offset, row.Line, at, revision)
	if errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		return false, fail(tx.ctx, fmt.Errorf("the id is another key's: %w", err), "%s", what)
	}
	if err != nil || n == 0 {
		return false, err
	}
	tx.revision = revision
	tx.added += int64(len(row.QualifiedName) + len(row.Value))
	return true, nil
}

// renewFact writes a fact whose key is there, and returns its number.
func (tx *Tx) renewFact(what string, row *symbolic.Row, at time.Time) (num int64, err error) {
	var old symbolic.Row
	err = tx.each(what, `
SELECT `+factColumns+`, num
FROM symbolic_fact
WHERE project_id = ? AND qualified_name = ? AND kind = ? AND file_path = ?`,
		[]any{row.Project, row.QualifiedName, row.Kind, row.FilePath}, func(s *sqlite3.Stmt) (err error) {
			num = s.ColumnInt64(14)
			old, err = scanFact(s)
			return err
		})
	switch {
	case err != nil:
		return 0, err
	case old.FactID != row.FactID:
		return 0, fail(tx.ctx, fmt.Errorf("its key has the id %s: %w", old.FactID, ErrRefused), "%s", what)
	case old.ASTHash != row.ASTHash || old.Value != row.Value || old.Source != row.Source:
		return num, tx.replaceFact(what, &old, row, at)
	case old.Episode != row.Episode || old.Offset != row.Offset || old.Line != row.Line:
		_, err = tx.exec(what, `
UPDATE symbolic_fact
SET episode_id = ?, byte_offset = ?, line = ?
WHERE num = ?`, row.Episode, row.Offset, row.Line, num)
	}
	return num, err
}

// nextRevision returns the number after the highest revision that a fact has had. None is given twice, also where the fact that had it is gone: the full-text index
// knows by it what it has yet to read. Whoever uses it sets tx.revision.
func (tx *Tx) nextRevision(what string) (int64, error) {
	if tx.revision > 0 {
		return tx.revision + 1, nil
	}
	return tx.next(what, `
SELECT max((SELECT coalesce(max(revision), 0) FROM symbolic_fact), (SELECT value FROM meta WHERE name = 'fact_revision'))`)
}

// archiveFact writes the present value of a fact among its older ones.
func (tx *Tx) archiveFact(what string, old *symbolic.Row, at time.Time) error {
	num, err := tx.next(what, `SELECT coalesce(max(num), 0) FROM symbolic_fact_version`)
	if err != nil {
		return err
	}
	updated, err := encodeTime(old.Updated)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	replaced, err := encodeTime(at)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	_, err = tx.exec(what, `
INSERT INTO symbolic_fact_version (num, project_id, fact_id, version, source, value, ast_hash, episode_id, byte_offset, line, updated, replaced, seal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		num, old.Project, old.FactID, old.Version, old.Source, blob(old.Value), old.ASTHash, old.Episode, old.Offset, old.Line, updated, replaced,
		versionSeal(old, num, updated, replaced))
	return err
}

func (tx *Tx) replaceFact(what string, old, row *symbolic.Row, at time.Time) error {
	if err := tx.archiveFact(what, old, at); err != nil {
		return err
	}
	if old.Episode == "" {
		if err := tx.settleCalls(what, old); err != nil {
			return err
		}
	}
	revision, err := tx.nextRevision(what)
	if err != nil {
		return err
	}
	_, err = tx.exec(what, `
UPDATE symbolic_fact
SET source = ?, value = ?, ast_hash = ?, episode_id = ?, byte_offset = ?, line = ?, updated = ?, version = version + 1, revision = ?
WHERE fact_id = ?`,
		row.Source, blob(row.Value), row.ASTHash, row.Episode, row.Offset, row.Line, at, revision, row.FactID)
	if err != nil {
		return err
	}
	tx.revision = revision
	tx.added += int64(len(row.QualifiedName) + len(row.Value))
	return nil
}
