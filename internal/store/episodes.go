package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/episode"
)

const episodeColumns = `seq, episode_id, project_id, session_id, role, eviction_tier, superseded_by, droppable, fold_id,
  call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer, content_digest, calls, reasoning, content`

func scanEpisode(s *sqlite3.Stmt) (episode.Record, error) {
	e := episode.Record{
		Seq:          s.ColumnInt64(0),
		ID:           s.ColumnText(1),
		Project:      s.ColumnText(2),
		Session:      s.ColumnText(3),
		Role:         episode.Role(s.ColumnText(4)),
		SupersededBy: s.ColumnText(6),
		Droppable:    s.ColumnInt64(7) != 0,
		Fold:         s.ColumnText(8),
		CallID:       s.ColumnText(9),
		ToolName:     s.ColumnText(10),
		CallEpisode:  s.ColumnText(11),
		CallIndex:    s.ColumnInt(12),
		At:           decodeTime(s.ColumnInt64(13)),
		Created:      decodeTime(s.ColumnInt64(14)),
		Tokens:       s.ColumnInt(15),
		Tokenizer:    s.ColumnText(16),
		Reasoning:    string(s.ColumnRawBlob(19)),
		Content:      string(s.ColumnRawBlob(20)),
	}
	var err error
	if e.Tier, err = evict.ParseTier(s.ColumnText(5)); err != nil {
		return episode.Record{}, err
	}
	copy(e.Digest[:], s.ColumnRawBlob(17))
	if e.Calls, err = decodeCalls(s.ColumnRawText(18)); err != nil {
		return episode.Record{}, fmt.Errorf("calls of %s: %w", e.ID, err)
	}
	return e, nil
}

// Episode returns the episode with that id. It fails with [ErrNotFound] when the project has none.
func (r *Reader) Episode(project, id string) (episode.Record, error) {
	return one(r, "episode "+id, `
SELECT `+episodeColumns+`
FROM episodic_stream
WHERE episode_id = ? AND project_id = ?`, []any{id, project}, scanEpisode)
}

// SessionEpisodes streams the session's episodes after a position, in ascending order.
func (r *Reader) SessionEpisodes(project, session string, afterSeq int64) iter.Seq2[episode.Record, error] {
	return rows(r, "episodes of session "+session, `
SELECT `+episodeColumns+`
FROM episodic_stream
WHERE project_id = ? AND session_id = ? AND seq > ?
ORDER BY seq`, []any{project, session, afterSeq}, scanEpisode)
}

// EpisodeFilter selects episodes of one project. A zero field selects everything.
type EpisodeFilter struct {
	// Project is required.
	Project, Session string
	Role             episode.Role
	ToolName         string
	// AfterSeq and BeforeSeq are exclusive positions.
	AfterSeq, BeforeSeq int64
	// Since is inclusive and Until exclusive, both over the time of the turn.
	Since, Until time.Time
	Tiers        []evict.Tier
	IDs          []string
	Fold         string
	// Desc gives the newest first.
	Desc bool
	// Limit bounds the number of episodes; 0 is no bound.
	Limit int
}

// Episodes streams the episodes that the filter selects, in the order of their positions.
func (r *Reader) Episodes(f EpisodeFilter) iter.Seq2[episode.Record, error] {
	var q query
	q.where("project_id = ?", f.Project)
	if f.Session != "" {
		q.where("session_id = ?", f.Session)
	}
	if f.Role != "" {
		q.where("role = ?", string(f.Role))
	}
	if f.ToolName != "" {
		q.where("tool_name = ?", f.ToolName)
	}
	if f.AfterSeq > 0 {
		q.where("seq > ?", f.AfterSeq)
	}
	if f.BeforeSeq > 0 {
		q.where("seq < ?", f.BeforeSeq)
	}
	if !f.Since.IsZero() {
		q.where("at >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		q.where("at < ?", f.Until)
	}
	if len(f.Tiers) > 0 {
		list := make([]any, len(f.Tiers))
		for i, t := range f.Tiers {
			list[i] = t
		}
		q.in("eviction_tier", list)
	}
	if f.IDs != nil {
		list := make([]any, len(f.IDs))
		for i, id := range f.IDs {
			list[i] = id
		}
		q.in("episode_id", list)
	}
	if f.Fold != "" {
		q.where("fold_id = ?", f.Fold)
	}
	order := "\nORDER BY seq"
	if f.Desc {
		order += " DESC"
	}
	return rows(r, "episodes", "SELECT "+episodeColumns+"\nFROM episodic_stream"+q.clause()+order+limit(f.Limit), q.args, scanEpisode)
}

// query gathers the conditions of a WHERE clause.
type query struct {
	conditions []string
	args       []any
}

func (q *query) where(condition string, args ...any) {
	q.conditions = append(q.conditions, condition)
	q.args = append(q.args, args...)
}

func (q *query) in(column string, list []any) {
	q.where(column+" IN (?"+strings.Repeat(", ?", max(0, len(list)-1))+")", list...)
	if len(list) == 0 {
		q.conditions[len(q.conditions)-1] = "FALSE"
	}
}

func (q *query) clause() string { return "\nWHERE " + strings.Join(q.conditions, " AND ") }

func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("\nLIMIT %d", n)
}

// LastSeq returns the position of the session's newest episode, 0 when it has none.
func (r *Reader) LastSeq(project, session string) (seq int64, err error) {
	err = r.each("last position of session "+session, `
SELECT coalesce(max(seq), 0)
FROM episodic_stream
WHERE project_id = ? AND session_id = ?`, []any{project, session}, func(s *sqlite3.Stmt) error {
		seq = s.ColumnInt64(0)
		return nil
	})
	return seq, err
}

