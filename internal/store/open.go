package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

// pageBytes is the size of a page of a new file. Contents of a few kilobytes leave a fifth of larger pages unused, and a commit writes more.
const pageBytes = 1024

// Memory is the path of a store that lives in memory only and ends with Close.
const Memory = ":memory:"

// Config says what to open.
type Config struct {
	// Path is the file; [Memory] for none. A relative path is resolved when the store is opened.
	Path string
	// Key encrypts the file and its log at rest; nil is no encryption. It should have 32 random bytes; the cipher's key is derived from it.
	Key []byte
	// ReadOnly opens an existing file for reading. Nothing is written: no migration, no index.
	ReadOnly bool
	// LockWait is how long a call waits for another connection's lock before it fails with [ErrLocked]; 0 is 10 seconds.
	LockWait time.Duration
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
	// Analyze turns text into index terms separated by ASCII spaces; nil is the text itself. It must be the same function for the
	// whole life of a file. ASCII letters are compared without case.
	Analyze func(string) string

	// register loads FTS5; nil is fts5.Register. A test leaves it out.
	register func(*sqlite3.Conn) error
	// lazy leaves the index to the searches, so that a test measures the writes alone.
	lazy bool
	// vfs is the file system that a test lays below; "" is the system's.
	vfs string
}

func (cfg Config) withDefaults() Config {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.LockWait == 0 {
		cfg.LockWait = 10 * time.Second
	}
	if cfg.Analyze == nil {
		cfg.Analyze = func(s string) string { return s }
	}
	if cfg.register == nil {
		cfg.register = fts5.Register
	}
	cfg.Key = bytes.Clone(cfg.Key)
	return cfg
}

// Open opens the store, creating the file with mode 0600 and bringing an older schema up to date.
// It starts one goroutine, which checkpoints the log and fills the full-text index; Close stops it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s, err := open(ctx, cfg.withDefaults())
	if err != nil {
		return nil, fail(ctx, err, "open %s", cfg.Path)
	}
	return s, nil
}

func open(ctx context.Context, cfg Config) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.Path == "" {
		return nil, errors.New("no path")
	}
	s := &Store{cfg: cfg, opened: time.Now(), writer: make(chan struct{}, 1), draining: make(chan struct{}, 1), wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	s.idle.L = &s.mu
	created, err := s.locate()
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, created); err != nil {
		return nil, errors.Join(err, s.dismantle())
	}
	maintenance, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.maintain(maintenance)
	return s, nil
}

// locate resolves the path and creates the file, so that it has its mode before anything is in it.
func (s *Store) locate() (created bool, err error) {
	query := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", s.cfg.LockWait.Milliseconds())}}
	if s.cfg.Path == Memory {
		if s.cfg.ReadOnly {
			return false, fmt.Errorf("a store in memory cannot be opened read-only: %w", ErrUnsupported)
		}
		s.path = Memory
		s.memory = newMemoryVFS()
		query.Set("vfs", s.memory.name)
		s.uri = fileURI("/memory", query)
		return true, nil
	}
	if strings.ContainsRune(s.cfg.Path, 0) {
		return false, errors.New("the path holds a NUL")
	}
	if s.path, err = filepath.Abs(s.cfg.Path); err != nil {
		return false, err
	}
	if s.cfg.Key != nil {
		encryption(query, s.cfg.Key)
	} else if s.cfg.vfs != "" {
		query.Set("vfs", s.cfg.vfs)
	}
	// An existing file is never opened except through SQLite: closing a second descriptor would drop its locks on some systems.
	if !s.cfg.ReadOnly {
		f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			created = true
			if err := f.Close(); err != nil {
				return false, err
			}
		case !errors.Is(err, fs.ErrExist):
			return false, err
		default:
			if err := restrictEmpty(s.path); err != nil {
				return false, err
			}
		}
		query.Set("modeof", s.path)
	} else if _, err := os.Stat(s.path); err != nil {
		return false, err
	}
	s.uri = fileURI(s.path, query)
	return created, nil
}

// restrictEmpty gives a file that holds nothing yet, such as one that a script has touched, the mode of one that we create. A file with content
// keeps the mode that its owner gave it.
func restrictEmpty(path string) error {
	fi, err := os.Stat(path)
	if err == nil && fi.Mode().IsRegular() && fi.Size() == 0 && fi.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(path, 0o600)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil // Another owner's file is that owner's affair.
	}
	return err
}

