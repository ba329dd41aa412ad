package store

import (
	"cmp"
	"math"
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// How documents are scored: BM25 with three additions that questions about conversations showed to be worth it, none of them tuned to one
// store. The terms of the documents around one in its session count for it at a lower weight, and what answers a question gets more of the
// question's. A document is not better for being short, only worse for being long. A document that holds more of the terms is better than one
// that holds one of them often.
const (
	// saturation and lengthWeight are BM25's k1 and b, at their usual values.
	saturation, lengthWeight = 1.2, 0.75
	// evenLength is the length, in averages, up to which documents are not told apart by it.
	evenLength = 2
	// coordination is the part of a term's weight that a document gets for holding it at all.
	coordination = 0.2
	// contextShare is the share of a project's documents up to which a term of theirs tells something about those around: names of
	// speakers do not.
	contextShare = 0.1
	// answering multiplies the weight of the document before when that one asks.
	answering = 2

	// leastCandidates is how many of the best candidates by their own terms are scored with their context. In a project of up to
	// smallProject documents all of them are.
	leastCandidates, smallProject = 48, 2048
	// gap is the distance at which it is cheaper to read the documents between than to look up anew.
	gap = 16
)

// contextWeights are the weights of the documents next to one, one further, and so on, on both sides.
var contextWeights = [...]float64{0.4, 0.2, 0.1}

// document is what is known of a document beside its terms.
type document struct {
	number, row, session int64
	length               float64 // in terms
	asks                 bool
	counts               map[string]int // of the asked terms, where it is not in the index yet
}

// candidate is a document that holds a term. score is by its own terms at first.
type candidate struct {
	number, row int64
	score       float64
}

// score returns what a term adds to a score: its weight with BM25's saturation, for a document of that length in averages.
func (l *list) score(frequency, length float64) float64 {
	if frequency == 0 {
		return 0
	}
	norm := saturation * (1 - lengthWeight + lengthWeight*max(length, evenLength))
	return l.weight * (coordination + frequency*(saturation+1)/(frequency+norm))
}

// candidates returns the n documents with the best scores by their own terms, and whether these are all. Ties go to the older one.
// within are the only documents that count, nil for all.
func (s *searcher) candidates(within []int64, n int) (best []candidate, all bool) {
	all = true
	least := math.Inf(-1) // the score of the n-th of those that were sorted: a later document must do better
	cut := func() {
		slices.SortFunc(best, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.number, b.number))
		})
		if len(best) > n {
			best, all = best[:n], false
		}
		if len(best) == n {
			least = best[n-1].score
		}
	}
	at := make([]int, len(s.lists))
	for next := 0; ; {
		doc := int64(math.MaxInt64)
		for i, l := range s.lists {
			if at[i] < len(l.postings) {
				doc = min(doc, l.postings[at[i]].doc())
			}
		}
		if doc == math.MaxInt64 {
			break
		}
		c := candidate{number: doc}
		for i, l := range s.lists {
			if at[i] < len(l.postings) && l.postings[at[i]].doc() == doc {
				c.score += l.score(l.postings[at[i]].frequency(), 1)
				at[i]++
			}
		}
		if within != nil {
			for next < len(within) && within[next] < doc {
				next++
			}
			if next == len(within) || within[next] != doc {
				continue
			}
		}
		if c.score <= least {
			all = false
			continue
		}
		if best = append(best, c); len(best) >= 2*n {
			cut()
		}
	}
	cut()
	return best, all
}

// sessionDocuments returns the numbers of the documents of the asked session, ascending; nil when every session is asked.
func (s *searcher) sessionDocuments() ([]int64, error) {
	if s.session == 0 {
		return nil, nil
	}
	docs := []int64{}
	err := s.conn.each(`SELECT doc FROM episode_doc WHERE session_num = ? AND doc > ? ORDER BY doc`, []any{s.session, s.from}, func(row *sqlite3.Stmt) error {
		docs = append(docs, row.ColumnInt64(0))
		return nil
	})
	for _, d := range s.pending {
		if d.session == s.session {
			docs = append(docs, d.number)
		}
	}
	return docs, err
}

// score scores the candidates exactly, with their context, and says whose rows they are.
func (s *searcher) score(candidates []candidate) error {
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.number, b.number) })
	known, err := s.load(candidates)
	if err != nil {
		return err
	}
	for i := range candidates {
		c := &candidates[i]
		at := known.find(c.number)
		if at < 0 {
			return ErrCorrupt
		}
		d := known[at]
		var around []neighbour
		if s.track.context {
			if around, err = s.around(known, at); err != nil {
				return err
			}
		}
		c.row, c.score = d.row, 0
		for _, l := range s.lists {
			frequency := l.of(d.number)
			if l.context {
				for _, n := range around {
					frequency += n.weight * l.of(n.number)
				}
			}
			c.score += l.score(frequency, d.length/s.average)
		}
		// The order of a sum shows in its last digits, and the order of the terms depends on how much of the index is filled.
		c.score = math.Round(c.score*1e9) / 1e9
	}
	return nil
}

// documents are what was read of them, by number.
type documents []document

func byNumber(d document, n int64) int { return cmp.Compare(d.number, n) }

func (ds documents) find(number int64) int {
	i, found := slices.BinarySearchFunc(ds, number, byNumber)
	if !found {
		return -1
	}
	return i
}

