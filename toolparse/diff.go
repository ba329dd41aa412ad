package toolparse

import (
	"strconv"
	"strings"
)

// FileDiff is what a unified diff says about one file.
type FileDiff struct {
	// OldPath and NewPath are the names without git's "a/" and "b/"; "" is no file: NewPath of a deleted one, OldPath of a new one.
	OldPath, NewPath string
	// Change is "modify", "new", "delete", "rename" or "copy".
	Change string
	// OldMode and NewMode are git's file modes, "" where the diff does not say.
	OldMode, NewMode string
	Binary           bool
	Hunks            []Hunk
	// Text is the file's part of the source up to its first hunk; Offset where it begins, Line its line.
	Text         string
	Offset, Line int
	git          bool
}

// Path returns the name to call the file by: the new one, or the old one of a deleted file.
func (f FileDiff) Path() string {
	if f.NewPath != "" {
		return f.NewPath
	}
	return f.OldPath
}

// Hunk is one "@@" part of a file's diff. Starts are lines from 1; 0 where the side is empty.
type Hunk struct {
	// The ranges of the "@@" line: where the hunk begins on each side, and how many lines of that side it has.
	OldStart, OldLines, NewStart, NewLines int
	// Section is the text behind the second "@@".
	Section string
	// Added, Deleted and Context count the lines of each sort.
	Added, Deleted, Context int
	// OldNoNewline and NewNoNewline say that the side's last line has no line end.
	OldNoNewline, NewNoNewline bool
	// Text is the hunk with its "@@" line; Offset where it begins, Line its line.
	Text         string
	Offset, Line int
}

// UnifiedDiff reads the unified diffs in src, with git's extended headers. Text around them, such as a commit message, is skipped; hunks are read by
// the counts of their "@@" line, so content that looks like a header is content. Refused are a hunk that is cut short or has a line of another sort,
// a hunk without a file, combined diffs of merges, and a source with no diff in it (context, ed and normal diffs among them).
func UnifiedDiff(src string) ([]FileDiff, error) {
	p := &diffParser{src: src}
	return p.run()
}

type diffParser struct {
	src    string
	at     int
	line   int
	files  []FileDiff
	looked int
	// inFile says that a hunk may follow: the last line belonged to a file's headers or to a hunk.
	inFile bool
}

func (p *diffParser) fail(l diffLine, msg string) error {
	return &SyntaxError{Parser: "unified_diff", Offset: l.at, Line: l.line, Msg: msg}
}

type diffLine struct {
	text     string
	at, line int
}

// peek returns the line at a place, without its end.
func (p *diffParser) peek(at int) (text string, next int) {
	end := strings.IndexByte(p.src[at:], '\n')
	if end < 0 {
		end = len(p.src) - at
	}
	p.looked += end + 1
	return strings.TrimSuffix(p.src[at:at+end], "\r"), min(at+end+1, len(p.src))
}

func (p *diffParser) next() diffLine {
	l := diffLine{at: p.at, line: p.line + 1}
	l.text, p.at = p.peek(p.at)
	p.line++
	return l
}

func (p *diffParser) run() ([]FileDiff, error) {
	for p.at < len(p.src) {
		l := p.next()
		if err := p.one(l); err != nil {
			return nil, err
		}
	}
	if len(p.files) == 0 {
		return nil, p.fail(diffLine{line: 1}, "no unified diff")
	}
	return p.files, nil
}

func (p *diffParser) one(l diffLine) error {
	s := l.text
	switch {
	case strings.HasPrefix(s, "diff --git "):
		p.begin(l).git = true
		p.gitNames(s[len("diff --git "):])
	case strings.HasPrefix(s, "diff --cc "), strings.HasPrefix(s, "diff --combined "), strings.HasPrefix(s, "@@@ -"):
		return p.fail(l, "a combined diff")
	case strings.HasPrefix(s, "--- "):
		return p.fileHeader(l)
	case strings.HasPrefix(s, "@@ -"):
		h, ok := hunkHeader(s)
		switch {
		case !ok && p.inFile:
			return p.fail(l, "a bad hunk header")
		case !ok:
			return nil
		case !p.inFile:
			return p.fail(l, "a hunk without a file")
		}
		return p.hunk(l, h)
	case strings.HasPrefix(s, "Binary files ") && strings.HasSuffix(s, " differ"):
		p.binaryLine(l)
	case p.inFile && p.last().git && len(p.last().Hunks) == 0:
		p.extended(l)
	default:
		p.inFile = false
	}
	return nil
}

