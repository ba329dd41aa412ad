package digest_test

import (
	"testing"

	"sakur4/internal/digest"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	d := digest.Of("abc")
	// FIPS 180-2, appendix B.1.
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if d.String() != want || d.Short() != want[:8] || d != digest.OfBytes([]byte("abc")) {
		t.Errorf("Of(abc) = %s, want %s", d, want)
	}
	back, err := digest.Parse(want)
	if err != nil || back != d {
		t.Errorf("Parse(%s) = %s, %v", want, back, err)
	}
	for _, bad := range []string{"", "ba78", want + "00", "zz" + want[2:]} {
		if _, err := digest.Parse(bad); err == nil {
			t.Errorf("Parse(%q) accepts it", bad)
		}
	}
	if !(digest.Digest{}).IsZero() || d.IsZero() {
		t.Error("IsZero is wrong")
	}
	if digest.Fast("abc") != digest.FastBytes([]byte("abc")) || digest.Fast("abc") == digest.Fast("abd") {
		t.Error("Fast does not tell abc from abd, or not bytes from text")
	}
}

// TestFields: the border between two fields counts.
func TestFields(t *testing.T) {
	t.Parallel()
	lists := [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {}}
	seen := map[digest.Digest][]string{}
	for _, l := range lists {
		d := digest.Fields(l...)
		if other, ok := seen[d]; ok {
			t.Errorf("Fields(%q) = Fields(%q)", l, other)
		}
		seen[d] = l
	}
}
