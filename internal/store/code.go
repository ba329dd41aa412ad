package store

import (
	"encoding/hex"
	"iter"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/digest"
	"sakur4/symbolic"
)

// FileRow is what is known of a file of the project.
type FileRow struct {
	// Path is below the project's root, with slashes. Package is what the file says of where it belongs, "" for nothing.
	Path, Language, Package string
	// Hash is the digest of the content in hexadecimal, "" where it was not read.
	Hash              string
	Bytes             int64
	Modified, Indexed time.Time
	// Parser is the version of the parsers that read it, Problem why it has no symbols.
	Parser  int
	Problem string
	// Symbols and Calls are how many the index holds of it; set by the store.
	Symbols, Calls int
}

// SymbolRow is a symbol of a file: a fact, and what the ledger does not hold of it.
type SymbolRow struct {
	Fact symbolic.Row
	// Key is the last part of the name, by which it is looked up, Short the declared name.
	Key, Short string
	// Doc is the first sentence of its comment.
	Doc string
	// SigHash covers the tokens of its signature. End is the byte offset after it, EndLine its last line.
	SigHash      digest.Digest
	End, EndLine int
	// Parent is the position in the file of the symbol that it stands in, -1 for none.
	Parent                  int
	Bases                   []string
	Test, Exported, Partial bool
}

// CallRow is a call site of a file. Caller is the position of the symbol that it stands in, -1 for none.
type CallRow struct {
	Caller           int
	Callee, Receiver string
	Offset, Line     int
	// Seen is the hash that the caller had when this call was first seen; it is set by the store.
	Seen string
}

// ImportRow is an import of a file. Symbol is the position of the import's own symbol, -1 for none.
type ImportRow struct {
	Symbol            int
	Path, Name, Alias string
	Line              int
}

// FileIndex is all that the index holds of a file.
type FileIndex struct {
	File    FileRow
	Symbols []SymbolRow
	Calls   []CallRow
	Imports []ImportRow
}

// The flags of a symbol.
const (
	flagTest = 1 << iota
	flagExported
	flagPartial
)

const fileColumns = `path, language, package, content_hash, bytes, modified, indexed, parser, problem, symbols, calls`

func scanFile(s *sqlite3.Stmt, at int) FileRow {
	return FileRow{Path: s.ColumnText(at), Language: s.ColumnText(at + 1), Package: s.ColumnText(at + 2), Hash: s.ColumnText(at + 3), Bytes: s.ColumnInt64(at + 4),
		Modified: decodeTime(s.ColumnInt64(at + 5)), Indexed: decodeTime(s.ColumnInt64(at + 6)), Parser: s.ColumnInt(at + 7), Problem: s.ColumnText(at + 8), Symbols: s.ColumnInt(at + 9),
		Calls: s.ColumnInt(at + 10)}
}

// Files streams what is known of the project's files, by path.
func (r *Reader) Files(project string) iter.Seq2[FileRow, error] {
	return rows(r, "files", `
SELECT `+fileColumns+`
FROM repo_file
WHERE project_id = ?
ORDER BY path`, []any{project}, func(s *sqlite3.Stmt) (FileRow, error) { return scanFile(s, 0), nil })
}

// File returns what is known of one file. It fails with [ErrNotFound] where nothing is.
func (r *Reader) File(project, path string) (FileRow, error) {
	return one(r, "file "+path, `
SELECT `+fileColumns+`
FROM repo_file
WHERE project_id = ? AND path = ?`, []any{project, path}, func(s *sqlite3.Stmt) (FileRow, error) { return scanFile(s, 0), nil })
}

// symbolColumns are those of symbolic_fact f and code_symbol s.
const symbolColumns = factColumns + `, s.key, s.short, s.doc, s.sig_hash, s.end_byte, s.end_line, s.parent, s.bases, s.flags`

func scanSymbol(s *sqlite3.Stmt) (SymbolRow, error) {
	fact, err := scanFact(s)
	if err != nil {
		return SymbolRow{}, err
	}
	row := SymbolRow{Fact: fact, Key: s.ColumnText(14), Short: s.ColumnText(15), Doc: s.ColumnText(16), End: s.ColumnInt(18), EndLine: s.ColumnInt(19), Parent: s.ColumnInt(20)}
	copy(row.SigHash[:], s.ColumnRawBlob(17))
	if row.Short == "" {
		row.Short = row.Key
	}
	if bases := s.ColumnText(21); bases != "" {
		row.Bases = strings.Split(bases, "\n")
	}
	flags := s.ColumnInt(22)
	row.Test, row.Exported, row.Partial = flags&flagTest != 0, flags&flagExported != 0, flags&flagPartial != 0
	return row, nil
}

