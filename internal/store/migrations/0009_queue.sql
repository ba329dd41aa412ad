-- What a parser read in a result waits here for the ledger: one row beside the episode, in place of one in each of the ledger's trees for each fact. Whoever asks for
-- facts first has them entered, in the order of the episodes, and their rows leave in the same transaction. facts is as the store encodes it, seal sums it up.
CREATE TABLE fact_queue (
  seq   INTEGER PRIMARY KEY REFERENCES episodic_stream (seq),
  facts BLOB NOT NULL CHECK (length(facts) > 0),
  seal  INTEGER NOT NULL
) STRICT;

-- Every write that appended nothing counted itself here. Nobody asks for it.
DELETE FROM meta WHERE name = 'version';

-- The episode up to which the queue was entered.
INSERT INTO meta (name, value) VALUES ('facts entered', 0);

CREATE TRIGGER fact_queue_no_replace
BEFORE INSERT ON fact_queue
WHEN EXISTS (SELECT 1 FROM fact_queue WHERE seq = NEW.seq)
BEGIN
  SELECT RAISE(ABORT, 'fact_queue is append-only: the episode''s facts are there');
END;

CREATE TRIGGER fact_queue_no_update
BEFORE UPDATE ON fact_queue
BEGIN
  SELECT RAISE(ABORT, 'fact_queue is append-only: no update');
END;

CREATE TRIGGER fact_queue_no_delete
BEFORE DELETE ON fact_queue
WHEN (OLD.seq <= (SELECT value FROM meta WHERE name = 'facts entered')) IS NOT TRUE
BEGIN
  SELECT RAISE(ABORT, 'fact_queue: what is not in the ledger stays');
END;
