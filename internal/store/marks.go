package store

import (
	"encoding/json"
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// Mark is what may change of an episode and counts when it is weighed for eviction.
type Mark struct {
	Superseded, Droppable bool
	// InDegree is the number of edges that point to it, those of a later episode that replaces it left out, and of facts that it gave.
	InDegree int
}

// Marks returns the marks of a session's episodes by their positions: of the one with ids[i] at seqs[i]. Those of which there is nothing to say are left out, and those
// that the session does not have. Where the facts alone cannot be read the others are returned with the error.
//
// A prompt has hundreds of episodes, and few of them have a mark: what points to which of them is looked up, never the episodes.
func (r *Reader) Marks(project, session string, ids []string, seqs []int64) (map[int64]Mark, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	const what = "marks"
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fail(r.ctx, err, what)
	}
	marks := map[int64]Mark{}
	points := func(seq int64, n int) {
		m := marks[seq]
		m.InDegree += n
		marks[seq] = m
	}
	sorted := slices.Sorted(slices.Values(seqs))
	err = r.each(what, `
SELECT e.seq, e.superseded_by <> '', e.droppable
FROM episodic_stream e INDEXED BY episodic_stream_marked
WHERE `+ofSession+` AND (e.superseded_by <> '' OR e.droppable = 1) AND e.seq BETWEEN ? AND ?`, []any{project, session, sorted[0], sorted[len(sorted)-1]},
		func(s *sqlite3.Stmt) error {
			if _, ok := slices.BinarySearch(sorted, s.ColumnInt64(0)); ok {
				marks[s.ColumnInt64(0)] = Mark{Superseded: s.ColumnBool(1), Droppable: s.ColumnBool(2)}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	err = r.each(what, `
SELECT j.key, count(*)
FROM json_each(?2) j
CROSS JOIN dependency_graph_edge d ON d.project_id = ?1 AND d.to_id = j.value AND d.kind <> 'supersedes'
GROUP BY j.key`, []any{project, string(list)}, func(s *sqlite3.Stmt) error {
		points(seqs[s.ColumnInt(0)], s.ColumnInt(1))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = r.each(what, `
SELECT f.episode_id, count(*)
FROM json_each(?1) j
CROSS JOIN symbolic_fact f INDEXED BY symbolic_fact_episode ON f.episode_id > 0 AND f.episode_id BETWEEN j.value AND ?1 ->> (j.key + 1)
WHERE j.key % 2 = 0
GROUP BY f.episode_id
HAVING (SELECT e.session_id FROM episodic_stream e WHERE e.seq = f.episode_id) = (SELECT num FROM session WHERE project_id = ?2 AND session_id = ?3)`,
		[]any{numberList(spans(sorted)), project, session}, func(s *sqlite3.Stmt) error {
			points(s.ColumnInt64(0), s.ColumnInt(1))
			return nil
		})
	return marks, err
}

// spans returns the first and the last of numbers that follow each other without a gap, for all such stretches. They ascend, and none is there twice.
func spans(sorted []int64) []int64 {
	var ends []int64
	for i, n := range sorted {
		if i == 0 || n != sorted[i-1]+1 {
			ends = append(ends, n, n)
		}
		ends[len(ends)-1] = n
	}
	return ends
}
