package store

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// memoryPage is the unit of sharing between snapshots. A table of the pages has a leaf for each memoryLeaf of them, so that a transaction copies a few leaves and the
// list of them, however large the database is.
const (
	memoryPage = pageBytes
	memoryLeaf = 256
)

// leaf is a part of a page table. A page that was never written is nil.
type leaf [memoryLeaf]*[memoryPage]byte

// memoryVFS is a file system with one database in memory. Readers see the snapshot that was committed when they began, as they do with
// a log: a reader never makes a writer wait, so that a store in memory behaves like one in a file.
type memoryVFS struct {
	name string

	mu    sync.Mutex // guards the fields below
	pages []*leaf
	size  int64
	owner *memoryFile
}

// memoryNames makes the names under which SQLite finds the file systems unique.
var memoryNames atomic.Int64

func newMemoryVFS() *memoryVFS {
	m := &memoryVFS{name: fmt.Sprintf("sakur4-memory-%d", memoryNames.Add(1))}
	vfs.Register(m.name, m)
	return m
}

// Open implements [vfs.VFS].
func (m *memoryVFS) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == "" || flags&vfs.OPEN_DELETEONCLOSE != 0 {
		return &vfsutil.SliceFile{}, flags | vfs.OPEN_MEMORY, nil
	}
	if flags&vfs.OPEN_MAIN_DB == 0 {
		return nil, flags, sqlite3.CANTOPEN // OPEN_MEMORY says that journals stay inside SQLite.
	}
	return &memoryFile{db: m}, flags | vfs.OPEN_MEMORY, nil
}

// Delete implements [vfs.VFS].
func (*memoryVFS) Delete(string, bool) error { return sqlite3.IOERR_DELETE_NOENT }

// Access implements [vfs.VFS].
func (*memoryVFS) Access(string, vfs.AccessFlag) (bool, error) { return false, nil }

// FullPathname implements [vfs.VFS].
func (*memoryVFS) FullPathname(name string) (string, error) { return name, nil }

// memoryFile is one connection's view of the database.
type memoryFile struct {
	db    *memoryVFS
	lock  vfs.LockLevel
	pages []*leaf
	size  int64
	own   bool                           // pages is a copy of the table
	fresh map[*[memoryPage]byte]struct{} // pages written in this transaction, not shared yet
	grown map[*leaf]struct{}             // leaves likewise
}

var (
	_ vfs.VFS           = (*memoryVFS)(nil)
	_ vfs.FileLockState = (*memoryFile)(nil)
)

// Close implements [vfs.File].
func (f *memoryFile) Close() error {
	f.db.mu.Lock()
	defer f.db.mu.Unlock()
	if f.db.owner == f {
		f.db.owner = nil
	}
	f.forget()
	f.lock = vfs.LOCK_NONE
	return nil
}

func (f *memoryFile) forget() { f.pages, f.size, f.own, f.fresh, f.grown = nil, 0, false, nil, nil }

// view loads the committed state when no lock holds a snapshot.
func (f *memoryFile) view() (pages []*leaf, size int64) {
	if f.lock != vfs.LOCK_NONE {
		return f.pages, f.size
	}
	f.db.mu.Lock()
	defer f.db.mu.Unlock()
	return f.db.pages, f.db.size
}

// ReadAt implements [io.ReaderAt].
func (f *memoryFile) ReadAt(b []byte, off int64) (n int, err error) {
	pages, size := f.view()
	for n < len(b) {
		at := off + int64(n)
		if at >= size {
			clear(b[n:])
			return n, io.EOF
		}
		end := min(int64(len(b)-n), size-at, memoryPage-at%memoryPage)
		if p := pages[at/memoryPage/memoryLeaf][at/memoryPage%memoryLeaf]; p != nil {
			copy(b[n:n+int(end)], p[at%memoryPage:])
		} else {
			clear(b[n : n+int(end)])
		}
		n += int(end)
	}
	return n, nil
}

// WriteAt implements [io.WriterAt].
func (f *memoryFile) WriteAt(b []byte, off int64) (n int, err error) {
	if f.lock < vfs.LOCK_RESERVED {
		return 0, sqlite3.IOERR_WRITE
	}
	f.claim()
	for n < len(b) {
		at := off + int64(n)
		i := int(at / memoryPage)
		l := f.leaf(i / memoryLeaf)
		p := l[i%memoryLeaf]
		if _, mine := f.fresh[p]; p == nil || !mine {
			c := new([memoryPage]byte)
			if p != nil {
				*c = *p
			}
			p, l[i%memoryLeaf] = c, c
			f.fresh[p] = struct{}{}
		}
		n += copy(p[at%memoryPage:], b[n:])
	}
	f.size = max(f.size, off+int64(n))
	return n, nil
}

