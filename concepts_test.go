package sakur4_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4"
	"sakur4/boundary"
	"sakur4/evict"
)

// concepts are the founding ideas that state a behaviour, in our own words, each with the tests that would fail without it: a folder and a function,
// the root's own without a folder.
var concepts = []promise{
	{"everything that happened is kept, whatever the window loses", []string{"TestLaw01NothingRecordedIsLostOrChanged", "internal/store.TestEpisodesComeBackByteForByte"}},
	{"what leaves the window leaves behind a point that the server's cache holds, so that the head is reused", []string{"TestLaw06OneBreakPerCompaction", "TestPitfall11SmallerRequestDearer"}},
	{"parsers write facts, models write interpretations", []string{"symbolic.TestPathsToProofs", "symbolic.TestForge", "TestLaw02ModelsMakeNoFacts"}},
	{"an interpretation names what it came from, so that its staleness can be checked when it is read", []string{"semantic.TestNewNeedsAnchorAndText", "internal/store.TestFreshnessIsComputedWhenItIsRead"}},
	{"an episode is a turn: a role, content and maybe a tool; the same bytes come back after eviction", []string{"TestLaw01NothingRecordedIsLostOrChanged", "TestPitfall08WrongEndThrownAway"}},
	{"a fact is read by a deterministic parser: a JSON field, a header, a hunk, an exit code", []string{"symbolic.TestRead", "symbolic.TestReadPicksTheParser"}},
	{"an interpretation carries its anchor's hash of the time at which it was written", []string{"internal/store.TestAnEntryHoldsTheHashOfItsAnchor", "internal/episode.TestNewAnchor"}},
	{"an anchor is a fact or an episode, by its id", []string{"internal/episode.TestNewAnchor", "semantic.TestAssess"}},
	{"pinned constraints are rendered verbatim, and no eviction can touch them", []string{"TestPitfall01RulesForgotten", "TestLaw04PinsAreVerbatim", "internal/store.TestPinsAreRetiredNeverRewritten"}},
	{"a turn is pushed out live, masked, referenced, archived, dropped, one rung after the other", []string{"TestLaw07NoRungIsSkipped", "internal/store.TestSetTierTakesOneRungAndWritesItDown", "evict.TestTier"}},
	{"a fold is opened at a checkpoint, closed to one summary, and its trace stays readable", []string{"TestFold"}},
	{"a receipt says where the tokens of a turn went, with the verdict on the cache and its arithmetic", []string{"TestLaw09OneCounter", "receipt.TestParts"}},
	{"what a receipt calls measured was measured, never estimated", []string{"TestLaw12UnknownIsNotZero", "receipt.TestJSONUnknownIsNotZero", "TestLaw09OneCounter"}},
	{"pressure is relaxed, compacting or anchor_overflow", []string{"evict.TestPressureString", "evict.TestThreshold"}},
	{"pins that cannot fit by themselves are an overflow that no plan helps", []string{"TestPitfall01RulesThatDoNotFit", "evict.TestOverflowError"}},
	{"a coherent boundary leaves before it a prefix that the cache holds", []string{"boundary.TestCacheLaws", "TestLaw06OneBreakPerCompaction"}},
	{"prefix reuse is the share of the prompt that was not processed again", []string{"receipt.TestReuseRatio"}},
	{"a plan ends aligned, snapped, partial-reuse or full-re-prefill", []string{"boundary.TestResolve", "boundary.TestResolveLaws"}},
	{"there is one way to make a fact; no text and no model's value becomes one", []string{"symbolic.TestForge", "symbolic.TestPathsToProofs", "symbolic.TestZeroValuesAreRefused", "internal/archtest.TestImportGraph"}},
	{"a missing anchor is an error, not an entry without one", []string{"internal/store.TestNoEntryWithoutAnchor"}},
	{"staleness compares hashes at the reading; nothing needs to run in the background", []string{"internal/store.TestFreshnessIsComputedWhenItIsRead", "semantic.TestAssess"}},
	{"JSON is parsed, not scanned", []string{"toolparse.TestJSON", "toolparse.TestJSONErrors"}},
	{"tables, headers, diffs and exit codes are facts as well", []string{"toolparse.TestCSV", "toolparse.TestHTTPHeaders", "toolparse.TestUnifiedDiff", "toolparse.TestExitCode"}},
	{"prose gives no facts, no parser, and the summary says that no structure was detected", []string{"TestConceptProseHasNoStructure"}},
	{"what stands before the boundary is no candidate for eviction", []string{"TestPitfall08WrongEndThrownAway", "TestConceptNothingBeforeTheCutChanges"}},
	{"nothing is dropped unless an operator opts in, and then only what is droppable and has no dependents", []string{"TestConceptDropIsOptedIn", "evict.TestPickProperties"}},
	{"every turn begins live", []string{"TestConceptDropIsOptedIn"}},
	{"a step may reclaim nothing, and its reason says so", []string{"evict.TestPick", "TestLaw07NoRungIsSkipped"}},
	{"pins that do not fit refuse the call; none is dropped silently", []string{"TestPitfall01RulesThatDoNotFit"}},
	{"scoring is deterministic and says its reasons; the same turns give the same plans", []string{"TestConceptPlansAreReproducible", "evict.TestScore"}},
	{"eviction writes the tier; a trigger blocks changes and deletes of what was recorded", []string{"TestLaw01NothingRecordedIsLostOrChanged", "internal/store.TestRecordedRowsCannotBeChanged"}},
	{"without a server the plan is made all the same and says why the cache could not be met", []string{"TestLaw10ServerDown"}},
	{"with a cache of unknown shape the plan is made all the same, with a verdict and its reason", []string{"TestConceptUnknownCache"}},
	{"a cut is moved back onto a checkpoint within 512 tokens by default", []string{"boundary.TestResolve"}},
	{"the verdict is a value on plan and receipt, not only words in a reason", []string{"TestConceptVerdictIsAValue"}},
	{"the status of the cache is unknown, cold, full-re-prefill, partial-reuse or warm-restored", []string{"boundary.TestStatusOf"}},
	{"supersession is declared by the turn that corrects, and costs an episode 3.0 of its value", []string{"TestCommitCorrects", "evict.TestScoreSupersededIsLast", "internal/store.TestMarkSuperseded"}},
	{"staleness and supersession are two things", []string{"TestCommitCorrects"}},
}

