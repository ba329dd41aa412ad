package store

import (
	"time"

	"github.com/ncruces/go-sqlite3"
)

// EdgeRow is an edge of the dependency graph: From depends on To, or comes from it, or replaces it.
type EdgeRow struct {
	// Project scopes the edge and is required.
	Project, From, To string
	// Kind is supersedes, folded_from, derived_from, mentions, calls, imports or implements.
	Kind string
	// Site is where it was seen, such as "file.go:12"; "" for none.
	Site string
	// SeenHash is the hash that From had when the edge was first seen. Putting the edge again never changes it.
	SeenHash string
	// Confidence is from 0 to 1; 0 is stored as 1.
	Confidence float64
	// Created is when the edge was first put, or of an edge from a fact when the fact got its value; set by the store.
	Created time.Time
}

const edgeColumns = `project_id, from_id, to_id, kind, site, seen_hash, confidence, created`

// factEdges reads the edges that lead from facts to the results in which they were read. They are the facts' own column and stored nowhere else: a result
// has hundreds of facts, and each edge would touch two more pages.
const factEdges = `
UNION ALL
SELECT (SELECT project_id FROM project WHERE num = f.project_id), f.fact_id, ` + factEpisode + `, 'derived_from', '', '', 1.0, f.renewed
FROM symbolic_fact f`

// Edges returns the project's edges, sorted by to, kind and from. An empty from, to or kind stands for any.
func (r *Reader) Edges(project, from, to, kind string) ([]EdgeRow, error) {
	var stored, facts query
	stored.where("project_id = ?", project)
	facts.where(factProject+" AND f.episode_id > 0", project)
	// The order of the result tempts the planner to read all of the project's edges, so the indexes are named.
	table, factIndex := "dependency_graph_edge", ""
	if from != "" {
		stored.where("from_id = ?", from)
		facts.where("f.fact_id = ?", from)
		if to == "" {
			table += " INDEXED BY dependency_graph_edge_from"
		}
	}
	if to != "" {
		stored.where("to_id = ?", to)
		facts.where("f.episode_id = (SELECT seq FROM episodic_stream WHERE episode_id = ?)", to)
		factIndex = " INDEXED BY symbolic_fact_episode"
	}
	if kind != "" {
		stored.where("kind = ?", kind)
	}
	sql, args := "SELECT "+edgeColumns+"\nFROM "+table+stored.clause(), stored.args
	if kind == "" || kind == "derived_from" {
		sql += factEdges + factIndex + facts.clause()
		args = append(args, facts.args...)
	}
	return all(rows(r, "edges", sql+"\nORDER BY to_id, kind, from_id", args,
		func(s *sqlite3.Stmt) (EdgeRow, error) {
			return EdgeRow{
				Project:    s.ColumnText(0),
				From:       s.ColumnText(1),
				To:         s.ColumnText(2),
				Kind:       s.ColumnText(3),
				Site:       s.ColumnText(4),
				SeenHash:   s.ColumnText(5),
				Confidence: s.ColumnFloat(6),
				Created:    decodeTime(s.ColumnInt64(7)),
			}, nil
		}))
}

// Related returns the ends of a node's edges that say how episodes belong together: what supersedes it or is superseded, what it is derived from, what mentions it or
// is mentioned, what was folded from it or into it. These kinds come in this order, of each the edges that lead from the node first, then by id. What is derived from a
// node is left out: a result has hundreds of facts, and none of them is an episode.
func (r *Reader) Related(project, id string) ([]string, error) {
	return all(rows(r, "related to "+id, `
SELECT CASE kind WHEN 'supersedes' THEN 1 WHEN 'derived_from' THEN 2 WHEN 'mentions' THEN 3 ELSE 4 END AS place, 0 AS way, to_id AS other
FROM dependency_graph_edge INDEXED BY dependency_graph_edge_from
WHERE project_id = ?1 AND from_id = ?2 AND kind IN ('supersedes', 'derived_from', 'mentions', 'folded_from')
UNION ALL
SELECT CASE kind WHEN 'supersedes' THEN 1 WHEN 'mentions' THEN 3 ELSE 4 END, 1, from_id
FROM dependency_graph_edge
WHERE project_id = ?1 AND to_id = ?2 AND kind IN ('supersedes', 'mentions', 'folded_from')
UNION ALL
SELECT 2, 0, `+factEpisode+`
FROM symbolic_fact f
WHERE f.project_id = (SELECT num FROM project WHERE project_id = ?1) AND f.fact_id = ?2 AND f.episode_id > 0
ORDER BY place, way, other`, []any{project, id}, func(s *sqlite3.Stmt) (string, error) { return s.ColumnText(2), nil }))
}

// PutEdges adds edges. One that is there keeps its SeenHash and Created; its Site and Confidence are refreshed.
func (tx *Tx) PutEdges(edges []EdgeRow) error {
	for _, e := range edges {
		if e.Confidence == 0 {
			e.Confidence = 1
		}
		_, err := tx.exec("put edge "+e.From+" "+e.Kind+" "+e.To, `
INSERT INTO dependency_graph_edge (`+edgeColumns+`)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project_id, to_id, kind, from_id) DO UPDATE
SET site = excluded.site, confidence = excluded.confidence
WHERE site <> excluded.site OR confidence <> excluded.confidence`,
			e.Project, e.From, e.To, e.Kind, e.Site, e.SeenHash, e.Confidence, tx.store.cfg.Now())
		if err != nil {
			return err
		}
	}
	return nil
}

// PutCodeEdges adds edges between symbols as [Tx.PutEdges] does. whole says that edges holds all that lead to the symbol of that id: others of their kinds that
// were recorded before are gone from the source, and are removed.
func (tx *Tx) PutCodeEdges(project, to string, whole bool, edges []EdgeRow) error {
	if whole {
		type end struct{ kind, from string }
		keep := map[end]bool{}
		for _, e := range edges {
			if e.To == to {
				keep[end{e.Kind, e.From}] = true
			}
		}
		for _, kind := range [...]string{"calls", "imports", "implements"} {
			old, err := tx.Edges(project, "", to, kind)
			if err != nil {
				return err
			}
			for _, e := range old {
				if keep[end{kind, e.From}] {
					continue
				}
				_, err := tx.exec("remove edge "+e.From+" "+kind+" "+to, `
DELETE FROM dependency_graph_edge
WHERE project_id = ? AND to_id = ? AND kind = ? AND from_id = ?`, project, to, kind, e.From)
				if err != nil {
					return err
				}
			}
		}
	}
	return tx.PutEdges(edges)
}
