package sakur4_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sakur4"
)

// BenchmarkIndex indexes a copy of this module: all of it, with nothing changed, and with one file changed. SAKUR4_INDEX_ROOT names another folder.
func BenchmarkIndex(b *testing.B) {
	from := os.Getenv("SAKUR4_INDEX_ROOT")
	if from == "" {
		from = "."
	}
	root := filepath.Join(b.TempDir(), "copy")
	if err := os.CopyFS(root, os.DirFS(from)); err != nil {
		b.Fatal(err)
	}
	// Files that have just been written are read again, because their times say nothing yet.
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Chtimes(p, old, old)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	open := func(b *testing.B) *sakur4.Engine {
		e, err := sakur4.Open(b.Context(), storePath(b), &sakur4.Options{ProjectRoot: root})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := e.Close(); err != nil {
				b.Error(err)
			}
		})
		return e
	}
	index := func(b *testing.B, e *sakur4.Engine) sakur4.IndexReport {
		r, err := e.Index(b.Context(), sakur4.IndexOptions{})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		var r sakur4.IndexReport
		for b.Loop() {
			r = index(b, open(b))
		}
		b.SetBytes(r.Bytes)
		b.ReportMetric(float64(r.Parsed*b.N)/b.Elapsed().Seconds(), "files/s")
	})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		e := open(b)
		index(b, e)
		for b.Loop() {
			if r := index(b, e); r.Parsed != 0 {
				b.Fatalf("Index() = %v", r)
			}
		}
	})
	b.Run("one file", func(b *testing.B) {
		b.ReportAllocs()
		e := open(b)
		index(b, e)
		n := 0
		for b.Loop() {
			n++
			if err := os.WriteFile(filepath.Join(root, "changing.go"), fmt.Appendf(nil, "package p\n\nfunc Changing%d() {}\n", n), 0o600); err != nil {
				b.Fatal(err)
			}
			if r := index(b, e); r.Parsed != 1 {
				b.Fatalf("Index() = %v", r)
			}
		}
	})
}
