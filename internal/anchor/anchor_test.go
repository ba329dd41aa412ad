package anchor_test

import (
	"testing"

	"sakur4/internal/anchor"
)

func TestNew(t *testing.T) {
	t.Parallel()
	a, err := anchor.New(anchor.Fact, "sym_1", "00ff")
	if err != nil || a.Type() != "symbolic_fact" || a.ID() != "sym_1" || a.Hash() != "00ff" || a.String() != "symbolic_fact:sym_1" {
		t.Errorf("New = %v, %v", a, err)
	}
	for _, bad := range [][3]string{{"", "x", "h"}, {"file", "x", "h"}, {anchor.Fact, "", "h"}, {anchor.Episode, "ep_1", ""}} {
		if a, err := anchor.New(bad[0], bad[1], bad[2]); err == nil || a.Valid() {
			t.Errorf("New(%q) = %v, %v, want an error", bad, a, err)
		}
	}
	if (anchor.Anchor{}).Valid() {
		t.Error("the zero anchor is valid")
	}
}
