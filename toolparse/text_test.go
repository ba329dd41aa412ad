package toolparse_test

import (
	"testing"

	"sakur4/toolparse"
)

// TestText asks one text for everything, twice and in another order, and compares with the functions that are asked for one thing.
func TestText(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"", "prose", "[1, {}]", ` {"exit_code": 3, "output": "x"}`, `{"a": 1} `, `{"a": 1`, "Exit code 2\n{\"a\":1}\n", "a,b\n1,2\n3,4\n5,6\n",
		"one\n\nCommand exited with code 1", "{\"a\":1}\n[exit 2]\n",
	} {
		text := toolparse.NewText(src)
		check := func(order string) {
			t.Helper()
			for _, ask := range order {
				switch ask {
				case 'j':
					leaves := 0
					err := text.JSON(func(toolparse.JSONValue) bool { leaves++; return true })
					want := toolparse.JSON(src, nil)
					if (err == nil) != (want == nil) || text.IsJSON() != (want == nil) || leaves != text.Leaves() || err != nil && (err.Error() != want.Error() || leaves > 0) {
						t.Errorf("JSON of %q = %v after %d of %d leaves, want %v", src, err, leaves, text.Leaves(), want)
					}
				case 's':
					if got, want := text.Sniff(), toolparse.Sniff(src); got != want {
						t.Errorf("Sniff of %q = %q, want %q", src, got, want)
					}
				case 'o':
					start, end := text.Output()
					if s, e := toolparse.Output(src); start != s || end != e {
						t.Errorf("Output of %q = %d, %d, want %d, %d", src, start, end, s, e)
					}
				case 'x':
					got, err := text.ExitCode()
					want, wantErr := toolparse.ExitCode(src)
					if got != want || (err == nil) != (wantErr == nil) || text.HasExitCode() != (err == nil) {
						t.Errorf("ExitCode of %q = %v, %v, want %v, %v", src, got, err, want, wantErr)
					}
				}
			}
		}
		check("jsoxxosj")
		text = toolparse.NewText(src)
		check("xosjjsox")
		if text.String() != src {
			t.Errorf("String of %q = %q", src, text.String())
		}
	}
	visits := 0
	if err := toolparse.NewText("[1,2,3]").JSON(func(toolparse.JSONValue) bool { visits++; return false }); err != nil || visits != 1 {
		t.Errorf("JSON that is left after a leaf = %v after %d", err, visits)
	}
}
