package toolparse_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sakur4/toolparse"
)

// corpora returns the folder of parser inputs that have answers from independent programs.
func corpora(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SAKUR4_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	dir = filepath.Join(dir, "corpora")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("skipped: no test data")
	}
	return dir
}

// manifest decodes a folder's list and returns the reader of its files.
func manifest[T any](t *testing.T, dir string) []T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "MANIFEST.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("skipped: no test data")
	}
	if err != nil {
		t.Fatal(err)
	}
	var entries []T
	if err := json.Unmarshal(b, &entries); err != nil {
		t.Fatal(err)
	}
	return entries
}

func content(t *testing.T, dir, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCorpora(t *testing.T) {
	t.Parallel()
	dir := corpora(t)
	for name, test := range map[string]func(*testing.T, string){
		"json": testJSONCorpus, "csv": testCSVCorpus, "http": testHTTPCorpus, "diff": testDiffCorpus, "exitcodes": testExitCorpus,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, filepath.Join(dir, name))
		})
	}
}

func testJSONCorpus(t *testing.T, dir string) {
	type entry struct{ File, Expect string }
	total := 0
	for _, e := range manifest[entry](t, dir) {
		err := toolparse.JSON(content(t, dir, e.File), nil)
		total++
		if e.Expect == "accept" && err != nil || e.Expect == "reject" && err == nil {
			t.Errorf("JSON(%s) = %v, want %s", e.File, err, e.Expect)
		}
	}
	t.Logf("%d files", total)
}

