package toolparse_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/toolparse"
)

func TestCSV(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     toolparse.CSVDialect
		cells    [][]string
	}{
		{"plain", "a,b\n1,2\n", toolparse.CSVDialect{Delimiter: ',', Columns: 2, Records: 2, Header: true}, [][]string{{"a", "b"}, {"1", "2"}}},
		{"no header", "1,2\n3,4", toolparse.CSVDialect{Delimiter: ',', Columns: 2, Records: 2}, [][]string{{"1", "2"}, {"3", "4"}}},
		{"index column", ",a\n0,x\n", toolparse.CSVDialect{Delimiter: ',', Columns: 2, Records: 2, Header: true}, [][]string{{"", "a"}, {"0", "x"}}},
		{"quotes", "a,b\n\"x,\"\"y\"\"\n\",z", toolparse.CSVDialect{Delimiter: ',', Columns: 2, Records: 2, Header: true}, [][]string{{"a", "b"}, {"x,\"y\"\n", "z"}}},
		{"quote in a bare cell", "a,b\n5\" nail,1\n", toolparse.CSVDialect{Delimiter: ',', Columns: 2, Records: 2, Header: true}, [][]string{{"a", "b"}, {"5\" nail", "1"}}},
		{"semicolons with commas inside", "a;b\n1,5;2,5\n", toolparse.CSVDialect{Delimiter: ';', Columns: 2, Records: 2, Header: true}, [][]string{{"a", "b"}, {"1,5", "2,5"}}},
		{"tabs, carriage returns, blank lines", "\ufeffa\tb\r\n\r\n1\t2\r\n\r\n", toolparse.CSVDialect{Delimiter: '\t', Columns: 2, Records: 2, Header: true}, [][]string{{"a", "b"}, {"1", "2"}}},
		{"carriage returns alone", "a,b\r1,2\r", toolparse.CSVDialect{Delimiter: ',', Columns: 2, Records: 2, Header: true}, [][]string{{"a", "b"}, {"1", "2"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var cells [][]string
			got, err := toolparse.CSV(c.in, func(r []toolparse.CSVCell) bool {
				var row []string
				for _, cell := range r {
					row = append(row, cell.Text)
					if c.in[cell.Offset:cell.Offset+len(cell.Raw)] != cell.Raw {
						t.Errorf("cell %q is not at %d", cell.Raw, cell.Offset)
					}
				}
				cells = append(cells, row)
				return true
			})
			if err != nil || got != c.want {
				t.Errorf("CSV(%q) = %+v, %v, want %+v", c.in, got, err, c.want)
			}
			if diff := cmp.Diff(c.cells, cells); diff != "" {
				t.Errorf("CSV(%q) cells (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

func TestCSVErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "\n", "one column\nonly\n", "a,b\n1\n", "a,b\n1,2,3\n", "a,b\n\"x\"y,1\n", "a,b\n\"x,1\n", "a,b\n1,\x002\n"} {
		_, err := toolparse.CSV(in, nil)
		var syntax *toolparse.SyntaxError
		if !errors.As(err, &syntax) || syntax.Parser != "csv" {
			t.Errorf("CSV(%q) = %v, want a SyntaxError", in, err)
		}
	}
	_, err := toolparse.CSV("a,b\n1,2\n3\n", nil)
	var syntax *toolparse.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 3 || syntax.Offset != 8 {
		t.Errorf("CSV of a short record = %v, want line 3, offset 8", err)
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a;b\n\"x;\"\"\";y", "a\tb\r\n", ",\n,\n", "\ufeffa|b|c\n1|2|3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var again strings.Builder
		d, err := toolparse.CSV(s, nil)
		if err != nil {
			return
		}
		var cells []string
		records := 0
		_, err = toolparse.CSV(s, func(r []toolparse.CSVCell) bool {
			records++
			for i, c := range r {
				if s[c.Offset:c.Offset+len(c.Raw)] != c.Raw {
					t.Errorf("CSV(%q): cell %q is not at %d", s, c.Raw, c.Offset)
				}
				if i > 0 {
					again.WriteByte(d.Delimiter)
				}
				again.WriteString(`"` + strings.ReplaceAll(c.Text, `"`, `""`) + `"`)
				cells = append(cells, c.Text)
			}
			again.WriteByte('\n')
			return true
		})
		if err != nil || records != d.Records || len(cells) != d.Records*d.Columns {
			t.Fatalf("CSV(%q): %v, %d records and %d cells, dialect %+v", s, err, records, len(cells), d)
		}
		// Written with quotes everywhere, the same cells are read.
		if strings.HasPrefix(s, "\ufeff") {
			return
		}
		var second []string
		if _, err := toolparse.CSV(again.String(), func(r []toolparse.CSVCell) bool {
			for _, c := range r {
				second = append(second, c.Text)
			}
			return true
		}); err != nil || !cmp.Equal(cells, second) {
			t.Errorf("CSV(%q) written again as %q gives %q, %v, want %q", s, again.String(), second, err, cells)
		}
	})
}
