package toolparse_test

import (
	"strings"
	"testing"

	"sakur4/toolparse"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"{\"a\":1}", "{\"a\":1}"},
		{"no code at all\n", "no code at all\n"},
		{"Exit code 1\n{\"a\":1}", "{\"a\":1}"},
		{"{\"a\":1}\n\nCommand exited with code 1", "{\"a\":1}"},
		{"Exit code: 0\nWall time: 1.3 seconds\nOutput:\n{\"a\":1}\n", "{\"a\":1}"},
		{"Chunk ID: a\nWall time: 1 s\nProcess exited with code 0\nOriginal token count: 5\nOutput:\n[1]", "[1]"},
		{"<returncode>0</returncode>\n<output>\n[1]\n</output>", "[1]"},
		{"[1]\n[The command completed with exit code 0.]\n[Current working directory: /w]\n[Command finished with exit code 0]", "[1]"},
		{"Exit code 2", ""},
	} {
		start, end := toolparse.Output(c.in)
		if got := strings.TrimSpace(c.in[start:end]); got != strings.TrimSpace(c.want) {
			t.Errorf("Output(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzOutput(f *testing.F) {
	for _, s := range []string{"Exit code 1\nx", "x\n\n[exit 3]", "<returncode>0</returncode>\n<output>\n</output>", "Exit code: 1\nOutput:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if start, end := toolparse.Output(s); start < 0 || start > end || end > len(s) {
			t.Errorf("Output(%q) = %d, %d", s, start, end)
		}
	})
}