func testCSVCorpus(t *testing.T, dir string) {
	type entry struct {
		File        string
		Delimiter   string
		PythonOK    bool `json:"python_ok"`
		Rows        int  `json:"nonblank_rows"`
		Rectangular bool
		Header      []string
		NUL         int
		Expected    string `json:"expected_json"`
		Widths      map[string]int
		Encoding    string
	}
	read, refused := 0, map[string]int{}
	for _, e := range manifest[entry](t, dir) {
		var rows [][]string
		d, err := toolparse.CSV(content(t, dir, e.File), func(r []toolparse.CSVCell) bool {
			var row []string
			for _, c := range r {
				row = append(row, c.Text)
			}
			rows = append(rows, row)
			return true
		})
		reason := ""
		switch {
		case !e.PythonOK:
			reason = "python's strict reader refuses it"
		case !e.Rectangular:
			reason = "records of unequal width"
		case len(e.Header) < 2:
			reason = "one column"
		case e.NUL > 0:
			reason = "NUL bytes"
		}
		if reason != "" {
			if refused[reason]++; err == nil {
				t.Errorf("CSV(%s) reads %d records of %d columns, want a refusal: %s", e.File, d.Records, d.Columns, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("CSV(%s) = %v", e.File, err)
			continue
		}
		read++
		if string(d.Delimiter) != e.Delimiter || d.Records != e.Rows || d.Columns != len(e.Header) {
			t.Errorf("CSV(%s) = %q, %d records, %d columns, want %q, %d, %d", e.File, d.Delimiter, d.Records, d.Columns, e.Delimiter, e.Rows, len(e.Header))
			continue
		}
		if !slices.Equal(rows[0], e.Header) && !strings.HasPrefix(e.Encoding, "latin") {
			t.Errorf("CSV(%s) header %q, want %q", e.File, rows[0], e.Header)
		}
		if e.Expected == "" {
			continue
		}
		var want []map[string]string
		if err := json.Unmarshal([]byte(content(t, dir, e.Expected)), &want); err != nil {
			t.Fatal(err)
		}
		differ := len(rows)-1 != len(want)
		for i := 0; !differ && i < len(want); i++ {
			for j, cell := range rows[i+1] {
				differ = differ || want[i][rows[0][j]] != cell
			}
		}
		// One pair of the corpus differs upstream, in a telephone number.
		if differ && filepath.Base(e.File) != "location_coordinates.csv" {
			t.Errorf("CSV(%s) = %q, want %v", e.File, rows, want)
		}
	}
	t.Logf("%d tables read alike; refused: %v", read, refused)
}

// unlikeLLHTTP are the messages that llhttp and HTTPHeaders read differently, and why.
var unlikeLLHTTP = map[string]string{
	"llhttp/request_connection_005.http": "the head is whole; what llhttp refuses is text behind the body, which is not read",
	"llhttp/request_sample_010.http":     "HTTP/0.9 has no version in its request line and no fields: any two words would be one",
	"llhttp/response_sample_002.http":    "RTSP is another protocol",
	"llhttp/response_sample_003.http":    "ICE is another protocol",
}

// beyondHead says what llhttp refuses in a message that is none of a head's syntax, "" for anything else.
func beyondHead(code int, reason string) string {
	switch {
	case code == 4 || code == 11:
		return "the length of the body"
	case code == 15:
		return "the coding of the body"
	case strings.Contains(reason, "CR"):
		return "line ends: captures have lost carriage returns"
	}
	return ""
}

func testHTTPCorpus(t *testing.T, dir string) {
	type entry struct {
		File, Type string
		Llhttp     struct {
			Strict bool
			Error  *struct {
				Code   int
				Reason string
			}
			Messages []struct {
				Status  *int
				Version string
				Reason  string
				Headers [][2]string
			}
		}
		Blocks  int
		Status  []int
		Headers json.RawMessage
	}
	agree, refused, apart, known := 0, 0, map[string]int{}, 0
	unlike := func(file, format string, args ...any) {
		t.Helper()
		if unlikeLLHTTP[file] == "" {
			t.Errorf(format, args...)
		}
		known++
	}
	for _, e := range manifest[entry](t, dir) {
		src := content(t, dir, e.File)
		heads, err := toolparse.HTTPHeaders(src)
		if e.Type == "" {
			testCapture(t, e.File, heads, err, e.Status, e.Headers)
			continue
		}
		if e.Type != "response" && e.Type != "request" {
			continue
		}
		want := e.Llhttp.Messages
		if e.Llhttp.Error != nil && len(want) == 0 {
			if why := beyondHead(e.Llhttp.Error.Code, e.Llhttp.Error.Reason); why != "" {
				apart[why]++
				continue
			}
			if err == nil {
				unlike(e.File, "HTTPHeaders(%s) reads %d heads where llhttp says %q: %.80q", e.File, len(heads), e.Llhttp.Error.Reason, src)
				continue
			}
			refused++
			continue
		}
		if len(want) == 0 {
			continue
		}
		same := err == nil && len(heads) == len(want)
		for i := 0; same && i < len(want); i++ {
			same = len(heads[i].Fields) == len(want[i].Headers) && heads[i].Version == want[i].Version &&
				(want[i].Status == nil) == heads[i].Request() && (want[i].Status == nil || *want[i].Status == heads[i].Status)
			for j := 0; same && j < len(want[i].Headers); j++ {
				f, h := heads[i].Fields[j], want[i].Headers[j]
				same = f.Name == h[0] && f.Value == strings.Join(strings.Fields(strings.ReplaceAll(h[1], `\t`, " ")), " ") || f.Name == h[0] && f.Value == h[1]
			}
		}
		if !same {
			unlike(e.File, "HTTPHeaders(%s) = %+v, %v, llhttp has %+v: %.120q", e.File, heads, err, want, src)
			continue
		}
		agree++
	}
	t.Logf("llhttp: %d read alike, %d refused alike, %d unlike for known reasons; not compared: %v", agree, refused, known, apart)
	if known != len(unlikeLLHTTP) {
		t.Errorf("%d messages are unlike, the list of reasons has %d", known, len(unlikeLLHTTP))
	}
}

func testCapture(t *testing.T, file string, heads []toolparse.HTTPHead, err error, status []int, counts json.RawMessage) {
	t.Helper()
	var want []int
	if json.Unmarshal(counts, &want) != nil {
		var one int
		if json.Unmarshal(counts, &one) == nil {
			want = []int{one}
		}
	}
	var gotStatus, got []int
	for _, h := range heads {
		if !h.Request() {
			gotStatus, got = append(gotStatus, h.Status), append(got, len(h.Fields))
		}
	}
	if err != nil || !slices.Equal(gotStatus, status) || !slices.Equal(got, want) {
		t.Errorf("HTTPHeaders(%s) = statuses %v, fields %v, %v, want %v, %v", file, gotStatus, got, err, status, want)
	}
}

func testDiffCorpus(t *testing.T, dir string) {
	type counts struct {
		OK                           bool
		Files, Hunks, Added, Deleted int
	}
	type entry struct {
		File     string
		Kinds    []string
		GitApply struct {
			counts
			Binary int
			Paths  []string
		} `json:"git_apply"`
		Unidiff *counts
		Count   struct {
			Bad            int `json:"short_or_bad_hunks"`
			Added, Deleted int
			Hunks          int
		}
	}
	agree, refused := 0, 0
	for _, e := range manifest[entry](t, dir) {
		files, err := toolparse.UnifiedDiff(content(t, dir, e.File))
		var got counts
		var paths []string
		binary := 0
		for _, f := range files {
			got.Files++
			paths = append(paths, f.Path())
			if f.Binary {
				binary++
			}
			for _, h := range f.Hunks {
				got.Hunks++
				got.Added += h.Added
				got.Deleted += h.Deleted
			}
		}
		combined := slices.Contains(e.Kinds, "combined")
		var want counts
		switch {
		case combined:
			if err == nil || !strings.Contains(err.Error(), "combined") {
				t.Errorf("UnifiedDiff(%s) = %+v, %v, want a combined diff refused by name", e.File, got, err)
			}
			refused++
			continue
		case e.GitApply.OK:
			want = e.GitApply.counts
			// Git skips the lines about binary files outside its own sections.
			if binary != e.GitApply.Binary && e.Unidiff.Files == e.GitApply.Files {
				t.Errorf("UnifiedDiff(%s): %d binary files, git %d", e.File, binary, e.GitApply.Binary)
			}
			for i, p := range e.GitApply.Paths {
				if i < len(paths) && len(e.GitApply.Paths) == len(paths) && !sameFile(paths[i], p) && !slices.ContainsFunc(paths, func(s string) bool { return sameFile(s, p) }) {
					t.Errorf("UnifiedDiff(%s): path %d is %q, git %q", e.File, i, paths[i], p)
				}
			}
		case err != nil && strings.Contains(err.Error(), "bad hunk header"):
			refused++ // Numbers beyond nine digits: git refuses them as well.
			continue
		case e.Unidiff != nil && e.Unidiff.OK && e.Unidiff.Files > 0:
			want = *e.Unidiff
		default:
			if err == nil {
				t.Errorf("UnifiedDiff(%s) = %+v, want a refusal", e.File, got)
			}
			refused++
			continue
		}
		filesAlike := got.Files == want.Files || e.Unidiff != nil && got.Files == e.Unidiff.Files
		if err != nil || got.Added != want.Added || got.Deleted != want.Deleted || !filesAlike || got.Hunks != e.Count.Hunks {
			t.Errorf("UnifiedDiff(%s) = %+v, %v, want %+v with %d hunks", e.File, got, err, want, e.Count.Hunks)
			continue
		}
		agree++
	}
	t.Logf("%d read alike, %d refused alike", agree, refused)
}

// sameFile compares a path with git's, which has lost its first folder whatever it was.
func sameFile(got, git string) bool {
	return got == git || strings.HasSuffix(got, "/"+git) || strings.HasSuffix(got, git) && strings.HasPrefix(git, "/")
}

func testExitCorpus(t *testing.T, dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "formats.jsonl"))
	if err != nil {
		t.Skip("skipped: no test data")
	}
	formats := 0
	for line := range bytes.Lines(b) {
		var e struct {
			Agent, Format, Text string
			ExitCode            *int `json:"exit_code"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		formats++
		st, err := toolparse.ExitCode(e.Text)
		if (e.ExitCode != nil) != (err == nil) || err == nil && st.Code != *e.ExitCode {
			t.Errorf("%s, %s: ExitCode(%q) = %+v, %v", e.Agent, e.Format, e.Text, st, err)
		}
	}
	t.Logf("%d formats", formats)
	testExitInstances(t, dir)
}

// testExitInstances compares every tool turn of the recorded sessions with the list of those that state a code.
func testExitInstances(t *testing.T, dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "instances.jsonl"))
	if err != nil {
		return
	}
	want := map[string]int{}
	for line := range bytes.Lines(b) {
		var e struct {
			File     string
			Line     int
			ExitCode int `json:"exit_code"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprint(e.File, ":", e.Line)] = e.ExitCode
	}
	stated, silent := 0, 0
	sessions, _ := filepath.Glob(filepath.Join(dir, "..", "..", "sessions", "*.jsonl"))
	for _, path := range sessions {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, 64<<20)
		for n := 1; s.Scan(); n++ {
			var turn struct {
				Role, Content string
				IsError       *bool  `json:"is_error"`
				Tool          string `json:"tool_name"`
				ExitCode      *int   `json:"exit_code"`
			}
			if json.Unmarshal(s.Bytes(), &turn) != nil || turn.Role != "tool" {
				continue
			}
			key := fmt.Sprint(filepath.Base(path), ":", n)
			code, states := want[key]
			st, err := toolparse.ExitCode(turn.Content)
			if states && (err != nil || st.Code != code) {
				t.Errorf("%s (%s): ExitCode = %+v, %v, want %d: %.100q … %.100q", key, turn.Tool, st, err, code, turn.Content, tail(turn.Content))
			}
			// The list need not be complete; what the agent itself recorded about the turn must not contradict a code that is not on it.
			if !states && err == nil && (turn.IsError != nil && *turn.IsError != (st.Code != 0) || turn.ExitCode != nil && *turn.ExitCode != st.Code) {
				t.Errorf("%s (%s): ExitCode = %+v, recorded is_error %v: %.100q … %.100q", key, turn.Tool, st, *turn.IsError, turn.Content, tail(turn.Content))
			}
			if states {
				stated++
			} else {
				silent++
			}
		}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d turns with a code, %d without", stated, silent)
}

func tail(s string) string { return s[max(0, len(s)-100):] }
