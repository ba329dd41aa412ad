package store

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/symbolic"
)

// PutFile writes what was read in a file in place of what was known of it. Symbols that are as they were keep their rows, changed ones get a new version, and those
// that are not in the file any more leave the ledger; their last value stays among the older ones. A call that was there before keeps the hash that its caller
// had then; where the text is what it was and only read in another way, a caller that had not been edited still has not. All facts must be of the project and the file.
func (tx *Tx) PutFile(project string, f FileIndex, at time.Time) error {
	what := "put file " + f.File.Path
	for i := range f.Symbols {
		if row := &f.Symbols[i].Fact; row.Project != project || row.FilePath != f.File.Path || row.Episode != "" {
			return fail(tx.ctx, fmt.Errorf("symbol %s is not of this file: %w", row.FactID, ErrRefused), "%s", what)
		}
	}
	num, hash, err := tx.putFileRow(what, project, f.File, len(f.Symbols), len(f.Calls))
	if err != nil {
		return err
	}
	known := hash != unknownFile
	old, err := tx.oldFile(what, project, f.File.Path, num, known && hash != "" && hash == f.File.Hash)
	if err != nil {
		return err
	}
	if known {
		if err := tx.clearFile(what, num); err != nil {
			return err
		}
	}
	l, err := tx.ledger(what, project, at)
	if err != nil {
		return err
	}
	for i := range f.Symbols {
		fact, err := tx.putFact(&l, &f.Symbols[i].Fact)
		if err != nil {
			return err
		}
		delete(old.facts, fact)
		if err := tx.putSymbol(what, num, i, fact, &f.Symbols[i]); err != nil {
			return err
		}
	}
	for _, fact := range old.order {
		if row, gone := old.facts[fact]; gone {
			if err := tx.removeFact(what, fact, &row, at); err != nil {
				return err
			}
		}
	}
	if err := tx.putCalls(what, num, f, old.seen); err != nil {
		return err
	}
	for i, im := range f.Imports {
		_, err := tx.exec(what, `
INSERT INTO code_import (file_num, ord, symbol, path, name, alias, line)
VALUES (?, ?, ?, ?, ?, ?, ?)`, num, i, im.Symbol, im.Path, im.Name, im.Alias, im.Line)
		if err != nil {
			return err
		}
	}
	return nil
}

// TouchFile writes a file's size and times alone. It does nothing where the index does not hold the content of that hash.
func (tx *Tx) TouchFile(project string, f FileRow) error {
	_, err := tx.exec("touch file "+f.Path, `
UPDATE repo_file
SET bytes = ?, modified = ?, indexed = ?
WHERE project_id = ? AND path = ? AND content_hash = ?`, f.Bytes, f.Modified, f.Indexed, project, f.Path, f.Hash)
	return err
}

// RemoveFile forgets a file that is not there any more, and takes its symbols out of the ledger. It does nothing where nothing is known of the file.
func (tx *Tx) RemoveFile(project, path string, at time.Time) error {
	what := "remove file " + path
	num, hash, err := tx.fileNum(what, project, path)
	if err != nil || hash == unknownFile {
		return err
	}
	old, err := tx.oldFile(what, project, path, num, false)
	if err != nil {
		return err
	}
	if err := tx.clearFile(what, num); err != nil {
		return err
	}
	for _, fact := range old.order {
		row := old.facts[fact]
		if err := tx.removeFact(what, fact, &row, at); err != nil {
			return err
		}
	}
	_, err = tx.exec(what, `DELETE FROM repo_file WHERE num = ?`, num)
	return err
}

// unknownFile stands for the hash of a file that the store knows nothing of.
const unknownFile = "unknown"

// fileNum returns the number of a file and the hash of what was read of it.
func (tx *Tx) fileNum(what, project, path string) (num int64, hash string, err error) {
	hash = unknownFile
	err = tx.each(what, `SELECT num, content_hash FROM repo_file WHERE project_id = ? AND path = ?`, []any{project, path}, func(s *sqlite3.Stmt) error {
		num, hash = s.ColumnInt64(0), s.ColumnText(1)
		return nil
	})
	return num, hash, err
}

