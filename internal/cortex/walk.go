package cortex

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxBytes is the size of the largest file that is parsed, in bytes. Larger ones are data or generated.
const MaxBytes = 1 << 20

// maxIgnoreBytes bounds what is read of one .gitignore.
const maxIgnoreBytes = 1 << 20

// Entry is one regular file that a walk met, or a place that it could not look into.
type Entry struct {
	// Path is below the root, with slashes.
	Path string
	// Size is in bytes; Modified is the time that the file system gives, the zero time for none.
	Size     int64
	Modified time.Time
	// Folder says that it is a folder, which could not be read.
	Folder bool
	// Skip is why the file is not read, "" where it is.
	Skip Reason
	// Err is why it could not be looked at, for [Unreadable].
	Err error
}

// Reason says why a file is in no index. The set is closed: the constants below are its members.
type Reason string

// The reasons.
const (
	TooLarge    Reason = "larger than 1 MiB"
	Binary      Reason = "binary"
	Generated   Reason = "generated"
	Unsupported Reason = "unsupported language"
	Link        Reason = "symbolic link"
	Irregular   Reason = "no regular file"
	BadName     Reason = "name is no valid UTF-8"
	NoName      Reason = "no name of a file"
	OwnWords    Reason = "holds text that was rendered here"
	Unparsable  Reason = "does not parse"
	Unreadable  Reason = "cannot be read"
)

// Because adds what else is known to a reason, in one line of at most some 200 bytes.
func (r Reason) Because(why string) Reason {
	why = strings.Join(strings.Fields(strings.ToValidUTF8(why, "\ufffd")), " ")
	if len(why) > 200 {
		why = strings.ToValidUTF8(why[:200], "") + "…"
	}
	return r + Reason(": "+why)
}

// Tree is what a walk found.
type Tree struct {
	// Entries are sorted by path. A folder that could not be read is among them, with its error.
	Entries []Entry
	// Ignored counts the files and folders that the patterns left out.
	Ignored int
}

// maxPath is the length of the longest path that a walk looks at, in bytes. Systems allow no longer ones; a file system of somebody's making may go down for ever.
const maxPath = 4096

var errLongPath = errors.New("the path is longer than 4096 bytes")

// repositories are folders of version control systems, which hold no source.
var repositories = [...]string{".git", ".hg", ".svn"}

// Walk lists the files of a tree, but for those that a .gitignore of the tree, the .git/info/exclude of a repository in it or the patterns of exclude leave out. The
// patterns of exclude are written like those of a .gitignore in the root and decide before them. Symbolic links are listed and not followed. Patterns that git takes
// from elsewhere, such as those of core.excludesFile and of a linked worktree's repository, lie outside of the tree: exclude is for them.
//
// The error is that of the context, or of the root where it cannot be read; other places that cannot be read are entries.
func Walk(ctx context.Context, fsys fs.FS, exclude []string) (Tree, error) {
	w := walker{ctx: ctx, fsys: fsys, exclude: parseIgnore("", strings.Join(exclude, "\n"))}
	if err := w.dir(".", nil); err != nil {
		return Tree{}, err
	}
	slices.SortStableFunc(w.tree.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	// A file system may list a name twice.
	w.tree.Entries = slices.CompactFunc(w.tree.Entries, func(a, b Entry) bool { return a.Path == b.Path && a.Skip == b.Skip && a.Skip != BadName })
	return w.tree, nil
}

type walker struct {
	ctx     context.Context
	fsys    fs.FS
	exclude ignoring
	tree    Tree
}

// dir lists a folder. rules are those of the folders above, the outermost first.
func (w *walker) dir(dir string, rules []ignoring) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	list, err := fs.ReadDir(w.fsys, dir)
	if err != nil {
		if dir == "." {
			return err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			w.tree.Entries = append(w.tree.Entries, Entry{Path: dir, Folder: true, Skip: Unreadable, Err: err})
		}
		return nil // what it has listed before the error goes with it: the patterns may be in what is missing
	}
	rules, failed := w.patterns(dir, list, rules)
	for _, d := range list {
		name := d.Name()
		if slices.Contains(repositories[:], name) {
			continue
		}
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") { // a file system that leads back to itself
			w.tree.Entries = append(w.tree.Entries, Entry{Path: dir + "/" + strings.ToValidUTF8(name, "\ufffd"), Skip: NoName})
			continue
		}
		p := path.Join(dir, name)
		if name == ".gitignore" && failed != nil {
			w.tree.Entries = append(w.tree.Entries, Entry{Path: p, Skip: Unreadable, Err: failed})
			continue
		}
		if len(p) > maxPath {
			w.tree.Entries = append(w.tree.Entries, Entry{Path: strings.ToValidUTF8(p, "\ufffd"), Folder: d.IsDir(), Skip: Unreadable, Err: errLongPath})
			continue
		}
		if w.ignored(p, d.IsDir(), rules) {
			w.tree.Ignored++
			continue
		}
		if d.IsDir() && utf8.ValidString(p) {
			if err := w.dir(p, rules); err != nil {
				return err
			}
			continue
		}
		w.file(p, d)
	}
	return nil
}

