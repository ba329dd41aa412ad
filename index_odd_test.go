package sakur4_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4"
)

// oddFS is a file system on which things happen while it is read.
type oddFS struct {
	mu    sync.Mutex
	files fstest.MapFS
	open  map[string]func() error // called before a file is opened
	dirs  map[string]error        // what reading a folder ends with, after half of it
}

func (o *oddFS) Open(name string) (fs.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.open[name]; f != nil {
		if err := f(); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	return o.files.Open(name)
}

func (o *oddFS) ReadDir(name string) ([]fs.DirEntry, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, err := o.files.ReadDir(name)
	if err == nil && o.dirs[name] != nil {
		return list[:len(list)/2], o.dirs[name]
	}
	return list, err
}

// TestOddTree indexes a tree that cannot all be read, and changes while it is. Whatever was listed is indexed or in the report, and what cannot be looked at stays.
func TestOddTree(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	e, err := sakur4.Open(t.Context(), storePath(t), &sakur4.Options{Project: "odd", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	o := &oddFS{files: fstest.MapFS{}, open: map[string]func() error{}, dirs: map[string]error{}}
	put := func(name, text string) {
		o.files[name] = &fstest.MapFile{Data: []byte(text), ModTime: now.Add(-time.Hour)}
	}
	put("go.mod", "module odd\n")
	for _, name := range []string{"Same.go", "same.go", "new\nline.go", "sealed.go", "half/a.go", "half/b.go", "half/c/d.go", "changing.go", "going.go", "became.go"} {
		put(name, "package p\n\nfunc F() { G() }\n")
	}
	put("huge.go", "package p\n"+strings.Repeat("// x\n", 1<<18))
	put("bad\xff.go", "package p\n")
	put("bad\xfe.go", "package p\n")
	const crowd = 2000
	for i := range crowd {
		put(fmt.Sprintf("crowd/%04d.bin", i), "x")
	}
	index := func() (sakur4.IndexReport, map[string]bool) {
		t.Helper()
		met := map[string]bool{}
		r, err := e.Index(t.Context(), sakur4.IndexOptions{FS: o, Progress: func(p sakur4.IndexProgress) { met[p.Path] = true }})
		if err != nil {
			t.Fatal(err)
		}
		return r, met
	}
	// facts returns the files of functions, with how many they are.
	facts := func() map[string]int {
		t.Helper()
		out := map[string]int{}
		for row, err := range e.Facts(t.Context(), sakur4.FactFilter{Kind: "function"}) {
			if err != nil {
				t.Fatal(err)
			}
			out[row.FilePath]++
		}
		return out
	}
	check := func(step string, r sakur4.IndexReport, met map[string]bool, skipped ...string) {
		t.Helper()
		have := facts()
		var got []string
		listed := map[string]bool{}
		for _, s := range r.Skipped {
			listed[s.Path] = true
			if !strings.HasSuffix(s.Path, ".bin") {
				got = append(got, s.Path)
			}
		}
		if d := cmp.Diff(skipped, got); d != "" {
			t.Errorf("%s: skipped (-want +got)\n%s", step, d)
		}
		for _, p := range slices.Sorted(maps.Keys(met)) {
			if _, there := o.files[p]; have[p] == 0 && !listed[p] && there && p != "go.mod" {
				t.Errorf("%s: %q was met, has no symbols and is not among the skipped", step, p)
			}
		}
		if len(r.Skipped) < crowd {
			t.Errorf("%s: %d files are skipped, want the %d of the crowd among them", step, len(r.Skipped), crowd)
		}
	}
	r, met := index()
	check("first", r, met, "bad\ufffd.go", "bad\ufffd.go", "huge.go")
	if r.Parsed+len(r.Skipped) != r.Files || r.Parsed != 11 {
		t.Errorf("Index() = %v, want every file parsed or skipped", r)
	}
	all := facts()

	// Now things go wrong.
	o.open["sealed.go"] = func() error { return fs.ErrPermission }
	o.dirs["half"] = errors.New("the disk is gone")
	put("sealed.go", "package p\n\nfunc Other() {}\n")
	put("changing.go", "package p\n\nfunc F() { G(1) }\n")
	o.files["changing.go"].ModTime = now.Add(-time.Minute)
	o.files["going.go"].ModTime = now.Add(-time.Minute)
	o.open["changing.go"] = func() error {
		put("changing.go", "package p\n\nfunc F() {}\n\nfunc Late() {}\n")
		o.files["changing.go"].ModTime = now
		return nil
	}
	o.open["going.go"] = func() error { delete(o.files, "going.go"); return nil }
	delete(o.files, "became.go")
	put("became.go/in.go", "package p\n\nfunc In() {}\n")
	r, met = index()
	check("odd", r, met, "bad\ufffd.go", "bad\ufffd.go", "half", "huge.go", "sealed.go")
	want := maps.Clone(all)
	delete(want, "going.go")
	delete(want, "became.go")
	want["became.go/in.go"], want["changing.go"] = 1, 2
	if d := cmp.Diff(want, facts()); d != "" {
		t.Errorf("functions (-want +got)\n%s", d)
	}
	if r.Removed != 2 {
		t.Errorf("Index() = %v, want 2 files removed", r)
	}

	// And right again: what was kept is looked at again, and the file that changed while it was read is read once more.
	clear(o.open)
	clear(o.dirs)
	put("changing.go", "package p\n\nfunc F() {}\n")
	o.files["changing.go"].ModTime = now.Add(time.Second)
	now = now.Add(time.Hour)
	r, met = index()
	check("again", r, met, "bad\ufffd.go", "bad\ufffd.go", "huge.go")
	want["changing.go"] = 1
	if d := cmp.Diff(want, facts()); d != "" {
		t.Errorf("functions (-want +got)\n%s", d)
	}
	if r, _ = index(); r.Parsed != 0 || r.Removed != 0 {
		t.Errorf("Index() of the same = %v", r)
	}
}