// TestConceptsHaveTests looks up every test that the table names.
func TestConceptsHaveTests(t *testing.T) {
	t.Parallel()
	mustHaveTests(t, concepts)
}

func TestConceptProseHasNoStructure(t *testing.T) {
	t.Parallel()
	d := quick(t)
	d.user("Read.")
	for _, prose := range []string{"It was a dark and stormy night; the rain fell in torrents.", "", "Well, that is that.\n\nOr is it?\n"} {
		c := d.read("story.txt", prose)
		if c.Parser != "" || c.Summary != "no structure detected" || len(c.Facts) != 0 || c.FactsLeftOut != 0 {
			t.Errorf("Commit(%q) = parser %q, summary %q, %d facts", prose, c.Parser, c.Summary, len(c.Facts))
		}
	}
}

// TestConceptNothingBeforeTheCutChanges compares the messages before the first changed one with the plan: no episode of theirs takes a step.
func TestConceptNothingBeforeTheCutChanges(t *testing.T) {
	t.Parallel()
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 8192})
	d.user("Read on.")
	for range 60 {
		d.read("f.go", d.prose(200+d.rng.IntN(1500)))
		before := d.prev
		w := d.window()
		if w.Plan == nil {
			continue
		}
		same := 0
		for same < min(len(before), len(d.prev)) && before[same] == d.prev[same] {
			same++
		}
		kept := texts(w.Messages[:same])
		for _, st := range w.Plan.Steps {
			ep, err := d.eng.Episode(t.Context(), sakur4.EpisodeID(st.Episode))
			if err != nil {
				t.Fatalf("Episode(%s) = %v", st.Episode, err)
			}
			if len(ep.Content) > 0 && strings.Contains(kept, ep.Content) {
				t.Errorf("window %d: %s stands before the cut and takes the step %s", w.Receipt.Turn, st.Episode, st.Reason)
			}
		}
	}
	if len(d.plans) < 2 {
		t.Errorf("%d compactions, want at least 2", len(d.plans))
	}
}