// SymbolInFile is a symbol with its file.
type SymbolInFile struct {
	SymbolRow
	// Ord is the symbol's position in the file.
	Ord  int
	File FileRow
}

// SymbolsByKey returns the project's symbols of that key, by file and position.
func (r *Reader) SymbolsByKey(project, key string) ([]SymbolInFile, error) {
	return all(rows(r, "symbols "+key, `
SELECT `+symbolColumns+`, s.ord, `+fileColumns+`
FROM code_symbol s
JOIN repo_file p ON p.num = s.file_num
JOIN symbolic_fact f ON f.num = s.num
WHERE s.key = ? AND p.project_id = ?
ORDER BY p.path, s.ord`, []any{key, project}, func(s *sqlite3.Stmt) (SymbolInFile, error) {
		row, err := scanSymbol(s)
		return SymbolInFile{SymbolRow: row, Ord: s.ColumnInt(23), File: scanFile(s, 24)}, err
	}))
}

// SymbolKeys streams the keys of the project's symbols, sorted and each once.
func (r *Reader) SymbolKeys(project string) iter.Seq2[string, error] {
	return rows(r, "symbol keys", `
SELECT DISTINCT s.key
FROM code_symbol s
JOIN repo_file p ON p.num = s.file_num
WHERE p.project_id = ?
ORDER BY s.key`, []any{project}, func(s *sqlite3.Stmt) (string, error) { return s.ColumnText(0), nil })
}

// Index streams all that the index holds of the project's files, by path; files that were skipped have no symbols.
func (r *Reader) Index(project string) iter.Seq2[FileIndex, error] {
	return func(yield func(FileIndex, error) bool) {
		type numbered struct {
			num int64
			row FileRow
		}
		files, err := all(rows(r, "files", `
SELECT num, `+fileColumns+`
FROM repo_file
WHERE project_id = ?
ORDER BY path`, []any{project}, func(s *sqlite3.Stmt) (numbered, error) { return numbered{s.ColumnInt64(0), scanFile(s, 1)}, nil }))
		if err != nil {
			yield(FileIndex{}, err)
			return
		}
		for _, f := range files {
			out, err := r.fileIndex(f.num, f.row)
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// FileIndex returns all that the index holds of one file. It fails with [ErrNotFound] where nothing is known of it.
func (r *Reader) FileIndex(project, path string) (FileIndex, error) {
	row, err := r.File(project, path)
	if err != nil {
		return FileIndex{}, err
	}
	num, _, err := r.conn.number(`SELECT num FROM repo_file WHERE project_id = ? AND path = ?`, project, path)
	if err != nil {
		return FileIndex{}, fail(r.ctx, err, "file %s", path)
	}
	return r.fileIndex(num, row)
}

func (r *Reader) fileIndex(num int64, row FileRow) (FileIndex, error) {
	out := FileIndex{File: row}
	var err error
	out.Symbols, err = all(rows(r, "symbols of "+row.Path, `
SELECT `+symbolColumns+`
FROM code_symbol s
JOIN symbolic_fact f ON f.num = s.num
WHERE s.file_num = ?
ORDER BY s.ord`, []any{num}, scanSymbol))
	if err != nil {
		return out, err
	}
	out.Calls, err = all(rows(r, "calls of "+row.Path, `
SELECT caller, callee, receiver, byte_offset, line, seen
FROM code_call
WHERE file_num = ?
ORDER BY ord`, []any{num}, func(s *sqlite3.Stmt) (CallRow, error) {
		c := CallRow{Caller: s.ColumnInt(0), Callee: s.ColumnText(1), Receiver: s.ColumnText(2), Offset: s.ColumnInt(3), Line: s.ColumnInt(4)}
		if seen := s.ColumnRawBlob(5); len(seen) > 0 {
			c.Seen = hex.EncodeToString(seen)
		} else if c.Caller >= 0 && c.Caller < len(out.Symbols) {
			c.Seen = out.Symbols[c.Caller].Fact.ASTHash
		}
		return c, nil
	}))
	if err != nil {
		return out, err
	}
	out.Imports, err = all(rows(r, "imports of "+row.Path, `
SELECT symbol, path, name, alias, line
FROM code_import
WHERE file_num = ?
ORDER BY ord`, []any{num}, func(s *sqlite3.Stmt) (ImportRow, error) {
		return ImportRow{Symbol: s.ColumnInt(0), Path: s.ColumnText(1), Name: s.ColumnText(2), Alias: s.ColumnText(3), Line: s.ColumnInt(4)}, nil
	}))
	return out, err
}
