package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
)

const (
	// saturation and lengthWeight are BM25's k1 and b, at their usual values.
	saturation, lengthWeight = 1.2, 0.75
	// commonShare is the share of a project's documents above which a term says little; it is left out where a rarer one is asked for.
	commonShare = 0.25
	// commonDocuments is the least number of documents at which terms are left out at all.
	commonDocuments = 64
	// postingBudget bounds the documents of all terms that a search reads, about 100 ms; the rarest term is always read.
	postingBudget = 300_000
	// scoreBatch is how many of the best candidates are looked up at a time.
	scoreBatch = 1024
)

// SearchQuery asks for what holds any of the terms, in one project.
type SearchQuery struct {
	// Project is required. Session "" is every session of the project; facts have none and are not filtered by it.
	Project, Session string
	// Terms are terms as the analyser makes them. They are compared, never parsed.
	Terms []string
	// K is how many results are wanted; 0 is none.
	K int
	// Since is inclusive and Until exclusive, over the time of an episode's turn or of a fact's last change; zero is no bound.
	Since, Until time.Time
	// IncludeDropped also finds dropped episodes.
	IncludeDropped bool
}

// Scored is a result. A higher Score, by BM25 over the project's own documents with term frequencies in coarse steps, is better. Seq is an episode's position, or the order
// in which a fact or an entry was first written.
type Scored struct {
	ID    string
	Score float64
	Seq   int64
}

// SearchEpisodes returns the K best episodes, the best first, ties by position. It sees every episode that the snapshot holds, whether
// the index has it yet or not.
func (r *Reader) SearchEpisodes(q SearchQuery) ([]Scored, error) { return r.search(episodeTrack, q) }

// SearchFacts returns the K best facts, by name, path and current value; the best first, ties by the order of first writing.
func (r *Reader) SearchFacts(q SearchQuery) ([]Scored, error) { return r.search(factTrack, q) }

func (r *Reader) search(t track, q SearchQuery) ([]Scored, error) {
	what := "search " + t.name + "s"
	if r.done {
		return nil, fail(r.ctx, ErrClosed, "%s", what)
	}
	var terms []string
	for _, term := range q.Terms {
		terms = append(terms, tokenize(term)...)
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	if len(terms) == 0 || q.K <= 0 {
		return nil, nil
	}
	if err := r.complete(t); err != nil {
		return nil, fail(r.ctx, err, "%s", what)
	}
	r.pinned = true
	s := searcher{reader: r, conn: r.conn, track: t, query: q}
	found, err := s.run(terms)
	return found, fail(r.ctx, err, "%s", what)
}

// complete brings the index up to date where that can be done without changing the snapshot. What is still behind the watermark
// afterwards is searched row by row.
func (r *Reader) complete(t track) error {
	switch {
	case r.writing:
		for {
			b, err := r.store.collect(r.conn, t, "")
			if err != nil || len(b.rows) == 0 {
				return err
			}
			if err := t.apply(r.conn, b); err != nil {
				return err
			}
		}
	case r.pinned || r.store.cfg.ReadOnly:
		return nil
	}
	err := r.store.drain(r.ctx, false)
	if errors.Is(err, errContended) || errors.Is(err, ErrLocked) {
		return nil
	}
	return err
}

// searcher holds one search.
type searcher struct {
	reader *Reader
	conn   *conn
	track  track
	query  SearchQuery

	project     int64
	documents   float64 // number of documents of the project
	average     float64 // terms a document
	pending     []pendingDocument
	pendingRows map[int64]bool // facts whose document in the index is out of date
}

// pendingDocument is a document that is not in the index yet.
type pendingDocument struct {
	row    int64
	length int
	counts map[string]int
}

// posting is a document with what the terms give it. Documents of the index are positive; pending ones are -1, -2, … in order.
type posting struct {
	doc   int64
	rough float64 // the score if the document had the average length
	parts []part
}

type part struct {
	frequency int32
	term      int32
}

func (s *searcher) run(terms []string) ([]Scored, error) {
	num, found, err := s.conn.number(`SELECT num FROM project WHERE project_id = ?`, s.query.Project)
	if err != nil || !found {
		return nil, err
	}
	s.project = num
	if err := s.measure(terms); err != nil {
		return nil, err
	}
	if s.documents == 0 {
		return nil, nil
	}
	terms, err = s.choose(terms)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(terms))
	candidates := map[int64]*posting{}
	for i, term := range terms {
		if weights[i], err = s.gather(candidates, int32(i), term); err != nil {
			return nil, err
		}
	}
	list := make([]*posting, 0, len(candidates))
	for _, c := range candidates {
		for _, p := range c.parts {
			c.rough += weights[p.term] * saturate(float64(p.frequency), 1)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *posting) int {
		return cmp.Or(cmp.Compare(b.rough, a.rough), cmp.Compare(a.doc, b.doc))
	})
	return s.rank(list, weights)
}

