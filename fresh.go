package sakur4

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/sourcefile"
	"sakur4/internal/store"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// looker finds out what has become of the anchors of interpretations, and of the files behind facts. It lives for one call, in which each file is read once:
// nothing about a file is remembered longer, so there is no window in which an old look passes for a new one.
type looker struct {
	e       *Engine
	r       *store.Reader
	project string
	root    *sourcefile.Root
	problem error // why there is no root
	files   map[string]*seenFile
}

// seenFile is a file as it was when this call looked at it.
type seenFile struct {
	content string
	gone    bool
	err     error // why it could not be looked at
	parsed  map[string]*parsedFile
}

// parsedFile is what one source reads in a file.
type parsedFile struct {
	facts map[string]symbolic.Fact // by kind and place
	err   error
}

// look returns a looker for a project. Its close must be called.
func (e *Engine) look(r *store.Reader, project string) *looker {
	return &looker{e: e, r: r, project: project, files: map[string]*seenFile{}}
}

func (l *looker) close() {
	if l.root != nil {
		_ = l.root.Close() // Nothing was written.
	}
}

// sight is what a look at an anchor gave.
type sight struct {
	freshness semantic.Freshness
	now       semantic.Current
	// superseded is the episode that replaced the anchor's, "" for none; why says what kept the anchor from being looked at. dropped says that the
	// anchor's episode is to be forgotten.
	superseded, why string
	dropped         bool
}

// entry looks at the anchor of an entry.
func (l *looker) entry(en semantic.Entry) (sight, error) {
	var s sight
	if en.AnchorType == episode.EpisodeAnchor {
		rec, err := l.r.Episode(l.project, en.AnchorID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			s.now.Checked = true
		case err != nil:
			return s, err
		default:
			s.now = semantic.Current{Checked: true, Hash: rec.Digest.String()}
			s.superseded, s.dropped = rec.SupersededBy, rec.Tier == evict.Dropped
		}
		s.freshness = semantic.Assess(en, s.now)
		return s, nil
	}
	row, err := l.anchor(en.AnchorID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.now.Checked = true
	case err != nil:
		return s, err
	default:
		if s.now, s.why, err = l.fact(row); err != nil {
			return s, err
		}
	}
	s.freshness = semantic.Assess(en, s.now)
	return s, nil
}

// anchor returns the fact that an entry is about: the one of the ledger, or where it left that with its file, what it was last.
func (l *looker) anchor(id string) (symbolic.Row, error) {
	row, err := l.r.Fact(l.project, id)
	if errors.Is(err, store.ErrNotFound) {
		return l.r.GoneFact(l.project, id)
	}
	return row, err
}

