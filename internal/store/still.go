package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// A reader that may not write beside the file can take no lock. It is told that the file does not change, so that SQLite looks at no log and
// trusts what it has read: whether that holds is looked at before and after every read, and no connection serves two.

// state is what a file looks like from outside.
type state struct {
	size  int64
	stamp time.Time
}

// dialReadOnly opens the first connection to a store that is opened for reading. In a folder that cannot be written, no file for the readers'
// locks can be made; the store is read all the same where no log says that somebody is writing it.
func (s *Store) dialReadOnly(ctx context.Context) (*conn, error) {
	c, err := s.dial(ctx)
	if err == nil {
		if _, _, err = c.number(`PRAGMA application_id`); err == nil {
			return c, nil
		}
		err = errors.Join(err, c.close())
	}
	if !errors.Is(err, sqlite3.READONLY) && !errors.Is(err, sqlite3.CANTOPEN) && !errors.Is(err, sqlite3.IOERR) {
		return nil, err
	}
	if _, e := s.look(); e != nil {
		return nil, e
	}
	s.still = true
	s.uri += "&immutable=1"
	return s.dial(ctx)
}

// look returns the state of the file. It fails while there is a log beside it.
func (s *Store) look() (state, error) {
	switch log, err := os.Stat(s.path + "-wal"); {
	case err == nil && log.Size() > 0:
		return state{}, fmt.Errorf("the folder cannot be written and there is a log beside the file: somebody is writing the store, or it was not closed and "+
			"must be opened once by who may write it: %w", ErrLocked)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return state{}, err
	}
	fi, err := os.Stat(s.path)
	if err != nil {
		return state{}, err
	}
	return state{fi.Size(), fi.ModTime()}, nil
}

// unchanged fails where the file was written since c was opened: what c has read may be of two states.
func (s *Store) unchanged(c *conn) error {
	if !s.still {
		return nil
	}
	now, err := s.look()
	if err == nil && now != c.state {
		err = fmt.Errorf("the file was written while it was read: %w", ErrLocked)
	}
	return err
}
