package recall

import "testing"

func TestStem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ word, want string }{
		{"caresses", "caress"}, {"ponies", "poni"}, {"cats", "cat"}, {"was", "was"}, {"glass", "glass"},
		{"agreed", "agre"}, {"feed", "feed"}, {"plastered", "plaster"}, {"bled", "bleed"}, {"motoring", "motor"}, {"sing", "sing"},
		{"conflated", "conflat"}, {"troubled", "troubl"}, {"sized", "size"}, {"hopping", "hop"}, {"falling", "fall"}, {"hissing", "hiss"}, {"fizzed", "fizz"}, {"failing", "fail"}, {"filing", "file"},
		{"happy", "happi"}, {"fly", "fly"}, {"relational", "relat"}, {"conditional", "condit"}, {"digitizer", "digit"}, {"vietnamization", "vietnam"}, {"operator", "oper"}, {"feudalism", "feudal"},
		{"decisiveness", "decis"}, {"hopefulness", "hope"}, {"sensibility", "sensibl"}, {"triplicate", "triplic"}, {"formative", "form"}, {"electrical", "electr"}, {"goodness", "good"},
		{"revival", "reviv"}, {"allowance", "allow"}, {"adjustable", "adjust"}, {"replacement", "replac"}, {"adoption", "adopt"}, {"communion", "communion"}, {"effective", "effect"},
		{"probate", "probat"}, {"rate", "rate"}, {"cease", "ceas"}, {"controlling", "control"}, {"roll", "roll"}, {"bareilles", "bareil"}, {"generalizations", "gener"}, {"syzygy", "syzygi"},
		{"day", "dai"}, {"days", "dai"}, {"buy", "bui"}, {"bought", "bui"}, {"buying", "bui"}, {"went", "go"}, {"children", "child"}, {"written", "write"}, {"ran", "run"}, {"leaves", "leav"},
		{"utf8s", "utf8s"}, {"élans", "élans"}, {"", ""},
	} {
		if got := stem(tc.word); got != tc.want {
			t.Errorf("stem(%q) = %q, want %q", tc.word, got, tc.want)
		}
	}
}
