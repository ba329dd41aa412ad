package symbolic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/episode"
	"sakur4/symbolic"
)

// evidence records a result of the tool and returns it as evidence.
func evidence(t testing.TB, tool, arguments, content string) symbolic.Evidence {
	t.Helper()
	ev, err := episode.FromResult(record(tool, content), episode.Call{ID: "c1", Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("FromResult(%q): %v", tool, err)
	}
	return ev
}

// recorded is evidence for the examples.
func recorded(tool, arguments, content string) symbolic.Evidence {
	ev, err := episode.FromResult(record(tool, content), episode.Call{ID: "c1", Name: tool, Arguments: arguments})
	if err != nil {
		panic(err)
	}
	return ev
}

func record(tool, content string) episode.Record {
	return episode.Record{ID: "ep_1", Project: "proj_a", Session: "s", Role: episode.Tool, CallID: "c1", ToolName: tool, Content: content}
}

// pairs returns kind, place behind the call's part of the name, and value of each fact.
func pairs(facts []symbolic.Fact) []string {
	var out []string
	for _, f := range facts {
		_, place, _ := strings.Cut(f.QualifiedName(), "#")
		if len(place) >= 8 {
			place = place[8:]
		}
		out = append(out, f.Kind()+" "+place+" = "+f.Value())
	}
	return out
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tool, content string
		max                 int
		parser              string
		left                int
		want                []string
	}{
		{"prose", "ask", "The exit code was 1, I think.\nSo it goes.", 0, "", 0, nil},
		{"empty", "bash", "", 0, "", 0, nil},
		{"json", "api", `{"a":1,"a":1.50,"b":{"c/d":["x",null,{}]}}`, 0, "json", 0, []string{
			"json_field /a = 1", "json_field /a#2 = 1.50", "json_field /b/c~1d/0 = x", "json_field /b/c~1d/1 = null", "json_field /b/c~1d/2 = {}",
		}},
		{"bound", "api", `[1,2,3,4]`, 3, "json", 1, []string{"json_field /0 = 1", "json_field /1 = 2", "json_field /2 = 3"}},
		{"suffix already taken", "api", `{"a#2":0,"a":1,"a":2}`, 0, "json", 0, []string{"json_field /a#2 = 0", "json_field /a = 1", "json_field /a#3 = 2"}},
		{"exit code", "Bash", "Exit code 2\nboom", 0, "exit_code", 0, []string{"tool_exit_code :exit_code = 2"}},
		{"exit code in json", "bash", `{"exit_code":3,"output":"x"}`, 0, "json", 0, []string{
			"tool_exit_code :exit_code = 3", "json_field /exit_code = 3", "json_field /output = x",
		}},
		{"scalar is no structure", "api", `3`, 0, "", 0, nil},
		{"scalar where the tool says json", "jq", `3`, 0, "json", 0, []string{"json_field  = 3"}},
		{"parser refuses, bytes show another", "jq", "boom\n\nCommand exited with code 4", 0, "exit_code", 0, []string{"tool_exit_code :exit_code = 4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := symbolic.Read(evidence(t, c.tool, "{}", c.content), c.max)
			if got.Parser != c.parser || got.LeftOut != c.left {
				t.Errorf("Read(%q) parser %q, left out %d, want %q, %d", c.content, got.Parser, got.LeftOut, c.parser, c.left)
			}
			if c.parser == "" && got.Summary != symbolic.NoStructure {
				t.Errorf("Read(%q) summary %q, want %q", c.content, got.Summary, symbolic.NoStructure)
			}
			if diff := cmp.Diff(c.want, pairs(got.Facts)); diff != "" {
				t.Errorf("Read(%q) facts (-want +got):\n%s", c.content, diff)
			}
		})
	}
}

