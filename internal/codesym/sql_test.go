package codesym_test

import (
	"testing"

	"sakur4/internal/codesym"
)

const sqlSample = `-- The users. All of them.
CREATE TABLE IF NOT EXISTS public."User s" (id INT, s TEXT DEFAULT 'a;''b');
create unique index idx_a on t(a);
CREATE INDEX ON t (b);
CREATE OR REPLACE VIEW [dbo].[v] AS SELECT 1; /* create table no(); */
INSERT INTO x VALUES ('x
 create nothing');
CREATE TRIGGER trg BEFORE UPDATE ON t FOR EACH ROW BEGIN
  SELECT CASE WHEN 1 THEN 2 END; UPDATE t SET a = 1;
END;
CREATE FUNCTION f(a int, b text) RETURNS int AS $body$
BEGIN CREATE TABLE no(); RETURN 1; END;
$body$ LANGUAGE plpgsql;
COPY t (a) FROM stdin;
create table no2();
\.
CREATE TYPE mood AS ENUM ('a', 'b');
CREATE SCHEMA s; CREATE EXTENSION IF NOT EXISTS pgcrypto; CREATE SEQUENCE s.q START 1;
DELIMITER $$
CREATE DEFINER=` + "`" + `a` + "`" + `@` + "`" + `b` + "`" + ` PROCEDURE p(IN x INT) BEGIN IF x THEN SELECT 1; END IF; SELECT 2; END$$
DELIMITER ;
CREATE PROCEDURE tsql @a int AS SELECT 1; 
GO
CREATE OR REPLACE PACKAGE BODY pkg AS
  PROCEDURE a IS x NUMBER; BEGIN NULL; END;
END pkg;
/
CREATE FUNCTION ora RETURN NUMBER IS
  n NUMBER;
BEGIN
  RETURN n;
END;
/
CREATE TEMP TABLE last (x int)
`

func TestSQL(t *testing.T) {
	t.Parallel()
	runGolden(t, codesym.SQL, sqlCases)
}

var sqlCases = []golden{
	{
		name: "all", src: sqlSample,
		want: `
type public.User s 2-2 | CREATE TABLE IF NOT EXISTS public."User s" (id INT, s TEXT DEFAULT 'a;''b') | The users.
constant idx_a 3-3 | create unique index idx_a on t(a)
type dbo.v 5-5 | CREATE OR REPLACE VIEW [dbo].[v]
function trg 8-10 | CREATE TRIGGER trg BEFORE UPDATE ON t FOR EACH ROW
function f 11-13 | CREATE FUNCTION f(a int, b text) RETURNS int
type mood 17-17 | CREATE TYPE mood
module s 18-18 | CREATE SCHEMA s
import pgcrypto 18-18 | CREATE EXTENSION IF NOT EXISTS pgcrypto
constant s.q 18-18 | CREATE SEQUENCE s.q START 1
function p 20-20 | CREATE DEFINER=` + "`" + `a` + "`" + `@` + "`" + `b` + "`" + ` PROCEDURE p(IN x INT)
function tsql 22-22 | CREATE PROCEDURE tsql @a int
module pkg 24-26 | CREATE OR REPLACE PACKAGE BODY pkg
function ora 28-32 | CREATE FUNCTION ora RETURN NUMBER
type last 34-34 | CREATE TEMP TABLE last (x int)
`,
		imports: []string{"pgcrypto||"},
	},
	{
		name: "triggers", src: "CREATE TEMP TRIGGER IF NOT EXISTS main.a AFTER INSERT ON t BEGIN SELECT 1; END;\ncreate trigger if not exists\n  b after delete on t\nbegin\n  delete from u;\nend;\nCREATE TRIGGER if AFTER INSERT ON t BEGIN SELECT 1; END;\n",
		want: `
function main.a 1-1 | CREATE TEMP TRIGGER IF NOT EXISTS main.a AFTER INSERT ON t
function b 2-6 | create trigger if not exists b after delete on t
function if 7-7 | CREATE TRIGGER if AFTER INSERT ON t
`,
	},
	{name: "empty", want: "\n"},
}

func FuzzSQL(f *testing.F) {
	fuzz(f, codesym.SQL, sqlSample, "create table \"", "create or replace function f() as $$", "create view [a", "delimiter //\ncreate", "copy a from stdin;", "create package a as begin")
}