// fact says what a fact's source has at its place now: the row itself where a tool said it, else the file as it is at this moment.
// why is set where that cannot be found out.
func (l *looker) fact(row symbolic.Row) (now semantic.Current, why string, err error) {
	stored := semantic.Current{Checked: true, Hash: row.ASTHash, Value: row.Value}
	if row.FilePath == "" {
		return stored, "", nil
	}
	f := l.file(row.FilePath)
	switch {
	case f.gone:
		return semantic.Current{Checked: true}, "", nil
	case f.err != nil:
		return semantic.Current{}, f.err.Error(), nil
	}
	place, read, call := row.QualifiedName, "", ""
	if row.Episode != "" {
		rec, c, err := l.reading(row.Episode)
		if err != nil {
			return semantic.Current{}, "", err
		}
		if rec.Content == f.content {
			return stored, "", nil // the bytes that were parsed: they parse to the same
		}
		place, read, call = placeOf(row, rec.ToolName), rec.Content, c.Arguments
	}
	src, ok := sourceOf(row.Source)
	if !ok {
		return semantic.Current{}, fmt.Sprintf("its parser %q is not known", row.Source), nil
	}
	p := l.parse(f, row.FilePath, src)
	code := strings.HasPrefix(row.Source, "code:")
	now = semantic.Current{Checked: true}
	if got, ok := p.facts[row.Kind+" "+place]; ok {
		now.Hash, now.Value = got.Hash(), got.Value()
		if code && now.Hash != row.ASTHash && cut(read, row.Offset, f.content, got.Offset()) {
			return semantic.Current{}, "only its beginning was read", nil
		}
	}
	if now.Hash == row.ASTHash || code && p.err == nil {
		return now, "", nil
	}
	if read != "" && partial(call) && strings.Contains(f.content, read) {
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

// file reads a file, once a call.
func (l *looker) file(path string) *seenFile {
	if f := l.files[path]; f != nil {
		return f
	}
	f := &seenFile{parsed: map[string]*parsedFile{}}
	l.files[path] = f
	if l.root == nil && l.problem == nil {
		l.root, l.problem = l.e.openRoot(l.project)
	}
	if l.problem != nil {
		f.err = l.problem
		return f
	}
	b, err := l.root.Read(path)
	switch {
	case errors.Is(err, sourcefile.ErrGone):
		f.gone = true
	case err != nil:
		f.err = err
	default:
		f.content = string(b)
	}
	return f
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

// reading returns the recorded read of a file and its call.
func (l *looker) reading(id string) (rec episode.Record, call episode.Call, err error) {
	if rec, err = l.r.Episode(l.project, id); err != nil {
		return rec, call, err
	}
	turn, err := l.r.Episode(l.project, rec.CallEpisode)
	if err != nil {
		return rec, call, err
	}
	if rec.CallIndex >= len(turn.Calls) {
		return rec, call, fmt.Errorf("%w: episode %q answers a call that its turn does not have", ErrCorrupt, id)
	}
	call = turn.Calls[rec.CallIndex]
	if rec.ToolName == "" {
		rec.ToolName = call.Name
	}
	return rec, call, nil
}

// parse reads a file with a source, once a call.
func (l *looker) parse(f *seenFile, path string, src symbolic.FactSource) *parsedFile {
	if p := f.parsed[src.String()]; p != nil {
		return p
	}
	p := &parsedFile{}
	f.parsed[src.String()] = p
	if name, ok := l.root.Name(path); ok {
		path = name // a fact of the file is filed under its name below the root, however a tool was given it
	}
	ev, err := episode.FromFile(l.project, path, []byte(f.content))
	if err != nil {
		p.err = err
		return p
	}
	facts, err := symbolic.Extract(src, ev)
	if err != nil {
		p.err = err
		return p
	}
	p.facts = make(map[string]symbolic.Fact, len(facts))
	for _, fact := range facts {
		p.facts[fact.Kind()+" "+fact.QualifiedName()] = fact
	}
	return p
}

// placeOf takes the call's part off the name of a fact that a tool's result gave: what is left is its name where the file itself is read.
func placeOf(row symbolic.Row, tool string) string {
	const digits = 8
	rest, ok := strings.CutPrefix(row.QualifiedName, strings.ToValidUTF8(tool, "\ufffd")+"#")
	if !ok || len(rest) < digits {
		return row.QualifiedName
	}
	if strings.HasPrefix(row.Source, "code:") {
		return strings.TrimPrefix(rest[digits:], ":")
	}
	return rest[digits:]
}

// sourceOf returns the source that a row names. A name is a claim: what it says is found out by parsing.
func sourceOf(name string) (symbolic.FactSource, bool) {
	fixed := []symbolic.FactSource{symbolic.JSON(), symbolic.CSV(), symbolic.HTTPHeaders(), symbolic.UnifiedDiff(), symbolic.ExitCode(), symbolic.Fields()}
	if i := slices.IndexFunc(fixed, func(s symbolic.FactSource) bool { return s.String() == name }); i >= 0 {
		return fixed[i], true
	}
	if lang, ok := strings.CutPrefix(name, "code:"); ok {
		return symbolic.CodeSymbols(lang), true
	}
	if pattern, ok := strings.CutPrefix(name, "regexp:"); ok {
		if re, err := regexp.Compile(pattern); err == nil {
			return symbolic.Regexp(re), true
		}
	}
	return symbolic.FactSource{}, false
}

// byScore puts the hits in the order of their scores, which a look at what they are about may have lowered. Equal ones stay in their order.
func byScore(hits []Hit) []Hit {
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// entryHit fills in what an entry says and what has become of its anchor.
func (l *looker) entryHit(h *Hit, q Query) (bool, error) {
	en, err := l.r.Entry(l.project, h.ID)
	if err != nil {
		return false, err
	}
	if q.FilePath != "" && en.AnchorType == episode.FactAnchor {
		row, err := l.anchor(en.AnchorID)
		if err == nil && row.FilePath != q.FilePath {
			return false, nil
		}
	}
	s, err := l.entry(en)
	if err != nil || s.dropped && !q.IncludeDropped {
		return false, err
	}
	h.Kind, h.Text, h.Anchor, h.Freshness = HitEntry, en.Text, AnchorRef{Type: en.AnchorType, ID: en.AnchorID}, s.freshness
	h.Stale, h.Unverified = s.freshness.Stale(), s.freshness == semantic.Unverified
	if s.freshness == semantic.Stale {
		h.Current = s.now.Value
	}
	h.Score = semantic.Penalise(h.Score, s.freshness)
	if reason := semantic.Reason(en, s.freshness); reason != "" {
		h.Reasons = append(h.Reasons, reason)
	}
	if s.why != "" {
		h.Reasons = append(h.Reasons, s.why)
	}
	if s.superseded != "" {
		h.Superseded, h.Current = true, s.superseded
		h.Reasons = append(h.Reasons, "superseded by a later episode: "+s.superseded)
	}
	return true, nil
}

// factHit says of a fact that was read in a file whether the file has another value at its place now. The row stays what it is: a record of what was read.
func (l *looker) factHit(h *Hit, row symbolic.Row) error {
	now, _, err := l.fact(row)
	if err != nil || !now.Checked || now.Hash == row.ASTHash {
		return err
	}
	if now.Hash == "" {
		if row.Episode == "" {
			h.Stale = true
			h.Reasons = append(h.Reasons, row.FilePath+" has no such place any more")
		}
		return nil
	}
	h.Stale, h.Current = true, now.Value
	h.Reasons = append(h.Reasons, row.FilePath+" has another value there now than when it was read")
	return nil
}

// rendered returns an entry as a prompt shows it.
func (h Hit) rendered() string {
	en := semantic.Entry{Text: h.Text, AnchorType: h.Anchor.Type, AnchorID: h.Anchor.ID}
	now := semantic.Current{}
	if h.Freshness == semantic.Stale && !h.Superseded {
		now.Value = h.Current
	}
	return semantic.Render(en, h.Freshness, now)
}

func notFoundIsNone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