// putFileRow writes what is known of a file, and returns its number and the hash that it had before.
func (tx *Tx) putFileRow(what, project string, f FileRow, symbols, calls int) (num int64, hash string, err error) {
	num, hash, err = tx.fileNum(what, project, f.Path)
	if err != nil {
		return 0, "", err
	}
	if hash != unknownFile {
		_, err = tx.exec(what, `
UPDATE repo_file
SET language = ?, package = ?, content_hash = ?, bytes = ?, modified = ?, indexed = ?, parser = ?, problem = ?, symbols = ?, calls = ?
WHERE num = ?`, f.Language, f.Package, f.Hash, f.Bytes, f.Modified, f.Indexed, f.Parser, f.Problem, symbols, calls, num)
		return num, hash, err
	}
	_, err = tx.exec(what, `
INSERT INTO repo_file (project_id, `+fileColumns+`)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, project, f.Path, f.Language, f.Package, f.Hash, f.Bytes, f.Modified, f.Indexed, f.Parser, f.Problem,
		symbols, calls)
	return tx.conn.LastInsertRowID(), unknownFile, err
}

// oldFile is what the ledger and the index held of a file. A symbol that was read in it by another way than an indexing is among the facts as well.
type oldFile struct {
	facts map[int64]symbolic.Row
	order []int64
	// seen are the hashes that callers had, by caller and call, in source order; "" for one that it has still.
	seen map[callKey][]string
}

// callKey names a call within a file by what does not change when text moves.
type callKey struct{ caller, receiver, callee string }

// oldFile reads what is known of a file. same says that its text is what it was.
func (tx *Tx) oldFile(what, project, path string, num int64, same bool) (oldFile, error) {
	old := oldFile{facts: map[int64]symbolic.Row{}, seen: map[callKey][]string{}}
	callers := map[int]symbolic.Row{}
	err := tx.each(what, `
SELECT `+factColumns+`, f.num, coalesce(s.ord, -1)
FROM symbolic_fact f INDEXED BY symbolic_fact_file
LEFT JOIN code_symbol s ON s.num = f.num
WHERE `+factProject+` AND f.file_path <> '' AND f.file_path = ? AND f.episode_id = 0 AND f.source GLOB 'code:*'
ORDER BY f.num`, []any{project, path}, func(s *sqlite3.Stmt) error {
		row, err := scanFact(s)
		fact := s.ColumnInt64(14)
		old.facts[fact] = row
		old.order = append(old.order, fact)
		if ord := s.ColumnInt(15); ord >= 0 {
			callers[ord] = row
		}
		return err
	})
	if err != nil {
		return old, err
	}
	err = tx.each(what, `
SELECT caller, receiver, callee, seen
FROM code_call
WHERE file_num = ? AND caller >= 0
ORDER BY ord`, []any{num}, func(s *sqlite3.Stmt) error {
		row, there := callers[s.ColumnInt(0)]
		if !there {
			return nil
		}
		key := callKey{row.FactID, s.ColumnText(1), s.ColumnText(2)}
		hash := row.ASTHash
		if seen := s.ColumnRawBlob(3); len(seen) > 0 {
			hash = hex.EncodeToString(seen)
		}
		if same && hash == row.ASTHash {
			hash = ""
		}
		old.seen[key] = append(old.seen[key], hash)
		return nil
	})
	return old, err
}

// clearFile takes everything that belongs to a file but its row and its facts.
func (tx *Tx) clearFile(what string, num int64) error {
	for _, table := range [...]string{"code_symbol", "code_call", "code_import"} {
		if _, err := tx.exec(what, `DELETE FROM `+table+` WHERE file_num = ?`, num); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) putSymbol(what string, file int64, ord int, fact int64, s *SymbolRow) error {
	flags := 0
	for bit, set := range map[int]bool{flagTest: s.Test, flagExported: s.Exported, flagPartial: s.Partial} {
		if set {
			flags |= bit
		}
	}
	short := s.Short
	if short == s.Key {
		short = ""
	}
	_, err := tx.exec(what, `
INSERT INTO code_symbol (num, file_num, ord, parent, key, short, doc, bases, sig_hash, end_byte, end_line, flags)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, fact, file, ord, s.Parent, s.Key, short, s.Doc, strings.Join(s.Bases, "\n"), s.SigHash[:], s.End, s.EndLine, flags)
	return err
}

