-- The ledger takes fewer pages. project_id and episode_id are the numbers of the rows that they name, 0 for a fact that was read in a file: what is written for the
-- facts of a result lies together at the end of the index of episodes. ast_hash is a blob where it is a hash of 32 bytes, the text as it is otherwise. num and revision
-- go up together: a fact is inserted with the next number as both of them, and gets the next one as its revision with each new value, so that only those that
-- were replaced need an index. updated is called renewed now: a process of an earlier version that has the store open while it is brought up to date is to fail, and
-- not to find nothing. Whoever names a project that is not there is told at the end of the transaction.

PRAGMA defer_foreign_keys = ON;

DROP VIEW IF EXISTS semantic_atlas_staleness;
DROP TRIGGER IF EXISTS semantic_atlas_no_orphan;

CREATE TABLE symbolic_fact_before AS
SELECT * FROM symbolic_fact;

DROP TABLE symbolic_fact;

CREATE TABLE symbolic_fact (
  num            INTEGER PRIMARY KEY CHECK (num > 0),
  fact_id        TEXT NOT NULL UNIQUE CHECK (fact_id <> ''),
  project_id     INTEGER NOT NULL REFERENCES project (num) DEFERRABLE INITIALLY DEFERRED,
  qualified_name TEXT NOT NULL,
  kind           TEXT NOT NULL CHECK (kind = 'json_field' OR kind = 'csv_column' OR kind = 'tool_output_field' OR kind = 'http_header' OR kind = 'diff_hunk'
    OR kind = 'tool_exit_code' OR kind = 'regex_match' OR kind = 'function' OR kind = 'method' OR kind = 'import' OR kind = 'type' OR kind = 'class'
    OR kind = 'struct' OR kind = 'constant' OR kind = 'interface' OR kind = 'enum' OR kind = 'trait' OR kind = 'module' OR kind = 'export'),
  file_path      TEXT NOT NULL,
  source         TEXT NOT NULL CHECK (source <> ''),
  value          BLOB NOT NULL,
  ast_hash       ANY NOT NULL CHECK (typeof(ast_hash) = 'blob' AND length(ast_hash) = 32 OR typeof(ast_hash) = 'text' AND ast_hash <> ''),
  episode_id     INTEGER NOT NULL CHECK (episode_id >= 0),
  byte_offset    INTEGER NOT NULL,
  line           INTEGER NOT NULL,
  first_seen     INTEGER NOT NULL,
  renewed        INTEGER NOT NULL,
  version        INTEGER NOT NULL CHECK (version > 0),
  revision       INTEGER NOT NULL CHECK (revision >= num)
) STRICT;

INSERT INTO symbolic_fact (num, fact_id, project_id, qualified_name, kind, file_path, source, value, ast_hash, episode_id, byte_offset, line, first_seen, renewed, version, revision)
SELECT
  f.num,
  f.fact_id,
  p.num,
  f.qualified_name,
  f.kind,
  f.file_path,
  f.source,
  f.value,
  CASE WHEN length(f.ast_hash) = 64 AND lower(hex(unhex(f.ast_hash))) = f.ast_hash THEN unhex(f.ast_hash) ELSE f.ast_hash END,
  CASE f.episode_id WHEN '' THEN 0 ELSE coalesce((SELECT e.seq FROM episodic_stream e WHERE e.episode_id = f.episode_id), 9223372036854775807) END,
  f.byte_offset,
  f.line,
  f.first_seen,
  f.updated,
  f.version,
  f.revision
FROM symbolic_fact_before f
JOIN project p ON p.project_id = f.project_id
ORDER BY f.num;

DROP TABLE symbolic_fact_before;

CREATE UNIQUE INDEX symbolic_fact_identity ON symbolic_fact (project_id, qualified_name, kind, file_path);
CREATE INDEX symbolic_fact_file ON symbolic_fact (project_id, file_path) WHERE file_path <> '';
CREATE INDEX symbolic_fact_episode ON symbolic_fact (episode_id) WHERE episode_id > 0;
CREATE UNIQUE INDEX symbolic_fact_revision ON symbolic_fact (revision) WHERE revision <> num;

CREATE TRIGGER symbolic_fact_no_delete
BEFORE DELETE ON symbolic_fact
WHEN OLD.episode_id > 0 OR OLD.file_path = ''
  OR NOT EXISTS (SELECT 1 FROM symbolic_fact_version WHERE fact_id = OLD.fact_id AND version = OLD.version)
BEGIN
  SELECT RAISE(ABORT, 'symbolic_fact: only a file''s symbol leaves, when its last value is among the versions');
END;

CREATE TRIGGER semantic_atlas_no_orphan
BEFORE INSERT ON semantic_atlas
WHEN NEW.anchor_type = 'symbolic_fact'
     AND NOT EXISTS (SELECT 1 FROM symbolic_fact f JOIN project p ON p.num = f.project_id WHERE f.fact_id = NEW.anchor_id AND p.project_id = NEW.project_id)
  OR NEW.anchor_type = 'episodic_stream'
     AND NOT EXISTS (SELECT 1 FROM episodic_stream e JOIN project p ON p.num = e.project_id
       WHERE e.episode_id = NEW.anchor_id AND p.project_id = NEW.project_id)
BEGIN
  SELECT RAISE(ABORT, 'semantic_atlas: the anchor does not exist');
END;

CREATE VIEW semantic_atlas_staleness AS
SELECT
  entry_id,
  project_id,
  session_id,
  anchor_type,
  anchor_id,
  anchor_hash_at_write,
  current_anchor_hash,
  current_anchor_hash IS NULL AS anchor_missing,
  current_anchor_hash IS NOT anchor_hash_at_write AS stale
FROM (
  SELECT
    sa.entry_id,
    sa.project_id,
    sa.session_id,
    sa.anchor_type,
    sa.anchor_id,
    sa.anchor_hash_at_write,
    CASE sa.anchor_type
      WHEN 'symbolic_fact' THEN (SELECT CASE typeof(f.ast_hash) WHEN 'blob' THEN lower(hex(f.ast_hash)) ELSE f.ast_hash END
        FROM symbolic_fact f JOIN project p ON p.num = f.project_id WHERE f.fact_id = sa.anchor_id AND p.project_id = sa.project_id)
      ELSE (SELECT lower(hex(e.content_digest)) FROM episodic_stream e JOIN project p ON p.num = e.project_id
        WHERE e.episode_id = sa.anchor_id AND p.project_id = sa.project_id)
    END AS current_anchor_hash
  FROM semantic_atlas sa
);

-- A document of a fact has the fact's number: one index of them is enough.
CREATE TABLE fact_doc_before AS
SELECT * FROM fact_doc;

DROP TABLE fact_doc;

CREATE TABLE fact_doc (
  doc   INTEGER PRIMARY KEY,
  num   INTEGER NOT NULL CHECK (num = doc),
  terms INTEGER NOT NULL
) STRICT;

INSERT INTO fact_doc (doc, num, terms)
SELECT doc, num, terms
FROM fact_doc_before
ORDER BY doc;

DROP TABLE fact_doc_before;
