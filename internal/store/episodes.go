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

// episodeColumns reads an episode from episodic_stream e, with the names behind the numbers.
const episodeColumns = `e.seq, e.episode_id, (SELECT project_id FROM project WHERE num = e.project_id), (SELECT session_id FROM session WHERE num = e.session_id),
  e.role, ` + tierOf + `, e.superseded_by, e.droppable, e.fold_id, e.call_id, e.tool_name,
  CASE e.call_episode WHEN 0 THEN '' ELSE (SELECT c.episode_id FROM episodic_stream c WHERE c.seq = e.call_episode) END,
  e.call_index, e.at, e.created, e.tokens, (SELECT name FROM tokenizer WHERE num = e.tokenizer), e.content_digest, e.calls, e.reasoning, e.content, e.seal`

// tierOf is the rung of an episode in episodic_stream e.
const tierOf = `coalesce((SELECT CASE WHEN t.last >= e.seq THEN t.eviction_tier END FROM episode_tier t WHERE t.first <= e.seq ORDER BY t.first DESC LIMIT 1), 'live')`

// What selects the episodes of a project and of a session in episodic_stream e. The first takes the project's id, the second also the session's.
const (
	ofProject = `e.project_id = (SELECT num FROM project WHERE project_id = ?)`
	ofSession = `e.session_id = (SELECT num FROM session WHERE project_id = ? AND session_id = ?)`
)

// scanEpisode reads a row and checks that it is what was written.
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
		Created:      decodeCreated(s.ColumnInt64(13), s.ColumnInt64(14)),
		Tokens:       s.ColumnInt(15),
		Tokenizer:    s.ColumnText(16),
		Reasoning:    string(s.ColumnRawBlob(19)),
		Content:      string(s.ColumnRawBlob(20)),
	}
	var err error
	if e.Tier, err = evict.ParseTier(s.ColumnText(5)); err != nil {
		return episode.Record{}, &failure{"episode " + e.ID, fmt.Errorf("%w: %w", ErrCorrupt, err)}
	}
	copy(e.Digest[:], s.ColumnRawBlob(17))
	if e.Calls, err = decodeCalls(s.ColumnRawText(18)); err != nil {
		return episode.Record{}, &failure{"episode " + e.ID, fmt.Errorf("calls: %w: %w", ErrCorrupt, err)}
	}
	if err := checkEpisode(s, &e); err != nil {
		return episode.Record{}, err
	}
	return e, nil
}

// Episode returns the episode with that id. It fails with [ErrNotFound] when the project has none.
func (r *Reader) Episode(project, id string) (episode.Record, error) {
	return one(r, "episode "+id, `
SELECT `+episodeColumns+`
FROM episodic_stream e
WHERE e.episode_id = ? AND `+ofProject, []any{id, project}, scanEpisode)
}

