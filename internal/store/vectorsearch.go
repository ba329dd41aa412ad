package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"sakur4/internal/vector"
)

// SearchVectors returns the K episodes and entries whose vectors point most nearly where the query's does, the nearest first, ties by kind and position.
// Every vector of the project is looked at. Rows that wait for theirs are not found; see [Reader.VectorsWaiting]. The query must be of the project's
// model. Score is the cosine.
func (r *Reader) SearchVectors(q SearchQuery, query vector.Query) ([]Scored, error) {
	const what = "search vectors"
	model, err := r.VectorModel(q.Project)
	if err != nil {
		return nil, err
	}
	if query.Dim() != model.Dim {
		return nil, fail(r.ctx, fmt.Errorf("a query of %d numbers, the vectors have %d", query.Dim(), model.Dim), what)
	}
	view, err := r.vectors(q.Project, model)
	if err != nil || q.K <= 0 {
		return nil, err
	}
	project, _, err := r.conn.number(`SELECT num FROM project WHERE project_id = ?`, q.Project)
	if err != nil {
		return nil, fail(r.ctx, err, what)
	}
	var keep func(vector.Row) bool
	if q.Session != "" {
		within := map[int64]bool{}
		err := r.each(what, `
SELECT e.seq
FROM episodic_stream e
WHERE `+ofSession, []any{q.Project, q.Session}, func(row *sqlite3.Stmt) error {
			within[row.ColumnInt64(0)] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
		keep = func(row vector.Row) bool { return row.Kind == VectorOfEntry || within[row.Row] }
	}
	// The nearest may all be excluded by the query: then more of them are looked at.
	for n := max(leastCandidates, 3*q.K/2); ; n *= 8 {
		near, all := view.Nearest(query, n, keep)
		var result []Scored
		for len(near) > 0 && len(result) < q.K {
			some := near[:min(len(near), ownersAtOnce, q.K-len(result))]
			near = near[len(some):]
			var episodes, entries []int64
			for _, c := range some {
				if c.Kind == VectorOfEntry {
					entries = append(entries, c.Row.Row)
				} else {
					episodes = append(episodes, c.Row.Row)
				}
			}
			ofEpisodes, err := r.owners(episodeTrack, q, project, episodes)
			if err != nil {
				return nil, fail(r.ctx, err, what)
			}
			ofEntries, err := r.owners(entryTrack, q, project, entries)
			if err != nil {
				return nil, fail(r.ctx, err, what)
			}
			for _, c := range some {
				owners := ofEpisodes
				if c.Kind == VectorOfEntry {
					owners = ofEntries
				}
				if found, ok := owners[c.Row.Row]; ok {
					found.Score = c.Cosine
					result = append(result, found)
				}
			}
		}
		if len(result) == q.K || all {
			return result, nil
		}
	}
}

// decodeParts returns the rows of a block.
func decodeParts(kind uint8, parts []byte) ([]vector.Row, error) {
	var rows []vector.Row
	at := int64(0)
	for len(parts) > 0 {
		d, n := binary.Uvarint(parts)
		if n <= 0 {
			return nil, fmt.Errorf("the rows of a vector block do not decode: %w", ErrCorrupt)
		}
		at += int64(d)
		parts = parts[n:]
		rows = append(rows, vector.Row{Kind: kind, Row: at})
	}
	return rows, nil
}

// vectorCache keeps the vectors of the project that was searched last. Blocks are added and never changed within a generation, so that what was read
// of them stays right.
type vectorCache struct {
	project string
	model   VectorModel
	matrix  *vector.Matrix
	last    int64 // the highest block that was read
	ends    []blockEnd
}

// blockEnd is the number of vectors up to the end of a block.
type blockEnd struct {
	num int64
	n   int
}

// vectors returns the project's vectors as the snapshot has them.
func (r *Reader) vectors(project string, model VectorModel) (vector.View, error) {
	s := r.store
	s.vectorMu.Lock()
	defer s.vectorMu.Unlock()
	top := int64(0)
	err := r.each("vectors", `
SELECT coalesce(max(num), 0)
FROM vector_block
WHERE project_num = (SELECT num FROM project WHERE project_id = ?)`, []any{project}, func(row *sqlite3.Stmt) error {
		top = row.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return vector.View{}, err
	}
	c := s.vectorCache
	if c == nil || c.project != project || !c.model.same(model) {
		c = &vectorCache{project: project, model: model, matrix: vector.NewMatrix(model.Dim)}
	}
	if top > c.last {
		err := r.each("vectors", `
SELECT num, kind, parts, body
FROM vector_block
WHERE project_num = (SELECT num FROM project WHERE project_id = ?) AND num > ?
ORDER BY num`, []any{project, c.last}, func(row *sqlite3.Stmt) error {
			rows, err := decodeParts(uint8(row.ColumnInt(1)), row.ColumnRawBlob(2))
			if err == nil {
				if err = c.matrix.Add(rows, row.ColumnRawBlob(3)); err != nil {
					err = fmt.Errorf("vector block %d: %w: %w", row.ColumnInt64(0), ErrCorrupt, err)
				}
			}
			if err != nil {
				return fail(r.ctx, err, "vectors")
			}
			c.last = row.ColumnInt64(0)
			c.ends = append(c.ends, blockEnd{c.last, c.matrix.Len()})
			return nil
		})
		if err != nil {
			return vector.View{}, err // what was read up to there is right
		}
	}
	if s.vectorCache == nil || s.vectorCache.project != project || s.vectorCache.model.Generation <= model.Generation {
		s.vectorCache = c
	}
	// An older snapshot does not see what a later one has read.
	i, found := slices.BinarySearchFunc(c.ends, top, func(e blockEnd, num int64) int { return int(e.num - num) })
	if !found {
		i--
	}
	if i < 0 {
		return vector.View{}, nil
	}
	return c.matrix.View(c.ends[i].n), nil
}
