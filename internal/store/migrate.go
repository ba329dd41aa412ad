package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// applicationID marks a file as ours: "SKR4".
const applicationID = 0x534b5234

// firstVersion is the user_version of the founding schema. Lower ones are schemas from before there was a release; their stores are refused, for a
// migration that begins with the wrong tables would leave them half changed.
const firstVersion = 11

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the scripts in order; the first takes the schema to firstVersion, each other to one more. They are read once: every transaction asks for the
// latest version.
var migrations = sync.OnceValues(func() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	scripts := make([]string, len(names))
	for i, name := range names {
		b, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		scripts[i] = string(b)
	}
	return scripts, nil
})

// latest is the schema version that this code writes.
func latest() int64 {
	scripts, err := migrations()
	if err != nil {
		return 0 // The files are embedded; migrate reports the error.
	}
	return firstVersion - 1 + int64(len(scripts))
}

// recognise refuses a file that is not ours, that a newer version wrote, or that is older than the first release, without changing it.
func recognise(c *conn) error {
	id, _, err := c.number(`PRAGMA application_id`)
	if err != nil {
		return err
	}
	version, _, err := c.number(`PRAGMA user_version`)
	if err != nil {
		return err
	}
	if id == applicationID {
		switch {
		case version > latest():
			return fmt.Errorf("schema version %d, this is %d: %w", version, latest(), ErrNewer)
		case version < firstVersion:
			return fmt.Errorf("schema version %d, the first is %d: %w", version, firstVersion, ErrOlder)
		}
		return nil
	}
	tables, _, err := c.number(`SELECT count(*) FROM sqlite_schema`)
	if err != nil {
		return err
	}
	if id != 0 || version != 0 || tables != 0 {
		return fmt.Errorf("application id %#x, %d tables: the file belongs to another program: %w", id, tables, ErrCorrupt)
	}
	return nil
}

// migrate brings the schema up to date, each step in one immediate transaction. Several processes may do so at once.
func (s *Store) migrate(ctx context.Context, c *conn) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	for steps := 0; ; steps++ {
		done, err := migrateStep(ctx, c, scripts)
		if err != nil {
			return err
		}
		if done {
			if steps > 0 {
				_ = c.Exec(`PRAGMA incremental_vacuum`) // what was written anew leaves as much free; what cannot be given back now is when stores are closed
			}
			return nil
		}
	}
}

func migrateStep(ctx context.Context, c *conn, scripts []string) (done bool, err error) {
	version, _, err := c.number(`PRAGMA user_version`)
	if err != nil {
		return false, err
	}
	if version >= latest() {
		return true, recognise(c)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	tx, err := c.BeginImmediate()
	if err != nil {
		return false, err
	}
	defer tx.End(&err)
	// Another process may have been faster.
	version, _, err = c.number(`PRAGMA user_version`)
	if err != nil || version >= latest() {
		return false, err
	}
	version = max(version, firstVersion-1) // an empty file has 0
	if err := c.Exec(scripts[version-firstVersion+1]); err != nil {
		var detail *sqlite3.Error
		if errors.As(err, &detail) {
			return false, fmt.Errorf("migration %d, at %.60q: %w", version+1, detail.SQL(), err)
		}
		return false, fmt.Errorf("migration %d: %w", version+1, err)
	}
	return false, c.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version+1))
}
