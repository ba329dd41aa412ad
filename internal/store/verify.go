package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
	"sakur4/internal/vector"
)

// Report is what [Store.Verify] found. Problems is empty when the store is sound.
type Report struct {
	Problems []string
	Count    Count
	// Schema is the schema's version, Projects the number of projects, Versions the older values of facts.
	Schema, Projects, Versions int
}

// triggers are the names without which the schema would not keep its promises.
var triggers = [...]string{
	"anchor_set_count", "anchor_set_no_delete", "anchor_set_no_replace", "anchor_set_no_update",
	"episodic_stream_count", "episodic_stream_no_delete", "episodic_stream_no_renumber", "episodic_stream_no_replace", "episodic_stream_no_update", "episode_tier_first_rung", "episode_tier_one_rung",
	"eviction_no_delete", "eviction_no_replace", "eviction_no_update",
	"eviction_seal_count", "eviction_seal_no_delete", "eviction_seal_no_replace", "eviction_seal_no_update",
	"eviction_window_no_delete", "eviction_window_no_replace", "eviction_window_no_update",
	"fact_queue_no_delete", "fact_queue_no_replace", "fact_queue_no_update",
	"folds_count", "note_count", "receipt_count", "snapshot_count",
	"semantic_atlas_count", "semantic_atlas_no_delete", "semantic_atlas_no_orphan", "semantic_atlas_no_replace", "semantic_atlas_no_update",
	"symbolic_fact_no_delete", "symbolic_fact_version_count", "symbolic_fact_version_no_delete", "symbolic_fact_version_no_replace", "symbolic_fact_version_no_update",
}

// maxProblems bounds the report of a badly damaged file.
const maxProblems = 100

// Verify checks the whole store: SQLite's own integrity and foreign keys, the mark and the triggers, that every episode's content has
// its digest, that what episodes, older values of facts, pins, notes, entries, renderings, receipts, folds and steps record has its seal, that as many rows are there as
// were written, that tiers agree with the steps that were written, that what a row names is there, and that the full-text index is coherent. Damage is in the
// report; an error says that it could not be checked.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	if err := s.enter(); err != nil {
		return Report{}, fail(ctx, err, "verify")
	}
	defer s.leave()
	var report Report
	// A new connection: on one that has searched before, FTS5's part of the integrity check compares the file with what it remembers of
	// an older state and reports corruption.
	err := s.snapshot(ctx, s.dial, func(r *Reader) error {
		v := verifier{reader: r, report: &report}
		if err := r.prepareLedger(); err != nil {
			return err
		}
		if r.damage != nil {
			r.conn.names = nil // it is in the report, and the ledger is looked at as it is
		}
		return v.run()
	})
	if errors.Is(err, sqlite3.CORRUPT) {
		report.add("%v", err)
		err = nil
	}
	if err == nil && !s.cfg.ReadOnly {
		err = s.verifyIndex(ctx, &report)
	}
	if err != nil {
		return report, fail(ctx, err, "verify")
	}
	return report, nil
}

