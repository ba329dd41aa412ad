package sakur4

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"sakur4/internal/cortex"
	"sakur4/internal/sourcefile"
	"sakur4/internal/store"
)

// IndexOptions say what [Engine.Index] reads. The zero value reads the project's folder.
type IndexOptions struct {
	// FS is what is read instead of the project's folder, such as a tree of an archive. As long as the engine is open, files are then looked up there by
	// [Engine.Symbol] and [Engine.Recall] as well, and a later call with nil reads it again. Otherwise nil is the folder, of which nothing outside is read.
	FS fs.FS
	// Exclude are patterns as a .gitignore in the root would have them, and decide before those of the tree: "vendor/", "*.pb.go", "!keep.go".
	Exclude []string
	// Generated reads generated files too, which are listed as skipped otherwise.
	Generated bool
	// Full reads every file, whatever its size and time say.
	Full bool
	// Parallel is how many files are parsed at once; 0, and more than there are processors, is one for each.
	Parallel int
	// Progress is told how far it is, after each file, on the goroutine that called Index; nil is nobody.
	Progress func(IndexProgress)
}

// IndexProgress says how far an indexing is.
type IndexProgress struct {
	// Done of Total files were looked at.
	Done, Total int
	// Bytes is how much was parsed.
	Bytes int64
	// Path is the file that was looked at last.
	Path string
}

// IndexReport says what [Engine.Index] found and did.
type IndexReport struct {
	// Files are those that were met, skipped ones too, but for ignored ones, of which Ignored counts those left out and whole folders once.
	Files   int `json:"files"`
	Ignored int `json:"ignored"`
	// Parsed files were new or had changed, Unchanged ones were as they are in the index, skipped ones among them, Removed ones are not there any more. Bytes is how much was parsed.
	Parsed    int   `json:"parsed"`
	Unchanged int   `json:"unchanged"`
	Removed   int   `json:"removed"`
	Bytes     int64 `json:"bytes"`
	// Symbols and References are what the index of the project holds now.
	Symbols    int `json:"symbols"`
	References int `json:"references"`
	// Partial counts the files that were parsed now and have a syntax error; their other symbols are there. LeftOut counts symbols with names too long to be facts.
	Partial int `json:"partial"`
	LeftOut int `json:"left_out"`
	// Skipped are the files without symbols, by path, each with its reason.
	Skipped []SkippedFile `json:"skipped"`
}

// SkippedFile is a file that the index has no symbols of.
type SkippedFile struct {
	// Path is below the project's root, with slashes.
	Path string `json:"path"`
	// Reason says why: its size, its language, that it is binary, generated or a link, or what the system said.
	Reason string `json:"reason"`
}

// String returns the report in one line.
func (r IndexReport) String() string {
	return fmt.Sprintf("%d files: %d parsed (%d bytes, %d with syntax errors), %d unchanged, %d removed, %d skipped, %d ignored; %d symbols, %d references",
		r.Files, r.Parsed, r.Bytes, r.Partial, r.Unchanged, r.Removed, len(r.Skipped), r.Ignored, r.Symbols, r.References)
}

const (
	// batchRows and batchFiles bound what is written in one transaction: a turn that is committed meanwhile waits for it.
	batchRows, batchFiles = 1500, 64
)

