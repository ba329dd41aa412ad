package symbolic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/internal/episode"
	"sakur4/symbolic"
	"sakur4/toolparse"
)

const goSource = `package p

import "fmt"

type T struct{ a int }

func (t *T) Do(x int) error { return fmt.Errorf("%d", x) }

func init() {}
func init() {}
`

func TestCodeSymbolsOfAFile(t *testing.T) {
	t.Parallel()
	ev, err := episode.FromFile("proj_a", "p/p.go", []byte(goSource))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := symbolic.Extract(symbolic.CodeSymbols("go"), ev)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range facts {
		got = append(got, fmt.Sprintf("%s %s:%d %s = %s", f.Kind(), f.FilePath(), f.Line(), f.QualifiedName(), f.Value()))
	}
	want := []string{
		"module p/p.go:1 p = package p",
		`import p/p.go:3 fmt = import "fmt"`,
		"struct p/p.go:5 T = type T struct",
		"method p/p.go:7 T.Do = func (t *T) Do(x int) error",
		"function p/p.go:9 init = func init()",
		"function p/p.go:10 init#2 = func init()",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Extract (-want +got):\n%s", diff)
	}
}

func TestCodeSymbolsOfAResult(t *testing.T) {
	t.Parallel()
	facts, err := symbolic.Extract(symbolic.CodeSymbols("go"), evidence(t, "read_file", `{"path":"p/p.go"}`, goSource))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pairs(facts)[3], "method :T.Do = func (t *T) Do(x int) error"; got != want {
		t.Errorf("fact 3 = %q, want %q", got, want)
	}
	if got := facts[3].FilePath(); got != "p/p.go" {
		t.Errorf("FilePath = %q, want p/p.go", got)
	}
	changed := evidence(t, "read_file", `{"path":"p/p.go"}`, "// moved\n"+goSource[:len(goSource)-30]+"\n")
	if _, err := symbolic.Rederive(facts[3].Row(), changed); err != nil {
		t.Errorf("Rederive of a moved symbol = %v, want the fact", err)
	}
}

func TestCodeSymbolsRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content string }{
		{"prose", "It was a dark and stormy night."},
		{"binary", "\x00\x01\x02"},
	} {
		var syntax *toolparse.SyntaxError
		if facts, err := symbolic.Extract(symbolic.CodeSymbols("go"), evidence(t, "read_file", "", c.content)); !errors.As(err, &syntax) {
			t.Errorf("Extract(%s) = %v, %v, want a syntax error", c.name, facts, err)
		}
	}
}

func TestCodeSymbolsOfEachLanguage(t *testing.T) {
	t.Parallel()
	for lang, c := range map[string]struct{ src, want string }{
		"python":     {"class A(B):\n    def m(self): pass\n", "method :A.m = def m(self)"},
		"py":         {"def f(x): return x\nX = 1\n", ""},
		"javascript": {"export class A {}\nA.prototype.m = function (x) {};\n", "method :A.m = A.prototype.m = function (x)"},
		"tsx":        {"type T = 1;\nconst V = () => <a>{b}</a>;\n", "function :V = const V = () =>"},
		"rust":       {"struct S;\nimpl S { fn f(&self) {} }\n", "method :S::f = fn f(&self)"},
		"java":       {"class A {\n  void f(int x) {}\n  void f(String x) {}\n}\n", "method :A.f(int) = void f(int x)"},
		"c":          {"#define N 1\nint f(int x) { return x; }\n", "function :f = int f(int x)"},
		"c++":        {"namespace n { int f(int x); }\n", "function :n::f(int) = int f(int x)"},
	} {
		facts, err := symbolic.Extract(symbolic.CodeSymbols(lang), evidence(t, "read_file", `{"path":"x"}`, c.src))
		if err != nil || len(facts) == 0 {
			t.Errorf("Extract(%s) = %v, %v", lang, facts, err)
			continue
		}
		if got := pairs(facts); c.want != "" && got[1] != c.want {
			t.Errorf("Extract(%s) = %q, want %q second", lang, got, c.want)
		}
		for _, f := range facts {
			if _, err := symbolic.Rederive(f.Row(), evidence(t, "read_file", `{"path":"x"}`, c.src)); err != nil {
				t.Errorf("Rederive(%s) = %v", f, err)
			}
		}
	}
}

// TestOutlineIsExtract compares the facts that stand beside the symbols with those of Extract, one by one.
func TestOutlineIsExtract(t *testing.T) {
	t.Parallel()
	long := "package p\nimport _ \"" + strings.Repeat("a/", 600) + "\"\nfunc f() { g() }\n"
	for _, src := range []string{goSource, long} {
		ev, err := episode.FromFile("proj_a", "p/p.go", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		want, err := symbolic.Extract(symbolic.CodeSymbols("go"), ev)
		if err != nil {
			t.Fatal(err)
		}
		facts, code, err := symbolic.Outline("go", ev)
		if err != nil {
			t.Fatal(err)
		}
		if len(facts) != len(code.Symbols) {
			t.Fatalf("Outline gives %d facts beside %d symbols", len(facts), len(code.Symbols))
		}
		var got []symbolic.Fact
		for i, f := range facts {
			if !f.Valid() {
				continue
			}
			got = append(got, f)
			if s := code.Symbols[i]; f.QualifiedName() != s.Qualified || f.Kind() != string(s.Kind) || f.Offset() != s.Start {
				t.Errorf("fact %v stands beside symbol %+v", f, s)
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(symbolic.Fact{})); diff != "" {
			t.Errorf("facts (-Extract +Outline):\n%s", diff)
		}
	}
	if _, _, err := symbolic.Outline("go", symbolic.Evidence{}); !errors.Is(err, symbolic.ErrNoEvidence) {
		t.Errorf("Outline of no evidence = %v, want ErrNoEvidence", err)
	}
}