// AppendEpisode records an episode of an existing session and sets its Seq, its Digest, and where they are zero its Created and Tier.
// It fails with [ErrExists] when the id is taken and with [ErrNotFound] when the session was never ensured.
func (tx *Tx) AppendEpisode(e *episode.Record) error {
	what := "append episode " + e.ID
	if !e.Role.Valid() {
		return fail(tx.ctx, fmt.Errorf("unknown role %q", e.Role), "%s", what)
	}
	if e.Tier != 0 && e.Tier != evict.Live {
		return fail(tx.ctx, fmt.Errorf("it starts %v, not live", e.Tier), "%s", what)
	}
	if e.SupersededBy != "" || e.Droppable {
		return fail(tx.ctx, errors.New("it cannot be superseded yet"), "%s", what)
	}
	if sum := digest.Of(e.Content); e.Digest.IsZero() {
		e.Digest = sum
	} else if e.Digest != sum {
		return fail(tx.ctx, errors.New("the digest is not the content's"), "%s", what)
	}
	calls, err := encodeCalls(e.Calls)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	seq, err := tx.next(what, `SELECT coalesce(max(seq), 0) FROM episodic_stream`)
	if err != nil {
		return err
	}
	created := e.Created
	if created.IsZero() {
		created = decodeTime(tx.store.cfg.Now().UnixNano())
	}
	_, err = tx.exec(what, `
INSERT INTO episodic_stream (`+episodeColumns+`)
VALUES (?, ?, ?, ?, ?, 'live', '', 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seq, e.ID, e.Project, e.Session, string(e.Role), e.Fold,
		e.CallID, e.ToolName, e.CallEpisode, e.CallIndex, e.At, created, e.Tokens, e.Tokenizer, e.Digest[:],
		calls, blob(e.Reasoning), blob(e.Content))
	switch {
	case errors.Is(err, sqlite3.CONSTRAINT_TRIGGER), errors.Is(err, sqlite3.CONSTRAINT_UNIQUE):
		return fail(tx.ctx, ErrExists, "%s", what)
	case errors.Is(err, sqlite3.CONSTRAINT_FOREIGNKEY):
		return fail(tx.ctx, fmt.Errorf("session %q of project %q: %w", e.Session, e.Project, ErrNotFound), "%s", what)
	case err != nil:
		return err
	}
	e.Seq, e.Created, e.Tier = seq, created, evict.Live
	tx.added += int64(len(e.Content) + len(calls))
	return nil
}

// MarkSuperseded records that a later episode replaces this one: it becomes droppable, and an edge says so. Both must be of the project.
func (tx *Tx) MarkSuperseded(project, id, by string) error {
	what := "mark " + id + " superseded"
	if id == by {
		return fail(tx.ctx, errors.New("an episode does not replace itself"), "%s", what)
	}
	if err := tx.mustHaveEpisode(what, project, by); err != nil {
		return err
	}
	n, err := tx.exec(what, `
UPDATE episodic_stream
SET superseded_by = ?, droppable = 1
WHERE episode_id = ? AND project_id = ?`, by, id, project)
	if err != nil {
		return err
	}
	if n == 0 {
		return fail(tx.ctx, ErrNotFound, "%s", what)
	}
	return tx.PutEdges([]EdgeRow{{Project: project, From: by, To: id, Kind: "supersedes"}})
}

func (tx *Tx) mustHaveEpisode(what, project, id string) error {
	found := false
	err := tx.each(what, `SELECT 1 FROM episodic_stream WHERE episode_id = ? AND project_id = ?`, []any{id, project}, func(*sqlite3.Stmt) error {
		found = true
		return nil
	})
	if err == nil && !found {
		err = fail(tx.ctx, fmt.Errorf("episode %s: %w", id, ErrNotFound), "%s", what)
	}
	return err
}

// SetDroppable says that nothing would be missed if the episode were dropped.
func (tx *Tx) SetDroppable(project, id string, droppable bool) error {
	n, err := tx.exec("set droppable", `
UPDATE episodic_stream
SET droppable = ?
WHERE episode_id = ? AND project_id = ?`, droppable, id, project)
	if err == nil && n == 0 {
		err = fail(tx.ctx, ErrNotFound, "set droppable of %s", id)
	}
	return err
}

// storedCall is the JSON form of a call. A field that is not valid UTF-8 is kept as base64, because JSON cannot hold it.
type storedCall struct {
	ID        storedText `json:"id"`
	Name      storedText `json:"name"`
	Arguments storedText `json:"arguments"`
}

type storedText string

// MarshalJSON writes a JSON string, or {"base64": …} for other bytes.
func (t storedText) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(t))})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(string(t)); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *storedText) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var v struct {
			Base64 []byte `json:"base64"`
		}
		err := json.Unmarshal(b, &v)
		*t = storedText(v.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

func encodeCalls(calls []episode.Call) (string, error) {
	if len(calls) == 0 {
		return "", nil
	}
	list := make([]storedCall, len(calls))
	for i, c := range calls {
		list[i] = storedCall{ID: storedText(c.ID), Name: storedText(c.Name), Arguments: storedText(c.Arguments)}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(list); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func decodeCalls(b []byte) ([]episode.Call, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var list []storedCall
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	calls := make([]episode.Call, len(list))
	for i, c := range list {
		calls[i] = episode.Call{ID: string(c.ID), Name: string(c.Name), Arguments: string(c.Arguments)}
	}
	return calls, nil
}
