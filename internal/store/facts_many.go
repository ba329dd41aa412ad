package store

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"sakur4/symbolic"
)

// factChunks are how many facts one statement inserts, the most first: a result has dozens of them, and a statement costs as much as a row.
var factChunks = [...]int{64, 16, 4, 1}

// insertFactsSQL returns the statement for one of factChunks, by its index. ?1 is the project, ?2 the time, ?3 the episode, ?4 the number before the first.
// OR FAIL leaves the rows before one that is refused: SQLite need not keep what it would take to undo them. Who is told of the refusal puts them again, which
// changes nothing, or gives the whole write up.
var insertFactsSQL = sync.OnceValue(func() (all [len(factChunks)]string) {
	for i, n := range factChunks {
		var b strings.Builder
		b.WriteString("INSERT OR FAIL INTO symbolic_fact (project_id, first_seen, renewed, episode_id, version, num, revision,\n" +
			"  fact_id, qualified_name, kind, file_path, source, value, ast_hash, byte_offset, line)\nVALUES ")
		for row := range n {
			if row > 0 {
				b.WriteString(",\n  ")
			}
			num := "?4 + " + strconv.Itoa(row+1)
			b.WriteString("(?1, ?2, ?2, ?3, 1, " + num + ", " + num)
			for col := range 9 {
				b.WriteString(", ?" + strconv.Itoa(5+9*row+col))
			}
			b.WriteString(")")
		}
		b.WriteString("\nON CONFLICT (project_id, qualified_name, kind, file_path) DO NOTHING")
		all[i] = b.String()
	}
	return all
})

// insertFacts inserts the first facts of a list that are of one result, with one statement, and reports how many it took from the list: 0 where they are to
// be put one by one. Facts whose key is there already are put one by one behind it, in their order, as if none had been inserted: to put a fact again changes nothing.
func (tx *Tx) insertFacts(l *ledger, list []symbolic.Row) (int, error) {
	chunk, n := 0, 0
	for ; chunk < len(factChunks); chunk++ {
		if n = factChunks[chunk]; n <= len(list) {
			break
		}
	}
	for i := range list[:n] {
		if r := &list[i]; r.Project != l.projectID || r.Episode == "" || r.Episode != list[0].Episode {
			return 0, nil
		}
	}
	what := "put facts of " + list[0].Episode
	if err := tx.turnTo(what, l, list[0].Episode); err != nil {
		return 0, err
	}
	first, err := tx.nextRevision(what)
	if err != nil {
		return 0, err
	}
	args := make([]any, 4, 4+9*n)
	args[0], args[1], args[2], args[3] = l.project, l.at, l.episode, first-1
	for i := range list[:n] {
		r := &list[i]
		args = append(args, r.FactID, r.QualifiedName, r.Kind, r.FilePath, r.Source, blob(r.Value), storedHash(r.ASTHash), r.Offset, r.Line)
	}
	tx.revision = first + int64(n) - 1 // also where only some are inserted
	inserted, err := tx.exec(what, insertFactsSQL()[chunk], args...)
	if errors.Is(err, sqlite3.CONSTRAINT) {
		return 0, nil // whichever it is says so by itself
	}
	if err != nil {
		return 0, err
	}
	for i := range list[:n] {
		r := &list[i]
		tx.added += indexedBytes(r)
		if int(inserted) < n {
			if _, err := tx.renewFact("put fact "+r.FactID, l, r); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}
