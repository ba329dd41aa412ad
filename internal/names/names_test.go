package names_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/names"
)

func scan(text string, escaped bool) []string {
	var out []string
	names.Scan(text, escaped, func(n string) { out = append(out, n) })
	return out
}

func TestScan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		escaped bool
		want    []string
	}{
		{"", false, nil},
		{"The end. Nothing else, 1234 times; WARNING", false, nil},
		{"open ./pkg/pool.go:12:3, please", false, []string{"pkg/pool.go"}},
		{"././x_1y and a_b.go:1:2:3", false, []string{"x_1y", "a_b.go"}},
		{"internal/store/open.go:40-52 and open.go.", false, []string{"internal/store/open.go", "open.go"}},
		{"call getHTTPResponse or snake_case", false, []string{"getHTTPResponse", "snake_case"}},
		{"std::vector, fmt.Errorf, e.g. this", false, []string{"std::vector", "fmt.Errorf"}},
		{"ENOENT SIGKILL TS2345 0x1f ERRORS SHOUT", false, []string{"ENOENT", "SIGKILL", "TS2345", "0x1f", "ERRORS"}},
		{"a_b abc", false, nil}, // too short, and a plain word
		{`{"path":"a/b.go","text":"one\nfoo_bar\ttab_bed\u00e9next_one"}`, true, []string{"a/b.go", "foo_bar", "tab_bed", "next_one"}},
		{`broken \u1`, true, nil},
		{"日本_語 naïve_name", false, []string{"ve_name"}},
		{strings.Repeat("x", 201) + "_1 ok_1", false, []string{"ok_1"}},
	}
	for _, test := range tests {
		if d := cmp.Diff(test.want, scan(test.text, test.escaped)); d != "" {
			t.Errorf("Scan(%q, %t) (-want +got):\n%s", test.text, test.escaped, d)
		}
	}
}

// FuzzScan: a name found is a part of the text, within its bounds, and found again in itself.
func FuzzScan(f *testing.F) {
	f.Add("open ./pkg/pool.go:12:3", false)
	f.Add(`{"a":"\u00e9x_y"}`, true)
	f.Fuzz(func(t *testing.T, text string, escaped bool) {
		for _, n := range scan(text, escaped) {
			if len(n) < names.Least || len(n) > names.Most || !strings.Contains(text, n) {
				t.Fatalf("Scan(%q) found %q", text, n)
			}
			if again := scan(n, false); len(again) != 1 || again[0] != n {
				t.Fatalf("Scan(%q) = %q, want itself", n, again)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	text := strings.Repeat("\tif err := pool.Submit(ctx, func() error { return nil }); err != nil { // see docs/pool_design.md\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		names.Scan(text, false, func(string) {})
	}
}
