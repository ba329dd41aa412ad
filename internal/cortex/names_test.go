package cortex_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
)

var several = []cortex.Named{
	{Name: "Open", Package: "m/store", Path: "store/open.go", Kind: codesym.Function},
	{Name: "Open", Package: "m", Path: "m.go", Kind: codesym.Function},
	{Name: "T.Open", Package: "m", Path: "m.go", Kind: codesym.Method},
	{Name: "open", Package: "m/sys", Path: "sys/open_unix.go", Kind: codesym.Function},
	{Name: "open", Package: "m/sys", Path: "sys/open_windows.go", Kind: codesym.Function},
	{Name: "A.f(int)", Package: "com.x", Path: "A.java", Kind: codesym.Method},
	{Name: "A.f(Map<K,V>)", Package: "com.x", Path: "A.java", Kind: codesym.Method},
	{Name: "A.g(int)", Package: "com.x", Path: "A.java", Kind: codesym.Method},
	{Name: "init", Package: "m", Path: "m.go", Kind: codesym.Function},
	{Name: "init#2", Package: "m", Path: "m.go", Kind: codesym.Function},
	{Name: "net/http", Package: "m", Path: "m.go", Kind: codesym.ImportOf},
	{Name: "http", Package: "m/http", Path: "http/http.go", Kind: codesym.Module},
	{Name: "main", Package: "m/agent", Path: "agent/main.go", Clause: "main", Kind: codesym.Function},
	{Name: "main", Package: "m/replay", Path: "replay/main.go", Clause: "main", Kind: codesym.Function},
	{Name: "run", Package: "m/agent", Path: "agent/main.go", Clause: "main", Kind: codesym.Function},
	{Name: "check", Package: "m/store", Path: "store/x_test.go", Clause: "store_test", Kind: codesym.Function},
	{Name: "check", Package: "m/store", Path: "store/in_test.go", Clause: "store", Kind: codesym.Function},
	{Name: "Node", Package: "yaml.v3", Path: "yaml.v3/node.go", Clause: "yaml", Kind: codesym.Struct},
	{Name: "Dial", Package: "m/net/v2", Path: "net/v2/dial.go", Clause: "net", Kind: codesym.Function},
	{Name: "n::f", Path: "x.h", Kind: codesym.Function},
	{Name: "n::f", Path: "x.cc", Kind: codesym.Function},
	{Name: "X", Package: "y", Path: "y.ts", Kind: codesym.Interface},
	{Name: "X", Package: "y", Path: "y.ts", Kind: codesym.Class},
	{Name: "type system", Path: "README.md", Kind: codesym.Module},
}

