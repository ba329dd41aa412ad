-- Saved slots of the server. file is the name of the server's file; a file whose snapshot_id is '' holds nothing that is wanted any more and is the
-- next to be written over. prompt holds the tokens that the slot held, deflated.
CREATE TABLE snapshot (
  project_id  TEXT NOT NULL,
  session_id  TEXT NOT NULL,
  file        TEXT NOT NULL CHECK (file <> ''),
  ord         INTEGER NOT NULL,
  snapshot_id TEXT NOT NULL,
  tokens      INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  created     INTEGER NOT NULL,
  body        TEXT NOT NULL,
  prompt      BLOB NOT NULL,
  seal        INTEGER NOT NULL,
  PRIMARY KEY (project_id, session_id, file),
  FOREIGN KEY (project_id, session_id) REFERENCES session (project_id, session_id)
) STRICT;