// claim makes the page table this transaction's own.
func (f *memoryFile) claim() {
	if !f.own {
		f.pages = slices.Clone(f.pages)
		f.own, f.fresh, f.grown = true, map[*[memoryPage]byte]struct{}{}, map[*leaf]struct{}{}
	}
}

// leaf returns a leaf of the table that this transaction may write to.
func (f *memoryFile) leaf(i int) *leaf {
	for i >= len(f.pages) {
		l := new(leaf)
		f.pages = append(f.pages, l)
		f.grown[l] = struct{}{}
	}
	if _, mine := f.grown[f.pages[i]]; !mine {
		l := *f.pages[i]
		f.pages[i] = &l
		f.grown[&l] = struct{}{}
	}
	return f.pages[i]
}

// Truncate implements [vfs.File].
func (f *memoryFile) Truncate(size int64) error {
	if f.lock < vfs.LOCK_RESERVED {
		return sqlite3.IOERR_TRUNCATE
	}
	f.claim()
	f.size = min(f.size, size)
	pages := (size + memoryPage - 1) / memoryPage
	f.pages = f.pages[:min(int64(len(f.pages)), (pages+memoryLeaf-1)/memoryLeaf)]
	if i := pages / memoryLeaf; i < int64(len(f.pages)) {
		clear(f.leaf(int(i))[pages%memoryLeaf:])
	}
	return nil
}

// Sync implements [vfs.File].
func (*memoryFile) Sync(vfs.SyncFlag) error { return nil }

// Size implements [vfs.File].
func (f *memoryFile) Size() (int64, error) {
	_, size := f.view()
	return size, nil
}

// Lock implements [vfs.File].
func (f *memoryFile) Lock(lock vfs.LockLevel) error {
	if f.lock >= lock {
		return nil
	}
	f.db.mu.Lock()
	defer f.db.mu.Unlock()
	if lock == vfs.LOCK_SHARED {
		f.pages, f.size = f.db.pages, f.db.size
		f.lock = lock
		return nil
	}
	if f.db.owner != nil && f.db.owner != f {
		return sqlite3.BUSY
	}
	if f.db.owner == nil && !f.current() {
		return sqlite3.BUSY_SNAPSHOT // Somebody has committed since this snapshot was taken.
	}
	f.db.owner, f.lock = f, lock
	return nil
}

// current reports whether the snapshot is the committed state: a commit replaces the table.
func (f *memoryFile) current() bool {
	if len(f.pages) != len(f.db.pages) || f.size != f.db.size {
		return false
	}
	return len(f.pages) == 0 || &f.pages[0] == &f.db.pages[0]
}

// Unlock implements [vfs.File]. Leaving the exclusive lock publishes what was written.
func (f *memoryFile) Unlock(lock vfs.LockLevel) error {
	if f.lock <= lock {
		return nil
	}
	f.db.mu.Lock()
	defer f.db.mu.Unlock()
	if f.db.owner == f {
		if f.lock == vfs.LOCK_EXCLUSIVE && f.own {
			f.db.pages, f.db.size = slices.Clip(f.pages), f.size
			f.own, f.fresh, f.grown = false, nil, nil
		}
		f.db.owner = nil
	}
	if lock == vfs.LOCK_NONE {
		f.forget()
	}
	f.lock = lock
	return nil
}

// CheckReservedLock implements [vfs.File].
func (f *memoryFile) CheckReservedLock() (bool, error) {
	f.db.mu.Lock()
	defer f.db.mu.Unlock()
	return f.db.owner != nil, nil
}

// LockState implements [vfs.FileLockState].
func (f *memoryFile) LockState() vfs.LockLevel { return f.lock }

// SectorSize implements [vfs.File].
func (*memoryFile) SectorSize() int { return memoryPage }

// DeviceCharacteristics implements [vfs.File].
func (*memoryFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_ATOMIC | vfs.IOCAP_SEQUENTIAL | vfs.IOCAP_SAFE_APPEND | vfs.IOCAP_POWERSAFE_OVERWRITE | vfs.IOCAP_SUBPAGE_READ
}