func (r *Report) add(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

type verifier struct {
	reader *Reader
	report *Report
}

func (v *verifier) run() error {
	for _, check := range [...]func() error{v.pages, v.schema, v.records, v.evictions, v.rows, v.relations, v.totals, v.vectors, v.count} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// list adds a problem for every row of a query.
func (v *verifier) list(format, sql string, args ...any) error {
	return v.reader.conn.each(sql, args, func(s *sqlite3.Stmt) error {
		values := make([]any, s.ColumnCount())
		for i := range values {
			values[i] = s.ColumnText(i)
		}
		v.report.add(format, values...)
		return nil
	})
}

func (v *verifier) pages() error {
	err := v.reader.conn.each(`PRAGMA integrity_check`, nil, func(s *sqlite3.Stmt) error {
		if text := s.ColumnText(0); text != "ok" {
			v.report.add("integrity: %s", text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.list("foreign key: row %[2]s of %[1]s has no parent in %[3]s", `PRAGMA foreign_key_check`)
}

func (v *verifier) schema() error {
	id, _, err := v.reader.conn.number(`PRAGMA application_id`)
	if err != nil {
		return err
	}
	if id != applicationID {
		v.report.add("application id is %#x", id)
	}
	version, _, err := v.reader.conn.number(`PRAGMA user_version`)
	if err != nil {
		return err
	}
	if version != latest() {
		v.report.add("schema version is %d, not %d", version, latest())
	}
	v.report.Schema = int(version)
	for _, name := range triggers {
		_, found, err := v.reader.conn.number(`SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = ?`, name)
		if err != nil {
			return err
		}
		if !found {
			v.report.add("trigger %s is missing", name)
		}
	}
	return nil
}

// records reads every row that has a seal as a reader would.
func (v *verifier) records() error {
	return errors.Join(
		checkRows(v, `SELECT `+episodeColumns+` FROM episodic_stream e ORDER BY e.seq`, scanEpisode),
		checkRows(v, `SELECT `+pinColumns+` FROM anchor_set ORDER BY seq`, scanPin),
		checkRows(v, `SELECT `+noteColumns+` FROM note ORDER BY project_id, session_id, seq`, scanNote),
		checkRows(v, `SELECT `+entryColumns+` FROM semantic_atlas ORDER BY num`, scanEntry),
		checkRows(v, `SELECT `+stateColumns+` FROM render_state ORDER BY project_id, session_id`, scanState),
		checkRows(v, `
SELECT `+decisionColumns+`, coalesce(s.project_id, ''), coalesce(s.session_id, '')
FROM render_decision d
LEFT JOIN session s ON s.num = d.session_id
ORDER BY d.session_id, d.ord`, func(s *sqlite3.Stmt) ([]DecisionRow, error) { return decisionsOf(s.ColumnText(4), s.ColumnText(5))(s) }),
		checkRows(v, `SELECT `+queueColumns+queueTables+` ORDER BY q.seq`, scanQueued),
		checkRows(v, versionRows, scanVersion),
		checkRows(v, `SELECT `+receiptColumns+` FROM receipt ORDER BY session_id, turn, window_id`, scanReceipt),
		checkRows(v, `SELECT `+foldColumns+` FROM folds ORDER BY num`, scanFold),
		checkRows(v, `SELECT `+snapshotColumns+` FROM snapshot ORDER BY project_id, session_id, ord, file`, scanSnapshot),
	)
}

// evictions compares the steps with the seals of their windows, and the tiers with where the last steps led.
func (v *verifier) evictions() error {
	sessions, err := all(rows(v.reader, "sessions", `SELECT num FROM session ORDER BY num`, nil, func(s *sqlite3.Stmt) (int64, error) { return s.ColumnInt64(0), nil }))
	if err != nil {
		return err
	}
	for _, session := range sessions {
		tiers := map[int64]evict.Tier{} // of the episodes that are not live
		for w, err := range rows(v.reader, "steps", windowColumns+"\nWHERE w.session_id = ?\nORDER BY w.num", []any{session}, scanWindow) {
			if err != nil {
				return err
			}
			steps, err := v.reader.steps(w)
			switch {
			case errors.Is(err, ErrCorrupt):
				v.report.add("%s", strings.TrimPrefix(err.Error(), "store: "))
			case err != nil:
				return err
			}
			for _, s := range steps {
				if tiers[s.seq] = s.to; s.to == evict.Live {
					delete(tiers, s.seq)
				}
			}
		}
		err := v.reader.each("tiers", `
SELECT e.seq, e.episode_id, `+tierOf+`
FROM episodic_stream e INDEXED BY episodic_stream_session
WHERE e.session_id = ?
ORDER BY e.seq`, []any{session}, func(s *sqlite3.Stmt) error {
			led, ok := tiers[s.ColumnInt64(0)]
			if !ok {
				led = evict.Live
			}
			if tier := s.ColumnText(2); tier != led.String() {
				v.report.add("episode %s is %s, but its last step led to %v", s.ColumnText(1), tier, led)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// counted are the tables whose rows are counted as they are written.
var counted = [...]string{"anchor_set", "episodic_stream", "eviction_seal", "folds", "note", "receipt", "render_decision", "semantic_atlas", "snapshot", "symbolic_fact_version"}

// rows compares what is there with what was counted: a row that is gone leaves nothing else behind, least of all the last one.
func (v *verifier) rows() error {
	for _, table := range counted {
		there, _, err := v.reader.conn.number(`SELECT count(*) FROM main.` + table)
		if err != nil {
			return err
		}
		written, found, err := v.reader.conn.number(`SELECT value FROM meta WHERE name = ?`, "rows of "+table)
		switch {
		case err != nil:
			return err
		case !found:
			v.report.add("the rows of %s are not counted", table)
		case there != written:
			v.report.add("%s has %d rows, %d were written", table, there, written)
		}
	}
	return nil
}

// checkRows adds a problem for every row that its scan refuses.
func checkRows[T any](v *verifier, sql string, scan func(*sqlite3.Stmt) (T, error)) error {
	return v.reader.conn.each(sql, nil, func(s *sqlite3.Stmt) error {
		if _, err := scan(s); err != nil {
			v.report.add("%s", strings.TrimPrefix(err.Error(), "store: "))
		}
		return nil
	})
}

func (v *verifier) relations() error {
	for _, check := range [...]struct{ format, sql string }{
		{"%s outside of a transaction: rungs of the ladder may have been skipped", `
SELECT name
FROM meta
WHERE name = 'rungs are listed'`},
		{"episode %s is of another project than its session", `
SELECT e.episode_id
FROM episodic_stream e
WHERE NOT EXISTS (SELECT 1 FROM session s JOIN project p ON p.project_id = s.project_id WHERE s.num = e.session_id AND p.num = e.project_id)
ORDER BY e.seq`},
		{"episode %s answers a call of an episode that is not there", `
SELECT e.episode_id
FROM episodic_stream e
WHERE e.call_episode <> 0
  AND NOT EXISTS (SELECT 1 FROM episodic_stream c WHERE c.seq = e.call_episode AND c.project_id = e.project_id)
ORDER BY e.seq`},
		{"episode %s is superseded by %s, which is not there", `
SELECT e.episode_id, e.superseded_by
FROM episodic_stream e
WHERE e.superseded_by <> ''
  AND NOT EXISTS (SELECT 1 FROM episodic_stream n WHERE n.episode_id = e.superseded_by AND n.project_id = e.project_id)
ORDER BY e.seq`},
		{"episode %s is in fold %s, which is not there", `
SELECT e.episode_id, e.fold_id
FROM episodic_stream e
WHERE e.fold_id <> ''
  AND NOT EXISTS (SELECT 1 FROM folds f JOIN project p ON p.project_id = f.project_id WHERE f.fold_id = e.fold_id AND p.num = e.project_id)
ORDER BY e.seq`},
		{"session %s has %s rendering decisions, the last is number %s", `
SELECT coalesce(s.session_id, d.session_id), sum(d.decisions), max(d.ord + d.decisions - 1)
FROM render_decision d
LEFT JOIN session s ON s.num = d.session_id
GROUP BY d.session_id
HAVING sum(d.decisions) <> max(d.ord + d.decisions)
ORDER BY d.session_id`},
		{"session %s has rendering decisions and no rendering state", `
SELECT s.session_id
FROM session s
WHERE EXISTS (SELECT 1 FROM render_decision d WHERE d.session_id = s.num)
  AND NOT EXISTS (SELECT 1 FROM render_state r WHERE r.project_id = s.project_id AND r.session_id = s.session_id)
ORDER BY s.num`},
		{"the runs from episode number %s and %s overlap", `
SELECT t.first, n.first
FROM episode_tier t
JOIN episode_tier n ON n.first = (SELECT min(first) FROM episode_tier WHERE first > t.first)
WHERE n.first <= t.last
ORDER BY t.first`},
		{"fact %s comes from episode %s, which is not there", `
SELECT f.fact_id, 'number ' || f.episode_id
FROM symbolic_fact f
WHERE f.episode_id > 0
  AND NOT EXISTS (SELECT 1 FROM episodic_stream e WHERE e.seq = f.episode_id AND e.project_id = f.project_id)
ORDER BY f.num`},
		{"entry %s is replaced by %s, which is not there", `
SELECT a.entry_id, a.replaced_by
FROM semantic_atlas a
WHERE a.replaced_by <> ''
  AND NOT EXISTS (SELECT 1 FROM semantic_atlas n WHERE n.entry_id = a.replaced_by AND n.project_id = a.project_id AND n.replaces = a.entry_id)
ORDER BY a.num`},
		{"fact %s is at version %s with %s older ones", `
SELECT f.fact_id, f.version, (SELECT count(*) FROM symbolic_fact_version v WHERE v.fact_id = f.fact_id) AS older
FROM symbolic_fact f
WHERE f.version <> older + 1
ORDER BY f.num`},
	} {
		if err := v.list(check.format, check.sql); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) totals() error {
	for _, check := range [...]struct{ format, sql string }{
		{"index: episode %s has no document", `
SELECT e.episode_id
FROM episodic_stream e
WHERE e.seq <= (SELECT watermark FROM fts_watermark WHERE name = 'episode')
  AND e.seq NOT IN (SELECT seq FROM episode_doc)
ORDER BY e.seq`},
		{"index: fact %s has no document", `
SELECT f.fact_id
FROM symbolic_fact f
WHERE f.revision <= (SELECT watermark FROM fts_watermark WHERE name = 'fact')
  AND f.num NOT IN (SELECT num FROM fact_doc)
ORDER BY f.num`},
		{"index: entry %s has no document", `
SELECT a.entry_id
FROM semantic_atlas a
WHERE a.num <= (SELECT watermark FROM fts_watermark WHERE name = 'entry')
  AND a.num NOT IN (SELECT num FROM entry_doc)
ORDER BY a.num`},
		{"index: fact number %s has a document and is not there", `
SELECT num
FROM fact_doc
WHERE num NOT IN (SELECT num FROM symbolic_fact)
ORDER BY num`},
		{"index: entry number %s has a document and is not there", `
SELECT DISTINCT num
FROM entry_doc
WHERE num NOT IN (SELECT num FROM semantic_atlas)
ORDER BY num`},
		{"index: episode number %s has a document and is not there", `
SELECT DISTINCT seq
FROM episode_doc
WHERE seq NOT IN (SELECT seq FROM episodic_stream)
ORDER BY seq`},
		{"index: %s totals are %s documents and %s terms, there are %s and %s", `
SELECT t.name, t.docs, t.terms, n.docs, n.terms
FROM (SELECT name, sum(docs) AS docs, sum(terms) AS terms FROM fts_total GROUP BY name) t
JOIN (
  SELECT 'episode' AS name, count(*) AS docs, coalesce(sum(terms), 0) AS terms FROM episode_doc
  UNION ALL
  SELECT 'fact', count(*), coalesce(sum(terms), 0) FROM fact_doc
  UNION ALL
  SELECT 'entry', count(*), coalesce(sum(terms), 0) FROM entry_doc
) n ON n.name = t.name
WHERE t.docs <> n.docs OR t.terms <> n.terms
ORDER BY t.name`},
	} {
		if err := v.list(check.format, check.sql); err != nil {
			return err
		}
	}
	return nil
}

// vectors decodes every block, and looks up whose its vectors are.
func (v *verifier) vectors() error {
	return v.reader.conn.each(`
SELECT b.num, b.project_num, b.kind, b.parts, b.body, m.dim, m.episode_mark, m.entry_mark
FROM vector_block b
JOIN vector_model m ON m.project_num = b.project_num
ORDER BY b.num`, nil, func(s *sqlite3.Stmt) error {
		num, kind := s.ColumnInt64(0), uint8(s.ColumnInt(2))
		rows, err := decodeParts(kind, s.ColumnRawBlob(3))
		if err == nil {
			err = vector.NewMatrix(s.ColumnInt(5)).Add(rows, s.ColumnRawBlob(4))
		}
		if err != nil {
			v.report.add("vector block %d: %v", num, err)
			return nil
		}
		sql, mark := `SELECT 1 FROM episodic_stream WHERE seq = ? AND project_id = ?`, s.ColumnInt64(6)
		if kind == VectorOfEntry {
			sql, mark = `SELECT 1 FROM semantic_atlas a JOIN project p ON p.project_id = a.project_id WHERE a.num = ? AND p.num = ?`, s.ColumnInt64(7)
		}
		for _, row := range rows {
			_, found, err := v.reader.conn.number(sql, row.Row, s.ColumnInt64(1))
			if err != nil {
				return err
			}
			if !found || row.Row > mark {
				v.report.add("vector block %d: row %d is not there, is of another project, or lies behind the mark %d", num, row.Row, mark)
			}
		}
		return nil
	})
}

func (v *verifier) count() error {
	counts, err := v.reader.Counts("")
	if err != nil {
		return err
	}
	v.report.Count = counts.Store
	n, _, err := v.reader.conn.number(`SELECT count(*) FROM project`)
	if err != nil {
		return err
	}
	v.report.Projects = int(n)
	n, _, err = v.reader.conn.number(`SELECT count(*) FROM symbolic_fact_version`)
	v.report.Versions = int(n)
	return err
}

// errUndo rolls a transaction back that was only needed to look.
var errUndo = errors.New("undo")

// verifyIndex lets FTS5 check itself, which it does only inside a write.
func (s *Store) verifyIndex(ctx context.Context, report *Report) error {
	if err := s.lockWriter(ctx); err != nil {
		return err
	}
	defer s.unlockWriter()
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	lost := false
	err = s.transact(ctx, c, func() { lost = true }, func(c *conn) error {
		for _, table := range [...]string{"episode_fts", "fact_fts", "entry_fts"} {
			_, err := c.exec(`INSERT INTO ` + table + ` (` + table + `) VALUES ('integrity-check')`)
			switch {
			case errors.Is(err, sqlite3.CORRUPT):
				report.add("index: %s: %v", table, err)
			case err != nil:
				return err
			}
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		err = nil
	}
	if !lost {
		err = errors.Join(err, c.close())
	}
	return err
}
