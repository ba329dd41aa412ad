package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// Backup writes a consistent copy of the store to a new file with mode 0600, while others read and write. The copy of an encrypted store has the same key.
// It fails with [ErrExists] when the file is there. When it fails otherwise no file is left.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.enter(); err != nil {
		return fail(ctx, err, "back up")
	}
	defer s.leave()
	err := s.backup(ctx, path)
	return fail(ctx, err, "back up to %s", path)
}

func (s *Store) backup(ctx context.Context, path string) (err error) {
	if path == "" || path == Memory {
		return errors.New("no file is named")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// SQLite leaves its journal where it could not take back what it wrote.
			if e := os.Remove(abs + "-journal"); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
			err = errors.Join(err, os.Remove(abs))
		}
	}()
	// The snapshot of one read transaction is what is copied: a writer does not make the copy begin again.
	err = s.snapshot(ctx, s.takeReader, func(r *Reader) error {
		if _, _, err := r.conn.number(`SELECT 1 FROM meta`); err != nil {
			return err
		}
		query := url.Values{"_pragma": {"synchronous(full)"}}
		if s.cfg.Key != nil && s.memory == nil {
			encryption(query, s.cfg.Key)
		}
		b, err := r.conn.BackupInit("main", fileURI(abs, query))
		if err != nil {
			return err
		}
		for {
			done, err := b.Step(backupPages)
			if err == nil && !done {
				err = ctx.Err()
			}
			if err != nil || done {
				return errors.Join(err, b.Close())
			}
		}
	})
	if err != nil {
		return err
	}
	// The copy says of itself that it has a log; Open makes one. It must read as a whole before anybody relies on it.
	fi, err := os.Stat(abs)
	if err != nil {
		return err
	}
	if fi.Size() == 0 {
		return fmt.Errorf("the copy is empty")
	}
	return syncDir(filepath.Dir(abs))
}