// ofKeys returns the part of the project that a question is about, as the store gives it.
func ofKeys(question string) (list []cortex.Named) {
	for _, key := range cortex.Keys(question) {
		for _, n := range several {
			if cortex.Key(n.Name) == key {
				list = append(list, n)
			}
		}
	}
	return list
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question string
		want     []string // kind and full name
	}{
		{"T.Open", []string{"method m.go:T.Open"}},
		{"Open", []string{"function store/open.go:Open", "function m.go:Open"}},
		{"store.Open", []string{"function store/open.go:Open"}},
		{"m/store.Open", []string{"function store/open.go:Open"}},
		{"tore.Open", nil},
		{"open.go:Open", []string{"function store/open.go:Open"}},
		{"m.Open", []string{"function m.go:Open"}},
		{"m.T.Open", []string{"method m.go:T.Open"}},
		{"open", []string{"function sys/open_unix.go:open", "function sys/open_windows.go:open"}},
		{"open_unix.go:open", []string{"function sys/open_unix.go:open"}},
		{"A.f", []string{"method A.java:A.f(int)", "method A.java:A.f(Map<K,V>)"}},
		{"A.f(Map<K,V>)", []string{"method A.java:A.f(Map<K,V>)"}},
		{"f(int)", []string{"method A.java:A.f(int)"}},
		{"A.g()", []string{"method A.java:A.g(int)"}},
		{"store.Open()", []string{"function store/open.go:Open"}},
		{"method Open()", []string{"method m.go:T.Open"}},
		{"Nowhere()", nil},
		{"()", nil},
		{"com.x.A.g", []string{"method A.java:A.g(int)"}},
		{"g", []string{"method A.java:A.g(int)"}},
		{"init", []string{"function m.go:init"}},
		{"init#2", []string{"function m.go:init#2"}},
		{"net/http", []string{"import m.go:net/http"}},
		{"http", []string{"module http/http.go:http"}},
		{"import http", []string{"import m.go:net/http"}},
		{"n::f", []string{"function x.cc:n::f"}},
		{"x.h:n::f", []string{"function x.h:n::f"}},
		{"main.run", []string{"function agent/main.go:run"}},
		{"main.main", []string{"function agent/main.go:main", "function replay/main.go:main"}},
		{"agent.main", []string{"function agent/main.go:main"}},
		{"m/agent.main()", []string{"function agent/main.go:main"}},
		{"store_test.check", []string{"function store/x_test.go:check"}},
		{"m/store_test.check", []string{"function store/x_test.go:check"}},
		{"m/store.check", []string{"function store/in_test.go:check"}},
		{"store.check", []string{"function store/x_test.go:check", "function store/in_test.go:check"}},
		{"yaml.Node", []string{"struct yaml.v3/node.go:Node"}},
		{"yaml.v3.Node", []string{"struct yaml.v3/node.go:Node"}},
		{"net.Dial", []string{"function net/v2/dial.go:Dial"}},
		{"v2.Dial", []string{"function net/v2/dial.go:Dial"}},
		{"m.(*T).Open", []string{"method m.go:T.Open"}},
		{"(*T).Open", []string{"method m.go:T.Open"}},
		{"(*T)", nil},
		{"X", []string{"interface y.ts:X", "class y.ts:X"}},
		{"class X", []string{"class y.ts:X"}},
		{"type system", []string{"module README.md:type system"}},
		{"type X", []string{"interface y.ts:X", "class y.ts:X"}},
		{"type yaml.Node", []string{"struct yaml.v3/node.go:Node"}},
		{"func store.Open", []string{"function store/open.go:Open"}},
		{"func (*T).Open()", []string{"method m.go:T.Open"}},
		{"fn main.run", []string{"function agent/main.go:run"}},
		{"const X", nil},
		{"def Open", []string{"function store/open.go:Open", "function m.go:Open"}},
		{"", nil},
		{".", nil},
		{"Nowhere", nil},
	} {
		list := ofKeys(c.question)
		var got []string
		for _, i := range cortex.NewNames(list).Find(c.question) {
			got = append(got, fmt.Sprintf("%s %s", list[i].Kind, list[i].Full()))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("Find(%q) (-want +got):\n%s", c.question, diff)
		}
	}
}

