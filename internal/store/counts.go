package store

import "github.com/ncruces/go-sqlite3"

// Count says how much there is. Entries are interpretations in force, Pins are pins in force.
type Count struct {
	Episodes, Facts, Entries, Pins, Sessions int
}

// Counts holds a project's counts beside the whole store's.
type Counts struct {
	Project, Store Count
	// OtherProjects says that the store holds another project as well, so that a low count is explained.
	OtherProjects bool
}

// Counts counts. A query that fails is an error, never 0.
func (r *Reader) Counts(project string) (Counts, error) {
	var c Counts
	err := r.each("counts", `
SELECT
  (SELECT count(*) FROM session s JOIN episodic_stream e ON e.session_id = s.num WHERE s.project_id = ?1),
  (SELECT count(*) FROM symbolic_fact f JOIN project p ON p.num = f.project_id WHERE p.project_id = ?1),
  (SELECT count(*) FROM semantic_atlas WHERE project_id = ?1 AND retired = 0 AND replaced_by = ''),
  (SELECT count(*) FROM anchor_set WHERE project_id = ?1 AND retired = 0),
  (SELECT count(*) FROM session WHERE project_id = ?1),
  (SELECT count(*) FROM episodic_stream),
  (SELECT count(*) FROM symbolic_fact),
  (SELECT count(*) FROM semantic_atlas WHERE retired = 0 AND replaced_by = ''),
  (SELECT count(*) FROM anchor_set WHERE retired = 0),
  (SELECT count(*) FROM session),
  EXISTS (SELECT 1 FROM project WHERE project_id <> ?1)`, []any{project}, func(s *sqlite3.Stmt) error {
		for i, n := range [...]*int{
			&c.Project.Episodes, &c.Project.Facts, &c.Project.Entries, &c.Project.Pins, &c.Project.Sessions,
			&c.Store.Episodes, &c.Store.Facts, &c.Store.Entries, &c.Store.Pins, &c.Store.Sessions,
		} {
			*n = s.ColumnInt(i)
		}
		c.OtherProjects = s.ColumnInt64(10) != 0
		return nil
	})
	if err != nil {
		return Counts{}, err
	}
	return c, nil
}
