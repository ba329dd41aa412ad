-- A list behind IN is built anew for every row that is checked, as a table in memory: for a fact that cost as much as two of its indexes. A chain of comparisons
-- says the same. Only the text of the schema changes, for which SQLite has no statement; no row is touched, and a connection that still has the old text
-- refuses and takes the same rows. Whoever runs this must be allowed to write the schema.

PRAGMA writable_schema = ON;

UPDATE sqlite_schema
SET sql = replace(sql,
  'kind IN (''function'', ''method'', ''class'', ''struct'', ''enum'', ''trait'', ''interface'', ''type'',
    ''constant'', ''module'', ''import'', ''export'', ''tool_output_field'', ''tool_exit_code'', ''http_header'', ''json_field'', ''csv_column'',
    ''diff_hunk'', ''regex_match'')',
  'kind = ''function'' OR kind = ''method'' OR kind = ''class'' OR kind = ''struct'' OR kind = ''enum'' OR kind = ''trait''
    OR kind = ''interface'' OR kind = ''type'' OR kind = ''constant'' OR kind = ''module'' OR kind = ''import'' OR kind = ''export''
    OR kind = ''tool_output_field'' OR kind = ''tool_exit_code'' OR kind = ''http_header'' OR kind = ''json_field'' OR kind = ''csv_column'' OR kind = ''diff_hunk''
    OR kind = ''regex_match''')
WHERE type = 'table' AND name = 'symbolic_fact';

UPDATE sqlite_schema
SET sql = replace(sql,
  'kind IN (''supersedes'', ''folded_from'', ''derived_from'', ''mentions'', ''calls'', ''imports'', ''implements'')',
  'kind = ''supersedes'' OR kind = ''folded_from'' OR kind = ''derived_from'' OR kind = ''mentions'' OR kind = ''calls'' OR kind = ''imports''
    OR kind = ''implements''')
WHERE type = 'table' AND name = 'dependency_graph_edge';

UPDATE sqlite_schema
SET sql = replace(replace(sql,
  'role IN (''system'', ''user'', ''assistant'', ''tool'')',
  'role = ''system'' OR role = ''user'' OR role = ''assistant'' OR role = ''tool'''),
  'eviction_tier IN (''live'', ''masked'', ''referenced'', ''archived'', ''dropped'')',
  'eviction_tier = ''live'' OR eviction_tier = ''masked'' OR eviction_tier = ''referenced'' OR eviction_tier = ''archived'' OR eviction_tier = ''dropped''')
WHERE type = 'table' AND name = 'episodic_stream';

PRAGMA writable_schema = RESET;
