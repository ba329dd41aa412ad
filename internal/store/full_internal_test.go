package store

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// TestARefusedWriteIsAFullDisk: on a full file system SQLite speaks of a failed write, as of a full file.
func TestARefusedWriteIsAFullDisk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want bool
	}{{sqlite3.FULL, true}, {sqlite3.IOERR_WRITE, true}, {sqlite3.IOERR_SHMSIZE, true}, {sqlite3.IOERR_READ, false}, {sqlite3.CORRUPT, false}} {
		if got := errors.Is(fail(t.Context(), test.err, "write"), ErrFull); got != test.want {
			t.Errorf("fail(%v) is ErrFull: %t, want %t", test.err, got, test.want)
		}
	}
}
