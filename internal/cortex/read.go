package cortex

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"sakur4/internal/codesym"
	"sakur4/internal/digest"
)

// Version returns a number for how files are read. A file that was read in another way is read again.
func Version(generated bool) int {
	if generated {
		return 2*codesym.Version + 1
	}
	return 2 * codesym.Version
}

// GoMod is the language of a go.mod file: it has no symbols and names a module.
const GoMod codesym.Lang = "go.mod"

// headBytes is what decides on a file's language where its name does not.
const headBytes = 512

// Known is what an index holds of a file.
type Known struct {
	// Size, Modified and Hash are those that the file had; Indexed is when it was looked at.
	Size              int64
	Modified, Indexed time.Time
	// Version is the [Version] of that time.
	Version int
}

// tick is the coarsest step of a file system's clock. A file that was changed within one of when it was looked at may change again without another time.
const tick = 2 * time.Second

// Same reports whether size and time say that an entry is as it was. They say nothing where the file was changed just before it was looked at, or has no time.
func (k Known) Same(e Entry, version int) bool {
	return k.Version == version && k.Size == e.Size && k.Modified.Equal(e.Modified) && !e.Modified.IsZero() && e.Modified.Add(tick).Before(k.Indexed)
}

// Content is a file that was read.
type Content struct {
	Lang codesym.Lang
	// Text is what it holds, Hash the digest of it in hexadecimal; both "" where Skip says why the file is not parsed.
	Text, Hash string
	Skip       Reason
	// Err is the cause for [Unreadable]; Gone says that the file is not there any more.
	Err  error
	Gone bool
}

// Read reads a file that a walk has met, as far as it is worth it. generated says that generated files are wanted too.
func Read(fsys fs.FS, e Entry, generated bool) Content {
	if e.Skip != "" {
		return Content{Skip: e.Skip, Err: e.Err}
	}
	lang, ok := language(e.Path, "")
	open := path.Ext(e.Path) == ""
	switch {
	case !ok && !open:
		return Content{Skip: Unsupported}
	case ok && e.Size > MaxBytes:
		return Content{Lang: lang, Skip: TooLarge}
	}
	most := int64(MaxBytes + 1)
	if !ok {
		most = headBytes
	}
	text, err := readSome(fsys, e.Path, most)
	if err == nil && !ok {
		if lang, ok = language(e.Path, text); !ok {
			return Content{Skip: Unsupported}
		}
		text, err = readSome(fsys, e.Path, MaxBytes+1)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Content{Lang: lang, Gone: true}
	case err != nil:
		return Content{Lang: lang, Skip: Unreadable, Err: err}
	}
	c := Content{Lang: lang, Hash: digest.Of(text).String()}
	if lang != GoMod {
		c.Lang, _ = language(e.Path, text[:min(len(text), headBytes)])
	}
	switch {
	case len(text) > MaxBytes:
		c.Skip, c.Hash = TooLarge, "" // a part has no digest of the whole
	case codesym.Binary(text):
		c.Skip = Binary
	case !generated && codesym.Generated(e.Path, text):
		c.Skip = Generated
	default:
		c.Text = text
	}
	return c
}

// language returns the language of a file by its name and beginning.
func language(name, head string) (codesym.Lang, bool) {
	if path.Base(name) == "go.mod" {
		return GoMod, true
	}
	return codesym.LanguageOf(name, head)
}
