package codeindex

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"sakur4/internal/cortex"
	"sakur4/internal/store"
	"sakur4/symbolic"
)

// Options say what [Index.Run] reads.
type Options struct {
	// Exclude are patterns as a .gitignore in the root would have them, and decide before those of the tree.
	Exclude []string
	// Generated reads generated files too; Full reads every file, whatever its size and time say.
	Generated, Full bool
	// Parallel is how many files are parsed at once; 0, and more than there are processors, is one for each.
	Parallel int
	// Progress is told how far it is, after each file, on the goroutine that called Run; nil is nobody.
	Progress func(Progress)
}

// Progress says how far an indexing is.
type Progress struct {
	Done, Total int
	Bytes       int64
	Path        string
}

// Report says what an indexing found and did; its numbers are those of the engine's report.
type Report struct {
	Files, Ignored, Parsed, Unchanged, Removed int
	Bytes                                      int64
	Symbols, References, Partial, LeftOut      int
	Skipped                                    []Skipped
}

// Skipped is a file that the index has no symbols of.
type Skipped struct{ Path, Reason string }

const (
	// batchRows and batchFiles bound what is written in one transaction: a turn that is committed meanwhile waits for it.
	batchRows, batchFiles = 1500, 64
)

// Run brings the index up to date. It may be cancelled: what was written is whole, and the report says how far it came.
func (x *Index) Run(ctx context.Context, o Options) (Report, error) {
	root, err := x.Open()
	if err != nil {
		return Report{}, err
	}
	defer root.Close()
	// What is known is read before the tree: a file that appears meanwhile is not taken for one that is gone.
	known, rest := map[string]store.FileRow{}, map[string]bool{}
	err = x.Store.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(x.Project) {
			if err != nil {
				return err
			}
			known[f.Path], rest[f.Path] = f, true
		}
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	ix := indexer{x: x, o: o, fsys: root.FS(), known: known, rest: rest, version: cortex.Version(o.Generated), now: x.Now()}
	err = ix.run(ctx)
	slices.SortFunc(ix.report.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Path, b.Path) })
	return ix.report, err
}

// indexer is one indexing.
type indexer struct {
	x       *Index
	o       Options
	fsys    fs.FS
	known   map[string]store.FileRow // as it was at the beginning; never changed
	rest    map[string]bool          // those of known that no file was met for yet
	version int
	now     time.Time
	report  Report

	writes []func(*store.Tx) error // what the next transaction writes
	rows   int
}

// looked is a file that was looked at.
type looked struct {
	content cortex.Content
	same    bool // its content is what the index has
	index   store.FileIndex
	partial bool
	leftOut int
}

