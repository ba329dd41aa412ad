-- The rung of an episode on the ladder stood in its row, beside all that was said in it: to take an episode down, all of that was written again. Now it has a row
-- of its own, and an episode that is live has none. eviction_tier is all that eviction writes, beside the log of its steps.
CREATE TABLE episode_tier (
  seq           INTEGER PRIMARY KEY REFERENCES episodic_stream (seq),
  eviction_tier TEXT NOT NULL CHECK (eviction_tier = 'masked' OR eviction_tier = 'referenced' OR eviction_tier = 'archived' OR eviction_tier = 'dropped')
) STRICT;

INSERT INTO episode_tier (seq, eviction_tier)
SELECT seq, eviction_tier
FROM episodic_stream
WHERE eviction_tier <> 'live';

DROP TRIGGER IF EXISTS episodic_stream_one_rung;

ALTER TABLE episodic_stream DROP COLUMN eviction_tier;

-- A plan takes hundreds of episodes several rungs down, and writes every rung down. The tiers go to the last of them at once, which the store announces in
-- meta for the time of the statements that do it. INSERT OR REPLACE fires no other trigger than this one.
CREATE TRIGGER episode_tier_first_rung
BEFORE INSERT ON episode_tier
WHEN NEW.eviction_tier <> 'masked' AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'rungs are listed')
  OR EXISTS (SELECT 1 FROM episode_tier WHERE seq = NEW.seq)
BEGIN
  SELECT RAISE(ABORT, 'episode_tier: no rung of the ladder is skipped');
END;

-- rowid, oid and _rowid_ name seq as well, and a column list does not see them.
CREATE TRIGGER episode_tier_one_rung
BEFORE UPDATE ON episode_tier
WHEN NEW.seq IS NOT OLD.seq
  OR NEW.eviction_tier <> OLD.eviction_tier
 AND OLD.eviction_tier || ' ' || NEW.eviction_tier NOT IN ('masked referenced', 'referenced archived', 'archived dropped')
 AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'rungs are listed')
BEGIN
  SELECT RAISE(ABORT, 'episode_tier: no rung of the ladder is skipped');
END;

-- The steps of a plan were a row each, with a look at whether it was there and whether its window and its episode are. They are written together, read together and
-- sealed together: now they are one text. A line is a step: the seq of the episode, the tier before and after, the tokens, and after the reason's length in bytes and a
-- colon the reason. A step is numbered by its place.
CREATE TABLE eviction_text (
  window_num INTEGER PRIMARY KEY REFERENCES eviction_window (num),
  steps      BLOB NOT NULL CHECK (length(steps) > 0)
) STRICT;

INSERT INTO eviction_text (window_num, steps)
SELECT window_num,
  CAST(group_concat(episode_id || ' ' || from_tier || ' ' || to_tier || ' ' || tokens || ' ' || octet_length(reason) || ':' || reason || char(10), '' ORDER BY ord) AS BLOB)
FROM eviction
GROUP BY window_num;

DROP TABLE eviction;

ALTER TABLE eviction_text RENAME TO eviction;

CREATE TRIGGER eviction_no_replace
BEFORE INSERT ON eviction
WHEN EXISTS (SELECT 1 FROM eviction WHERE window_num = NEW.window_num)
BEGIN
  SELECT RAISE(ABORT, 'eviction is append-only: the steps are there');
END;

CREATE TRIGGER eviction_no_update
BEFORE UPDATE ON eviction
BEGIN
  SELECT RAISE(ABORT, 'eviction is append-only: no update');
END;

CREATE TRIGGER eviction_no_delete
BEFORE DELETE ON eviction
BEGIN
  SELECT RAISE(ABORT, 'eviction is append-only: no delete');
END;

-- A compaction takes hundreds of decisions away, each of which was counted by itself: the store counts them together.
DROP TRIGGER IF EXISTS render_decision_count;

DROP TRIGGER IF EXISTS render_decision_uncount;

-- A process of an earlier version that has the store open meanwhile would write decisions that nobody counts: its state of the rendering, which it writes with them,
-- finds no column of that name.
ALTER TABLE render_state RENAME COLUMN updated TO made;
