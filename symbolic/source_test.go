package symbolic_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/episode"
	"sakur4/symbolic"
)

// TestSources extracts with every source, and derives each fact again from its row.
func TestSources(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		src     symbolic.FactSource
		content string
		want    []string
	}{
		{"json", symbolic.JSON(), `{"a":{"b":[1.50,"x"]}}`, []string{"json_field /a/b/0 = 1.50", "json_field /a/b/1 = x"}},
		{"csv", symbolic.CSV(), "id,name,,name\n1,ann,x,q\n2,bob,y,q\n3,eve,z,q\n4,joe,z,q\n", []string{
			`csv_column :id = 4 rows: "1", "2", "3", …`, `csv_column :name = 4 rows: "ann", "bob", "eve", …`,
			`csv_column :column 3 = 4 rows: "x", "y", "z", …`, `csv_column :name#2 = 4 rows: "q", "q", "q", …`,
		}},
		{"csv without header", symbolic.CSV(), "1;2\n3;4\n", []string{`csv_column :column 1 = 2 rows: "1", "3"`, `csv_column :column 2 = 2 rows: "2", "4"`}},
		{"http", symbolic.HTTPHeaders(), "HTTP/1.1 301 Moved\nLocation: /x\n\nHTTP/1.1 200 OK\nSet-Cookie: a\nset-cookie: b\n\n", []string{
			"http_header ::status = 301", "http_header :location = /x", "http_header ::status#2 = 200", "http_header :set-cookie = a", "http_header :set-cookie#2 = b",
		}},
		{"http request", symbolic.HTTPHeaders(), "> GET /x HTTP/1.1\n> Host: y\n>\n< HTTP/1.1 204 No Content\n< Host: z\n<\n", []string{
			"http_header :request::target = GET /x", "http_header :request:host = y", "http_header ::status = 204", "http_header :host = z",
		}},
		{"diff", symbolic.UnifiedDiff(), "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@ f\n-a\n+b\n@@ -9 +9,2 @@\n c\n+d\ndiff --git a/o b/n\nrename from o\nrename to n\ndiff --git a/m b/m\nold mode 100644\nnew mode 100755\n", []string{
			"diff_hunk :x = @@ -1 +1 @@ f (+1 -1)", "diff_hunk :x#2 = @@ -9 +9,2 @@ (+1 -0)", "diff_hunk :n = rename, from o to n", "diff_hunk :m = modify, mode 100644 to 100755",
		}},
		{"exit code", symbolic.ExitCode(), "Exit code 3", []string{"tool_exit_code :exit_code = 3"}},
		{"fields", symbolic.Fields(), "name: x\nsize=3\nname: y\n", []string{"tool_output_field :name = x", "tool_output_field :size = 3", "tool_output_field :name#2 = y"}},
		{"regexp", symbolic.Regexp(regexp.MustCompile(`v(?P<major>\d+)\.(\d+)`)), "v1.2 v3.4", []string{
			"regex_match :97a21b04/major = 1", "regex_match :97a21b04/2 = 2", "regex_match :97a21b04/major#2 = 3", "regex_match :97a21b04/2#2 = 4",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ev := evidence(t, "tool", `{}`, c.content)
			facts, err := symbolic.Extract(c.src, ev)
			if err != nil {
				t.Fatalf("Extract(%v) = %v", c.src, err)
			}
			if diff := cmp.Diff(c.want, pairs(facts)); diff != "" {
				t.Errorf("Extract(%v) (-want +got):\n%s", c.src, diff)
			}
			ids := map[string]bool{}
			for _, f := range facts {
				if got, err := symbolic.Rederive(f.Row(), ev); err != nil || got != f {
					t.Errorf("Rederive(%v) = %v, %v", f, got, err)
				}
				if !slices.Contains(symbolic.Kinds(), f.Kind()) || f.Source() == "" || len(f.Hash()) != 64 || f.Line() < 1 || ids[f.ID()] ||
					f.ID() != symbolic.FactID(f.Project(), f.QualifiedName(), f.Kind(), f.FilePath()) {
					t.Errorf("fact %+v is not whole", f.Row())
				}
				ids[f.ID()] = true
			}
			// The same call with other output: the keys stay, the values go stale.
			other := evidence(t, "tool", ` { } `, "nothing of the kind")
			for _, f := range facts {
				if got, err := symbolic.Rederive(f.Row(), other); !errors.Is(err, symbolic.ErrGone) || got.Valid() {
					t.Errorf("Rederive of %v from prose = %v, %v, want ErrGone", f, got, err)
				}
			}
		})
	}
}

