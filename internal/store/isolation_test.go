package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/internal/vector"
	"sakur4/semantic"
	"sakur4/symbolic"
)

// everything calls every method of a Reader that names a project, and returns the answers.
func everything(r *store.Reader, project, other string) (map[string]any, error) {
	var errs []error
	answers := map[string]any{}
	keep := func(name string, v any, err error) {
		if errors.Is(err, store.ErrNotFound) {
			v, err = "not found", nil
		}
		answers[name] = v
		errs = append(errs, err)
	}
	e, err := r.Episode(project, other+"_ep_1")
	keep("Episode", e, err)
	episodes, err := drain(r.SessionEpisodes(project, "s", 0))
	keep("SessionEpisodes", episodes, err)
	episodes, err = drain(r.Episodes(store.EpisodeFilter{Project: project}))
	keep("Episodes", episodes, err)
	episodes, err = drain(r.Episodes(store.EpisodeFilter{Project: project, IDs: []string{other + "_ep_1"}}))
	keep("Episodes by id", episodes, err)
	seq, err := r.LastSeq(project, "s")
	keep("LastSeq", seq, err)
	sessions, err := r.Sessions(project)
	keep("Sessions", sessions, err)
	pins, err := r.Pins(project, true)
	keep("Pins", pins, err)
	notes, err := r.Notes(project, "s", false)
	keep("Notes", notes, err)
	state, err := r.RenderState(project, "s")
	keep("RenderState", state, err)
	generation, err := r.RenderGeneration(project, "s")
	keep("RenderGeneration", generation, err)
	outlook, err := r.Outlook(project, "s", "win_"+other)
	keep("Outlook", outlook, err)
	state, err = r.LastRenderState(project)
	keep("LastRenderState", state, err)
	decisions, err := r.Decisions(project, "s")
	keep("Decisions", decisions, err)
	receipt, err := r.Receipt(project, "s", other+"_w")
	keep("Receipt", receipt, err)
	receipt, err = r.LastReceipt(project, "s")
	keep("LastReceipt", receipt, err)
	receipt, err = r.ReceiptBefore(project, "s", 1)
	keep("ReceiptBefore", receipt, err)
	receipts, err := drain(r.Receipts(project, "s"))
	keep("Receipts", receipts, err)
	evictions, err := drain(r.Evictions(project, "s"))
	keep("Evictions", evictions, err)
	checkpoints, err := r.Checkpoints(project, "s")
	keep("Checkpoints", checkpoints, err)
	fact, err := r.Fact(project, "sym_"+other+"_a")
	keep("Fact", fact, err)
	facts, err := drain(r.Facts(store.FactFilter{Project: project}))
	keep("Facts", facts, err)
	facts, err = drain(r.Facts(store.FactFilter{Project: project, Episode: other + "_ep_1"}))
	keep("Facts by episode", facts, err)
	codes, err := r.ExitCodes(project, "s", 0)
	keep("ExitCodes", codes, err)
	facts, err = r.FactVersions(project, "sym_"+other+"_a")
	keep("FactVersions", facts, err)
	edges, err := r.Edges(project, "", "", "")
	keep("Edges", edges, err)
	related, err := r.Related(project, other+"_ep_1")
	keep("Related", related, err)
	degrees, err := r.InDegree(project, []string{other + "_ep_1", other + "_ep_2"})
	keep("InDegree", degrees, err)
	seqs, err := store.Seqs(r, other+"_ep_1", other+"_ep_2")
	marks, err2 := r.Marks(project, "s", []string{other + "_ep_1", other + "_ep_2"}, seqs)
	keep("Marks", marks, errors.Join(err, err2))
	found, err := r.SearchEpisodes(store.SearchQuery{Project: project, Terms: []string{"secret"}, K: 100, IncludeDropped: true})
	keep("SearchEpisodes", found, err)
	found, err = r.SearchEpisodes(store.SearchQuery{Project: project, Session: "s", Terms: []string{"secret"}, K: 100})
	keep("SearchEpisodes in session", found, err)
	found, err = r.SearchFacts(store.SearchQuery{Project: project, Terms: []string{"secret"}, K: 100})
	keep("SearchFacts", found, err)
	entry, err := r.Entry(project, other+"_sem_1")
	keep("Entry", entry, err)
	entries, err := drain(r.Entries(store.EntryFilter{Project: project, All: true}))
	keep("Entries", entries, err)
	entries, err = drain(r.Entries(store.EntryFilter{Project: project, AnchorID: other + "_ep_1", All: true}))
	keep("Entries by anchor", entries, err)
	states, err := drain(r.Freshness(project, 0))
	keep("Freshness", states, err)
	found, err = r.SearchEntries(store.SearchQuery{Project: project, Terms: []string{"secret"}, K: 100})
	keep("SearchEntries", found, err)
	model, err := r.VectorModel(project)
	keep("VectorModel", model, err)
	batch, err := r.VectorBatch(project, store.VectorOfEntry, 1<<40)
	keep("VectorBatch", batch.Texts, err)
	waiting, err := r.VectorsWaiting(project)
	keep("VectorsWaiting", waiting, err)
	vectors, err := r.Vectors(project)
	keep("Vectors", vectors, err)
	found, err = r.SearchVectors(store.SearchQuery{Project: project, K: 100, IncludeDropped: true}, vector.NewQuery([]float32{1, 2, 3}))
	keep("SearchVectors", found, err)
	fold, err := r.Fold(project, other+"_fold")
	keep("Fold", fold, err)
	folds, err := r.Folds(project, "s")
	keep("Folds", folds, err)
	snapshots, err := r.Snapshots(project, "s")
	keep("Snapshots", snapshots, err)
	prompt, err := r.SnapshotPrompt(project, "s", other+"_snap")
	keep("SnapshotPrompt", prompt, err)
	gone, err := r.GoneFact(project, symbolic.FactID(other, "T.gone", "method", other+".go"))
	keep("GoneFact", gone, err)
	file, err := r.File(project, other+".go")
	keep("File", file, err)
	files, err := drain(r.Files(project))
	keep("Files", files, err)
	whole, err := r.FileIndex(project, other+".go")
	keep("FileIndex", whole, err)
	index, err := drain(r.Index(project))
	keep("Index", index, err)
	keys, err := drain(r.SymbolKeys(project))
	keep("SymbolKeys", keys, err)
	symbols, err := r.SymbolsByKey(project, "secret")
	keep("SymbolsByKey", symbols, err)
	counts, err := r.Counts(project)
	keep("Counts", counts.Project, err)
	return answers, errors.Join(errs...)
}

