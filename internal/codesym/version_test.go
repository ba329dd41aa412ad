package codesym_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sakur4/internal/codesym"
	"sakur4/internal/digest"
)

// recorded holds the version of the last record, and for each text of the other tests a digest of what was read in it.
const recorded = "testdata/read.txt"

// TestVersion fails where another thing is read in a text than when it was recorded and [codesym.Version] is the same, so that nobody forgets to raise it. With
// SAKUR4_CODESYM_RECORD=1 it records, unless the version must be raised first.
func TestVersion(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	version, was := 0, map[string]string{}
	for line := range strings.Lines(string(file)) {
		if text, read, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
			was[text] = read
		} else if _, err := fmt.Sscanf(line, "version %d", &version); err != nil {
			t.Fatalf("%s: %q: %v", recorded, line, err)
		}
	}
	got := readings(t)
	for _, text := range slices.Sorted(maps.Keys(was)) {
		if now, ok := got[text]; ok && now != was[text] && version == codesym.Version {
			t.Fatalf("another thing is read in the text %s than before: raise codesym.Version to %d, then record with SAKUR4_CODESYM_RECORD=1", text, version+1)
		}
	}
	if version == codesym.Version && maps.Equal(got, was) {
		return
	}
	if os.Getenv("SAKUR4_CODESYM_RECORD") == "" {
		t.Fatalf("%s is of version %d and %d texts, want version %d and %d texts: record with SAKUR4_CODESYM_RECORD=1", recorded, version, len(was), codesym.Version, len(got))
	}
	out := fmt.Sprintf("version %d\n", codesym.Version)
	for _, text := range slices.Sorted(maps.Keys(got)) {
		out += text + " = " + got[text] + "\n"
	}
	if err := os.WriteFile(recorded, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readings returns, for each text of the other tests, a digest of what is read in it, whole and with a byte left out here and there.
func readings(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, lang := range codesym.Langs() {
		texts := []string{samples[lang]}
		for _, cases := range goldens[lang] {
			for _, c := range cases {
				texts = append(texts, c.src)
			}
		}
		for _, src := range texts {
			read := appendFile(nil, parse(t, lang, src))
			// Where Go is broken its errors are those of the standard library, which change with it.
			for i := 0; i < 30 && src != "" && lang != codesym.Go; i++ {
				at := len(src) * i / 30
				read = appendFile(read, parse(t, lang, src[:at]+src[at+1:]))
			}
			all[string(lang)+" "+digest.Of(src).Short()] = digest.OfBytes(read).Short()
		}
	}
	return all
}

func appendFile(all []byte, f codesym.File) []byte {
	all = fmt.Appendf(all, "%s %v %+v %+v\n", f.Lang, f.Partial, f.Calls, f.Imports)
	for _, s := range f.Symbols {
		all = fmt.Appendf(all, "%+v\n", s)
	}
	return all
}
