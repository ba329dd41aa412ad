package codesym_test

import (
	"go/parser"
	"go/token"
	"os"
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

// BenchmarkParse reads the files that SAKUR4_CODESYM_BENCH names, as in "python=/src/project/file.py".
func BenchmarkParse(b *testing.B) {
	lang, path, _ := strings.Cut(os.Getenv("SAKUR4_CODESYM_BENCH"), "=")
	data, err := os.ReadFile(path)
	if err != nil {
		b.Skip("SAKUR4_CODESYM_BENCH names no file")
	}
	src := string(data)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codesym.Parse(codesym.Lang(lang), src); err != nil {
			b.Fatal(err)
		}
	}
}
