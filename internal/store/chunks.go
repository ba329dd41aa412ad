package store

import (
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// idChunk is how many ids one statement looks up.
const idChunk = 64

// idPlaces are the parameters for a chunk of ids.
var idPlaces = "(" + strings.TrimSuffix(strings.Repeat("?, ", idChunk), ", ") + ")"

// eachOf runs a query about ids as often as it takes. idPlaces stand in it behind the parameters of front. A row may come again where an id does.
func (r *Reader) eachOf(what, sql string, front []any, ids []string, f func(*sqlite3.Stmt) error) error {
	args := make([]any, len(front), len(front)+idChunk)
	copy(args, front)
	for len(ids) > 0 {
		n := min(idChunk, len(ids))
		args = args[:len(front)]
		for i := range idChunk {
			args = append(args, ids[min(i, n-1)])
		}
		if err := r.each(what, sql, args, f); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// rowChunks are how many rows one statement writes, the most first: a statement costs as much as a row.
var rowChunks = [...]int{32, 8, 2, 1}

// chunks are the statements that write as many rows as rowChunks say.
type chunks [len(rowChunks)]string

// newChunks makes statements of the text before and after the rows. A row begins with the parameters in shared, which are numbered up to front, and has perRow of
// its own.
func newChunks(before, shared string, front, perRow int, after string) (all chunks) {
	for i, n := range rowChunks {
		var b strings.Builder
		b.WriteString(before)
		for row := range n {
			if row > 0 {
				b.WriteString(",\n  ")
			}
			b.WriteString("(" + shared)
			for col := range perRow {
				b.WriteString(", ?" + strconv.Itoa(front+1+perRow*row+col))
			}
			b.WriteString(")")
		}
		b.WriteString(after)
		all[i] = b.String()
	}
	return all
}

// of returns the statement for the first of at least one row, and how many of them it writes.
func (c *chunks) of(rows int) (n int, sql string) {
	for i, n := range rowChunks {
		if n <= rows {
			return n, c[i]
		}
	}
	return 0, ""
}
