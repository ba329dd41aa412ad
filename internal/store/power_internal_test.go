package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"

	"sakur4/internal/episode"
	"sakur4/symbolic"
)

// disk is a file system that knows what would be left of its files after a loss of power.
type disk struct {
	vfs.VFS
	name  string
	mu    sync.Mutex // guards what follows
	files map[string]*platter
	fails int // of the syncs to come: what they should have made safe counts as written from then on
}

// platter is what has arrived of a file, and what was done to it since in its order, any of which may have arrived too.
type platter struct {
	safe  []byte
	since []change
}

// change is a write, or a truncation where data is nil.
type change struct {
	at   int64
	data []byte
}

func newDisk(t *testing.T) *disk {
	d := &disk{VFS: vfs.Find(""), name: fmt.Sprintf("disk-%d", logNames.Add(1)), files: map[string]*platter{}}
	vfs.Register(d.name, d)
	t.Cleanup(func() { vfs.Unregister(d.name) })
	return d
}

func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == "" {
		return d.OpenFilename(nil, flags)
	}
	return nil, flags, sqlite3.CANTOPEN
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := vfsutil.WrapOpenFilename(d.VFS, name, flags)
	if err != nil || name == nil {
		return f, flags, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	base := filepath.Base(name.String())
	if d.files[base] == nil {
		d.files[base] = &platter{}
	}
	return &diskFile{File: f, disk: d, on: d.files[base]}, flags, nil
}

func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, filepath.Base(name))
	return d.VFS.Delete(name, syncDir)
}

// lose writes what may be left of the files into a new folder, and returns the path of the store there.
func (d *disk) lose(t *testing.T, rng *rand.Rand) string {
	t.Helper()
	const sector = 512
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := t.TempDir()
	share := rng.IntN(5) // of what was not synced
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		b := bytes.Clone(d.files[name].safe)
		for _, c := range d.files[name].since {
			if c.data == nil {
				if rng.IntN(4) < share {
					b = resize(b, c.at)
				}
				continue
			}
			for at := 0; at < len(c.data); at += sector {
				if piece := c.data[at:min(at+sector, len(c.data))]; rng.IntN(4) < share {
					b = write(b, c.at+int64(at), piece)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "store.db")
}

func resize(b []byte, n int64) []byte {
	if n > int64(len(b)) {
		return append(b, make([]byte, n-int64(len(b)))...)
	}
	return b[:n]
}

func write(b []byte, at int64, p []byte) []byte {
	b = resize(b, max(int64(len(b)), at+int64(len(p))))
	copy(b[at:], p)
	return b
}

// diskFile is an open file of a disk.
type diskFile struct {
	vfs.File
	disk *disk
	on   *platter
}

func (f *diskFile) change(at int64, data []byte) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.on.since = append(f.on.since, change{at, data})
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	f.change(off, append([]byte{}, p...))
	return f.File.WriteAt(p, off)
}

func (f *diskFile) Truncate(size int64) error {
	f.change(size, nil)
	return f.File.Truncate(size)
}

func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.fails > 0 {
		f.disk.fails--
		f.on.since = nil
		return sqlite3.IOERR_FSYNC
	}
	for _, c := range f.on.since {
		if c.data == nil {
			f.on.safe = resize(f.on.safe, c.at)
		} else {
			f.on.safe = write(f.on.safe, c.at, c.data)
		}
	}
	f.on.since = nil
	return f.File.Sync(flags)
}

func (f *diskFile) Unwrap() vfs.File               { return f.File }
func (f *diskFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }
func (f *diskFile) MemoryMapper() vfs.MemoryMapper { return vfsutil.WrapMemoryMapper(f.File) }

var (
	_ vfs.VFSFilename      = (*disk)(nil)
	_ vfs.FileUnwrap       = (*diskFile)(nil)
	_ vfs.FileSharedMemory = (*diskFile)(nil)
)

