package codeindex

import (
	"context"
	"fmt"

	"sakur4/internal/cortex"
	"sakur4/internal/store"
)

// Seen returns the hashes that what implements the symbol had when that was first seen, by the ids of their facts.
func (v *View) Seen(ctx context.Context, target int) (map[string]string, error) {
	out := map[string]string{}
	err := v.x.Store.Read(ctx, func(r *store.Reader) error {
		list, err := r.Edges(v.x.Project, "", v.src.Symbols[target].ID, "implements")
		for _, e := range list {
			out[e.From] = e.SeenHash
		}
		return err
	})
	return out, err
}

// Record keeps the edges to a symbol that an impact found in the dependency graph. It does nothing where the store is only read.
func (v *View) Record(ctx context.Context, target int, im cortex.Impact) error {
	if v.x.ReadOnly {
		return nil
	}
	edges := v.edges(target, im)
	return v.x.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.PutCodeEdges(v.x.Project, v.src.Symbols[target].ID, im.LeftOut == 0, edges)
	})
}

// edges are what the dependency graph keeps of an impact: the calls, the types that implement or extend, and the imports.
func (v *View) edges(target int, im cortex.Impact) []store.EdgeRow {
	var out []store.EdgeRow
	for _, level := range im.Levels {
		for i := range level {
			d := &level[i]
			if d.Symbol < 0 {
				continue
			}
			s := &v.src.Symbols[d.Symbol]
			row := store.EdgeRow{Project: v.x.Project, From: s.ID, To: v.src.Symbols[d.Via].ID, SeenHash: s.Hash, Confidence: d.Confidence,
				Site: fmt.Sprintf("%s:%d", v.src.Files[d.File].Path, d.Lines[0])}
			switch d.Relation {
			case cortex.Calls:
				row.Kind = "calls"
				for _, ref := range d.Refs {
					if then := v.src.Refs[ref].SeenHash; then != "" {
						row.SeenHash = then
						break
					}
				}
			case cortex.Implements, cortex.Extends:
				row.Kind = "implements"
			default:
				continue
			}
			out = append(out, row)
		}
	}
	for _, file := range im.Importers {
		if i := v.graph.ImportOf(file, target); i >= 0 {
			out = append(out, store.EdgeRow{Project: v.x.Project, From: v.src.Symbols[i].ID, To: v.src.Symbols[target].ID, Kind: "imports", SeenHash: v.src.Symbols[i].Hash,
				Site: fmt.Sprintf("%s:%d", v.src.Files[file].Path, v.src.Symbols[i].Line)})
		}
	}
	return out
}
