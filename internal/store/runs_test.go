package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestOldRunsWereRows opens a store in which each decision, and each episode that is not live, had a row of its own, and goes on with it.
func TestOldRunsWereRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	raw := storetest.Raw(t, path)
	exec := func(sql string, args ...any) {
		t.Helper()
		if err := raw.Exec(sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := raw.Migrate(8); err != nil {
		t.Fatal(err)
	}
	exec(`
INSERT INTO project (project_id, root, created) VALUES ('p', '', 0);
INSERT INTO session (project_id, session_id, created) VALUES ('p', 's', 0), ('p', 'other', 0);
INSERT INTO tokenizer (num, name) VALUES (1, '');
INSERT INTO eviction_window (num, session_id, window_id, at) VALUES (1, 1, 'win_1', 0), (2, 2, 'win_1', 0);
INSERT INTO meta (name, value) VALUES ('rungs are listed', 1)`)
	// Two sessions in turn, then a stretch of the first alone.
	tiers := map[string]evict.Tier{}
	ids := map[int64]string{}
	steps := [3]string{}
	for seq := int64(1); seq <= 30; seq++ {
		session := int64(1)
		if seq < 10 && seq%2 == 0 {
			session = 2
		}
		e := episode.Record{Seq: seq, ID: fmt.Sprintf("ep_%d", seq), Project: "p", Session: [...]string{"", "s", "other"}[session], Role: episode.User, Digest: digest.Of("text")}
		ids[seq] = e.ID
		exec(`
INSERT INTO episodic_stream (seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
  content_digest, calls, reasoning, content, seal)
VALUES (?, ?, 1, ?, 'user', '', '', 0, 0, 0, 0, 0, 1, ?, '', x'', CAST('text' AS BLOB), ?)`, seq, e.ID, session, e.Digest[:], store.EpisodeSeal(e))
		tier := evict.Archived
		switch {
		case seq == 20, seq > 27:
			tier = evict.Live
		case seq > 23:
			tier = evict.Masked
		}
		tiers[e.ID] = tier
		if tier == evict.Live {
			continue
		}
		exec(`INSERT INTO episode_tier (seq, eviction_tier) VALUES (?, ?)`, seq, tier.String())
		for from := evict.Live; from < tier; from++ {
			steps[session] += fmt.Sprintf("%d %d %d 5 3:old\n", seq, from, from+1)
		}
	}
	exec(`DELETE FROM meta WHERE name = 'rungs are listed'`)
	exec(`INSERT INTO eviction (window_num, steps) VALUES (1, CAST(? AS BLOB)), (2, CAST(? AS BLOB))`, steps[1], steps[2])
	var decisions []store.DecisionRow
	for i := range 150 {
		d := store.DecisionRow{Ord: i, Kind: "episode", Episode: ids[int64(i%30+1)], Form: "full", Body: fmt.Sprintf(`{"text":"naïve 3:x %d"}`, i)}
		if i%7 == 0 {
			d.Episode, d.Kind = "", "no_reply"
		}
		decisions = append(decisions, d)
		exec(`INSERT INTO render_decision (project_id, session_id, ord, kind, episode_id, form, body, seal) VALUES ('p', 's', ?, ?, ?, ?, ?, ?)`,
			d.Ord, d.Kind, d.Episode, d.Form, d.Body, store.DecisionSeal("p", "s", d))
	}
	exec(`UPDATE meta SET value = 150 WHERE name = 'rows of render_decision'`)
	exec(`INSERT INTO render_state (project_id, session_id, version, generation, body, made, seal) VALUES ('p', 's', 1, 1, '{}', 0, ?)`, store.StateSeal("p", "s", store.RenderState{Version: 1, Generation: 1, Body: "{}"}))

	s := storetest.Open(t, store.Config{Path: path}) // verifies at the end
	check := func() {
		t.Helper()
		if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
			t.Errorf("Verify() = %+v, %v, want no problem", report, err)
		}
		read(t, s, func(r *store.Reader) error {
			got, err := r.Decisions("p", "s")
			if diff := cmp.Diff(decisions, got); diff != "" {
				t.Errorf("Decisions() (-want +got):\n%s", diff)
			}
			for id, want := range tiers {
				if e, err := r.Episode("p", id); err != nil || e.Tier != want {
					t.Errorf("Episode(%s) is %v, %v, want %v", id, e.Tier, err, want)
				}
			}
			return err
		})
	}
	check()
	if rows, err := raw.Query(`SELECT first, last, eviction_tier FROM episode_tier WHERE first > 8`); err != nil || len(rows) != 3 {
		t.Errorf("the tiers of a session that was alone are %v, %v, want three runs", rows, err)
	}
	changed := decisions[70]
	changed.Form = "masked"
	next := store.DecisionRow{Ord: 71, Kind: "episode", Episode: ids[1], Form: "full", Body: "{}"}
	decisions = append(decisions[:70:70], changed, next)
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.ReplaceDecisions("p", "s", 70, decisions[70:71]), tx.AddDecisions("p", "s", decisions[71:]),
			tx.TakeSteps("p", "s", "win_2", []store.StepRow{
				{Episode: ids[15], Seq: 15, From: evict.Archived, To: evict.Live, Reason: "asked for"},
				{Episode: ids[24], Seq: 24, From: evict.Masked, To: evict.Referenced, Reason: "old"},
				{Episode: ids[28], Seq: 28, From: evict.Live, To: evict.Masked, Reason: "old"}}))
	})
	tiers[ids[15]], tiers[ids[24]], tiers[ids[28]] = evict.Live, evict.Referenced, evict.Masked
	check()
}

