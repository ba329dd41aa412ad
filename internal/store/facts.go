package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/symbolic"
)

// factColumns reads a fact from symbolic_fact f, with the names behind the numbers.
const factColumns = `f.fact_id, (SELECT project_id FROM project WHERE num = f.project_id), f.qualified_name, f.kind, f.file_path, f.source, f.value, f.ast_hash,
  ` + factEpisode + `, f.byte_offset, f.line, f.first_seen, f.renewed, f.version`

// factEpisode is the id of the episode that a fact was read in, and no text for a file's.
const factEpisode = `CASE f.episode_id WHEN 0 THEN '' ELSE coalesce((SELECT episode_id FROM episodic_stream WHERE seq = f.episode_id), 'number ' || f.episode_id) END`

// factProject selects the facts of a project in symbolic_fact f. It takes the project's id.
const factProject = `f.project_id = (SELECT num FROM project WHERE project_id = ?)`

func scanFact(s *sqlite3.Stmt) (symbolic.Row, error) {
	return symbolic.Row{
		FactID:        s.ColumnText(0),
		Project:       s.ColumnText(1),
		QualifiedName: s.ColumnText(2),
		Kind:          s.ColumnText(3),
		FilePath:      s.ColumnText(4),
		Source:        s.ColumnText(5),
		Value:         string(s.ColumnRawBlob(6)),
		ASTHash:       scanHash(s, 7),
		Episode:       s.ColumnText(8),
		Offset:        s.ColumnInt(9),
		Line:          s.ColumnInt(10),
		First:         decodeTime(s.ColumnInt64(11)),
		Updated:       decodeTime(s.ColumnInt64(12)),
		Version:       s.ColumnInt(13),
	}, nil
}

// scanHash reads a hash: most are 32 bytes, and stored as such.
func scanHash(s *sqlite3.Stmt, col int) string {
	if s.ColumnType(col) == sqlite3.BLOB {
		return hex.EncodeToString(s.ColumnRawBlob(col))
	}
	return s.ColumnText(col)
}

// storedHash returns what is stored for a hash.
func storedHash(hash string) any {
	if len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == "" {
		if b, err := hex.DecodeString(hash); err == nil {
			return b
		}
	}
	return hash
}