func (tx *Tx) putCalls(what string, file int64, f FileIndex, seen map[callKey][]string) error {
	for i, c := range f.Calls {
		var hash []byte
		if c.Caller >= 0 {
			caller := &f.Symbols[c.Caller].Fact
			key := callKey{caller.FactID, c.Receiver, c.Callee}
			if before := seen[key]; len(before) > 0 {
				seen[key] = before[1:]
				if before[0] != "" && before[0] != caller.ASTHash {
					b, err := hex.DecodeString(before[0])
					if err != nil {
						return fail(tx.ctx, err, "%s", what)
					}
					hash = b
				}
			}
		}
		_, err := tx.exec(what, `
INSERT INTO code_call (file_num, ord, caller, callee, receiver, byte_offset, line, seen)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, file, i, c.Caller, c.Callee, c.Receiver, c.Offset, c.Line, hash)
		if err != nil {
			return err
		}
	}
	return nil
}

// settleCalls writes down the hash that calls were first seen with where it stood for the one of now: the caller is getting another without its file being read.
func (tx *Tx) settleCalls(what string, caller *symbolic.Row) error {
	hash, err := hex.DecodeString(caller.ASTHash)
	if err != nil {
		return nil // it has no calls: those of the index have hashes
	}
	_, err = tx.exec(what, `
UPDATE code_call
SET seen = ?
WHERE length(seen) = 0
  AND (file_num, caller) = (SELECT s.file_num, s.ord FROM code_symbol s JOIN symbolic_fact f ON f.num = s.num WHERE f.fact_id = ?)`, hash, caller.FactID)
	return err
}

// removeFact takes the fact of a file out of the ledger, its edges to other code and its place in the full-text index with it.
func (tx *Tx) removeFact(what string, num int64, row *symbolic.Row, at time.Time) error {
	if err := tx.archiveFact(what, row, at); err != nil {
		return err
	}
	_, err := tx.exec(what, `
INSERT OR REPLACE INTO code_gone (fact_id, project_id, qualified_name, kind, file_path)
SELECT f.fact_id, p.project_id, f.qualified_name, f.kind, f.file_path
FROM symbolic_fact f
JOIN project p ON p.num = f.project_id
WHERE f.num = ? AND EXISTS (SELECT 1 FROM semantic_atlas WHERE anchor_id = f.fact_id)`, num)
	if err != nil {
		return err
	}
	_, err = tx.exec(what, `
UPDATE meta
SET value = max(value, (SELECT revision FROM symbolic_fact WHERE num = ?))
WHERE name = 'fact_revision'`, num)
	if err != nil {
		return err
	}
	if _, err := tx.exec(what, `DELETE FROM symbolic_fact WHERE num = ?`, num); err != nil {
		return err
	}
	for _, end := range [...]string{"from_id", "to_id"} {
		_, err := tx.exec(what, `
DELETE FROM dependency_graph_edge
WHERE project_id = ? AND `+end+` = ? AND kind IN ('calls', 'imports', 'implements')`, row.Project, row.FactID)
		if err != nil {
			return err
		}
	}
	project, _, err := tx.conn.number(`SELECT num FROM project WHERE project_id = ?`, row.Project)
	if err != nil {
		return fail(tx.ctx, err, "%s", what)
	}
	terms, found, err := factTrack.forget(tx.conn, num)
	if err == nil && found {
		err = factTrack.count(tx.conn, project, total{-1, -terms, num, num})
	}
	return fail(tx.ctx, err, "%s", what)
}
