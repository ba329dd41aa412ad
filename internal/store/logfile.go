package store

import (
	"fmt"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// SQLite writes each page of a commit to the log with two calls of the system, a small one and one of a page, and then waits for the disk. For pages of a
// kilobyte the calls cost as much as the wait. The writer's log is therefore written through a file that holds what is appended until the sync, and
// writes it with one call. Nobody looks for it earlier: a commit is announced to the readers after its sync, and the writer itself is the only one that reads
// pages which are not committed.

// heldBytes bounds what is held: a larger transaction is written piece by piece.
const heldBytes = 1 << 20

// logVFS is the file system below it, with a log that holds what is appended to it. It belongs to one connection, whose synchronous is FULL.
type logVFS struct {
	vfs.VFS
	name string
	log  *logFile // nil until SQLite opens it
	// lax says that the transaction under way need not be on the disk when it is committed: what follows in the log is synced with it.
	lax   bool
	waits atomic.Int64 // for the disk
	// doubt says that the disk has failed: what was written and not synced may be gone, although it can be read still.
	doubt atomic.Bool
}

func (v *logVFS) doubtful() bool { return v != nil && v.doubt.Load() }

// settle makes sure that the log is on the disk, where that is in doubt. The caller holds SQLite's lock for writing.
func (v *logVFS) settle() error {
	if !v.doubtful() || v.log == nil {
		return nil
	}
	if err := v.log.rewrite(); err != nil {
		return fmt.Errorf("the log could not be written again after the disk had failed: %w", err)
	}
	v.doubt.Store(false)
	return nil
}

// logNames makes the names under which SQLite finds the file systems unique.
var logNames atomic.Int64

func newLogVFS(below string) *logVFS {
	v := &logVFS{VFS: vfs.Find(below), name: fmt.Sprintf("sakur4-log-%d", logNames.Add(1))}
	vfs.Register(v.name, v)
	return v
}

// Open implements [vfs.VFS].
func (v *logVFS) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == "" {
		return v.OpenFilename(nil, flags)
	}
	return nil, flags, sqlite3.CANTOPEN // OpenFilename is called instead
}

// OpenFilename implements [vfs.VFSFilename].
func (v *logVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := vfsutil.WrapOpenFilename(v.VFS, name, flags)
	if err != nil || flags&vfs.OPEN_WAL == 0 {
		return f, flags, err
	}
	v.log = &logFile{File: f, vfs: v}
	return v.log, flags, nil
}

// forget throws away what a transaction has appended and is now rolled back: written later, it could take the place of another connection's pages.
func (v *logVFS) forget() {
	if v.log != nil {
		v.log.held = v.log.held[:0]
	}
}

// logFile holds what is appended until it is synced, read, or written elsewhere.
type logFile struct {
	vfs.File
	held []byte
	at   int64 // where held belongs
	vfs  *logVFS
}

var (
	_ vfs.VFSFilename = (*logVFS)(nil)
	_ vfs.FileUnwrap  = (*logFile)(nil)
)

// WriteAt implements [vfs.File].
func (f *logFile) WriteAt(p []byte, off int64) (int, error) {
	if len(f.held) > 0 && (off != f.at+int64(len(f.held)) || len(f.held)+len(p) > heldBytes) {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	if len(f.held) == 0 {
		f.at = off
	}
	f.held = append(f.held, p...)
	return len(p), nil
}

// flush writes what is held. After an error it is held no more: the transaction fails.
func (f *logFile) flush() error {
	if len(f.held) == 0 {
		return nil
	}
	_, err := f.File.WriteAt(f.held, f.at)
	f.held = f.held[:0]
	return vfs.SystemError(err, sqlite3.IOERR_WRITE)
}

// ReadAt implements [vfs.File].
func (f *logFile) ReadAt(p []byte, off int64) (int, error) {
	if off < f.at+int64(len(f.held)) && f.at < off+int64(len(p)) {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	return f.File.ReadAt(p, off)
}

// Sync implements [vfs.File]. The header of a log that is begun anew is synced by itself, whatever follows: it must be on the disk before the pages are that are
// written over those of the old log.
func (f *logFile) Sync(flags vfs.SyncFlag) error {
	header := f.at == 0 && len(f.held) > 0
	if err := f.flush(); err != nil {
		return err
	}
	if f.vfs.lax && !header {
		return nil
	}
	f.vfs.waits.Add(1)
	err := f.File.Sync(flags)
	if err != nil {
		f.vfs.doubt.Store(true)
	}
	return err
}

// rewrite writes all of the log as it is, and syncs it. A system that could not write a page says so once, and may take the page for written from then on: to sync
// again proves nothing of what was written before.
func (f *logFile) rewrite() error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	b := make([]byte, min(size, heldBytes))
	for at := int64(0); at < size; at += int64(len(b)) {
		b = b[:min(size-at, heldBytes)]
		if _, err := f.File.ReadAt(b, at); err != nil {
			return vfs.SystemError(err, sqlite3.IOERR_READ)
		}
		if _, err := f.File.WriteAt(b, at); err != nil {
			return vfs.SystemError(err, sqlite3.IOERR_WRITE)
		}
	}
	return f.File.Sync(vfs.SYNC_FULL)
}

// Size implements [vfs.File].
func (f *logFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Truncate implements [vfs.File].
func (f *logFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Close implements [vfs.File]. What is held then was never committed.
func (f *logFile) Close() error {
	f.held = nil
	return f.File.Close()
}

// Unwrap implements [vfs.FileUnwrap].
func (f *logFile) Unwrap() vfs.File { return f.File }
