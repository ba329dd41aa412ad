package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/vfs/xts" // registers the encrypting file system
)

// keyPurpose separates the file's key from other uses of the caller's.
const keyPurpose = "sakur4 store, AES-256-XTS, 1"

// encryption asks for the encrypting file system: all files with content, the log among them, in AES-256-XTS. Temporary tables and sorters stay in memory.
func encryption(query url.Values, key []byte) {
	mac := hmac.New(sha512.New, key)
	mac.Write([]byte(keyPurpose))
	query.Set("vfs", "xts")
	query.Set("hexkey", hex.EncodeToString(mac.Sum(nil)))
}

// checkKey reads the first page with the key, or without one, but without the log and without a lock. It comes before any other use of the file: through
// a wrong key the log looks empty, and whoever closes a store with an empty log deletes it.
func (s *Store) checkKey(ctx context.Context) error {
	if s.memory != nil {
		return nil
	}
	fi, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if fi.Size() == 0 {
		return nil // The first page is in the file before anything is recorded, see firstPage.
	}
	query := url.Values{"immutable": {"1"}}
	if s.cfg.Key != nil {
		encryption(query, s.cfg.Key)
	}
	c, err := dial(ctx, fileURI(s.path, query), true, s.cfg.register)
	if err == nil {
		_, _, err = c.number(`PRAGMA application_id`)
		err = errors.Join(err, c.close())
	}
	switch {
	case !errors.Is(err, sqlite3.NOTADB):
		return nil // Another process may be writing the page; opening it in earnest says what is wrong.
	case s.cfg.Key == nil:
		return fmt.Errorf("the file is no database, or it is encrypted: %w: %w", ErrCorrupt, err)
	}
	return fmt.Errorf("the key does not open the file, or the file is not encrypted: %w", ErrWrongKey)
}

// firstPage puts the first page of a new encrypted file into the file itself, so that a wrong key is noticed from then on.
func (s *Store) firstPage() error {
	if s.cfg.Key == nil || s.memory != nil {
		return nil
	}
	fi, err := os.Stat(s.path)
	if err != nil || fi.Size() > 0 {
		return err
	}
	return s.wconn.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
}
