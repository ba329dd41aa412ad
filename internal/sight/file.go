package sight

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"sakur4/internal/episode"
	"sakur4/internal/sourcefile"
	"sakur4/symbolic"
)

// File is a file as it was when this call looked at it.
type File struct {
	Content string
	// Gone says that it is not there, Err why it could not be looked at.
	Gone bool
	Err  error

	path   string
	parsed map[string]*parsed // by source
}

// parsed is what one source reads in a file.
type parsed struct {
	facts map[string]symbolic.Fact // by kind and place
	err   error
}

// File reads a file, once a call.
func (l *Looker) File(path string) *File {
	if f := l.files[path]; f != nil {
		return f
	}
	f := &File{path: path, parsed: map[string]*parsed{}}
	l.files[path] = f
	if l.root == nil && l.problem == nil {
		l.root, l.problem = l.open()
	}
	if l.problem != nil {
		f.Err = l.problem
		return f
	}
	b, err := l.root.Read(path)
	switch {
	case errors.Is(err, sourcefile.ErrGone):
		f.Gone = true
	case err != nil:
		f.Err = err
	default:
		f.Content = string(b)
	}
	return f
}

// Forget lets go of a file that is not asked for again.
func (l *Looker) Forget(path string) { delete(l.files, path) }

// Again returns the fact that a file has now at the place of a row, which that tool read there, "" for none. It is not valid where the file has
// none.
func (l *Looker) Again(row symbolic.Row, tool string) symbolic.Fact {
	src, _ := SourceOf(row.Source)
	place := row.QualifiedName
	if tool != "" {
		place = placeOf(row, tool)
	}
	f := l.File(row.FilePath)
	if f.Gone || f.Err != nil {
		return symbolic.Fact{}
	}
	return l.parse(f, src).facts[row.Kind+" "+place]
}

// parse reads a file with a source, once a call.
func (l *Looker) parse(f *File, src symbolic.FactSource) *parsed {
	if p := f.parsed[src.String()]; p != nil {
		return p
	}
	p := &parsed{}
	f.parsed[src.String()] = p
	path := f.path
	if name, ok := l.root.Name(path); ok {
		path = name // a fact of the file is filed under its name below the root, however a tool was given it
	}
	ev, err := episode.FromFile(l.project, path, []byte(f.Content))
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

// SourceOf returns the source that a row names. A name is a claim: what it says is found out by parsing.
func SourceOf(name string) (symbolic.FactSource, bool) {
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
