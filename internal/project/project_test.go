package project_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"sakur4/internal/project"
)

func TestIDIsTheSameForEverySpellingOfARoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	want, canonical, err := project.ID(root)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^proj_[0-9a-f]{16}$`).MatchString(want) {
		t.Errorf("ID(%q) = %q, want proj_ and 16 hexadecimal digits", root, want)
	}
	for _, spelling := range []string{link, root + "/", root + "/../root", link + "/."} {
		got, c, err := project.ID(spelling)
		if err != nil || got != want || c != canonical {
			t.Errorf("ID(%q) = %q, %q, %v, want %q, %q", spelling, got, c, err, want, canonical)
		}
	}
}

func TestIDDiffersForEqualBaseNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for range 3 {
		root := filepath.Join(t.TempDir(), "same")
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		id, _, err := project.ID(root)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[id]; taken {
			t.Errorf("ID(%q) = ID(%q) = %q", root, other, id)
		}
		seen[id] = root
	}
}

func TestIDAndNamedRefuseNothing(t *testing.T) {
	t.Parallel()
	if id, _, err := project.ID(""); err == nil {
		t.Errorf("ID(\"\") = %q, want an error", id)
	}
	if id, _, err := project.ID(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Errorf("ID(missing) = %q, want an error", id)
	}
	if id, err := project.Named(""); err == nil {
		t.Errorf("Named(\"\") = %q, want an error", id)
	}
}

func TestNamedIsNoRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, canonical, err := project.ID(dir)
	if err != nil {
		t.Fatal(err)
	}
	named, err := project.Named(canonical)
	if err != nil {
		t.Fatal(err)
	}
	if named == root {
		t.Errorf("Named(%q) = ID(%q) = %q", canonical, canonical, named)
	}
	again, err := project.Named(canonical)
	if err != nil || again != named {
		t.Errorf("Named(%q) = %q, %v, want %q again", canonical, again, err, named)
	}
}

func TestIsID(t *testing.T) {
	t.Parallel()
	id, err := project.Named("one")
	if err != nil || !project.IsID(id) {
		t.Errorf("IsID(%q) = false, %v", id, err)
	}
	for _, s := range []string{"", "one", "proj_", id[1:], id + "0", "proj_ABCDEF0123456789"} {
		if project.IsID(s) {
			t.Errorf("IsID(%q) = true", s)
		}
	}
}