func TestNaturalKey(t *testing.T) {
	t.Parallel()
	id := func(tool, arguments string) string {
		facts, err := symbolic.Extract(symbolic.JSON(), evidence(t, tool, arguments, `{"a":1}`))
		if err != nil || len(facts) != 1 {
			t.Fatalf("Extract = %v, %v", facts, err)
		}
		return facts[0].ID()
	}
	base := id("read_file", `{"path":"a.go","n":1}`)
	for _, same := range []string{`{"n":1,"path":"a.go"}`, " { \"n\" : 1 ,\n\"path\":\"\\u0061.go\"}"} {
		if got := id("read_file", same); got != base {
			t.Errorf("arguments %s give another id than the same in another spelling", same)
		}
	}
	for _, other := range []string{`{"path":"b.go","n":1}`, `{"path":"a.go","n":1.0}`, `{"path":"a.go","n":"1"}`, `{"path":"a.go"}`, `not json`, ``} {
		if got := id("read_file", other); got == base {
			t.Errorf("arguments %s give the id of another call", other)
		}
	}
	if id("read", `{"path":"a.go","n":1}`) == base {
		t.Error("another tool gives the same id")
	}
}

// TestFactsOfAResultAreNeighbours: what is recorded together has ids that sort together.
func TestFactsOfAResultAreNeighbours(t *testing.T) {
	t.Parallel()
	const same = len("sym_") + 6
	ids := func(arguments string) (list []string) {
		facts, err := symbolic.Extract(symbolic.JSON(), evidence(t, "api", arguments, `{"a":1,"b":{"c#d":2,"e":3}}`))
		if err != nil || len(facts) != 3 {
			t.Fatalf("Extract = %v, %v, want 3 facts", facts, err)
		}
		for _, f := range facts {
			list = append(list, f.ID())
		}
		return list
	}
	one, two := ids(`{"n":1}`), ids(`{"n":2}`)
	for i := range one {
		if one[i][:same] != one[0][:same] || two[i][:same] != two[0][:same] {
			t.Errorf("ids of one result do not begin alike: %q, %q", one, two)
		}
	}
	if one[0][:same] == two[0][:same] {
		t.Errorf("ids of two results begin alike: %q, %q", one[0], two[0])
	}
	file := []string{symbolic.FactID("p", "Name", "function", "a.go"), symbolic.FactID("p", "Other", "type", "a.go"), symbolic.FactID("p", "Name", "function", "b.go")}
	if file[0][:same] != file[1][:same] || file[0][:same] == file[2][:same] {
		t.Errorf("ids = %q, want the first two to begin alike and the third not", file)
	}
}

func TestZeroValuesAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := symbolic.Extract(symbolic.JSON(), symbolic.Evidence{}); !errors.Is(err, symbolic.ErrNoEvidence) {
		t.Errorf("Extract of zero evidence = %v, want ErrNoEvidence", err)
	}
	for name, src := range map[string]symbolic.FactSource{"zero": {}, "Regexp(nil)": symbolic.Regexp(nil)} {
		if _, err := symbolic.Extract(src, evidence(t, "bash", "", "{}")); !errors.Is(err, symbolic.ErrNoSource) {
			t.Errorf("Extract with %s = %v, want ErrNoSource", name, err)
		}
	}
	if got := symbolic.Read(symbolic.Evidence{}, 0); got.Parser != "" || got.Facts != nil || got.Summary != symbolic.NoStructure {
		t.Errorf("Read of zero evidence = %+v", got)
	}
	if _, err := symbolic.Rederive(symbolic.Row{Source: "json"}, symbolic.Evidence{}); !errors.Is(err, symbolic.ErrNoEvidence) {
		t.Errorf("Rederive from zero evidence = %v, want ErrNoEvidence", err)
	}
	if (symbolic.Fact{}).Valid() || (symbolic.Fact{}).String() != "no fact" || (symbolic.FactSource{}).String() != "" {
		t.Error("a zero value passes for something")
	}
}

