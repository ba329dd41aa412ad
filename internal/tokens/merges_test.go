package tokens_test

import (
	"testing"

	"sakur4/internal/tokens"
)

func TestGPT2(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ token, want string }{
		{"", ""},
		{" the", "Ġthe"},
		{"\n\n\t", "ĊĊĉ"},
		{"\x00 \x7f\x80\xa0\xad", "ĀĠġĢłŃ"},
		{"é", "Ã©"},
		{"!~", "!~"},
		{"\xa1\xac\xae\xff", "¡¬®ÿ"},
	} {
		if got := tokens.GPT2(tc.token); got != tc.want {
			t.Errorf("GPT2(%q) = %q, want %q", tc.token, got, tc.want)
		}
	}
	seen := make(map[string]bool)
	for b := range 256 {
		s := tokens.GPT2(string([]byte{byte(b)}))
		if seen[s] {
			t.Errorf("GPT2 spells two bytes as %q", s)
		}
		seen[s] = true
	}
}
