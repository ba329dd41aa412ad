package toolparse

import "strings"

// Sniff returns the name of the parser whose structure src shows beyond doubt: "json" for an object or array, "unified_diff", "http_headers" where
// a head stands in front, "csv" for a table; "" for anything else. Prose, source code and logs give "".
func Sniff(src string) string { return NewText(src).Sniff() }

// looksLikeDiff finds the lines that every unified diff has, before it is parsed.
func looksLikeDiff(src string) bool {
	return atLineStart(src, "diff --git ") || atLineStart(src, "--- ") && atLineStart(src, "+++ ") && atLineStart(src, "@@ -")
}

func atLineStart(src, mark string) bool {
	for at := 0; ; {
		i := strings.Index(src[at:], mark)
		if i < 0 {
			return false
		}
		if at += i; at == 0 || src[at-1] == '\n' {
			return true
		}
		at += len(mark)
	}
}

// maxLinesBeforeHead is how many lines of a program's own words may stand before a head: curl's progress meter takes 6, its connection notes up to 30.
const maxLinesBeforeHead = 48

// headInFront reports whether a message head is the first thing in src behind what curl, wget and shells print before it. A head further down,
// such as the example in a page, does not count.
func headInFront(src string) bool {
	for range maxLinesBeforeHead {
		line, rest, more := strings.Cut(src, "\n")
		line = strings.TrimSuffix(line, "\r")
		bare := line
		if s, ok := strings.CutPrefix(line, "< "); ok {
			bare = s
		} else if s, ok := strings.CutPrefix(line, "  "); ok && strings.HasPrefix(s, "HTTP/") {
			bare = s
		}
		if _, is, err := startLine(bare, true); is && err == "" {
			return true
		}
		if !beforeHead(line) || !more {
			return false
		}
		src = rest
	}
	return false
}

func beforeHead(s string) bool {
	t := strings.TrimSpace(s)
	switch {
	case t == "", curlNote(s), strings.HasPrefix(s, "> "), s == ">", strings.HasPrefix(s, "$ "), strings.HasPrefix(s, "+ "):
		return true
	case strings.HasPrefix(t, "% Total"), strings.HasPrefix(t, "Dload"):
		return true
	case t[0] >= '0' && t[0] <= '9' && strings.Trim(t, "0123456789 :-.kMG\r") == "": // the progress meter's numbers
		return true
	case strings.HasPrefix(t, "--") && strings.Contains(t, "http"), strings.HasPrefix(t, "Resolving "), strings.HasPrefix(t, "Connecting to "), strings.HasPrefix(t, "HTTP request sent"):
		return true // wget
	}
	return isLabel(t)
}

func hasFields(heads []HTTPHead) bool {
	for _, h := range heads {
		if len(h.Fields) > 0 {
			return true
		}
	}
	return false
}

// A table must be this long, in records, before its bytes alone show it: short lists with commas are prose.
const minSniffedRecords = 3

// isTable reports whether src is a table beyond doubt: a header of distinct short names, the same width in every record, and no line that reads like
// prose or source code.
func isTable(src string) bool {
	distinct := true
	var seen map[string]bool
	first := true
	d, err := CSV(src, func(record []CSVCell) bool {
		if first {
			first = false
			seen = make(map[string]bool, len(record))
			for _, c := range record {
				// Two columns with words for names may be two halves of sentences.
				if !isColumnName(c.Text) || seen[c.Text] || len(record) == 2 && strings.Contains(c.Text, " ") {
					distinct = false
				}
				seen[c.Text] = true
			}
			return distinct
		}
		// "word, word" has spaces behind its commas; tables that programs print do not.
		for _, c := range record[1:] {
			if strings.HasPrefix(c.Text, " ") && c.Raw == c.Text {
				distinct = false
			}
		}
		return distinct
	})
	return err == nil && distinct && d.Header && d.Records >= minSniffedRecords && d.Delimiter != ':' && (d.Delimiter != '|' || d.Columns > 2)
}

// isColumnName accepts the names of columns: a few words of letters, digits and the marks that names carry.
func isColumnName(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || len(s) > 64 || strings.Count(s, " ") > 4 {
		return false
	}
	for _, r := range s {
		if r < 0x80 && !isWordByte(byte(r)) && !strings.ContainsRune(" -./%#()[]:", r) {
			return false
		}
	}
	return true
}

// OnlyFields reports whether src is at least two fields and nothing else, each key once. Lines with a colon need keys without spaces.
func OnlyFields(src string) bool {
	seen := map[string]bool{}
	for len(src) > 0 {
		line, rest, _ := strings.Cut(src, "\n")
		src = rest
		f, ok := fieldOf(line)
		switch {
		case ok && (seen[f.Key] || strings.Contains(f.Key, " ")), !ok && strings.TrimSpace(line) != "":
			return false
		case ok:
			seen[f.Key] = true
		}
	}
	return len(seen) >= 2
}
