-- The full-text indexes. They hold no text: the terms that the analyser made of it, written in batches after the commit.
-- Every term carries its project's number in front, so that neither a posting nor a frequency of one project is seen by another.
-- A document holds each of its terms once, with a mark for how often; positions would double the size.
-- fts_watermark is the position (seq of episodic_stream, revision of symbolic_fact, num of semantic_atlas) up to which an index is complete.

CREATE TABLE fts_watermark (
  name      TEXT NOT NULL PRIMARY KEY CHECK (name IN ('episode', 'fact', 'entry')),
  watermark INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO fts_watermark (name, watermark) VALUES ('episode', 0), ('fact', 0), ('entry', 0);

-- The number of indexed documents and of their terms, by project, and between which numbers they lie.
CREATE TABLE fts_total (
  name        TEXT NOT NULL CHECK (name IN ('episode', 'fact', 'entry')),
  project_num INTEGER NOT NULL REFERENCES project (num),
  docs        INTEGER NOT NULL,
  terms       INTEGER NOT NULL,
  first_doc   INTEGER NOT NULL,
  last_doc    INTEGER NOT NULL,
  PRIMARY KEY (name, project_num)
) STRICT, WITHOUT ROWID;

-- A long content is indexed in several documents. The documents of a session before and after one are its context; one that asks is answered
-- by the next.
CREATE TABLE episode_doc (
  doc         INTEGER PRIMARY KEY,
  seq         INTEGER NOT NULL,
  terms       INTEGER NOT NULL,
  session_num INTEGER NOT NULL,
  asks        INTEGER NOT NULL CHECK (asks IN (0, 1))
) STRICT;

CREATE INDEX episode_doc_session ON episode_doc (session_num, doc, asks);

CREATE TABLE fact_doc (
  doc   INTEGER PRIMARY KEY,
  num   INTEGER NOT NULL UNIQUE,
  terms INTEGER NOT NULL
) STRICT;

CREATE TABLE entry_doc (
  doc   INTEGER PRIMARY KEY,
  num   INTEGER NOT NULL,
  terms INTEGER NOT NULL
) STRICT;

CREATE VIRTUAL TABLE episode_fts USING fts5 (
  terms,
  content = '',
  detail = none,
  columnsize = 0,
  tokenize = 'ascii tokenchars ''!"#$%&()*+,-./:;<=>?@[\]^_`{|}~'''''''
);

CREATE VIRTUAL TABLE fact_fts USING fts5 (
  terms,
  content = '',
  detail = none,
  contentless_delete = 1,
  tokenize = 'ascii tokenchars ''!"#$%&()*+,-./:;<=>?@[\]^_`{|}~'''''''
);

CREATE VIRTUAL TABLE entry_fts USING fts5 (
  terms,
  content = '',
  detail = none,
  columnsize = 0,
  tokenize = 'ascii tokenchars ''!"#$%&()*+,-./:;<=>?@[\]^_`{|}~'''''''
);

CREATE VIRTUAL TABLE episode_postings USING fts5vocab (episode_fts, 'instance');
CREATE VIRTUAL TABLE fact_postings USING fts5vocab (fact_fts, 'instance');
CREATE VIRTUAL TABLE entry_postings USING fts5vocab (entry_fts, 'instance');

-- A leaf fits on one page of the file. Two segments are enough to merge them when there is time: a search looks into each.
INSERT INTO episode_fts (episode_fts, rank) VALUES ('pgsz', 960), ('usermerge', 2);
INSERT INTO fact_fts (fact_fts, rank) VALUES ('pgsz', 960), ('usermerge', 2);
INSERT INTO entry_fts (entry_fts, rank) VALUES ('pgsz', 960), ('usermerge', 2);
