package store_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sakur4/evict"
	"sakur4/internal/digest"
	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/internal/storetest"
)

func TestEpisodesComeBackByteForByte(t *testing.T) {
	t.Parallel()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	odd := string(every) + "\x00\xff\xed\xa0\x80\xf5\r\n\u2028<&>\"'\\ \ufeff"
	noise := make([]byte, 32<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	records := []episode.Record{
		{ID: "ep_empty", Role: episode.Assistant},
		{ID: "ep_calls", Role: episode.Assistant, Calls: []episode.Call{{}, {ID: odd, Name: odd, Arguments: odd}, {ID: "call_0", Name: "read", Arguments: `{"a":"<b>"}`}}},
		{ID: "ep_odd", Role: episode.Tool, Content: odd, Reasoning: odd, CallID: odd, ToolName: odd, CallEpisode: "ep_calls", CallIndex: 3, Fold: "fold_1",
			At: time.Date(1969, 7, 20, 20, 17, 40, 123456789, time.UTC), Tokens: 42, Tokenizer: "o200k_base"},
		{ID: "ep_nul", Role: episode.User, Content: "\x00"},
		{ID: "ep_large", Role: episode.Tool, Content: string(noise)},
		{ID: "ep_large_text", Role: episode.Tool, Content: strings.Repeat("line of a log that is very long\n", 1<<20)},
	}
	paths(t, func(t *testing.T, path string) {
		now := clock()
		s := storetest.Open(t, store.Config{Path: path, Now: now})
		ensure(t, s, "p", "s")
		write(t, s, func(tx *store.Tx) error {
			return tx.OpenFold(store.FoldRow{ID: "fold_1", Project: "p", Session: "s", Opened: 1})
		})
		var want []episode.Record
		for _, e := range records {
			e.Project, e.Session = "p", "s"
			write(t, s, func(tx *store.Tx) error {
				if err := tx.AppendEpisode(&e); err != nil {
					return err
				}
				// The transaction sees its own write.
				got, err := tx.Episode("p", e.ID)
				if diff := cmp.Diff(e, got); diff != "" && len(diff) < 10_000 {
					t.Errorf("Episode(%s) inside its write (-want +got):\n%s", e.ID, diff)
				}
				return err
			})
			if e.Seq != int64(len(want)+1) || e.Created.IsZero() || e.Tier != evict.Live || e.Digest != digest.Of(e.Content) {
				t.Errorf("AppendEpisode(%s) set Seq %d, Created %v, Tier %v", e.ID, e.Seq, e.Created, e.Tier)
			}
			want = append(want, e)
		}
		read(t, s, func(r *store.Reader) error {
			i := 0
			for got, err := range r.SessionEpisodes("p", "s", 0) {
				if err != nil {
					return err
				}
				if got.Content != want[i].Content {
					t.Errorf("content of %s differs: %d bytes, want %d", got.ID, len(got.Content), len(want[i].Content))
				}
				got.Content, want[i].Content = "", ""
				if diff := cmp.Diff(want[i], got); diff != "" {
					t.Errorf("SessionEpisodes() gives %s (-want +got):\n%s", got.ID, diff)
				}
				i++
			}
			if i != len(want) {
				t.Errorf("SessionEpisodes() gave %d episodes, want %d", i, len(want))
			}
			return nil
		})
	})
}

func TestAppendEpisodeRefuses(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "s")
	add(t, s, "p", "s", "ep_1", "one")
	tests := []struct {
		name string
		e    episode.Record
		want error
	}{
		{"a taken id", episode.Record{ID: "ep_1", Project: "p", Session: "s", Role: episode.User}, store.ErrExists},
		{"no id", episode.Record{Project: "p", Session: "s", Role: episode.User}, store.ErrRefused},
		{"an unknown session", episode.Record{ID: "ep_2", Project: "p", Session: "other", Role: episode.User}, store.ErrNotFound},
		{"an unknown project", episode.Record{ID: "ep_2", Project: "q", Session: "s", Role: episode.User}, store.ErrNotFound},
		{"an unknown role", episode.Record{ID: "ep_2", Project: "p", Session: "s", Role: "robot"}, nil},
		{"a later tier", episode.Record{ID: "ep_2", Project: "p", Session: "s", Role: episode.User, Tier: evict.Masked}, nil},
		{"another content's digest", episode.Record{ID: "ep_2", Project: "p", Session: "s", Role: episode.User, Digest: digest.Of("x")}, nil},
		{"a time that nanoseconds do not reach", episode.Record{ID: "ep_2", Project: "p", Session: "s", Role: episode.User, At: time.Unix(math.MaxInt64/2, 0)}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.AppendEpisode(&test.e) })
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("AppendEpisode(%+v) = %v, want %v", test.e, err, test.want)
			}
			if test.e.Seq != 0 {
				t.Errorf("AppendEpisode(%+v) failed and set Seq %d", test.e, test.e.Seq)
			}
		})
	}
}

