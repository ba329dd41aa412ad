package store

import (
	"context"
	"fmt"
	"net/url"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

// Raw is a plain SQLite connection to a file, with nothing of this package between. Tests use it to prove that the schema's own guards
// hold, and to make damage. It is not safe for concurrent use.
type Raw struct{ conn *conn }

// OpenRaw opens a plain connection to the file at path, creating it when it is not there.
func OpenRaw(ctx context.Context, path string) (*Raw, error) {
	c, err := dial(ctx, fileURI(path, url.Values{"_pragma": {"busy_timeout(10000)"}}), false, fts5.Register)
	if err != nil {
		return nil, fail(ctx, err, "open %s raw", path)
	}
	return &Raw{c}, nil
}

// Close closes the connection.
func (r *Raw) Close() error { return r.conn.close() }

// Exec runs one statement with positional parameters, or without parameters several.
func (r *Raw) Exec(sql string, args ...any) error {
	var err error
	if len(args) == 0 {
		err = r.conn.Exec(sql)
	} else {
		_, err = r.conn.exec(sql, args...)
	}
	return fail(context.Background(), err, "raw")
}

// Migrate makes the tables of an empty file as they were after the first n migrations.
func (r *Raw) Migrate(n int) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	for _, script := range scripts[:n] {
		if err := r.Exec(script); err != nil {
			return err
		}
	}
	return r.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, firstVersion-1+n))
}

// Query returns the rows of a query: int64, float64, string, []byte or nil in each column.
func (r *Raw) Query(sql string, args ...any) ([][]any, error) {
	var list [][]any
	err := r.conn.each(sql, args, func(s *sqlite3.Stmt) error {
		row := make([]any, s.ColumnCount())
		err := s.Columns(row...)
		list = append(list, row)
		return err
	})
	if err != nil {
		return nil, fail(context.Background(), err, "raw")
	}
	return list, nil
}