func (ix *indexer) run(ctx context.Context) error {
	tree, err := cortex.Walk(ctx, ix.fsys, ix.o.Exclude)
	if err != nil {
		return fmt.Errorf("sakur4: index: %w", err)
	}
	ix.report.Files, ix.report.Ignored = len(tree.Entries), tree.Ignored
	parallel := runtime.GOMAXPROCS(0)
	if ix.o.Parallel > 0 {
		parallel = min(ix.o.Parallel, parallel)
	}
	outliners := make(chan *symbolic.Outliner, parallel) // one for each that works at the same time
	for range parallel {
		outliners <- new(symbolic.Outliner)
	}
	work := func(i int) looked {
		o := <-outliners
		defer func() { outliners <- o }()
		return ix.look(o, tree.Entries[i])
	}
	done := 0
	err = cortex.Ordered(ctx, len(tree.Entries), parallel, work, func(i int, l looked) error {
		if err := ix.take(ctx, tree.Entries[i], l); err != nil {
			return err
		}
		done++
		if ix.o.Progress != nil {
			ix.o.Progress(Progress{Done: done, Total: len(tree.Entries), Bytes: ix.report.Bytes, Path: tree.Entries[i].Path})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := ix.sweep(ctx); err != nil {
		return err
	}
	if err := ix.flush(ctx); err != nil {
		return err
	}
	return ix.count(ctx)
}

// look reads and parses a file if it must. It runs on several goroutines and changes nothing.
func (ix *indexer) look(o *symbolic.Outliner, ent cortex.Entry) looked {
	row, known := ix.known[ent.Path]
	if known && ent.Skip == "" && !ix.o.Full && knownOf(row).Same(ent, ix.version) {
		return looked{same: true, content: cortex.Content{Skip: cortex.Reason(row.Problem)}, index: store.FileIndex{File: row}}
	}
	l := looked{content: cortex.Read(ix.fsys, ent, ix.o.Generated)}
	if known && !ix.o.Full && row.Parser == ix.version && row.Hash != "" && row.Hash == l.content.Hash {
		l.same, l.index.File = true, row
		l.index.File.Bytes, l.index.File.Modified, l.index.File.Indexed = ent.Size, ent.Modified, ix.now
		return l
	}
	l.index, l.partial, l.leftOut = outline(o, ix.x.Project, ent, l.content, ix.version, ix.now)
	return l
}

func knownOf(row store.FileRow) cortex.Known {
	return cortex.Known{Size: row.Bytes, Modified: row.Modified, Indexed: row.Indexed, Version: row.Parser}
}

// take counts what was found and writes it with the next transaction.
func (ix *indexer) take(ctx context.Context, ent cortex.Entry, l looked) error {
	row, known := ix.known[ent.Path]
	problem := l.index.File.Problem
	switch {
	case l.content.Gone:
		ix.report.Files-- // the sweep removes it
		return nil
	case l.content.Skip == cortex.Unreadable:
		problem = string(cortex.Unreadable.Because(fmt.Sprint(l.content.Err)))
		ix.markKept(ent)
	case ent.Skip != "":
		problem = string(ent.Skip) // the sweep removes what the index had of it
	case l.same:
		delete(ix.rest, ent.Path)
		ix.report.Unchanged++
		if ent.Modified.IsZero() || l.index.File.Indexed.Equal(row.Indexed) {
			break // there is nothing to remember of its time
		}
		file := l.index.File
		if err := ix.write(ctx, 1, func(tx *store.Tx) error { return tx.TouchFile(ix.x.Project, file) }); err != nil {
			return err
		}
	default:
		delete(ix.rest, ent.Path)
		if problem == "" {
			ix.report.Parsed++
			ix.report.Bytes += int64(len(l.content.Text))
			ix.report.LeftOut += l.leftOut
			if l.partial {
				ix.report.Partial++
			}
		} else if known && row.Problem == problem && row.Parser == ix.version {
			ix.report.Unchanged++
		}
		f := l.index
		if err := ix.write(ctx, 1+len(f.Symbols)+len(f.Calls)/4, func(tx *store.Tx) error { return tx.PutFile(ix.x.Project, f, ix.now) }); err != nil {
			return err
		}
	}
	if problem != "" {
		ix.report.Skipped = append(ix.report.Skipped, Skipped{Path: ent.Path, Reason: problem})
	}
	return nil
}

// markKept keeps what the index has of a place that cannot be read, and of all below it: it is not known to be gone.
func (ix *indexer) markKept(ent cortex.Entry) {
	delete(ix.rest, ent.Path)
	if !ent.Folder {
		return
	}
	for name := range ix.rest {
		if strings.HasPrefix(name, ent.Path+"/") {
			delete(ix.rest, name)
		}
	}
}

// sweep removes the files that the tree does not have any more.
func (ix *indexer) sweep(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(ix.rest)) {
		ix.report.Removed++
		rows := 1 + ix.known[name].Symbols
		if err := ix.write(ctx, rows, func(tx *store.Tx) error { return tx.RemoveFile(ix.x.Project, name, ix.now) }); err != nil {
			return err
		}
	}
	return nil
}

// write adds to the next transaction, and ends it where it has grown enough.
func (ix *indexer) write(ctx context.Context, rows int, f func(*store.Tx) error) error {
	ix.writes = append(ix.writes, f)
	ix.rows += rows
	if ix.rows < batchRows && len(ix.writes) < batchFiles {
		return nil
	}
	return ix.flush(ctx)
}

func (ix *indexer) flush(ctx context.Context) error {
	writes := ix.writes
	ix.writes, ix.rows = nil, 0
	if len(writes) == 0 {
		return nil
	}
	return ix.x.Store.Write(ctx, func(tx *store.Tx) error {
		for _, f := range writes {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// count says what the index holds.
func (ix *indexer) count(ctx context.Context) error {
	return ix.x.Store.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(ix.x.Project) {
			if err != nil {
				return err
			}
			ix.report.Symbols += f.Symbols
			ix.report.References += f.Calls
		}
		return nil
	})
}
