package toolparse

import (
	"strconv"
	"strings"
)

// CSVCell is one cell of a table.
type CSVCell struct {
	// Text is the value, quotes removed.
	Text string
	// Raw is the cell in the source, quotes included; Offset where it begins, Line its line.
	Raw          string
	Offset, Line int
}

// CSVDialect is how a table is written.
type CSVDialect struct {
	// Delimiter parts the cells.
	Delimiter byte
	// Columns is the width of every record; Records counts them, the first included.
	Columns, Records int
	// Header reports whether the first record names the columns: it does unless all its cells are numbers or empty.
	Header bool
}

// delimiters are tried in this order; among those that make a table the one with most columns wins, the earlier at a tie.
const delimiters = ",\t;|:^"

// CSV reads src as a table of at least two columns (RFC 4180 with any of the delimiters comma, tab, semicolon, bar, colon and caret) and passes each record to visit.
// Every record must have the same width; blank lines are skipped, and so is a byte order mark in front. A quote inside a bare cell stands for itself;
// a quoted cell must end before the next delimiter. The record is reused between calls; visit may be nil, and ends the passing by returning false.
func CSV(src string, visit func(record []CSVCell) bool) (CSVDialect, error) {
	d, _, err := readCSV(src, visit)
	return d, err
}

func readCSV(src string, visit func([]CSVCell) bool) (best CSVDialect, looked int, err error) {
	var first error
	for i := range len(delimiters) {
		p := &csvParser{src: src, line: 1, d: CSVDialect{Delimiter: delimiters[i]}}
		looked += len(src)
		if strings.IndexByte(src, delimiters[i]) < 0 {
			continue
		}
		err := p.run()
		looked += p.looked
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if p.d.Columns > best.Columns {
			best = p.d
		}
	}
	if best.Columns < 2 {
		if first == nil {
			first = &SyntaxError{Parser: "csv", Line: 1, Msg: "no delimiter makes two columns"}
		}
		return CSVDialect{}, looked, first
	}
	if visit != nil {
		p := &csvParser{src: src, line: 1, d: CSVDialect{Delimiter: best.Delimiter}, visit: visit}
		err = p.run()
		looked += p.looked
	}
	return best, looked, err
}

type csvParser struct {
	src    string
	at     int
	line   int
	d      CSVDialect
	visit  func([]CSVCell) bool
	record []CSVCell
	looked int
}

func (p *csvParser) fail(at, line int, msg string) error {
	return &SyntaxError{Parser: "csv", Offset: at, Line: line, Msg: msg}
}

func (p *csvParser) run() error {
	p.at = len(p.src) - len(strings.TrimPrefix(p.src, "\ufeff"))
	for p.at < len(p.src) {
		if p.lineEnd() {
			continue
		}
		start, line := p.at, p.line
		if err := p.row(); err != nil {
			return err
		}
		if p.d.Records == 0 {
			p.d.Columns = len(p.record)
			p.d.Header = namesColumns(p.record)
			if p.d.Columns < 2 {
				return p.fail(start, line, "the first record has one column")
			}
		}
		if len(p.record) != p.d.Columns {
			return p.fail(start, line, "a record of "+strconv.Itoa(len(p.record))+" columns where the first has "+strconv.Itoa(p.d.Columns))
		}
		p.d.Records++
		if p.visit != nil && !p.visit(p.record) {
			p.visit = nil
		}
	}
	if p.d.Records == 0 {
		return p.fail(0, 1, "no record")
	}
	return nil
}

// lineEnd takes one line end.
func (p *csvParser) lineEnd() bool {
	switch {
	case p.at == len(p.src):
		return false
	case strings.HasPrefix(p.src[p.at:], "\r\n"):
		p.at += 2
	case p.src[p.at] == '\n', p.src[p.at] == '\r':
		p.at++
	default:
		return false
	}
	p.line++
	p.looked += 2
	return true
}

// row reads a record with its line end.
func (p *csvParser) row() error {
	p.record = p.record[:0]
	for {
		start, line := p.at, p.line
		var text string
		if p.at < len(p.src) && p.src[p.at] == '"' {
			var err error
			if text, err = p.quoted(); err != nil {
				return err
			}
		} else {
			for p.at < len(p.src) && p.src[p.at] != p.d.Delimiter && p.src[p.at] != '\n' && p.src[p.at] != '\r' {
				if p.src[p.at] == 0 {
					return p.fail(p.at, p.line, "a NUL byte")
				}
				p.at++
			}
			text = p.src[start:p.at]
		}
		p.looked += p.at - start + 1
		p.record = append(p.record, CSVCell{Text: text, Raw: p.src[start:p.at], Offset: start, Line: line})
		switch {
		case p.at == len(p.src) || p.lineEnd():
			return nil
		case p.src[p.at] == p.d.Delimiter:
			p.at++
		default:
			return p.fail(p.at, p.line, "text after a closing quote")
		}
	}
}

func (p *csvParser) quoted() (string, error) {
	start, line := p.at, p.line
	p.at++
	doubled := false
	for {
		i := strings.IndexByte(p.src[p.at:], '"')
		if i < 0 {
			p.looked += len(p.src) - p.at
			return "", p.fail(start, line, "a quoted cell has no end")
		}
		p.line += strings.Count(p.src[p.at:p.at+i], "\n")
		p.at += i + 1
		if p.at == len(p.src) || p.src[p.at] != '"' {
			break
		}
		p.at++
		doubled = true
	}
	text := p.src[start+1 : p.at-1]
	if strings.IndexByte(text, 0) >= 0 {
		return "", p.fail(start, line, "a NUL byte")
	}
	if doubled {
		text = strings.ReplaceAll(text, `""`, `"`)
	}
	return text, nil
}

// namesColumns reports whether a first record is a header: some cell is neither empty nor a number.
func namesColumns(record []CSVCell) bool {
	for _, c := range record {
		s := strings.TrimSpace(c.Text)
		if s == "" {
			continue
		}
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return true
		}
	}
	return false
}
