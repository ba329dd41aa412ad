package store

import (
	"context"

	"github.com/ncruces/go-sqlite3"
)

var backgroundContext = context.Background()

// WithoutFTS leaves the full-text extension out.
func WithoutFTS(cfg Config) Config {
	cfg.register = func(*sqlite3.Conn) error { return nil }
	return cfg
}

// Migrations returns the scripts.
func Migrations() ([]string, error) { return migrations() }

// ApplicationID is the mark of our files.
const ApplicationID = applicationID

// WatchPages calls f with the length of the log in pages after each commit of the writer.
func WatchPages(s *Store, f func(pages int)) {
	s.wconn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		f(pages)
		return nil
	})
}

// Unindexed reports whether rows wait for the index.
func Unindexed(s *Store) bool {
	c, err := s.takeReader(backgroundContext)
	if err != nil {
		panic(err)
	}
	defer s.putReader(c)
	for _, t := range tracks {
		b, err := s.collect(c, t, 0)
		if err != nil {
			panic(err)
		}
		if len(b.rows) > 0 {
			return true
		}
	}
	return false
}

// WithoutIndexing leaves the full-text index to the searches.
func WithoutIndexing(cfg Config) Config {
	cfg.lazy = true
	return cfg
}