func (p *diffParser) last() *FileDiff { return &p.files[len(p.files)-1] }

func (p *diffParser) begin(l diffLine) *FileDiff {
	p.files = append(p.files, FileDiff{Change: "modify", Offset: l.at, Line: l.line, Text: l.text})
	p.inFile = true
	return p.last()
}

// cover extends the file's head to the end of the line.
func (p *diffParser) cover(l diffLine) {
	f := p.last()
	f.Text = p.src[f.Offset : l.at+len(l.text)]
}

// extended reads one of git's header lines.
func (p *diffParser) extended(l diffLine) {
	f := p.last()
	key, value := "", ""
	for _, k := range [...]string{
		"old mode ", "new mode ", "deleted file mode ", "new file mode ", "copy from ", "copy to ", "rename from ", "rename to ",
		"rename old ", "rename new ", "similarity index ", "dissimilarity index ", "index ",
	} {
		if strings.HasPrefix(l.text, k) {
			key, value = k, l.text[len(k):]
			break
		}
	}
	switch key {
	case "old mode ":
		f.OldMode = value
	case "new mode ":
		f.NewMode = value
	case "deleted file mode ":
		f.OldMode, f.NewPath, f.Change = value, "", "delete"
	case "new file mode ":
		f.NewMode, f.OldPath, f.Change = value, "", "new"
	case "rename from ", "rename old ":
		f.OldPath, f.Change = cPath(value), "rename"
	case "rename to ", "rename new ":
		f.NewPath, f.Change = cPath(value), "rename"
	case "copy from ":
		f.OldPath, f.Change = cPath(value), "copy"
	case "copy to ":
		f.NewPath, f.Change = cPath(value), "copy"
	case "index ":
		if _, mode, ok := strings.Cut(value, " "); ok {
			f.OldMode, f.NewMode = mode, mode
		}
	case "similarity index ", "dissimilarity index ":
	default:
		if l.text == "GIT binary patch" {
			f.Binary = true
			p.cover(l)
			p.binaryPatch()
			return
		}
		p.inFile = false
		return
	}
	p.cover(l)
}

// binaryPatch skips the one or two encoded parts; each is lines of base 85 up to a blank line, and none can look like a header.
func (p *diffParser) binaryPatch() {
	for p.at < len(p.src) {
		text, _ := p.peek(p.at)
		if !strings.HasPrefix(text, "literal ") && !strings.HasPrefix(text, "delta ") {
			break
		}
		for p.at < len(p.src) {
			l := p.next()
			p.cover(l)
			if l.text == "" {
				break
			}
		}
	}
	p.inFile = false
}

// binaryLine reads "Binary files a and b differ", in a git section or on its own.
func (p *diffParser) binaryLine(l diffLine) {
	if !p.inFile || len(p.last().Hunks) > 0 || !p.last().git {
		body := strings.TrimSuffix(strings.TrimPrefix(l.text, "Binary files "), " differ")
		// The names may hold " and " themselves; without quotes only equal halves would tell, so take the last.
		i := strings.LastIndex(body, " and ")
		if i < 0 {
			p.inFile = false
			return
		}
		f := p.begin(l)
		f.OldPath, f.NewPath = sidePaths(body[:i], body[i+len(" and "):])
		f.setChange()
	}
	p.last().Binary = true
	p.cover(l)
	p.inFile = false
}

