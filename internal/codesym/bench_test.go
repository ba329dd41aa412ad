package codesym_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sakur4/internal/codesym"
)

// BenchmarkGo reads a large file of the standard library, beside the parser of the standard library alone.
func BenchmarkGo(b *testing.B) {
	src := goFile(b, "net/http/server.go")
	b.Run("Parse", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := codesym.Parse(codesym.Go, src); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-parser", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("outline", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			codesym.GoOutline(src)
		}
	})
}

// BenchmarkParse reads the files of a language below a folder, as SAKUR4_CODESYM_BENCH names both: "python=/src/project".
func BenchmarkParse(b *testing.B) {
	lang, dir, ok := strings.Cut(os.Getenv("SAKUR4_CODESYM_BENCH"), "=")
	if !ok {
		b.Skip("SAKUR4_CODESYM_BENCH is not set")
	}
	var sources []string
	size := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		src, err := os.ReadFile(path)
		if l, ok := codesym.LanguageOf(path, string(src[:min(len(src), 4000)])); ok && string(l) == lang && len(src) < 1<<20 {
			sources = append(sources, string(src))
			size += len(src)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	parser := new(codesym.Parser)
	for b.Loop() {
		for _, src := range sources {
			if _, err := parser.Parse(codesym.Lang(lang), src); err != nil {
				b.Fatal(err)
			}
		}
	}
}
