package sakur4

import (
	"slices"
	"strings"

	"sakur4/evict"
	"sakur4/internal/recall"
	"sakur4/internal/store"
)

// The bounds of the walk over the dependency graph: the first hits say what a question is about, and each has a few neighbours that belong to it.
const (
	graphSeeds      = 3
	graphNeighbours = 4
	// graphWeight is how much being a neighbour counts beside holding the words.
	graphWeight = 0.25
)

// neighbours ranks the episodes that are linked to the best of the lists: the result that a fact was read in, the turns that mention it, what corrects
// a turn and what it corrects, the turns of a fold. One step, in both directions.
func neighbours(r *store.Reader, project string, lists []recall.Ranked, q Query) (recall.Ranked, error) {
	out := recall.Ranked{Source: "graph", Weight: graphWeight}
	for _, seed := range recall.Fuse(lists, graphSeeds) {
		ids, err := r.Related(project, seed.ID)
		if err != nil {
			return out, err
		}
		n := 0
		for _, id := range ids {
			if n == graphNeighbours {
				break
			}
			if !strings.HasPrefix(id, "ep_") || slices.Contains(out.IDs, id) {
				continue
			}
			rec, err := r.Episode(project, id)
			if err != nil {
				return out, err
			}
			switch {
			case q.Session != "" && rec.Session != q.Session,
				!q.Since.IsZero() && rec.At.Before(q.Since), !q.Until.IsZero() && !rec.At.Before(q.Until),
				rec.Tier == evict.Dropped && !q.IncludeDropped,
				indexText(rec.Content) == "" && rec.Content != "":
				continue
			}
			out.IDs = append(out.IDs, id)
			n++
		}
	}
	return out, nil
}
