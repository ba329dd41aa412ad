package store

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/episode"
)

// place is where the next episode goes: its position, and the numbers of what it names. call is 0 where it answers none.
type place struct {
	seq, project, session, tokenizer, call int64
}

// place looks up all of it with one statement: a commit is made of little else than statements. It fails with [ErrNotFound] where the session, or the
// episode with the call, is not there. A tokenizer that is named for the first time is recorded.
func (tx *Tx) place(what string, e *episode.Record) (n place, err error) {
	err = tx.each(what, `
SELECT
  (SELECT coalesce(max(seq), 0) + 1 FROM episodic_stream),
  p.num,
  s.num,
  (SELECT num FROM tokenizer WHERE name = ?),
  (SELECT seq FROM episodic_stream WHERE episode_id = ? AND project_id = p.num)
FROM session s
JOIN project p ON p.project_id = s.project_id
WHERE s.project_id = ? AND s.session_id = ?`, []any{e.Tokenizer, e.CallEpisode, e.Project, e.Session}, func(s *sqlite3.Stmt) error {
		n = place{s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3), s.ColumnInt64(4)}
		return nil
	})
	switch {
	case err != nil:
	case n.session == 0:
		err = fail(tx.ctx, fmt.Errorf("session %q of project %q: %w", e.Session, e.Project, ErrNotFound), "%s", what)
	case n.call == 0 && e.CallEpisode != "":
		err = fail(tx.ctx, fmt.Errorf("episode %s: %w", e.CallEpisode, ErrNotFound), "%s", what)
	case n.tokenizer == 0:
		n.tokenizer, err = tx.addTokenizer(what, e.Tokenizer)
	}
	return n, err
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
func (tx *Tx) sessionNum(what, project, session string) (num int64, err error) {
	err = tx.each(what, `SELECT num FROM session WHERE project_id = ? AND session_id = ?`, []any{project, session}, func(s *sqlite3.Stmt) error {
		num = s.ColumnInt64(0)
		return nil
	})
	if err == nil && num == 0 {
		err = fail(tx.ctx, fmt.Errorf("session %q of project %q: %w", session, project, ErrNotFound), "%s", what)
	}
	return num, err
}
