package store

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/episode"
	"sakur4/semantic"
)

// NewEntry is an interpretation that is to be written. Its anchor is named, never passed in: the store reads what is there.
type NewEntry struct {
	// ID is "sem_" and hexadecimal digits; Text says something.
	ID, Text string
	// AnchorType is "symbolic_fact" or "episodic_stream", AnchorID the id of what is interpreted.
	AnchorType, AnchorID string
	Origin               semantic.Origin
	// Tokens is the local count of Text.
	Tokens int
	// Replaces is the id of an entry of the project that has not been replaced yet; "" for none.
	Replaces string
	// Created is now when zero.
	Created time.Time
}

// EntryFilter selects entries of one project. A zero field selects everything.
type EntryFilter struct {
	// Project is required.
	Project, Session, AnchorID string
	// All also selects entries that were replaced or retired.
	All bool
	// Limit bounds the number of entries; 0 is no bound.
	Limit int
}

// EntryState is an entry beside what its anchor is now.
type EntryState struct {
	Entry semantic.Entry
	// CurrentHash is the anchor's hash now, "" when it is gone.
	CurrentHash string
	// Missing says that the anchor is gone, Stale that its hash is another one; a missing anchor is stale.
	Missing, Stale bool
}

const entryColumns = `entry_id, project_id, session_id, text, anchor_type, anchor_id, anchor_hash_at_write, origin, replaces, retired, created, seal`

func scanEntry(s *sqlite3.Stmt) (semantic.Entry, error) {
	e := semantic.Entry{
		ID:         s.ColumnText(0),
		Project:    s.ColumnText(1),
		Session:    s.ColumnText(2),
		Text:       s.ColumnText(3),
		AnchorType: s.ColumnText(4),
		AnchorID:   s.ColumnText(5),
		AnchorHash: s.ColumnText(6),
		Origin:     semantic.ParseOrigin(s.ColumnText(7)),
		Replaces:   s.ColumnText(8),
		Retired:    s.ColumnInt64(9) != 0,
		Created:    decodeTime(s.ColumnInt64(10)),
	}
	if e.Origin == 0 {
		return semantic.Entry{}, &failure{"entry " + e.ID, fmt.Errorf("unknown origin %q: %w", s.ColumnText(7), ErrCorrupt)}
	}
	return e, sealed("entry "+e.ID, s.ColumnInt64(11), entrySeal(&e, s.ColumnInt64(10)))
}

// entrySeal returns the fields that an entry's seal covers.
func entrySeal(e *semantic.Entry, created int64) []any {
	return []any{e.ID, e.Project, e.Session, e.Text, e.AnchorType, e.AnchorID, e.AnchorHash, e.Origin.String(), e.Replaces, created}
}

// Entry returns the entry with that id, also one that was replaced or retired. It fails with [ErrNotFound] when the project has none.
func (r *Reader) Entry(project, id string) (semantic.Entry, error) {
	return one(r, "entry "+id, `
SELECT `+entryColumns+`
FROM semantic_atlas
WHERE entry_id = ? AND project_id = ?`, []any{id, project}, scanEntry)
}

// Entries streams the entries that the filter selects, in the order in which they were written.
func (r *Reader) Entries(f EntryFilter) iter.Seq2[semantic.Entry, error] {
	var q query
	q.where("project_id = ?", f.Project)
	if f.Session != "" {
		q.where("session_id = ?", f.Session)
	}
	if f.AnchorID != "" {
		q.where("anchor_id = ?", f.AnchorID)
	}
	if !f.All {
		q.where("replaced_by = '' AND retired = 0")
	}
	return rows(r, "entries", "SELECT "+entryColumns+"\nFROM semantic_atlas"+q.clause()+"\nORDER BY num"+limit(f.Limit), q.args, scanEntry)
}

// Freshness streams the project's entries that are in force, each compared with its anchor as it is now: the stale ones first, then by
// the order in which they were written. A limit of 0 is no bound. It knows of a file what was indexed last, not what is on the disk.
func (r *Reader) Freshness(project string, most int) iter.Seq2[EntryState, error] {
	return rows(r, "freshness", `
SELECT a.entry_id, a.project_id, a.session_id, a.text, a.anchor_type, a.anchor_id, a.anchor_hash_at_write, a.origin, a.replaces, a.retired,
  a.created, a.seal, coalesce(s.current_anchor_hash, ''), s.anchor_missing, s.stale
FROM semantic_atlas a
JOIN semantic_atlas_staleness s ON s.entry_id = a.entry_id
WHERE a.project_id = ? AND a.replaced_by = '' AND a.retired = 0
ORDER BY s.stale DESC, a.num`+limit(most), []any{project}, func(s *sqlite3.Stmt) (EntryState, error) {
		e, err := scanEntry(s)
		return EntryState{Entry: e, CurrentHash: s.ColumnText(12), Missing: s.ColumnInt64(13) != 0, Stale: s.ColumnInt64(14) != 0}, err
	})
}

// SearchEntries returns the K best entries in force, by text and by the name of the fact that they interpret; the best first, ties by the
// order of writing. Replaced and retired ones are left out. Since and Until are over the time of writing.
func (r *Reader) SearchEntries(q SearchQuery) ([]Scored, error) { return r.search(entryTrack, q) }