func drain[T any](seq func(func(T, error) bool)) ([]T, error) {
	var list []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// occupy writes something of everything into a project.
func occupy(t *testing.T, s *store.Store, project string, times int) {
	t.Helper()
	ensure(t, s, project, "s")
	write(t, s, func(tx *store.Tx) error {
		var errs []error
		do := func(err error) { errs = append(errs, err) }
		id := func(kind string, n int) string { return fmt.Sprintf("%s_%s_%d", project, kind, n) }
		for n := range times {
			do(tx.AppendEpisode(&episode.Record{ID: id("ep", n+1), Project: project, Session: "s", Role: episode.User, Content: "the secret of this text"}))
		}
		do(tx.MarkSuperseded(project, id("ep", 1), id("ep", 2)))
		do(tx.SetTier(project, "s", id("ep", 1), evict.Live, evict.Masked, project+"_w", "r", 1))
		do(tx.PutFacts(project, []symbolic.Row{fact(project, "a", "secret one", "h1", id("ep", 1))}, clock()()))
		do(tx.PutFacts(project, []symbolic.Row{fact(project, "a", "secret two", "h2", id("ep", 2))}, clock()()))
		do(tx.AddPin(store.PinRow{ID: project + "_pin", Project: project, Session: "s", Kind: "constraint", Text: "secret"}))
		do(tx.AddNote(project, "s", store.NoteRow{ID: "note", Kind: "text", Text: "secret"}))
		do(tx.PutRenderState(project, "s", store.RenderState{Body: "secret"}))
		do(tx.ReplaceDecisions(project, "s", 0, []store.DecisionRow{{Body: "secret"}}))
		do(tx.PutReceipt(project, "s", store.ReceiptRow{WindowID: project + "_w", Body: "secret"}))
		do(tx.PutCheckpoints(project, "s", []store.CheckpointRow{{Position: 1, Body: "secret"}}))
		_, err := tx.PutEntry(project, "s", store.NewEntry{ID: id("sem", 1), AnchorType: "episodic_stream", AnchorID: id("ep", 1), Text: "a secret",
			Origin: semantic.Extracted, Tokens: 2})
		do(err)
		_, err = tx.PutEntry(project, "s", store.NewEntry{ID: id("sem", 2), AnchorType: "symbolic_fact", AnchorID: "sym_" + project + "_a", Text: "the secret is out",
			Origin: semantic.Interpreted, Tokens: 4, Replaces: id("sem", 1)})
		do(err)
		do(tx.PutFile(project, sourceFile(project, project+".go", "secret", "gone"), clock()()))
		_, err = tx.PutEntry(project, "s", store.NewEntry{ID: id("sem", 3), AnchorType: "symbolic_fact", AnchorID: symbolic.FactID(project, "T.gone", "method", project+".go"),
			Text: "it is gone", Origin: semantic.Interpreted, Tokens: 4})
		do(err)
		do(tx.PutFile(project, sourceFile(project, project+".go", "secret", "other"), clock()()))
		do(tx.OpenFold(store.FoldRow{ID: project + "_fold", Project: project, Session: "s", Goal: "secret"}))
		do(tx.PutSnapshot(project, "s", store.SnapshotRow{File: project + "_file", Ord: 1, ID: project + "_snap", Body: "secret"}, []int32{1}))
		do(tx.SetVectorModel(project, "m", 3))
		return errors.Join(errs...)
	})
	for b := batch(t, s, project); !b.Empty(); b = batch(t, s, project) {
		put(t, s, project, b, 1, 2, 3)
	}
}

// TestProjectsNeverSeeEachOther compares a project alone in its store with one beside another of the same text and session.
func TestProjectsNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	alone := storetest.Open(t, store.Config{Now: now})
	occupy(t, alone, "mine", 3)
	shared := storetest.Open(t, store.Config{Now: now})
	occupy(t, shared, "mine", 3)
	occupy(t, shared, "other", 70)
	ensure(t, shared, "empty", "s")

	answers := func(s *store.Store, project, other string) (a map[string]any) {
		t.Helper()
		read(t, s, func(r *store.Reader) (err error) {
			a, err = everything(r, project, other)
			return err
		})
		return a
	}
	want, got := answers(alone, "mine", "mine"), answers(shared, "mine", "mine")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("another project changes what a project's own queries give (-alone +beside another):\n%s", diff)
	}
	for name, answer := range answers(shared, "empty", "other") {
		switch v := reflect.ValueOf(answer); {
		case name == "Sessions":
			if v.Len() != 1 {
				t.Errorf("Sessions(empty) = %v, want its own", answer)
			}
		case name == "InDegree":
			if diff := cmp.Diff(map[string]int{"other_ep_1": 0, "other_ep_2": 0}, answer); diff != "" {
				t.Errorf("InDegree(empty) (-want +got):\n%s", diff)
			}
		case name == "Counts":
			if diff := cmp.Diff(store.Count{Sessions: 1}, answer); diff != "" {
				t.Errorf("Counts(empty) (-want +got):\n%s", diff)
			}
		case answer == "not found" || v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0:
		default:
			t.Errorf("%s of an empty project = %v, another project's", name, answer)
		}
	}
	read(t, shared, func(r *store.Reader) error {
		counts, err := r.Counts("mine")
		if !counts.OtherProjects || counts.Store.Episodes != 73 || counts.Project.Episodes != 3 {
			t.Errorf("Counts(mine) = %+v, want 3 of 73 episodes and other projects", counts)
		}
		return err
	})
	read(t, alone, func(r *store.Reader) error {
		counts, err := r.Counts("mine")
		if counts.OtherProjects {
			t.Error("Counts(mine).OtherProjects of a store with one project is true")
		}
		return err
	})
}

