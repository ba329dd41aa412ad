package main

import (
	"context"
	"slices"
)

// clearedText stands where a result was cleared.
const clearedText = "[old tool result cleared]"

// keptResults is how many of the newest results stay.
const keptResults = 3

// clearResults replaces the oldest results, and truncates where that is not enough.
func (b *baseline) clearResults(ctx context.Context, _ int) error {
	type place struct{ atom, message int }
	var places []place // of the results that can still be cleared, oldest first
	for i, a := range b.kept {
		for j, m := range a.messages {
			if m.Role == "tool" && len(m.Content) > len(clearedText) {
				places = append(places, place{i, j})
			}
		}
	}
	most := max(len(places)-keptResults, 0)
	clear := func(n int) []*atom {
		atoms := slices.Clone(b.kept)
		for _, p := range places[:n] {
			a := *atoms[p.atom]
			if atoms[p.atom] == b.kept[p.atom] {
				a.messages, a.verbatim = slices.Clone(a.messages), slices.Clone(a.verbatim)
				atoms[p.atom] = &a
			}
			atoms[p.atom].messages[p.message].Content = clearedText
			atoms[p.atom].verbatim[p.message] = 0
		}
		return atoms
	}
	n, err := b.least(ctx, most, b.target, clear)
	if err != nil {
		return err
	}
	b.kept = clear(n)
	size, err := b.count(ctx, b.kept)
	if err != nil || size <= b.target {
		return err
	}
	return b.truncate(ctx, size)
}
