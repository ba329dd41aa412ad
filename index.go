package sakur4

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sakur4/internal/codeindex"
	"sakur4/internal/sourcefile"
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
	in := codeindex.Options{Exclude: o.Exclude, Generated: o.Generated, Full: o.Full, Parallel: o.Parallel}
	if o.Progress != nil {
		in.Progress = func(p codeindex.Progress) { o.Progress(IndexProgress(p)) }
	}
	r, err := e.code.Run(ctx, in)
	out := IndexReport{Files: r.Files, Ignored: r.Ignored, Parsed: r.Parsed, Unchanged: r.Unchanged, Removed: r.Removed, Bytes: r.Bytes, Symbols: r.Symbols,
		References: r.References, Partial: r.Partial, LeftOut: r.LeftOut}
	for _, s := range r.Skipped {
		out.Skipped = append(out.Skipped, SkippedFile(s))
	}
	return out, wrap(err)
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

// files returns the file system that [Engine.Index] was given, nil for none.
func (e *Engine) files() fs.FS {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tree
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