func TestConceptDropIsOptedIn(t *testing.T) {
	t.Parallel()
	for _, allow := range []bool{false, true} {
		d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 4096, Policy: &evict.Policy{AllowDrop: allow}})
		d.user("Read on.")
		droppable := map[sakur4.EpisodeID]bool{}
		for i := range 30 {
			c := d.commit(sakur4.Turn{Role: sakur4.RoleAssistant, Content: d.prose(300), Droppable: i%2 == 0})
			droppable[c.Episode] = i%2 == 0
			if ep, err := d.eng.Episode(t.Context(), c.Episode); err != nil || ep.Tier != evict.Live {
				t.Fatalf("a new turn is %v, %v, want live", ep.Tier, err)
			}
			d.user("On.")
			d.window()
			if _, err := d.compact(1); err != nil {
				t.Fatalf("Compact(1) = %v", err)
			}
		}
		dropped := 0
		for ep, err := range d.eng.Episodes(t.Context(), sakur4.EpisodeFilter{Tiers: []evict.Tier{evict.Dropped}}) {
			if dropped++; err != nil || !droppable[ep.ID] {
				t.Errorf("AllowDrop %t: %s was dropped and is not droppable (%v)", allow, ep.ID, err)
			}
			hits, err := d.eng.Recall(t.Context(), sakur4.Query{Text: ep.Content[5:13]})
			if err != nil || len(hits.Items) != 0 {
				t.Errorf("Recall() of what was dropped = %+v, %v, want nothing unless asked", hits, err)
			}
			hits, err = d.eng.Recall(t.Context(), sakur4.Query{Text: ep.Content[5:13], IncludeDropped: true})
			if err != nil || len(hits.Items) != 1 {
				t.Errorf("Recall(IncludeDropped) = %+v, %v, want it", hits, err)
			}
		}
		if allow != (dropped > 0) {
			t.Errorf("AllowDrop %t: %d episodes were dropped", allow, dropped)
		}
		d.complete()
	}
}

func TestConceptPlansAreReproducible(t *testing.T) {
	t.Parallel()
	run := func() (out []string) {
		d := newTrial(t, ":memory:", fixed(4096))
		d.variety()
		d.work(20, 900)
		p, err := d.s.Plan(t.Context(), d.head)
		if err != nil {
			t.Fatalf("Plan() = %v", err)
		}
		for _, p := range append(d.plans, p) {
			body, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(body))
		}
		return append(out, d.prev...)
	}
	want, got := run(), run()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the same turns give other plans (-want +got):\n%s", diff)
	}
}

func TestConceptUnknownCache(t *testing.T) {
	t.Parallel()
	d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 4096, Backend: &shapeless{newServer(4096)}})
	d.user("Read on.")
	d.work(30, 900)
	if len(d.plans) == 0 {
		t.Fatal("no compaction")
	}
	for _, p := range d.plans {
		if _, err := p.Cut.Verdict.MarshalText(); err != nil || p.Cut.Reason == "" || len(p.Steps) == 0 || p.After >= p.Before {
			t.Errorf("a plan for an unknown cache is %v, %q, %d steps, %d → %d tokens", p.Cut.Verdict, p.Cut.Reason, len(p.Steps), p.Before, p.After)
		}
	}
}

func TestConceptVerdictIsAValue(t *testing.T) {
	t.Parallel()
	seen := map[boundary.Verdict]int{}
	for _, kind := range []boundary.Kind{boundary.AnyToken, boundary.Points} {
		d := newTrial(t, ":memory:", &sakur4.Options{Project: "p", Window: 8192, Backend: newServerWith(8192, sakur4.O200kBase(), kind)})
		d.user("Read on.")
		for range 60 {
			d.read("f.go", d.prose(1200))
			w := d.window()
			if w.Plan == nil {
				continue
			}
			v := w.Plan.Cut.Verdict
			seen[v]++
			if w.Receipt.Cache.Verdict != v || !strings.Contains(w.Receipt.String(), v.String()) {
				t.Errorf("the plan says %v, the receipt %v:\n%s", v, w.Receipt.Cache.Verdict, w.Receipt)
			}
			if kind == boundary.AnyToken && v != boundary.Aligned {
				t.Errorf("a cache that goes back to any token was cut %v: %s", v, w.Plan.Cut.Reason)
			}
		}
	}
	if seen[boundary.Aligned] == 0 || len(seen) < 2 {
		t.Errorf("verdicts %v, want more than one", seen)
	}
}
