-- What is missing shows: the rows of the tables that only grow are counted beside the rows themselves, in the page of meta that every write changes anyway, so that a
-- last row that is gone is noticed as one in the middle is. Triggers count, so that a process that had the store open before counts too. Decisions about
-- renderings are taken back by the next compaction; the other tables count what comes and never what goes.

INSERT INTO meta (name, value)
VALUES
  ('rows of anchor_set', (SELECT count(*) FROM anchor_set)),
  ('rows of episodic_stream', (SELECT count(*) FROM episodic_stream)),
  ('rows of folds', (SELECT count(*) FROM folds)),
  ('rows of note', (SELECT count(*) FROM note)),
  ('rows of receipt', (SELECT count(*) FROM receipt)),
  ('rows of render_decision', (SELECT count(*) FROM render_decision)),
  ('rows of semantic_atlas', (SELECT count(*) FROM semantic_atlas)),
  ('rows of snapshot', (SELECT count(*) FROM snapshot)),
  ('rows of symbolic_fact_version', (SELECT count(*) FROM symbolic_fact_version));

CREATE TRIGGER anchor_set_count AFTER INSERT ON anchor_set
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of anchor_set';
END;

CREATE TRIGGER episodic_stream_count AFTER INSERT ON episodic_stream
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of episodic_stream';
END;

CREATE TRIGGER folds_count AFTER INSERT ON folds
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of folds';
END;

CREATE TRIGGER note_count AFTER INSERT ON note
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of note';
END;

CREATE TRIGGER receipt_count AFTER INSERT ON receipt
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of receipt';
END;

CREATE TRIGGER render_decision_count AFTER INSERT ON render_decision
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of render_decision';
END;

CREATE TRIGGER render_decision_uncount AFTER DELETE ON render_decision
BEGIN
  UPDATE meta SET value = value - 1 WHERE name = 'rows of render_decision';
END;

CREATE TRIGGER semantic_atlas_count AFTER INSERT ON semantic_atlas
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of semantic_atlas';
END;

CREATE TRIGGER snapshot_count AFTER INSERT ON snapshot
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of snapshot';
END;

CREATE TRIGGER symbolic_fact_version_count AFTER INSERT ON symbolic_fact_version
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of symbolic_fact_version';
END;

-- A seal as other rows have it; 0 says that the row is from before there was one.
ALTER TABLE symbolic_fact_version ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;

-- One seal for all steps of a window: a seal in each step would take as much room as the step. A window from before has none. The seals are counted, and say how
-- many rows their windows have.
CREATE TABLE eviction_seal (
  window_num INTEGER PRIMARY KEY REFERENCES eviction_window (num),
  steps      INTEGER NOT NULL CHECK (steps > 0),
  seal       INTEGER NOT NULL
) STRICT;

CREATE TRIGGER eviction_seal_no_replace
BEFORE INSERT ON eviction_seal
WHEN EXISTS (SELECT 1 FROM eviction_seal WHERE window_num = NEW.window_num)
BEGIN
  SELECT RAISE(ABORT, 'eviction_seal is append-only: the window has one');
END;

CREATE TRIGGER eviction_seal_no_update
BEFORE UPDATE ON eviction_seal
BEGIN
  SELECT RAISE(ABORT, 'eviction_seal is append-only: no update');
END;

CREATE TRIGGER eviction_seal_no_delete
BEFORE DELETE ON eviction_seal
BEGIN
  SELECT RAISE(ABORT, 'eviction_seal is append-only: no delete');
END;

INSERT INTO meta (name, value)
VALUES ('rows of eviction_seal', 0);

CREATE TRIGGER eviction_seal_count AFTER INSERT ON eviction_seal
BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'rows of eviction_seal';
END;

-- A plan takes hundreds of episodes several rungs down, and writes every rung down. The tiers go to the last of them at once, which the store announces in
-- meta for the time of the one statement that does it. A row of the log may stand for several rungs of one episode: the reason has in front what each reclaims.
DROP TRIGGER episodic_stream_one_rung;

CREATE TRIGGER episodic_stream_one_rung
BEFORE UPDATE OF eviction_tier ON episodic_stream
WHEN NEW.eviction_tier <> OLD.eviction_tier
 AND NEW.eviction_tier <> 'live'
 AND OLD.eviction_tier || ' ' || NEW.eviction_tier NOT IN
   ('live masked', 'masked referenced', 'referenced archived', 'archived dropped')
 AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'rungs are listed')
BEGIN
  SELECT RAISE(ABORT, 'episodic_stream: no rung of the ladder is skipped');
END;
