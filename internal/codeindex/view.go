package codeindex

import (
	"context"
	"io/fs"

	"sakur4/internal/cortex"
	"sakur4/internal/digest"
	"sakur4/internal/sourcefile"
	"sakur4/internal/store"
)

// cache keeps the graph of the project's code from one call to the next. It holds for one content of the index, which its stamp names.
type cache struct {
	stamp digest.Digest
	graph *cortex.Graph
	exact *cortex.Exact // nil before it was asked for
}

// View is the graph of the project's code as the files are at this moment, for one call.
type View struct {
	x      *Index
	graph  *cortex.Graph
	src    *cortex.Source
	stamp  digest.Digest // zero for what is in no store
	root   *sourcefile.Root
	hashes map[string]string // of the indexed contents by path
	texts  map[int]string
	failed map[int]bool
	ids    map[string]int        // symbols by the ids of their facts
	groups map[string]*namesakes // by their keys
}

// namesakes are the symbols of one key.
type namesakes struct {
	symbols []int
	at      map[int]int // their places in the list
	names   *cortex.Names
}

// View brings the index up to date for the indexed files that have changed and returns the graph of it. With a name it returns the symbol of that name too.
// The view must be closed. The errors are a [*NameError] and those of the store.
func (x *Index) View(ctx context.Context, name string) (*View, Found, error) {
	look, err := x.lookup(ctx, name)
	if err != nil {
		return nil, Found{}, err
	}
	closed := false
	defer func() {
		if !closed {
			look.close(ctx)
		}
	}()
	if err := look.lookAtChanged(ctx); err != nil {
		return nil, Found{}, err
	}
	var sym Found
	if name != "" {
		if sym, err = look.symbol(ctx); err != nil {
			return nil, Found{}, err
		}
	}
	closed = true
	look.close(ctx)
	v := &View{x: x, hashes: map[string]string{}, texts: map[int]string{}, failed: map[int]bool{}}
	if v.root, err = x.Open(); err != nil {
		v.root = nil // then nothing of the files can be said
	}
	if err := v.load(ctx, look); err != nil {
		v.Close()
		return nil, Found{}, err
	}
	return v, sym, nil
}

// load takes the graph from the cache where the index is as it was.
func (v *View) load(ctx context.Context, look *lookup) error {
	x := v.x
	var stamp []byte
	err := x.Store.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(x.Project) {
			if err != nil {
				return err
			}
			if f.Problem == "" {
				stamp = append(append(append(stamp, f.Path...), 0), f.Hash...)
				v.hashes[f.Path] = f.Hash
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	overlay := map[string]*currentFile{}
	if x.ReadOnly {
		for p, f := range look.files {
			if f.changed && f.err == nil {
				overlay[p] = f
				v.hashes[p] = f.index.File.Hash
			}
		}
	}
	if len(overlay) == 0 {
		v.stamp = digest.OfBytes(stamp)
		x.mu.Lock()
		if x.cache.stamp == v.stamp {
			v.graph = x.cache.graph
		}
		x.mu.Unlock()
	}
	if v.graph == nil {
		src, err := x.source(ctx, overlay)
		if err != nil {
			return err
		}
		v.graph = cortex.NewGraph(&src)
		if v.stamp != (digest.Digest{}) {
			x.mu.Lock()
			x.cache = cache{stamp: v.stamp, graph: v.graph}
			x.mu.Unlock()
		}
	}
	v.src = v.graph.Source()
	return nil
}

// Graph returns the graph.
func (v *View) Graph() *cortex.Graph { return v.graph }

// Readable reports whether the files can be read.
func (v *View) Readable() bool { return v.root != nil }

// Close closes the folder.
func (v *View) Close() {
	if v.root != nil {
		_ = v.root.Close() // Nothing was written.
	}
}

// Text returns the text of a file if it is still what was indexed.
func (v *View) Text(file int) (string, bool) {
	if t, ok := v.texts[file]; ok {
		return t, true
	}
	if v.root == nil || v.failed[file] {
		return "", false
	}
	p := v.src.Files[file].Path
	b, err := fs.ReadFile(v.root.FS(), p)
	if err != nil || digest.OfBytes(b).String() != v.hashes[p] {
		v.failed[file] = true
		return "", false
	}
	v.texts[file] = string(b)
	return v.texts[file], true
}

// Symbol returns the index of the symbol of a fact, -1 for none.
func (v *View) Symbol(id string) int {
	if v.ids == nil {
		v.ids = make(map[string]int, len(v.src.Symbols))
		for i := range v.src.Symbols {
			v.ids[v.src.Symbols[i].ID] = i
		}
	}
	if i, ok := v.ids[id]; ok {
		return i
	}
	return -1
}

// Name returns the shortest name that [Index.Symbol] finds a symbol by.
func (v *View) Name(symbol int) string {
	if v.groups == nil {
		v.groups = map[string]*namesakes{}
		for i := range v.src.Symbols {
			key := cortex.Key(v.src.Symbols[i].Name)
			group := v.groups[key]
			if group == nil {
				group = &namesakes{}
				v.groups[key] = group
			}
			group.symbols = append(group.symbols, i)
		}
	}
	group := v.groups[cortex.Key(v.src.Symbols[symbol].Name)]
	if group.names == nil {
		list := make([]cortex.Named, len(group.symbols))
		group.at = make(map[int]int, len(list))
		for k, i := range group.symbols {
			s := &v.src.Symbols[i]
			f := &v.src.Files[s.File]
			list[k] = cortex.Named{ID: s.ID, Name: s.Name, Package: f.Package, Path: f.Path, Clause: v.graph.Clause(s.File), Kind: s.Kind}
			group.at[i] = k
		}
		group.names = cortex.NewNames(list)
	}
	return group.names.Unique(group.at[symbol])
}

// Exact returns what the type checker of Go says of the graph.
func (v *View) Exact(ctx context.Context) (*cortex.Exact, error) {
	x := v.x
	x.mu.Lock()
	var known *cortex.Exact
	if v.stamp != (digest.Digest{}) && x.cache.stamp == v.stamp {
		known = x.cache.exact
	}
	x.mu.Unlock()
	if known != nil {
		return known, nil
	}
	cfg := cortex.GoConfig{}
	cfg.Std, cfg.Cache = sourcefile.GoTrees()
	if v.root != nil {
		cfg.Root = v.root.FS()
	}
	out, err := cortex.CheckGo(ctx, v.graph, cfg)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if v.stamp != (digest.Digest{}) && x.cache.stamp == v.stamp {
		x.cache.exact = out
	}
	x.mu.Unlock()
	return out, nil
}