// load reads the candidates, which are in order, and where context counts the documents around them, whose sessions they may be.
func (s *searcher) load(candidates []candidate) (documents, error) {
	if !s.track.context || !s.reader.settled() {
		return s.loadRuns(candidates)
	}
	memory := &s.reader.store.knownDocs
	var known documents
	read := func(from, to int64) error { // blocks
		n := len(known)
		var err error
		known, err = s.between(known, from*blockDocuments, (to+1)*blockDocuments-1)
		if err == nil {
			memory.put(known[n:], s.top)
		}
		return err
	}
	next, missing := int64(0), int64(-1) // the block after the last one; the first of a run that is to be read, which ends there
	for _, c := range candidates {
		for b := max(next, (c.number-reach)/blockDocuments); b <= min(c.number+reach, s.top)/blockDocuments; b++ {
			docs, ok := memory.get(b)
			if missing >= 0 && (ok || b > next) {
				if err := read(missing, next-1); err != nil {
					return nil, err
				}
				missing = -1
			}
			if ok {
				known = append(known, docs...)
			} else if missing < 0 {
				missing = b
			}
			next = b + 1
		}
	}
	if missing >= 0 {
		if err := read(missing, next-1); err != nil {
			return nil, err
		}
	}
	i, _ := slices.BinarySearchFunc(known, s.top+1, byNumber) // what is remembered may be newer
	return append(known[:i], s.pending...), nil
}

// reach is how far the context of a document goes.
const reach = int64(len(contextWeights))

// loadRuns reads the candidates and their context, and remembers nothing.
func (s *searcher) loadRuns(candidates []candidate) (documents, error) {
	reach := reach
	if !s.track.context {
		reach = 0
	}
	var known documents
	for i := 0; i < len(candidates); {
		from := candidates[i].number - reach
		to := candidates[i].number + reach
		for i++; i < len(candidates) && candidates[i].number-reach <= to+gap; i++ {
			to = candidates[i].number + reach
		}
		if n := len(known); n > 0 {
			from = max(from, known[n-1].number+1)
		}
		if from <= s.top {
			var err error
			if known, err = s.between(known, from, to); err != nil {
				return nil, err
			}
		}
	}
	return append(known, s.pending...), nil
}

// between appends the documents of the index from one number to another.
func (s *searcher) between(known documents, from, to int64) (documents, error) {
	err := s.conn.each(`SELECT doc, `+s.track.columns+` FROM `+s.track.docs+` WHERE doc BETWEEN ? AND ?`, []any{from, to}, func(row *sqlite3.Stmt) error {
		known = append(known, document{number: row.ColumnInt64(0), row: row.ColumnInt64(1), length: row.ColumnFloat(2), session: row.ColumnInt64(3),
			asks: row.ColumnInt64(4) != 0})
		return nil
	})
	return known, err
}

// neighbour is a document of the context.
type neighbour struct {
	number int64
	weight float64
}

// around returns the documents before and after one in its session.
func (s *searcher) around(known documents, at int) ([]neighbour, error) {
	var list []neighbour
	for _, step := range [...]int{-1, 1} {
		docs, err := s.beside(known, at, step)
		if err != nil {
			return nil, err
		}
		for i, d := range docs {
			n := neighbour{d.number, contextWeights[i]}
			if step < 0 && i == 0 && d.asks {
				n.weight *= answering
			}
			list = append(list, n)
		}
	}
	return list, nil
}

// beside walks through what is known; where other sessions lie between, it asks the index.
func (s *searcher) beside(known documents, at, step int) ([]document, error) {
	d := known[at]
	var docs []document
	i := at + step
	for ; i >= 0 && i < len(known) && len(docs) < len(contextWeights); i += step {
		n := known[i]
		if apart := n.number - known[i-step].number; n.session != d.session || apart != int64(step) {
			break
		}
		docs = append(docs, n)
	}
	if len(docs) == len(contextWeights) {
		return docs, nil
	}
	// What is pending lies behind the index and is known as a whole, the index is asked for the rest.
	docs = docs[:0]
	pending := known[len(known)-len(s.pending):]
	first := len(known) - len(pending)
	if step > 0 {
		if d.number <= s.top {
			list, err := s.reader.store.sessionDocs.list(s, d.session)
			if err != nil {
				return nil, err
			}
			next := from(list, d.number+1)
			for _, n := range list[next:min(next+len(contextWeights), len(list))] {
				docs = append(docs, document{number: n.number, session: d.session, asks: n.asks})
			}
		}
		for j := max(0, at+1-first); j < len(pending) && len(docs) < len(contextWeights); j++ {
			if pending[j].session == d.session {
				docs = append(docs, pending[j])
			}
		}
		return docs, nil
	}
	for j := min(at-first, len(pending)) - 1; j >= 0 && len(docs) < len(contextWeights); j-- {
		if pending[j].session == d.session {
			docs = append(docs, pending[j])
		}
	}
	if len(docs) == len(contextWeights) {
		return docs, nil
	}
	list, err := s.reader.store.sessionDocs.list(s, d.session)
	if err != nil {
		return nil, err
	}
	for before := from(list, d.number) - 1; before >= 0 && len(docs) < len(contextWeights); before-- {
		docs = append(docs, document{number: list[before].number, session: d.session, asks: list[before].asks})
	}
	return docs, nil
}
