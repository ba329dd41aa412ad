package sourcefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// MaxBytes is the size of the largest file that is read, in bytes. Larger ones are data.
const MaxBytes = 8 << 20

// The errors of [Root.Read]. Any other error means that the file could not be looked at.
var (
	// ErrOutside is returned when the path does not lead below the root.
	ErrOutside = errors.New("sourcefile: outside of the project's root")
	// ErrGone is returned when the folder of the path is there and the file is not.
	ErrGone = errors.New("sourcefile: no such file")
	// ErrTooLarge is returned when the file is larger than [MaxBytes].
	ErrTooLarge = errors.New("sourcefile: file is too large")
)

// Root is an open folder. It is safe for concurrent use. The zero value is not usable.
type Root struct {
	fsys  fs.FS
	close func() error
	dirs  []string
}

// Open opens a folder. aliases are other absolute names of it, such as one through a symbolic link, by which recorded paths may begin.
func Open(dir string, aliases ...string) (*Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("sourcefile: %w", err)
	}
	return &Root{fsys: r.FS(), close: r.Close, dirs: append([]string{dir}, aliases...)}, nil
}

// Of returns a root that is a file system of the caller's.
func Of(fsys fs.FS) *Root {
	return &Root{fsys: fsys, close: func() error { return nil }}
}

// Close closes the folder.
func (r *Root) Close() error { return r.close() }

// FS returns the folder as a file system. It is of use until Close.
func (r *Root) FS() fs.FS { return r.fsys }

// Name returns the name below the root, with slashes, of a path as a tool was given it; false where it leads elsewhere. Relative paths are below the root.
func (r *Root) Name(p string) (string, bool) {
	p = strings.TrimPrefix(p, "file://")
	if filepath.IsAbs(p) {
		for _, dir := range r.dirs {
			if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
				return filepath.ToSlash(rel), true
			}
		}
		return "", false
	}
	name := path.Clean(filepath.ToSlash(p))
	if p == "" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", false
	}
	return name, true
}

// Read returns the content of a regular file.
func (r *Root) Read(p string) ([]byte, error) {
	name, ok := r.Name(p)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrOutside, p)
	}
	// Stat before open: opening a named pipe waits for its writer.
	info, err := fs.Stat(r.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if dir, err := fs.Stat(r.fsys, path.Dir(name)); err == nil && dir.IsDir() {
			return nil, fmt.Errorf("%w: %q", ErrGone, p)
		}
		return nil, fmt.Errorf("sourcefile: %w", err)
	case err != nil:
		return nil, fmt.Errorf("sourcefile: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("sourcefile: %q is no regular file", p)
	case info.Size() > MaxBytes:
		return nil, fmt.Errorf("%w: %q has %d bytes", ErrTooLarge, p, info.Size())
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("sourcefile: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("sourcefile: %w", err)
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: %q", ErrTooLarge, p)
	}
	return b, nil
}
