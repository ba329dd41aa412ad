package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

// TestOldTiersStoodInTheirEpisodes opens a store whose episodes had their rungs in their own rows, one on each rung, and takes them further.
func TestOldTiersStoodInTheirEpisodes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	raw := storetest.Raw(t, path)
	exec := func(sql string, args ...any) {
		t.Helper()
		if err := raw.Exec(sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := raw.Migrate(6); err != nil {
		t.Fatal(err)
	}
	exec(`
INSERT INTO project (project_id, root, created) VALUES ('p', '', 0);
INSERT INTO session (project_id, session_id, created) VALUES ('p', 's', 0);
INSERT INTO tokenizer (num, name) VALUES (1, '');
INSERT INTO eviction_window (num, session_id, window_id, at) VALUES (1, 1, 'win_1', 0);
INSERT INTO meta (name, value) VALUES ('rungs are listed', 1)`)
	ord := 0
	for tier := evict.Live; tier <= evict.Dropped; tier++ {
		text := "text of " + tier.String()
		e := episode.Record{Seq: int64(tier), ID: "ep_" + tier.String(), Project: "p", Session: "s", Role: episode.User, Digest: digest.Of(text)}
		exec(`
INSERT INTO episodic_stream (seq, episode_id, project_id, session_id, role, call_id, tool_name, call_episode, call_index, at, created, tokens, tokenizer,
  content_digest, calls, reasoning, content, seal)
VALUES (?, ?, 1, 1, 'user', '', '', 0, 0, 0, 0, 0, 1, ?, '', x'', CAST(? AS BLOB), ?)`, e.Seq, e.ID, e.Digest[:], text, store.EpisodeSeal(e))
		for from := evict.Live; from < tier; from++ {
			ord++
			exec(`INSERT INTO eviction (window_num, ord, episode_id, from_tier, to_tier, tokens, reason) VALUES (1, ?, ?, ?, ?, 5, 'old')`, ord, e.Seq, int(from), int(from)+1)
		}
		exec(`UPDATE episodic_stream SET eviction_tier = ? WHERE seq = ?`, tier.String(), e.Seq)
	}
	exec(`DELETE FROM meta WHERE name = 'rungs are listed'`)

	s := storetest.Open(t, store.Config{Path: path}) // verifies at the end
	check := func(want map[evict.Tier]evict.Tier, steps int) {
		t.Helper()
		read(t, s, func(r *store.Reader) error {
			for was, tier := range want {
				e, err := r.Episode("p", "ep_"+was.String())
				if err != nil || e.Tier != tier || e.Content != "text of "+was.String() {
					t.Errorf("the episode that was %v is %v and says %q, %v; want it %v as it was", was, e.Tier, e.Content, err, tier)
				}
				list, err := drain(r.Episodes(store.EpisodeFilter{Project: "p", Tiers: []evict.Tier{tier}}))
				if err != nil || len(list) == 0 {
					t.Errorf("Episodes(%v) = %v, %v, want some", tier, list, err)
				}
			}
			list, err := drain(r.Evictions("p", "s"))
			if len(list) != steps {
				t.Errorf("Evictions() has %d steps, want %d", len(list), steps)
			}
			return err
		})
	}
	check(map[evict.Tier]evict.Tier{evict.Live: evict.Live, evict.Masked: evict.Masked, evict.Referenced: evict.Referenced, evict.Archived: evict.Archived,
		evict.Dropped: evict.Dropped}, ord)
	write(t, s, func(tx *store.Tx) error {
		var errs []error
		for tier := evict.Live; tier < evict.Dropped; tier++ {
			errs = append(errs, tx.SetTier("p", "s", "ep_"+tier.String(), tier, tier+1, "win_2", fmt.Sprint("further than ", tier), 1))
		}
		return errors.Join(append(errs, tx.SetTier("p", "s", "ep_dropped", evict.Dropped, evict.Live, "win_2", "asked for", -1))...)
	})
	check(map[evict.Tier]evict.Tier{evict.Live: evict.Masked, evict.Masked: evict.Referenced, evict.Referenced: evict.Archived, evict.Archived: evict.Dropped,
		evict.Dropped: evict.Live}, ord+5)
}