// Index reads the source code of the project into the ledger: a fact for each symbol, and the calls and imports for what follows them. Only files that have changed
// are read again; symbols and files that are gone leave the index, and interpretations of them are stale from then on. The patterns of the tree's .gitignore files and of
// .git/info/exclude are honoured and symbolic links are not followed. Patterns that git keeps outside of the folder (core.excludesFile, and the repository of a linked
// worktree) are out of reach: Exclude is for them.
//
// It may be cancelled: what was written is whole, and the next call does the rest. The report then says how far it came. Turns may be recorded meanwhile.
//
// The errors are [ErrReadOnly], [ErrUnsupported] where the project is named and has no folder, those of the folder, and those of the store. A file that cannot be read
// is no error: it is skipped, and the index keeps what it had of it.
func (e *Engine) Index(ctx context.Context, o IndexOptions) (IndexReport, error) {
	if err := e.check(ctx); err != nil {
		return IndexReport{}, err
	}
	if e.opts.ReadOnly {
		return IndexReport{}, fmt.Errorf("%w: Index", ErrReadOnly)
	}
	if o.FS != nil {
		e.mu.Lock()
		e.tree = o.FS
		e.mu.Unlock()
	}
	root, err := e.sources()
	if err != nil {
		return IndexReport{}, err
	}
	defer root.Close()
	// What is known is read before the tree: a file that appears meanwhile is not taken for one that is gone.
	known, rest := map[string]store.FileRow{}, map[string]bool{}
	err = e.st.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(e.project) {
			if err != nil {
				return err
			}
			known[f.Path], rest[f.Path] = f, true
		}
		return nil
	})
	if err != nil {
		return IndexReport{}, wrap(err)
	}
	ix := indexer{e: e, o: o, fsys: root.FS(), known: known, rest: rest, version: cortex.Version(o.Generated), now: e.now()}
	err = ix.run(ctx)
	slices.SortFunc(ix.report.Skipped, func(a, b SkippedFile) int { return cmp.Compare(a.Path, b.Path) })
	return ix.report, wrap(err)
}

// sources opens the files of the engine's project.
func (e *Engine) sources() (*sourcefile.Root, error) {
	if e.root == "" && e.files() == nil {
		return nil, fmt.Errorf("%w: the project is named and has no folder", ErrUnsupported)
	}
	root, err := e.openRoot(e.project)
	if err != nil {
		return nil, fmt.Errorf("sakur4: project root: %w", err)
	}
	return root, nil
}

// openRoot opens the folder of the engine's own project.
func (e *Engine) openRoot(project string) (*sourcefile.Root, error) {
	switch {
	case project != e.project:
		return nil, errors.New("it belongs to another project, whose files are not looked at")
	case e.files() != nil:
		return sourcefile.Of(e.files()), nil
	case e.root == "":
		return nil, errors.New("the project is named and has no folder")
	}
	return sourcefile.Open(e.root, e.alias...)
}

// indexer is one indexing.
type indexer struct {
	e       *Engine
	o       IndexOptions
	fsys    fs.FS
	known   map[string]store.FileRow // as it was at the beginning; never changed
	rest    map[string]bool          // those of known that no file was met for yet
	version int
	now     time.Time
	report  IndexReport

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
	work := func(i int) looked { return ix.look(tree.Entries[i]) }
	done := 0
	err = cortex.Ordered(ctx, len(tree.Entries), parallel, work, func(i int, l looked) error {
		if err := ix.take(ctx, tree.Entries[i], l); err != nil {
			return err
		}
		done++
		if ix.o.Progress != nil {
			ix.o.Progress(IndexProgress{Done: done, Total: len(tree.Entries), Bytes: ix.report.Bytes, Path: tree.Entries[i].Path})
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
func (ix *indexer) look(ent cortex.Entry) looked {
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
	l.index, l.partial, l.leftOut = outline(ix.e.project, ent, l.content, ix.version, ix.now)
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
		problem = oneLine(fmt.Sprintf("%s: %v", cortex.Unreadable, l.content.Err))
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
		if err := ix.write(ctx, 1, func(tx *store.Tx) error { return tx.TouchFile(ix.e.project, file) }); err != nil {
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
		if err := ix.write(ctx, 1+len(f.Symbols)+len(f.Calls)/4, func(tx *store.Tx) error { return tx.PutFile(ix.e.project, f, ix.now) }); err != nil {
			return err
		}
	}
	if problem != "" {
		ix.report.Skipped = append(ix.report.Skipped, SkippedFile{Path: ent.Path, Reason: problem})
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
		if err := ix.write(ctx, rows, func(tx *store.Tx) error { return tx.RemoveFile(ix.e.project, name, ix.now) }); err != nil {
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
	return ix.e.st.Write(ctx, func(tx *store.Tx) error {
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
	return ix.e.st.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(ix.e.project) {
			if err != nil {
				return err
			}
			ix.report.Symbols += f.Symbols
			ix.report.References += f.Calls
		}
		return nil
	})
}