// TestRunsHoldWhatStepsLeadTo takes random steps in two sessions of one store, and replaces random ends of their decisions, beside a map and a list.
func TestRunsHoldWhatStepsLeadTo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 5))
			s := storetest.Open(t, store.WithoutIndexing(store.Config{})) // verifies at the end
			names := []string{"s", "other"}
			tiers := map[string]map[int64]evict.Tier{}
			seqs := map[string][]int64{}
			decisions := map[string][]store.DecisionRow{}
			for _, name := range names {
				ensure(t, s, "p", name)
				tiers[name] = map[int64]evict.Tier{}
			}
			id := func(seq int64) string { return fmt.Sprint("ep_", seq) }
			n := int64(0)
			for range 60 {
				name := names[random.IntN(2)]
				write(t, s, func(tx *store.Tx) error {
					for range random.IntN(12) {
						n++
						if err := tx.AppendEpisode(&episode.Record{ID: id(n), Project: "p", Session: name, Role: episode.User, Content: "text"}); err != nil {
							return err
						}
						seqs[name], tiers[name][n] = append(seqs[name], n), evict.Live
					}
					var steps []store.StepRow
					for at := 0; at < len(seqs[name]); at++ {
						if random.IntN(3) == 0 {
							at += random.IntN(len(seqs[name]))
							continue
						}
						seq := seqs[name][at]
						for range random.IntN(3) {
							from := tiers[name][seq]
							to := from + 1
							if to > evict.Dropped || random.IntN(8) == 0 && from != evict.Live {
								to = evict.Live
							}
							steps = append(steps, store.StepRow{Episode: id(seq), Seq: seq, From: from, To: to, Reason: "old"})
							tiers[name][seq] = to
						}
					}
					if err := tx.TakeSteps("p", name, fmt.Sprint("win_", n), steps); err != nil {
						return err
					}
					list := decisions[name]
					cut := len(list)
					if random.IntN(3) == 0 {
						cut = random.IntN(len(list) + 1)
					}
					list = list[:cut:cut]
					for range random.IntN(100) {
						list = append(list, store.DecisionRow{Ord: len(list), Kind: "k", Episode: id(n), Form: "f", Body: fmt.Sprint(random.Uint64())})
					}
					anew := cut < len(decisions[name]) || random.IntN(2) == 0
					decisions[name] = list
					state := tx.PutRenderState("p", name, store.RenderState{Version: 1, Body: "{}"})
					if anew {
						return errors.Join(state, tx.ReplaceDecisions("p", name, cut, list[cut:]))
					}
					return errors.Join(state, tx.AddDecisions("p", name, list[cut:]))
				})
				read(t, s, func(r *store.Reader) error {
					for _, name := range names {
						for e, err := range r.SessionEpisodes("p", name, 0) {
							if err != nil || e.Tier != tiers[name][e.Seq] {
								return fmt.Errorf("episode %d of %s is %v, %v, want %v", e.Seq, name, e.Tier, err, tiers[name][e.Seq])
							}
						}
						got, err := r.Decisions("p", name)
						if diff := cmp.Diff(decisions[name], got); diff != "" || err != nil {
							return fmt.Errorf("Decisions(%s), %v (-want +got):\n%s", name, err, diff)
						}
					}
					return nil
				})
			}
			for _, name := range names {
				if seq := seqs[name][0]; tiers[name][seq] != evict.Dropped {
					other := names[0]
					if name == other {
						other = names[1]
					}
					step := store.StepRow{Episode: id(seq), Seq: seq, From: tiers[name][seq], To: tiers[name][seq] + 1}
					err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.TakeSteps("p", other, "win", []store.StepRow{step}) })
					if !errors.Is(err, store.ErrNotFound) {
						t.Errorf("TakeSteps(%s) of an episode of %s = %v, want %v", other, name, err, store.ErrNotFound)
					}
				}
			}
		})
	}
}
