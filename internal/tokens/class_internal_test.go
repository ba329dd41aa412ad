package tokens

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"unicode"
)

// TestClasses pins the class of every character; the digest was taken after each class had been compared, character by character, with the one that the
// expression engine of the oracle matches (testdata/oracle/classes.cjs).
func TestClasses(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	c := classes()
	for r := range rune(unicode.MaxRune + 1) {
		h.Write([]byte{byte(c.pages[c.page[r>>8]][r&0xff])})
	}
	const want = "b2276d9794ff48fa3e71cab0584d4e0bd4fa51ba60689b27176d3c2ba01719c4"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("classes of all characters = %s, want %s: the unicode package (%s) or unicode16 changed; counts would differ from those of OpenAI's build", got, want, unicode.Version)
	}
}
