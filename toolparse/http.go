package toolparse

import (
	"strconv"
	"strings"
)

// HTTPHead is the head of an HTTP message: its start line and its header fields.
type HTTPHead struct {
	// Method and Target belong to a request, Status (100 to 999) and Reason to a response; the others are "" and 0.
	Method, Target string
	Status         int
	Reason         string
	// Version is the part behind "HTTP/", such as "1.1" or "2".
	Version string
	Fields  []HTTPField
	// Text is the start line; Offset where it begins, Line its line.
	Text         string
	Offset, Line int
}

// Request reports whether the head is a request's.
func (h HTTPHead) Request() bool { return h.Method != "" }

// HTTPField is one header field. Repeated fields stay apart, in source order.
type HTTPField struct {
	// Name is as it was written; Value without space around it, the lines of a folded one joined by single spaces.
	Name, Value string
	// Offset is where the value begins in the source; Line its line.
	Offset, Line int
	// folds are the continuation lines; they are joined once, at the end of the head, or a long fold would be copied again and again.
	folds []string
}

// HTTPHeaders reads the heads of HTTP messages in src: raw ones, such as curl -i and -I print, a whole chain of redirects included, those that curl -v
// marks with "<" and ">", and those that wget -S indents. Text before a head and bodies behind it are skipped; a body may follow without a blank line
// where the head's lines end with a line feed alone. A request counts where it begins the source, follows another one, or is marked.
//
// It refuses a source whose first start line or the head behind it is malformed, and one without a start line. A malformed head further on is text.
func HTTPHeaders(src string) ([]HTTPHead, error) {
	p := &httpParser{src: src}
	return p.run()
}

type httpParser struct {
	src    string
	at     int
	line   int
	heads  []HTTPHead
	looked int
}

// httpLine is a line without its end.
type httpLine struct {
	text     string
	at, line int
	crlf     bool
}

func (p *httpParser) fail(l httpLine, msg string) error {
	return &SyntaxError{Parser: "http_headers", Offset: l.at, Line: l.line, Msg: msg}
}

func (p *httpParser) next() httpLine {
	end := strings.IndexByte(p.src[p.at:], '\n')
	l := httpLine{at: p.at, line: p.line + 1}
	if end < 0 {
		l.text = p.src[p.at:]
		p.at = len(p.src)
	} else {
		l.text = p.src[p.at : p.at+end]
		p.at += end + 1
	}
	p.line++
	p.looked += len(l.text) + 1
	l.text, l.crlf = strings.CutSuffix(l.text, "\r")
	return l
}

func (p *httpParser) run() ([]HTTPHead, error) {
	blank := true // nothing but blank lines since the start or the last head
	for p.at < len(p.src) {
		l := p.next()
		mark, start := "", l.text
		for _, m := range [...]string{"< ", "> ", "  "} {
			if rest, ok := strings.CutPrefix(l.text, m); ok && (m == "> " || strings.HasPrefix(rest, "HTTP/")) {
				mark, start = m, rest
				break
			}
		}
		requests := mark == "> " || blank && (len(p.heads) == 0 || p.heads[len(p.heads)-1].Request())
		h, isStart, err := startLine(start, requests)
		blank = blank && l.text == ""
		if !isStart {
			continue
		}
		if err == "" {
			h.Text, h.Offset, h.Line = start, l.at+len(mark), l.line
			err = p.head(&h, l, mark)
		}
		if err != "" {
			if len(p.heads) == 0 && mark == "" {
				return nil, p.fail(l, err)
			}
			continue
		}
		p.heads = append(p.heads, h)
		blank = true
	}
	if len(p.heads) == 0 {
		return nil, p.fail(httpLine{line: 1}, "no start line of an HTTP message")
	}
	return p.heads, nil
}

// head reads the fields behind a start line, and skips a body whose length the head states where that is exactly what follows.
// It leaves the position behind what belongs to the head; err says what is wrong with it.
func (p *httpParser) head(h *HTTPHead, start httpLine, mark string) (err string) {
	from, fromLine := p.at, p.line
	ended := false
	for p.at < len(p.src) && !ended {
		at, line := p.at, p.line
		l := p.next()
		text := l.text
		if mark != "" {
			var marked bool
			text, marked = strings.CutPrefix(text, mark)
			if !marked && l.text == strings.TrimSpace(mark) {
				marked, text = true, "" // "<" alone is curl's blank line.
			}
			if !marked {
				if curlNote(l.text) {
					continue
				}
				p.at, p.line = at, line
				break
			}
		}
		switch {
		case text == "":
			if start.crlf && !l.crlf && mark == "" {
				err = "a line feed without a carriage return in a head"
			}
			ended = true
		case text[0] == ' ' || text[0] == '\t':
			err = h.fold(text)
		default:
			var isField bool
			if isField, err = h.field(text, l, len(l.text)-len(text)); err == "" && !isField {
				// Captures lose blank lines, raw messages do not: with carriage returns in place a line that is no field is an error.
				if start.crlf {
					err = "a line in a head that is no header field"
				} else {
					p.at, p.line = at, line
					ended = true
				}
			}
			if err == "" && isField && start.crlf && !l.crlf && p.at < len(p.src) && mark == "" {
				err = "a line feed without a carriage return in a head"
			}
		}
		if err != "" {
			break
		}
	}
	if err == "" && len(p.heads) > 0 && !ended && len(h.Fields) == 0 {
		err = "a start line alone"
	}
	if err != "" {
		p.at, p.line = from, fromLine
		return err
	}
	h.unfold()
	if ended && mark == "" {
		p.body(h)
	}
	return ""
}