// measure counts the project's documents and terms, indexed or not, and the asked terms of those that are not.
func (s *searcher) measure(asked []string) error {
	var docs, terms int64
	err := s.conn.each(`
SELECT docs, terms
FROM fts_total
WHERE name = ? AND project_num = ?`, []any{s.track.name, s.project}, func(row *sqlite3.Stmt) error {
		docs, terms = row.ColumnInt64(0), row.ColumnInt64(1)
		return nil
	})
	if err != nil {
		return err
	}
	b, err := s.reader.store.collect(s.conn, s.track, s.query.Project)
	if err != nil {
		return err
	}
	s.pendingRows = map[int64]bool{}
	for _, row := range b.rows {
		if s.track.name == "fact" {
			old, found, err := s.conn.number(`SELECT terms FROM fact_doc WHERE doc = ?`, row.row)
			if err != nil {
				return err
			}
			if found {
				docs, terms = docs-1, terms-old
				s.pendingRows[row.row] = true
			}
		}
		for _, document := range row.documents {
			docs, terms = docs+1, terms+int64(len(document))
			counts := map[string]int{}
			for _, term := range document {
				if _, wanted := slices.BinarySearch(asked, term); wanted {
					counts[term]++
				}
			}
			s.pending = append(s.pending, pendingDocument{row: row.row, length: len(document), counts: counts})
		}
	}
	s.documents = float64(docs)
	s.average = max(1, float64(terms)/max(1, s.documents))
	return nil
}

// choose leaves out what nothing holds, what is too common beside rarer terms, and what would cost too much, and puts the rarest first.
func (s *searcher) choose(terms []string) ([]string, error) {
	type candidate struct {
		term      string
		documents int64
	}
	var list []candidate
	for _, term := range terms {
		c := candidate{term: term}
		err := s.each("SELECT term, doc FROM "+s.track.terms, term, func(_ int, documents int64) { c.documents += documents })
		if err != nil {
			return nil, err
		}
		for _, p := range s.pending {
			if p.counts[term] > 0 {
				c.documents++
			}
		}
		if c.documents > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.documents, b.documents), cmp.Compare(a.term, b.term))
	})
	var chosen []string
	var read int64
	for i, c := range list {
		read += c.documents
		common := s.documents >= commonDocuments && float64(c.documents) > commonShare*s.documents
		if i > 0 && (common || read > postingBudget) {
			break
		}
		chosen = append(chosen, c.term)
	}
	return chosen, nil
}