// start opens the writer, checks whose file it is, and brings the schema up to date.
func (s *Store) start(ctx context.Context, created bool) (err error) {
	if err := s.checkKey(ctx); err != nil {
		return err
	}
	if s.cfg.ReadOnly {
		return s.startReadOnly(ctx)
	}
	if s.memory == nil && s.cfg.Key == nil {
		s.log = newLogVFS(s.cfg.vfs)
	}
	if s.wconn, err = s.dialWriter(ctx); err != nil {
		return err
	}
	if err := recognise(s.wconn); err != nil {
		return err
	}
	// Both are of effect where nothing is in the file yet.
	if err := s.wconn.Exec(fmt.Sprintf(`PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL`, pageBytes)); err != nil {
		return err
	}
	if s.memory == nil {
		if err := useWAL(ctx, s.wconn, s.cfg.LockWait); err != nil {
			return err
		}
	}
	if err := s.migrate(ctx, s.wconn); err != nil {
		return err
	}
	if err := s.firstPage(); err != nil {
		return err
	}
	_, waiting, err := s.wconn.number(`SELECT 1 FROM fact_queue LIMIT 1`)
	if err != nil {
		return err
	}
	s.waiting.Store(waiting) // whoever recorded them did not come to it
	if s.memory != nil {
		return nil
	}
	// The files beside the store are made by the first transaction, not by the change of mode.
	if err := s.restrict(); err != nil {
		return err
	}
	s.watchLog(s.wconn)
	if created {
		return syncDir(filepath.Dir(s.path))
	}
	return nil
}

func (s *Store) startReadOnly(ctx context.Context) error {
	c, err := s.dialReadOnly(ctx)
	if err != nil {
		return err
	}
	defer s.putReader(c)
	if err := recognise(c); err != nil {
		return err
	}
	version, _, err := c.number(`PRAGMA user_version`)
	if err != nil {
		return err
	}
	if version != latest() {
		return fmt.Errorf("schema version %d must be brought up to %d first: %w", version, latest(), ErrReadOnly)
	}
	return s.restrict()
}

// dialWriter opens the connection whose commits are durable, but for those of [Store.WriteNoSync] alone.
func (s *Store) dialWriter(ctx context.Context) (*conn, error) {
	uri := s.uri
	if s.log != nil {
		uri += "&vfs=" + s.log.name // the last one that is named counts
	}
	c, err := s.dialURI(ctx, uri)
	if err != nil {
		return nil, err
	}
	// A commit that splits a page of an index makes SQLite look through its whole cache: a large one costs more than the few pages that it saves.
	if err := c.Exec(`PRAGMA synchronous = FULL; PRAGMA cache_size = -2048`); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if s.log != nil {
		c.RollbackHook(s.log.forget)
	}
	return c, nil
}

// dial opens one more connection to the store.
func (s *Store) dial(ctx context.Context) (*conn, error) { return s.dialURI(ctx, s.uri) }

func (s *Store) dialURI(ctx context.Context, uri string) (*conn, error) {
	var now state
	if s.still {
		var err error
		if now, err = s.look(); err != nil {
			return nil, err
		}
	}
	c, err := dial(ctx, uri, s.cfg.ReadOnly, s.cfg.register)
	if err != nil {
		return nil, err
	}
	c.state = now
	_, err = c.Config(sqlite3.DBCONFIG_DEFENSIVE, true)
	if err == nil {
		err = c.Exec(`
			PRAGMA foreign_keys = ON;
			PRAGMA recursive_triggers = ON;
			PRAGMA temp_store = MEMORY;
			PRAGMA cache_size = -8192;
			PRAGMA wal_autocheckpoint = 0`)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// useWAL switches the file to write-ahead logging. SQLite answers "busy" at once, whatever the time-out, when two processes do it together.
func useWAL(ctx context.Context, c *conn, wait time.Duration) error {
	for start := time.Now(); ; {
		mode := ""
		err := c.each(`PRAGMA journal_mode = WAL`, nil, func(s *sqlite3.Stmt) error {
			mode = s.ColumnText(0)
			return nil
		})
		if err == nil && mode == "wal" {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("the file system allows journal mode %q only: %w", mode, ErrUnsupported)
		}
		if !errors.Is(err, sqlite3.BUSY) || time.Since(start) > wait {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// restrict takes from the files beside the store what the process's umask may have left to others. Files of another owner are that
// owner's affair.
func (s *Store) restrict() error {
	for _, suffix := range [...]string{"-wal", "-shm"} {
		fi, err := os.Stat(s.path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(s.path+suffix, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// syncDir makes a new file's name durable. Systems that cannot open a directory do without.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