// PutEntry writes an interpretation of something that the project has, with the hash that it has in this transaction, and an edge from
// the entry to its anchor. It fails with [ErrNotFound] when the anchor, the session, or the entry to be replaced is not there, and with
// [ErrExists] when the id is taken; nothing is written then that would stay if the caller returned nil.
func (tx *Tx) PutEntry(project, session string, n NewEntry) (semantic.Entry, error) {
	what := "put entry " + n.ID
	entry, err := tx.newEntry(project, session, n)
	if err != nil {
		return semantic.Entry{}, fail(tx.ctx, err, "%s", what)
	}
	created, err := encodeTime(entry.Created)
	if err != nil {
		return semantic.Entry{}, fail(tx.ctx, err, "%s", what)
	}
	if n.Replaces != "" {
		changed, err := tx.exec(what, `
UPDATE semantic_atlas
SET replaced_by = ?
WHERE entry_id = ? AND project_id = ? AND replaced_by = ''`, n.ID, n.Replaces, project)
		if err != nil {
			return semantic.Entry{}, err
		}
		if changed == 0 {
			return semantic.Entry{}, fail(tx.ctx, fmt.Errorf("no entry %s to replace: %w", n.Replaces, ErrNotFound), "%s", what)
		}
	}
	num, err := tx.next(what, `SELECT coalesce(max(num), 0) FROM semantic_atlas`)
	if err != nil {
		return semantic.Entry{}, err
	}
	_, err = tx.exec(what, `
INSERT INTO semantic_atlas (`+entryColumns+`, num, tokens)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`, entry.ID, project, session, entry.Text, entry.AnchorType, entry.AnchorID, entry.AnchorHash,
		entry.Origin.String(), entry.Replaces, created, seal(entrySeal(&entry, created)...), num, n.Tokens)
	if err != nil {
		return semantic.Entry{}, err
	}
	tx.added += int64(len(entry.Text))
	return entry, tx.PutEdges([]EdgeRow{{Project: project, From: entry.ID, To: entry.AnchorID, Kind: "derived_from", SeenHash: entry.AnchorHash}})
}

// newEntry checks everything that can refuse an entry before anything is written, and makes it.
func (tx *Tx) newEntry(project, session string, n NewEntry) (semantic.Entry, error) {
	if n.ID == "" {
		return semantic.Entry{}, errors.New("the id is empty")
	}
	if n.Origin < semantic.Extracted || n.Origin > semantic.Interpreted {
		return semantic.Entry{}, fmt.Errorf("unknown origin %v", n.Origin)
	}
	hash, err := tx.anchorHash(project, n.AnchorType, n.AnchorID)
	if err != nil {
		return semantic.Entry{}, err
	}
	anchor, err := episode.NewAnchor(n.AnchorType, n.AnchorID, hash)
	if err != nil {
		return semantic.Entry{}, err
	}
	entry, err := semantic.New(anchor, n.Origin, n.Text)
	if err != nil {
		return semantic.Entry{}, err
	}
	_, found, err := tx.conn.number(`SELECT 1 FROM session WHERE project_id = ? AND session_id = ?`, project, session)
	if err == nil && !found {
		err = fmt.Errorf("session %q of project %q: %w", session, project, ErrNotFound)
	}
	if err != nil {
		return semantic.Entry{}, err
	}
	_, taken, err := tx.conn.number(`SELECT 1 FROM semantic_atlas WHERE entry_id = ?`, n.ID)
	if err == nil && taken {
		err = ErrExists
	}
	if err != nil {
		return semantic.Entry{}, err
	}
	entry.ID, entry.Project, entry.Session, entry.Replaces, entry.Created = n.ID, project, session, n.Replaces, n.Created
	if entry.Created.IsZero() {
		entry.Created = decodeTime(tx.store.cfg.Now().UnixNano())
	}
	return entry, nil
}

// anchorHash reads the hash of what an entry is to be anchored to, as the view does.
func (tx *Tx) anchorHash(project, kind, id string) (hash string, err error) {
	sql := ""
	switch kind {
	case episode.FactAnchor:
		sql = `SELECT f.ast_hash FROM symbolic_fact f WHERE f.fact_id = ? AND ` + factProject
	case episode.EpisodeAnchor:
		sql = `SELECT lower(hex(e.content_digest)) FROM episodic_stream e WHERE e.episode_id = ? AND ` + ofProject
	default:
		return "", fmt.Errorf("unknown anchor type %q", kind)
	}
	if tx.done {
		return "", ErrClosed
	}
	err = tx.conn.each(sql, []any{id, project}, func(s *sqlite3.Stmt) error {
		hash = scanHash(s, 0)
		return nil
	})
	if err == nil && hash == "" {
		err = fmt.Errorf("anchor %s %s: %w", kind, id, ErrNotFound)
	}
	return hash, err
}

// RetireEntry takes an entry out of force because its anchor is gone; it stays readable. It fails with [ErrNotFound] when the project has
// no such entry that is not retired.
func (tx *Tx) RetireEntry(project, id string) error {
	n, err := tx.exec("retire entry "+id, `
UPDATE semantic_atlas
SET retired = 1
WHERE entry_id = ? AND project_id = ? AND retired = 0`, id, project)
	if err == nil && n == 0 {
		err = fail(tx.ctx, ErrNotFound, "retire entry %s", id)
	}
	return err
}
