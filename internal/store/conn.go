package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"sakur4/evict"
)

// conn is one SQLite connection with its prepared statements. It is used by one goroutine at a time.
type conn struct {
	*sqlite3.Conn
	cache map[string]*stmt
	runs  int   // statements that were begun
	state state // of the file when the connection was opened, where the store is still
	// written is SQLite's number of the last state of which the connection knows that its schema is ours; checked says that there is one.
	written uint32
	checked bool
	// names is asked before a statement that names the ledger of facts is run, and says what is run in its place; nil is that statement.
	names func(sql string) (string, error)
}

// stmt is a prepared statement. busy guards a cached one against a second use while its rows are being read.
type stmt struct {
	*sqlite3.Stmt
	cached, busy bool
}

// dial opens a connection to the database that uri names and registers the full-text extension on it.
func dial(ctx context.Context, uri string, readOnly bool, register func(*sqlite3.Conn) error) (*conn, error) {
	flags := sqlite3.OPEN_URI | sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE
	if readOnly {
		flags = sqlite3.OPEN_URI | sqlite3.OPEN_READONLY
	}
	db, err := sqlite3.OpenFlags(uri, flags)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: db, cache: map[string]*stmt{}}
	if err := c.prime(ctx, register); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// prime loads what every connection needs. The check for FTS5 is here because its absence must be an error, not a slow scan.
func (c *conn) prime(ctx context.Context, register func(*sqlite3.Conn) error) error {
	if err := register(c.Conn); err != nil {
		return fmt.Errorf("register the full-text extension: %w", err)
	}
	found := false
	err := c.each(`SELECT 1 FROM pragma_module_list WHERE name = 'fts5'`, nil, func(*sqlite3.Stmt) error {
		found = true
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("this SQLite has no FTS5: %w", ErrUnsupported)
	}
	return ctx.Err()
}

// close finalizes the statements and closes the connection.
func (c *conn) close() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("close a connection: %v", p))
		}
	}()
	c.SetInterrupt(context.Background())
	for _, s := range slices.Collect(c.Stmts()) {
		_ = s.Close() // Finalizing repeats the error of the last step.
	}
	c.cache = nil
	return errors.Join(err, c.Conn.Close())
}

// prepare returns a statement of that text, from the cache unless it is in use.
func (c *conn) prepare(sql string) (*stmt, error) {
	if c.names != nil && namesLedger(sql) {
		var err error
		if sql, err = c.names(sql); err != nil {
			return nil, err
		}
	}
	c.runs++
	if s := c.cache[sql]; s != nil && !s.busy {
		s.busy = true
		return s, nil
	}
	_, taken := c.cache[sql]
	raw, tail, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	if raw == nil || tail != "" {
		return nil, errors.Join(fmt.Errorf("not one statement: %q", sql), raw.Close())
	}
	s := &stmt{Stmt: raw, busy: true, cached: !taken}
	if s.cached {
		c.cache[sql] = s
	}
	return s, nil
}

// release resets the statement, lets go of what was bound and puts it back.
func (s *stmt) release() error {
	if !s.cached {
		return s.Close()
	}
	s.busy = false
	err := s.Reset()
	return errors.Join(err, s.ClearBindings())
}

// bind binds the arguments in order. Text may hold any bytes.
func (s *stmt) bind(args []any) error {
	for i, a := range args {
		var err error
		switch v := a.(type) {
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			if v == nil {
				v = []byte{}
			}
			err = s.BindBlob(i+1, v)
		case blob:
			err = s.bindBlob(i+1, string(v))
		case int:
			err = s.BindInt64(i+1, int64(v))
		case int64:
			err = s.BindInt64(i+1, v)
		case bool:
			err = s.BindBool(i+1, v)
		case float64:
			err = s.BindFloat(i+1, v)
		case evict.Tier:
			err = s.BindText(i+1, v.String())
		case time.Time:
			var n int64
			if n, err = encodeTime(v); err == nil {
				err = s.BindInt64(i+1, n)
			}
		default:
			err = fmt.Errorf("cannot bind a %T", a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// blob is a string that is stored as BLOB, byte for byte.
type blob string

func (s *stmt) bindBlob(i int, v string) error {
	if v == "" {
		return s.BindZeroBlob(i, 0)
	}
	return s.BindBlob(i, []byte(v))
}

// exec runs a statement that returns no rows and reports how many it changed.
func (c *conn) exec(sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	if err := s.bind(args); err != nil {
		return 0, errors.Join(err, s.release())
	}
	if err := s.Exec(); err != nil {
		_ = s.release() // Reset repeats the error.
		return 0, err
	}
	n := c.Changes()
	return n, s.release()
}

// errStop ends [conn.each] early without an error.
var errStop = errors.New("stop")

// each calls f for every row. When f panics the statement stays in use: the caller gives the connection up.
func (c *conn) each(sql string, args []any, f func(*sqlite3.Stmt) error) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	err = s.bind(args)
	for err == nil && s.Step() {
		err = f(s.Stmt)
	}
	if err == nil {
		err = s.Err()
	}
	if e := s.release(); err == nil {
		err = e
	}
	if err == errStop {
		return nil
	}
	return err
}

// number returns the first column of the first row, and false when there is no row.
func (c *conn) number(sql string, args ...any) (n int64, found bool, err error) {
	err = c.each(sql, args, func(s *sqlite3.Stmt) error {
		n, found = s.ColumnInt64(0), true
		return errStop
	})
	return n, found, err
}

// noTime is how the zero time is stored.
const noTime = math.MinInt64

// Storable reports whether a time can be recorded: from the year 1678 to 2262, or the zero time.
func Storable(t time.Time) bool {
	_, err := encodeTime(t)
	return err == nil
}

// encodeTime returns the nanoseconds since 1970, which reach from 1678 to 2262.
func encodeTime(t time.Time) (int64, error) {
	if t.IsZero() {
		return noTime, nil
	}
	n := t.UnixNano()
	if !time.Unix(0, n).Equal(t) || n == noTime {
		return 0, fmt.Errorf("time %v is out of range", t)
	}
	return n, nil
}

// decodeTime is the inverse of encodeTime, in UTC.
func decodeTime(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// fileURI names a database file for SQLite.
func fileURI(path string, query url.Values) string {
	p := filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" && p[0] != '/' {
		p = "/" + p
	}
	// SQLite does not read "+" as a space.
	encoded := strings.ReplaceAll(query.Encode(), "+", "%20")
	return (&url.URL{Scheme: "file", OmitHost: true, Path: p, RawQuery: encoded}).String()
}