// fileHeader reads "--- old" where "+++ new" follows. A "--- " line alone is text.
func (p *diffParser) fileHeader(l diffLine) error {
	text, next := "", p.at
	if p.at < len(p.src) {
		text, next = p.peek(p.at)
	}
	if !strings.HasPrefix(text, "+++ ") {
		p.inFile = false
		return nil
	}
	var f *FileDiff
	if p.inFile && p.last().git && len(p.last().Hunks) == 0 {
		f = p.last()
	} else {
		// Without git's header a hunk must follow; otherwise these are two lines of text.
		third := ""
		if next < len(p.src) {
			third, _ = p.peek(next)
		}
		if strings.HasPrefix(third, "@@@ -") {
			return p.fail(l, "a combined diff")
		}
		if _, ok := hunkHeader(third); !ok {
			p.inFile = false
			return nil
		}
		f = p.begin(l)
	}
	old, new := sidePaths(l.text[len("--- "):], text[len("+++ "):])
	// Git's header has both names with both prefixes in view; this pair may show one only, or be labels.
	if f.OldPath == "" && f.NewPath == "" {
		f.OldPath, f.NewPath = old, new
	} else if old == "" {
		f.OldPath = ""
	} else if new == "" {
		f.NewPath = ""
	}
	f.setChange()
	p.cover(p.next())
	return nil
}

func (f *FileDiff) setChange() {
	switch {
	case f.OldPath == "" && f.NewPath != "":
		f.Change = "new"
	case f.NewPath == "" && f.OldPath != "":
		f.Change = "delete"
	}
}

// hunk reads the body of a hunk by its counts.
func (p *diffParser) hunk(l diffLine, h Hunk) error {
	h.Offset, h.Line = l.at, l.line
	old, new := h.OldLines, h.NewLines
	last := byte(0)
	end := p.at
	for old > 0 || new > 0 {
		if p.at == len(p.src) {
			return p.fail(l, "a hunk is shorter than its header says")
		}
		b := p.next()
		sort := byte(' ') // Some programs strip the blank of an empty context line.
		if b.text != "" {
			sort = b.text[0]
		}
		switch sort {
		case ' ':
			h.Context++
			old--
			new--
		case '-':
			h.Deleted++
			old--
		case '+':
			h.Added++
			new--
		case '\\':
			if last == 0 {
				return p.fail(b, "a mark of a missing line end without a line")
			}
			h.mark(last)
		default:
			return p.fail(b, "a line in a hunk that is none of context, added and deleted")
		}
		if old < 0 || new < 0 {
			return p.fail(b, "a hunk has other lines than its header says")
		}
		last = sort
		end = p.at
	}
	if p.at < len(p.src) && p.src[p.at] == '\\' {
		p.next()
		h.mark(last)
		end = p.at
	}
	h.Text = strings.TrimSuffix(p.src[l.at:end], "\n")
	f := p.last()
	f.Hunks = append(f.Hunks, h)
	p.inFile = true
	return nil
}

func (h *Hunk) mark(sort byte) {
	if sort != '+' {
		h.OldNoNewline = true
	}
	if sort != '-' {
		h.NewNoNewline = true
	}
}

// hunkHeader reads "@@ -1,2 +3,4 @@ section".
func hunkHeader(s string) (Hunk, bool) {
	var h Hunk
	rest, ok := strings.CutPrefix(s, "@@ -")
	if !ok {
		return h, false
	}
	if h.OldStart, h.OldLines, rest, ok = hunkRange(rest); !ok {
		return h, false
	}
	if rest, ok = strings.CutPrefix(rest, " +"); !ok {
		return h, false
	}
	if h.NewStart, h.NewLines, rest, ok = hunkRange(rest); !ok {
		return h, false
	}
	if rest, ok = strings.CutPrefix(rest, " @@"); !ok {
		return h, false
	}
	h.Section = strings.TrimSpace(rest)
	return h, true
}

func hunkRange(s string) (start, count int, rest string, ok bool) {
	start, rest, ok = natural(s)
	if !ok {
		return 0, 0, "", false
	}
	if !strings.HasPrefix(rest, ",") {
		return start, 1, rest, true
	}
	count, rest, ok = natural(rest[1:])
	return start, count, rest, ok
}

// natural reads a number that an int holds.
func natural(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < 20 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(s[:i])
	return n, s[i:], err == nil
}

func itoa(n int) string { return strconv.Itoa(n) }