// patterns adds the patterns of a folder to those of the folders above: first those of the repository that it is the root of, then those of its .gitignore. failed is
// why the latter cannot be read.
func (w *walker) patterns(dir string, list []fs.DirEntry, rules []ignoring) (all []ignoring, failed error) {
	at := strings.TrimPrefix(dir, ".")
	rules = slices.Clip(rules)
	for _, d := range list {
		if d.Name() == ".git" && d.IsDir() {
			if text, err := readSome(w.fsys, path.Join(dir, ".git/info/exclude"), maxIgnoreBytes); err == nil { // most have none
				rules = append(rules, parseIgnore(at, text))
			}
		}
	}
	for _, d := range list {
		if d.Name() != ".gitignore" || !d.Type().IsRegular() {
			continue
		}
		text, err := readSome(w.fsys, path.Join(dir, ".gitignore"), maxIgnoreBytes)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				failed = err
			}
			continue
		}
		rules = append(rules, parseIgnore(at, text))
	}
	return rules, failed
}

// ignored asks the patterns: those of the caller first, then those of the nearest folder.
func (w *walker) ignored(p string, isDir bool, rules []ignoring) bool {
	if v := w.exclude.match(p, isDir); v != silent {
		return v == ignored
	}
	for i := len(rules) - 1; i >= 0; i-- {
		if v := rules[i].match(p, isDir); v != silent {
			return v == ignored
		}
	}
	return false
}

func (w *walker) file(p string, d fs.DirEntry) {
	if e, there := entry(p, d.Type(), d.Info); there {
		w.tree.Entries = append(w.tree.Entries, e)
	}
}

// Look returns the entry of one file as it is now; false where there is none.
func Look(fsys fs.FS, p string) (Entry, bool) {
	info, err := fs.Lstat(fsys, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Entry{}, false
	case err != nil:
		return Entry{Path: p, Skip: Unreadable, Err: err}, true
	}
	return entry(p, info.Mode(), func() (fs.FileInfo, error) { return info, nil })
}

func entry(p string, mode fs.FileMode, stat func() (fs.FileInfo, error)) (e Entry, there bool) {
	e.Path = p
	switch {
	case !utf8.ValidString(p):
		e.Path, e.Skip = strings.ToValidUTF8(p, "\ufffd"), BadName
	case mode&fs.ModeSymlink != 0:
		e.Skip = Link
	case !mode.IsRegular():
		e.Skip = Irregular
	default:
		info, err := stat()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return e, false // it went while we looked
		case err != nil:
			e.Skip, e.Err = Unreadable, err
		default:
			e.Size, e.Modified = info.Size(), info.ModTime()
		}
	}
	return e, true
}

// readSome reads the beginning of a file.
func readSome(fsys fs.FS, name string, most int64) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	return string(b), errors.Join(err, f.Close())
}