// openOn opens a store on a disk, with a session in it.
func openOn(t *testing.T, d *disk) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "store.db"), vfs: d.name, lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	if err := s.Write(t.Context(), func(tx *Tx) error { return errors.Join(tx.EnsureProject("p", ""), tx.EnsureSession("p", "s")) }); err != nil {
		t.Fatal(err)
	}
	return s
}

// copierOf opens the connection of a store that copies its log into the file.
func copierOf(t *testing.T, s *Store) *conn {
	t.Helper()
	c, err := s.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestALossOfPower writes with and without a wait for the disk, copies the log into the file and begins it anew, and cuts the power after each step: the store
// is whole, has everything that was waited for, and of the rest what came first.
func TestALossOfPower(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			d := newDisk(t)
			s := openOn(t, d)
			copier := copierOf(t, s)
			written, safe := 0, 0
			step := func(f func() error) {
				t.Helper()
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}
			add := func(tx *Tx) error { // an episode with facts, and the state that knows of it
				e := episode.Record{ID: fmt.Sprint("ep_", written+1), Project: "p", Session: "s", Role: episode.Tool, Content: strings.Repeat("text ", rng.IntN(2000))}
				facts := []symbolic.Row{
					{FactID: "sym_" + e.ID, Project: "p", QualifiedName: e.ID, Kind: "json_field", Source: "json", Value: "text", ASTHash: "h", Episode: e.ID},
					{FactID: "sym_newest", Project: "p", QualifiedName: "newest", Kind: "json_field", Source: "json", Value: e.ID, ASTHash: e.ID, Episode: e.ID},
				}
				return errors.Join(tx.AppendEpisode(&e), tx.RecordFacts(&e, facts), tx.PutRenderState("p", "s", RenderState{Version: 1, Generation: written + 1, Body: "{}"}))
			}
			for range 24 {
				what := ""
				switch rng.IntN(9) {
				case 8:
					what = "enterQueue"
					step(func() error { return s.enterQueue(t.Context(), 0) })
				case 0, 1:
					what = "Write"
					step(func() error { return s.Write(t.Context(), add) })
					written++
					safe = written
				case 2:
					what = "checkpoint"
					step(func() error { return s.checkpoint(t.Context(), copier, rng.IntN(2) == 0) })
				case 3: // as when a store is closed
					what = "truncateLog"
					step(s.truncateLog)
					safe = written
				default:
					what = "WriteNoSync"
					step(func() error { return s.WriteNoSync(t.Context(), add) })
					written++
				}
				for range 2 {
					left, err := Open(t.Context(), Config{Path: d.lose(t, rng), lazy: true})
					if err != nil {
						t.Fatalf("Open() after a loss of power behind %s = %v", what, err)
					}
					report, err := left.Verify(t.Context())
					if err != nil || len(report.Problems) > 0 {
						t.Fatalf("Verify() after a loss of power behind %s = %v, %v", what, report.Problems, err)
					}
					var counts Counts
					var newest symbolic.Row
					state, err := 0, left.Read(t.Context(), func(r *Reader) (err error) {
						if counts, err = r.Counts("p"); err == nil && counts.Project.Facts > 0 {
							newest, err = r.Fact("p", "sym_newest")
						}
						return err
					})
					if err == nil {
						err = left.Read(t.Context(), func(r *Reader) error {
							row, err := r.RenderState("p", "s")
							if errors.Is(err, ErrNotFound) {
								err = nil
							}
							state = row.Generation
							return err
						})
					}
					if n := report.Count.Episodes; err != nil || n != state || n < safe || n > written {
						t.Fatalf("after a loss of power behind %s: %d episodes and a state that knows %d, %v; want the same number, %d to %d", what, n, state, err, safe, written)
					}
					if n := report.Count.Episodes; n > 0 && (counts.Project.Facts != n+1 || newest.Value != fmt.Sprint("ep_", n) || newest.Version != n) {
						t.Fatalf("after a loss of power behind %s: %d facts, the newest is %q in version %d; want one of each of %d episodes, and one that changed with each", what, counts.Project.Facts, newest.Value, newest.Version, n)
					}
					if err := left.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestWhatIsWaitedFor counts how often the writer waits for the disk.
func TestWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := openPlain(t, filepath.Join(t.TempDir(), "store.db"))
	n := 0
	put := func(tx *Tx) error {
		n++
		return tx.PutRenderState("p", "s", RenderState{Version: 1, Generation: n, Body: "{}"})
	}
	refused := errors.New("no")
	task := func(lax bool, f func(*Tx) error) *job {
		return &job{ctx: t.Context(), f: f, lax: lax, done: make(chan struct{})}
	}
	together := func(batch ...*job) func() error {
		return func() error {
			if err := s.lockWriter(t.Context()); err != nil {
				return err
			}
			defer s.unlockWriter()
			s.run(batch)
			return nil
		}
	}
	for _, test := range []struct {
		name string
		do   func() error
		want int64
	}{
		{"Write", func() error { return s.Write(t.Context(), put) }, 1},
		{"WriteNoSync", func() error { return s.WriteNoSync(t.Context(), put) }, 0},
		{"both in one transaction", together(task(true, put), task(false, put), task(true, put)), 1},
		{"two that do not wait", together(task(true, put), task(true, put)), 0},
		{"one that does not wait, and one that is refused", together(task(true, put), task(false, func(*Tx) error { return refused })), 0},
		{"a failure", together(task(true, func(*Tx) error { return refused })), 0},
		{"a failure, then Write", func() error { return s.Write(t.Context(), put) }, 1},
		{"truncateLog", s.truncateLog, 1},
		// The header of the new log is waited for, or what is left of the old one could be taken for the newest.
		{"WriteNoSync into a log that is begun anew", func() error { return s.WriteNoSync(t.Context(), put) }, 1},
		{"the next WriteNoSync", func() error { return s.WriteNoSync(t.Context(), put) }, 0},
	} {
		before := s.Waits()
		if err := test.do(); err != nil {
			t.Fatalf("%s = %v", test.name, err)
		}
		if got := s.Waits() - before; got != test.want {
			t.Errorf("%s waited for the disk %d times, want %d", test.name, got, test.want)
		}
	}
}

// TestAFailureOfTheDisk: a sync that fails may have lost what was written before it, and the next one that succeeds says nothing of that. What Write has returned
// without an error is there after a loss of power all the same, with all that it was built upon.
func TestAFailureOfTheDisk(t *testing.T) {
	t.Parallel()
	for _, fails := range []int{1, 2} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%d failures/%d", fails, seed), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, 2))
				d := newDisk(t)
				s := openOn(t, d)
				copier := copierOf(t, s)
				n := 0
				add := func(tx *Tx) error {
					e := episode.Record{ID: fmt.Sprint("ep_", n+1), Project: "p", Session: "s", Role: episode.User, Content: strings.Repeat("text ", rng.IntN(2000))}
					return tx.AppendEpisode(&e)
				}
				for range 3 {
					if err := s.WriteNoSync(t.Context(), add); err != nil {
						t.Fatal(err)
					}
					n++
				}
				d.mu.Lock()
				d.fails = fails
				d.mu.Unlock()
				for range fails {
					if err := s.Write(t.Context(), add); err == nil {
						t.Fatal("Write() = nil where the disk fails")
					}
					if err := s.checkpoint(t.Context(), copier, false); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Write(t.Context(), add); err != nil {
					t.Fatalf("Write() = %v where the disk works again", err)
				}
				n++
				for range 4 {
					left, err := Open(t.Context(), Config{Path: d.lose(t, rng), lazy: true})
					if err != nil {
						t.Fatal(err)
					}
					report, err := left.Verify(t.Context())
					if err != nil || len(report.Problems) > 0 || report.Count.Episodes != n {
						t.Errorf("after a loss of power: %d episodes, %v, %v; want %d and no problem", report.Count.Episodes, report.Problems, err, n)
					}
					if err := left.Close(); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}