// body skips the bytes that Content-Length counts when exactly the end or another start line follows them. A head request states a length too and has no body.
func (p *httpParser) body(h *HTTPHead) {
	for _, f := range h.Fields {
		if !strings.EqualFold(f.Name, "content-length") {
			continue
		}
		n, err := strconv.Atoi(f.Value)
		if err != nil || n <= 0 || n > len(p.src)-p.at {
			return
		}
		rest := strings.TrimLeft(p.src[p.at+n:min(len(p.src), p.at+n+64)], "\r\n")
		if line, _, _ := strings.Cut(rest, "\n"); rest != "" {
			if _, is, _ := startLine(strings.TrimSuffix(line, "\r"), true); !is {
				return
			}
		}
		p.line += strings.Count(p.src[p.at:p.at+n], "\n")
		p.looked += n
		p.at += n
		return
	}
}

// curlNote reports whether a line is one that curl -v writes between those of a head.
func curlNote(s string) bool {
	return strings.HasPrefix(s, "* ") || strings.HasPrefix(s, "{ [") || strings.HasPrefix(s, "} [")
}

// startLine reads a status line, or a request line where requests are allowed. is says that the line sets out to be one, err what is wrong with it.
func startLine(s string, requests bool) (h HTTPHead, is bool, err string) {
	if rest, ok := strings.CutPrefix(s, "HTTP/"); ok {
		version, rest, ok := strings.Cut(rest, " ")
		switch {
		case !validVersion(version):
			return h, true, "an unknown HTTP version"
		case !ok || len(rest) < 3 || !allDigits(rest[:3]) || rest[0] == '0' || len(rest) > 3 && rest[3] != ' ':
			return h, true, "no status of three digits"
		case hasControl(rest):
			return h, true, "a control character in a status line"
		}
		h.Version, h.Reason = version, strings.TrimSpace(rest[3:])
		h.Status, _ = strconv.Atoi(rest[:3])
		return h, true, ""
	}
	if !requests {
		return h, false, ""
	}
	method, rest, ok := strings.Cut(s, " ")
	if !ok || !isMethod(method) {
		return h, false, ""
	}
	target, version, ok := strings.Cut(rest, " ")
	version, isHTTP := strings.CutPrefix(version, "HTTP/")
	if !ok || !isHTTP {
		return h, false, ""
	}
	switch {
	case !validVersion(strings.TrimRight(version, " ")):
		return h, true, "an unknown HTTP version"
	case target == "" || hasControl(target) || !isASCII(target):
		return h, true, "a bad request target"
	}
	h.Method, h.Target, h.Version = method, target, strings.TrimRight(version, " ")
	return h, true, ""
}

func validVersion(s string) bool {
	switch s {
	case "0.9", "1.0", "1.1", "2", "2.0", "3", "3.0":
		return true
	}
	return false
}

func isMethod(s string) bool {
	switch s {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
		"COPY", "LOCK", "MKCOL", "MOVE", "PROPFIND", "PROPPATCH", "SEARCH", "UNLOCK", "BIND", "REBIND", "UNBIND", "ACL",
		"REPORT", "MKACTIVITY", "CHECKOUT", "MERGE", "M-SEARCH", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", "PURGE", "MKCALENDAR", "LINK", "UNLINK", "SOURCE":
		return true
	}
	return false
}

// field reads "Name: value". It returns false where the line does not look like a field at all; a name with a bad character before a colon is an error,
// unless the line begins as markup or JSON does.
func (h *HTTPHead) field(s string, l httpLine, skipped int) (ok bool, err string) {
	name, value, colon := strings.Cut(s, ":")
	if !colon || strings.IndexByte("<{[\"", s[0]) >= 0 {
		return false, ""
	}
	if name == "" || !isToken(name) {
		return false, "a bad header name"
	}
	if hasControl(value) {
		return false, "a control character in a header value"
	}
	trimmed := strings.Trim(value, " \t")
	offset := l.at + skipped + len(name) + 1 + strings.Index(value, trimmed)
	h.Fields = append(h.Fields, HTTPField{Name: name, Value: trimmed, Offset: offset, Line: l.line})
	return true, ""
}

// fold adds a continuation line to the last field.
func (h *HTTPHead) fold(s string) string {
	if len(h.Fields) == 0 {
		return "space after the start line"
	}
	if hasControl(s) {
		return "a control character in a header value"
	}
	f := &h.Fields[len(h.Fields)-1]
	if more := strings.Trim(s, " \t"); more != "" {
		f.folds = append(f.folds, more)
	}
	return ""
}

// unfold joins the lines of folded values.
func (h *HTTPHead) unfold() {
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.folds != nil {
			f.Value = strings.TrimLeft(f.Value+" "+strings.Join(f.folds, " "), " ")
			f.folds = nil
		}
	}
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return true
}

// hasControl reports whether s has a control character other than a tab.
func hasControl(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
