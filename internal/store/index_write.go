package store

import (
	"maps"
	"slices"
)

// apply writes a batch into the index inside a transaction, up to the row before which it should yield. It does nothing when the watermark has moved meanwhile.
func (b *batch) apply(c *conn, yield func() bool) error {
	t := b.track
	if len(b.rows) == 0 {
		return nil
	}
	now, err := t.watermark(c)
	if err != nil || now != b.watermark {
		return err
	}
	w := indexWriter{conn: c, track: t, totals: map[int64]*total{}}
	if t.name != "fact" { // the document of a fact has the fact's number
		if w.top, err = t.top(c); err != nil {
			return err
		}
	}
	last := b.watermark
	for i := range b.rows {
		if yield != nil && yield() {
			break
		}
		row := &b.rows[i]
		last = row.position
		if err := w.put(row); err != nil {
			return err
		}
	}
	if err := w.count(); err != nil {
		return err
	}
	_, err = c.exec(`
UPDATE fts_watermark
SET watermark = ?
WHERE name = ?`, last, t.name)
	return err
}

// indexWriter writes the rows of a batch. What all of them change is written once at the end.
type indexWriter struct {
	conn   *conn
	track  track
	top    int64 // the highest number of a document
	totals map[int64]*total
}

// total is what a batch adds to the numbers of a project.
type total struct{ docs, terms, first, last int64 }

func (w *indexWriter) add(project, doc, docs, terms int64) {
	n := w.totals[project]
	if n == nil {
		n = &total{first: doc, last: doc}
		w.totals[project] = n
	}
	n.docs, n.terms, n.first, n.last = n.docs+docs, n.terms+terms, min(n.first, doc), max(n.last, doc)
}

// count writes the totals.
func (w *indexWriter) count() error {
	for _, project := range slices.Sorted(maps.Keys(w.totals)) {
		if err := w.track.count(w.conn, project, *w.totals[project]); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWriter) put(row *pendingRow) error {
	if w.track.name == "fact" && row.position != row.row { // it had another value before
		terms, found, err := w.track.forget(w.conn, row.row)
		if err != nil {
			return err
		}
		if found {
			w.add(row.project, row.row, -1, -terms)
		}
	}
	if w.track.name == "fact" && row.session == 0 {
		// A file's fact that left the ledger since it was read must not come back into the index.
		if _, there, err := w.conn.number(`SELECT 1 FROM symbolic_fact WHERE num = ? AND revision = ?`, row.row, row.position); err != nil || !there {
			return err
		}
	}
	row.compose()
	for i, text := range row.texts {
		if err := w.document(row, text, len(row.documents[i])); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWriter) document(row *pendingRow, text string, terms int) error {
	doc := row.row
	var err error
	if w.track.name == "fact" {
		_, err = w.conn.exec(`INSERT INTO fact_doc (doc, num, terms) VALUES (?, ?, ?)`, doc, row.row, terms)
	} else {
		w.top++
		doc = w.top
		if w.track.context {
			_, err = w.conn.exec(`INSERT INTO episode_doc (doc, seq, terms, session_num, asks) VALUES (?, ?, ?, ?, ?)`, doc, row.row, terms, row.session, row.asks)
		} else {
			_, err = w.conn.exec(`INSERT INTO entry_doc (doc, num, terms) VALUES (?, ?, ?)`, doc, row.row, terms)
		}
	}
	if err != nil {
		return err
	}
	if terms > 0 {
		if _, err := w.conn.exec(`INSERT INTO `+w.track.fts+` (rowid, terms) VALUES (?, ?)`, doc, text); err != nil {
			return err
		}
	}
	w.add(row.project, doc, 1, int64(terms))
	return nil
}

// forget takes out the document of a fact's old value, and returns how many terms it had.
func (t track) forget(c *conn, num int64) (terms int64, found bool, err error) {
	terms, found, err = c.number(`SELECT terms FROM fact_doc WHERE doc = ?`, num)
	if err != nil || !found {
		return 0, false, err
	}
	if _, err := c.exec(`DELETE FROM fact_fts WHERE rowid = ?`, num); err != nil {
		return 0, false, err
	}
	_, err = c.exec(`DELETE FROM fact_doc WHERE doc = ?`, num)
	return terms, err == nil, err
}

// top returns the highest number of a document.
func (t track) top(c *conn) (int64, error) {
	n, _, err := c.number(`SELECT coalesce(max(doc), 0) FROM ` + t.docs)
	return n, err
}

func (t track) count(c *conn, project int64, n total) error {
	_, err := c.exec(`
INSERT INTO fts_total (name, project_num, docs, terms, first_doc, last_doc)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name, project_num) DO UPDATE
SET docs = docs + excluded.docs, terms = terms + excluded.terms, first_doc = min(first_doc, excluded.first_doc),
  last_doc = max(last_doc, excluded.last_doc)`, t.name, project, n.docs, n.terms, n.first, n.last)
	return err
}
