package tokens_test

import "testing"

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, e := range encodings() {
		want := int32(0)
		seen := make(map[string]bool)
		for id, text := range e.Tokens() {
			if id != want || text == "" || seen[text] {
				t.Fatalf("%s: Tokens yields %d %q, want id %d and bytes of its own", e.Name(), id, text, want)
			}
			if got, ok := e.Token(id); !ok || got != text {
				t.Fatalf("%s: Token(%d) = %q, %t, want %q", e.Name(), id, got, ok, text)
			}
			seen[text] = true
			want++
		}
		if got := e.Len(); got != int(want) {
			t.Errorf("%s: Len() = %d, want %d", e.Name(), got, want)
		}
	}
}
