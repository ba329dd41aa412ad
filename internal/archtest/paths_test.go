package archtest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// machinePaths begin paths of somebody's machine. They are put together here so that this file does not hold them.
var machinePaths = []string{"/" + "work/", "/" + "root/", "/" + "tmp/", "/" + "home/"}

// TestNoMachinePaths holds source and documentation free of paths that exist on one machine only. Tests may use them as data.
func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	check(t, func(t tree) []string {
		texts := maps.Clone(t.texts)
		for _, f := range t.files {
			if !f.test {
				texts[f.path] = f.src
			}
		}
		var list []string
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			n := 0
			for line := range strings.Lines(string(texts[name])) {
				n++
				for _, path := range machinePaths {
					// A path begins here, or this is the middle of a longer one, such as a web address.
					if i := strings.Index(line, path); i == 0 || i > 0 && !word(line[i-1]) {
						list = append(list, fmt.Sprintf("%s:%d: names the path %s…: it exists on one machine only", name, n, path))
					}
				}
			}
		}
		return list
	}, strings.ReplaceAll(`
-- README.md --
see https://example.com/~/work/x
and ~/root/go
-- evict/a.go --
package evict
const a = "~/tmp/x"
-- evict/a_test.go --
package evict
const a = "~/tmp/x"
`, "~/", "/"), "README.md:2: ", "evict/a.go:2: ")
}

func word(c byte) bool {
	return c == '.' || c == '_' || c == '-' || c == '/' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
