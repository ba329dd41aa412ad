-- A prompt's decisions were a row each, which a compaction deleted and wrote by the hundred. Now a row holds those that follow each other, up to some dozens: ord is the
-- place of the first, decisions how many there are. body has the kind, the episode, the form and the body of each in this order, each behind its length in bytes and a
-- colon. The seal covers the names of project and session, and of each decision its place and these four: that of a single decision is what it was.
CREATE TABLE render_run (
  session_id INTEGER NOT NULL REFERENCES session (num),
  ord        INTEGER NOT NULL CHECK (ord >= 0),
  decisions  INTEGER NOT NULL CHECK (decisions > 0),
  body       BLOB NOT NULL,
  seal       INTEGER NOT NULL,
  PRIMARY KEY (session_id, ord)
) STRICT, WITHOUT ROWID;

INSERT INTO render_run (session_id, ord, decisions, body, seal)
SELECT s.num, d.ord, 1,
  CAST(octet_length(d.kind) || ':' || d.kind || octet_length(d.episode_id) || ':' || d.episode_id || octet_length(d.form) || ':' || d.form ||
    octet_length(d.body) || ':' || d.body AS BLOB),
  d.seal
FROM session s
JOIN render_decision d ON d.project_id = s.project_id AND d.session_id = s.session_id
ORDER BY s.num, d.ord;

DROP TABLE render_decision;

ALTER TABLE render_run RENAME TO render_decision;

-- A plan takes hundreds of episodes to the same rung, most of which follow each other: a row holds a run of episodes of one session, from the position first to last, with
-- no other episode between them. An episode that is live is in none.
CREATE TABLE tier_run (
  first         INTEGER PRIMARY KEY REFERENCES episodic_stream (seq),
  last          INTEGER NOT NULL REFERENCES episodic_stream (seq) CHECK (last >= first),
  eviction_tier TEXT NOT NULL CHECK (eviction_tier = 'masked' OR eviction_tier = 'referenced' OR eviction_tier = 'archived' OR eviction_tier = 'dropped')
) STRICT;

INSERT INTO tier_run (first, last, eviction_tier)
SELECT min(seq), max(seq), eviction_tier
FROM (
  SELECT t.seq, t.eviction_tier, e.session_id, t.seq - row_number() OVER (PARTITION BY e.session_id, t.eviction_tier ORDER BY t.seq) AS run
  FROM episode_tier t
  JOIN episodic_stream e ON e.seq = t.seq)
GROUP BY session_id, eviction_tier, run
ORDER BY 1;

DROP TABLE episode_tier;

ALTER TABLE tier_run RENAME TO episode_tier;

-- No rung is skipped, but where the store has announced for the time of its statements that it writes every rung down; no episode is in two runs, and no run holds what is
-- not there or another session's. INSERT OR REPLACE fires no other trigger than this one.
CREATE TRIGGER episode_tier_first_rung
BEFORE INSERT ON episode_tier
WHEN NEW.eviction_tier <> 'masked' AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'rungs are listed')
  OR (SELECT last FROM episode_tier WHERE first <= NEW.last ORDER BY first DESC LIMIT 1) >= NEW.first
  OR (SELECT count(*) FROM episodic_stream WHERE session_id = (SELECT session_id FROM episodic_stream WHERE seq = NEW.first) AND seq BETWEEN NEW.first AND NEW.last) <>
    NEW.last - NEW.first + 1
BEGIN
  SELECT RAISE(ABORT, 'episode_tier: no rung of the ladder is skipped');
END;

CREATE TRIGGER episode_tier_one_rung
BEFORE UPDATE ON episode_tier
WHEN NEW.first IS NOT OLD.first OR NEW.last IS NOT OLD.last
  OR NEW.eviction_tier <> OLD.eviction_tier
 AND OLD.eviction_tier || ' ' || NEW.eviction_tier NOT IN ('masked referenced', 'referenced archived', 'archived dropped')
BEGIN
  SELECT RAISE(ABORT, 'episode_tier: no rung of the ladder is skipped');
END;

-- What is superseded or may be forgotten is asked for of a whole prompt.
CREATE INDEX episodic_stream_marked ON episodic_stream (session_id, seq) WHERE superseded_by <> '' OR droppable = 1;
