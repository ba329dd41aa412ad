package sakur4_test

import "testing"

// memoryModel are the founding statements about the two tracks of memory, in our own words, each with the tests that would fail without it; named as in
// the table of concepts.
var memoryModel = []promise{
	{"a remembered signature that the code no longer has is caught", []string{"TestStalenessWithoutIndex"}},
	{"a turn is kept verbatim before anything is made of it", []string{"TestLaw01NothingRecordedIsLostOrChanged"}},
	{"structured output becomes facts; prose becomes none, with no parser and 'no structure detected'", []string{"TestConceptProseHasNoStructure", "symbolic.TestRead"}},
	{"a closed set of extractors writes the ledger, and nothing else does", []string{"symbolic.TestForge", "symbolic.TestPathsToProofs", "symbolic.TestZeroValuesAreRefused"}},
	{"a model has no way to write a fact", []string{"TestLaw02ModelsMakeNoFacts", "internal/archtest.TestForbiddenReach", "internal/episode.TestOnlyToolResultsAreEvidence"}},
	{"what consolidates reaches nothing that makes facts", []string{"internal/archtest.TestForbiddenReach", "internal/archtest.TestImportGraph"}},
	{"a model may write interpretations", []string{"TestDreamSummarizer", "TestInterpretRefuses"}},
	{"a fact is not stale by itself: it was read, and its hash says what", []string{"TestFactsOfEditedFiles", "TestLaw02FactsAreTheBytes"}},
	{"every fact names its source", []string{"symbolic.TestNaturalKey", "internal/store.TestPutFactsRefuses"}},
	{"every symbol of a source file is a fact with a hash", []string{"symbolic.TestCodeSymbolsOfAFile", "symbolic.TestCodeSymbolsOfAResult"}},
	{"JSON, tables, headers, diffs and exit codes are read; the tool's name picks the parser", []string{"symbolic.TestReadPicksTheParser", "symbolic.TestRead"}},
	{"an interpretation names its anchor and carries its hash of the time of writing, read by the store", []string{"internal/store.TestAnEntryHoldsTheHashOfItsAnchor"}},
	{"an anchor is a fact or an episode, and nothing else", []string{"internal/store.TestNoEntryWithoutAnchor", "TestInterpretRefuses"}},
	{"a missing anchor is an error and no row", []string{"TestInterpretRefuses", "internal/store.TestNoEntryWithoutAnchor"}},
	{"an entry carries its project and its session", []string{"TestInterpretRefuses", "TestEntriesKeepToTheirSession", "TestPitfall26CrossProjectLeaks"}},
	{"consolidation is extractive by default: the episode's own sentences behind its identifiers", []string{"TestDreamPromotes", "internal/consolidate.TestExtract"}},
	{"a configured model gives real interpretation, anchored all the same", []string{"TestDreamSummarizer", "TestLiveSummaryReusesThePrompt"}},
	{"an entry is anchored to a fact where one was produced, else to the episode", []string{"TestDreamAnchorsToFacts", "TestDreamPromotes"}},
	{"a promotion must shrink; one that does not is skipped and reported, and so is a turn under 96 tokens", []string{"TestDreamSkips", "TestDreamPromotes", "internal/consolidate.TestSkip", "internal/consolidate.TestAccept"}},
	{"staleness is no flag and no job: it is compared when it is read", []string{"TestStalenessWithoutIndex", "internal/store.TestFreshnessIsComputedWhenItIsRead", "semantic.TestAssess"}},
	{"an anchor that is gone counts as stale and says so", []string{"TestStalenessWithoutIndex", "semantic.TestRender"}},
	{"an anchor that cannot be looked at is never fresh", []string{"TestStalenessWithoutIndex", "TestStalenessOfNamedProject", "TestStalenessOfACutSymbol"}},
	{"an entry about a symbol goes stale with its signature alone, and not with comments, spacing or its place", []string{"TestStalenessWithoutIndex"}},
	{"what changed and was changed back is fresh again", []string{"TestStalenessWithoutIndex"}},
	{"a recalled stale entry carries its anchor's current value, 0.35 of its score and the reason", []string{"TestStalenessWithoutIndex", "semantic.TestRender"}},
	{"a recalled stale entry says stale and current_value by these names, the report of staleness its stale count and stale_rate", []string{"TestStaleHitOnTheWire"}},
	{"a stale entry is shown behind a heading that says not to trust it, with the way to the truth below", []string{"semantic.TestRender", "TestStalenessWithoutIndex"}},
	{"the tool that recalls tells the model to trust current_value and not text", []string{"examples/agent.TestToolListIsFixed"}},
	{"staleness lists the stale entries with their count and rate", []string{"TestStalenessLimit"}},
	{"stale is no damage", []string{"TestDreamRegenerates", "internal/store.TestVerifyFindsDamage"}},
	{"dreams write new entries for stale ones and keep the old ones readable", []string{"TestDreamRegenerates", "internal/store.TestTheAtlasIsNeverRewritten"}},
	{"dreams keep off the interactive path: only an idle server is used", []string{"TestDreamOnlyIdle", "TestDreamStopsWhenBusy", "TestLiveDreamOnlyIdle"}},
	{"supersession is not staleness", []string{"TestSupersededIsNotStale"}},
	{"the caller says what a turn corrects; an unknown id is an error", []string{"TestCommitCorrects", "TestCommitRefuses"}},
	{"a corrected turn loses 3.0 of its value, with the note, and is droppable", []string{"evict.TestScoreSupersededIsLast", "TestCommitCorrects"}},
	{"supersession writes a link, which is read", []string{"TestPitfall24Contradictions"}},
	{"mentions are written as links, which recall and eviction read", []string{"TestMentionsLinkTalkWithItsSubject"}},
	{"a project is its root: two of the same base name are two", []string{"internal/project.TestIDDiffersForEqualBaseNames", "TestPitfall26CrossProjectLeaks"}},
	{"recall, counts and every other path keep to the project; another is read only when it is named", []string{"TestLaw11ProjectsNeverLeak", "internal/store.TestProjectsNeverSeeEachOther", "TestPitfall26CrossProjectLeaks"}},
	{"the status counts the project and the store, and says whether there are other projects", []string{"TestLaw11ProjectsNeverLeak"}},
	{"pins are verbatim, exempt from eviction by their table, and refuse the call where they do not fit", []string{"TestLaw04PinsAreVerbatim", "TestPitfall01RulesThatDoNotFit", "internal/store.TestPinsAreRetiredNeverRewritten"}},
	{"the natural key holds nothing unknown: reading the same again refreshes the row", []string{"internal/store.TestTheSameFactAThousandTimesIsOneRow", "TestPitfall23JunkAndDoubles"}},
	{"an edge keeps the hash of the time at which it was first seen", []string{"internal/store.TestAnEdgeKeepsTheHashThatWasFirstSeen"}},
	{"a caller that was edited since it was first seen to call is marked so, an edit of what it calls does not mark it", []string{"TestImpactFreshness"}},
	{"a count that fails is an error and no zero", []string{"TestLaw12UnknownIsNotZero", "internal/store.TestAFailedQueryIsAnErrorNeverZero"}},
	{"a read sees the writes before it", []string{"TestLaw13ReadsSeeWrites"}},
	{"several agents, in processes of their own, share a store and damage nothing", []string{"TestAgentsInSeveralProcesses"}},
	{"whatever is asked or written down, memory answers, or refuses by name", []string{"TestHostileQueries", "TestHostileInterpretations", "TestHostileFolds", "TestHostileDreams", "TestMemoryCallsRefuse"}},
}

// TestMemoryModelHasTests looks up every test that the table names.
func TestMemoryModelHasTests(t *testing.T) {
	t.Parallel()
	mustHaveTests(t, memoryModel)
}
