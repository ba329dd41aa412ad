package episode_test

import (
	"testing"

	"sakur4/internal/episode"
)

func TestNewAnchor(t *testing.T) {
	t.Parallel()
	a, err := episode.NewAnchor(episode.FactAnchor, "sym_1", "00ff")
	if err != nil || a.Type() != "symbolic_fact" || a.ID() != "sym_1" || a.Hash() != "00ff" || a.String() != "symbolic_fact:sym_1" {
		t.Errorf("NewAnchor = %v, %v", a, err)
	}
	for _, bad := range [][3]string{{"", "x", "h"}, {"file", "x", "h"}, {episode.FactAnchor, "", "h"}, {episode.EpisodeAnchor, "ep_1", ""}} {
		if a, err := episode.NewAnchor(bad[0], bad[1], bad[2]); err == nil || a.Valid() {
			t.Errorf("NewAnchor(%q) = %v, %v, want an error", bad, a, err)
		}
	}
	if (episode.Anchor{}).Valid() {
		t.Error("the zero anchor is valid")
	}
}
