package toolparse

import "strings"

// jsonSpace is what may stand in front of a JSON text.
const jsonSpace = " \t\r\n\ufeff"

// Text is a text that several parsers are asked about. What one of them finds out none looks for again: whether it is a JSON text takes a look at each of its bytes.
// [NewText] makes one; it is for one goroutine at a time.
type Text struct {
	src string

	parsed bool // json and code have seen it, and bad says how it ended
	bad    error
	json   jsonParser
	code   jsonExit

	stated     bool // what follows is known
	exit       ExitStatus
	none       string // why there is no exit code
	start, end int    // of the output
	looked     int    // for the tests of linear work
}

// NewText returns the Text of src.
func NewText(src string) *Text { return &Text{src: src} }

// String returns the text.
func (t *Text) String() string { return t.src }

func (t *Text) parse() error {
	if !t.parsed {
		t.parsed = true
		if isObject(t.src) {
			t.json.exit = &t.code
		}
		t.bad = t.json.run(t.src)
		t.json.exit = nil
	}
	return t.bad
}

// IsJSON reports whether [JSON] accepts the text.
func (t *Text) IsJSON() bool { return t.parse() == nil }

// JSON does what [JSON] does, and visits nothing where the text is none.
func (t *Text) JSON(visit func(JSONValue) bool) error {
	if err := t.parse(); err != nil || visit == nil {
		return err
	}
	t.json.visit = visit
	defer func() { t.json.visit = nil }()
	return t.json.run(t.src)
}

// Leaves returns how many leaves [Text.JSON] visits, and 0 where the text is no JSON.
func (t *Text) Leaves() int {
	if t.parse() != nil {
		return 0
	}
	return t.json.leaves
}

// Sniff returns what [Sniff] does.
func (t *Text) Sniff() string {
	body := strings.TrimLeft(t.src, jsonSpace)
	switch {
	case body == "":
		return ""
	case (body[0] == '{' || body[0] == '[') && t.IsJSON():
		return "json"
	case looksLikeDiff(t.src):
		if _, err := UnifiedDiff(t.src); err == nil {
			return "unified_diff"
		}
	case headInFront(t.src):
		if heads, err := HTTPHeaders(t.src); err == nil && hasFields(heads) {
			return "http_headers"
		}
	case isTable(t.src):
		return "csv"
	}
	return ""
}

func (t *Text) state() {
	if t.stated {
		return
	}
	t.stated = true
	p := exitParser{src: t.src}
	var room [maxHeadLines]textLine
	top := p.lines(room[:0])
	if isObject(t.src) && t.IsJSON() {
		if exit, ok := t.code.status(); ok {
			t.exit = exit
		} else {
			t.none = "a JSON text without an exit code"
		}
	} else {
		t.exit, t.none = p.run(top)
	}
	t.end = len(t.src)
	if t.none == "" {
		t.start = p.outputStart(top)
		t.end = p.outputEnd(t.start)
	}
	t.looked = p.looked
}

// HasExitCode reports whether [ExitCode] finds one.
func (t *Text) HasExitCode() bool {
	t.state()
	return t.none == ""
}

// ExitCode returns what [ExitCode] does.
func (t *Text) ExitCode() (ExitStatus, error) {
	if !t.HasExitCode() {
		return ExitStatus{}, &SyntaxError{Parser: "exit_code", Offset: 0, Line: 1, Msg: t.none}
	}
	return t.exit, nil
}

// Output returns what [Output] does.
func (t *Text) Output() (start, end int) {
	t.state()
	return t.start, t.end
}
