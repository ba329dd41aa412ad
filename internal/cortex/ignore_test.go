package cortex_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sakur4/internal/cortex"
)

// files makes a tree of files that hold their own name.
func files(names ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, n := range names {
		m[n] = &fstest.MapFile{Data: []byte(n)}
	}
	return m
}

// met returns the paths that a walk meets.
func met(t *testing.T, m fstest.MapFS, exclude ...string) []string {
	t.Helper()
	tree, err := cortex.Walk(t.Context(), m, exclude)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range tree.Entries {
		if path.Base(e.Path) != ".gitignore" {
			out = append(out, e.Path)
		}
	}
	return out
}

// TestWalkIgnoresAsGitDoes holds what git 2.39 answers: "git check-ignore --stdin" over the files of each tree.
func TestWalkIgnoresAsGitDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		rules         map[string]string // by folder
		ignored, kept []string
	}{
		{"names", map[string]string{"": "*.o\nbuild\nfoo/\n# comment\n\n\\#hash\n\\!bang\nspace \\ \ntrail   \n"},
			[]string{"!bang", "#hash", "a.o", "build", "d/a.o", "d/build", "d/foo/x", "space  ", "trail"},
			[]string{"a.oo", "comment", "foo", "space"}},
		{"anchored", map[string]string{"": "/top\na/b\n/x/y/\ndoc/*.txt\n"},
			[]string{"a/b", "doc/a.txt", "top"},
			[]string{"d/a/b", "d/doc/a.txt", "d/top", "doc/d/a.txt", "x/y"}},
		{"negated", map[string]string{"": "*.log\n!keep.log\n/dir/*\n!/dir/in\n/gone/\n!/gone/x\n"},
			[]string{"a.log", "dir/a", "dir/d/e", "gone/x"},
			[]string{"d/keep.log", "dir/in", "keep.log"}},
		{"stars", map[string]string{"": "**/logs\na/**/b\nc/**\n**/d/*.x\ne**f\n***\\.zz\ng/**/**/h\n"},
			[]string{"a.zz", "a/b", "a/x/b", "a/x/y/b", "d/a.x", "ef", "exf", "g/h", "g/x/h", "g/x/y/h", "logs", "q/a.zz", "x/d/a.x", "x/logs", "x/y/logs/z"},
			[]string{"c", "e/f", "x/d/y/a.x", "xa/b"}},
		{"classes", map[string]string{"": "[abc].t\n[!x-z].u\n[[:digit:]]9\n[]]r\n[a-]s\n[\\]]v\n[z-a]w\n?.q\n[a/b]k\n[k\nx[\n[^m].n\n[[:nope:]]p\n"},
			[]string{"-s", "99", "]r", "]v", "a.t", "a.u", "ak", "as", "o.n", "x.q", "zw"},
			[]string{":p", "[k", "a/bk", "a9", "ap", "bs", "d.t", "k", "m.n", "x.u", "x[", "xx.q"}},
		{"escapes", map[string]string{"": "a\\*b\n\\a\\b\nc\\?d\ne\\\\f\ng\\\n\\*\n"},
			[]string{"*", "a*b", "ab", "c?d", "e\\f"},
			[]string{"axb", "cxd", "g", "g\\", "z"}},
		{"nested", map[string]string{"": "*.tmp\n/only\n", "sub": "!keep.tmp\nlocal\n/rooted\n", "sub/deep": "keep.tmp\n!local\nmid/x\n"},
			[]string{"a.tmp", "keep.tmp", "only", "sub/a.tmp", "sub/deep/keep.tmp", "sub/deep/mid/x", "sub/local", "sub/rooted"},
			[]string{"local", "rooted", "sub/d/rooted", "sub/deep/d/mid/x", "sub/deep/local", "sub/keep.tmp", "sub/mid/x", "sub/only"}},
		{"reincluded", map[string]string{"": "/*\n!/src\n/src/*\n!/src/keep\n"},
			[]string{"a", "b/c", "src/d/keep", "src/x"},
			[]string{"src/keep"}},
		{"windows", map[string]string{"": "\ufeffbom\r\ncr\r\nplain\n"},
			[]string{"bom", "cr", "plain"},
			[]string{"cr\r"}},
		{"utf8", map[string]string{"": "?.é\nü*\n"},
			[]string{"a.é", "üx"},
			[]string{"xü"}},
		{"odd", map[string]string{"": "/\n//\n!\n**\n!**/\n!*.go\n"},
			[]string{"a", "b/c"},
			[]string{"d/x.go", "x.go"}},
		{"dirs", map[string]string{"": "**/\n!keep/\n"},
			[]string{"d/f", "d/keep/f"},
			[]string{"f", "keep/f"}},
		{"slashes", map[string]string{"": "a//b\nc/./d\n/e/\n\\/f\n"},
			[]string{"e/x"},
			[]string{"a/b", "c/d", "d/e/x", "f"}},
		{"blank", map[string]string{"": "   \n\t\n a\nb\t\n"},
			[]string{" a", "b\t"},
			[]string{"a", "b"}},
	} {
		m := files(append(slices.Clone(c.ignored), c.kept...)...)
		for dir, text := range c.rules {
			m[path.Join(dir, ".gitignore")] = &fstest.MapFile{Data: []byte(text)}
		}
		if diff := cmp.Diff(c.kept, met(t, m), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: files that the walk meets (-git +got):\n%s", c.name, diff)
		}
		if root := c.rules[""]; len(c.rules) == 1 && !strings.Contains(root, "\n\n") {
			// The same patterns from the caller mean the same.
			delete(m, ".gitignore")
			if diff := cmp.Diff(c.kept, met(t, m, strings.Split(strings.TrimPrefix(root, "\ufeff"), "\n")...), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: files that the walk meets with Exclude (-git +got):\n%s", c.name, diff)
			}
		}
	}
}

func TestExcludeDecidesBeforeTheTree(t *testing.T) {
	t.Parallel()
	m := files("a.go", "b.go", "d/c.go", "d/b.go", ".git/x.go", "d/.git", "e/.hg/y.go", ".svn/z.go")
	m[".gitignore"] = &fstest.MapFile{Data: []byte("a.go\n!b.go\n")}
	if diff := cmp.Diff([]string{"a.go", "d/c.go"}, met(t, m, "!a.go", "b.go")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// FuzzIgnore looks for patterns that panic, and holds two laws: a pattern list followed by "!**" ignores nothing, and one followed by "**" everything.
func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"*.o\n", "**/a/**\n!b", "[[:alpha:]-z]x\\", "[", "a\\", strings.Repeat("a*", 50) + "b", strings.Repeat("**/a/", 50) + "b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := strings.Repeat("a", 60)
		m := files(name, "b/"+name, "b/c")
		met(t, m, text)
		if got := met(t, m, text, "!**"); len(got) != len(m) {
			t.Errorf("Walk with %q, then \"!**\" = %q, want all", text, got)
		}
		if got := met(t, m, text, "**"); len(got) != 0 {
			t.Errorf("Walk with %q, then \"**\" = %q, want none", text, got)
		}
	})
}