// each runs a query of a vocabulary table for a term at every level: its columns are the term in the index and a number.
func (s *searcher) each(sql, term string, f func(frequency int, n int64)) error {
	term = scope(s.project) + term
	err := s.conn.each(sql+" WHERE term = ?", []any{term}, func(row *sqlite3.Stmt) error {
		f(1, row.ColumnInt64(1))
		return nil
	})
	if err != nil {
		return err
	}
	return s.conn.each(sql+" WHERE term >= ? AND term <= ?", []any{term + mark, term + mark + "z"}, func(row *sqlite3.Stmt) error {
		marked := row.ColumnRawText(0)
		l := int(marked[len(marked)-1]) - 'a'
		if l < 1 || l >= len(levels) {
			return fmt.Errorf("term %q of the index has no level: %w", marked, ErrCorrupt)
		}
		f(levels[l], row.ColumnInt64(1))
		return nil
	})
}

// gather adds the documents that hold a term to the candidates and returns the term's weight.
func (s *searcher) gather(candidates map[int64]*posting, index int32, term string) (weight float64, err error) {
	holding := 0.0
	hit := func(doc int64, frequency int) {
		c := candidates[doc]
		if c == nil {
			c = &posting{doc: doc}
			candidates[doc] = c
		}
		holding++
		c.parts = append(c.parts, part{frequency: int32(frequency), term: index})
	}
	err = s.each("SELECT term, doc FROM "+s.track.postings, term, func(frequency int, doc int64) {
		if !s.pendingRows[doc] {
			hit(doc, frequency)
		}
	})
	if err != nil {
		return 0, err
	}
	for i, p := range s.pending {
		if n := p.counts[term]; n > 0 {
			hit(int64(-1-i), levels[level(n)])
		}
	}
	return math.Log(1 + (s.documents-holding+0.5)/(holding+0.5)), nil
}

// saturate is BM25's frequency part for a document of that length, in units of the average.
func saturate(frequency, length float64) float64 {
	return frequency * (saturation + 1) / (frequency + saturation*(1-lengthWeight+lengthWeight*length))
}

// rank scores the best candidates exactly and filters them, batch by batch until there are enough.
func (s *searcher) rank(list []*posting, weights []float64) ([]Scored, error) {
	best := map[int64]Scored{}
	for len(list) > 0 && len(best) < s.query.K {
		n := min(len(list), max(scoreBatch, 4*s.query.K))
		for _, c := range list[:n] {
			found, length, keep, err := s.lookUp(c.doc)
			if err != nil {
				return nil, err
			}
			if !keep {
				continue
			}
			for _, p := range c.parts {
				found.Score += weights[p.term] * saturate(float64(p.frequency), float64(length)/s.average)
			}
			if old, seen := best[found.Seq]; !seen || found.Score > old.Score {
				best[found.Seq] = found
			}
		}
		list = list[n:]
	}
	result := make([]Scored, 0, len(best))
	for _, f := range best {
		result = append(result, f)
	}
	slices.SortFunc(result, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Seq, b.Seq))
	})
	return result[:min(len(result), s.query.K)], nil
}

// lookUp returns whose document it is and its length in terms; keep is false when the query excludes it.
func (s *searcher) lookUp(doc int64) (found Scored, length int64, keep bool, err error) {
	key := doc
	if doc < 0 {
		p := s.pending[-1-doc]
		key, length = p.row, int64(p.length)
	}
	sql := s.track.indexed
	if doc < 0 {
		sql = s.track.unindexed
	}
	err = s.conn.each(sql, []any{key, s.query.Project}, func(row *sqlite3.Stmt) error {
		found = Scored{ID: row.ColumnText(0), Seq: row.ColumnInt64(1)}
		if doc > 0 {
			length = row.ColumnInt64(2)
		}
		at := decodeTime(row.ColumnInt64(3))
		keep = (s.query.Since.IsZero() || !at.Before(s.query.Since)) && (s.query.Until.IsZero() || at.Before(s.query.Until))
		if s.track.name != "fact" {
			keep = keep && (s.query.Session == "" || row.ColumnText(4) == s.query.Session)
		}
		keep = keep && (s.query.IncludeDropped || row.ColumnText(5) != evict.Dropped.String())
		return nil
	})
	return found, length, keep, err
}
