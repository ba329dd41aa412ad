package sakur4

import (
	"context"
	"io/fs"

	"sakur4/internal/cortex"
	"sakur4/internal/digest"
	"sakur4/internal/sourcefile"
	"sakur4/internal/store"
)

// codeCache keeps the graph of the project's code from one call to the next. It holds for one content of the index, which its stamp names.
type codeCache struct {
	stamp digest.Digest
	graph *cortex.Graph
	exact *cortex.Exact // nil before it was asked for
}

// codeView is the graph of the project's code as the files are at this moment, for one call.
type codeView struct {
	e      *Engine
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

// codeView brings the index up to date for the indexed files that have changed and returns the graph of it. With a name it returns the symbol of that name too.
func (e *Engine) codeView(ctx context.Context, name string) (*codeView, Symbol, error) {
	look, err := e.lookup(ctx, name)
	if err != nil {
		return nil, Symbol{}, err
	}
	closed := false
	defer func() {
		if !closed {
			look.close(ctx)
		}
	}()
	if err := look.lookAtChanged(ctx); err != nil {
		return nil, Symbol{}, err
	}
	var sym Symbol
	if name != "" {
		if sym, err = look.symbol(ctx); err != nil {
			return nil, Symbol{}, err
		}
	}
	closed = true
	look.close(ctx)
	v := &codeView{e: e, hashes: map[string]string{}, texts: map[int]string{}, failed: map[int]bool{}}
	if v.root, err = e.sources(); err != nil {
		v.root = nil // then nothing of the files can be said
	}
	if err := v.load(ctx, look); err != nil {
		v.close()
		return nil, Symbol{}, err
	}
	return v, sym, nil
}

// load takes the graph from the cache where the index is as it was.
func (v *codeView) load(ctx context.Context, look *lookup) error {
	e := v.e
	var stamp []byte
	err := e.st.Read(ctx, func(r *store.Reader) error {
		for f, err := range r.Files(e.project) {
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
	if e.opts.ReadOnly {
		for p, f := range look.files {
			if f.changed && f.err == nil {
				overlay[p] = f
				v.hashes[p] = f.index.File.Hash
			}
		}
	}
	if len(overlay) == 0 {
		v.stamp = digest.OfBytes(stamp)
		e.mu.Lock()
		if e.code.stamp == v.stamp {
			v.graph = e.code.graph
		}
		e.mu.Unlock()
	}
	if v.graph == nil {
		src, err := e.source(ctx, overlay)
		if err != nil {
			return err
		}
		v.graph = cortex.NewGraph(&src)
		if v.stamp != (digest.Digest{}) {
			e.mu.Lock()
			e.code = codeCache{stamp: v.stamp, graph: v.graph}
			e.mu.Unlock()
		}
	}
	v.src = v.graph.Source()
	return nil
}

func (v *codeView) close() {
	if v.root != nil {
		_ = v.root.Close() // Nothing was written.
	}
}

// text returns the text of a file if it is still what was indexed.
func (v *codeView) text(file int) (string, bool) {
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

// symbol returns the index of the symbol of a fact, -1 for none.
func (v *codeView) symbol(id string) int {
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

// name returns the shortest name that [Engine.Symbol] finds a symbol by.
func (v *codeView) name(symbol int) string {
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

// exact returns what the type checker of Go says of the graph.
func (v *codeView) exact(ctx context.Context) (*cortex.Exact, error) {
	e := v.e
	e.mu.Lock()
	var known *cortex.Exact
	if v.stamp != (digest.Digest{}) && e.code.stamp == v.stamp {
		known = e.code.exact
	}
	e.mu.Unlock()
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
	e.mu.Lock()
	if v.stamp != (digest.Digest{}) && e.code.stamp == v.stamp {
		e.code.exact = out
	}
	e.mu.Unlock()
	return out, nil
}
