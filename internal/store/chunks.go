package store

import (
	"strconv"
	"strings"
)

// numberList returns the parameter of json_each that lists numbers: one statement looks all of them up.
func numberList(list []int64) string {
	b := make([]byte, 0, 2+8*len(list))
	b = append(b, '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
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