// Fact returns the fact with that id as it is now. It fails with [ErrNotFound] when the project has none.
func (r *Reader) Fact(project, id string) (symbolic.Row, error) {
	return one(r, "fact "+id, `
SELECT `+factColumns+`
FROM symbolic_fact f
WHERE f.fact_id = ? AND `+factProject, []any{id, project}, scanFact)
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
	q.where(factProject, f.Project)
	if f.QualifiedName != "" {
		q.where("f.qualified_name = ?", f.QualifiedName)
	}
	if f.NamePrefix != "" {
		q.where("f.qualified_name >= ?", f.NamePrefix)
		if after, ok := successor(f.NamePrefix); ok {
			q.where("f.qualified_name < ?", after)
		}
	}
	if f.Kind != "" {
		q.where("f.kind = ?", f.Kind)
	}
	if f.Told {
		q.where("f.episode_id > 0")
	}
	// These two indexes are partial, and the order of the result tempts the planner to walk all of the project's names instead. A result's facts are looked up
	// with every turn, so the index is named; the conditions that make it partial are repeated, or it could not be used.
	from := "symbolic_fact f"
	if f.FilePath != "" {
		q.where("f.file_path <> '' AND f.file_path = ?", f.FilePath)
		from = "symbolic_fact f INDEXED BY symbolic_fact_file"
	}
	if f.Episode != "" {
		q.where("f.episode_id > 0 AND f.episode_id = (SELECT seq FROM episodic_stream WHERE episode_id = ?)", f.Episode)
		from = "symbolic_fact f INDEXED BY symbolic_fact_episode"
	}
	return rows(r, "facts", "SELECT "+factColumns+"\nFROM "+from+q.clause()+
		"\nORDER BY f.qualified_name, f.kind, f.file_path"+limit(f.Limit), q.args, scanFact)
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
SELECT f.fact_id, v.project_id, f.qualified_name, f.kind, f.file_path, v.source, v.value, v.ast_hash, v.episode_id, v.byte_offset, v.line,
  f.first_seen, v.updated, v.version, v.num, v.replaced, v.seal
FROM symbolic_fact_version v
JOIN symbolic_fact f ON f.fact_id = v.fact_id
WHERE v.fact_id = ? AND `+factProject+`
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

// ledger is where the facts of one call of [Tx.PutFacts] go.
type ledger struct {
	projectID string
	project   int64 // its number
	at        time.Time
	// episode is the number of the episode that the last fact was read in, 0 for a file, and episodeID its id.
	episode   int64
	episodeID string
}

// ledger makes the ledger complete and looks up the number of a project. It fails with [ErrNotFound] when the project is not there.
func (tx *Tx) ledger(what, project string, at time.Time) (ledger, error) {
	if err := tx.enterQueue(); err != nil {
		return ledger{}, err
	}
	return tx.ledgerOf(what, project, at)
}

func (tx *Tx) ledgerOf(what, project string, at time.Time) (ledger, error) {
	l := ledger{projectID: project, at: at}
	if at.IsZero() {
		l.at = tx.store.cfg.Now()
	}
	if p := &tx.place; p.project > 0 && p.projectID == project {
		l.project = p.project
		return l, nil
	}
	err := tx.each(what, `SELECT num FROM project WHERE project_id = ?`, []any{project}, func(s *sqlite3.Stmt) error {
		l.project = s.ColumnInt64(0)
		return nil
	})
	if err == nil && l.project == 0 {
		err = fail(tx.ctx, fmt.Errorf("project %q: %w", project, ErrNotFound), "%s", what)
	}
	return l, err
}

// turnTo sets the episode that a fact was read in. It fails with [ErrNotFound] when the project has none of that id.
func (tx *Tx) turnTo(what string, l *ledger, id string) error {
	if id == l.episodeID {
		return nil
	}
	seq := int64(0)
	if n := len(tx.appended); id == "" {
	} else if n > 0 && tx.appended[n-1].id == id && tx.appended[n-1].place.project == l.project {
		seq = tx.appended[n-1].place.top
	} else {
		err := tx.each(what, `SELECT seq FROM episodic_stream WHERE episode_id = ? AND project_id = ?`, []any{id, l.project}, func(s *sqlite3.Stmt) error {
			seq = s.ColumnInt64(0)
			return nil
		})
		if err != nil {
			return err
		}
		if seq == 0 {
			return fail(tx.ctx, fmt.Errorf("episode %s: %w", id, ErrNotFound), "%s", what)
		}
	}
	l.episodeID, l.episode = id, seq
	return nil
}

// PutFacts writes facts on their natural key. A new key is inserted. A changed value or hash takes the place of the old one, which moves
// to the versions. An unchanged one only gets its newest evidence. The episode of a fact's evidence is its one derived_from edge: see [Reader.Edges].
// All rows must be of the project. First, Updated and Version of the rows are ignored. It fails with [ErrNotFound] when the project, or the episode of a fact, is
// not there.
func (tx *Tx) PutFacts(project string, list []symbolic.Row, at time.Time) error {
	if len(list) == 0 {
		return nil
	}
	l, err := tx.ledger("put facts", project, at)
	if err != nil {
		return err
	}
	return tx.putAll(&l, list)
}

func (tx *Tx) putAll(l *ledger, list []symbolic.Row) error {
	for len(list) > 0 {
		n, err := tx.insertFacts(l, list)
		if err != nil {
			return err
		}
		if n == 0 {
			if _, err := tx.putFact(l, &list[0]); err != nil {
				return err
			}
			n = 1
		}
		list = list[n:]
	}
	return nil
}

// putFact writes one fact and returns its number.
func (tx *Tx) putFact(l *ledger, row *symbolic.Row) (num int64, err error) {
	what := "put fact " + row.FactID
	if row.Project != l.projectID {
		return 0, fail(tx.ctx, fmt.Errorf("it is of project %q, not %q: %w", row.Project, l.projectID, ErrRefused), "%s", what)
	}
	if err := tx.turnTo(what, l, row.Episode); err != nil {
		return 0, err
	}
	// Most facts are new: they are inserted without being looked for first.
	num, err = tx.insertFact(what, l, row)
	if err != nil || num > 0 {
		return num, err
	}
	return tx.renewFact(what, l, row)
}

// insertFact inserts a fact and returns its number, or 0 where its key is there. A file's key that was there before goes on counting its versions; a result's
// fact never leaves.
func (tx *Tx) insertFact(what string, l *ledger, row *symbolic.Row) (num int64, err error) {
	num, err = tx.nextRevision(what)
	if err != nil {
		return 0, err
	}
	n, err := tx.exec(what, `
INSERT INTO symbolic_fact (num, revision, fact_id, project_id, qualified_name, kind, file_path, source, value, ast_hash, episode_id, byte_offset, line, first_seen, renewed, version)
VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13,
  CASE ?10 WHEN 0 THEN 1 + (SELECT coalesce(max(version), 0) FROM symbolic_fact_version WHERE fact_id = ?2) ELSE 1 END)
ON CONFLICT (project_id, qualified_name, kind, file_path) DO NOTHING`,
		num, row.FactID, l.project, row.QualifiedName, row.Kind, row.FilePath, row.Source, blob(row.Value), storedHash(row.ASTHash),
		l.episode, row.Offset, row.Line, l.at)
	if errors.Is(err, sqlite3.CONSTRAINT_UNIQUE) {
		return 0, fail(tx.ctx, fmt.Errorf("the id is another key's: %w", err), "%s", what)
	}
	if err != nil || n == 0 {
		return 0, err
	}
	tx.revision = num
	tx.added += indexedBytes(row)
	return num, nil
}

// renewFact writes a fact whose key is there, and returns its number.
func (tx *Tx) renewFact(what string, l *ledger, row *symbolic.Row) (num int64, err error) {
	var old symbolic.Row
	err = tx.each(what, `
SELECT `+factColumns+`, f.num
FROM symbolic_fact f
WHERE f.project_id = ? AND f.qualified_name = ? AND f.kind = ? AND f.file_path = ?`,
		[]any{l.project, row.QualifiedName, row.Kind, row.FilePath}, func(s *sqlite3.Stmt) (err error) {
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
		return num, tx.replaceFact(what, l, num, &old, row)
	case old.Episode != row.Episode || old.Offset != row.Offset || old.Line != row.Line:
		_, err = tx.exec(what, `
UPDATE symbolic_fact
SET episode_id = ?, byte_offset = ?, line = ?
WHERE num = ?`, l.episode, row.Offset, row.Line, num)
	}
	return num, err
}

// topRevision is the highest revision that a fact of the ledger has, or the number of one if that is higher.
const topRevision = `max(
  (SELECT coalesce(max(num), 0) FROM symbolic_fact),
  (SELECT coalesce(max(revision), 0) FROM symbolic_fact INDEXED BY symbolic_fact_revision WHERE revision <> num))`

// nextRevision returns the number after the highest revision that a fact has had. None is given twice, also where the fact that had it is gone: the full-text index
// knows by it what it has yet to read. Whoever uses it sets tx.revision.
func (tx *Tx) nextRevision(what string) (int64, error) {
	if tx.revision > 0 {
		return tx.revision + 1, nil
	}
	if !tx.late { // else the writer is another's
		if known := tx.store.known.revision; known > 0 {
			return known + 1, nil
		}
	}
	return tx.next(what, `SELECT max(`+topRevision+`, (SELECT value FROM meta WHERE name = 'fact_revision'))`)
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

func (tx *Tx) replaceFact(what string, l *ledger, num int64, old, row *symbolic.Row) error {
	if err := tx.archiveFact(what, old, l.at); err != nil {
		return err
	}
	if old.Episode == "" && !tx.late {
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
SET source = ?, value = ?, ast_hash = ?, episode_id = ?, byte_offset = ?, line = ?, renewed = ?, version = version + 1, revision = ?
WHERE num = ?`,
		row.Source, blob(row.Value), storedHash(row.ASTHash), l.episode, row.Offset, row.Line, l.at, revision, num)
	if err != nil {
		return err
	}
	tx.revision = revision
	tx.added += indexedBytes(row)
	return nil
}