func TestStaleHunkAndColumn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src              symbolic.FactSource
		before, after    string
		current, unmoved string
	}{
		{symbolic.UnifiedDiff(), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+c\n", "@@ -1 +1 @@ (+1 -1)", ""},
		{symbolic.CSV(), "a,b\n1,2\n3,4\n5,6\n7,8\n", "a,b\n1,2\n3,4\n5,6\n9,8\n", `4 rows: "1", "3", "5", …`, ":b"},
	} {
		facts, err := symbolic.Extract(c.src, evidence(t, "tool", "", c.before))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range facts {
			_, err := symbolic.Rederive(f.Row(), evidence(t, "tool", "", c.after))
			var stale *symbolic.StaleError
			unmoved := c.unmoved != "" && strings.HasSuffix(f.QualifiedName(), c.unmoved)
			if unmoved != (err == nil) || !unmoved && (!errors.As(err, &stale) || stale.Current != c.current) {
				t.Errorf("Rederive(%v) = %v, want the change behind an equal value seen", f, err)
			}
		}
	}
}

func TestReadPicksTheParser(t *testing.T) {
	t.Parallel()
	diff := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	for _, c := range []struct {
		name, tool, arguments, content string
		parser, summary                string
		facts                          int
	}{
		{"diff beside an exit code", "bash", "{}", "Exit code: 0\nWall time: 1 s\nOutput:\n" + diff, "unified_diff", "unified_diff: 1 value, exit code 0", 2},
		{"JSON beside an exit code", "bash", "{}", "Exit code: 0\nWall time: 1 s\nOutput:\n{\"a\":1}\n", "json", "json: 1 value, exit code 0", 2},
		{"table beside an exit code", "bash", "{}", "a,b\n1,2\n3,4\n\nCommand exited with code 1", "csv", "csv: 2 values, exit code 1", 3},
		{"head behind a command", "bash", "{}", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "http_headers", "http_headers: 2 values", 2},
		{"table by its name", "read_csv", "{}", "a,b\n", "csv", "csv: 2 values", 2},
		{"the same bytes under another name", "ask", "{}", "a,b\n", "", symbolic.NoStructure, 0},
		{"name in another spelling", "Git-Diff", "{}", diff, "unified_diff", "unified_diff: 1 value", 1},
		{"fields", "env", "{}", "HOME=/root\nSHELL=sh\n", "fields", "fields: 2 values", 2},
		{"a file's content states no exit code", "read_file", `{"path":"log.txt"}`, "Exit code 1\nboom", "", symbolic.NoStructure, 0},
		{"nor does a file in JSON", "read_file", `{"path":"r.json"}`, `{"exit_code":1}`, "json", "json: 1 value", 1},
		{"combined diff", "git_diff", "{}", "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n", "", symbolic.NoStructure, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := symbolic.Read(evidence(t, c.tool, c.arguments, c.content), 0)
			if got.Parser != c.parser || got.Summary != c.summary || len(got.Facts) != c.facts {
				t.Errorf("Read(%q) = %q, %q, %d facts, want %q, %q, %d", c.content, got.Parser, got.Summary, len(got.Facts), c.parser, c.summary, c.facts)
			}
		})
	}
}

func TestPositionsBehindTheToolsOwnLines(t *testing.T) {
	t.Parallel()
	content := "Exit code: 0\nOutput:\n{\"a\":\n 17}\n"
	ev := evidence(t, "bash", "", content)
	facts, err := symbolic.Extract(symbolic.JSON(), ev)
	if err != nil || len(facts) != 1 {
		t.Fatalf("Extract = %v, %v", facts, err)
	}
	if f := facts[0]; !strings.HasPrefix(content[f.Offset():], "17}") || f.Line() != 4 {
		t.Errorf("fact at offset %d, line %d, want the number on line 4", f.Offset(), f.Line())
	}
	if got, err := symbolic.Rederive(facts[0].Row(), ev); err != nil || got != facts[0] {
		t.Errorf("Rederive = %v, %v", got, err)
	}
}