func TestUniqueNameIsFoundAgain(t *testing.T) {
	t.Parallel()
	var got []string
	for _, n := range several {
		list := ofKeys(n.Name)
		for i := range list {
			if list[i] != n {
				continue
			}
			name := cortex.NewNames(list).Unique(i)
			got = append(got, name)
			if again := ofKeys(name); len(cortex.NewNames(again).Find(name)) != 1 || again[cortex.NewNames(again).Find(name)[0]] != n {
				t.Errorf("Find(%q) = %v in %v, want %v alone", name, cortex.NewNames(again).Find(name), again, n)
			}
		}
	}
	want := []string{"m/store.Open", "m.Open", "T.Open", "sys/open_unix.go:open", "sys/open_windows.go:open", "A.f(int)", "A.f(Map<K,V>)", "A.g(int)", "init", "init#2",
		"net/http", "http", "m/agent.main", "m/replay.main", "run", "m/store_test.check", "m/store.check", "Node", "Dial", "x.h:n::f", "n::f", "interface y.ts:X", "class y.ts:X", "type system"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Unique (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	keys := []string{"Close", "ListenAndServe", "Open", "OpenFile", "Opens", "Reopen", "Serve", "x"}
	for name, want := range map[string][]string{
		"Opne":          {"Open"},
		"open":          {"Open", "Opens", "Reopen", "OpenFile"},
		"store.Opened":  {"Open", "Opens"},
		"ListenAndServ": {"ListenAndServe"},
		"zzzzzz":        nil,
		"":              nil,
	} {
		if diff := cmp.Diff(want, cortex.Nearest(name, keys, 4)); diff != "" {
			t.Errorf("Nearest(%q) (-want +got):\n%s", name, diff)
		}
	}
}

func TestPackageOf(t *testing.T) {
	t.Parallel()
	modules := []cortex.Module{{Dir: ".", Path: "example.com/m"}, {Dir: "tools", Path: "example.com/tools"}, {Dir: "tools/x", Path: ""}}
	for _, c := range []struct {
		lang           codesym.Lang
		file, declared string
		modules        []cortex.Module
		want           string
	}{
		{codesym.Go, "a.go", "", modules, "example.com/m"},
		{codesym.Go, "d/e/a.go", "", modules, "example.com/m/d/e"},
		{codesym.Go, "tools/a.go", "", modules, "example.com/tools"},
		{codesym.Go, "tools/d/a.go", "", modules, "example.com/tools/d"},
		{codesym.Go, "toolsmith/a.go", "", modules, "example.com/m/toolsmith"},
		{codesym.Go, "tools/x/a.go", "", modules, "tools/x"},
		{codesym.Go, ".hidden/a.go", "", modules, "example.com/m/.hidden"},
		{codesym.Go, "net/http/a.go", "", []cortex.Module{{Dir: ".", Path: "std"}}, "net/http"},
		{codesym.Go, "a.go", "", nil, ""},
		{codesym.Go, "d/a.go", "", nil, "d"},
		{codesym.Java, "src/A.java", "com.x", nil, "com.x"},
		{codesym.Python, "a/b/__init__.py", "", nil, "a.b"},
		{codesym.Python, "a/b.py", "", nil, "a.b"},
		{codesym.TypeScript, "src/x.ts", "", nil, "src/x"},
		{codesym.C, "lib/x.c", "", nil, "lib"},
		{codesym.C, "x.c", "", nil, ""},
	} {
		if got := cortex.PackageOf(c.lang, c.file, c.declared, c.modules); got != c.want {
			t.Errorf("PackageOf(%s, %s) = %q, want %q", c.lang, c.file, got, c.want)
		}
	}
	for text, want := range map[string]string{"module a/b\n": "a/b", "// c\nmodule \"x\" // y\n\ngo 1.26\n": "x", "modules x\n": "", "": "", "module\tq\n": "q"} {
		if got := cortex.ModulePath(text); got != want {
			t.Errorf("ModulePath(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestExported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang codesym.Lang
		src  string
		want []string // names of the exported symbols
	}{
		{codesym.Go, "package p\nimport \"fmt\"\ntype T struct{}\ntype u struct{}\nfunc (T) M() {}\nfunc (T) n() {}\nfunc (u) O() {}\nconst C = 1\n", []string{"T", "T.M", "C"}},
		{codesym.Python, "import os\ndef f(): pass\ndef _g(): pass\nclass A:\n  def __init__(self): pass\n  def _x(self): pass\n", []string{"f", "A", "A.__init__"}},
		{codesym.TypeScript, "export class A { f() {} private g() {} #h() {} }\nfunction q() {}\nexport const c = () => 1;\n", []string{"A", "A.f", "c"}},
		{codesym.Rust, "pub struct S;\nstruct T;\nimpl S { pub fn f() {} fn g() {} }\n", []string{"S", "S::f"}},
		{codesym.Java, "package x;\npublic class A { public void f() {} void g() {} }\nclass B { public void h() {} }\n", []string{"x", "A", "A.f()"}},
		{codesym.C, "int f(void) { return 1; }\nstatic int g(void) { return 2; }\n", []string{"f"}},
	} {
		f, err := codesym.Parse(c.lang, c.src)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, s := range f.Symbols {
			if cortex.Exported(f, i) && s.Kind != codesym.Module || s.Kind == codesym.Module && c.lang == codesym.Java {
				got = append(got, s.Qualified)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: exported symbols (-want +got):\n%s", c.lang, diff)
		}
	}
}
