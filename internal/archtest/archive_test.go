package archtest_test

import (
	"io/fs"
	"strings"
	"testing/fstest"
)

// archive turns a text into a file tree: a line "-- name --" opens the file of that name.
func archive(text string) fs.FS {
	files := fstest.MapFS{}
	name, body := "", ""
	flush := func() {
		if name != "" {
			files[name] = &fstest.MapFile{Data: []byte(body)}
		}
	}
	for line := range strings.Lines(text) {
		inner, opens := strings.CutPrefix(line, "-- ")
		inner, closes := strings.CutSuffix(strings.TrimRight(inner, "\n"), " --")
		if opens && closes {
			flush()
			name, body = inner, ""
			continue
		}
		body += line
	}
	flush()
	return files
}
