package tokens

import (
	"container/list"
	"sync"

	"sakur4/internal/digest"
)

// shortBytes is the length up to which counting is as cheap as looking the count up.
const shortBytes = 128

// Source counts the tokens of one vocabulary.
type Source interface {
	Name() string
	Count(text string) int
}

// Counter counts tokens and remembers the counts of the contents that it saw last. It is safe for concurrent use. What is remembered never changes a count: contents are
// told apart by their SHA-256.
type Counter struct {
	enc     Source
	entries int

	mu     sync.Mutex // guards what follows
	counts map[digest.Digest]*list.Element
	recent *list.List // of counted, the last used in front
}

type counted struct {
	content digest.Digest
	tokens  int
}

// NewCounter returns a Counter over enc that remembers at most that many counts; 0 or less means 4096, which take about a megabyte.
func NewCounter(enc Source, entries int) *Counter {
	if entries <= 0 {
		entries = 4096
	}
	return &Counter{enc: enc, entries: entries, counts: make(map[digest.Digest]*list.Element), recent: list.New()}
}

// Name returns the name of the encoding.
func (c *Counter) Name() string { return c.enc.Name() }

// Count returns the number of tokens of text: the same as the source's.
func (c *Counter) Count(text string) int {
	return c.CountOf(digest.Digest{}, text)
}

// CountOf is Count for who has the digest of the text at hand; the zero digest is none.
func (c *Counter) CountOf(d digest.Digest, text string) int {
	switch {
	case len(text) <= shortBytes:
		return c.enc.Count(text)
	case d.IsZero():
		d = digest.Of(text)
	}
	if n, ok := c.lookup(d); ok {
		return n
	}
	// Counting happens outside the lock: two callers may count the same text once each, and agree.
	n := c.enc.Count(text)
	c.remember(d, n)
	return n
}

func (c *Counter) lookup(d digest.Digest) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.counts[d]
	if !ok {
		return 0, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(counted).tokens, true
}

func (c *Counter) remember(d digest.Digest, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.counts[d]; ok {
		return
	}
	if c.recent.Len() >= c.entries {
		last := c.recent.Back()
		delete(c.counts, c.recent.Remove(last).(counted).content)
	}
	c.counts[d] = c.recent.PushFront(counted{d, n})
}