func TestRederive(t *testing.T) {
	t.Parallel()
	ev := evidence(t, "api", "{}", `{"a":1,"b":"x"}`)
	facts, err := symbolic.Extract(symbolic.JSON(), ev)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		got, err := symbolic.Rederive(f.Row(), ev)
		if err != nil || got != f {
			t.Errorf("Rederive(%v) = %v, %v, want the fact again", f, got, err)
		}
	}
	row := facts[0].Row()
	rekey := func(r *symbolic.Row) { r.FactID = symbolic.FactID(r.Project, r.QualifiedName, r.Kind, r.FilePath) }
	for _, c := range []struct {
		name   string
		tamper func(*symbolic.Row)
		want   error
	}{
		{"value", func(r *symbolic.Row) { r.Value = "2" }, symbolic.ErrStale},
		{"hash", func(r *symbolic.Row) { r.ASTHash = strings.Repeat("0", 64) }, symbolic.ErrStale},
		{"id", func(r *symbolic.Row) { r.FactID = "sym_0" }, symbolic.ErrBadRow},
		{"source", func(r *symbolic.Row) { r.Source = "exit_code" }, symbolic.ErrGone},
		{"no source", func(r *symbolic.Row) { r.Source = "" }, symbolic.ErrNoSource},
		{"model as source", func(r *symbolic.Row) { r.Source = "model" }, symbolic.ErrNoSource},
		{"kind", func(r *symbolic.Row) { r.Kind = "function"; rekey(r) }, symbolic.ErrGone},
		{"name", func(r *symbolic.Row) { r.QualifiedName += "x"; rekey(r) }, symbolic.ErrGone},
		{"file", func(r *symbolic.Row) { r.FilePath = "x"; rekey(r) }, symbolic.ErrGone},
		{"project", func(r *symbolic.Row) { r.Project = "proj_b"; rekey(r) }, symbolic.ErrOtherEvidence},
		{"episode", func(r *symbolic.Row) { r.Episode = "ep_2" }, symbolic.ErrOtherEvidence},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bad := row
			c.tamper(&bad)
			got, err := symbolic.Rederive(bad, ev)
			if !errors.Is(err, c.want) || got.Valid() {
				t.Errorf("Rederive = %v, %v, want %v", got, err, c.want)
			}
			var stale *symbolic.StaleError
			if errors.As(err, &stale) && (stale.Current != "1" || stale.Row != bad) {
				t.Errorf("StaleError = %+v, want the row and the current value 1", stale)
			}
		})
	}
	t.Run("position is never taken from the row", func(t *testing.T) {
		t.Parallel()
		bad := row
		bad.Offset, bad.Line = 99, 99
		if got, err := symbolic.Rederive(bad, ev); err != nil || got != facts[0] {
			t.Errorf("Rederive = %v, %v, want the true fact", got, err)
		}
	})
}

func TestLongValuesAreCutAndHashedWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", symbolic.MaxValueBytes)
	one, err := symbolic.Extract(symbolic.JSON(), evidence(t, "api", "", `["`+long+`a"]`))
	if err != nil {
		t.Fatal(err)
	}
	two, err := symbolic.Extract(symbolic.JSON(), evidence(t, "api", "", `["`+long+`b"]`))
	if err != nil {
		t.Fatal(err)
	}
	if v := one[0].Value(); len(v) > symbolic.MaxValueBytes+40 || !strings.HasSuffix(v, "… [4097 more bytes]") {
		t.Errorf("value of %d bytes ends %q", len(v), v[len(v)-30:])
	}
	if one[0].Hash() == two[0].Hash() {
		t.Error("values that differ behind the cut have the same hash")
	}
}

func TestCodeSymbolsWithoutParser(t *testing.T) {
	t.Parallel()
	_, err := symbolic.Extract(symbolic.CodeSymbols("cobol"), evidence(t, "read_file", "", "x"))
	if !errors.Is(err, symbolic.ErrUnsupportedLanguage) {
		t.Errorf("Extract = %v, want ErrUnsupportedLanguage", err)
	}
}
