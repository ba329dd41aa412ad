package sakur4

import (
	"cmp"
	"errors"
	"strings"

	"sakur4/internal/consolidate"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/symbolic"
)

// maxMentions is how many names of a turn are looked up: it bounds what a commit costs.
const maxMentions = 6

// putMentions links a turn that names a file or a symbol with the result in which facts of it were read last, or with the fact itself where it was read
// in a file. What is talked about is worth more to the prompt, and a question about it finds the talk.
func putMentions(tx *store.Tx, rec *episode.Record) error {
	if rec.Role != episode.User && rec.Role != episode.Assistant {
		return nil
	}
	var edges []store.EdgeRow
	for _, name := range consolidate.Names(rec.Content, maxMentions) {
		f := store.FactFilter{Project: rec.Project, Limit: 1}
		if strings.ContainsAny(name, "/.") {
			f.FilePath = name
			f.Told = true
		} else {
			f.QualifiedName = name
		}
		row, found, err := first(tx, f)
		if err == nil && !found && f.Told {
			f.Told = false // no tool has read the file, an indexing may have
			row, found, err = first(tx, f)
		}
		if errors.Is(err, store.ErrCorrupt) {
			return tx.PutEdges(edges) // a link is not worth the turn
		}
		if err != nil {
			return err
		}
		if found {
			edges = append(edges, store.EdgeRow{Project: rec.Project, From: rec.ID, To: cmp.Or(row.Episode, row.FactID), Kind: "mentions", Site: name})
		}
	}
	return tx.PutEdges(edges)
}

// first returns the first fact that a filter selects.
func first(tx *store.Tx, f store.FactFilter) (row symbolic.Row, found bool, err error) {
	for row, err := range tx.Facts(f) {
		return row, err == nil, err
	}
	return row, false, nil
}