func TestEpisodesFilters(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{})
	ensure(t, s, "p", "a")
	ensure(t, s, "p", "b")
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	write(t, s, func(tx *store.Tx) error {
		if err := tx.OpenFold(store.FoldRow{ID: "f", Project: "p", Session: "a", Opened: 1}); err != nil {
			return err
		}
		for i, e := range []episode.Record{
			{ID: "1", Session: "a", Role: episode.User},
			{ID: "2", Session: "a", Role: episode.Assistant, Fold: "f"},
			{ID: "3", Session: "a", Role: episode.Tool, ToolName: "read"},
			{ID: "4", Session: "b", Role: episode.Tool, ToolName: "grep"},
			{ID: "5", Session: "a", Role: episode.User, Fold: "f"},
		} {
			e.Project, e.At = "p", day(i+1)
			if err := tx.AppendEpisode(&e); err != nil {
				return err
			}
		}
		return tx.SetTier("p", "a", "3", evict.Live, evict.Masked, "w", "r", 5)
	})
	tests := []struct {
		filter store.EpisodeFilter
		want   string
	}{
		{store.EpisodeFilter{}, ""},
		{store.EpisodeFilter{Project: "p"}, "12345"},
		{store.EpisodeFilter{Project: "p", Session: "a"}, "1235"},
		{store.EpisodeFilter{Project: "p", Role: episode.Tool}, "34"},
		{store.EpisodeFilter{Project: "p", ToolName: "grep"}, "4"},
		{store.EpisodeFilter{Project: "p", AfterSeq: 2, BeforeSeq: 5}, "34"},
		{store.EpisodeFilter{Project: "p", Since: day(2), Until: day(4)}, "23"},
		{store.EpisodeFilter{Project: "p", Tiers: []evict.Tier{evict.Masked, evict.Dropped}}, "3"},
		{store.EpisodeFilter{Project: "p", IDs: []string{"5", "1", "9"}}, "15"},
		{store.EpisodeFilter{Project: "p", IDs: []string{}}, ""},
		{store.EpisodeFilter{Project: "p", Fold: "f"}, "25"},
		{store.EpisodeFilter{Project: "p", Desc: true, Limit: 2}, "54"},
	}
	for _, test := range tests {
		got := ""
		read(t, s, func(r *store.Reader) error {
			for e, err := range r.Episodes(test.filter) {
				if err != nil {
					return err
				}
				got += e.ID
			}
			return nil
		})
		if got != test.want {
			t.Errorf("Episodes(%+v) = %q, want %q", test.filter, got, test.want)
		}
	}
}

