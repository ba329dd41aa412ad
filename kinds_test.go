package sakur4_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/internal/storetest"
	"sakur4/symbolic"
)

// sources hold every kind of symbol, and of edge between symbols.
var sources = fstest.MapFS{
	"go.mod": {Data: []byte("module m\n")},
	"p/p.go": {Data: []byte(`package p

import "fmt"

const Max = 3

type S struct{}

type T int

type I interface{ M() }

func (S) M() { fmt.Println(Max) }

func F() { S{}.M() }
`)},
	"q/q.go": {Data: []byte("package q\n\nimport \"m/p\"\n\nfunc G() int { p.F(); return p.Max }\n")},
	"a.py":   {Data: []byte("class A:\n    def f(self):\n        pass\n\n\nclass B(A):\n    pass\n")},
	"e.ts":   {Data: []byte("export enum E { A }\n\nexport { F } from \"./f\";\n")},
	"t.rs":   {Data: []byte("pub trait Tr { fn f(&self); }\n\npub struct R;\n\nimpl Tr for R { fn f(&self) {} }\n\nmod m { }\n")},
}

// TestEveryFactKindIsWritten: each kind that the schema admits comes out of a recorded result or a file through the public calls. A kind that nothing writes has no
// place in the schema.
func TestEveryFactKindIsWritten(t *testing.T) {
	t.Parallel()
	d := quick(t)
	ctx := t.Context()
	d.user("Look.")
	for name, text := range structured {
		d.run(name, text)
	}
	d.run("settings", "Name: worker\nState: active\nShards: 12\n")
	log := d.run("log", "the worker of shard 12 waits")
	if facts, err := d.eng.Extract(ctx, log.Episode, symbolic.Regexp(regexp.MustCompile(`shard (\d+)`))); err != nil || len(facts) != 1 {
		t.Errorf("Extract(shard) = %v, %v, want one fact", facts, err)
	}
	if _, err := d.eng.Index(ctx, sakur4.IndexOptions{FS: sources}); err != nil {
		t.Fatalf("Index() = %v", err)
	}

	written := map[string]bool{}
	for row, err := range d.eng.Facts(ctx, sakur4.FactFilter{}) {
		if err != nil {
			t.Fatalf("Facts() = %v", err)
		}
		written[row.Kind] = true
	}
	for _, kind := range symbolic.Kinds() {
		if !written[kind] {
			t.Errorf("nothing wrote a fact of kind %s", kind)
		}
	}
}

// TestEveryEdgeKindIsWritten is the same for the edges of the dependency graph.
func TestEveryEdgeKindIsWritten(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	d := newTrial(t, path, fixed(32768))
	ctx := t.Context()
	d.user("Look.")
	d.say("", sakur4.ToolCall{ID: "r", Name: "read_file", Arguments: `{"path":"conf/shards.json"}`})
	fact := d.result("r", `{"shards": 12}`).Facts[0]
	if _, err := d.s.Interpret(ctx, sakur4.FactAnchor(sakur4.FactID(fact.FactID)), "There are twelve shards."); err != nil {
		t.Fatalf("Interpret() = %v", err)
	}
	d.user("What does conf/shards.json say?")
	said := d.say("Twelve.")
	d.commit(sakur4.Turn{Role: sakur4.RoleUser, Content: "Thirteen since today.", Corrects: said.Episode})
	d.calls++
	fold := fmt.Sprintf("c%d", d.calls)
	d.say("", sakur4.ToolCall{ID: fold, Name: "fold", Arguments: "{}"})
	id, err := d.s.Fold(ctx, "look further", "")
	if err != nil {
		t.Fatalf("Fold() = %v", err)
	}
	d.result(fold, "opened")
	d.run("ls", "a\nb\n")
	d.calls++
	unfold := fmt.Sprintf("c%d", d.calls)
	d.say("", sakur4.ToolCall{ID: unfold, Name: "unfold", Arguments: "{}"})
	if err := d.s.Unfold(ctx, id, "There are two files."); err != nil {
		t.Fatalf("Unfold() = %v", err)
	}
	d.result(unfold, "closed")
	if _, err := d.eng.Index(ctx, sakur4.IndexOptions{FS: sources}); err != nil {
		t.Fatalf("Index() = %v", err)
	}
	for row, err := range d.eng.Facts(ctx, sakur4.FactFilter{}) {
		if err != nil {
			t.Fatalf("Facts() = %v", err)
		}
		_, err := d.eng.Impact(ctx, row.QualifiedName, 1)
		if err != nil && !errors.Is(err, sakur4.ErrNotFound) { // a tool's fact, or one of several of a name
			t.Fatalf("Impact(%s) = %v", row.QualifiedName, err)
		}
	}

	raw := storetest.Raw(t, path)
	column := func(sql string) (list []string) {
		rows, err := raw.Query(sql)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			list = append(list, r[0].(string))
		}
		return list
	}
	schema := column(`SELECT sql FROM sqlite_schema WHERE name = 'dependency_graph_edge'`)[0]
	_, list, _ := strings.Cut(schema, "CHECK (kind")
	list, _, _ = strings.Cut(list, ")")
	var kinds []string
	for _, quoted := range regexp.MustCompile(`'\w+'`).FindAllString(list, -1) {
		kinds = append(kinds, strings.Trim(quoted, "'"))
	}
	slices.Sort(kinds)
	if diff := cmp.Diff(kinds, column(`SELECT DISTINCT kind FROM dependency_graph_edge ORDER BY kind`)); diff != "" {
		t.Errorf("kinds of edges (-want +got):\n%s", diff)
	}
}
