package cortex_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/cortex"
)

func TestWalkListsWhatItDoesNotFollow(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.go"), "package a")
	write(t, filepath.Join(outside, "secret.go"), "package secret")
	for name, target := range map[string]string{"link.go": "a.go", "loop": ".", "out": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bad\xffname.go"), nil, 0o600); err != nil {
		t.Skip(err)
	}
	tree, err := cortex.Walk(t.Context(), os.DirFS(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]cortex.Reason{}
	for _, e := range tree.Entries {
		got[e.Path] = e.Skip
	}
	want := map[string]cortex.Reason{"a.go": "", "bad\ufffdname.go": cortex.BadName, "link.go": cortex.Link, "loop": cortex.Link, "out": cortex.Link}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// brokenFS fails to read some folders.
type brokenFS struct {
	fstest.MapFS
	broken map[string]error
}

func (b brokenFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := b.broken[name]; err != nil {
		return nil, err
	}
	return b.MapFS.ReadDir(name)
}

func TestWalkOfFoldersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	fsys := brokenFS{files("a.go", "d/b.go", "gone/c.go"), map[string]error{"d": fs.ErrPermission, "gone": fs.ErrNotExist}}
	tree, err := cortex.Walk(t.Context(), fsys, nil)
	if err != nil || len(tree.Entries) != 2 || tree.Entries[1].Path != "d" || !errors.Is(tree.Entries[1].Err, fs.ErrPermission) {
		t.Errorf("Walk() = %+v, %v, want a.go and the error of d", tree, err)
	}
	fsys.broken["."] = fs.ErrPermission
	if _, err := cortex.Walk(t.Context(), fsys, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Walk() of a root that cannot be read = %v, want its error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cortex.Walk(ctx, files("a.go"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Walk() after cancel = %v", err)
	}
}

func TestSameIsSureOrSilent(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		name  string
		known cortex.Known
		entry cortex.Entry
		want  bool
	}{
		{"as it was", cortex.Known{Size: 1, Modified: at, Indexed: at.Add(time.Minute), Version: 2}, cortex.Entry{Size: 1, Modified: at}, true},
		{"another size", cortex.Known{Size: 2, Modified: at, Indexed: at.Add(time.Minute), Version: 2}, cortex.Entry{Size: 1, Modified: at}, false},
		{"another time", cortex.Known{Size: 1, Modified: at, Indexed: at.Add(time.Minute), Version: 2}, cortex.Entry{Size: 1, Modified: at.Add(1)}, false},
		{"an older time", cortex.Known{Size: 1, Modified: at, Indexed: at.Add(time.Minute), Version: 2}, cortex.Entry{Size: 1, Modified: at.Add(-time.Hour)}, false},
		{"changed just before", cortex.Known{Size: 1, Modified: at, Indexed: at.Add(time.Second), Version: 2}, cortex.Entry{Size: 1, Modified: at}, false},
		{"changed later", cortex.Known{Size: 1, Modified: at, Indexed: at.Add(-time.Hour), Version: 2}, cortex.Entry{Size: 1, Modified: at}, false},
		{"no time", cortex.Known{Size: 1, Indexed: at, Version: 2}, cortex.Entry{Size: 1}, false},
		{"older parser", cortex.Known{Size: 1, Modified: at, Indexed: at.Add(time.Minute), Version: 1}, cortex.Entry{Size: 1, Modified: at}, false},
	} {
		if got := c.known.Same(c.entry, 2); got != c.want {
			t.Errorf("%s: Same() = %v, want %v", c.name, got, c.want)
		}
	}
}

// TestInfoExclude has the patterns of a repository below those of its .gitignore files, and those of a repository within it.
func TestInfoExclude(t *testing.T) {
	t.Parallel()
	m := files("a.go", "b.go", "c.go", "d/a.go", "d/b.go", "d/e/b.go", "sub/x.go", "sub/a.go", "link/a.go", "link/c.go")
	for name, text := range map[string]string{
		".git/info/exclude": "/a.go\n# no\nb.go\n", ".gitignore": "!/b.go\n", "d/.gitignore": "!b.go\n", "sub/.git/info/exclude": "x.go\n", "link/.git": "gitdir: /elsewhere\n",
	} {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	want := []string{"b.go", "c.go", "d/a.go", "d/b.go", "d/e/b.go", "link/a.go", "link/c.go", "sub/a.go"}
	if diff := cmp.Diff(want, met(t, m)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// loopFS has a folder that lists itself and what is above it, and a name twice.
type loopFS struct{ fstest.MapFS }

func (l loopFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := l.MapFS.ReadDir(name)
	if name == "d" {
		up, err := l.MapFS.ReadDir(".")
		if err != nil {
			return nil, err
		}
		for _, n := range []string{".", "..", "d/x", ""} {
			list = append(list, renamed{up[0], n})
		}
		list = append(list, list[0])
	}
	return list, err
}

type renamed struct {
	fs.DirEntry
	name string
}

func (r renamed) Name() string { return r.name }

// deepFS has a folder in every folder.
type deepFS struct{ fstest.MapFS }

func (d deepFS) ReadDir(string) ([]fs.DirEntry, error) { return d.MapFS.ReadDir(".") }

// TestWalkOfFileSystemsThatLie ends, and lists all that it was told of.
func TestWalkOfFileSystemsThatLie(t *testing.T) {
	t.Parallel()
	list := func(fsys fs.FS) map[string]cortex.Reason {
		t.Helper()
		tree, err := cortex.Walk(t.Context(), fsys, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]cortex.Reason{}
		for _, e := range tree.Entries {
			if _, twice := out[e.Path]; twice {
				t.Errorf("%q is listed twice", e.Path)
			}
			out[e.Path] = e.Skip
		}
		return out
	}
	got := list(loopFS{files("d/a.go")})
	want := map[string]cortex.Reason{"d/a.go": "", "d/.": cortex.NoName, "d/..": cortex.NoName, "d/d/x": cortex.NoName, "d/": cortex.NoName}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a folder in itself (-want +got):\n%s", diff)
	}
	n := 0
	for p, skip := range list(deepFS{files("folder/a.go")}) {
		if n++; (skip == cortex.Unreadable) != (len(p) > 4096) {
			t.Errorf("%.20q of %d bytes: %q", p, len(p), skip)
		}
	}
	if n != 1 {
		t.Errorf("a tree without end has %d entries, want the place where the walk turned back", n)
	}
	ignore := files("a.go", "b.go")
	ignore[".gitignore"] = &fstest.MapFile{Data: []byte("a.go")}
	got = list(unopened{ignore, ".gitignore"})
	if diff := cmp.Diff(map[string]cortex.Reason{".gitignore": cortex.Unreadable, "a.go": "", "b.go": ""}, got); diff != "" {
		t.Errorf("a .gitignore that cannot be read (-want +got):\n%s", diff)
	}
}

// unopened refuses to open one file.
type unopened struct {
	fstest.MapFS
	name string
}

func (u unopened) Open(name string) (fs.File, error) {
	if name == u.name {
		return nil, fs.ErrPermission
	}
	return u.MapFS.Open(name)
}
