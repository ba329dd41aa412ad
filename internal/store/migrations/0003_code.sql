-- What is known of a project's source code beside the ledger, of which a symbol is a row. num is the number of the fact, ord the place in the file from 0, parent an ord or -1.
-- key is the last part of the name, by which it is looked up; short is the declared name, '' where it is the key. bases are separated by line breaks.
-- flags: 1 test, 2 exported, 4 partial.
CREATE TABLE code_symbol (
  num      INTEGER PRIMARY KEY REFERENCES symbolic_fact (num),
  file_num INTEGER NOT NULL REFERENCES repo_file (num),
  ord      INTEGER NOT NULL CHECK (ord >= 0),
  parent   INTEGER NOT NULL CHECK (parent < ord),
  key      TEXT NOT NULL,
  short    TEXT NOT NULL,
  doc      TEXT NOT NULL,
  bases    TEXT NOT NULL,
  sig_hash BLOB NOT NULL,
  end_byte INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  flags    INTEGER NOT NULL,
  UNIQUE (file_num, ord)
) STRICT;

CREATE INDEX code_symbol_key ON code_symbol (key);

-- A call site. caller is the ord of the symbol that it stands in, -1 for none. seen is the hash that the caller had when the call was first seen there: it outlives
-- the parsing of both files. It is empty where that is the hash of now, which saves most of the room.
CREATE TABLE code_call (
  file_num    INTEGER NOT NULL REFERENCES repo_file (num),
  ord         INTEGER NOT NULL CHECK (ord >= 0),
  caller      INTEGER NOT NULL CHECK (caller >= -1),
  callee      TEXT NOT NULL,
  receiver    TEXT NOT NULL,
  byte_offset INTEGER NOT NULL,
  line        INTEGER NOT NULL,
  seen        BLOB NOT NULL,
  PRIMARY KEY (file_num, ord)
) STRICT, WITHOUT ROWID;

-- symbol is the ord of the import's own symbol, -1 where its name is too long for one.
CREATE TABLE code_import (
  file_num INTEGER NOT NULL REFERENCES repo_file (num),
  ord      INTEGER NOT NULL CHECK (ord >= 0),
  symbol   INTEGER NOT NULL CHECK (symbol >= -1),
  path     TEXT NOT NULL,
  name     TEXT NOT NULL,
  alias    TEXT NOT NULL,
  line     INTEGER NOT NULL,
  PRIMARY KEY (file_num, ord)
) STRICT, WITHOUT ROWID;

-- The natural keys of symbols that left the ledger while something was anchored to them: their files are looked at all the same.
CREATE TABLE code_gone (
  fact_id        TEXT NOT NULL PRIMARY KEY CHECK (fact_id <> ''),
  project_id     TEXT NOT NULL REFERENCES project (project_id),
  qualified_name TEXT NOT NULL,
  kind           TEXT NOT NULL,
  file_path      TEXT NOT NULL CHECK (file_path <> '')
) STRICT, WITHOUT ROWID;

-- A revision is never given twice, also where the fact that had the highest is gone.
INSERT INTO meta (name, value) VALUES ('fact_revision', 0);

-- A symbol that is not in its file any more leaves the ledger, and its last value stays among the older ones. What a tool said is never taken back.
CREATE TRIGGER symbolic_fact_no_delete
BEFORE DELETE ON symbolic_fact
WHEN OLD.episode_id <> '' OR OLD.file_path = ''
  OR NOT EXISTS (SELECT 1 FROM symbolic_fact_version WHERE fact_id = OLD.fact_id AND version = OLD.version)
BEGIN
  SELECT RAISE(ABORT, 'symbolic_fact: only a file''s symbol leaves, when its last value is among the versions');
END;
