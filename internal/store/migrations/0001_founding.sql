-- The founding tables. Names of tables and columns are the specification's; files in this folder are append-only.

CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- version counts the writes of every process, so that whatever is cached can be checked with one look-up.
INSERT INTO meta (name, value) VALUES ('version', 1);

CREATE TABLE project (
  num        INTEGER PRIMARY KEY,
  project_id TEXT NOT NULL UNIQUE CHECK (project_id <> ''),
  root       TEXT NOT NULL,
  created    INTEGER NOT NULL
) STRICT;

-- num stands for the session where there are many rows of it.
CREATE TABLE session (
  num        INTEGER PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES project (project_id),
  session_id TEXT NOT NULL,
  created    INTEGER NOT NULL,
  UNIQUE (project_id, session_id)
) STRICT;

CREATE TABLE tokenizer (
  num  INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- One row an episode. project_id, session_id, call_episode and tokenizer are the numbers of the rows that they name: texts would take as much room
-- as a short turn. created is in nanoseconds after at, and since 1970 where at says that no time was given. Everything but eviction_tier,
-- superseded_by, droppable and fold_id is recorded once and never changes; seal is a hash over all of it, with the digest for the content.
CREATE TABLE episodic_stream (
  seq            INTEGER PRIMARY KEY CHECK (seq > 0),
  episode_id     TEXT NOT NULL UNIQUE CHECK (episode_id <> ''),
  project_id     INTEGER NOT NULL REFERENCES project (num),
  session_id     INTEGER NOT NULL REFERENCES session (num),
  role           TEXT NOT NULL CHECK (role = 'system' OR role = 'user' OR role = 'assistant' OR role = 'tool'),
  eviction_tier  TEXT NOT NULL DEFAULT 'live' CHECK (eviction_tier = 'live' OR eviction_tier = 'masked' OR eviction_tier = 'referenced' OR eviction_tier = 'archived' OR eviction_tier = 'dropped'),
  superseded_by  TEXT NOT NULL DEFAULT '',
  droppable      INTEGER NOT NULL DEFAULT 0 CHECK (droppable IN (0, 1)),
  fold_id        TEXT NOT NULL DEFAULT '',
  call_id        TEXT NOT NULL,
  tool_name      TEXT NOT NULL,
  call_episode   INTEGER NOT NULL,
  call_index     INTEGER NOT NULL,
  at             INTEGER NOT NULL,
  created        INTEGER NOT NULL,
  tokens         INTEGER NOT NULL,
  tokenizer      INTEGER NOT NULL REFERENCES tokenizer (num),
  content_digest BLOB NOT NULL CHECK (length(content_digest) = 32),
  calls          TEXT NOT NULL,
  reasoning      BLOB NOT NULL,
  content        BLOB NOT NULL,
  seal           INTEGER NOT NULL
) STRICT;

CREATE INDEX episodic_stream_session ON episodic_stream (session_id, seq);

-- INSERT OR REPLACE fires no UPDATE or DELETE trigger, so the insert itself is refused where it would take an old row's place.
CREATE TRIGGER episodic_stream_no_replace
BEFORE INSERT ON episodic_stream
WHEN EXISTS (SELECT 1 FROM episodic_stream WHERE episode_id = NEW.episode_id)
  OR NEW.seq <= (SELECT max(seq) FROM episodic_stream) AND NEW.seq >= 0
BEGIN
  SELECT RAISE(ABORT, 'episodic_stream is append-only: the id or seq is taken');
END;

CREATE TRIGGER episodic_stream_no_delete
BEFORE DELETE ON episodic_stream
BEGIN
  SELECT RAISE(ABORT, 'episodic_stream is append-only: no delete');
END;

CREATE TRIGGER episodic_stream_no_update
BEFORE UPDATE OF seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index,
  at, created, tokens, tokenizer, content_digest, calls, reasoning, content, seal ON episodic_stream
BEGIN
  SELECT RAISE(ABORT, 'episodic_stream is append-only: a recorded column never changes');
END;

-- rowid, oid and _rowid_ name seq as well, and a column list does not see them.
CREATE TRIGGER episodic_stream_no_renumber
BEFORE UPDATE ON episodic_stream
WHEN NEW.seq IS NOT OLD.seq
BEGIN
  SELECT RAISE(ABORT, 'episodic_stream is append-only: a recorded column never changes');
END;

CREATE TRIGGER episodic_stream_one_rung
BEFORE UPDATE OF eviction_tier ON episodic_stream
WHEN NEW.eviction_tier <> OLD.eviction_tier
 AND NEW.eviction_tier <> 'live'
 AND OLD.eviction_tier || ' ' || NEW.eviction_tier NOT IN
   ('live masked', 'masked referenced', 'referenced archived', 'archived dropped')
BEGIN
  SELECT RAISE(ABORT, 'episodic_stream: no rung of the ladder is skipped');
END;

-- Facts are written by parsers and by nothing else: there is no column that a model's words could land in.
CREATE TABLE symbolic_fact (
  num            INTEGER PRIMARY KEY,
  fact_id        TEXT NOT NULL UNIQUE CHECK (fact_id <> ''),
  project_id     TEXT NOT NULL REFERENCES project (project_id),
  qualified_name TEXT NOT NULL,
  kind           TEXT NOT NULL CHECK (kind = 'function' OR kind = 'method' OR kind = 'class' OR kind = 'struct' OR kind = 'enum' OR kind = 'trait'
    OR kind = 'interface' OR kind = 'type' OR kind = 'constant' OR kind = 'module' OR kind = 'import' OR kind = 'export'
    OR kind = 'tool_output_field' OR kind = 'tool_exit_code' OR kind = 'http_header' OR kind = 'json_field' OR kind = 'csv_column' OR kind = 'diff_hunk'
    OR kind = 'regex_match'),
  file_path      TEXT NOT NULL,
  source         TEXT NOT NULL CHECK (source <> ''),
  value          BLOB NOT NULL,
  ast_hash       TEXT NOT NULL CHECK (ast_hash <> ''),
  episode_id     TEXT NOT NULL,
  byte_offset    INTEGER NOT NULL,
  line           INTEGER NOT NULL,
  first_seen     INTEGER NOT NULL,
  updated        INTEGER NOT NULL,
  version        INTEGER NOT NULL CHECK (version > 0),
  revision       INTEGER NOT NULL UNIQUE
) STRICT;

CREATE UNIQUE INDEX symbolic_fact_identity ON symbolic_fact (project_id, qualified_name, kind, file_path);
CREATE INDEX symbolic_fact_file ON symbolic_fact (project_id, file_path) WHERE file_path <> '';
CREATE INDEX symbolic_fact_episode ON symbolic_fact (episode_id) WHERE episode_id <> '';

CREATE TABLE symbolic_fact_version (
  num         INTEGER PRIMARY KEY CHECK (num > 0),
  project_id  TEXT NOT NULL REFERENCES project (project_id),
  fact_id     TEXT NOT NULL,
  version     INTEGER NOT NULL,
  source      TEXT NOT NULL CHECK (source <> ''),
  value       BLOB NOT NULL,
  ast_hash    TEXT NOT NULL,
  episode_id  TEXT NOT NULL,
  byte_offset INTEGER NOT NULL,
  line        INTEGER NOT NULL,
  updated     INTEGER NOT NULL,
  replaced    INTEGER NOT NULL,
  UNIQUE (fact_id, version)
) STRICT;

CREATE TRIGGER symbolic_fact_version_no_replace
BEFORE INSERT ON symbolic_fact_version
WHEN EXISTS (SELECT 1 FROM symbolic_fact_version WHERE num = NEW.num OR (fact_id = NEW.fact_id AND version = NEW.version))
BEGIN
  SELECT RAISE(ABORT, 'symbolic_fact_version is append-only: the version is there');
END;

CREATE TRIGGER symbolic_fact_version_no_update
BEFORE UPDATE ON symbolic_fact_version
BEGIN
  SELECT RAISE(ABORT, 'symbolic_fact_version is append-only: no update');
END;

CREATE TRIGGER symbolic_fact_version_no_delete
BEFORE DELETE ON symbolic_fact_version
BEGIN
  SELECT RAISE(ABORT, 'symbolic_fact_version is append-only: no delete');
END;

-- Interpretations. Each names its anchor and the anchor's hash as it was when the entry was written.
CREATE TABLE semantic_atlas (
  num                  INTEGER PRIMARY KEY,
  entry_id             TEXT NOT NULL UNIQUE CHECK (entry_id <> ''),
  project_id           TEXT NOT NULL,
  session_id           TEXT NOT NULL,
  anchor_type          TEXT NOT NULL CHECK (anchor_type IN ('symbolic_fact', 'episodic_stream')),
  anchor_id            TEXT NOT NULL CHECK (anchor_id <> ''),
  anchor_hash_at_write TEXT NOT NULL CHECK (anchor_hash_at_write <> ''),
  text                 TEXT NOT NULL CHECK (text <> ''),
  origin               TEXT NOT NULL CHECK (origin IN ('extracted', 'summarized', 'interpreted')),
  tokens               INTEGER NOT NULL,
  created              INTEGER NOT NULL,
  replaces             TEXT NOT NULL DEFAULT '',
  replaced_by          TEXT NOT NULL DEFAULT '',
  seal                 INTEGER NOT NULL,
  retired              INTEGER NOT NULL DEFAULT 0 CHECK (retired IN (0, 1)),
  FOREIGN KEY (project_id, session_id) REFERENCES session (project_id, session_id)
) STRICT;

CREATE INDEX semantic_atlas_project ON semantic_atlas (project_id, num);
CREATE INDEX semantic_atlas_anchor ON semantic_atlas (anchor_id);

CREATE TRIGGER semantic_atlas_no_orphan
BEFORE INSERT ON semantic_atlas
WHEN NEW.anchor_type = 'symbolic_fact'
     AND NOT EXISTS (SELECT 1 FROM symbolic_fact WHERE fact_id = NEW.anchor_id AND project_id = NEW.project_id)
  OR NEW.anchor_type = 'episodic_stream'
     AND NOT EXISTS (SELECT 1 FROM episodic_stream e JOIN project p ON p.num = e.project_id
       WHERE e.episode_id = NEW.anchor_id AND p.project_id = NEW.project_id)
BEGIN
  SELECT RAISE(ABORT, 'semantic_atlas: the anchor does not exist');
END;

CREATE TRIGGER semantic_atlas_no_replace
BEFORE INSERT ON semantic_atlas
WHEN EXISTS (SELECT 1 FROM semantic_atlas WHERE num = NEW.num OR entry_id = NEW.entry_id)
BEGIN
  SELECT RAISE(ABORT, 'semantic_atlas: the entry is there');
END;

-- What is replaced or retired stays so. rowid, oid and _rowid_ name num as well, which a column list would not see.
CREATE TRIGGER semantic_atlas_no_update
BEFORE UPDATE ON semantic_atlas
WHEN NEW.num IS NOT OLD.num OR NEW.entry_id IS NOT OLD.entry_id OR NEW.project_id IS NOT OLD.project_id OR NEW.session_id IS NOT OLD.session_id
  OR NEW.anchor_type IS NOT OLD.anchor_type OR NEW.anchor_id IS NOT OLD.anchor_id OR NEW.anchor_hash_at_write IS NOT OLD.anchor_hash_at_write
  OR NEW.text IS NOT OLD.text OR NEW.origin IS NOT OLD.origin OR NEW.tokens IS NOT OLD.tokens OR NEW.created IS NOT OLD.created
  OR NEW.replaces IS NOT OLD.replaces OR NEW.seal IS NOT OLD.seal OR NEW.retired < OLD.retired OR OLD.replaced_by <> '' AND NEW.replaced_by IS NOT OLD.replaced_by
BEGIN
  SELECT RAISE(ABORT, 'semantic_atlas: an entry is replaced by a new one, never rewritten');
END;

CREATE TRIGGER semantic_atlas_no_delete
BEFORE DELETE ON semantic_atlas
BEGIN
  SELECT RAISE(ABORT, 'semantic_atlas: old entries stay readable');
END;

-- Staleness is computed when it is read. A missing anchor is stale.
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
      WHEN 'symbolic_fact' THEN (SELECT sf.ast_hash FROM symbolic_fact sf WHERE sf.fact_id = sa.anchor_id AND sf.project_id = sa.project_id)
      ELSE (SELECT lower(hex(e.content_digest)) FROM episodic_stream e JOIN project p ON p.num = e.project_id
        WHERE e.episode_id = sa.anchor_id AND p.project_id = sa.project_id)
    END AS current_anchor_hash
  FROM semantic_atlas sa
);