func TestSetTierTakesOneRungAndWritesItDown(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Now: clock()})
	ensure(t, s, "p", "s")
	large := strings.Repeat("x", 100_000)
	add(t, s, "p", "s", "ep_1", large)
	step := func(from, to evict.Tier) error {
		return s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.SetTier("p", "s", "ep_1", from, to, "win", fmt.Sprintf("%v to %v", from, to), int(to))
		})
	}
	for from := evict.Live - 1; from <= evict.Dropped+1; from++ {
		for to := evict.Live - 1; to <= evict.Dropped+1; to++ {
			if from == evict.Live && to == evict.Masked {
				continue
			}
			err := step(from, to)
			if !errors.Is(err, store.ErrRefused) && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("SetTier(%v, %v) of a live episode = %v, want it refused", from, to, err)
			}
		}
	}
	down := []evict.Tier{evict.Live, evict.Masked, evict.Referenced, evict.Archived, evict.Dropped, evict.Live, evict.Masked, evict.Live}
	for i := 1; i < len(down); i++ {
		if err := step(down[i-1], down[i]); err != nil {
			t.Fatalf("SetTier(%v, %v) = %v", down[i-1], down[i], err)
		}
	}
	read(t, s, func(r *store.Reader) error {
		i := 0
		for row, err := range r.Evictions("p", "s") {
			if err != nil {
				return err
			}
			want := store.EvictionRow{Seq: int64(i + 1), Episode: "ep_1", From: down[i], To: down[i+1], WindowID: "win",
				Reason: fmt.Sprintf("%v to %v", down[i], down[i+1]), Tokens: int(down[i+1]), At: row.At}
			if diff := cmp.Diff(want, row); diff != "" {
				t.Errorf("Evictions()[%d] (-want +got):\n%s", i, diff)
			}
			i++
		}
		if i != len(down)-1 {
			t.Errorf("Evictions() has %d steps, want %d", i, len(down)-1)
		}
		e, err := r.Episode("p", "ep_1")
		if e.Tier != evict.Live || e.Content != large {
			t.Errorf("Episode(ep_1) is %v with %d bytes, want live with %d", e.Tier, len(e.Content), len(large))
		}
		return err
	})
}

func TestMarkSuperseded(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, store.Config{Now: clock()})
	ensure(t, s, "p", "s")
	ensure(t, s, "q", "s")
	add(t, s, "p", "s", "ep_1", "one")
	add(t, s, "p", "s", "ep_2", "two")
	add(t, s, "q", "s", "ep_q", "other")
	for _, bad := range [][3]string{{"p", "ep_1", "ep_9"}, {"p", "ep_9", "ep_1"}, {"p", "ep_1", "ep_q"}, {"p", "ep_q", "ep_1"}, {"p", "ep_1", "ep_1"}} {
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkSuperseded(bad[0], bad[1], bad[2]) }); err == nil {
			t.Errorf("MarkSuperseded(%q) succeeded", bad)
		}
	}
	write(t, s, func(tx *store.Tx) error { return tx.MarkSuperseded("p", "ep_1", "ep_2") })
	read(t, s, func(r *store.Reader) error {
		e, err := r.Episode("p", "ep_1")
		if e.SupersededBy != "ep_2" || !e.Droppable {
			t.Errorf("Episode(ep_1) is superseded by %q, droppable %v", e.SupersededBy, e.Droppable)
		}
		edges, err2 := r.Edges("p", "ep_2", "", "")
		if len(edges) != 1 || edges[0].To != "ep_1" || edges[0].Kind != "supersedes" {
			t.Errorf("Edges() = %+v, want ep_2 supersedes ep_1", edges)
		}
		degrees, err3 := r.InDegree("p", []string{"ep_1", "ep_2"})
		if diff := cmp.Diff(map[string]int{"ep_1": 0, "ep_2": 0}, degrees); diff != "" {
			t.Errorf("InDegree() (-want +got):\n%s", diff)
		}
		// More than a statement may have parameters: a prompt can hold that many episodes before its first compaction.
		ids, seqs := make([]string, 40_000), make([]int64, 40_000)
		for i := range seqs {
			ids[i], seqs[i] = fmt.Sprint("ep_", i+1), int64(i+1)
		}
		marks, err4 := r.Marks("p", "s", ids, seqs)
		if diff := cmp.Diff(map[int64]store.Mark{1: {Superseded: true, Droppable: true}}, marks); diff != "" {
			t.Errorf("Marks() (-want +got):\n%s", diff)
		}
		return errors.Join(err, err2, err3, err4)
	})
}
