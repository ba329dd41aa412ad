package store

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
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

// Scored is a result. A higher Score is better; scores of one search only can be compared. Seq is an episode's position, or the order in
// which a fact or an entry was first written.
type Scored struct {
	ID    string
	Score float64
	Seq   int64
}

// SearchEpisodes returns the K best episodes, the best first, ties by position. It sees every episode that the snapshot holds, whether
// the index has it yet or not. What the turns before and after say counts as well, at a lower weight; each result holds one of the terms
// itself.
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
			b, err := r.store.collect(r.conn, t, 0)
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
	if errors.Is(err, errContended) || errors.Is(err, ErrLocked) || errors.Is(err, ErrFull) {
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

	project   int64
	session   int64 // 0 for every session
	top       int64 // the highest document of the index, of all projects
	first     int64 // between first and last lie the documents of the project
	last      int64
	documents float64 // number of documents of the project
	average   float64 // terms a document
	// pending are the documents that the index does not hold yet, by number, which goes on where the index ends. replaced are documents
	// of facts that it holds no longer rightly.
	pending  []document
	replaced map[int64]bool
	lists    []*list                // what is read of the index, the rarest term first
	sessions map[int64][]sessionDoc // the documents of sessions that were asked for
	from     int64                  // documents up to this one are not looked at; 0 unless every term is very common
}

func (s *searcher) run(terms []string) ([]Scored, error) {
	num, found, err := s.conn.number(`SELECT num FROM project WHERE project_id = ?`, s.query.Project)
	if err != nil || !found {
		return nil, err
	}
	s.project = num
	if s.query.Session != "" && s.track.context {
		s.session, found, err = s.conn.number(`SELECT num FROM session WHERE project_id = ? AND session_id = ?`, s.query.Project, s.query.Session)
		if err != nil || !found {
			return nil, err
		}
	}
	if err := s.measure(terms); err != nil || s.documents == 0 {
		return nil, err
	}
	if err := s.choose(terms); err != nil {
		return nil, err
	}
	within, err := s.sessionDocuments()
	if err != nil {
		return nil, err
	}
	// The first candidates may all be excluded by the query: then more of them are looked at.
	n := max(leastCandidates, 3*s.query.K/2)
	if s.documents <= smallProject {
		n = smallProject
	}
	for {
		candidates, all := s.candidates(within, n)
		if err := s.score(candidates); err != nil {
			return nil, err
		}
		result, err := s.pick(candidates)
		if err != nil || len(result) == s.query.K || all {
			return result, err
		}
		n *= 8
	}
}

// measure counts the project's documents and terms, indexed or not, and the asked terms of those that are not.
func (s *searcher) measure(asked []string) error {
	var docs, terms int64
	err := s.conn.each(`
SELECT docs, terms, first_doc, last_doc
FROM fts_total
WHERE name = ? AND project_num = ?`, []any{s.track.name, s.project}, func(row *sqlite3.Stmt) error {
		docs, terms, s.first, s.last = row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnInt64(3)
		return nil
	})
	if err != nil {
		return err
	}
	if s.top, err = s.track.top(s.conn); err != nil {
		return err
	}
	b, err := s.reader.store.collect(s.conn, s.track, s.project)
	if err != nil {
		return err
	}
	s.replaced = map[int64]bool{}
	for _, row := range b.rows {
		if s.track.name == "fact" {
			old, found, err := s.conn.number(`SELECT terms FROM fact_doc WHERE doc = ?`, row.row)
			if err != nil {
				return err
			}
			if found {
				docs, terms = docs-1, terms-old
				s.replaced[row.row] = true
			}
		}
		for _, text := range row.documents {
			docs, terms = docs+1, terms+int64(len(text))
			d := document{number: s.top + 1 + int64(len(s.pending)), row: row.row, length: float64(len(text)), session: row.session, asks: row.asks,
				counts: map[string]int{}}
			for _, term := range text {
				if _, wanted := slices.BinarySearch(asked, term); wanted {
					d.counts[term]++
				}
			}
			s.pending = append(s.pending, d)
		}
	}
	s.documents = float64(docs)
	s.average = max(1, float64(terms)/max(1, s.documents))
	return nil
}

// pick looks up whose the candidates are, the best first, until there are enough that the query does not exclude. A long episode is
// found once, at its best part.
func (s *searcher) pick(candidates []candidate) ([]Scored, error) {
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
	})
	var result []Scored
	seen := map[int64]bool{}
	for _, c := range candidates {
		if len(result) == s.query.K {
			break
		}
		if seen[c.row] {
			continue
		}
		seen[c.row] = true
		found, keep, err := s.lookUp(c.row)
		if err != nil {
			return nil, err
		}
		if keep {
			found.Score = c.score
			result = append(result, found)
		}
	}
	return result, nil
}

// lookUp returns whose row it is; keep is false when the query excludes it.
func (s *searcher) lookUp(row int64) (found Scored, keep bool, err error) {
	err = s.conn.each(s.track.owner, []any{row, s.query.Project}, func(row *sqlite3.Stmt) error {
		found = Scored{ID: row.ColumnText(0), Seq: row.ColumnInt64(1)}
		at := decodeTime(row.ColumnInt64(2))
		keep = (s.query.Since.IsZero() || !at.Before(s.query.Since)) && (s.query.Until.IsZero() || at.Before(s.query.Until))
		if s.track.name != "fact" {
			keep = keep && (s.query.Session == "" || row.ColumnText(3) == s.query.Session)
		}
		keep = keep && (s.query.IncludeDropped || row.ColumnText(4) != evict.Dropped.String())
		return nil
	})
	return found, keep, err
}
