package sakur4

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"sakur4/internal/codesym"
	"sakur4/internal/cortex"
	"sakur4/internal/store"
)

// Symbol is a declaration in the project's source code, as its file has it at this moment.
type Symbol struct {
	// ID is the fact: [FactAnchor] of it is what an interpretation of the symbol is anchored to.
	ID FactID `json:"id"`
	// Name is the shortest name that [Engine.Symbol] finds the symbol and nothing else by. QualifiedName is the fact's: the name with its scopes, with parameter
	// types where the language has overloads, and "#2", "#3" where names repeat in a file.
	Name          string `json:"name"`
	QualifiedName string `json:"qualified_name"`
	// Kind is one of those that [symbolic.Kinds] begins with. Language is that of the file, Package what the language calls the unit that it belongs to: of Go
	// the path that it is imported by, "" in the root of a tree without a go.mod.
	Kind     string `json:"kind"`
	Language string `json:"language"`
	Package  string `json:"package,omitempty"`
	// File is below the project's root, with slashes. Line and EndLine are from 1, Start and End byte offsets, End exclusive.
	File    string `json:"file"`
	Line    int    `json:"line"`
	EndLine int    `json:"end_line"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
	// Signature is the declaration without its body, Doc the first sentence of its comment, Text the whole declaration as it is in the file.
	Signature string `json:"signature"`
	Doc       string `json:"doc,omitempty"`
	Text      string `json:"text"`
	// Hash covers all tokens of the declaration, SignatureHash those of the signature, both without comments and spacing.
	Hash          string `json:"hash"`
	SignatureHash string `json:"signature_hash"`
	// Parent is the qualified name of the symbol that it stands in, "" for none. Bases are the types that it extends, implements or embeds, as written.
	Parent string   `json:"parent,omitempty"`
	Bases  []string `json:"bases,omitempty"`
	// Test says that it is a test, Exported that other packages see it, Partial that a syntax error lies in it or next to it.
	Test     bool `json:"test,omitempty"`
	Exported bool `json:"exported,omitempty"`
	Partial  bool `json:"partial,omitempty"`
	// Refreshed says that its file had changed since it was indexed, and was read anew.
	Refreshed bool `json:"refreshed,omitempty"`
}

// SymbolError says why a name is none of one symbol. It is [ErrNotFound].
type SymbolError struct {
	// Name is the name that was asked for.
	Name string
	// Ambiguous says that several symbols have it. Nearest are then names for each of them, otherwise those that may have been meant, the likeliest first; at most 16.
	Ambiguous bool
	Nearest   []string
	// NothingIndexed says that the project has no index yet.
	NothingIndexed bool
}

// Error says what is wrong and lists the names.
func (e *SymbolError) Error() string {
	switch {
	case e.NothingIndexed && e.Name == "":
		return "sakur4: nothing is indexed yet"
	case e.NothingIndexed:
		return fmt.Sprintf("sakur4: no symbol %q: nothing is indexed yet", e.Name)
	case e.Ambiguous:
		return fmt.Sprintf("sakur4: %q is the name of several symbols: %s", e.Name, strings.Join(e.Nearest, ", "))
	case len(e.Nearest) > 0:
		return fmt.Sprintf("sakur4: no symbol %q; the nearest are: %s", e.Name, strings.Join(e.Nearest, ", "))
	}
	return fmt.Sprintf("sakur4: no symbol %q", e.Name)
}

// Is reports whether target is [ErrNotFound].
func (e *SymbolError) Is(target error) bool { return target == ErrNotFound }

const (
	// maxNearest is how many names a [SymbolError] lists.
	maxNearest = 16
	// maxLooks is for how many symbols of one name the files are looked at. More of them are ambiguous whatever the files hold now.
	maxLooks = 64
)

// Symbol returns a symbol by its name: the qualified name, one with the package or the file in front ("store.Open", "store/open.go:Open"), or the end of one. A kind
// may stand before it ("struct T"), and parameter types may be left out or be "()".
// In front of a Go name may stand the import path of its package, the end of it, or the name in the package clause: "examples/agent.main" is "main.main" as well. The symbol is what its file holds at this moment: a file that has changed since
// it was indexed is read anew, and the index is brought up to date for it unless the store is read-only. A name that the index does not have is looked for in the indexed files that
// have changed; files that are new are found by [Engine.Index].
//
// The errors are a [*SymbolError] and, where the file cannot be read, [ErrUnverified].
func (e *Engine) Symbol(ctx context.Context, qualifiedName string) (Symbol, error) {
	if err := e.check(ctx); err != nil {
		return Symbol{}, err
	}
	look, err := e.lookup(ctx, qualifiedName)
	if look != nil {
		defer look.close(ctx)
	}
	if err != nil {
		return Symbol{}, wrap(err)
	}
	out, err := look.symbol(ctx)
	return out, wrap(err)
}

// lookup looks for one name, in the index and in the files behind it.
type lookup struct {
	e       *Engine
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
func (e *Engine) lookup(ctx context.Context, name string) (*lookup, error) {
	l := &lookup{e: e, name: name, keys: cortex.Keys(name), now: e.now(), files: map[string]*currentFile{}}
	indexed := false
	err := e.st.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(e.project) {
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
		return nil, &SymbolError{Name: name, NothingIndexed: true}
	}
	root, err := e.sources()
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
	if l.e.opts.ReadOnly {
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
			l.e.log.WarnContext(ctx, "the index could not be brought up to date", "error", err)
			return
		}
	}
}

func (l *lookup) write(ctx context.Context, changed []string) error {
	return l.e.st.Write(ctx, func(tx *store.Tx) error {
		for _, p := range changed {
			f := l.files[p]
			var err error
			if f.gone {
				err = tx.RemoveFile(l.e.project, p, l.now)
			} else {
				err = tx.PutFile(l.e.project, f.index, l.now)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// symbol finds the one symbol of the name.
func (l *lookup) symbol(ctx context.Context) (Symbol, error) {
	found, err := l.find(ctx)
	if err != nil {
		return Symbol{}, err
	}
	if len(found) == 0 {
		// It may have been written since the files were indexed.
		if err := l.lookAtChanged(ctx); err != nil {
			return Symbol{}, err
		}
		if found, err = l.find(ctx); err != nil {
			return Symbol{}, err
		}
	}
	switch len(found) {
	case 0:
		nearest, err := l.nearest(ctx)
		if err != nil {
			return Symbol{}, err
		}
		return Symbol{}, &SymbolError{Name: l.name, Nearest: nearest}
	case 1:
		return l.current(found[0])
	}
	out := &SymbolError{Name: l.name, Ambiguous: true}
	for _, i := range found[:min(len(found), maxNearest)] {
		out.Nearest = append(out.Nearest, l.names.Unique(i))
	}
	return Symbol{}, out
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
	err := l.e.st.Read(ctx, func(r *store.Reader) error {
		for _, key := range l.keys {
			list, err := r.SymbolsByKey(l.e.project, key)
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
	err := l.e.st.Read(ctx, func(r *store.Reader) (err error) {
		f.index, err = r.FileIndex(l.e.project, p)
		return err
	})
	if err != nil {
		return notFoundIsNone(err) // another call has removed it
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
		f.index, _, _ = outline(l.e.project, ent, c, cortex.Version(generated), l.now)
	}
}

// lookAtChanged reads the indexed files again whose size or time is another one.
func (l *lookup) lookAtChanged(ctx context.Context) error {
	if l.problem != nil {
		return nil
	}
	var changed []string
	err := l.e.st.Read(ctx, func(r *store.Reader) error {
		for row, err := range r.Files(l.e.project) {
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
	err := l.e.st.Read(ctx, func(r *store.Reader) error {
		var keys []string
		for key, err := range r.SymbolKeys(l.e.project) {
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		for _, key := range cortex.Nearest(l.name, keys, maxNearest) {
			list, err := r.SymbolsByKey(l.e.project, key)
			if err != nil {
				return err
			}
			named := make([]cortex.Named, len(list))
			for i, s := range list {
				named[i] = l.nameOf(s)
			}
			names := cortex.NewNames(named)
			for i := range named {
				if len(out) == maxNearest {
					return nil
				}
				out = append(out, names.Unique(i))
			}
		}
		return nil
	})
	return out, err
}

// current returns what the file has of a symbol.
func (l *lookup) current(i int) (Symbol, error) {
	s, n := l.list[i], l.named[i]
	f := l.files[n.Path]
	if f.err != nil {
		return Symbol{}, fmt.Errorf("%w: %s %q: %w", ErrUnverified, s.Fact.Kind, s.Fact.QualifiedName, f.err)
	}
	if s.Fact.Offset > s.End || s.End > len(f.text) {
		return Symbol{}, fmt.Errorf("%w: symbol %q lies outside of its file", ErrCorrupt, s.Fact.QualifiedName)
	}
	out := Symbol{ID: FactID(s.Fact.FactID), Name: l.names.Unique(i), QualifiedName: s.Fact.QualifiedName, Kind: s.Fact.Kind, Language: s.File.Language,
		Package: n.Package, File: n.Path, Line: s.Fact.Line, EndLine: s.EndLine, Start: s.Fact.Offset, End: s.End, Signature: s.Fact.Value, Doc: s.Doc,
		Text: f.text[s.Fact.Offset:s.End], Hash: s.Fact.ASTHash, SignatureHash: s.SigHash.String(), Bases: s.Bases, Test: s.Test, Exported: s.Exported, Partial: s.Partial,
		Refreshed: f.changed}
	if s.Parent >= 0 && s.Parent < len(f.index.Symbols) {
		out.Parent = f.index.Symbols[s.Parent].Fact.QualifiedName
	}
	return out, nil
}