-- Pins. They are in no table that eviction writes, so evicting one cannot be expressed.
CREATE TABLE anchor_set (
  seq        INTEGER PRIMARY KEY CHECK (seq > 0),
  pin_id     TEXT NOT NULL UNIQUE CHECK (pin_id <> ''),
  project_id TEXT NOT NULL REFERENCES project (project_id),
  session_id TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind <> ''),
  text       TEXT NOT NULL CHECK (text <> ''),
  created    INTEGER NOT NULL,
  seal       INTEGER NOT NULL,
  retired    INTEGER NOT NULL DEFAULT 0 CHECK (retired IN (0, 1))
) STRICT;

CREATE INDEX anchor_set_project ON anchor_set (project_id, seq);

CREATE TRIGGER anchor_set_no_replace
BEFORE INSERT ON anchor_set
WHEN EXISTS (SELECT 1 FROM anchor_set WHERE seq = NEW.seq OR pin_id = NEW.pin_id)
BEGIN
  SELECT RAISE(ABORT, 'anchor_set: the pin is there');
END;

CREATE TRIGGER anchor_set_no_update
BEFORE UPDATE ON anchor_set
WHEN NEW.seq IS NOT OLD.seq OR NEW.pin_id IS NOT OLD.pin_id OR NEW.project_id IS NOT OLD.project_id OR NEW.session_id IS NOT OLD.session_id
  OR NEW.kind IS NOT OLD.kind OR NEW.text IS NOT OLD.text OR NEW.created IS NOT OLD.created OR NEW.seal IS NOT OLD.seal
  OR NEW.retired < OLD.retired
