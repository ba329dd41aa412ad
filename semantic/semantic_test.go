package semantic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/internal/episode"
	"sakur4/semantic"
)

func entry(t testing.TB) semantic.Entry {
	t.Helper()
	a, err := episode.NewAnchor(episode.FactAnchor, "sym_1", "h1")
	if err != nil {
		t.Fatal(err)
	}
	e, err := semantic.New(a, semantic.Summarized, "pool waits for itself")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestNewNeedsAnchorAndText(t *testing.T) {
	t.Parallel()
	if _, err := semantic.New(semantic.Anchor{}, semantic.Interpreted, "x"); !errors.Is(err, semantic.ErrNoAnchor) {
		t.Errorf("New without anchor = %v, want ErrNoAnchor", err)
	}
	a, _ := episode.NewAnchor(episode.EpisodeAnchor, "ep_1", "h")
	if _, err := semantic.New(a, semantic.Interpreted, " \n"); !errors.Is(err, semantic.ErrEmpty) {
		t.Errorf("New without text = %v, want ErrEmpty", err)
	}
}

func TestAssess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		now  semantic.Current
		want semantic.Freshness
	}{
		{"same hash", semantic.Current{Checked: true, Hash: "h1"}, semantic.Fresh},
		{"other hash", semantic.Current{Checked: true, Hash: "h2"}, semantic.Stale},
		{"no anchor", semantic.Current{Checked: true}, semantic.Gone},
		{"not looked at", semantic.Current{}, semantic.Unverified},
		{"not looked at, old hash at hand", semantic.Current{Hash: "h1"}, semantic.Unverified},
	} {
		if got := semantic.Assess(entry(t), c.now); got != c.want {
			t.Errorf("%s: Assess = %v, want %v", c.name, got, c.want)
		}
	}
	if got := semantic.Assess(semantic.Entry{}, semantic.Current{Checked: true}); got == semantic.Fresh {
		t.Error("an entry without a hash is fresh against a missing anchor")
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	e, now := entry(t), semantic.Current{Checked: true, Hash: "h2", Value: "func Pool(n int)"}
	for _, c := range []struct {
		f            semantic.Freshness
		text, reason string
		mark         string
		score        float64
	}{
		{semantic.Fresh, "pool waits for itself", "", "", 1},
		{semantic.Stale, "[STALE SUMMARY — do not trust] pool waits for itself\n" +
			"  ↳ the anchor it was derived from (symbolic_fact:sym_1) has changed since this summary was written;\n" +
			"    re-read the source or call code.query_symbol to get the current truth.\n" +
			"    current value: func Pool(n int)",
			"anchor sym_1 changed since this summary was written — summary is not authoritative", "[STALE]", 0.35},
		{semantic.Gone, "[STALE SUMMARY — do not trust] pool waits for itself\n" +
			"  ↳ the anchor it was derived from (symbolic_fact:sym_1) no longer exists at all;\n" +
			"    re-read the source or call code.query_symbol to get the current truth.",
			"the anchor no longer exists at all", "[STALE]", 0.35},
		{semantic.Unverified, "[UNVERIFIED SUMMARY — its source could not be read] pool waits for itself\n" +
			"  ↳ the anchor it was derived from (symbolic_fact:sym_1) could not be checked;\n" +
			"    re-read the source or call code.query_symbol to get the current truth.",
			"anchor sym_1 could not be checked", "[UNVERIFIED]", 1},
	} {
		t.Run(c.f.String(), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.text, semantic.Render(e, c.f, now)); diff != "" {
				t.Errorf("Render (-want +got):\n%s", diff)
			}
			if got := semantic.Reason(e, c.f); got != c.reason {
				t.Errorf("Reason = %q, want %q", got, c.reason)
			}
			if got := semantic.Mark(c.f); got != c.mark {
				t.Errorf("Mark = %q, want %q", got, c.mark)
			}
			if got := semantic.Penalise(1, c.f); got != c.score {
				t.Errorf("Penalise(1) = %v, want %v", got, c.score)
			}
		})
	}
	// A state that is none must not pass for fresh.
	if got := semantic.Render(e, 0, now); !strings.HasPrefix(got, semantic.StaleHeading) {
		t.Errorf("Render of no state = %q, want it marked", got)
	}
}

func TestOriginNames(t *testing.T) {
	t.Parallel()
	for _, o := range []semantic.Origin{semantic.Extracted, semantic.Summarized, semantic.Interpreted} {
		if got := semantic.ParseOrigin(o.String()); got != o {
			t.Errorf("ParseOrigin(%q) = %v", o, got)
		}
	}
	if got := semantic.ParseOrigin("model"); got != 0 {
		t.Errorf("ParseOrigin of another name = %v, want 0", got)
	}
}

func ExampleAssess() {
	e := semantic.Entry{Text: "Pool starts four workers.", AnchorType: "symbolic_fact", AnchorID: "sym_1f", AnchorHash: "aa"}
	now := semantic.Current{Checked: true, Hash: "bb", Value: "func Pool(n int)"}
	f := semantic.Assess(e, now)
	fmt.Println(f)
	fmt.Println(semantic.Render(e, f, now))
	// Output:
	// stale
	// [STALE SUMMARY — do not trust] Pool starts four workers.
	//   ↳ the anchor it was derived from (symbolic_fact:sym_1f) has changed since this summary was written;
	//     re-read the source or call code.query_symbol to get the current truth.
	//     current value: func Pool(n int)
}
