package sourcefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sakur4/internal/sourcefile"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
}

// TestReadStaysBelowRoot tries the ways out of a folder, and the ways in.
func TestReadStaysBelowRoot(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, alias := filepath.Join(base, "project"), filepath.Join(base, "alias")
	write(t, filepath.Join(base, "secret"), "secret")
	write(t, filepath.Join(dir, "a.go"), "in root")
	write(t, filepath.Join(dir, "sub", "b.go"), "in folder")
	write(t, filepath.Join(dir, "large"), string(make([]byte, sourcefile.MaxBytes+1)))
	link(t, filepath.Join(base, "secret"), filepath.Join(dir, "out"))
	link(t, "a.go", filepath.Join(dir, "inside"))
	link(t, dir, alias)
	r, err := sourcefile.Open(dir, alias)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	other := errors.New("any other error")
	for _, c := range []struct {
		path, want string
		err        error
	}{
		{"a.go", "in root", nil},
		{"./sub/../sub/b.go", "in folder", nil},
		{filepath.Join(dir, "a.go"), "in root", nil},
		{filepath.Join(alias, "sub", "b.go"), "in folder", nil},
		{"file://" + filepath.ToSlash(filepath.Join(dir, "a.go")), "in root", nil},
		{"inside", "in root", nil},
		{"", "", sourcefile.ErrOutside},
		{"../secret", "", sourcefile.ErrOutside},
		{"sub/../../secret", "", sourcefile.ErrOutside},
		{filepath.Join(base, "secret"), "", sourcefile.ErrOutside},
		{"out", "", other},
		{"missing.go", "", sourcefile.ErrGone},
		{"sub/missing.go", "", sourcefile.ErrGone},
		{"nowhere/missing.go", "", other},
		{"a.go/x", "", other},
		{"sub", "", other},
		{"large", "", sourcefile.ErrTooLarge},
	} {
		b, err := r.Read(c.path)
		switch {
		case c.err == nil && (err != nil || string(b) != c.want):
			t.Errorf("Read(%q) = %q, %v, want %q", c.path, b, err, c.want)
		case c.err != nil && (err == nil || b != nil):
			t.Errorf("Read(%q) = %q, %v, want %v", c.path, b, err, c.err)
		case c.err == other && (errors.Is(err, sourcefile.ErrGone) || errors.Is(err, sourcefile.ErrOutside) || errors.Is(err, sourcefile.ErrTooLarge)):
			t.Errorf("Read(%q) = %v, want another error", c.path, err)
		case c.err != nil && c.err != other && !errors.Is(err, c.err):
			t.Errorf("Read(%q) = %v, want %v", c.path, err, c.err)
		}
	}
}

func TestOpenNeedsFolder(t *testing.T) {
	t.Parallel()
	if r, err := sourcefile.Open(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Errorf("Open of a missing folder = %v, want an error", r)
	}
}

// FuzzName: whatever a model writes, a name below the root never leads out of it.
func FuzzName(f *testing.F) {
	for _, s := range []string{"a", "../a", "/etc/passwd", "a/../../b", "file:///x", "C:\\x", "a\x00b", "./"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		r, err := sourcefile.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		if name, ok := r.Name(p); ok && !filepath.IsLocal(filepath.FromSlash(name)) {
			t.Errorf("Name(%q) = %q, want a local name", p, name)
		}
		if b, err := r.Read(p); err == nil {
			t.Errorf("Read(%q) = %q from an empty folder", p, b)
		}
	})
}
