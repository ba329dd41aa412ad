package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestTakeStepsListsEveryRung takes episodes down in one plan, in one pass and in several, with reasons of several kinds, and reads every rung back.
func TestTakeStepsListsEveryRung(t *testing.T) {
	t.Parallel()
	usual := func(from, to evict.Tier, tokens int, notes string) string {
		return fmt.Sprintf("tier %v → %v (value 2.65, %d tokens reclaimed)%s", from, to, tokens, notes)
	}
	seqOf := func(id string) (seq int64) {
		fmt.Sscanf(id, "ep_%d", &seq)
		return seq
	}
	step := func(id string, from, to evict.Tier, tokens int, notes string) store.StepRow {
		return store.StepRow{Episode: id, Seq: seqOf(id), From: from, To: to, Tokens: tokens, Reason: usual(from, to, tokens, notes)}
	}
	raw := func(id string, from, to evict.Tier, reason string) store.StepRow {
		return store.StepRow{Episode: id, Seq: seqOf(id), From: from, To: to, Tokens: -7, Reason: reason}
	}
	steps := []store.StepRow{
		step("ep_1", evict.Live, evict.Masked, 0, ""),
		step("ep_1", evict.Masked, evict.Referenced, 1200, ""),
		step("ep_1", evict.Referenced, evict.Archived, -3, ""),
		step("ep_1", evict.Archived, evict.Dropped, 0, ""),
		step("ep_2", evict.Live, evict.Masked, 5, "; droppable"), // part of the reason says how many tokens: no two are alike
		step("ep_2", evict.Masked, evict.Referenced, 6, "; droppable"),
		raw("ep_3", evict.Live, evict.Masked, "1 2 \x01\x02"),
		raw("ep_3", evict.Masked, evict.Referenced, "1 2 \x01\x02"),
		raw("ep_4", evict.Live, evict.Masked, ""),
		step("ep_5", evict.Live, evict.Masked, 9, ""),
		raw("ep_4", evict.Masked, evict.Referenced, ""), // a later pass
		raw("ep_4", evict.Referenced, evict.Archived, ""),
		raw("ep_4", evict.Archived, evict.Live, "asked for"),
		raw("ep_5", evict.Masked, evict.Live, "asked for"),
		raw("ep_5", evict.Live, evict.Masked, "asked for"),
		raw("ep_5", evict.Masked, evict.Referenced, "asked for"),
	}
	tiers := map[string]evict.Tier{"ep_1": evict.Dropped, "ep_2": evict.Referenced, "ep_3": evict.Referenced, "ep_4": evict.Live, "ep_5": evict.Referenced, "ep_6": evict.Live}
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path, Now: clock()})
	ensure(t, s, "p", "s")
	ensure(t, s, "p", "other")
	for id := range 6 {
		add(t, s, "p", "s", fmt.Sprint("ep_", id+1), "text")
	}
	for _, bad := range []struct {
		session string
		steps   []store.StepRow
		want    error
	}{
		{"s", []store.StepRow{step("ep_6", evict.Live, evict.Masked, 1, ""), step("ep_6", evict.Masked, evict.Archived, 1, "")}, store.ErrRefused},
		{"s", []store.StepRow{step("ep_6", evict.Live, evict.Masked, 1, ""), step("ep_6", evict.Referenced, evict.Archived, 1, "")}, store.ErrNotFound},
		{"s", []store.StepRow{step("ep_6", evict.Live, evict.Masked, 1, ""), step("ep_7", evict.Live, evict.Masked, 1, "")}, store.ErrNotFound},
		{"s", []store.StepRow{{Episode: "ep_6", Seq: 5, From: evict.Live, To: evict.Masked}}, store.ErrNotFound},
		{"other", []store.StepRow{step("ep_6", evict.Live, evict.Masked, 1, "")}, store.ErrNotFound},
		{"none", []store.StepRow{step("ep_6", evict.Live, evict.Masked, 1, "")}, store.ErrNotFound},
	} {
		err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.TakeSteps("p", bad.session, "win_0", bad.steps) })
		if !errors.Is(err, bad.want) {
			t.Errorf("TakeSteps(%s, %v) = %v, want %v", bad.session, bad.steps, err, bad.want)
		}
	}
	write(t, s, func(tx *store.Tx) error { return tx.TakeSteps("p", "s", "win_1", steps) })
	read(t, s, func(r *store.Reader) error {
		got, err := drain(r.Evictions("p", "s"))
		want := make([]store.EvictionRow, len(steps))
		for i, st := range steps {
			want[i] = store.EvictionRow{Seq: int64(i + 1), Episode: st.Episode, From: st.From, To: st.To, WindowID: "win_1", Reason: st.Reason, Tokens: st.Tokens}
			if i < len(got) {
				want[i].At = got[0].At
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Evictions() (-want +got):\n%s", diff)
		}
		for id, tier := range tiers {
			if e, err := r.Episode("p", id); err != nil || e.Tier != tier {
				t.Errorf("Episode(%s) is %v, %v, want %v", id, e.Tier, err, tier)
			}
		}
		return err
	})
	direct := storetest.Raw(t, path)
	for _, sql := range []string{`INSERT INTO episode_tier (first, last, eviction_tier) VALUES (6, 6, 'referenced')`, `UPDATE episode_tier SET eviction_tier = 'dropped' WHERE first = 2`} {
		if err := direct.Exec(sql); err == nil {
			t.Errorf("%s: a rung can be skipped without a step, after a plan that had several", sql)
		}
	}
}

