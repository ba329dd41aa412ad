-- Dense vectors, computed after the commit by a model that is given when the store is opened. They can be made again from the texts at any time.

-- What a project's vectors were made by. Vectors of two models are never compared: another model or length begins a new generation, without the
-- old vectors. The marks are the seq of episodic_stream and the num of semantic_atlas up to which everything has been looked at; refused counts the
-- texts that the model did not take.
CREATE TABLE vector_model (
  project_num  INTEGER PRIMARY KEY REFERENCES project (num),
  model        TEXT NOT NULL CHECK (model <> ''),
  dim          INTEGER NOT NULL CHECK (dim > 0),
  generation   INTEGER NOT NULL CHECK (generation > 0),
  episode_mark INTEGER NOT NULL DEFAULT 0,
  entry_mark   INTEGER NOT NULL DEFAULT 0,
  refused      INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What one request to the model gave: kind is 1 for episodes and 2 for entries, parts the seq or num that each vector is of, as differences from the one
-- before, first from 0, in base 128. body holds the vectors, one signed byte a number. A row for each vector would fill half of its pages.
CREATE TABLE vector_block (
  num         INTEGER PRIMARY KEY CHECK (num > 0),
  project_num INTEGER NOT NULL REFERENCES vector_model (project_num),
  kind        INTEGER NOT NULL CHECK (kind IN (1, 2)),
  parts       BLOB NOT NULL CHECK (length(parts) > 0),
  body        BLOB NOT NULL CHECK (length(body) > 0)
) STRICT;

CREATE INDEX vector_block_project ON vector_block (project_num, num);
