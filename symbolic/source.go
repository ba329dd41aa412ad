package symbolic

import (
	"regexp"
	"strings"
)

// FactSource names a deterministic parser. The set is closed: [JSON], [CSV], [HTTPHeaders], [UnifiedDiff], [ExitCode], [Fields], [Regexp] and [CodeSymbols]
// return its members. The zero value is none and refused with [ErrNoSource].
type FactSource struct {
	kind sourceKind
	// arg is the pattern or the language.
	arg string
	re  *regexp.Regexp
}

type sourceKind int

const (
	sourceJSON sourceKind = iota + 1
	sourceCSV
	sourceHTTP
	sourceDiff
	sourceExit
	sourceFields
	sourceRegexp
	sourceCode
)

// JSON reads one JSON text: a json_field fact for each scalar and each empty container.
func JSON() FactSource { return FactSource{kind: sourceJSON} }

// CSV reads a table with separated columns: a csv_column fact for each column.
func CSV() FactSource { return FactSource{kind: sourceCSV} }

// HTTPHeaders reads the heads of HTTP messages, also as curl shows them: an http_header fact for each status and each header field.
func HTTPHeaders() FactSource { return FactSource{kind: sourceHTTP} }

// UnifiedDiff reads unified diffs with git's extended headers: a diff_hunk fact for each hunk, and for each file that changes without one.
func UnifiedDiff() FactSource { return FactSource{kind: sourceDiff} }

// ExitCode reads the exit code that a tool states about the command that it ran: one tool_exit_code fact.
func ExitCode() FactSource { return FactSource{kind: sourceExit} }

// Fields reads lines of "key: value" and "key=value": a tool_output_field fact for each.
func Fields() FactSource { return FactSource{kind: sourceFields} }

// Regexp reads the matches of a regular expression: a regex_match fact for each group of each match, or for the whole match where the expression has no group.
// The expression is taken by its text, so settings that are not part of it (leftmost-longest matching) do not carry over. A nil re gives the zero source.
func Regexp(re *regexp.Regexp) FactSource {
	if re == nil {
		return FactSource{}
	}
	src, err := regexpSource(re.String())
	if err != nil {
		return FactSource{}
	}
	return src
}

func regexpSource(pattern string) (FactSource, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return FactSource{}, err
	}
	return FactSource{kind: sourceRegexp, arg: pattern, re: re}, nil
}

// CodeSymbols reads the symbols of source code: a fact for each declaration, its value the signature, its hash that of all its tokens without comments and spacing.
// The languages are go, python, javascript, typescript, tsx, rust, java, c, cpp, json, yaml, toml, markdown, sql and shell, also by names such as "py" and "c++". Another one is
// refused by [Extract].
func CodeSymbols(lang string) FactSource { return FactSource{kind: sourceCode, arg: lang} }

// String returns the name that a [Row] carries as its source, "" for the zero value.
func (s FactSource) String() string {
	switch s.kind {
	case sourceJSON:
		return "json"
	case sourceCSV:
		return "csv"
	case sourceHTTP:
		return "http_headers"
	case sourceDiff:
		return "unified_diff"
	case sourceExit:
		return "exit_code"
	case sourceFields:
		return "fields"
	case sourceRegexp:
		return "regexp:" + s.arg
	case sourceCode:
		return "code:" + s.arg
	}
	return ""
}

// sourceNamed is the reverse of String, for rows. It stays unexported: a name in a row is a claim, and Rederive checks it by parsing.
func sourceNamed(name string) (FactSource, bool) {
	for _, s := range [...]FactSource{JSON(), CSV(), HTTPHeaders(), UnifiedDiff(), ExitCode(), Fields()} {
		if s.String() == name {
			return s, true
		}
	}
	if pattern, ok := strings.CutPrefix(name, "regexp:"); ok {
		s, err := regexpSource(pattern)
		return s, err == nil
	}
	if lang, ok := strings.CutPrefix(name, "code:"); ok {
		return CodeSymbols(lang), true
	}
	return FactSource{}, false
}