func TestReadKeepsTheExitCodeWithinTheBound(t *testing.T) {
	t.Parallel()
	got := symbolic.Read(evidence(t, "bash", "", `{"a":[1,2,3],"exit_code":7}`), 2)
	if diff := cmp.Diff([]string{"tool_exit_code :exit_code = 7", "json_field /a/0 = 1"}, pairs(got.Facts)); diff != "" || got.LeftOut != 3 {
		t.Errorf("Read leaves out %d (-want +got):\n%s", got.LeftOut, diff)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	ev := evidence(t, "lab.measure", "", "temp 21\n")
	var zero symbolic.Table
	table := zero.With("lab-measure", symbolic.Regexp(regexp.MustCompile(`temp (\d+)`)))
	if got := table.Read(ev, 0); got.Parser != "regexp" || len(got.Facts) != 1 || got.Facts[0].Value() != "21" {
		t.Errorf("Read with a table of one's own = %+v", got)
	}
	if _, ok := zero.Lookup("lab_measure"); ok {
		t.Error("With changed its receiver")
	}
	if src, ok := symbolic.SourceFor("JQ"); !ok || src != symbolic.JSON() {
		t.Errorf("SourceFor(JQ) = %v, %v", src, ok)
	}
	if _, ok := symbolic.SourceFor("unheard_of"); ok {
		t.Error("SourceFor knows an unknown tool")
	}
}

func TestFileFacts(t *testing.T) {
	t.Parallel()
	ev, err := episode.FromFile("proj_a", "pool.json", []byte(`{"size":4}`))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := symbolic.Extract(symbolic.JSON(), ev)
	if err != nil || len(facts) != 1 {
		t.Fatalf("Extract = %v, %v", facts, err)
	}
	f := facts[0]
	if f.QualifiedName() != "/size" || f.FilePath() != "pool.json" || f.EpisodeID() != "" {
		t.Errorf("fact of a file = %+v", f.Row())
	}
	if got, err := symbolic.Rederive(f.Row(), ev); err != nil || got != f {
		t.Errorf("Rederive = %v, %v", got, err)
	}
	other, _ := episode.FromFile("proj_a", "other.json", []byte(`{"size":4}`))
	if _, err := symbolic.Rederive(f.Row(), other); !errors.Is(err, symbolic.ErrOtherEvidence) {
		t.Errorf("Rederive from another file = %v, want ErrOtherEvidence", err)
	}
}

// TestProjectsNeverShareAnID: the same bytes of the same call in two projects are two facts, and neither derives the other.
func TestProjectsNeverShareAnID(t *testing.T) {
	t.Parallel()
	at := func(project string) (symbolic.Fact, symbolic.Evidence) {
		r := record("api", `{"a":1}`)
		r.Project = project
		ev, err := episode.FromResult(r, episode.Call{ID: "c1", Name: "api"})
		if err != nil {
			t.Fatal(err)
		}
		facts, err := symbolic.Extract(symbolic.JSON(), ev)
		if err != nil {
			t.Fatal(err)
		}
		return facts[0], ev
	}
	a, _ := at("proj_a")
	b, inB := at("proj_b")
	if a.ID() == b.ID() {
		t.Error("two projects share a fact id")
	}
	if _, err := symbolic.Rederive(a.Row(), inB); !errors.Is(err, symbolic.ErrOtherEvidence) {
		t.Errorf("Rederive in another project = %v, want ErrOtherEvidence", err)
	}
}

func TestDeepNamesAreLeftOut(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"k":`, 2000) + "1" + strings.Repeat("}", 2000)
	got := symbolic.Read(evidence(t, "api", "", `{"a":1,"deep":`+deep+`}`), 0)
	if got.Parser != "json" || len(got.Facts) != 1 || got.LeftOut != 1 {
		t.Errorf("Read = %d facts, %d left out, want 1 and 1", len(got.Facts), got.LeftOut)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"a":[1,{}]}`, "a,b\n1,2\n3,4\n5,6", "HTTP/1.1 200 OK\nA: b\n", "Exit code 1", "a=1\nb=2", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"} {
		f.Add("tool", "{}", s)
	}
	f.Fuzz(func(t *testing.T, tool, arguments, content string) {
		ev, err := episode.FromResult(record(tool, content), episode.Call{ID: "c1", Name: "x" + tool, Arguments: arguments})
		if err != nil {
			return
		}
		r := symbolic.Read(ev, 8)
		if len(r.Facts) > 8 || (r.Parser == "") != (r.Summary == symbolic.NoStructure) || r.Parser == "" && r.Facts != nil {
			t.Errorf("Read = %+v", r)
		}
		for _, fact := range r.Facts {
			if got, err := symbolic.Rederive(fact.Row(), ev); err != nil || got != fact {
				t.Errorf("Rederive(%v) = %v, %v", fact, got, err)
			}
		}
	})
}
