package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// What a search may read. Reading a posting costs about 0.2 µs; a common term adds little to what rarer ones tell.
const (
	// probeDocuments is how much is read of every term to estimate how common it is.
	probeDocuments = 128
	// cheapDocuments is the number of documents up to which a term is always read.
	cheapDocuments = 1024
	// widening bounds the documents of all terms together, in multiples of those of the three rarest.
	widening = 6
	// maxDocuments bounds them absolutely, and firstDocuments those of the rarest one: of one still more common the newest are read.
	maxDocuments, firstDocuments = 40_000, 8_000
)

// posting is a document that holds a term, with the level of its frequency. Postings are in the order of their documents.
type posting int64

func newPosting(doc int64, level int) posting { return posting(doc<<8 | int64(level)) }

func (p posting) doc() int64 { return int64(p >> 8) }

func (p posting) frequency() float64 { return float64(levels[p&0xff]) }

// list is what was read of a term.
type list struct {
	term     string
	postings []posting
	// done says that it is complete within the range that the search looks at; otherwise the documents with the term once are read up to
	// last.
	done bool
	last int64
	// weight is BM25's, from the number of documents that hold the term; context says that it is rare enough to tell something about the
	// documents around.
	weight  float64
	context bool
}

// choose reads the terms, the rarest first, as far as it is worth it.
func (s *searcher) choose(terms []string) error {
	for _, term := range terms {
		l := &list{term: term}
		if err := s.read(l, probeDocuments); err != nil {
			return err
		}
		if s.estimate(l) > 0 || s.pendingHolds(term) {
			s.lists = append(s.lists, l)
		}
	}
	slices.SortFunc(s.lists, func(a, b *list) int {
		return cmp.Or(cmp.Compare(s.estimate(a), s.estimate(b)), cmp.Compare(a.term, b.term))
	})
	rarest, read := 0.0, 0.0
	for _, l := range s.lists[:min(3, len(s.lists))] {
		rarest += s.estimate(l)
	}
	bound := min(maxDocuments, max(cheapDocuments, widening*rarest))
	if s.documents <= smallProject {
		bound = maxDocuments
	}
	for i, l := range s.lists {
		n := s.estimate(l)
		if i == 0 && n > firstDocuments {
			return s.newest(n)
		}
		if i > 0 && n > cheapDocuments && read+n > bound {
			s.lists = s.lists[:i]
			break
		}
		// An estimate may be wrong: no term but the first is read much further than was expected.
		limit := int(2*n) + cheapDocuments
		if i == 0 {
			limit = math.MaxInt
		}
		if err := s.read(l, limit); err != nil {
			return err
		}
		if !l.done {
			s.lists = s.lists[:i]
			break
		}
		read += float64(len(l.postings))
	}
	for _, l := range s.lists {
		s.finish(l)
	}
	return nil
}

// newest reads the three rarest terms in the newest documents only: even the rarest is in n of them, so that old ones are told apart by nothing.
func (s *searcher) newest(n float64) error {
	s.from = s.last - int64(float64(s.last-s.first+1)*firstDocuments/n)
	s.lists = s.lists[:min(3, len(s.lists))]
	for _, l := range s.lists {
		l.postings, l.done, l.last = nil, false, s.from
		if err := s.read(l, math.MaxInt); err != nil {
			return err
		}
		s.finish(l)
	}
	return nil
}

// estimate returns how many documents of the index hold a term.
func (s *searcher) estimate(l *list) float64 {
	if l.done || l.last == 0 {
		return float64(len(l.postings))
	}
	return min(s.documents, float64(len(l.postings))*float64(s.last-s.first+1)/float64(l.last-s.first+1))
}

func (s *searcher) pendingHolds(term string) bool {
	return slices.ContainsFunc(s.pending, func(d document) bool { return d.counts[term] > 0 })
}

// read goes on reading a term until limit documents are read or there are no more.
func (s *searcher) read(l *list, limit int) error {
	if l.done {
		return nil
	}
	full := false
	add := func(doc int64, level int) error {
		if len(l.postings) >= limit {
			full = true
			return errStop
		}
		if !s.replaced[doc] {
			l.postings = append(l.postings, newPosting(doc, level))
		}
		return nil
	}
	term := scope(s.project) + l.term
	err := s.conn.each(`SELECT rowid FROM `+s.track.fts+` WHERE `+s.track.fts+` MATCH ? AND rowid > ?`, []any{quote(term), l.last}, func(row *sqlite3.Stmt) error {
		doc := row.ColumnInt64(0)
		if err := add(doc, 0); err != nil {
			return err
		}
		l.last = doc
		return nil
	})
	if err != nil || full {
		return err
	}
	once := len(l.postings)
	if err := s.levels(term, add); err != nil {
		return err
	}
	if full { // What occurs once is kept: the rest is read again when it goes on.
		l.postings = l.postings[:once]
		return nil
	}
	l.done = true
	return nil
}

// levels reads the documents that hold a term more than once.
func (s *searcher) levels(term string, add func(doc int64, level int) error) error {
	if s.from > 0 {
		// The vocabulary cannot begin in the middle.
		for i := 1; i < len(levels); i++ {
			marked := term + mark + string(rune('a'+i))
			err := s.conn.each(`SELECT rowid FROM `+s.track.fts+` WHERE `+s.track.fts+` MATCH ? AND rowid > ?`, []any{quote(marked), s.from}, func(row *sqlite3.Stmt) error {
				return add(row.ColumnInt64(0), i)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return s.conn.each(`SELECT term, doc FROM `+s.track.postings+` WHERE term >= ? AND term <= ?`, []any{term + mark, term + mark + "z"}, func(row *sqlite3.Stmt) error {
		marked := row.ColumnRawText(0)
		n := int(marked[len(marked)-1]) - 'a'
		if n < 1 || n >= len(levels) {
			return fmt.Errorf("term %q of the index has no level: %w", marked, ErrCorrupt)
		}
		return add(row.ColumnInt64(1), n)
	})
}

// quote makes a term a string of the full-text query language.
func quote(term string) string { return `"` + strings.ReplaceAll(term, `"`, `""`) + `"` }

// finish adds the documents that the index does not hold yet, sorts, and weighs.
func (s *searcher) finish(l *list) {
	holding := float64(len(l.postings))
	if s.from > 0 {
		holding *= float64(s.last-s.first+1) / float64(s.last-s.from)
	}
	for _, d := range s.pending {
		if n := d.counts[l.term]; n > 0 {
			holding++
			l.postings = append(l.postings, newPosting(d.number, level(n)))
		}
	}
	slices.Sort(l.postings)
	holding = min(holding, s.documents)
	l.weight = math.Log(1 + (s.documents-holding+0.5)/(holding+0.5))
	l.context = s.track.context && holding <= contextShare*s.documents
}

// of returns how often a document holds the term.
func (l *list) of(doc int64) float64 {
	i, _ := slices.BinarySearch(l.postings, newPosting(doc, 0))
	if i < len(l.postings) && l.postings[i].doc() == doc {
		return l.postings[i].frequency()
	}
	return 0
}
