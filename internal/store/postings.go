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

func (p posting) level() int { return int(p & 0xff) }

func (p posting) frequency() float64 { return float64(levels[p.level()]) }

// list is what a search looks at of a term.
type list struct {
	term     string
	key      termKey // the term as it is in the index, with the project's scope
	known    knownTerm
	postings []posting
	// done says that it is complete within the range that the search looks at. Otherwise there are more than limit documents, and these are the first of those that
	// hold the term once.
	done  bool
	limit int
	// weight is BM25's, from the number of documents that hold the term; context says that it is rare enough to tell something about the
	// documents around.
	weight  float64
	context bool
}

// choose reads the terms, the rarest first, as far as it is worth it.
func (s *searcher) choose(terms []string) error {
	for _, term := range terms {
		l := &list{term: term, key: termKey{s.track.name, scope(s.project) + term}}
		if s.remembers() {
			l.known = s.reader.store.knownTerms.get(l.key, s.top)
		}
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
		l.postings, l.done = nil, true
		add := func(doc int64, level int) error {
			if !s.replaced[doc] {
				l.postings = append(l.postings, newPosting(doc, level))
			}
			return nil
		}
		err := s.once(l.key.term, s.from, add)
		if err == nil {
			err = s.levels(l.key.term, s.from, add)
		}
		if err != nil {
			return err
		}
		slices.Sort(l.postings)
		s.finish(l)
	}
	return nil
}

// estimate returns how many documents of the index hold a term.
func (s *searcher) estimate(l *list) float64 {
	n := len(l.postings)
	if l.done {
		return float64(n)
	}
	estimate := float64(l.limit + 1)
	if n > 0 {
		estimate = max(estimate, float64(n)*float64(s.last-s.first+1)/float64(l.postings[n-1].doc()-s.first+1))
	}
	return min(s.documents, estimate)
}

func (s *searcher) pendingHolds(term string) bool {
	return slices.ContainsFunc(s.pending, func(d document) bool { return d.counts[term] > 0 })
}

// read looks at a term up to a limit of documents. What is remembered changes how much is read for that, and nothing else.
func (s *searcher) read(l *list, limit int) error {
	if l.done {
		return nil
	}
	upTo := l.known.upTo
	if err := s.learn(l, limit); err != nil {
		return err
	}
	if l.known.upTo > upTo && s.remembers() {
		s.reader.store.knownTerms.put(l.key, l.known)
	}
	known := l.known.postings
	if l.known.complete && len(known) <= limit {
		l.postings, l.done = known, true
		return nil
	}
	l.postings, l.limit = nil, limit
	for _, p := range known {
		if len(l.postings) == limit {
			break
		}
		if p.level() == 0 {
			l.postings = append(l.postings, p)
		}
	}
	return nil
}

// remembers reports whether what is read of a term stays right.
func (s *searcher) remembers() bool { return s.track.name != "fact" && s.reader.settled() }

// learn reads on until more than limit documents are known of a term, or all.
func (s *searcher) learn(l *list, limit int) error {
	k := &l.known
	if k.complete && k.upTo < s.top-k.upTo { // most of it is not known
		s.reader.store.knownTerms.forget(l.key)
		*k = knownTerm{}
	}
	if k.complete && k.upTo == s.top || !k.complete && len(k.postings) > limit {
		return nil
	}
	postings := slices.Clip(k.postings) // others have it too
	bound := math.MaxInt
	if !k.complete {
		bound = limit
	}
	full := false
	add := func(doc int64, level int) error {
		if !s.replaced[doc] {
			postings = append(postings, newPosting(doc, level))
		}
		if len(postings) > bound {
			full = true
			return errStop
		}
		return nil
	}
	if err := s.once(l.key.term, k.upTo, add); err != nil {
		return err
	}
	if full {
		k.postings, k.upTo = postings, postings[len(postings)-1].doc()
		return nil
	}
	once := len(postings)
	after := int64(0)
	if k.complete {
		after = k.upTo
	}
	if err := s.levels(l.key.term, after, add); err != nil {
		return err
	}
	if full { // What occurs once is kept: the rest is read again when it goes on.
		k.postings, k.upTo = postings[:once:once], s.top
		return nil
	}
	slices.Sort(postings)
	*k = knownTerm{postings: postings, upTo: s.top, complete: true}
	return nil
}

// once reads the documents behind one that hold a term once.
func (s *searcher) once(term string, after int64, add func(doc int64, level int) error) error {
	return s.matches(quote(term), after, func(doc int64) error { return add(doc, 0) })
}

// matches reads the documents behind one that match.
func (s *searcher) matches(match string, after int64, f func(doc int64) error) error {
	return s.conn.each(`SELECT rowid FROM `+s.track.fts+` WHERE `+s.track.fts+` MATCH ? AND rowid > ?`, []any{match, after}, func(row *sqlite3.Stmt) error {
		return f(row.ColumnInt64(0))
	})
}

// levels reads the documents behind one that hold a term more than once.
func (s *searcher) levels(term string, after int64, add func(doc int64, level int) error) error {
	if after > 0 {
		// The vocabulary cannot begin in the middle. Mostly there is nothing.
		var any strings.Builder
		for i := 1; i < len(levels); i++ {
			if i > 1 {
				any.WriteString(" OR ")
			}
			any.WriteString(quote(marked(term, i)))
		}
		found := false
		err := s.matches(any.String(), after, func(int64) error {
			found = true
			return errStop
		})
		for i := 1; i < len(levels) && found && err == nil; i++ {
			err = s.matches(quote(marked(term, i)), after, func(doc int64) error { return add(doc, i) })
		}
		return err
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
			l.postings = append(slices.Clip(l.postings), newPosting(d.number, level(n)))
		}
	}
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
