package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Errors that [Open] returns, wrapped with what was being done.
var (
	// ErrCorrupt is returned when the file is no SQLite database, is damaged, or belongs to another program.
	ErrCorrupt = errors.New("not a sound store")
	// ErrWrongKey is returned when the file is encrypted with another key, or with none.
	ErrWrongKey = errors.New("wrong encryption key")
	// ErrNewer is returned when a newer version of the module wrote the file.
	ErrNewer = errors.New("written by a newer version")
	// ErrOlder is returned for a file from before the first release, whose schema is not read any more. The file is left as it is.
	ErrOlder = errors.New("written before the first release")
	// ErrUnsupported is returned when the configuration asks for what is not built.
	ErrUnsupported = errors.New("unsupported")
)

// Errors that any call may return, wrapped with what was being done.
var (
	// ErrClosed is returned when the store has been closed, or a [Reader] is used after its function has returned.
	ErrClosed = errors.New("store is closed")
	// ErrLocked is returned when another connection held the file for longer than the busy timeout. Trying again may succeed.
	ErrLocked = errors.New("store is locked")
	// ErrReadOnly is returned when a write meets a store that was opened read-only or a file that cannot be written.
	ErrReadOnly = errors.New("store is read-only")
	// ErrNotFound is returned when nothing has that id in that project.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned when the id is taken, or a backup's file is there.
	ErrExists = errors.New("already exists")
	// ErrRefused is returned when a constraint or trigger of the schema refuses a write.
	ErrRefused = errors.New("refused by the schema")
	// ErrMemory is returned when SQLite ran out of the memory that one connection may use (256 MB). The write is rolled back.
	ErrMemory = errors.New("out of memory inside SQLite")
	// ErrFull is returned when the disk is full, or the system writes no more for another reason, such as a quota.
	ErrFull = errors.New("disk is full")
)

// translate turns what SQLite says into our words. ctx explains an interrupt.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sqlite3.INTERRUPT) && ctx.Err() != nil {
		return ctx.Err()
	}
	for _, pair := range [...]struct {
		code sqlite3.ErrorCode
		ours error
	}{
		{sqlite3.BUSY, ErrLocked},
		{sqlite3.LOCKED, ErrLocked},
		{sqlite3.READONLY, ErrReadOnly},
		{sqlite3.NOTADB, ErrCorrupt},
		{sqlite3.CORRUPT, ErrCorrupt},
		{sqlite3.CONSTRAINT, ErrRefused},
		{sqlite3.NOMEM, ErrMemory},
		{sqlite3.FULL, ErrFull},
	} {
		if errors.Is(err, pair.code) {
			return fmt.Errorf("%w: %w", pair.ours, err)
		}
	}
	// The system's own reason for refusing a write does not come through SQLite; it is hardly ever another one.
	if errors.Is(err, sqlite3.IOERR_WRITE) || errors.Is(err, sqlite3.IOERR_SHMSIZE) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// also joins err with a second error, if there is one.
func also(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}

// failure is an error with what was being done.
type failure struct {
	what string
	err  error
}

func (f *failure) Error() string { return "store: " + f.what + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail adds what was being done and the package's name, once: of nested failures the outer says "write", the inner "write: commit".
func fail(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if inner, ok := err.(*failure); ok {
		if inner.what != what && !strings.HasPrefix(inner.what, what+": ") {
			what += ": " + inner.what
		} else {
			what = inner.what
		}
		return &failure{what, inner.err}
	}
	return &failure{what, translate(ctx, err)}
}