// TestEveryMethodIsAsked fails when a Reader gains a method that the isolation test does not ask.
func TestEveryMethodIsAsked(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"Projects": true, "HasProject": true, "VectorTop": true} // of every project on purpose
	for _, name := range []string{"Episode", "SessionEpisodes", "Episodes", "LastSeq", "Sessions", "Pins", "Notes", "RenderState", "RenderGeneration", "LastRenderState", "Decisions", "Receipt", "Outlook",
		"LastReceipt", "ReceiptBefore", "Receipts", "Evictions", "Checkpoints", "Fact", "Facts", "ExitCodes", "FactVersions", "Edges", "Related", "InDegree", "Marks", "SearchEpisodes", "SearchFacts",
		"Fold", "Folds", "Snapshots", "SnapshotPrompt", "Counts", "Entry", "Entries", "Freshness", "SearchEntries",
		"File", "Files", "FileIndex", "GoneFact", "Index", "SymbolKeys", "SymbolsByKey",
		"VectorModel", "VectorBatch", "VectorsWaiting", "Vectors", "SearchVectors"} {
		known[name] = true
	}
	typ := reflect.TypeFor[*store.Reader]()
	for m := range typ.Methods() {
		if !known[m.Name] {
			t.Errorf("Reader.%s is not asked by the isolation test: add it to everything and to this list", m.Name)
		}
	}
}
