package symbolic

import "slices"

// The kinds of facts that tool output gives.
const (
	kindField    = "tool_output_field"
	kindExitCode = "tool_exit_code"
	kindHeader   = "http_header"
	kindJSON     = "json_field"
	kindColumn   = "csv_column"
	kindHunk     = "diff_hunk"
	kindMatch    = "regex_match"
)

var kinds = [...]string{
	"function", "method", "class", "struct", "enum", "trait", "interface", "type", "constant", "module", "import", "export",
	kindField, kindExitCode, kindHeader, kindJSON, kindColumn, kindHunk, kindMatch,
}

// Kinds returns the kinds that a fact may have: those of code symbols first, then those of tool output.
func Kinds() []string { return slices.Clone(kinds[:]) }
