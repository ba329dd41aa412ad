package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sakur4"
)

// codeRoot is a folder with a caller and what it calls.
func codeRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module m\n",
		"a/a.go":  "package a\n\ntype T struct{}\n\nfunc (T) Do(n int) {}\n",
		"b/b.go":  "package b\n\nimport \"m/a\"\n\nfunc Use() { a.T{}.Do(1) }\n\nfunc Deep() { Use() }\n",
		"c/c.txt": "words\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestImpactAndMap(t *testing.T) {
	t.Parallel()
	root, db := codeRoot(t), filepath.Join(t.TempDir(), "a.db")
	for _, c := range []struct {
		args     []string
		code     int
		out, err string // regular expressions
	}{
		{[]string{"index"}, 0, `.`, `^$`},
		{[]string{"impact", "T.Do"}, 0, `(?s)method T\.Do, a/a\.go:5.*2 dependents within 2 steps.*Use calls at b/b\.go:5 \(receiver type, 0\.90\)\n.*func Use\(\).*Deep calls Use`, `^$`},
		{[]string{"impact", "-depth", "1", "-json", "T.Do"}, 0, `^\{"symbol":\{"id":"sym_.*"state":"fresh"`, `^$`},
		{[]string{"impact", "-depth", "1", "-go-types", "T.Do"}, 0, `Use calls at b/b\.go:5 \(exact, 1\.00\)`, `^$`},
		{[]string{"impact", "T.Dp"}, 1, `^$`, `no symbol "T.Dp"; the nearest are`},
		{[]string{"impact"}, 2, `^$`, `impact needs the name`},
		{[]string{"map"}, 0, `(?s)a/a\.go:\n  .*func Use\(\)\n.*\(4 definitions in \d+ tokens, 0 more\)`, `^$`},
		{[]string{"map", "-budget", "6", "-names"}, 0, `(?s)^<sakur4:note kind="repo-map">\nT.*\(\d definitions in \d+ tokens, [123] more\)`, `^$`},
		{[]string{"map", "-budget", "1"}, 1, `^$`, `repo map`},
		{[]string{"map", "-focus", "b", "-json"}, 0, `^\{"text":"`, `^$`},
		{[]string{"map", "-budget", "-1"}, 2, `^$`, `must not be negative`},
		{[]string{"map", "words"}, 2, `^$`, `unexpected argument`},
	} {
		args := append([]string{c.args[0], "-root", root, "-db", db}, c.args[1:]...)
		got := runAgent(t, "", args...)
		if got.code != c.code || !regexp.MustCompile(c.out).MatchString(got.out) || !regexp.MustCompile(c.err).MatchString(got.err) {
			t.Errorf("agent %q = %d, %q, %q; want %d, %s, %s", c.args, got.code, got.out, got.err, c.code, c.out, c.err)
		}
	}
}

// TestCodeTools: the model may ask before anything is indexed, by either form of a tool's name.
func TestCodeTools(t *testing.T) {
	t.Parallel()
	e, err := sakur4.Open(t.Context(), ":memory:", &sakur4.Options{ProjectRoot: codeRoot(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	a := &agent{eng: e, ses: e.Session("s")}
	a.tools = a.toolset()
	for _, c := range []struct{ name, args, want string }{
		{"code.impact_of_change", `{"name":"T.Do"}`, "Use calls at b/b.go:5"},
		{"code_impact_of_change", `{"name":"T.Do","depth":1,"exact":true}`, "(exact, 1.00)"},
		{"code_impact_of_change", `{"name":"Nothing"}`, "error: sakur4: no symbol"},
		{"code.get_repo_map", `{}`, "func Use()"},
		{"code_get_repo_map", `{"budget":100,"focus":["b"],"names_only":true}`, "T.Do\n"},
		{"code_get_repo_map", `{"size":1}`, "error: arguments"},
	} {
		if got := a.call(t.Context(), sakur4.ToolCall{Name: c.name, Arguments: c.args}); !strings.Contains(got, c.want) {
			t.Errorf("%s(%s) = %q, want %q in it", c.name, c.args, got, c.want)
		}
	}
}
