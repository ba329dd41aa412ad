package toolparse_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/toolparse"
)

func files(src string) ([]string, error) {
	list, err := toolparse.UnifiedDiff(src)
	var out []string
	for _, f := range list {
		s := fmt.Sprintf("%s %q %q", f.Change, f.OldPath, f.NewPath)
		if f.Binary {
			s += " binary"
		}
		if f.OldMode != f.NewMode {
			s += fmt.Sprintf(" %s→%s", f.OldMode, f.NewMode)
		}
		for _, h := range f.Hunks {
			s += fmt.Sprintf(" [%d,%d %d,%d %q +%d-%d=%d @%d:%d", h.OldStart, h.OldLines, h.NewStart, h.NewLines, h.Section, h.Added, h.Deleted, h.Context, h.Offset, h.Line)
			if h.OldNoNewline || h.NewNoNewline {
				s += fmt.Sprintf(" %v %v", h.OldNoNewline, h.NewNoNewline)
			}
			s += "]"
		}
		out = append(out, s)
	}
	return out, err
}

func TestUnifiedDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"git", "diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@ func f\n a\n-b\n+c\n", []string{
			`modify "x.go" "x.go" [1,2 1,2 "func f" +1-1=1 @65:5]`,
		}},
		{"plain with time stamps", "--- x\t2020-01-01 00:00:00\n+++ y\t2020-01-01\n@@ -1 +1 @@\n-a\n+b\n", []string{`modify "x" "y" [1,1 1,1 "" +1-1=0 @43:3]`}},
		{"words around it", "commit 1\nAuthor: x\n\n    --- not a header\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\nCommand exited with code 1", []string{`modify "x" "x" [1,1 1,1 "" +1-1=0 @58:8]`}},
		{"content that looks like a header", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n @@ -1 +1 @@\n", []string{`modify "x" "x" [1,2 1,2 "" +1-1=1 @16:3]`}},
		{"new and deleted", "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\ndiff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", []string{
			`new "" "n" →100644 [0,0 1,1 "" +1-0=0 @62:5]`, `delete "o" "" 100644→ [1,1 0,0 "" +0-1=0 @145:11]`,
		}},
		{"rename without change", "diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n", []string{`rename "old name" "new name"`}},
		{"mode, empty and binary files", "diff --git a/r.sh b/r.sh\nold mode 100644\nnew mode 100755\ndiff --git a/e e b/e e\nnew file mode 100644\nindex 0..e\ndiff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n", []string{
			`modify "r.sh" "r.sh" 100644→100755`, `new "" "e e" →100644`, `modify "b" "b" binary`,
		}},
		{"binary patch", "diff --git a/b b/b\nindex 1..2\nGIT binary patch\nliteral 3\nKc$_+\n\nliteral 0\nHcmV?\n\ndiff --git a/c b/c\nold mode 1\nnew mode 2\n", []string{
			`modify "b" "b" binary`, `modify "c" "c" 1→2`,
		}},
		{"quoted names", "diff --git \"a/caf\\303\\251\\t.txt\" \"b/caf\\303\\251\\t.txt\"\n--- \"a/caf\\303\\251\\t.txt\"\n+++ \"b/caf\\303\\251\\t.txt\"\n@@ -1 +1 @@\n-a\n+b\n", []string{
			"modify \"café\\t.txt\" \"café\\t.txt\" [1,1 1,1 \"\" +1-1=0 @107:4]",
		}},
		{"no line end", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", []string{
			`modify "x" "x" [1,1 1,1 "" +1-1=0 @16:3 true true]`,
		}},
		{"stripped context and carriage returns", "--- a/x\r\n+++ b/x\r\n@@ -1,3 +1,3 @@\r\n\r\n-a\r\n+b\r\n c\r\n", []string{`modify "x" "x" [1,3 1,3 "" +1-1=2 @18:3]`}},
		{"no prefix", "diff --git x y/z\n--- b/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", []string{`modify "x" "y/z" [1,1 1,1 "" +1-1=0 @33:4]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := files(c.in)
			if err != nil {
				t.Fatalf("UnifiedDiff(%q) = %v", c.in, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("UnifiedDiff(%q) (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

func TestUnifiedDiffErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, msg string }{
		{"", "no unified diff"},
		{"hello\n--- x\n+++ y\n", "no unified diff"},
		{"*** a\n--- b\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "no unified diff"},
		{"1c1\n< a\n---\n> b\n", "no unified diff"},
		{"@@ -1 +1 @@\n-a\n+b\n", "a hunk without a file"},
		{"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n", "a hunk is shorter"},
		{"--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n a\n+b\n", "other lines than its header"},
		{"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n?b\n", "none of context"},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline\n", "without a line"},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -x\n", "a bad hunk header"},
		{"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n", "a combined diff"},
		{"--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n- a\n", "a combined diff"},
	} {
		_, err := toolparse.UnifiedDiff(c.in)
		var syntax *toolparse.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(syntax.Msg, c.msg) {
			t.Errorf("UnifiedDiff(%q) = %v, want %q", c.in, err, c.msg)
		}
	}
}

func FuzzUnifiedDiff(f *testing.F) {
	for _, s := range []string{
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "diff --git \"a/\\303\" \"b/x\"\nrename from a\n", "Binary files a and b differ\n",
		"diff --git a/b b/b\nGIT binary patch\nliteral 3\nK\n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := toolparse.UnifiedDiff(s)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("UnifiedDiff(%q) = %d files, %v", s, len(list), err)
		}
		for _, file := range list {
			if !strings.HasPrefix(s[file.Offset:], file.Text) {
				t.Errorf("UnifiedDiff(%q): the head of %q is not at %d", s, file.Path(), file.Offset)
			}
			for _, h := range file.Hunks {
				if !strings.HasPrefix(s[h.Offset:], h.Text) || h.Context+h.Deleted != h.OldLines || h.Context+h.Added != h.NewLines {
					t.Errorf("UnifiedDiff(%q): hunk %+v", s, h)
				}
			}
		}
	})
}