// TestAPlanCostsFewStatementsAndRows counts what a plan over many episodes writes. One rung after the other it was 4,500 statements and 1,500 rows.
func TestAPlanCostsFewStatementsAndRows(t *testing.T) {
	t.Parallel()
	const episodes = 500
	s := storetest.Open(t, store.WithoutIndexing(store.Config{}))
	ensure(t, s, "p", "s")
	var steps []store.StepRow
	var decisions []store.DecisionRow
	write(t, s, func(tx *store.Tx) error {
		for i := range episodes {
			e := episode.Record{ID: fmt.Sprint("ep_", i), Project: "p", Session: "s", Role: episode.User, Content: "text"}
			if err := tx.AppendEpisode(&e); err != nil {
				return err
			}
			for from := evict.Live; from < evict.Archived; from++ {
				steps = append(steps, store.StepRow{Episode: e.ID, Seq: e.Seq, From: from, To: from + 1, Tokens: i,
					Reason: fmt.Sprintf("tier %v → %v (value 2.65, %d tokens reclaimed)", from, from+1, i)})
			}
			decisions = append(decisions, store.DecisionRow{Ord: i, Kind: "episode", Episode: e.ID, Form: "full", Body: "{}"})
		}
		return errors.Join(tx.ReplaceDecisions("p", "s", 0, decisions), tx.PutRenderState("p", "s", store.RenderState{Version: 1, Body: "{}"}))
	})
	before := store.Statements(s)
	write(t, s, func(tx *store.Tx) error {
		for i := range decisions {
			decisions[i].Form = "masked"
		}
		return errors.Join(tx.TakeSteps("p", "s", "win", steps), tx.ReplaceDecisions("p", "s", 100, decisions[100:300]))
	})
	statements := store.Statements(s) - before
	rows := 0
	read(t, s, func(r *store.Reader) error {
		got, err := r.Decisions("p", "s")
		if want := decisions[:300]; err == nil && len(got) == len(want) {
			for i := range 100 {
				want[i].Form = "full"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Decisions() (-want +got):\n%s", diff)
			}
		} else if err == nil {
			t.Errorf("Decisions() has %d, want %d", len(got), len(want))
		}
		rows = store.LogRows(r)
		return err
	})
	t.Logf("%d statements, %d rows for %d steps", statements, rows, len(steps))
	if statements > 60 || rows != episodes {
		t.Errorf("%d statements and %d rows for %d steps of %d episodes, want at most 60 and one for each episode", statements, rows, len(steps), episodes)
	}
}
