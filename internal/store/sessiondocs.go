package store

import (
	"cmp"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// maxSessionDocs bounds how many documents are remembered, of all sessions together: 16 MB. Beyond it all are forgotten, and those that are asked for read anew.
const maxSessionDocs = 1 << 20

// sessionDocs remembers which documents of the index belong to a session. A search asks for the documents around each of its candidates, and in a store of
// many sessions these lie far apart. Documents of episodes are added and never changed, so that what was read of them stays right; a snapshot sees those up to
// its own last one.
type sessionDocs struct {
	mu       sync.Mutex // guards the fields below
	sessions map[int64]*docList
	size     int
}

// docList is a session's documents in their order, complete up to one of the whole index.
type docList struct {
	docs []sessionDoc
	upTo int64
}

// sessionDoc is what is remembered of a document.
type sessionDoc struct {
	number int64
	asks   bool
}

// from returns the index of the first document at or behind a number.
func from(docs []sessionDoc, number int64) int {
	i, _ := slices.BinarySearchFunc(docs, number, func(d sessionDoc, n int64) int { return cmp.Compare(d.number, n) })
	return i
}

// list returns the documents of a session as the search's snapshot has them. What a write has not committed yet is not remembered.
func (d *sessionDocs) list(s *searcher, session int64) ([]sessionDoc, error) {
	if docs, ok := s.sessions[session]; ok {
		return docs, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.sessions[session]
	if l == nil {
		l = &docList{}
	}
	docs := l.docs
	if !s.reader.settled() {
		docs = slices.Clip(docs)
	}
	if l.upTo < s.top {
		err := s.conn.each(`SELECT doc, asks FROM episode_doc WHERE session_num = ? AND doc > ? ORDER BY doc`, []any{session, l.upTo}, func(row *sqlite3.Stmt) error {
			docs = append(docs, sessionDoc{row.ColumnInt64(0), row.ColumnInt64(1) != 0})
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.reader.settled() {
			d.keep(session, &docList{docs, s.top}, len(docs)-len(l.docs))
		}
	}
	docs = docs[:from(docs, s.top+1)]
	if s.sessions == nil {
		s.sessions = map[int64][]sessionDoc{}
	}
	s.sessions[session] = docs
	return docs, nil
}

// keep remembers a list that has grown by that many.
func (d *sessionDocs) keep(session int64, l *docList, grown int) {
	if d.size += grown; d.sessions == nil || d.size > maxSessionDocs {
		d.sessions, d.size = map[int64]*docList{}, len(l.docs)
	}
	d.sessions[session] = l
}
