package store_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
	"sakur4/semantic"
)

// TestChangedBytesAreNeverServed changes one recorded column after the other on the disk, past the triggers: whoever reads the row is told so,
// and Verify names it. Columns that may change are none of them.
func TestChangedBytesAreNeverServed(t *testing.T) {
	t.Parallel()
	episodes := func(r *store.Reader) error {
		_, one := r.Episode("p", "ep_1")
		_, all := drain(r.Episodes(store.EpisodeFilter{Project: "p"}))
		_, session := drain(r.SessionEpisodes("p", "s", 0))
		for _, err := range []error{one, all, session} {
			if !errors.Is(err, store.ErrCorrupt) {
				return nil
			}
		}
		return all
	}
	pins := func(r *store.Reader) error { _, err := r.Pins("p", true); return err }
	notes := func(r *store.Reader) error { _, err := r.Notes("p", "s", false); return err }
	entries := func(r *store.Reader) error {
		_, one := r.Entry("p", "sem_1")
		_, all := drain(r.Entries(store.EntryFilter{Project: "p"}))
		_, fresh := drain(r.Freshness("p", 0))
		for _, err := range []error{one, all, fresh} {
			if !errors.Is(err, store.ErrCorrupt) {
				return nil
			}
		}
		return all
	}
	state := func(r *store.Reader) error { _, err := r.RenderState("p", "main"); return err }
	decisions := func(r *store.Reader) error { _, err := r.Decisions("p", "main"); return err }
	receipts := func(r *store.Reader) error { _, err := drain(r.Receipts("p", "main")); return err }
	folds := func(r *store.Reader) error { _, err := r.Fold("p", "fold_1"); return err }
	snapshots := func(r *store.Reader) error { _, err := r.Snapshots("p", "main"); return err }
	key := map[string]string{"snapshot": "file", "episodic_stream": "episode_id", "anchor_set": "pin_id", "note": "note_id", "semantic_atlas": "entry_id",
		"render_state": "session_id", "render_decision": "(SELECT session_id FROM session WHERE num = render_decision.session_id)", "receipt": "window_id", "folds": "fold_id"}
	tests := []struct {
		table, id string
		read      func(*store.Reader) error
		columns   []string
	}{
		{"episodic_stream", "ep_1", episodes, []string{"content = x'00'", "reasoning = x'00'", "calls = replace(calls, 'path', 'pith')", "calls = 'x'", "call_id = 'x'",
			"tool_name = 'x'", "call_index = 7", "role = 'user'", "at = at + 1", "created = created + 1", "tokens = tokens + 1", "content_digest = zeroblob(32)",
			"content_digest = zeroblob(32), content = x''", "seal = seal + 1", "call_episode = 2"}},
		{"anchor_set", "pin_1", pins, []string{"text = 'always'", "kind = 'x'", "session_id = 'x'", "created = created + 1", "seal = 0"}},
		{"note", "note_1", notes, []string{"text = 'x'", "kind = 'x'", "ref = 'x'", "seal = 0"}},
		{"semantic_atlas", "sem_1", entries, []string{"text = 'x'", "anchor_hash_at_write = 'x'", "origin = 'interpreted'", "replaces = 'x'", "created = created + 1",
			"seal = 0"}},
		{"render_state", "main", state, []string{"body = 'x'", "version = 5", "generation = 5", "seal = 0"}},
		{"render_decision", "main", decisions, []string{"body = x'00'", "body = CAST(replace(CAST(body AS TEXT), '1:k', '1:l') AS BLOB)",
			"body = CAST(replace(CAST(body AS TEXT), 'ep_1', 'ep_2') AS BLOB)", "body = CAST(CAST(body AS TEXT) || CAST(body AS TEXT) AS BLOB)", "decisions = 2", "ord = 5", "seal = 0"}},
		{"receipt", "win_1", receipts, []string{"body = 'x'", "body = x'00'", "turn = 7", "observed = 0", "created = created + 1", "seal = 0"}},
		{"folds", "fold_1", folds, []string{"description = 'x'", "goal = 'x'", "parent_id = 'x'", "opened_seq = 7", "closed_seq = 7", "summary = 'x'",
			"created = created + 1", "closed = closed + 1", "seal = 0"}},
		{"snapshot", "slot_1", snapshots, []string{"body = 'x'", "ord = 7", "snapshot_id = 'x'", "tokens = 7", "bytes = 7", "created = created + 1", "seal = 0"}},
	}
	for _, test := range tests {
		for _, change := range test.columns {
			t.Run(test.table+" "+change, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "store.db")
				s, err := store.Open(t.Context(), store.Config{Path: path})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				ensure(t, s, "p", "s")
				ensure(t, s, "p", "main")
				write(t, s, func(tx *store.Tx) error {
					e := episode.Record{ID: "ep_1", Project: "p", Session: "s", Role: episode.Assistant, Content: "c", Reasoning: "why", At: time.Unix(5, 0),
						Calls: []episode.Call{{ID: "a", Name: "read", Arguments: `{"path":"x"}`}}}
					f := episode.Record{ID: "ep_2", Project: "p", Session: "s", Role: episode.User, Content: "d"}
					if err := errors.Join(tx.AppendEpisode(&e), tx.AppendEpisode(&f)); err != nil {
						return err
					}
					if err := tx.AddPin(store.PinRow{ID: "pin_1", Project: "p", Kind: "constraint", Text: "never"}); err != nil {
						return err
					}
					if err := tx.AddNote("p", "s", store.NoteRow{ID: "note_1", Kind: "text", Text: "note"}); err != nil {
						return err
					}
					if err := errors.Join(
						tx.PutRenderState("p", "main", store.RenderState{Version: 1, Generation: 1, Body: "{}"}),
						tx.ReplaceDecisions("p", "main", 0, []store.DecisionRow{{Kind: "k", Episode: "ep_1", Form: "f", Body: "{}"}}),
						tx.PutReceipt("p", "main", store.ReceiptRow{WindowID: "win_1", Turn: 1, Body: "{}"}),
						tx.PutReceipt("p", "main", store.ReceiptRow{WindowID: "win_1", Turn: 1, Body: `{"receipt":{}}`, Observed: true}),
						tx.OpenFold(store.FoldRow{ID: "fold_1", Project: "p", Session: "main", Description: "d", Goal: "g", Opened: 2}),
						tx.CloseFold("p", "fold_1", 3, "ep_2"),
						tx.PutSnapshot("p", "main", store.SnapshotRow{File: "slot_1", Ord: 1, ID: "snap_1", Tokens: 3, Bytes: 90, Body: "{}"}, []int32{1, 2, 3}),
					); err != nil {
						return err
					}
					_, err := tx.PutEntry("p", "s", store.NewEntry{ID: "sem_1", Text: "says", AnchorType: "episodic_stream", AnchorID: "ep_1", Origin: semantic.Extracted})
					return err
				})
				if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
					t.Fatalf("Verify() of a sound store = %+v, %v", report, err)
				}
				raw := storetest.Raw(t, path)
				if err := raw.Exec(`DROP TRIGGER IF EXISTS ` + test.table + `_no_update`); err != nil {
					t.Fatal(err)
				}
				where := ` WHERE '` + test.id + `' IN (` + key[test.table] + `)`
				if err := raw.Exec(`UPDATE ` + test.table + ` SET ` + change + where); err != nil {
					t.Fatal(err)
				}
				read(t, s, func(r *store.Reader) error {
					if err := test.read(r); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), test.id) {
						t.Errorf("reading after %s = %v, want %v that names %s", change, err, store.ErrCorrupt, test.id)
					}
					return nil
				})
				report, err := s.Verify(t.Context())
				if got := strings.Join(report.Problems, "; "); err != nil || !strings.Contains(got, test.id) {
					t.Errorf("Verify() after %s = %q, %v, want a problem that names %s", change, got, err, test.id)
				}
			})
		}
	}
}

// TestAnyTimeIsABound: what no row can have been written at bounds like any other time.
func TestAnyTimeIsABound(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	write(t, s, func(tx *store.Tx) error {
		return tx.AppendEpisode(&episode.Record{ID: "ep_1", Project: "p", Session: "s", Role: episode.User, Content: "c", At: time.Unix(5, 0)})
	})
	early, late := time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		since, until time.Time
		want         int
	}{
		{early, late, 1}, {early, time.Time{}, 1}, {time.Time{}, late, 1}, {late, time.Time{}, 0}, {time.Time{}, early, 0},
		{time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64), 1},
	} {
		read(t, s, func(r *store.Reader) error {
			got, err := drain(r.Episodes(store.EpisodeFilter{Project: "p", Since: test.since, Until: test.until}))
			if len(got) != test.want {
				t.Errorf("Episodes(since %v, until %v) = %d episodes, want %d", test.since, test.until, len(got), test.want)
			}
			return err
		})
	}
}
