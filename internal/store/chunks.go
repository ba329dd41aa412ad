package store

import (
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
