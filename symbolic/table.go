package symbolic

import (
	"maps"
	"strings"
)

// Table says which parser the result of a tool is given to first. The zero Table knows no tool. A Table is never changed: [Table.With] returns another one.
type Table struct {
	by map[string]FactSource
}

// DefaultTable returns the table of well-known tool names. Names compare without case, and "-", "." and "_" count as the same character.
func DefaultTable() Table {
	by := map[string]FactSource{}
	for src, names := range map[FactSource]string{
		JSON():        "json read_json parse_json jq query_json json_query http_json",
		CSV():         "csv read_csv parse_csv load_csv",
		HTTPHeaders(): "http_headers fetch_headers get_headers http_head curl_head",
		UnifiedDiff(): "diff git_diff show_diff get_diff git_show view_diff",
	} {
		for name := range strings.FieldsSeq(names) {
			by[name] = src
		}
	}
	return Table{by}
}

// With returns a table that gives the results of the tool to src first.
func (t Table) With(tool string, src FactSource) Table {
	by := maps.Clone(t.by)
	if by == nil {
		by = map[string]FactSource{}
	}
	by[tableKey(tool)] = src
	return Table{by}
}

// Lookup returns the parser that the table has for the tool.
func (t Table) Lookup(tool string) (FactSource, bool) {
	src, ok := t.by[tableKey(tool)]
	return src, ok
}

// SourceFor returns the parser that the default table has for the tool.
func SourceFor(toolName string) (FactSource, bool) { return DefaultTable().Lookup(toolName) }

func tableKey(tool string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' {
			return '_'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(tool)))
}
