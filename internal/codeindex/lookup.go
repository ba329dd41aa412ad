package codeindex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
	"sakur4/internal/store"
	"sakur4/symbolic"
)

// NameError says why a name is none of one symbol.
type NameError struct {
	Name string
	// Ambiguous says that several symbols have it. Nearest are then names for each of them, otherwise those that may have been meant; at most [MaxNearest].
	Ambiguous bool
	Nearest   []string
	// NothingIndexed says that the project has no index yet.
	NothingIndexed bool
}

// Error says what is wrong.
func (e *NameError) Error() string {
	switch {
	case e.NothingIndexed:
		return "codeindex: nothing is indexed"
	case e.Ambiguous:
		return fmt.Sprintf("codeindex: %q is the name of several symbols", e.Name)
	}
	return fmt.Sprintf("codeindex: no symbol %q", e.Name)
}

const (
	// MaxNearest is how many names a [NameError] lists.
	MaxNearest = 16
	// maxLooks is for how many symbols of one name the files are looked at. More of them are ambiguous whatever the files hold now.
	maxLooks = 64
)

// lookup looks for one name, in the index and in the files behind it.
type lookup struct {
	x       *Index
	name    string
	keys    []string
	modules []cortex.Module
	fsys    fs.FS
	done    func() error
	problem error // why there is no fsys
	now     time.Time

	files map[string]*currentFile // those that were looked at
	list  []store.SymbolInFile    // the symbols of the keys, as the files have them
	named []cortex.Named
	names *cortex.Names
}

// currentFile is an indexed file as it is at this moment.
type currentFile struct {
	index   store.FileIndex
	text    string
	changed bool // it is not what was indexed
	gone    bool
	err     error // why it could not be read
}