BEGIN
  SELECT RAISE(ABORT, 'anchor_set: a pin is retired, never rewritten');
END;

CREATE TRIGGER anchor_set_no_delete
BEFORE DELETE ON anchor_set
BEGIN
  SELECT RAISE(ABORT, 'anchor_set: a retired pin stays');
END;

CREATE TABLE folds (
  num            INTEGER PRIMARY KEY,
  fold_id        TEXT NOT NULL UNIQUE CHECK (fold_id <> ''),
  project_id     TEXT NOT NULL,
  session_id     TEXT NOT NULL,
  parent_id      TEXT NOT NULL,
  description    TEXT NOT NULL,
  goal           TEXT NOT NULL,
  opened_seq     INTEGER NOT NULL,
  closed_seq     INTEGER NOT NULL DEFAULT 0,
  summary        TEXT NOT NULL DEFAULT '',
  created        INTEGER NOT NULL,
  closed         INTEGER NOT NULL DEFAULT 0,
  seal           INTEGER NOT NULL,
  FOREIGN KEY (project_id, session_id) REFERENCES session (project_id, session_id)
) STRICT;

CREATE INDEX folds_session ON folds (project_id, session_id, num);

-- seen_hash is the hash that the from side had when the edge was first seen; it is never refreshed.
CREATE TABLE dependency_graph_edge (
  project_id TEXT NOT NULL REFERENCES project (project_id),
  to_id      TEXT NOT NULL CHECK (to_id <> ''),
  kind       TEXT NOT NULL CHECK (kind = 'supersedes' OR kind = 'folded_from' OR kind = 'derived_from' OR kind = 'mentions' OR kind = 'calls' OR kind = 'imports'
    OR kind = 'implements'),
  from_id    TEXT NOT NULL CHECK (from_id <> ''),
  site       TEXT NOT NULL,
  seen_hash  TEXT NOT NULL,
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  created    INTEGER NOT NULL,
  PRIMARY KEY (project_id, to_id, kind, from_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX dependency_graph_edge_from ON dependency_graph_edge (project_id, from_id, kind);

-- A file of the project's source. modified is its own time, indexed when it was looked at; content_hash is '' where it was not read. problem is why it has
-- no symbols, symbols and calls count its rows. package is what the file itself says of where it belongs: a declared package, or the path of a go.mod's module.
CREATE TABLE repo_file (
  num          INTEGER PRIMARY KEY,
  project_id   TEXT NOT NULL REFERENCES project (project_id),
  path         TEXT NOT NULL CHECK (path <> ''),
  language     TEXT NOT NULL,
  package      TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  bytes        INTEGER NOT NULL,
  modified     INTEGER NOT NULL,
  indexed      INTEGER NOT NULL,
  parser       INTEGER NOT NULL,
  problem      TEXT NOT NULL,
  symbols      INTEGER NOT NULL,
  calls        INTEGER NOT NULL,
  UNIQUE (project_id, path)
) STRICT;

CREATE TABLE note (
  project_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  note_id    TEXT NOT NULL CHECK (note_id <> ''),
  kind       TEXT NOT NULL,
  text       TEXT NOT NULL,
  ref        TEXT NOT NULL,
  seal       INTEGER NOT NULL,
  placed     INTEGER NOT NULL DEFAULT 0 CHECK (placed IN (0, 1)),
  PRIMARY KEY (project_id, session_id, seq),
  UNIQUE (project_id, session_id, note_id),
  FOREIGN KEY (project_id, session_id) REFERENCES session (project_id, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE render_state (
  project_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  version    INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  body       TEXT NOT NULL,
  updated    INTEGER NOT NULL,
  seal       INTEGER NOT NULL,
  PRIMARY KEY (project_id, session_id),
  FOREIGN KEY (project_id, session_id) REFERENCES session (project_id, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE render_decision (
  project_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  ord        INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  episode_id TEXT NOT NULL,
  form       TEXT NOT NULL,
  body       TEXT NOT NULL,
  seal       INTEGER NOT NULL,
  PRIMARY KEY (project_id, session_id, ord),
  FOREIGN KEY (project_id, session_id) REFERENCES session (project_id, session_id)
) STRICT, WITHOUT ROWID;

-- session_id is the number of the session. body is text, or where that is shorter a blob: the same text deflated with the dictionary of receipts.
CREATE TABLE receipt (
  session_id INTEGER NOT NULL REFERENCES session (num),
  turn       INTEGER NOT NULL,
  window_id  TEXT NOT NULL CHECK (window_id <> ''),
  body       ANY NOT NULL CHECK (typeof(body) IN ('text', 'blob')),
  observed   INTEGER NOT NULL CHECK (observed IN (0, 1)),
  created    INTEGER NOT NULL,
  seal       INTEGER NOT NULL,
  PRIMARY KEY (session_id, turn, window_id),
  UNIQUE (session_id, window_id)
) STRICT, WITHOUT ROWID;

-- The steps on the ladder. There are several for every episode, so what the steps of one window have in common is in a row of its own, tiers are
-- numbers from 1 (live) to 5 (dropped), and episode_id is the seq of the episode. A reason "tier live → masked (value 2.65, 0 tokens reclaimed)"
-- is stored without what the columns say: char(1) stands for its beginning up to the number, char(2) for its end from the last comma.
CREATE TABLE eviction_window (
  num        INTEGER PRIMARY KEY CHECK (num > 0),
  session_id INTEGER NOT NULL REFERENCES session (num),
  window_id  TEXT NOT NULL,
  at         INTEGER NOT NULL
) STRICT;

CREATE INDEX eviction_window_session ON eviction_window (session_id, num);

CREATE TABLE eviction (
  window_num INTEGER NOT NULL REFERENCES eviction_window (num),
  ord        INTEGER NOT NULL CHECK (ord > 0),
  episode_id INTEGER NOT NULL REFERENCES episodic_stream (seq),
  from_tier  INTEGER NOT NULL CHECK (from_tier BETWEEN 1 AND 5),
  to_tier    INTEGER NOT NULL CHECK (to_tier BETWEEN 1 AND 5),
  tokens     INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  PRIMARY KEY (window_num, ord)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER eviction_no_replace
BEFORE INSERT ON eviction
WHEN EXISTS (SELECT 1 FROM eviction WHERE window_num = NEW.window_num AND ord = NEW.ord)
BEGIN
  SELECT RAISE(ABORT, 'eviction is append-only: the step is there');
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

CREATE TRIGGER eviction_window_no_replace
BEFORE INSERT ON eviction_window
WHEN EXISTS (SELECT 1 FROM eviction_window WHERE num = NEW.num)
BEGIN
  SELECT RAISE(ABORT, 'eviction_window is append-only: the num is taken');
END;

CREATE TRIGGER eviction_window_no_update
BEFORE UPDATE ON eviction_window
BEGIN
  SELECT RAISE(ABORT, 'eviction_window is append-only: no update');
END;

CREATE TRIGGER eviction_window_no_delete
BEFORE DELETE ON eviction_window
BEGIN
  SELECT RAISE(ABORT, 'eviction_window is append-only: no delete');
END;

CREATE TABLE checkpoint (
  project_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  ord        INTEGER NOT NULL,
  position   INTEGER NOT NULL,
  body       TEXT NOT NULL,
  PRIMARY KEY (project_id, session_id, ord),
  FOREIGN KEY (project_id, session_id) REFERENCES session (project_id, session_id)
) STRICT, WITHOUT ROWID;