// SessionEpisodes streams the session's episodes after a position, in ascending order.
func (r *Reader) SessionEpisodes(project, session string, afterSeq int64) iter.Seq2[episode.Record, error] {
	return rows(r, "episodes of session "+session, `
SELECT `+episodeColumns+`
FROM episodic_stream e
WHERE `+ofSession+` AND e.seq > ?
ORDER BY e.seq`, []any{project, session, afterSeq}, scanEpisode)
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
	if f.Session == "" {
		q.where(ofProject, f.Project)
	} else {
		q.where(ofSession, f.Project, f.Session)
	}
	if f.Role != "" {
		q.where("e.role = ?", string(f.Role))
	}
	if f.ToolName != "" {
		q.where("e.tool_name = ?", f.ToolName)
	}
	if f.AfterSeq > 0 {
		q.where("e.seq > ?", f.AfterSeq)
	}
	if f.BeforeSeq > 0 {
		q.where("e.seq < ?", f.BeforeSeq)
	}
	if !f.Since.IsZero() {
		q.since("e.at", f.Since)
	}
	if !f.Until.IsZero() {
		q.until("e.at", f.Until)
	}
	if len(f.Tiers) > 0 {
		list := make([]any, len(f.Tiers))
		for i, t := range f.Tiers {
			list[i] = t
		}
		q.in(tierOf, list)
	}
	if f.IDs != nil {
		list := make([]any, len(f.IDs))
		for i, id := range f.IDs {
			list[i] = id
		}
		q.in("e.episode_id", list)
	}
	if f.Fold != "" {
		q.where("e.fold_id = ?", f.Fold)
	}
	order := "\nORDER BY e.seq"
	if f.Desc {
		order += " DESC"
	}
	return rows(r, "episodes", "SELECT "+episodeColumns+"\nFROM episodic_stream e"+q.clause()+order+limit(f.Limit), q.args, scanEpisode)
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

// since and until bound a column of times. A time that no row can have is a bound like any other.
func (q *query) since(column string, t time.Time) {
	switch {
	case Storable(t):
		q.where(column+" >= ?", t)
	case t.After(time.Unix(0, 0)):
		q.where("FALSE")
	}
}

func (q *query) until(column string, t time.Time) {
	switch {
	case Storable(t):
		q.where(column+" < ?", t)
	case t.Before(time.Unix(0, 0)):
		q.where("FALSE")
	}
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
SELECT coalesce(max(e.seq), 0)
FROM episodic_stream e
WHERE `+ofSession, []any{project, session}, func(s *sqlite3.Stmt) error {
		seq = s.ColumnInt64(0)
		return nil
	})
	return seq, err
}

// AppendEpisode records an episode of an existing session and sets its Seq, its Digest, and where they are zero its Created and Tier.
// It fails with [ErrExists] when the id is taken and with [ErrNotFound] when the session was never ensured or CallEpisode is not an episode of the
// project.
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
	created := e.Created
	if created.IsZero() {
		created = decodeTime(tx.store.cfg.Now().UnixNano())
	}
	at, recorded, err := encodeCreated(e.At, created)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	p, call, err := tx.settle(what, e)
	if err != nil {
		return err
	}
	row := *e
	row.Seq = p.top + 1
	_, err = tx.exec(what, `
INSERT INTO episodic_stream (seq, episode_id, project_id, session_id, role, superseded_by, droppable, fold_id, call_id, tool_name,
  call_episode, call_index, at, created, tokens, tokenizer, content_digest, calls, reasoning, content, seal)
VALUES (?, ?, ?, ?, ?, '', 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		row.Seq, e.ID, p.project, p.session, string(e.Role), e.Fold,
		e.CallID, e.ToolName, call, e.CallIndex, at, recorded, e.Tokens, p.tokenizer, e.Digest[:],
		calls, blob(e.Reasoning), blob(e.Content), seal(episodeSeal(&row, at, recorded, calls)...))
	switch {
	case errors.Is(err, sqlite3.CONSTRAINT_TRIGGER), errors.Is(err, sqlite3.CONSTRAINT_UNIQUE):
		return fail(tx.ctx, ErrExists, "%s", what)
	case err != nil:
		return err
	}
	e.Seq, e.Created, e.Tier = row.Seq, created, evict.Live
	p.top, p.last = row.Seq, row.Seq
	tx.appended = append(tx.appended, appended{e.ID, e.Tokenizer, *p})
	tx.added += int64(max(len(e.Content)+len(calls), rowBytes))
	return nil
}

// MarkSuperseded records that a later episode replaces this one: it becomes droppable, and an edge says so. Both must be of the project.
func (tx *Tx) MarkSuperseded(project, id, by string) error {
	what := "mark " + id + " superseded"
	if id == by {
		return fail(tx.ctx, errors.New("an episode does not replace itself"), "%s", what)
	}
	if _, err := tx.seqOf(what, project, by); err != nil {
		return err
	}
	n, err := tx.exec(what, `
UPDATE episodic_stream AS e
SET superseded_by = ?, droppable = 1
WHERE e.episode_id = ? AND `+ofProject, by, id, project)
	if err != nil {
		return err
	}
	if n == 0 {
		return fail(tx.ctx, ErrNotFound, "%s", what)
	}
	return tx.PutEdges([]EdgeRow{{Project: project, From: by, To: id, Kind: "supersedes"}})
}

// seqOf returns the position of an episode of the project, or [ErrNotFound].
func (tx *Tx) seqOf(what, project, id string) (seq int64, err error) {
	err = tx.each(what, `SELECT e.seq FROM episodic_stream e WHERE e.episode_id = ? AND `+ofProject, []any{id, project}, func(s *sqlite3.Stmt) error {
		seq = s.ColumnInt64(0)
		return nil
	})
	if err == nil && seq == 0 {
		err = fail(tx.ctx, fmt.Errorf("episode %s: %w", id, ErrNotFound), "%s", what)
	}
	return seq, err
}

// encodeCreated returns the columns at and created: mostly a turn is recorded when it happens, and the difference takes no room.
func encodeCreated(at, created time.Time) (a, c int64, err error) {
	if a, err = encodeTime(at); err != nil {
		return 0, 0, err
	}
	if c, err = encodeTime(created); err != nil || a == noTime {
		return a, c, err
	}
	return a, c - a, nil // may wrap around, as the sum does
}

// decodeCreated returns when an episode was recorded.
func decodeCreated(at, created int64) time.Time {
	if at != noTime {
		created += at
	}
	return decodeTime(created)
}

// SetDroppable says that nothing would be missed if the episode were dropped.
func (tx *Tx) SetDroppable(project, id string, droppable bool) error {
	n, err := tx.exec("set droppable", `
UPDATE episodic_stream AS e
SET droppable = ?
WHERE e.episode_id = ? AND `+ofProject, droppable, id, project)
	if err == nil && n == 0 {
		err = fail(tx.ctx, ErrNotFound, "set droppable of %s", id)
	}
	return err
}

// storedCall is the JSON form of a call: its id, its name and its arguments. A field that is not valid UTF-8 is kept as base64, because JSON
// cannot hold it.
type storedCall [3]storedText

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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(storedCalls(calls)); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// storedCalls returns what is encoded: plain strings, which is much faster, unless one of them is no valid UTF-8.
func storedCalls(calls []episode.Call) any {
	plain := make([][3]string, len(calls))
	for i, c := range calls {
		plain[i] = [3]string{c.ID, c.Name, c.Arguments}
		if !utf8.ValidString(c.ID) || !utf8.ValidString(c.Name) || !utf8.ValidString(c.Arguments) {
			list := make([]storedCall, len(calls))
			for i, c := range calls {
				list[i] = storedCall{storedText(c.ID), storedText(c.Name), storedText(c.Arguments)}
			}
			return list
		}
	}
	return plain
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
		calls[i] = episode.Call{ID: string(c[0]), Name: string(c[1]), Arguments: string(c[2])}
	}
	return calls, nil
}
