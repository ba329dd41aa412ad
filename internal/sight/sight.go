// Package sight finds out what has become of the anchors of interpretations, and of the files behind facts.
package sight

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/sourcefile"
	"sakur4/internal/store"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// Looker looks at a project's anchors. It lives for one call, in which each file is read once: nothing about a file is remembered longer, so there is no window
// in which an old look passes for a new one.
type Looker struct {
	r       *store.Reader
	project string
	open    func() (*sourcefile.Root, error)
	root    *sourcefile.Root
	problem error // why there is no root
	files   map[string]*File
}

// New returns a looker for a project. The folder is opened when the first file is looked at; why it cannot be is why no file can. Close must be called.
func New(r *store.Reader, project string, open func() (*sourcefile.Root, error)) *Looker {
	return &Looker{r: r, project: project, open: open, files: map[string]*File{}}
}

// Close closes the folder.
func (l *Looker) Close() {
	if l.root != nil {
		_ = l.root.Close() // Nothing was written.
	}
}

// Sight is what a look at an anchor gave.
type Sight struct {
	Freshness semantic.Freshness
	Now       semantic.Current
	// Superseded is the episode that replaced the anchor's, "" for none; Why says what kept the anchor from being looked at. Dropped says that the
	// anchor's episode is to be forgotten.
	Superseded, Why string
	Dropped         bool
}

// Entry looks at the anchor of an entry.
func (l *Looker) Entry(en semantic.Entry) (Sight, error) {
	var s Sight
	if en.AnchorType == episode.EpisodeAnchor {
		rec, err := l.r.Episode(l.project, en.AnchorID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			s.Now.Checked = true
		case err != nil:
			return s, err
		default:
			s.Now = semantic.Current{Checked: true, Hash: rec.Digest.String()}
			s.Superseded, s.Dropped = rec.SupersededBy, rec.Tier == evict.Dropped
		}
		s.Freshness = semantic.Assess(en, s.Now)
		return s, nil
	}
	row, err := l.Anchor(en.AnchorID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.Now.Checked = true
	case err != nil:
		return s, err
	default:
		if s.Now, s.Why, err = l.Fact(row); err != nil {
			return s, err
		}
	}
	s.Freshness = semantic.Assess(en, s.Now)
	return s, nil
}

// Anchor returns the fact that an entry is about: the one of the ledger, or where it left that with its file, what it was last.
func (l *Looker) Anchor(id string) (symbolic.Row, error) {
	row, err := l.r.Fact(l.project, id)
	if errors.Is(err, store.ErrNotFound) {
		return l.r.GoneFact(l.project, id)
	}
	return row, err
}

// Fact says what a fact's source has at its place now: the row itself where a tool said it, else the file as it is at this moment.
// why is set where that cannot be found out.
func (l *Looker) Fact(row symbolic.Row) (now semantic.Current, why string, err error) {
	stored := semantic.Current{Checked: true, Hash: row.ASTHash, Value: row.Value}
	if row.FilePath == "" {
		return stored, "", nil
	}
	f := l.File(row.FilePath)
	switch {
	case f.Gone:
		return semantic.Current{Checked: true}, "", nil
	case f.Err != nil:
		return semantic.Current{}, f.Err.Error(), nil
	}
	place, read, call := row.QualifiedName, "", ""
	if row.Episode != "" {
		rec, c, err := l.Reading(row.Episode)
		if err != nil {
			return semantic.Current{}, "", err
		}
		if rec.Content == f.Content {
			return stored, "", nil // the bytes that were parsed: they parse to the same
		}
		place, read, call = placeOf(row, rec.ToolName), rec.Content, c.Arguments
	}
	src, ok := SourceOf(row.Source)
	if !ok {
		return semantic.Current{}, fmt.Sprintf("its parser %q is not known", row.Source), nil
	}
	p := l.parse(f, src)
	code := strings.HasPrefix(row.Source, "code:")
	now = semantic.Current{Checked: true}
	if got, ok := p.facts[row.Kind+" "+place]; ok {
		now.Hash, now.Value = got.Hash(), got.Value()
		if code && now.Hash != row.ASTHash && cut(read, row.Offset, f.Content, got.Offset()) {
			return semantic.Current{}, "only its beginning was read", nil
		}
	}
	if now.Hash == row.ASTHash || code && p.err == nil {
		return now, "", nil
	}
	if read != "" && partial(call) && strings.Contains(f.Content, read) {
		return stored, "", nil // a part of the file was read, and it stands as it was
	}
	if p.err != nil {
		return semantic.Current{}, "it does not parse any more: " + p.err.Error(), nil
	}
	return now, "", nil
}

// cut reports whether a symbol stands as it was read as far as it was read, the reading having ended within it.
func cut(read string, from int, now string, at int) bool {
	return from < len(read) && at <= len(now) && strings.HasPrefix(now[at:], read[from:])
}

// partial reports whether a call that read a file had more arguments than its path: it may have asked for some lines only.
func partial(arguments string) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal([]byte(arguments), &m) == nil && len(m) > 1
}

// Reading returns the recorded read of a file and its call.
func (l *Looker) Reading(id string) (rec episode.Record, call episode.Call, err error) {
	if rec, err = l.r.Episode(l.project, id); err != nil {
		return rec, call, err
	}
	turn, err := l.r.Episode(l.project, rec.CallEpisode)
	if err != nil {
		return rec, call, err
	}
	if rec.CallIndex >= len(turn.Calls) {
		return rec, call, fmt.Errorf("%w: episode %q answers a call that its turn does not have", store.ErrCorrupt, id)
	}
	call = turn.Calls[rec.CallIndex]
	if rec.ToolName == "" {
		rec.ToolName = call.Name
	}
	return rec, call, nil
}