// lookup prepares to look for a name. It fails where nothing is indexed.
func (x *Index) lookup(ctx context.Context, name string) (*lookup, error) {
	l := &lookup{x: x, name: name, keys: cortex.Keys(name), now: x.Now(), files: map[string]*currentFile{}}
	indexed := false
	err := x.Store.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(x.Project) {
			if err != nil {
				return err
			}
			indexed = indexed || f.Symbols > 0
			if f.Language == string(cortex.GoMod) {
				l.modules = append(l.modules, cortex.Module{Dir: path.Dir(f.Path), Path: f.Package})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !indexed {
		return nil, &NameError{Name: name, NothingIndexed: true}
	}
	root, err := x.Open()
	if err != nil {
		l.problem = err
		return l, nil
	}
	l.fsys, l.done = root.FS(), root.Close
	return l, nil
}

// close writes what was read anew into the index.
func (l *lookup) close(ctx context.Context) {
	if l.done != nil {
		_ = l.done() // Nothing was written.
	}
	if l.x.ReadOnly {
		return
	}
	var changed []string
	for _, p := range slices.Sorted(maps.Keys(l.files)) {
		if f := l.files[p]; f.changed && f.err == nil {
			changed = append(changed, p)
		}
	}
	for batch := range slices.Chunk(changed, batchFiles) { // a turn that is committed meanwhile waits for one of them
		if err := l.write(ctx, batch); err != nil {
			l.x.Log.WarnContext(ctx, "the index could not be brought up to date", "error", err)
			return
		}
	}
}

func (l *lookup) write(ctx context.Context, changed []string) error {
	return l.x.Store.Write(ctx, func(tx *store.Tx) error {
		for _, p := range changed {
			f := l.files[p]
			var err error
			if f.gone {
				err = tx.RemoveFile(l.x.Project, p, l.now)
			} else {
				err = tx.PutFile(l.x.Project, f.index, l.now)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// symbol finds the one symbol of the name. The errors are a [*NameError] and those of the store.
func (l *lookup) symbol(ctx context.Context) (Found, error) {
	found, err := l.find(ctx)
	if err != nil {
		return Found{}, err
	}
	if len(found) == 0 {
		// It may have been written since the files were indexed.
		if err := l.lookAtChanged(ctx); err != nil {
			return Found{}, err
		}
		if found, err = l.find(ctx); err != nil {
			return Found{}, err
		}
	}
	switch len(found) {
	case 0:
		nearest, err := l.nearest(ctx)
		if err != nil {
			return Found{}, err
		}
		return Found{}, &NameError{Name: l.name, Nearest: nearest}
	case 1:
		return l.current(found[0]), nil
	}
	out := &NameError{Name: l.name, Ambiguous: true}
	for _, i := range found[:min(len(found), MaxNearest)] {
		out.Nearest = append(out.Nearest, l.names.Unique(i))
	}
	return Found{}, out
}

// find returns the indexes in l.list of what the name means. It looks at the files of what it finds until none of them has changed.
func (l *lookup) find(ctx context.Context) ([]int, error) {
	for {
		if err := l.collect(ctx); err != nil {
			return nil, err
		}
		found := l.names.Find(l.name)
		news := false
		for _, i := range found {
			p := l.list[i].File.Path
			if l.files[p] == nil && len(found) <= maxLooks {
				if err := l.look(ctx, p); err != nil {
					return nil, err
				}
				news = news || l.files[p].changed
			}
		}
		if !news {
			return found, nil
		}
	}
}

// collect reads the symbols of the keys: from the index, and from the files that have changed.
func (l *lookup) collect(ctx context.Context) error {
	l.list, l.named = nil, nil
	err := l.x.Store.Read(ctx, func(r *store.Reader) error {
		for _, key := range l.keys {
			list, err := r.SymbolsByKey(l.x.Project, key)
			if err != nil {
				return err
			}
			for _, s := range list {
				if f := l.files[s.File.Path]; f == nil || !f.changed {
					l.list = append(l.list, s)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(l.files)) {
		f := l.files[p]
		if !f.changed {
			continue
		}
		for i, s := range f.index.Symbols {
			if slices.Contains(l.keys, s.Key) {
				l.list = append(l.list, store.SymbolInFile{SymbolRow: s, Ord: i, File: f.index.File})
			}
		}
	}
	for _, s := range l.list {
		l.named = append(l.named, l.nameOf(s))
	}
	l.names = cortex.NewNames(l.named)
	return nil
}

func (l *lookup) nameOf(s store.SymbolInFile) cortex.Named {
	out := cortex.Named{ID: s.Fact.FactID, Name: s.Fact.QualifiedName, Path: s.File.Path, Kind: codesym.Kind(s.Fact.Kind),
		Package: cortex.PackageOf(codesym.Lang(s.File.Language), s.File.Path, s.File.Package, l.modules)}
	if s.File.Language == string(codesym.Go) {
		out.Clause = s.File.Package
	}
	return out
}

// look compares an indexed file with what it holds now.
func (l *lookup) look(ctx context.Context, p string) error {
	f := &currentFile{}
	l.files[p] = f
	err := l.x.Store.Read(ctx, func(r *store.Reader) (err error) {
		f.index, err = r.FileIndex(l.x.Project, p)
		return err
	})
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil // another call has removed it
		}
		return err
	}
	if l.problem != nil {
		f.err = l.problem
		return nil
	}
	l.read(f, p)
	return nil
}

// read reads a file again, and parses it where it is not what was indexed.
func (l *lookup) read(f *currentFile, p string) {
	row := f.index.File
	ent, there := cortex.Look(l.fsys, p)
	generated := row.Parser == cortex.Version(true)
	c := cortex.Content{Gone: true}
	if there {
		c = cortex.Read(l.fsys, ent, generated)
	}
	switch {
	case c.Gone || ent.Skip == cortex.Link || ent.Skip == cortex.Irregular:
		f.changed, f.gone, f.index = true, true, store.FileIndex{}
	case c.Skip == cortex.Unreadable:
		f.err = c.Err
	case c.Hash != "" && c.Hash == row.Hash && row.Parser == cortex.Version(generated):
		f.text = c.Text
	default:
		f.changed, f.text = true, c.Text
		f.index, _, _ = outline(new(symbolic.Outliner), l.x.Project, ent, c, cortex.Version(generated), l.now)
	}
}

// lookAtChanged reads the indexed files again whose size or time is another one.
func (l *lookup) lookAtChanged(ctx context.Context) error {
	if l.problem != nil {
		return nil
	}
	var changed []string
	err := l.x.Store.Read(ctx, func(r *store.Reader) error {
		for row, err := range r.Files(l.x.Project) {
			if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			ent, there := cortex.Look(l.fsys, row.Path)
			if l.files[row.Path] == nil && (!there || !knownOf(row).Same(ent, row.Parser)) {
				changed = append(changed, row.Path)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range changed {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.look(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// nearest returns names that may have been meant.
func (l *lookup) nearest(ctx context.Context) ([]string, error) {
	var out []string
	err := l.x.Store.Read(ctx, func(r *store.Reader) error {
		var keys []string
		for key, err := range r.SymbolKeys(l.x.Project) {
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		for _, key := range cortex.Nearest(l.name, keys, MaxNearest) {
			list, err := r.SymbolsByKey(l.x.Project, key)
			if err != nil {
				return err
			}
			named := make([]cortex.Named, len(list))
			for i, s := range list {
				named[i] = l.nameOf(s)
			}
			names := cortex.NewNames(named)
			for i := range named {
				if len(out) == MaxNearest {
					return nil
				}
				out = append(out, names.Unique(i))
			}
		}
		return nil
	})
	return out, err
}

// Found is a symbol as its file has it now.
type Found struct {
	store.SymbolInFile
	// Name is the shortest name that finds it and nothing else, Package what its language calls the unit that it belongs to, Parent the qualified name of the
	// symbol that it stands in, "" for none.
	Name, Package, Parent string
	// Text is the whole file, Err why it could not be read. Refreshed says that it had changed since it was indexed.
	Text      string
	Err       error
	Refreshed bool
}

// current returns what the file has of a symbol.
func (l *lookup) current(i int) Found {
	s, n := l.list[i], l.named[i]
	f := l.files[n.Path]
	out := Found{SymbolInFile: s, Name: l.names.Unique(i), Package: n.Package, Text: f.text, Err: f.err, Refreshed: f.changed}
	if s.Parent >= 0 && s.Parent < len(f.index.Symbols) {
		out.Parent = f.index.Symbols[s.Parent].Fact.QualifiedName
	}
	return out
}
