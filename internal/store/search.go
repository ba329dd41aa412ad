package store

import (
	"cmp"
	"errors"
	"slices"
	"strings"
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
			b, err := r.store.collect(r.conn, t, 0, indexBatchBytes)
			if err != nil || len(b.rows) == 0 {
				return err
			}
			if err := b.apply(r.conn, nil); err != nil {
				return err
			}
		}
	case r.pinned || r.store.cfg.ReadOnly:
		return nil
	}
	lag, err := r.behind()
	if err != nil || *lag == (lagging{}) {
		return err
	}
	// The snapshot is given up for one that has the index filled.
	for _, sql := range [...]string{`ROLLBACK`, `BEGIN`} {
		if _, err := r.conn.exec(sql); err != nil {
			return err
		}
	}
	r.lag, r.conn.names = nil, nil
	err = r.store.drain(r.ctx, pace{bytes: indexBatchBytes})
	if err != nil && !errors.Is(err, errContended) && !errors.Is(err, ErrLocked) && !errors.Is(err, ErrFull) && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if err := r.store.ofThisSchema(r.ctx, r.conn); err != nil {
		return err
	}
	return r.prepareLedger()
}

// lagging says of each of the tracks whether rows of it lie behind the watermark.
type lagging [len(tracks)]bool

// behind looks once a snapshot which indexes are not complete in it.
func (r *Reader) behind() (*lagging, error) {
	if r.lag != nil {
		return r.lag, nil
	}
	var lag lagging
	seen := 0
	err := r.conn.each(`
SELECT name, watermark < coalesce(
  CASE name
    WHEN 'episode' THEN (SELECT max(seq) FROM episodic_stream)
    WHEN 'fact' THEN `+topRevision+`
    ELSE (SELECT max(num) FROM semantic_atlas)
  END, 0)
FROM fts_watermark`, nil, func(row *sqlite3.Stmt) error {
		i := slices.IndexFunc(tracks[:], func(t track) bool { return t.name == row.ColumnText(0) })
		if i >= 0 {
			seen++
			lag[i] = row.ColumnInt64(1) != 0
		}
		return nil
	})
	if err == nil && seen != len(tracks) {
		err = ErrCorrupt
	}
	if err != nil {
		return nil, err
	}
	r.lag = &lag
	return r.lag, nil
}

// isBehind reports whether rows of a track may lie behind the watermark.
func (r *Reader) isBehind(t track) (bool, error) {
	if r.writing {
		return true, nil
	}
	lag, err := r.behind()
	if err != nil {
		return false, err
	}
	return lag[slices.IndexFunc(tracks[:], func(x track) bool { return x.name == t.name })], nil
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
	behind, err := s.reader.isBehind(s.track)
	if err != nil || docs == 0 && !behind {
		return err
	}
	if s.top, err = s.track.top(s.conn); err != nil {
		return err
	}
	var b batch
	if behind {
		if b, err = s.reader.store.collect(s.conn, s.track, s.project, 0); err != nil {
			return err
		}
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
	result := make([]Scored, 0, min(s.query.K, len(candidates)))
	seen := make(map[int64]bool, s.query.K)
	for next := 0; next < len(candidates) && len(result) < s.query.K; {
		var some []candidate
		for ; next < len(candidates) && len(some) < min(ownersAtOnce, s.query.K-len(result)); next++ {
			if c := candidates[next]; !seen[c.row] {
				seen[c.row] = true
				some = append(some, c)
			}
		}
		rows := make([]int64, len(some))
		for i, c := range some {
			rows[i] = c.row
		}
		owners, err := s.reader.owners(s.track, s.query, s.project, rows)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			if found, ok := owners[c.row]; ok {
				found.Score = c.score
				result = append(result, found)
			}
		}
	}
	return result, nil
}

// ownersAtOnce is how many rows one statement looks up: the results of a search for eight hits.
const ownersAtOnce = 32

// owners returns whose the rows of a track are, at most ownersAtOnce, without those that the query excludes. Whether an episode is of the query's session
// is known before. project is the number of the query's project.
func (r *Reader) owners(t track, q SearchQuery, project int64, rows []int64) (map[int64]Scored, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	args := make([]any, 2+ownersAtOnce)
	args[0], args[1] = q.Project, project
	for i := range ownersAtOnce {
		args[2+i] = int64(0) // no row has this number
		if i < len(rows) {
			args[2+i] = rows[i]
		}
	}
	owners := make(map[int64]Scored, len(rows))
	err := r.conn.each(t.owner+ownersIn, args, func(row *sqlite3.Stmt) error {
		at := decodeTime(row.ColumnInt64(2))
		switch {
		case !q.Since.IsZero() && at.Before(q.Since), !q.Until.IsZero() && !at.Before(q.Until):
			return nil
		case t.name == "entry" && q.Session != "" && row.ColumnText(3) != q.Session:
			return nil
		case !q.IncludeDropped && row.ColumnText(4) == evict.Dropped.String():
			return nil
		}
		num := row.ColumnInt64(1)
		owners[num] = Scored{ID: row.ColumnText(0), Seq: num}
		return nil
	})
	return owners, err
}

// ownersIn stands behind the owner of a track.
var ownersIn = " IN (?3" + strings.Repeat(", ?", ownersAtOnce-1) + ")"
