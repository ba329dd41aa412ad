package toolparse

import (
	"strconv"
	"strings"
)

// jsonExit looks for the exit code member of a JSON object: at the top, or in an object such as "metadata" just below it.
type jsonExit struct {
	codes           []ExitStatus
	streams, output bool
	// bare is the place among codes of one that only its neighbours tell from any other number, from 1; bareExit says that its name is "exit".
	bare     int
	bareExit bool
}

// isObject reports whether the first thing in src is what begins a JSON object.
func isObject(src string) bool {
	return strings.HasPrefix(strings.TrimLeft(src, jsonSpace), "{")
}

// look takes note of one leaf.
func (e *jsonExit) look(p *jsonParser, kind JSONKind, start, line int) {
	depth := len(p.stack)
	if depth == 0 || depth > 2 || !p.stack[0].object || !p.stack[depth-1].object {
		return
	}
	// A long key is none of those below, and decoding one for each leaf behind it would take time with the square of the source.
	outer, inner := p.stack[0].key, p.stack[depth-1].key
	if len(outer) > maxStatusKey || len(inner) > maxStatusKey {
		return
	}
	if kind != JSONNumber && len(inner) != len(`"output"`) && strings.IndexByte(inner, '\\') < 0 {
		return
	}
	if depth == 2 && !holdsStatus(unquoteJSON(outer)) {
		return
	}
	name := unquoteJSON(inner)
	switch strings.ToLower(name) {
	case "stdout", "stderr":
		e.streams = true
	case "output":
		e.output = true
	}
	plain := strings.EqualFold(name, "code") || strings.EqualFold(name, "status") || strings.EqualFold(name, "exit")
	// Below the top only "exit" is plain enough: a "status" in there is any server's.
	plain = plain && (depth == 1 || strings.EqualFold(name, "exit"))
	if kind != JSONNumber || !plain && !isCodeName(name) {
		return
	}
	raw := p.src[start:p.at]
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || n > maxCode || n < minCode {
		return
	}
	e.codes = append(e.codes, ExitStatus{Code: int(n), Raw: raw, Offset: start, Line: line, Form: "json"})
	if plain && depth == 1 {
		e.bare, e.bareExit = len(e.codes), strings.EqualFold(name, "exit")
	}
}

// status returns the exit code of an object that was looked at to its end.
func (e *jsonExit) status() (ExitStatus, bool) {
	codes := e.codes
	if e.bare > 0 && !e.streams && !(e.bareExit && e.output) {
		// "code" and "status" name an exit code only beside the streams of a process, "exit" beside its output.
		codes = append(codes[:e.bare-1:e.bare-1], codes[e.bare:]...)
	}
	if len(codes) == 0 {
		return ExitStatus{}, false
	}
	for _, c := range codes[1:] {
		if c.Code != codes[0].Code {
			return ExitStatus{}, false
		}
	}
	return codes[0], true
}

func holdsStatus(key string) bool {
	switch strings.ToLower(key) {
	case "metadata", "meta", "result", "output", "data", "content", "details", "structuredcontent", "structured_content", "extra", "process":
		return true
	}
	return false
}

// maxStatusKey bounds the keys and tags that are looked at, quotes included.
const maxStatusKey = 40

// isCodeName reports whether a key or tag names an exit code by itself.
func isCodeName(name string) bool {
	if len(name) > maxStatusKey {
		return false
	}
	bare := make([]byte, 0, maxStatusKey)
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			bare = append(bare, c+'a'-'A')
		case c != '_' && c != '-' && c != ' ':
			bare = append(bare, c)
		}
	}
	switch string(bare) {
	case "exitcode", "returncode", "exitstatus", "bashexitcode", "commandexitcode", "processexitcode":
		return true
	}
	return false
}
