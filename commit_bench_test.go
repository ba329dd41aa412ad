package sakur4_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sakur4"
	"sakur4/internal/episode"
	"sakur4/internal/store"
)

// commitRound records a call and its result of about 2 KB, and says how long the result took.
func commitRound(ctx context.Context, s *sakur4.Session, n int) (time.Duration, error) {
	id := fmt.Sprint("c", n)
	_, err := s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleAssistant, ToolCalls: []sakur4.ToolCall{{ID: id, Name: "fetch", Arguments: fmt.Sprintf(`{"n": %d}`, n)}}})
	if err != nil {
		return 0, err
	}
	content := body(n, 1)
	start := time.Now()
	_, err = s.Commit(ctx, sakur4.Turn{Role: sakur4.RoleTool, ToolCallID: id, Content: content})
	return time.Since(start), err
}

// BenchmarkCommitHistory records results in a session of 1,000 episodes and in turn with each in one of 100,000, in stores of their own. The ratios are those of the
// medians and of the 99th percentiles, large by small.
func BenchmarkCommitHistory(b *testing.B) {
	sizes := [...]int{1_000, 100_000}
	var sessions [len(sizes)]*sakur4.Session
	for i, episodes := range sizes {
		sessions[i] = longSession(b, filepath.Join(b.TempDir(), "bench.db"), episodes)
	}
	var times [len(sizes)][]time.Duration
	n := 0
	for b.Loop() {
		for i, s := range sessions {
			took, err := commitRound(b.Context(), s, n)
			if err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], took)
		}
		n++
	}
	b.ReportMetric(percentile(times[1], 50)/percentile(times[0], 50), "p50-ratio")
	b.ReportMetric(percentile(times[1], 99)/percentile(times[0], 99), "p99-ratio")
}

// longSession opens a store with a session of that many episodes.
func longSession(b *testing.B, path string, episodes int) *sakur4.Session {
	open := func() *sakur4.Engine {
		eng, err := sakur4.Open(b.Context(), path, &sakur4.Options{Project: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		return eng
	}
	eng := open()
	if _, err := eng.Session("bench").Commit(b.Context(), sakur4.Turn{Role: sakur4.RoleUser, Content: "Find out what the shards wait for."}); err != nil {
		b.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Config{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("the worker waits ", 30)
	for n := 1; n < episodes; {
		err := s.Write(b.Context(), func(tx *store.Tx) error {
			projects, err := tx.Projects()
			for range min(1000, episodes-n) {
				if err != nil {
					return err
				}
				e := episode.Record{ID: fmt.Sprintf("ep_%016x", uint64(n)*0x9e3779b97f4a7c15), Project: projects[0].ID, Session: "bench", Role: episode.Assistant, Content: text}
				err = tx.AppendEpisode(&e)
				n++
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	eng = open()
	b.Cleanup(func() {
		if err := eng.Close(); err != nil {
			b.Error(err)
		}
	})
	return eng.Session("bench")
}

// BenchmarkCommitWriters records results in one session from one goroutine, and in turn as many in eight sessions from eight. The speed-up is how much less
// time all of the latter took.
func BenchmarkCommitWriters(b *testing.B) {
	const writers, each = 8, 8
	eng, err := sakur4.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), &sakur4.Options{ProjectRoot: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer eng.Close()
	var one, eight time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		for i := range writers * each {
			if _, err := commitRound(b.Context(), eng.Session("alone"), n*writers*each+i); err != nil {
				b.Fatal(err)
			}
		}
		one += time.Since(start)
		start = time.Now()
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				s := eng.Session(fmt.Sprint("together ", w))
				for i := range each {
					if _, err := commitRound(b.Context(), s, n*writers*each+w*each+i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		eight += time.Since(start)
		n++
	}
	b.ReportMetric(float64(one)/float64(eight), "speed-up")
}
