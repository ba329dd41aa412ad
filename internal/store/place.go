package store

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/episode"
)

// place is where the next episode of a session goes: the numbers of its project and session, and the highest positions in the session and the store.
type place struct {
	projectID, sessionID string
	project, session     int64
	last, top            int64
	tokenizerName        string
	tokenizer            int64
}

// locate returns the place of a session, which is remembered for the transaction. Numbers are 0 where the session is not there. It is one statement for all
// that a commit has to know beforehand: a commit is made of little else than statements.
func (tx *Tx) locate(what, project, session string) (*place, error) {
	if p := &tx.place; p.session > 0 && p.sessionID == session && p.projectID == project {
		return p, nil
	}
	if len(tx.appended) == 0 { // what this transaction has done is not among what is known
		if p, ok := tx.store.known.place(project, session); ok {
			tx.place = p
			return &tx.place, nil
		}
	}
	n := place{projectID: project, sessionID: session}
	err := tx.each(what, `
SELECT
  (SELECT coalesce(max(seq), 0) FROM episodic_stream),
  p.num,
  s.num,
  (SELECT coalesce(max(seq), 0) FROM episodic_stream WHERE session_id = s.num)
FROM session s
JOIN project p ON p.project_id = s.project_id
WHERE s.project_id = ? AND s.session_id = ?`, []any{project, session}, func(s *sqlite3.Stmt) error {
		n.top, n.project, n.session, n.last = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3)
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.place = n
	return &tx.place, nil
}

// LastSeq is [Reader.LastSeq] for a session that is about to be written to.
func (tx *Tx) LastSeq(project, session string) (int64, error) {
	p, err := tx.locate("last position of session "+session, project, session)
	if err != nil {
		return 0, err
	}
	return p.last, nil
}

// settle returns where an episode goes, with the position of the call that it answers, 0 for none. It fails with [ErrNotFound] where the session, or the
// episode with the call, is not there. A tokenizer that is named for the first time is recorded.
func (tx *Tx) settle(what string, e *episode.Record) (p *place, call int64, err error) {
	if p, err = tx.locate(what, e.Project, e.Session); err != nil {
		return nil, 0, err
	}
	if p.session == 0 {
		return nil, 0, fail(tx.ctx, fmt.Errorf("session %q of project %q: %w", e.Session, e.Project, ErrNotFound), "%s", what)
	}
	k := &tx.store.known
	if p.tokenizer == 0 || p.tokenizerName != e.Tokenizer {
		p.tokenizerName, p.tokenizer = e.Tokenizer, k.tokenizers[e.Tokenizer]
	}
	if at := k.episodes[e.CallEpisode]; at.project == p.project {
		call = at.seq
	}
	if p.tokenizer > 0 && (call > 0 || e.CallEpisode == "") {
		return p, call, nil
	}
	err = tx.each(what, `
SELECT
  (SELECT num FROM tokenizer WHERE name = ?),
  (SELECT seq FROM episodic_stream WHERE episode_id = ? AND project_id = ?)`, []any{e.Tokenizer, e.CallEpisode, p.project}, func(s *sqlite3.Stmt) error {
		p.tokenizer, call = s.ColumnInt64(0), s.ColumnInt64(1)
		return nil
	})
	switch {
	case err != nil:
	case call == 0 && e.CallEpisode != "":
		err = fail(tx.ctx, fmt.Errorf("episode %s: %w", e.CallEpisode, ErrNotFound), "%s", what)
	case p.tokenizer == 0:
		p.tokenizer, err = tx.addTokenizer(what, e.Tokenizer)
	}
	return p, call, err
}

// addTokenizer records a name and returns its number.
func (tx *Tx) addTokenizer(what, name string) (int64, error) {
	if _, err := tx.exec(what, `INSERT INTO tokenizer (name) VALUES (?)`, name); err != nil {
		return 0, err
	}
	num, _, err := tx.conn.number(`SELECT num FROM tokenizer WHERE name = ?`, name)
	return num, fail(tx.ctx, err, "%s", what)
}

// sessionNum returns the number of a session, or [ErrNotFound].
func (tx *Tx) sessionNum(what, project, session string) (int64, error) {
	p, err := tx.locate(what, project, session)
	if err == nil && p.session == 0 {
		err = fail(tx.ctx, fmt.Errorf("session %q of project %q: %w", session, project, ErrNotFound), "%s", what)
	}
	if err != nil {
		return 0, err
	}
	return p.session, nil
}
